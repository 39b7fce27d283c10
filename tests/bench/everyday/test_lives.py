"""Lives: read, checked, and what the shipped ones hold."""

from __future__ import annotations

import lzma
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from fivefold.errors import InvalidInput
from fivefold_bench.lives import KINDS, NEVER, load_lives, read_life, shipped_lives
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


def test_other_spellings_are_read(tmp_path: Path) -> None:
    asked = [
        {"q": "Which cat?", "kind": "multi-hop", "expected_ids": ["m5"], "context": ["Rui"]},
        {"q": "Hers?", "kind": "pronoun", "expected": ["m5"], "stale": None},
        {"q": "My shoe size?", "kind": "never-said"},
    ]
    found = read_life(write_life(tmp_path, questions=asked))
    assert [question.category for question in found.questions] == ["multihop", "followup", "never"]


def test_fields_that_a_memory_does_not_have_are_left_out_and_noted(tmp_path: Path) -> None:
    memories: list[dict[str, Any]] = life()["memories"]
    memories[0] |= {"kind": "fact", "mood": "glad", "importance": 0.9}
    dataset = load_lives([write_life(tmp_path, memories=memories)])
    assert dataset.memories["nuno"][0].importance == 0.9
    assert dataset.notes == ("fields of memories that are not stored: kind, mood",)


@pytest.mark.parametrize(
    ("place", "change", "message"),
    [
        ("questions", {"kind": "riddle"}, "nuno.json question 1, field kind: 'riddle' is unknown; known are current"),
        ("questions", {"expected": ["m9"]}, "question 1, field expected: 'm9' is no memory of this life"),
        ("questions", {"stale": ["m4"]}, "question 1, field stale: 'm4' is expected as well; name it once"),
        ("questions", {"kind": "never"}, "field expected: a question of kind never names no memory"),
        ("questions", {"expected": []}, "field expected: a question of kind never names no memory"),
        ("questions", {"q": ""}, "question 1, field q: "),
        ("questions", {"now": "soon"}, "question 1, field now: "),
        ("memories", {"id": "m2"}, "memory 2, field id: 'm2' is already the id of an earlier memory"),
        ("memories", {"event_at": "yesterdayish"}, "memory 1, field event_at: "),
        ("memories", {"content": ""}, "memory 1, field content: "),
    ],
)
def test_faults_are_named_with_their_place(place: str, change: dict[str, Any], message: str, tmp_path: Path) -> None:
    entries: list[dict[str, Any]] = life()[place]
    entries[0] |= change
    with pytest.raises(InvalidInput) as error:
        read_life(write_life(tmp_path, "nuno", **{place: entries}))
    assert message in str(error.value)


@pytest.mark.parametrize("change", [{"now": None}, {"memories": []}, {"questions": []}, {"questions": {}}])
def test_a_life_has_a_time_memories_and_questions(change: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=rf"nuno\.json, field {next(iter(change))}: "):
        read_life(write_life(tmp_path, **change))


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
        assert {question.category for question in found.questions} == set(KINDS)
        assert sum(question.category == NEVER for question in found.questions) >= 9
        assert all(question.stale for question in found.questions if question.category == "current")
