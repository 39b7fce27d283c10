"""Files of chat messages: a list, an object, a list of conversations, lines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fivefold.engine import Engine
from fivefold.errors import InvalidInput
from fivefold.transfer.importers import ImportLog, detect_format, import_from, read
from tests.support.exports import write

TALK: list[dict[str, object]] = [
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


@pytest.mark.parametrize("whole", [TALK, {"messages": TALK}], ids=["list", "object"])
def test_a_file_is_a_session(whole: object, tmp_path: Path) -> None:
    path = write(tmp_path / "garden.json", whole)
    assert detect_format(path) == "messages"
    assert [(speaker, text) for _, speaker, text in read_all(path)] == SAID
    assert all(str(session).startswith("messages:garden") for session, _, _ in read_all(path))


def test_lines_are_messages_or_conversations(tmp_path: Path) -> None:
    named = [{**message, "session_id": "shade"} for message in TALK]
    path = lines(tmp_path / "chat.jsonl", [*named, {"messages": TALK, "session_id": "again"}, {"messages": TALK}])
    assert detect_format(path) == "messages"
    sessions = [session for session, _, _ in read_all(path)]
    assert sorted(set(map(str, sessions))) == ["again", "messages:chat:5", "shade"]


def test_a_second_import_adds_nothing(engine: Engine, tmp_path: Path) -> None:
    path = write(tmp_path / "garden.json", TALK)
    done = import_from(engine, path)
    assert (len(done.stored), done.format, done.left_out) == (2, "messages", {"system messages": 1})
    assert import_from(engine, path).stored == ()
    engine.configure(system_messages="keep")
    assert len(import_from(engine, path).stored) == 1


def test_a_conversation_that_cannot_be_read_is_skipped(tmp_path: Path) -> None:
    path = write(tmp_path / "all.json", [{"messages": TALK, "id": "a"}, {"messages": [{"role": "pilot"}], "id": "b"}])
    log = ImportLog()
    assert len(list(read(path, log=log))) == 2
    assert [(part.where, part.why[:26]) for part in log.skipped] == [
        (f"{path}, conversation 2", "message 1: role 'pilot' is")
    ]
    with pytest.raises(InvalidInput, match="conversation 2"):
        list(read(path, strict=True))
