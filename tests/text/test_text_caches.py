"""No cache keeps many long texts, and none keeps the text of what was forgotten."""

from __future__ import annotations

import gc
from collections.abc import Callable
from pathlib import Path

import pytest

import fivefold
from fivefold.engine import Engine
from fivefold.models.rerankers import SCORES
from fivefold.text.lexemes import MAX_LONG_TEXTS, MAX_SHORT_CHARACTERS, empty_text_caches, text_cache, words_of
from fivefold.values.vectors import Passage
from tests.support.judges import Judge
from tests.support.toy_engine import Toy, toy

SECRET = "The vault opens with Quorvexine Marmalind"


def test_a_text_is_read_once_while_it_is_kept() -> None:
    asked: list[str] = []

    @text_cache(2)
    def length(text: str) -> int:
        asked.append(text)
        return len(text)

    assert [length(text) for text in ("a", "bb", "a", "ccc", "bb")] == [1, 2, 1, 3, 2]
    assert asked == ["a", "bb", "ccc", "bb"]
    empty_text_caches()
    assert (length("bb"), asked[-1], len(asked)) == (2, "bb", 5)


def test_few_long_texts_are_kept() -> None:
    asked: list[int] = []

    @text_cache(1_000)
    def last(text: str) -> str:
        asked.append(len(text))
        return text[-1]

    texts = ["x" * (MAX_SHORT_CHARACTERS + 1 + number) for number in range(MAX_LONG_TEXTS + 1)]
    for text in (*texts, texts[0], texts[-1]):
        last(text)
    assert len(asked) == len(texts) + 1  # the first had gone, the last had not


def forget_one(mem: Engine) -> None:
    mem.forget("secret")


def forget_session(mem: Engine) -> None:
    mem.forget_session("s")


def sweep(mem: Engine) -> None:
    assert mem.sweep().swept


@pytest.mark.parametrize("forget", [forget_one, forget_session, sweep])
def test_what_is_forgotten_stays_in_no_cache(forget: Callable[[Engine], None], tmp_path: Path) -> None:
    with toy(str(tmp_path / "m.db")) as mem:
        mem.remember(SECRET, id="secret", session_id="s", speaker="user", expires_at="2000-01-01T00:00:00Z")
        SCORES.of(Judge(), "which?", [Passage(f"{SECRET} @0.5")], 1.0)
        assert "marmalind" in words_of(SECRET)
        forget(mem)
        gc.collect()
        assert not [kept for kept in gc.get_objects() if isinstance(kept, frozenset) and "marmalind" in kept]
        assert SCORES.of(Judge(), "which?", [Passage(f"{SECRET} @0.5")], 1.0)[1] == 1


def test_the_texts_of_a_deleted_namespace_stay_in_no_cache(tmp_path: Path) -> None:
    with fivefold.store(tmp_path / "m.db", embedder=Toy()) as shared:
        shared.namespace("ana").remember(SECRET)
        SCORES.of(Judge(), "which?", [Passage(f"{SECRET} @0.5")], 1.0)
        shared.delete_namespace("ana")
        assert SCORES.of(Judge(), "which?", [Passage(f"{SECRET} @0.5")], 1.0)[1] == 1
