"""The server's log: one line an event, as JSON or for a terminal, without memories, questions and secrets.

An error's words may hold what was asked, so that only its kind and the place it came from are written, unless contents
were asked for.
"""

from __future__ import annotations

import json
import logging
import sys
import traceback
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Literal, TextIO

from fivefold.service.request_observers import RequestSummary
from fivefold.text.display import escaped, visible
from fivefold.values.times import iso

Form = Literal["auto", "json", "plain"]
Level = Literal["debug", "info", "warning", "error"]

REQUESTS = "fivefold.requests"
_OWN = ("request_id", "method", "operation", "status", "ms", "key", "path", "body", "error_id")
"""Fields a line may have beside its message."""

_KNOWN = ("fivefold", "uvicorn", "opentelemetry", "psycopg")
"""Whose messages hold no contents but for the errors among their values."""


def start(form: Form = "auto", level: Level = "info", contents: bool = False, stream: TextIO | None = None) -> None:
    """From now on all that is logged goes to `stream`, else standard error; `auto` is plain where someone looks on."""
    target = stream or sys.stderr
    plain = form == "plain" or (form == "auto" and target.isatty())
    handler = logging.StreamHandler(target)
    handler.setFormatter(Plain(contents) if plain else Lines(contents))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("fivefold").setLevel(level.upper())
    logging.getLogger("uvicorn").setLevel(logging.WARNING)


class RequestLogger:
    """Writes a line for every request that has ended."""

    def __init__(self) -> None:
        self._log = logging.getLogger(REQUESTS)

    def request_began(self) -> None:
        """A request that has begun is not logged; it will end."""

    def request_ended(self, request: RequestSummary) -> None:
        level = logging.ERROR if request.status >= 500 else logging.INFO
        if not self._log.isEnabledFor(level):
            return
        fields = {
            "request_id": request.id,
            "method": request.method,
            "operation": request.operation,
            "status": request.status,
            "ms": round(request.seconds * 1000, 2),
            "key": request.key_id,
        }
        if request.path:
            fields |= {"path": request.path, "body": request.body}
        self._log.log(level, "request", extra=fields)


class Lines(logging.Formatter):
    """One JSON object a line."""

    def __init__(self, contents: bool = False) -> None:
        super().__init__()
        self._contents = contents

    def format(self, record: logging.LogRecord) -> str:
        shown: dict[str, Any] = {
            "at": iso(datetime.fromtimestamp(record.created, UTC)),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": message_of(record, self._contents),
            **fields_of(record),
        }
        if record.exc_info and record.exc_info[1] is not None:
            shown["error"] = failure(record.exc_info[1], self._contents)
        return escaped(json.dumps(shown, ensure_ascii=False, default=str))


class Plain(logging.Formatter):
    """A line that a person reads."""

    def __init__(self, contents: bool = False) -> None:
        super().__init__()
        self._contents = contents

    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC).strftime("%H:%M:%S")
        given = fields_of(record)
        if record.name == REQUESTS:
            told = f"{given['status']} {given['method']} {given['operation']} {given['ms']:.1f} ms"
            key = f" key {given['key']}" if given["key"] else ""
            asked = f" {given['path']} {given['body']}" if "path" in given else ""
            line = f"{at} {told}{key} ({given['request_id']}){asked}"
        else:
            line = f"{at} {record.levelname.lower()}: {message_of(record, self._contents)}"
        if record.exc_info and record.exc_info[1] is not None:
            failed = failure(record.exc_info[1], self._contents)
            line += f": {failed['type']} {failed.get('message', '')}\n" + "\n".join(failed["trace"])
        return visible(line)


def fields_of(record: logging.LogRecord) -> dict[str, Any]:
    return {name: getattr(record, name) for name in _OWN if hasattr(record, name)}


def message_of(record: logging.LogRecord, contents: bool) -> str:
    """The message; unless contents were asked for, an error among its values is told by its kind alone, and what
    others have written by its place."""
    if contents:
        return record.getMessage()
    if record.name.partition(".")[0] not in _KNOWN:
        return f"{record.pathname}:{record.lineno} in {record.funcName}"
    if not record.args:
        return record.getMessage()
    if isinstance(record.args, Mapping):
        named = {name: _kind(value) for name, value in record.args.items()}
        return str(record.msg) % named
    return str(record.msg) % tuple(map(_kind, record.args))


def _kind(value: object) -> object:
    return type(value).__name__ if isinstance(value, BaseException) else value


def failure(error: BaseException, contents: bool) -> dict[str, Any]:
    """An error: its kind and the way it took, with its words only where contents were asked for."""
    frames = traceback.extract_tb(error.__traceback__)
    trace = [f"{frame.filename}:{frame.lineno} in {frame.name}" for frame in frames]
    told: dict[str, Any] = {"type": type(error).__name__}
    if contents:
        told["message"] = str(error)
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if cause is not None:
        told["cause"] = failure(cause, contents)
    return {**told, "trace": trace}
