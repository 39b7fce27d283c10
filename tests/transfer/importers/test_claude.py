"""Claude exports: text blocks are said, the other blocks counted."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from fivefold.errors import InvalidInput
from fivefold.transfer.importers import ImportLog, detect_format, read
from tests.support.exports import MOVE, claude, packed, said, write


def test_a_conversation_becomes_a_session(tmp_path: Path) -> None:
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
