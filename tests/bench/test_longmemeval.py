"""LongMemEval's format, on sessions made up for the test."""

from __future__ import annotations

import json
import lzma
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import fivefold
from fivefold import InvalidInput
from fivefold_bench import longmemeval
from fivefold_bench.contestants import select_questions
from fivefold_bench.longmemeval import UNMARKED

BEES: list[dict[str, Any]] = [
    {"role": "user", "content": "I bought two hives", "has_answer": True},
    {"role": "assistant", "content": "Lovely, where will they stand?"},
    {"role": "user", "content": " "},
    {"role": "user", "content": "I bought two hives"},
]
BOAT: list[dict[str, Any]] = [
    {"role": "user", "content": "The boat needs paint"},
    {"role": "assistant", "content": "Try marine enamel"},
]
TEA: list[dict[str, Any]] = [{"role": "assistant", "content": "Shall I order tea?"}]


def question(id: str, answers: list[str], **sessions: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "question_id": id,
        "question_type": "multi-session",
        "question": "How many hives do I have?",
        "answer": 2,
        "question_date": "2024/05/01 (Wed) 08:15",
        "haystack_session_ids": list(sessions),
        "haystack_dates": [f"2024/04/{number:02} (Mon) 17:50" for number in range(1, len(sessions) + 1)],
        "haystack_sessions": list(sessions.values()),
        "answer_session_ids": answers,
    }


ASKED = [
    question("q1", ["bees"], bees=BEES, boat=BOAT),
    question("q2", ["boat", "boat"], bees=BEES, boat=BOAT),
    question("q3_abs", ["tea"], tea=TEA),
]


def written(folder: Path, asked: object) -> Path:
    path = folder / "asked.json"
    path.write_text(json.dumps(asked), "utf-8")
    return path


def test_pooled_sessions_stand_once_in_one_namespace(tmp_path: Path) -> None:
    data = longmemeval.load(written(tmp_path, ASKED), pool=True)
    assert (data.name, data.unit, list(data.memories)) == ("longmemeval", "session", ["longmemeval"])
    turns = data.memories["longmemeval"]
    assert [turn.id for turn in turns] == ["bees:0", "bees:1", "bees:3", "boat:0", "boat:1", "tea:0"]
    assert data.plain == {
        "longmemeval": [
            ("bees", "I bought two hives"),
            ("bees", "I bought two hives"),
            ("boat", "The boat needs paint"),
        ]
    }
    assert data.notes == ("questions left out that no session answers (…_abs): 1", "empty turns skipped: 1")


def test_without_pooling_each_question_has_its_own_namespace(tmp_path: Path) -> None:
    data = longmemeval.load(written(tmp_path, ASKED), pool=False)
    assert list(data.memories) == list(data.plain) == ["q1", "q2"]
    assert [turn.session_id for turn in data.memories["q2"]] == ["bees"] * 3 + ["boat"] * 2
    assert [(asked.id, asked.namespace) for asked in data.questions] == [("q1", "q1"), ("q2", "q2")]
    assert data.notes[1] == "empty turns skipped: 2"


def test_the_file_decides_whether_sessions_are_pooled(tmp_path: Path) -> None:
    """Haystacks of nothing but evidence are the oracle's."""
    assert list(longmemeval.load(written(tmp_path, ASKED)).memories) == ["q1", "q2"]
    oracle = [question("q1", ["bees", "boat"], bees=BEES, boat=BOAT), question("q2", ["boat"], boat=BOAT)]
    assert list(longmemeval.load(written(tmp_path, oracle)).memories) == ["longmemeval"]


