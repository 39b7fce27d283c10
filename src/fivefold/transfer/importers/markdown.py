"""Folders of Markdown notes: every section under a heading is a note that names its headings."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path, PurePosixPath

from fivefold.errors import InvalidFile, InvalidInput
from fivefold.transfer.importers.sources import ImportLog, files_below, open_source_file, text_records
from fivefold.values.memory import Record
from fivefold.values.validate import visible

# The lines between --- at the head of a Markdown file: only a date and tags are read.

_NAME = re.compile(r"[A-Za-z_][\w -]*")
_DAY = re.compile(r"(?<!\d)(\d{4})[-_.]?(0[1-9]|1[0-2])[-_.]?(0[1-9]|[12]\d|3[01])(?!\d)")
DATES = ("date", "created", "created_at", "day")


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
    values = (value for key in DATES for value in fields.get(key, []))
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


SOURCE = "markdown"
SUFFIXES = (".md", ".markdown")
MOST = 20_000_000
"""Bytes of one file."""

_HEADING = re.compile(r"(#{1,6})\s+(\S.*)?$")
_FENCE = re.compile(r"\s{0,3}(```+|~~~+)")
_WIKI = re.compile(r"(!?)\[\[([^\[\]\n|#]*)(#[^\[\]\n|]*)?(?:\|([^\[\]\n]*))?\]\]")
_TAG = re.compile(r"(?<![\w/#&])#([^\W\d][\w/-]*)")


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a file with the headings above it."""

    headings: tuple[str, ...]
    text: str


def is_markdown(name: str) -> bool:
    return name.lower().endswith(SUFFIXES)


def read(path: Path, log: ImportLog) -> Iterator[Record]:
    """A note's id comes from the name of the folder and the path below it."""
    names = files_below(path, is_markdown, log) if path.is_dir() else [""]
    folder = path.resolve() if path.is_dir() else path.resolve().parent
    if not names:
        raise InvalidFile(path, "holds no Markdown file, whose name ends in .md")
    for name in names:
        log.parts += 1
        try:
            with open_source_file(path, name) as (stream, _):
                text = stream.read(MOST + 1)
            if len(text) > MOST:
                raise InvalidInput(f"it is larger than {MOST // 1_000_000} MB; is it a note?")
            place = PurePosixPath(folder.name, name or path.name)
            notes = list(_notes(text, place, _write_time(path, name), log))
        except InvalidInput as error:
            log.skip(str(path / name), "", error)
        else:
            yield from notes


def _notes(raw: bytes, place: PurePosixPath, modified: datetime, log: ImportLog) -> Iterator[Record]:
    """The notes of one file. Equal headings are numbered."""
    try:
        text = raw.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"it is not UTF-8 text: {error.reason} at byte {error.start}") from None
    fields, body = split_front_matter(text)
    title = next(iter(fields.get("title", [])), place.stem)
    day = day_of(fields, place.stem)
    seen: Counter[tuple[str, ...]] = Counter()
    for section in sections(body):
        seen[section.headings] += 1
        again = (str(seen[section.headings]),) if seen[section.headings] > 1 else ()
        if not visible(section.text):
            log.left_out["empty sections"] += 1
            continue
        above = " › ".join((title, *(heading for heading in section.headings if heading != title)))
        yield from text_records(
            SOURCE,
            (str(place), *section.headings, *again),
            f"{_plain(above)}\n{_plain(section.text)}",
            at=day or modified,
            stated=day is not None,
            tags=_tags(fields, section, place),
            path=str(place),
            links=list(dict.fromkeys(link[2].strip() for link in _WIKI.finditer(section.text) if link[2].strip())),
        )


def sections(text: str) -> Iterator[Section]:
    """The text cut at its headings; lines in a block of code are no headings."""
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
            yield Section(tuple(name for _, name in above), "\n".join(lines).strip())
        lines = []
        level = len(heading[1])
        above = [*((depth, name) for depth, name in above if depth < level), (level, _title(heading[2] or ""))]
    yield Section(tuple(name for _, name in above), "\n".join(lines).strip())


def _title(heading: str) -> str:
    """A heading without the closing marks that a space separates from its words."""
    title = heading.rstrip()
    words = title.rstrip("#")
    return title if words and not words[-1].isspace() else words.rstrip()


def _tags(fields: dict[str, list[str]], section: Section, place: PurePosixPath) -> list[str]:
    """The tags of the file's head and of the section, and the names of the folders between."""
    headed = [*fields.get("tags", []), *fields.get("tag", [])]
    if len(headed) == 1:
        headed = re.split(r"[,\s]+", headed[0])
    return [*(tag.lstrip("#") for tag in headed), *_TAG.findall(section.text), *place.parts[1:-1]]


def _plain(text: str) -> str:
    """Links between notes become the words a reader sees; embedded files have no words."""
    return _WIKI.sub(lambda link: "" if link[1] else link[4] or link[2] or (link[3] or "")[1:], text)


def _write_time(path: Path, name: str) -> datetime:
    file = path / name if name else path
    return datetime.fromtimestamp(int(file.stat().st_mtime), UTC)
