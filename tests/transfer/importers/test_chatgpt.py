"""ChatGPT exports: the branch last looked at, speech only, the rest counted."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from fivefold.errors import InvalidInput
from fivefold.transfer.importers import ImportLog, read
from fivefold.transfer.importers.sources import IMPORTED
from tests.support.exports import BREAD, NINE, chatgpt, node, packed, write


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
        ({"create_time": 1e300}, "create_time 1e+300 is no time of the years 1 to 9999"),
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