@pytest.mark.parametrize("questions_first", [False, True])
def test_sessions_kept_apart_from_the_questions_are_the_same(tmp_path: Path, questions_first: bool) -> None:
    light = [{name: value for name, value in item.items() if name != "haystack_sessions"} for item in ASKED]
    parts = {"about": {"made": "by hand"}, "sessions": {"bees": BEES, "boat": BOAT, "tea": TEA}, "questions": light}
    if questions_first:
        parts = dict(reversed(parts.items()))
    path = tmp_path / "apart.json.xz"
    path.write_bytes(lzma.compress(json.dumps(parts).encode()))
    assert longmemeval.load(path) == longmemeval.load(written(tmp_path, ASKED))
    light[1]["haystack_session_ids"] = ["bees", "bark"]
    path.write_bytes(lzma.compress(json.dumps(parts).encode()))
    with pytest.raises(InvalidInput, match=r"question 2, field haystack_session_ids: 'bark' is not among the sessions"):
        longmemeval.load(path)


def test_marked_turns_are_the_gold_where_turns_count(tmp_path: Path) -> None:
    data = longmemeval.load(written(tmp_path, ASKED), unit="turn")
    assert data.unit == "turn"
    assert [(asked.id, asked.relevant) for asked in data.questions] == [("q1", ("bees:0",))]
    assert [id for id, _ in data.plain["q1"]] == ["bees:0", "bees:1", "bees:3", "boat:0", "boat:1"]
    assert data.notes[-1] == "questions left out because none of their turns is marked as evidence: 1"
    with pytest.raises(InvalidInput, match=f"asked.json: {UNMARKED}"):
        longmemeval.load(written(tmp_path, ASKED[1:2]), unit="turn")


def test_without_a_unit_turns_count_and_sessions_as_well(tmp_path: Path) -> None:
    """By session the gold is what the file names, whether or not one of its turns is marked."""
    asked = [question("q1", ["bees", "boat"], bees=BEES, boat=BOAT), *ASKED[1:]]
    data = longmemeval.load(written(tmp_path, asked), pool=False, unit=None)
    assert data.sessions is not None
    assert (data.unit, data.sessions.unit) == ("turn", "session")
    assert [(item.id, item.relevant) for item in data.questions] == [("q1", ("bees:0",))]
    assert [(item.id, item.relevant) for item in data.sessions.questions] == [
        ("q1", ("bees", "boat")),
        ("q2", ("boat",)),
    ]
    chosen = select_questions(data)
    assert chosen.sessions is not None
    assert [item.id for item in chosen.sessions.questions] == ["q1"]
    assert select_questions(data, "turn").sessions is None


def test_a_file_without_marks_is_scored_by_session_with_a_note(tmp_path: Path) -> None:
    data = longmemeval.load(written(tmp_path, ASKED[1:2]), unit=None)
    assert (data.unit, data.sessions) == ("session", None)
    assert data.notes[-1] == UNMARKED


def test_a_turn_keeps_role_time_and_the_text_of_its_side(tmp_path: Path) -> None:
    mine, theirs, again = longmemeval.load(written(tmp_path, ASKED), pool=True).memories["longmemeval"][:3]
    assert (mine.speaker, mine.user_text, mine.assistant_text) == ("user", mine.content, None)
    assert (theirs.speaker, theirs.user_text, theirs.assistant_text) == ("assistant", None, theirs.content)
    assert mine.event_at == datetime(2024, 4, 1, 17, 50, tzinfo=UTC)
    assert again.event_at == mine.event_at + timedelta(seconds=3)
    assert (again.kind, again.turn_index) == ("turn", 3)


def test_questions_name_their_sessions_once(tmp_path: Path) -> None:
    first, second = longmemeval.load(written(tmp_path, ASKED), pool=True).questions
    assert (first.namespace, first.relevant, first.category) == ("longmemeval", ("bees",), "multi-session")
    assert (second.relevant, second.now) == (("boat",), datetime(2024, 5, 1, 23, 59, 59, tzinfo=UTC))


