"""ChatGPT exports: the branch last looked at, speech only, the rest counted."""

from __future__ import annotations

import json
from datetime import UTC, datetime
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

from fivefold.engine import Engine
from fivefold.errors import InvalidInput
from fivefold.transfer.importers import ImportLog, detect_format, import_from, read
from fivefold.transfer.importers.sources import IMPORTED
from tests.support.exports import BREAD, MOVE, NINE, chatgpt, claude, message, message_store, node, packed, said, write


def test_a_conversation_becomes_a_session(tmp_path: Path) -> None:
    log = ImportLog()
    turns = list(read(write(tmp_path / "conversations.json", [BREAD]), log=log))
    assert [(turn.id, turn.speaker, turn.content) for turn in turns] == [
        ("chatgpt:talk-1:m1", "user", "My sourdough starter is called Bertha"),
        ("chatgpt:talk-1:m2", "assistant", "Bertha is a fine name."),
        ("chatgpt:talk-1:m3", "user", "Is she ripe?"),
        ("chatgpt:talk-1:m6", "assistant", "Yes, she has doubled."),
    ]
    assert {turn.session_id for turn in turns} == {"chatgpt:talk-1"}
    assert turns[0].event_at == datetime.fromtimestamp(NINE + 1, UTC)
    about = {name: value for name, value in turns[1].metadata.items() if name != IMPORTED}
    assert about == {"title": "Bread", "model": "gpt-x"}
    assert log.left_out == {"system messages": 1, "images": 1, "calls of tools": 1, "tool messages": 1}
    assert log.skipped == []


def test_only_the_branch_last_looked_at_is_told(tmp_path: Path) -> None:
    talk = chatgpt(
        node("q", "root", "user", "Where does the ferry leave?"),
        node("first", "q", "assistant", "From Stavanger."),
        node("second", "q", "assistant", "From Hirtshals."),
        current="first",
    )
    assert [turn.content for turn in read(write(tmp_path / "a.json", [talk]))][1] == "From Stavanger."
    del talk["current_node"]
    assert [turn.content for turn in read(write(tmp_path / "a.json", [talk]))][1] == "From Hirtshals."


def test_archives_folders_and_split_exports_are_read(tmp_path: Path) -> None:
    other = chatgpt(node("x", "root", "user", "Rye keeps longer"), id="talk-2")
    archive = packed(tmp_path / "export.zip", conversations=[BREAD], user={"id": "me"})
    assert len(list(read(archive))) == 4
    split = packed(tmp_path / "split.zip", **{"conversations-000": [BREAD], "conversations-001": [other]})
    assert len(list(read(split))) == 5
    write(tmp_path / "unpacked" / "conversations.json", [BREAD, other])
    assert len(list(read(tmp_path / "unpacked"))) == 5


def test_what_was_spoken_or_hidden_is_told_apart(tmp_path: Path) -> None:
    talk = chatgpt(
        node(
            "a",
            "root",
            "user",
            {"content_type": "audio_transcription", "text": "Call the plumber"},
            {"content_type": "audio_asset_pointer"},
        ),
        node("b", "a", "assistant", "kept from view", metadata={"is_visually_hidden_from_conversation": True}),
        node("c", "b", "assistant", content={"content_type": "thoughts", "thoughts": []}),
        node("d", "c", "assistant", " \u200b", None),
    )
    log = ImportLog()
    assert [turn.content for turn in read(write(tmp_path / "a.json", [talk]), log=log)] == ["Call the plumber"]
    assert log.left_out == {"recordings": 1, "hidden messages": 1, "thoughts messages": 1, "empty messages": 1}


@pytest.mark.parametrize(
    ("spoilt", "why"),
    [
        ({"mapping": [1]}, "mapping should be an object; it is a list here"),
        ({"mapping": None}, "mapping should be an object; it is missing"),
        ({"current_node": "nowhere"}, "message nowhere should be an object; it is missing"),
        ({"conversation_id": None, "id": None}, "the conversation's id should be a text; it is missing"),
        ({"mapping": {"a": {"message": None, "parent": "a"}}, "current_node": "a"}, "message a is its own ancestor"),
        ({"create_time": 1e300}, "create_time 1e+300 is out of range; use the years 1 to 9999"),
        (
            {"mapping": {"a": {"message": {"author": {"role": "user"}, "content": "hi"}}}, "current_node": "a"},
            "content of message a should be an object; it is a text here",
        ),
    ],
)
def test_a_bad_conversation_is_skipped_and_named(spoilt: dict[str, object], why: str, tmp_path: Path) -> None:
    path = write(tmp_path / "conversations.json", [BREAD | spoilt, chatgpt(node("x", "root", "user", "Rye"), id="ok")])
    log = ImportLog()
    assert [turn.content for turn in read(path, "chatgpt", log=log)] == ["Rye"]
    assert [part.to_dict() for part in log.skipped] == [{"where": f"{path}, conversation 1 'Bread'", "why": why}]
    with pytest.raises(InvalidInput) as error:
        list(read(path, "chatgpt", strict=True))
    assert str(error.value) == f"{path}, conversation 1 'Bread': {why}"


