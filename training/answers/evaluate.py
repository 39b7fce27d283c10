"""How well the answer model does on scenes that were kept from training, next to late interaction and cosine.

python -m training.answers.evaluate [MODEL]
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from training.answers.scenes import Scene, read_scenes, split

from fivefold.models.answers import AnswerModel, shipped
from fivefold.models.binary import unpack
from fivefold.models.embedders import DEFAULT, embedder, read_passages, read_question
from fivefold.models.embedders.base import Embedder
from fivefold.models.token_vectors import best_matches
from fivefold.values.reading import Passage
from fivefold.values.vectors import Vector

MEASURES = ("answers", "late interaction", "cosine")


@dataclass
class Figures:
    """The best score of each question, whether anything answers it, and whether the best memory does."""

    best: list[float] = field(default_factory=list)
    answerable: list[bool] = field(default_factory=list)
    first: list[bool] = field(default_factory=list)

    def add(self, scores: Vector, answers: Sequence[int]) -> None:
        self.best.append(float(scores.max()))
        self.answerable.append(bool(answers))
        if answers:
            self.first.append(int(scores.argmax()) in answers)


def measure(model: AnswerModel, scenes: Sequence[Scene], reader: Embedder) -> dict[str, Figures]:
    """All questions of each scene over all memories of it, by what the package itself reads and stores."""
    figures = {name: Figures() for name in MEASURES}
    for scene in scenes:
        told = read_passages(reader, [Passage(memory.laid_out()) for memory in scene.memories])
        tokens, vectors = [reading.tokens for reading in told], np.stack([reading.vector for reading in told])
        for item in scene.questions:
            question = read_question(reader, item.text)
            late, dense = best_matches(question.tokens, tokens) @ question.weights, vectors @ question.vector
            scores = (model.logits(question, tokens, late, dense), late, dense)
            for name, values in zip(MEASURES, scores, strict=True):
                figures[name].add(values, item.answers)
    return figures


def area(scores: Sequence[float], right: Sequence[bool]) -> float:
    """The chance that a right one scores above a wrong one; equal scores count half (area under the ROC curve)."""
    of = np.array(right)
    high, low = np.array(scores)[of], np.array(scores)[~of]
    above = (high[:, None] > low).mean() + 0.5 * (high[:, None] == low).mean()
    return float(above)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("model", type=Path, nargs="?", help="a model file; the shipped one unless given")
    given = options.parse_args()
    if given.model:
        contents = unpack(given.model.read_bytes())
        model: AnswerModel | None = AnswerModel(contents.name, contents.pin, contents.tensors)
    else:
        model = shipped()
    assert model is not None, "the shipped model can be read"
    _, scenes = split(read_scenes())
    print(f"{model.name} for {model.pin}, {len(scenes)} scenes")
    print(f"{'':<20}{'hit@1':>8}{'AUC of answerable':>20}")
    for name, one in measure(model, scenes, embedder(DEFAULT)).items():
        print(f"{name:<20}{np.mean(one.first):>8.3f}{area(one.best, one.answerable):>20.3f}")


if __name__ == "__main__":
    main()
