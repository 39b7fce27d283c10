"""PersonaMem's files, on a talk made up for the test."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import fivefold
from fivefold import InvalidInput
from fivefold_bench import personamem
from fivefold_bench.data import Choice, Dataset
from tests.support.bench_data import personamem_context, personamem_rows, write_personamem


def loaded(folder: Path, *changes: dict[str, str]) -> Dataset:
    """The sample, each change applied to its first question."""
    rows = personamem_rows()
    for change in changes:
        rows[0].update(change)
    return personamem.load(write_personamem(folder, rows, {"c1": personamem_context()}))


def test_a_question_sees_its_context_as_far_as_its_end(tmp_path: Path) -> None:
    data = loaded(tmp_path)
    assert (data.name, data.unit) == ("personamem", "session")
    assert {space: len(turns) for space, turns in data.memories.items()} == {"c1:18": 15, "c1:16": 13}
    assert [len(list(turns)) for turns in data.memories.values()] == [15, 13]
    first, second = list(data.memories["c1:18"])[:2]
    assert (first.content, first.speaker) == ("I planted three plum trees behind the mill", "user")
    assert (second.content, second.assistant_text) == ("I see.", "I see.")
    assert (first.session_id, first.turn_index) == ("session-1", 1)
    assert not any("persona" in turn.content for turn in data.memories["c1:18"])


def test_the_gold_is_the_session_so_many_back(tmp_path: Path) -> None:
    """At the end of the text sessions count from behind all; within the last session, from that one."""
    assert [(item.id, item.relevant) for item in loaded(tmp_path).questions] == [
        ("p0", ("session-1",)),
        ("p1", ("session-2",)),
        ("p2", ("session-1",)),
    ]


def test_sessions_have_days_of_their_own_and_questions_come_after(tmp_path: Path) -> None:
    data = loaded(tmp_path)
    assert "each session was given the day after the one before" in data.notes[0]
    turns = list(data.memories["c1:18"])
    assert turns[0].event_at == datetime(2024, 1, 1, 9, 0, 1, tzinfo=UTC)
    assert turns[6].event_at == turns[0].event_at + timedelta(days=1)
    assert all(item.now and item.now > max(turn.event_at for turn in turns if turn.event_at) for item in data.questions)


def test_offered_answers_lose_their_letters(tmp_path: Path) -> None:
    data = loaded(tmp_path)
    options = ("Nobody told me.", "Your sister Petra keeps bees.", "You like rye bread.")
    assert data.choices["p0"] == Choice(options, 1)
    assert data.questions[0].text == "Who keeps bees?"


def test_a_reference_outside_the_context_is_left_out_with_a_note(tmp_path: Path) -> None:
    data = loaded(tmp_path, {"distance_to_ref_in_blocks": "9"})
    assert [item.id for item in data.questions] == ["p1", "p2"]
    assert data.notes[1] == "questions left out whose session of reference is not in the context: 1"


def test_what_is_read_can_be_remembered(tmp_path: Path) -> None:
    turns = loaded(tmp_path).memories["c1:18"]
    with fivefold.open(tmp_path / "m.db") as engine:
        assert engine.remember_many(list(turns)).stored == tuple(turn.id for turn in turns)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"question_id": ""}, "field question_id: is missing"),
        ({"question_id": "p1"}, "question 2, field question_id: 'p1' names an earlier question already"),
        ({"shared_context_id": "c9"}, "field shared_context_id: 'c9' is not a context of the file next to it"),
        ({"end_index_in_shared_context": "soon"}, "field end_index_in_shared_context: must be a whole number"),
        ({"all_options": "(a) yes"}, "field all_options: is not a list of texts"),
        ({"all_options": "3"}, "field all_options: must be a list of texts, not a number"),
        ({"correct_answer": "(f)"}, "field correct_answer: '\\(f\\)' is none of the options a, b, c"),
    ],
)
def test_bad_rows_are_told_by_their_place(tmp_path: Path, change: dict[str, str], said: str) -> None:
    with pytest.raises(
        InvalidInput, match=f"questions_tiny.csv, question .*{said}" if "question 2" not in said else said
    ):
        loaded(tmp_path, change)


def test_files_that_do_not_belong_together_are_told(tmp_path: Path) -> None:
    path = write_personamem(tmp_path, personamem_rows(), {"c1": personamem_context()})
    with pytest.raises(InvalidInput, match=r"is not a questions_SIZE.csv"):
        personamem.load(path.rename(tmp_path / "asked.csv"))
    (tmp_path / "asked.csv").rename(tmp_path / "questions_other.csv")
    with pytest.raises(InvalidInput, match=r"shared_contexts_other.jsonl does not exist"):
        personamem.load(tmp_path / "questions_other.csv")
    with pytest.raises(InvalidInput, match="is empty"):
        personamem.load(write_personamem(tmp_path, personamem_rows(), {"c1": []}))
