"""The records of a source, whatever wrote it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from fivefold.errors import InvalidFile, InvalidInput
from fivefold.transfer.importers import chatgpt, claude, langchain, markdown, mem0, messages
from fivefold.transfer.importers.detect import FORMATS, Format, detect_format
from fivefold.transfer.importers.import_log import ImportLog
from fivefold.transfer.importers.transcripts import TRANSCRIPTS, reader_of
from fivefold.values.memory import Record


def read(
    path: str | os.PathLike[str], format: str = "auto", *, strict: bool = False, log: ImportLog | None = None
) -> Iterator[Record]:
    """The records of a file, folder or archive. `log` records what is left out or skipped."""
    source = Path(path)
    yield from read_records(source, resolve_format(source, format), log or ImportLog(strict))


def resolve_format(path: Path, format: str) -> Format:
    """The format by its name, or the one `path` seems to have."""
    if not path.exists():
        raise InvalidFile(path, "does not exist; name the file to import")
    if format == "auto":
        return detect_format(path)
    choice = next((known for known in FORMATS if known == format), None)
    if choice is None:
        raise InvalidInput(f"{format!r} is unknown; it is auto or one of {', '.join(FORMATS)}", field="format")
    if path.is_dir() and choice in ("jsonl", "mem0", "messages"):
        raise InvalidFile(path, f"is a folder; name a file of {choice}")
    return choice


def read_records(path: Path, format: Format, log: ImportLog) -> Iterator[Record]:
    return _READERS[format](path, log)


def _lines(path: Path, log: ImportLog) -> Iterator[Record]:
    """Lines of any kind as records; what an export says of whole sessions follows from their turns."""
    from fivefold.transfer.jsonl import read_lines
    from fivefold.writing.draft import Draft

    for item in read_lines(path, "default"):
        record = item.record if isinstance(item, Draft) else item
        if record.kind == "session":
            log.left_out["session memories"] += 1
        else:
            yield record


_READERS: dict[Format, Callable[[Path, ImportLog], Iterator[Record]]] = {
    "chatgpt": chatgpt.read,
    "claude": claude.read,
    "mem0": mem0.read,
    "langchain": langchain.read,
    "markdown": markdown.read,
    "messages": messages.read,
    "claude-code": reader_of(TRANSCRIPTS["claude-code"]),
    "codex": reader_of(TRANSCRIPTS["codex"]),
    "cursor": reader_of(TRANSCRIPTS["cursor"]),
    "jsonl": _lines,
}
