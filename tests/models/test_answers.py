"""The answer model: what its numbers depend on and what they do not, its file, and a question it must get right."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fivefold.models import answers
from fivefold.models.answers import AWAY, MOST_TOKENS, AnswerModel
from fivefold.models.binary import Contents, Tensor, pack
from fivefold.models.embedders import DEFAULT, embedder
from fivefold.models.token_vectors import pack as pack_tokens
from fivefold.models.token_vectors import packed_size
from fivefold.values.reading import QuestionReading
from fivefold.values.vectors import Matrix, Vector

WIDTH = 64


def units(count: int, seed: int) -> Matrix:
    rows = np.random.default_rng(seed).normal(size=(count, WIDTH)).astype(np.float32)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def memory(count: int, seed: int = 1) -> bytes:
    return pack_tokens(units(count, seed))


def question(count: int = 5) -> QuestionReading:
    weights = np.full(count, 1 / max(count, 1), dtype=np.float32)
    return QuestionReading(np.zeros(384, np.float32), units(count, 99), weights, ((0, 0),) * count)


@pytest.fixture(scope="module")
def model() -> AnswerModel:
    found = answers.shipped()
    assert found is not None
    return found


def judged(model: AnswerModel, memories: Sequence[bytes], late: float = 0.5, dense: float = 0.4) -> Vector:
    return model.logits(question(), memories, np.full(len(memories), late), np.full(len(memories), dense))


def test_the_shipped_model_understands_the_shipped_embedder(model: AnswerModel) -> None:
    assert model.pin == embedder(DEFAULT).pin
    assert {name.rpartition(".")[0] for name in model.tensors} >= {"q", "d", "pool", "out.0", "out.2"}


def test_each_memory_gets_one_number(model: AnswerModel) -> None:
    found = judged(model, [memory(3), memory(40, 2), memory(1, 3)])
    assert found.shape == (3,)
    assert np.isfinite(found).all()
    assert len(set(found.round(5).tolist())) == 3


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(1, 60), min_size=1, max_size=6, unique=True))
def test_neither_order_nor_company_changes_a_memory_s_number(model: AnswerModel, sizes: list[int]) -> None:
    """A longer memory next to it makes the table wider, and what is added does not count."""
    alone = {size: float(judged(model, [memory(size, size)])[0]) for size in sizes}
    together = judged(model, [memory(size, size) for size in sizes])
    assert together.tolist() == pytest.approx([alone[size] for size in sizes], abs=1e-4)
    backwards = judged(model, [memory(size, size) for size in reversed(sizes)])
    assert backwards.tolist() == pytest.approx(together[::-1].tolist(), abs=1e-4)


def test_the_order_of_a_memory_s_tokens_does_not_matter(model: AnswerModel) -> None:
    """The embedder has seen the order; here every word of the question looks at all of them."""
    tokens = units(12, 4)
    found = judged(model, [pack_tokens(tokens), pack_tokens(tokens[::-1])])
    assert found[0] == pytest.approx(found[1], abs=1e-4)


def test_a_memory_without_tokens_has_the_lowest_number(model: AnswerModel) -> None:
    found = judged(model, [b"", memory(4)])
    assert found[0] == AWAY < found[1]
    assert judged(model, [b"", b""]).tolist() == [AWAY, AWAY]
    assert judged(model, []).shape == (0,)


def test_a_question_without_tokens_says_nothing_about_any_memory(model: AnswerModel) -> None:
    signals = np.zeros(2, dtype=np.float32)
    assert model.logits(question(0), [memory(3), b""], signals, signals).tolist() == [0, 0]


def test_only_the_first_tokens_of_a_long_memory_are_read(model: AnswerModel) -> None:
    long = memory(MOST_TOKENS + 50, 7)
    found = judged(model, [long, long[: packed_size(WIDTH) * MOST_TOKENS]])
    assert found[0] == pytest.approx(found[1], abs=1e-4)


def test_the_scores_of_the_searches_count(model: AnswerModel) -> None:
    assert judged(model, [memory(9)], late=0.9)[0] != pytest.approx(judged(model, [memory(9)], late=0.1)[0], abs=1e-3)
    assert judged(model, [memory(9)], dense=0.9)[0] != pytest.approx(judged(model, [memory(9)], dense=0.1)[0], abs=1e-3)


def test_the_network_by_hand() -> None:
    """All matrices are zero but the last one over the three signals: 5 · 0.4 + 2 · 5 · 0.3 + (ln 4 − 3), + 1."""
    width = 4
    shapes: dict[str, tuple[int, ...]] = {
        "q": (width, 65),
        "d": (width, 64),
        "pool": (1, width),
        "out.0": (width, 2 * width + 3),
        "out.2": (1, width),
    }
    for layer in range(answers.LAYERS):
        for name, rows in (("cq", 1), ("ckv", 2), ("co", 1), ("sqkv", 3), ("so", 1), ("up", 2)):
            shapes[f"L.{layer}.{name}"] = (rows * width, width)
        shapes[f"L.{layer}.down"] = (width, 2 * width)
        shapes |= {f"L.{layer}.n{i}": (width,) for i in (1, 2, 3)}
    tensors: dict[str, Tensor] = {f"{name}.weight": np.zeros(shape, np.float32) for name, shape in shapes.items()}
    tensors |= {f"{name}.bias": np.zeros(shape[0], np.float32) for name, shape in shapes.items()}
    tensors["out.0.weight"][0, -3:] = (1, 2, 1)
    tensors["out.0.bias"][0] = 100  # far up, where the curve is a straight line
    tensors["out.2.weight"][0, 0] = 1
    tensors["out.2.bias"][0] = -99
    found = judged(AnswerModel("by hand", "made@1", tensors), [memory(4)], late=0.4, dense=0.3)
    assert found[0] == pytest.approx(2 + 3 + np.log(4) - 3 + 1, abs=1e-4)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Another place for the shipped files."""
    (tmp_path / "data").mkdir()
    monkeypatch.setattr("fivefold.models.answers.resources.files", lambda package: tmp_path)
    answers.shipped.cache_clear()
    yield tmp_path / "data" / answers.FILE
    answers.shipped.cache_clear()


def test_a_file_that_is_missing_or_damaged_gives_no_model(folder: Path, model: AnswerModel) -> None:
    assert answers.shipped() is None
    whole = pack(Contents(model.name, model.pin, WIDTH, model.tensors))
    for data in (b"", whole[:-1], whole[:100] + b"x" + whole[101:]):
        folder.write_bytes(data)
        answers.shipped.cache_clear()
        assert answers.shipped() is None


def test_a_file_comes_back_as_it_was(folder: Path, model: AnswerModel) -> None:
    folder.write_bytes(pack(Contents("again", "made@1", WIDTH, model.tensors)))
    again = answers.shipped()
    assert again is not None
    assert (again.name, again.pin) == ("again", "made@1")
    same = replace(again, pin=model.pin)
    assert np.array_equal(judged(same, [memory(5)]), judged(model, [memory(5)]))
