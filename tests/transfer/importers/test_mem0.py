"""mem0: what get_all gives, bare or wrapped, and its file of changes."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from fivefold.errors import InvalidInput
from fivefold.transfer.importers import ImportLog, detect_format, read
from tests.support.exports import mem0_history, write

MEMORIES = [
    {
        "id": "m-1",
        "memory": "Likes hiking",
        "user_id": "alex",
        "hash": "x",
        "score": None,
        "created_at": "2024-07-01T12:00:00-07:00",
        "updated_at": None,
        "metadata": {"channel": "app"},
        "categories": ["hobbies"],
    },
    {
        "id": "m-2",
        "memory": "Lives in Oslo",
        "agent_id": "guide",
        "created_at": "2024-07-01T12:00:00+00:00",
        "updated_at": "2024-08-02T08:00:00+00:00",
    },
]


@pytest.mark.parametrize("wrapped", [MEMORIES, {"results": MEMORIES}, {"count": 2, "next": None, "results": MEMORIES}])
def test_memories_become_notes_of_their_owner(wrapped: object, tmp_path: Path) -> None:
    path = write(tmp_path / "memories.json", wrapped)
    assert detect_format(path) == "mem0"
    hiking, oslo = read(path)
    assert (hiking.id, hiking.content, hiking.speaker, hiking.tags) == (
        "mem0:m-1",
        "Likes hiking",
        "alex",
        ("hobbies",),
    )
    assert hiking.event_at == datetime(2024, 7, 1, 19, tzinfo=UTC)
    assert hiking.metadata["metadata"] == {"channel": "app"}
    assert hiking.metadata["user_id"] == "alex"
    assert (oslo.speaker, oslo.event_at, oslo.session_id) == ("guide", datetime(2024, 8, 2, 8, tzinfo=UTC), None)


def test_bad_memories_are_skipped_and_empty_ones_counted(tmp_path: Path) -> None:
    bad = [{"id": "a"}, {"memory": "no id"}, {"id": "b", "memory": " "}, 7, {"id": "c", "memory": "x", "categories": 1}]
    log = ImportLog()
    path = write(tmp_path / "m.json", {"results": [*MEMORIES, *bad]})
    assert len(list(read(path, log=log))) == 2
    assert [part.why for part in log.skipped] == [
        "memory should be a text; it is missing",
        "the id should be a text; it is missing",
        "a memory should be an object; it is a number here",
        "categories should be a list; it is a number here",
    ]
    assert log.skipped[0].where == f"{path}, memory 3"
    assert log.left_out == {"empty memories": 1}


def test_the_history_gives_the_last_text_of_what_was_kept(tmp_path: Path) -> None:
    path = mem0_history(
        tmp_path / "history.db",
        ("m-1", "Likes hiking", "ADD", "2024-07-01T12:00:00+00:00", None),
        ("m-2", "Lives in Oslo", "ADD", "2024-07-01T12:00:00+00:00", None),
        ("m-1", "Likes climbing", "UPDATE", "2024-07-01T12:00:00+00:00", "2024-07-09T12:00:00+00:00"),
        ("m-2", None, "DELETE", "2024-07-01T12:00:00+00:00", "2024-07-10T12:00:00+00:00"),
        ("m-3", None, "ADD", "2024-07-01T12:00:00+00:00", None),
    )
    log = ImportLog()
    assert detect_format(path) == "mem0"
    (climbing,) = read(path, log=log)
    assert (climbing.id, climbing.content) == ("mem0:m-1", "Likes climbing")
    assert climbing.event_at == datetime(2024, 7, 9, 12, tzinfo=UTC)
    assert log.left_out == {"deleted memories": 1}
    assert [part.where for part in log.skipped] == [f"{path}, memory m-3"]


def test_a_file_without_its_table_is_refused(tmp_path: Path) -> None:
    from tests.support.exports import message_store

    path = message_store(tmp_path / "chat.db")
    with pytest.raises(InvalidInput, match="has no table history with created_at, event, memory_id, new_memory"):
        list(read(path, "mem0"))