# Claude exports: text blocks are said, the other blocks counted.


def test_a_conversation_of_claude_becomes_a_session(tmp_path: Path) -> None:
    log = ImportLog()
    archive = packed(tmp_path / "data.zip", conversations=[MOVE], users=[])
    assert detect_format(archive) == "claude"
    turns = list(read(archive, log=log))
    assert [(turn.id, turn.speaker, turn.content) for turn in turns] == [
        ("claude:c-1:a", "user", "We move to Bergen in May"),
        ("claude:c-1:b", "assistant", "Then book the ferry early."),
        ("claude:c-1:c", "user", "Here is the contract"),
    ]
    assert turns[0].event_at == datetime(2025, 2, 3, 10, 0, 5, 123456, UTC)
    assert turns[0].session_id == "claude:c-1"
    assert turns[0].metadata["title"] == "The move"
    assert +log.left_out == {"thinking blocks": 1, "attachments": 1}


def test_older_messages_have_only_their_text(tmp_path: Path) -> None:
    talk = claude(said("a", "human", "Old words", content=[]), said("b", "assistant", "", content=[]))
    log = ImportLog()
    assert [turn.content for turn in read(write(tmp_path / "a.json", [talk]), log=log)] == ["Old words"]
    assert log.left_out["empty messages"] == 1


@pytest.mark.parametrize(
    ("message", "why"),
    [
        (said("a", "narrator", "hm"), "the sender of message 1 should be human or assistant; it is 'narrator'"),
        (said("a", "human", "x", created_at="soon"), "created_at of message 1 'soon' is not an ISO 8601 time"),
        (said("", "human", "x"), "the uuid of message 1 is empty"),
        (said("a", "human", "x", content=["x"]), "a block of message 1 should be an object; it is a text here"),
        (said("a", "human", "x", files=3), "files of message 1 should be a list; it is a number here"),
    ],
)
def test_a_bad_message_skips_its_conversation(message: dict[str, object], why: str, tmp_path: Path) -> None:
    path = write(tmp_path / "conversations.json", [claude(said("z", "human", "Good"), message), MOVE])
    log = ImportLog()
    expected = why.replace("message 1", "message 2")
    assert len(list(read(path, log=log))) == 3
    assert log.skipped[0].where == f"{path}, conversation 1 'The move'"
    assert log.skipped[0].why.startswith(expected)
    with pytest.raises(InvalidInput, match="conversation 1"):
        list(read(path, strict=True))


# LangChain histories, as the library itself writes them.

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


# Files of chat messages: a list, an object, a list of conversations, lines.

MESSAGES: list[dict[str, object]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": [{"type": "text", "text": "What grows in shade?"}]},
    {"role": "assistant", "content": "Ferns."},
]
SAID = [("user", "What grows in shade?"), ("assistant", "Ferns.")]


def lines(path: Path, values: list[object]) -> Path:
    path.write_text("".join(f"{json.dumps(value)}\n" for value in values), "utf-8")
    return path


def read_all(path: Path) -> list[tuple[str | None, str | None, str]]:
    return [(turn.session_id, turn.speaker, turn.content) for turn in read(path)]


@pytest.mark.parametrize("whole", [MESSAGES, {"messages": MESSAGES}], ids=["list", "object"])
def test_a_file_of_messages_is_a_session(whole: object, tmp_path: Path) -> None:
    path = write(tmp_path / "garden.json", whole)
    assert detect_format(path) == "messages"
    assert [(speaker, text) for _, speaker, text in read_all(path)] == SAID
    assert all(str(session).startswith("messages:garden") for session, _, _ in read_all(path))


def test_lines_are_messages_or_conversations(tmp_path: Path) -> None:
    named = [{**message, "session_id": "shade"} for message in MESSAGES]
    path = lines(
        tmp_path / "chat.jsonl", [*named, {"messages": MESSAGES, "session_id": "again"}, {"messages": MESSAGES}]
    )
    assert detect_format(path) == "messages"
    sessions = [session for session, _, _ in read_all(path)]
    assert sorted(set(map(str, sessions))) == ["again", "messages:chat:5", "shade"]


def test_a_second_import_adds_nothing(engine: Engine, tmp_path: Path) -> None:
    path = write(tmp_path / "garden.json", MESSAGES)
    done = import_from(engine, path)
    assert (len(done.stored), done.format, done.left_out) == (2, "messages", {"system messages": 1})
    assert import_from(engine, path).stored == ()
    engine.configure(system_messages="keep")
    assert len(import_from(engine, path).stored) == 1


def test_a_conversation_that_cannot_be_read_is_skipped(tmp_path: Path) -> None:
    path = write(
        tmp_path / "all.json", [{"messages": MESSAGES, "id": "a"}, {"messages": [{"role": "pilot"}], "id": "b"}]
    )
    log = ImportLog()
    assert len(list(read(path, log=log))) == 2
    assert [(part.where, part.why[:26]) for part in log.skipped] == [
        (f"{path}, conversation 2", "message 1: role 'pilot' is")
    ]
    with pytest.raises(InvalidInput, match="conversation 2"):
        list(read(path, strict=True))
