"""What exports of chat services have in common: a list of conversations, each read whole or skipped with a reason."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from fivefold.errors import InvalidFile, InvalidInput
from fivefold.transfer.importers.arrays import items
from fivefold.transfer.importers.import_log import ImportLog
from fivefold.transfer.importers.source_files import CONVERSATIONS, matching_files, open_source_file
from fivefold.values.json_shapes import require_object
from fivefold.values.memory import Record
from fivefold.values.serialize import Json
from fivefold.values.shorten import shorten

TITLE_LENGTH = 60
Turns = Callable[[Json, ImportLog], Iterator[Record]]


def conversations(path: Path, log: ImportLog, turns: Turns, title: str) -> Iterator[Record]:
    """The turns of every conversation; `title` is the field that names a conversation in errors."""
    names = matching_files(path, CONVERSATIONS, log)
    if not names:
        raise InvalidFile(path, "holds no conversations.json; name the export as it was downloaded")
    for name in names:
        with open_source_file(path, name) as (stream, label):
            for number, item in enumerate(items(stream, label), 1):
                log.parts += 1
                try:
                    records = list(turns(require_object(item, "a conversation"), log))
                except InvalidInput as error:
                    log.skip(label, f"conversation {number}{_title_of(item, title)}", error)
                else:
                    yield from records


def _title_of(item: object, title: str) -> str:
    value = item.get(title) if isinstance(item, dict) else None
    if not isinstance(value, str) or not value:
        return ""
    return f" {shorten(value, TITLE_LENGTH)!r}"
