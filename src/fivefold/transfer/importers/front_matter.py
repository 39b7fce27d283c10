"""The lines between --- at the head of a Markdown file: only a date and tags are read."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime

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