def test_a_session_given_again_with_another_date_keeps_the_first(tmp_path: Path) -> None:
    asked = [question("q1", ["bees"], bees=BEES), question("q2", ["boat"], boat=BOAT, bees=BEES)]
    data = longmemeval.load(written(tmp_path, asked), pool=True)
    assert data.memories["longmemeval"][0].event_at == datetime(2024, 4, 1, 17, 50, tzinfo=UTC)
    assert data.notes[1:] == ("empty turns skipped: 1", "repeated sessions with another date, the first date used: 1")


def test_every_turn_is_remembered_under_its_id_even_when_words_repeat(tmp_path: Path) -> None:
    turns = longmemeval.load(written(tmp_path, ASKED), pool=True).memories["longmemeval"]
    with fivefold.open(tmp_path / "m.db") as engine:
        assert engine.remember_many(turns).stored == tuple(turn.id for turn in turns)


def _with(*path: Any) -> Callable[[Any], None]:
    """Sets the value at a path; None stands for a missing field."""

    def change(asked: Any) -> None:
        for key in path[:-2]:
            asked = asked[key]
        asked[path[-2]] = path[-1]

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_with("question_id", None), ", field question_id: is missing"),
        (_with("question_id", "q1"), ", field question_id: 'q1' names an earlier question already"),
        (_with("question", None), ", field question: is missing"),
        (_with("question", ""), ", field question: is empty"),
        (_with("question_type", 3), ", field question_type: must be text, not int"),
        (
            _with("question_date", "1 May 2024"),
            ", field question_date: '1 May 2024' is not a date like '2023/05/08 (Mon) 13:56'",
        ),
        (_with("answer_session_ids", []), ", field answer_session_ids: is empty; name the sessions"),
        (_with("answer_session_ids", ["tea"]), ", field answer_session_ids: 'tea' is not among the question's"),
        (_with("answer_session_ids", "bees"), ", field answer_session_ids: must be a list, not text"),
        (_with("haystack_session_ids", None), ", field haystack_session_ids: is missing"),
        (_with("haystack_dates", []), ", field haystack_dates: has 0 entries, haystack_session_ids has 2"),
        (_with("haystack_sessions", [[]]), ", field haystack_sessions: has 1 entries, haystack_session_ids has 2"),
        (_with("haystack_session_ids", 1, 8), ", session 2, field haystack_session_ids: must be text, not int"),
        (_with("haystack_session_ids", 1, "bees"), ", session 2, field haystack_session_ids: 'bees' names an earlier"),
        (_with("haystack_dates", 1, "soon"), ", session 2, field haystack_dates: 'soon' is not a date like"),
        (_with("haystack_sessions", 1, {}), ", session 2, field haystack_sessions: must be a list of turns, not an"),
        (_with("haystack_sessions", 1, 0, "hello"), ", session 2, turn 1: must be an object"),
        (_with("haystack_sessions", 1, 0, "role", None), ", session 2, turn 1, field role: is missing"),
        (_with("haystack_sessions", 1, 0, "content", None), ", session 2, turn 1, field content: is missing"),
        (_with("haystack_sessions", 1, 0, "content", []), ", session 2, turn 1, field content: must be text, not list"),
    ],
)
@pytest.mark.parametrize("pool", [True, False])
def test_bad_data_is_told_by_its_place(tmp_path: Path, change: Callable[[Any], None], message: str, pool: bool) -> None:
    asked = json.loads(json.dumps(ASKED))
    change(asked[1])
    with pytest.raises(InvalidInput) as caught:
        longmemeval.load(written(tmp_path, asked), pool)
    assert str(caught.value).startswith("asked.json, question 2" + message)


def test_a_file_that_holds_no_questions_is_told(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"asked.json: must be a list of questions, or an object with sessions and"):
        longmemeval.load(written(tmp_path, {"data": ASKED}), pool=True)
    with pytest.raises(InvalidInput, match=r"asked.json: no question can be answered from its sessions"):
        longmemeval.load(written(tmp_path, ASKED[2:]), pool=True)
    with pytest.raises(InvalidInput, match="does not exist"):
        longmemeval.load(tmp_path / "nowhere.json", pool=True)
