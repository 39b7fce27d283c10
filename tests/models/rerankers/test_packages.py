"""Cross-encoders of other packages: the extra that is missing, and small stand-ins for the packages themselves."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import pytest

from fivefold.errors import MissingExtra, RerankerError
from fivefold.models.rerankers import FastEmbedReranker, SentenceTransformersReranker, reranker
from fivefold.values.vectors import Passage

PASSAGES = [Passage("tea 0.0"), Passage("rye -2.0", "bread?"), Passage("key 3.0")]

SENTENCE_TRANSFORMERS = """
import numpy as np

class CrossEncoder:
    def __init__(self, name):
        if name == "none":
            raise OSError("no such model")
        self.scale = 0.1 if name == "inside" else 1.0

    def predict(self, pairs, show_progress_bar):
        assert all(question == "which?" for question, _ in pairs)
        numbers = np.array([float(text.split()[1]) for _, text in pairs], dtype=np.float32)
        return 0.5 + numbers * self.scale
"""

FASTEMBED = """
class TextCrossEncoder:
    def __init__(self, model_name):
        if model_name == "none":
            raise ValueError("no such model")

    def rerank(self, question, texts):
        assert question == "which?"
        yield from (float(text.split()[1]) for text in texts)
"""


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Packages that have the names and the calls of the real ones, installed as those would be."""
    written = {
        "sentence_transformers/__init__.py": SENTENCE_TRANSFORMERS,
        "sentence_transformers-3.4.1.dist-info/METADATA": "Name: sentence-transformers\nVersion: 3.4.1\n",
        "fastembed/__init__.py": "",
        "fastembed/rerank/__init__.py": "",
        "fastembed/rerank/cross_encoder.py": FASTEMBED,
        "fastembed-0.7.2.dist-info/METADATA": "Name: fastembed\nVersion: 0.7.2\n",
    }
    for name, text in written.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    for name in [name for name in sys.modules if name.split(".")[0] in {"sentence_transformers", "fastembed"}]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(str(tmp_path))


def squashed(logit: float) -> float:
    return 1 / (1 + math.exp(-logit))


@pytest.mark.parametrize("extra", ["fastembed", "sentence-transformers"])
def test_a_choice_without_its_package_names_the_extra_to_install(extra: str) -> None:
    with pytest.raises(MissingExtra, match=rf"{extra}:some/model needs .* pip install 'fivefold\[{extra}\]'"):
        reranker(f"{extra}:some/model")


@pytest.mark.parametrize("choice", ["", "Local", "local:x", "cohere", "cohere:", "voyage", "jina:", "openai:x", ":x"])
def test_an_unknown_name_is_refused_and_the_known_ones_listed(choice: str) -> None:
    with pytest.raises(ValueError, match=f"unknown reranker {choice!r}") as caught:
        reranker(choice)
    for known in ("local", "sentence-transformers:NAME", "fastembed:NAME", "voyage:MODEL", "cohere:MODEL", "jina:"):
        assert known in str(caught.value)


@pytest.mark.usefixtures("packages")
def test_pins_name_package_model_and_version() -> None:
    assert SentenceTransformersReranker("a/b").pin == "sentence-transformers:a/b@3"
    assert FastEmbedReranker("a/b").pin == "fastembed:a/b@0"


@pytest.mark.usefixtures("packages")
def test_logits_are_squashed_and_keep_their_order() -> None:
    logits = [0.0, -2.0, 3.0]
    assert FastEmbedReranker("a/b").scores("which?", PASSAGES, 1) == pytest.approx([squashed(x) for x in logits])
    by_other = SentenceTransformersReranker("logits").scores("which?", PASSAGES, 1)
    assert by_other == pytest.approx([squashed(x + 0.5) for x in logits], abs=1e-6)


@pytest.mark.usefixtures("packages")
def test_scores_that_lie_in_0_to_1_are_left_alone() -> None:
    assert SentenceTransformersReranker("inside").scores("which?", PASSAGES, 1) == pytest.approx([0.5, 0.3, 0.8])


@pytest.mark.usefixtures("packages")
@pytest.mark.parametrize("kind", [SentenceTransformersReranker, FastEmbedReranker])
def test_a_model_that_does_not_load_is_named(kind: type[SentenceTransformersReranker | FastEmbedReranker]) -> None:
    with pytest.raises(RerankerError, match=r"could not load 'none': no such model"):
        kind("none").scores("which?", PASSAGES, 1)
