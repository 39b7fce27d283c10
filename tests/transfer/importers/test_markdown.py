"""Markdown notes: sections, dates, tags, links between notes."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fivefold.transfer.importers import ImportLog, detect_format, markdown, read
from fivefold.transfer.importers.markdown import sections
from fivefold.values.memory import Record

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
    kept = [line for section in read for line in section.text.split("\n") if line in ("words", "#no", "text #x")]
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
    monkeypatch.setattr(markdown, "MOST", 1_000_000)
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
    (section,) = sections(f"{line}\nwords")
    assert section.headings == (title,)
