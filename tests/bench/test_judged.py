"""What is read off the texts of the first hits: how relevant they are, and which answer they favour."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from fivefold.evaluation import Question
from fivefold.models.embedders import Matrix, Progress, embedder
from fivefold_bench.data import Choice
from fivefold_bench.run import Answer
from fivefold_bench.scores import choose, mean_relevance

BEES = Question("q", "n", "Who keeps bees?", ("D1:3",))
GOOD = "Ines: My sister Petra keeps bees and sells honey"
POOR = "Olaf: The ferry leaves at seven in the morning"


def answer(*texts: str) -> list[Answer]:
    return [Answer("q", (), 1.0, texts=texts)]


def test_relevance_is_the_mean_over_five_places() -> None:
    answers = {"good": answer(GOOD), "both": answer(GOOD, POOR), "poor": answer(POOR), "none": answer()}
    found = {name: values["q"] for name, values in mean_relevance([BEES], answers).items()}
    assert found["both"] == pytest.approx(found["good"] + found["poor"], abs=1e-6)
    assert 0.1 < found["good"] <= 0.2
    assert found["poor"] < 0.02
    assert found["none"] == 0


def test_the_hits_favour_the_option_that_is_nearest_to_them() -> None:
    choice = Choice(("You like climbing", "Your sister keeps bees and sells honey", "You own a boat"), right=1)
    answers = {"good": answer(GOOD), "poor": answer("I went climbing on the cliffs"), "none": answer()}
    found, alone = choose([BEES], {"q": choice}, answers, embedder("wordllama"))
    assert {name: values["q"] for name, values in found.items()} == {"good": 1, "poor": 0, "none": 0}
    assert alone == {"q": 1}


def test_a_tie_is_lost() -> None:
    class Same:
        pin, dimension = "same@1", 2

        def embed(self, texts: Sequence[str], progress: Progress | None = None) -> Matrix:
            return np.full((len(texts), 2), 1, dtype=np.float32)

    found, _ = choose([BEES], {"q": Choice(("a", "b"), 0)}, {"any": answer(GOOD)}, Same())
    assert found == {"any": {"q": 0}}
