"""A text of a source as records whose ids come from the source's own, so that a later import finds it again."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from fivefold.values.limits import MAX_NAME, MAX_TAGS
from fivefold.values.memory import Memory, Record
from fivefold.values.records import record_of
from fivefold.values.validate import visible

IMPORTED = "imported"
"""Under this name the metadata of a memory has its source and a digest of the source's text."""

_BROKEN = re.compile("[\x00\ud800-\udfff]")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")


def text_records(
    source: str,
    key: tuple[str, ...],
    text: str,
    *,
    speaker: str | None = None,
    session: tuple[str, ...] | None = None,
    at: datetime | None = None,
    stated: bool = True,
    tags: Iterable[str] = (),
    **about: Any,
) -> Iterator[Record]:
    """One record, or none where nothing in the text is visible.

    A time that is not `stated` in the source, such as a file's, does not count as a change of it.
    """
    labels = tuple(dict.fromkeys(filter(visible, map(one_line, tags))))[:MAX_TAGS]
    teller = one_line(speaker or "")
    metadata = {name: _storable(value) for name, value in about.items() if value not in (None, "", [], {})}
    content = storable_text(text)
    if not visible(content):
        return
    stamp = digest(content, teller, *labels, at.isoformat() if at and stated else "")
    yield record_of(
        {
            "id": source_id(source, *key),
            "content": content,
            "speaker": teller if visible(teller) else None,
            "event_at": at,
            "origin": "import",
            "tags": labels,
            "session_id": source_id(source, *session) if session else None,
            "metadata": {IMPORTED: {"from": source, "digest": stamp}, **metadata},
        }
    )


def source_id(source: str, *key: str) -> str:
    """The id a part of a source has here: its own where that can be an id, else one made from it."""
    readable = ":".join((source, *key))
    if len(readable) <= MAX_NAME and not _CONTROL.search(readable) and readable == readable.strip():
        return readable
    return f"{source}:{digest(*key)}"


def stored_digest(item: Record | Memory) -> str | None:
    """The digest of the source when this was imported; None if it was not imported."""
    origin = item.metadata.get(IMPORTED)
    stamp = origin.get("digest") if isinstance(origin, dict) else None
    return stamp if isinstance(stamp, str) else None


def digest(*parts: str) -> str:
    joined = "\x1f".join(parts).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(joined, digest_size=12).hexdigest()


def storable_text(text: str) -> str:
    """What no store can hold as text becomes the replacement character."""
    return _BROKEN.sub("\ufffd", text).strip()


def _storable(value: Any) -> Any:
    """A value of the metadata, with its characters made storable like those of the text."""
    if isinstance(value, str):
        return _BROKEN.sub("\ufffd", value)
    if isinstance(value, list):
        return [_storable(item) for item in value]
    if isinstance(value, dict):
        return {_storable(name): _storable(item) for name, item in value.items()}
    return value


def one_line(text: str) -> str:
    """A speaker or tag on one line, no longer than a name may be."""
    return _CONTROL.sub(" ", text).strip()[:MAX_NAME].strip()
