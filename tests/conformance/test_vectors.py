"""The embedders of the conformance suite, and what it says where pytest is missing."""

from __future__ import annotations

import numpy as np
import pytest

from tests.conformance.vectors import Embedded, Failing, WordVectors


def test_texts_with_the_same_words_have_the_same_vector_to_the_last_bit() -> None:
    one, other, third = WordVectors().embed(
        ["Tea and coffee, please", "please coffee TEA, and", "tea and milk, please"]
    )
    assert one.tobytes() == other.tobytes()
    assert one.tobytes() != third.tobytes()
    assert float(one @ third) > 0.4


@pytest.mark.parametrize("text", ["", "🎉", "...", "東京", " "])
def test_every_text_has_a_vector_of_length_one(text: str) -> None:
    (vector,) = WordVectors(48).embed([text])
    assert (vector.shape, vector.dtype) == ((48,), np.float32)
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-6)


def test_another_models_batches_are_made_once() -> None:
    model = Failing(after=1)
    kept = Embedded(model)
    first = kept.embed(["a", "b"])
    assert kept.embed(["a", "b"]) is first
    assert (kept.pin, kept.dimension) == (model.pin, model.dimension)
    with pytest.raises(RuntimeError, match="went away"):
        kept.embed(["a"])
