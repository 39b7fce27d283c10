"""BEAM's two forms, on a talk made up for the test."""

from __future__ import annotations

import json
import lzma
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import fivefold
from fivefold import InvalidInput
from fivefold_bench import beam
from tests.support.bench_data import beam_chat, beam_probes, write_beam


def test_a_conversation_as_published(tmp_path: Path) -> None:
    data = beam.load(write_beam(tmp_path, beam_chat(), beam_probes()))
    assert (data.name, data.unit, list(data.memories)) == ("beam", "turn", ["1"])
    turns = list(data.memories["1"])
    assert [turn.id for turn in turns] == [str(number) for number in range(16)]
    assert [turn.session_id for turn in turns] == ["batch-1"] * 6 + ["batch-2"] * 6 + ["batch-3"] * 4
    assert [turn.turn_index for turn in turns[4:8]] == [4, 5, 0, 1]
    assert turns[7].event_at == datetime(2024, 3, 5, 9, 0, 1, tzinfo=UTC)
    assert (turns[0].user_text, turns[1].assistant_text) == (turns[0].content, "I see.")
    assert data.plain["1"][0] == ("0", turns[0].content)
    assert data.notes == ("questions left out that nothing said answers (abstention): 1",)


def test_questions_name_their_messages_by_list_or_by_part(tmp_path: Path) -> None:
    questions = beam.load(write_beam(tmp_path, beam_chat(), beam_probes())).questions
    assert (questions[0].id, questions[0].category) == ("1:temporal_reasoning:0", "temporal_reasoning")
    assert questions[0].relevant == ("8", "0")
    assert questions[1].relevant == ("2",)
    assert questions[0].now == datetime(2024, 3, 6, 9, 0, 3, tzinfo=UTC) + timedelta(days=1)


def test_batches_are_the_gold_by_session(tmp_path: Path) -> None:
    sessions = beam.load(write_beam(tmp_path, beam_chat(), beam_probes())).sessions
    assert sessions is not None
    assert [question.relevant for question in sessions.questions[:2]] == [("batch-2", "batch-1"), ("batch-1",)]
    assert {id for id, _ in sessions.plain["1"]} == {"batch-1", "batch-2", "batch-3"}


def test_one_conversation_is_a_folder_too_and_numbers_are_in_order(tmp_path: Path) -> None:
    talks = write_beam(tmp_path, beam_chat(), beam_probes())
    assert list(beam.load(talks / "1").memories) == ["1"]
    for name in ("10", "2"):
        (talks / "1").rename(talks / "x")
        write_beam(tmp_path, beam_chat(), beam_probes())
        (talks / "1").rename(talks / name)
        (talks / "x").rename(talks / "1")
    assert list(beam.load(talks).memories) == ["1", "2", "10"]


def test_plans_follow_each_other_and_the_shortened_talk_is_preferred(tmp_path: Path) -> None:
    chat = beam_chat()
    talks = write_beam(tmp_path, [{"plan-1": chat[:1]}, {"plan-2": chat[1:]}], beam_probes())
    assert len(beam.load(talks).memories["1"]) == 16
    (talks / "1" / "chat_trunecated.json").write_text(json.dumps(chat[:2]), "utf-8")
    data = beam.load(talks)
    assert len(data.memories["1"]) == 12
    assert "questions left out because they name no message: 1" in data.notes


def test_batches_without_a_date_are_a_day_apart(tmp_path: Path) -> None:
    chat = beam_chat()
    for turn in chat[1]["turns"]:
        del turn[0]["time_anchor"]
    turns = list(beam.load(write_beam(tmp_path, chat, beam_probes())).memories["1"])
    assert turns[6].event_at == datetime(2024, 3, 5, 9, tzinfo=UTC)


def lines(folder: Path, memories: list[dict[str, Any]]) -> Path:
    folder.joinpath("memories.jsonl.xz").write_bytes(
        lzma.compress("".join(json.dumps(item) + "\n" for item in memories).encode())
    )
    query = {"id": "q", "namespace": "n", "query": "what?", "relevant": ["1:1"], "category": "summarization"}
    folder.joinpath("queries.jsonl").write_text(json.dumps(query) + "\n", "utf-8")
    return folder


def test_lines_get_sessions_by_their_dates(tmp_path: Path) -> None:
    days = ["2024-01-05T09:00:00Z", "2024-01-05T09:00:00Z", "2024-01-20T09:00:00Z"]
    said = [
        {"id": f"1:{number}", "namespace": "n", "content": f"thing {number}", "speaker": role, "event_at": day}
        for number, (role, day) in enumerate(zip(("user", "assistant", "user"), days, strict=True))
    ]
    data = beam.load(lines(tmp_path, said))
    turns = data.memories["n"]
    assert (data.name, data.unit, data.questions[0].relevant) == ("beam", "turn", ("1:1",))
    assert [(turn.session_id, turn.turn_index, turn.kind) for turn in turns] == [
        ("batch-1", 0, "turn"),
        ("batch-1", 1, "turn"),
        ("batch-2", 0, "turn"),
    ]
    assert turns[1].event_at == datetime(2024, 1, 5, 9, 0, 1, tzinfo=UTC)
    assert (turns[0].user_text, turns[1].assistant_text) == ("thing 0", "thing 1")
    with fivefold.open(tmp_path / "m.db") as engine:
        assert engine.remember_many(turns).stored == ("1:0", "1:1", "1:2")


def test_sessions_that_lines_name_stay(tmp_path: Path) -> None:
    said = [{"id": f"1:{number}", "namespace": "n", "content": "x", "session_id": "mine"} for number in range(2)]
    turns = beam.load(lines(tmp_path, said)).memories["n"]
    assert [(turn.session_id, turn.turn_index) for turn in turns] == [("mine", 0), ("mine", 1)]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"id": "7"}, r"1/chat.json, batch 1, turn 1, message 1, field id: must be a whole number, not '7'"),
        ({"id": 1}, r"batch 1, turn 1, message 2, field id: 1 names an earlier message already"),
        ({"role": None}, r"message 1, field role: is missing"),
        ({"content": 3}, r"message 1, field content: must be text, not int"),
    ],
)
def test_bad_messages_are_told_by_their_place(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    chat = beam_chat()
    chat[0]["turns"][0][0].update(change)
    with pytest.raises(InvalidInput, match=said):
        beam.load(write_beam(tmp_path, chat, beam_probes()))


def test_folders_without_anything_to_read_are_told(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"holds neither conversations with a chat.json nor a memories.jsonl"):
        beam.load(tmp_path)
    with pytest.raises(InvalidInput, match="nowhere does not exist"):
        beam.load(tmp_path / "nowhere")
    talks = write_beam(tmp_path, beam_chat(), {"abstention": [{"question": "Who owns the mill?"}]})
    with pytest.raises(InvalidInput, match="no question names a message"):
        beam.load(talks)
    with pytest.raises(InvalidInput, match="is a file, not a folder"):
        beam.load(talks / "1" / "chat.json")
    (talks / "1" / "probing_questions" / "probing_questions.json").unlink()
    with pytest.raises(InvalidInput, match=r"holds no probing_questions/probing_questions.json"):
        beam.load(talks)
