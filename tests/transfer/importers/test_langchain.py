"""LangChain histories, as the library itself writes them."""

from __future__ import annotations

from pathlib import Path

import pytest
from langchain_core.messages import (
    AIMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    message_to_dict,
    messages_to_dict,
)

from fivefold.errors import InvalidInput
from fivefold.transfer.importers import ImportLog, detect_format, read
from tests.support.exports import message, message_store, write

TALK = [
    SystemMessage("Be brief."),
    HumanMessage("What grows in shade?", id="h-1"),
    AIMessage("", tool_calls=[{"name": "lookup", "args": {"q": "shade"}, "id": "call-1"}]),
    ToolMessage("ferns, hostas", tool_call_id="call-1"),
    AIMessage([{"type": "text", "text": "Ferns and hostas."}, {"type": "image_url", "image_url": {"url": "x"}}]),
    HumanMessage("ok", name="Ines"),
    HumanMessage("ok", name="Ines"),
]


def test_a_file_is_a_session(tmp_path: Path) -> None:
    log = ImportLog()
    path = write(tmp_path / "garden.json", messages_to_dict(TALK))
    assert detect_format(path) == "langchain"
    turns = list(read(path, log=log))
    assert [(turn.speaker, turn.content) for turn in turns] == [
        ("user", "What grows in shade?"),
        ("assistant", "Ferns and hostas."),
        ("Ines", "ok"),
        ("Ines", "ok"),
    ]
    assert {turn.session_id for turn in turns} == {"langchain:garden"}
    assert turns[0].id == "langchain:garden:h-1"
    assert len({turn.id for turn in turns}) == 4
    times = [turn.event_at for turn in turns if turn.event_at]
    assert times == sorted(set(times))
    assert log.left_out == {"system messages": 1, "calls of tools": 1, "tool messages": 1, "image_url blocks": 1}


def test_ids_stay_when_a_history_grows_or_is_cut(tmp_path: Path) -> None:
    whole = [turn.id for turn in read(write(tmp_path / "garden.json", messages_to_dict(TALK)))]
    more = [*TALK, HumanMessage("And in sun?")]
    assert [turn.id for turn in read(write(tmp_path / "garden.json", messages_to_dict(more)))][:4] == whole
    cut = [turn.id for turn in read(write(tmp_path / "garden.json", messages_to_dict(TALK[4:])))]
    assert cut == whole[1:]


def test_folders_and_objects_hold_several_sessions(tmp_path: Path) -> None:
    write(tmp_path / "all" / "a.json", messages_to_dict(TALK))
    write(tmp_path / "all" / "team" / "b.json", messages_to_dict(TALK[:2]))
    write(tmp_path / "all" / "0.json", [])
    (tmp_path / "all" / "1.json").write_text("[", "utf-8")
    assert detect_format(tmp_path / "all") == "langchain"
    sessions = [turn.session_id for turn in read(tmp_path / "all")]
    assert list(dict.fromkeys(sessions)) == ["langchain:a", "langchain:team/b"]
    path = write(tmp_path / "object.json", {"x": messages_to_dict(TALK), "y": messages_to_dict(TALK[:2])})
    assert {turn.session_id for turn in read(path)} == {"langchain:x", "langchain:y"}


def test_the_sql_table_is_read_in_the_order_of_its_rows(tmp_path: Path) -> None:
    told = [message_to_dict(item) for item in TALK]
    path = message_store(
        tmp_path / "chat.db", ("s1", told[1]), ("s2", message("human", "Hello")), ("s1", told[4]), ("s3", "no JSON")
    )
    log = ImportLog()
    assert detect_format(path) == "langchain"
    assert [(turn.session_id, turn.content) for turn in read(path, log=log)] == [
        ("langchain:s1", "What grows in shade?"),
        ("langchain:s1", "Ferns and hostas."),
        ("langchain:s2", "Hello"),
    ]
    assert log.skipped[0].where == f"{path}, session 's3'"
    assert log.skipped[0].why.startswith("message 1 is not JSON")


@pytest.mark.parametrize(
    ("spoilt", "why"),
    [
        ({"type": "human"}, "data of message 2 should be an object; it is missing"),
        ({"data": {}}, "the type of message 2 should be a text; it is missing"),
        (message("human", 7), "content should be a list; it is a number here"),
        (message("human", [7]), "a block should be a text; it is a number here"),
        (message("chat", "who says this?"), "the speaker should be a text; it is missing"),
    ],
)
def test_a_bad_message_skips_its_session(spoilt: object, why: str, tmp_path: Path) -> None:
    path = write(tmp_path / "a.json", [message("human", "fine"), spoilt])
    log = ImportLog()
    assert list(read(path, "langchain", log=log)) == []
    assert log.skipped[0].where == f"{path}, session 'a'"
    assert log.skipped[0].why.startswith(why)
    with pytest.raises(InvalidInput, match="session 'a'"):
        list(read(path, "langchain", strict=True))


def test_a_file_that_is_cut_off_skips_its_session(tmp_path: Path) -> None:
    write(tmp_path / "all" / "a.json", messages_to_dict(TALK))
    (tmp_path / "all" / "b.json").write_text('[{"type": "human", "da', "utf-8")
    log = ImportLog()
    assert len(list(read(tmp_path / "all", log=log))) == 4
    assert log.skipped[0].where == f"{tmp_path / 'all' / 'b.json'}"
    assert "item 1: is not JSON" in log.skipped[0].why
