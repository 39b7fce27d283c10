"""Notes: folders of Markdown files, and the memories of mem0."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path, PurePosixPath

from fivefold.errors import InvalidFile, InvalidInput
from fivefold.transfer.importers.sources import (
    ImportLog,
    columns,
    files_below,
    is_database,
    items,
    open_source_file,
    rows,
    text_records,
    written_at,
)
from fivefold.values.memory import Record
from fivefold.values.serialize import Json
from fivefold.values.validate import optional_time, require_list, require_name, require_object, require_text, visible

# Markdown: every section under a heading is a note that names its headings. Of the lines between --- at the head of a
# file only a date and tags are read.

MAX_FILE = 20_000_000
"""Bytes of one file."""

_NAME = re.compile(r"[A-Za-z_][\w -]*")
_DAY = re.compile(r"(?<!\d)(\d{4})[-_.]?(0[1-9]|1[0-2])[-_.]?(0[1-9]|[12]\d|3[01])(?!\d)")
_HEADING = re.compile(r"(#{1,6})\s+(\S.*)?$")
_FENCE = re.compile(r"\s{0,3}(```+|~~~+)")
_WIKI = re.compile(r"(!?)\[\[([^\[\]\n|#]*)(#[^\[\]\n|]*)?(?:\|([^\[\]\n]*))?\]\]")
_TAG = re.compile(r"(?<![\w/#&])#([^\W\d][\w/-]*)")
_DATES = ("date", "created", "created_at", "day")


def is_markdown(name: str) -> bool:
    return name.lower().endswith((".md", ".markdown"))


class Markdown:
    """A note's id comes from the name of the folder and the path below it."""

    source: str = "markdown"
    label: str = "Markdown notes"

    def read(self, path: Path, log: ImportLog) -> Iterator[Record]:
        names = files_below(path, is_markdown, log) if path.is_dir() else [""]
        if not names:
            raise InvalidFile(path, "holds no Markdown file, whose name ends in .md")
        for name in names:
            yield from log.part(str(path / name), "", self._notes(path, name, log))

    def _notes(self, path: Path, name: str, log: ImportLog) -> Iterator[Record]:
        """The notes of one file. Equal headings are numbered."""
        with open_source_file(path, name) as (stream, _):
            raw = stream.read(MAX_FILE + 1)
        if len(raw) > MAX_FILE:
            raise InvalidInput(f"it is larger than {MAX_FILE // 1_000_000} MB; is it a note?")
        try:
            text = raw.decode("utf-8-sig").replace("\r\n", "\n")
        except UnicodeDecodeError as error:
            raise InvalidInput(f"it is not UTF-8 text: {error.reason} at byte {error.start}") from None
        folder = path.resolve() if path.is_dir() else path.resolve().parent
        place = PurePosixPath(folder.name, name or path.name)
        fields, body = split_front_matter(text)
        title = next(iter(fields.get("title", [])), place.stem)
        day = day_of(fields, place.stem)
        seen: Counter[tuple[str, ...]] = Counter()
        for headings, section in sections(body):
            seen[headings] += 1
            again = (str(seen[headings]),) if seen[headings] > 1 else ()
            if not visible(section):
                log.left_out["empty sections"] += 1
                continue
            above = " › ".join((title, *(heading for heading in headings if heading != title)))
            tags = [*fields.get("tags", []), *fields.get("tag", [])]
            tags = re.split(r"[,\s]+", tags[0]) if len(tags) == 1 else tags
            yield from text_records(
                self.source,
                (str(place), *headings, *again),
                f"{_plain(above)}\n{_plain(section)}",
                at=day or written_at(path, name),
                stated=day is not None,
                tags=[*(tag.lstrip("#") for tag in tags), *_TAG.findall(section), *place.parts[1:-1]],
                path=str(place),
                links=list(dict.fromkeys(link[2].strip() for link in _WIKI.finditer(section) if link[2].strip())),
            )


def split_front_matter(text: str) -> tuple[dict[str, list[str]], str]:
    """The fields at the head, each as a list of values, and the text after them."""
    lines = text.split("\n")
    if lines[0].rstrip() != "---":
        return {}, text
    end = next((n for n, line in enumerate(lines[1:], 1) if line.rstrip() in ("---", "...")), None)
    if end is None:
        return {}, text
    fields: dict[str, list[str]] = {}
    last: list[str] = []
    for line in lines[1:end]:
        name, colon, value = line.partition(":")
        if colon and _NAME.fullmatch(name) and (not value or value[0].isspace()):
            last = fields.setdefault(name.rstrip().lower(), [])
            last += _values(value)
        elif line.lstrip().startswith("- "):
            last += _values(line.lstrip()[2:])
    return fields, "\n".join(lines[end + 1 :])


