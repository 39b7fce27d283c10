"""Markdown notes: sections, dates, tags, links between notes."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fivefold.errors import InvalidInput
from fivefold.transfer.importers import ImportLog, detect_format, read
from fivefold.transfer.importers import notes as notes_module
from fivefold.transfer.importers.notes import sections
from fivefold.values.memory import Record
from tests.support.exports import mem0_history, write

GARDEN = """---
title: The garden
date: 2024-04-05
tags: [plants, "slow work"]
aliases:
  - yard
---
Everything green.

# Beds
Ferns from [[Mrs Okafor|our neighbour]], see [[Ferns#Water]]. ![[map.png]] #shade

## North
```
# not a heading
```
Hostas.

## North
Moss.

# Empty

"""


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    tmp_path = tmp_path / "vault"
    for name, text in {
        "home/garden.md": GARDEN,
        "daily/2024-05-06.md": "Rain all day. Not a tag: C#7, &#39; or issue #12",
        "plain.markdown": "Just a line",
        ".obsidian/workspace.md": "not a note",
        "picture.png": "x",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    os.utime(tmp_path / "plain.markdown", (1_700_000_000, 1_700_000_000))
    return tmp_path


def by_id(path: Path) -> dict[str, Record]:
    return {str(record.id).removeprefix("markdown:vault/"): record for record in read(path)}


def test_every_section_says_where_it_stands(notes: Path) -> None:
    assert detect_format(notes) == "markdown"
    log = ImportLog()
    found = {record.id: record.content for record in read(notes, log=log)}
    assert found == {
        "markdown:vault/daily/2024-05-06.md": "2024-05-06\nRain all day. Not a tag: C#7, &#39; or issue #12",
        "markdown:vault/home/garden.md": "The garden\nEverything green.",
        "markdown:vault/home/garden.md:Beds": "The garden › Beds\nFerns from our neighbour, see Ferns.  #shade",
        "markdown:vault/home/garden.md:Beds:North": "The garden › Beds › North\n```\n# not a heading\n```\nHostas.",
        "markdown:vault/home/garden.md:Beds:North:2": "The garden › Beds › North\nMoss.",
        "markdown:vault/plain.markdown": "plain\nJust a line",
    }
    assert log.left_out == {"empty sections": 1}
    assert log.parts == 3


def test_days_come_from_the_head_the_name_or_the_file(notes: Path) -> None:
    found = by_id(notes)
    assert found["home/garden.md"].event_at == datetime(2024, 4, 5, tzinfo=UTC)
    assert found["daily/2024-05-06.md"].event_at == datetime(2024, 5, 6, tzinfo=UTC)
    assert found["plain.markdown"].event_at == datetime.fromtimestamp(1_700_000_000, UTC)


def test_tags_links_and_path_are_kept(notes: Path) -> None:
    found = by_id(notes)
    assert found["home/garden.md:Beds"].tags == ("plants", "slow work", "shade", "home")
    assert found["home/garden.md:Beds"].metadata["links"] == ["Mrs Okafor", "Ferns", "map.png"]
    assert found["home/garden.md:Beds"].metadata["path"] == "vault/home/garden.md"
    assert found["daily/2024-05-06.md"].tags == ("daily",)


def test_one_file_can_be_named(notes: Path) -> None:
    assert detect_format(notes / "plain.markdown") == "markdown"
    (alone,) = read(notes / "plain.markdown")
    assert alone == by_id(notes)["plain.markdown"]


@pytest.mark.parametrize(
    ("head", "day"),
    [
        ("date: 2024-04-05T07:30:00+02:00", datetime(2024, 4, 5, 5, 30, tzinfo=UTC)),
        ("created: '2024-04-05'", datetime(2024, 4, 5, tzinfo=UTC)),
        ("date: sometime\ncreated_at: 2024_04_05", datetime(2024, 4, 5, tzinfo=UTC)),
        ("date: 2024-02-31", datetime(2023, 1, 2, tzinfo=UTC)),
    ],
)
def test_a_day_that_cannot_be_read_gives_way_to_the_next(head: str, day: datetime, tmp_path: Path) -> None:
    (tmp_path / "20230102 log.md").write_text(f"---\n{head}\n---\nwords", "utf-8")
    (record,) = read(tmp_path)
    assert record.event_at == day


@pytest.mark.parametrize("tags", ["a, b", "a b", "[a, b]", "\n  - a\n  - '#b'", "#a #b"])
def test_tags_are_written_in_many_ways(tags: str, tmp_path: Path) -> None:
    (tmp_path / "x.md").write_text(f"---\ntags: {tags}\n---\nwords", "utf-8")
    (record,) = read(tmp_path)
    assert record.tags == ("a", "b")


def test_what_cannot_be_read_is_skipped_and_named(notes: Path) -> None:
    (notes / "old.md").write_bytes(b"caf\xe9")
    (notes / "picture.md").symlink_to(notes / "nowhere")
    log = ImportLog()
    assert len(list(read(notes, log=log))) == 6
    assert [part.where for part in log.skipped] == [str(notes / "old.md"), str(notes / "picture.md")]
    assert log.skipped[1].why == f"'{notes / 'picture.md'}' could not be read: No such file or directory"
    assert log.skipped[0].why == "it is not UTF-8 text: unexpected end of data at byte 3"


@given(st.lists(st.sampled_from(["# A", "## B", "### C", "words", "", "```", "~~~~", "#no", "text #x"])))
def test_no_line_of_text_is_lost(lines: list[str]) -> None:
    read = list(sections("\n".join(lines)))
    kept = [line for _, text in read for line in text.split("\n") if line in ("words", "#no", "text #x")]
    assert kept == [line for line in lines if line in ("words", "#no", "text #x")]


def test_a_link_out_of_the_folder_brings_nothing_in(notes: Path) -> None:
    """Whoever made the folder may not be whoever imports it."""
    (notes.parent / "secret.md").write_text("The safe opens with 4711", "utf-8")
    (notes / "stolen.md").symlink_to(notes.parent / "secret.md")
    (notes / "own.md").symlink_to(notes / "plain.markdown")
    os.mkfifo(notes / "pipe.md")
    log = ImportLog()
    found = {record.id: record.content for record in read(notes, log=log)}
    assert found["markdown:vault/own.md"] == "own\nJust a line"
    assert "4711" not in "".join(found.values())
    assert log.left_out == {"empty sections": 1, "links out of the folder": 1, "devices and pipes": 1}
    assert log.skipped == []


def test_a_file_too_large_for_a_note_is_skipped(notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notes_module, "MAX_FILE", 1_000_000)
    (notes / "huge.md").write_bytes(b"x" * 1_000_001)
    log = ImportLog()
    assert len(list(read(notes, log=log))) == 6
    assert log.skipped[0].why == "it is larger than 1 MB; is it a note?"


@pytest.mark.parametrize(
    "line", ["# a" + " " * 30_000 + "b", "# a" + "#" * 30_000 + "b", "[[" * 30_000, "a" + " " * 30_000 + "b"]
)
def test_odd_lines_are_read_as_fast_as_others(line: str, tmp_path: Path) -> None:
    """Each would take minutes to hours by a pattern that tries all its ways."""
    (tmp_path / "x.md").write_text(f"---\n{line}\n---\n{line}\nwords", "utf-8")
    (record,) = read(tmp_path)
    assert record.content.endswith("words")


@pytest.mark.parametrize(
    ("line", "title"), [("# A #", "A"), ("# C#", "C#"), ("## A # B ##  ", "A # B"), ("# ##", ""), ("#  ", "")]
)
def test_the_marks_that_close_a_heading_are_no_part_of_it(line: str, title: str) -> None:
    ((headings, _),) = sections(f"{line}\nwords")
    assert headings == (title,)


# mem0: what get_all gives, bare or wrapped, and its file of changes.

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
