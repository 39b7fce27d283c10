"""Bodies and answers too large for memory: a body goes through a file, an answer is sent as it is read."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from fivefold.engine import Engine
from fivefold.engine.async_calls import stream, threads_of

LINES = "application/x-ndjson"
"""The media type of an export or an import: a JSON object on each line."""

CHUNK = 1 << 20
"""The bytes that are written at once."""

SENT = 1 << 16
"""The bytes of an export that are sent at once, about."""

FIRST = 100
"""The memories of an export that are read before its answer begins."""


@dataclass(frozen=True, slots=True)
class BodyFile:
    """A body in a file, and a hash of it."""

    path: Path
    hashed: bytes

    async def digest(self) -> bytes:
        return self.hashed


@asynccontextmanager
async def body_file(request: Request) -> AsyncIterator[BodyFile]:
    """The body of a request as a file."""
    digest = hashlib.sha256(request.scope["query_string"] + b"\n")
    with tempfile.TemporaryDirectory(prefix="fivefold-") as folder:
        path = Path(folder) / "body"
        buffer = bytearray()
        with path.open("wb") as file:
            async for chunk in request.stream():
                digest.update(chunk)
                buffer += chunk
                if len(buffer) >= CHUNK:
                    await run_in_threadpool(file.write, bytes(buffer))
                    buffer.clear()
            await run_in_threadpool(file.write, bytes(buffer))
        yield BodyFile(path, digest.digest())


def export_of(engine: Engine, headers: Mapping[str, str] | None = None) -> Response:
    """Every memory as a line, read a few at a time as fast as they are taken.

    The first ones are read at once, so that an error is still answered as one.
    """
    lines = engine.export_lines()
    first = list(islice(lines, FIRST))
    rest = stream(chain(first, lines), threads_of(engine.store))
    return StreamingResponse(_chunks(rest), media_type=LINES, headers=headers)


async def _chunks(lines: AsyncIterator[str]) -> AsyncIterator[bytes]:
    buffer = bytearray()
    async for line in lines:
        buffer += line.encode() + b"\n"
        if len(buffer) >= SENT:
            yield bytes(buffer)
            buffer.clear()
    yield bytes(buffer)