def day_of(fields: dict[str, list[str]], name: str) -> datetime | None:
    """The day of a note: from its head, else from its file name."""
    values = (value for key in _DATES for value in fields.get(key, []))
    return next((moment for moment in (*map(_moment, values), _day(name)) if moment), None)


def _values(text: str) -> list[str]:
    text = text.strip()
    if text.startswith("[") and text.endswith("]"):
        return [value for part in text[1:-1].split(",") if (value := part.strip().strip("'\""))]
    return [text.strip("'\"")] if text.strip("'\"") else []


def _moment(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return _day(text)
    try:
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except OverflowError:
        return None


def _day(text: str) -> datetime | None:
    match = _DAY.search(text)
    if match is None:
        return None
    try:
        day = date(int(match[1]), int(match[2]), int(match[3]))
    except ValueError:
        return None
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


def sections(text: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """The text cut at its headings, each part with the headings above it; in a block of code there are none."""
    above: list[tuple[int, str]] = []
    lines: list[str] = []
    fence = ""
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
        heading = None if fence else _HEADING.match(line)
        if heading is None:
            lines.append(line)
            continue
        if above or any(map(visible, lines)):
            yield tuple(name for _, name in above), "\n".join(lines).strip()
        lines = []
        level, title = len(heading[1]), (heading[2] or "").rstrip()
        words = title.rstrip("#")  # closing marks count only if a space separates them from the words
        title = title if words and not words[-1].isspace() else words.rstrip()
        above = [*((depth, name) for depth, name in above if depth < level), (level, title)]
    yield tuple(name for _, name in above), "\n".join(lines).strip()


def _plain(text: str) -> str:
    """Links between notes become the words a reader sees; embedded files have no words."""
    return _WIKI.sub(lambda link: "" if link[1] else link[4] or link[2] or (link[3] or "")[1:], text)


class Mem0:
    """Memories of mem0: what `get_all` gives as JSON, or the file in which it keeps their history."""

    source: str = "mem0"
    label: str = "memories of mem0"
    columns: frozenset[str] = frozenset(("memory_id", "new_memory", "event", "created_at"))
    """The columns by which the table `history` is known."""

    def read(self, path: Path, log: ImportLog) -> Iterator[Record]:
        if is_database(path):
            yield from self._history(path, log)
            return
        with open_source_file(path, "") as (stream, label):
            for number, item in enumerate(self._memories(items(stream, label), label), 1):
                yield from log.part(label, f"memory {number}", self._note(item, log))

    def _memories(self, entries: Iterator[object], label: str) -> Iterator[object]:
        """The memories of a bare list, or of an object that lists them as `results`."""
        for item in entries:
            if isinstance(item, dict) and "results" in item and "memory" not in item:
                yield from require_list(item["results"], f"{label}: results")
            else:
                yield item

    def _note(self, item: object, log: ImportLog) -> Iterator[Record]:
        """A memory becomes a note of its owner, with the time of its last change."""
        memory = require_object(item, "a memory")
        key = require_name(memory.get("id"), "the id")
        text = require_text(memory.get("memory"), "memory")
        if not text.strip():
            log.left_out["empty memories"] += 1
        created = optional_time(memory.get("created_at"), "created_at")
        owner = next((memory[name] for name in ("actor_id", "user_id", "agent_id") if memory.get(name)), None)
        tags = [require_name(tag, "a category") for tag in require_list(memory.get("categories") or [], "categories")]
        yield from text_records(
            self.source,
            (key,),
            text,
            speaker=None if owner is None else require_name(owner, "the owner"),
            at=optional_time(memory.get("updated_at"), "updated_at") or created,
            tags=tags,
            metadata=memory.get("metadata"),
            user_id=memory.get("user_id"),
            agent_id=memory.get("agent_id"),
            run_id=memory.get("run_id"),
        )

    def _history(self, path: Path, log: ImportLog) -> Iterator[Record]:
        """The last text of every memory that was not deleted."""
        known = columns(path).get("history", [])
        if not self.columns <= set(known):
            raise InvalidFile(path, f"has no table history with {', '.join(sorted(self.columns))}")
        at, actor = (name if name in known else "NULL" for name in ("updated_at", "actor_id"))
        last: dict[str, Json | None] = {}
        for memory_id, text, event, updated, created, owner in rows(
            path,
            f"SELECT memory_id, new_memory, event, {at}, created_at, {actor} FROM history "
            f"ORDER BY created_at, {at}, rowid",
        ):
            latest = {"id": memory_id, "memory": text, "updated_at": updated, "created_at": created, "actor_id": owner}
            last.pop(str(memory_id), None)
            last[str(memory_id)] = None if str(event).upper() == "DELETE" else latest
        for key, memory in last.items():
            if memory is None:
                log.parts += 1
                log.left_out["deleted memories"] += 1
            else:
                yield from log.part(str(path), f"memory {key}", self._note(memory, log))
