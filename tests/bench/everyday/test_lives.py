"""Lives: read, checked, and what the shipped ones hold."""

from __future__ import annotations

import lzma
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from fivefold.errors import InvalidInput
from fivefold.evaluation import KINDS, NEVER, OTHER, Outcome, read_life
from fivefold_bench.everyday import difference, load_lives, shipped_lives
from tests.support.everyday_life import life, write_life


def test_a_life_is_a_namespace_with_all_of_its_questions(tmp_path: Path) -> None:
    dataset = load_lives([write_life(tmp_path)])
    assert list(dataset.memories) == ["nuno"]
    assert [record.id for record in dataset.memories["nuno"]] == ["m1", "m2", "m3", "m4", "m5", "m6"]
    first, _, third, last = dataset.questions
    assert (first.relevant, first.stale, first.category) == (("m4",), ("m1",), "current")
    assert third.history == ("Rui came by.",)
    assert first.now == datetime(2026, 3, 2, 20, tzinfo=UTC)
    assert (last.relevant, last.now) == ((), datetime(2026, 3, 3, 7, tzinfo=UTC))
    assert dict(dataset.plain["nuno"])["m3"] == "Noted, badge E-47821."


def test_fields_that_a_memory_does_not_have_are_left_out_and_noted(tmp_path: Path) -> None:
    memories: list[dict[str, Any]] = life()["memories"]
    memories[0] |= {"kind": "fact", "mood": "glad", "importance": 0.9}
    dataset = load_lives([write_life(tmp_path, memories=memories)])
    assert dataset.memories["nuno"][0].importance == 0.9
    assert dataset.notes == ("fields of memories that are not stored: kind, mood",)


def test_a_name_stands_for_one_life(tmp_path: Path) -> None:
    path = write_life(tmp_path)
    packed = tmp_path / "nuno.json.xz"
    packed.write_bytes(lzma.compress(path.read_bytes()))
    assert read_life(packed) == read_life(path)
    with pytest.raises(InvalidInput, match="two files are of a life called 'nuno'"):
        load_lives([path, packed])


def test_every_shipped_life_is_whole_and_asks_everything() -> None:
    for path in shipped_lives("all"):
        found = read_life(path)
        assert not found.unread
        assert len(found.memories) >= 100
        assert len(found.questions) >= 80
        assert {question.category for question in found.questions} == set(KINDS) - {OTHER}
        assert sum(question.category == NEVER for question in found.questions) >= 9
        assert all(question.stale for question in found.questions if question.category == "current")


def test_a_difference_has_an_interval_over_lives_and_questions() -> None:
    def rows(ranks: list[int], life: str) -> list[Outcome]:
        return [Outcome(str(n), life, "past", rank, 1.0, None, None, (), ()) for n, rank in enumerate(ranks)]

    mine = rows([1] * 30 + [2] * 10, "a") + rows([1] * 20 + [2] * 20, "b")
    theirs = rows([2] * 40, "a") + rows([1] * 10 + [2] * 30, "b")
    found = difference("default", "dense", mine, theirs)
    assert found.difference == pytest.approx(0.5)
    assert 0.1 < found.low < 0.4
    assert 0.6 < found.high < 0.9
    same = difference("default", "dense", mine, mine)
    assert (same.difference, same.low, same.high) == (0, 0, 0)
