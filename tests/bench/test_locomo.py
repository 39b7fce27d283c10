"""LoCoMo's format, on a talk made up for the test."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import fivefold
from fivefold import InvalidInput
from fivefold_bench import locomo

Talk = dict[str, Any]


def said(id: str, speaker: str, text: str, **more: object) -> dict[str, object]:
    return {"dia_id": id, "speaker": speaker, "text": text, **more}


TALK: Talk = {
    "sample_id": "talk-1",
    "event_summary": {},
    "conversation": {
        "speaker_a": "Ines",
        "speaker_b": "Otto",
        "session_2_date_time": "9:05 pm on 2 June, 2024",
        "session_2": [said("D2:1", "Ines", "Yes"), said("D2:2", "Otto", "Fine"), said("D2:3", "Ines", "Yes")],
        "session_1_date_time": "12:30 am on 30 May, 2024",
        "session_1": [
            said("D1:1", "Ines", "I keep bees now"),
            said("D1:2", "Otto", "Look", blip_caption="a wooden hive", img_url=["http://example.org/hive.jpg"]),
            said("D1:3", "Otto", "", blip_caption="a smoker"),
            said("D1:4", "Otto", " "),
        ],
        "session_3_date_time": "1:00 pm on 9 June, 2024",
    },
    "qa": [{"question": "What does Ines keep?", "answer": "bees", "evidence": ["D1:1"], "category": 4}],
}


def asked(evidence: object, category: object = 1) -> Talk:
    talk = copy.deepcopy(TALK)
    talk["qa"] = [*talk["qa"], {"question": "And then?", "evidence": evidence, "category": category}]
    return talk


def written(folder: Path, *talks: object) -> Path:
    path = folder / "talks.json"
    path.write_text(json.dumps(talks), "utf-8")
    return path


def test_turns_become_memories_in_the_order_of_their_sessions(tmp_path: Path) -> None:
    data = locomo.load(written(tmp_path, TALK))
    turns = data.memories["talk-1"]
    assert (data.name, data.unit) == ("locomo", "turn")
    assert [turn.id for turn in turns] == ["D1:1", "D1:2", "D1:3", "D2:1", "D2:2", "D2:3"]
    assert [turn.session_id for turn in turns] == ["session_1"] * 3 + ["session_2"] * 3
    assert [turn.turn_index for turn in turns] == [0, 1, 2, 0, 1, 2]
    assert {turn.kind for turn in turns} == {"turn"}
    assert turns[0].event_at == datetime(2024, 5, 30, 0, 30, tzinfo=UTC)
    times = [turn.event_at for turn in turns if turn.event_at]
    assert times == sorted(set(times))


def test_a_photo_is_told_by_its_caption(tmp_path: Path) -> None:
    data = locomo.load(written(tmp_path, TALK))
    assert [turn.content for turn in data.memories["talk-1"][1:3]] == [
        "Look [shares a photo: a wooden hive]",
        "[shares a photo: a smoker]",
    ]
    assert data.plain["talk-1"][1] == ("D1:2", "Otto: Look [shares a photo: a wooden hive]")
    assert "empty turns skipped: 1" in data.notes


def test_questions_carry_category_and_the_time_after_the_last_session(tmp_path: Path) -> None:
    talks = [{**asked(["D2:1"], category), "sample_id": f"talk-{category}"} for category in range(1, 6)]
    data = locomo.load(written(tmp_path, *talks))
    assert [question.category for question in data.questions[1::2]] == [
        "multi-hop",
        "temporal",
        "open-domain",
        "single-hop",
        "adversarial",
    ]
    last = data.questions[-1]
    assert (last.id, last.namespace, last.text) == ("talk-5:1", "talk-5", "And then?")
    assert last.now == datetime(2024, 6, 3, 21, 5, 2, tzinfo=UTC)


@pytest.mark.parametrize(
    ("evidence", "relevant", "repaired", "dropped"),
    [
        (["D1:1", "D2:2"], ("D1:1", "D2:2"), 0, 0),
        (["D1:1; D2:2"], ("D1:1", "D2:2"), 1, 0),
        (["D1:1, D2:2 D2:3"], ("D1:1", "D2:2", "D2:3"), 1, 0),
        (["D:2:1"], ("D2:1",), 1, 0),
        (["D2:03", "D2:3"], ("D2:3",), 1, 0),
        (["D01:1", "D9:9"], ("D1:1",), 1, 1),
        (["D1:1 D8:8 D9:9"], ("D1:1",), 1, 2),
        (["D2:1", "D", ""], ("D2:1",), 0, 2),
        (["D1:4", "D1:1"], ("D1:1",), 0, 1),
    ],
)
def test_evidence_is_repaired_or_dropped_and_counted(
    tmp_path: Path, evidence: list[str], relevant: tuple[str, ...], repaired: int, dropped: int
) -> None:
    data = locomo.load(written(tmp_path, asked(evidence)))
    assert data.questions[1].relevant == relevant
    assert data.notes[:3] == (
        f"evidence strings repaired: {repaired}",
        f"evidence ids dropped that name no turn: {dropped}",
        "questions left out because they have no evidence: 0",
    )


@pytest.mark.parametrize("evidence", [[], ["D"], ["D7:7; D8:8"]])
def test_a_question_without_evidence_is_left_out_and_keeps_its_number(tmp_path: Path, evidence: list[str]) -> None:
    talk = asked(evidence)
    talk["qa"].append({"question": "Who says fine?", "evidence": ["D2:2"], "category": 4})
    data = locomo.load(written(tmp_path, talk))
    assert [question.id for question in data.questions] == ["talk-1:0", "talk-1:2"]
    assert data.notes[2] == "questions left out because they have no evidence: 1"


def test_every_turn_is_remembered_under_its_id_even_when_words_repeat(tmp_path: Path) -> None:
    turns = locomo.load(written(tmp_path, TALK)).memories["talk-1"]
    with fivefold.open(tmp_path / "m.db", namespace="talk-1") as engine:
        assert engine.remember_many(turns).stored == tuple(turn.id for turn in turns)


def _without(*path: Any) -> Callable[[Talk], None]:
    def change(talk: Any) -> None:
        for key in path[:-1]:
            talk = talk[key]
        del talk[path[-1]]

    return change


def _with(*path: Any) -> Callable[[Talk], None]:
    def change(talk: Any) -> None:
        for key in path[:-2]:
            talk = talk[key]
        talk[path[-2]] = path[-1]

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_without("sample_id"), "field sample_id: is missing"),
        (_with("sample_id", "talk-1"), "field sample_id: 'talk-1' names an earlier conversation already"),
        (_without("conversation"), "field conversation: is missing"),
        (_with("conversation", []), "field conversation: must be an object"),
        (_with("conversation", {}), "field conversation: holds no session_1, session_2, …"),
        (_with("conversation", "session_2", "talk"), "field session_2: must be a list, not text"),
        (_without("conversation", "session_2_date_time"), "field session_2_date_time: is missing"),
        (
            _with("conversation", "session_2_date_time", "2 June 2024"),
            "field session_2_date_time: '2 June 2024' is not a date like '01:56 PM on 08 May, 2023'",
        ),
        (_with("conversation", "session_1", 1, "Look"), "session_1, turn 2: must be an object"),
        (_without("conversation", "session_1", 1, "text"), "session_1, turn 2, field text: is missing"),
        (_with("conversation", "session_1", 1, "text", 4), "session_1, turn 2, field text: must be text, not int"),
        (_with("conversation", "session_1", 0, "text", "a\0b"), "session_1, turn 1, field text: holds a NUL"),
        (_without("conversation", "session_1", 1, "speaker"), "session_1, turn 2, field speaker: is missing"),
        (_without("conversation", "session_1", 1, "dia_id"), "session_1, turn 2, field dia_id: is missing"),
        (
            _with("conversation", "session_2", 1, "dia_id", "D1:1"),
            "session_2, turn 2, field dia_id: 'D1:1' names an earlier turn already",
        ),
        (_without("qa"), "field qa: is missing"),
        (_with("qa", {}), "field qa: must be a list, not an object"),
        (_without("qa", 0, "question"), "question 1, field question: is missing"),
        (_without("qa", 0, "evidence"), "question 1, field evidence: is missing"),
        (_with("qa", 0, "evidence", "D1:1"), "question 1, field evidence: must be a list, not text"),
        (_with("qa", 0, "evidence", [3]), "question 1, field evidence: must be text, not int"),
        (_with("qa", 0, "category", 6), "question 1, field category: 6 is unknown; it is one of 1 (multi-hop), 2"),
        (_with("qa", 0, "category", True), "question 1, field category: True is unknown"),
        (_with("qa", 0, "category", [4]), "question 1, field category: [4] is unknown"),
    ],
)
def test_bad_data_is_told_by_its_place(tmp_path: Path, change: Callable[[Talk], None], message: str) -> None:
    second = copy.deepcopy({**TALK, "sample_id": "talk-2"})
    change(second)
    with pytest.raises(InvalidInput) as caught:
        locomo.load(written(tmp_path, TALK, second))
    where = "talks.json, conversation 2" + (", " if message.startswith(("field", "session", "question")) else ": ")
    assert str(caught.value).startswith(where + message)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "talks.json is empty"),
        (b"{}", "talks.json: must be a list at its top, not an object"),
        (b"[]", "talks.json: the list is empty; there is nothing to measure"),
        (b"[1]", "talks.json, conversation 1: must be an object"),
        (b"[\n{,\n]", "talks.json: not JSON, Expecting property name enclosed in double quotes at line 2, column 2"),
        (b"\xff\xfe[]", "talks.json: not UTF-8 text, invalid start byte at byte 0"),
        (b"[" * 100_000, "talks.json: its values are nested too deep"),
    ],
)
def test_a_file_that_holds_no_talks_is_told(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "talks.json"
    path.write_bytes(content)
    with pytest.raises(InvalidInput) as caught:
        locomo.load(path)
    assert str(caught.value).startswith(message)


def test_a_missing_file_and_a_folder_are_told(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"nowhere.json does not exist; check the path"):
        locomo.load(tmp_path / "nowhere.json")
    with pytest.raises(InvalidInput, match="is a folder; give the file itself"):
        locomo.load(str(tmp_path))


def test_a_file_without_any_usable_question_is_told(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"talks.json: no question has usable evidence"):
        locomo.load(written(tmp_path, {**TALK, "qa": []}))
