"""Bodies and answers too large for memory: they go through a file that is removed after the request."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

LINES = "application/x-ndjson"
"""The media type of an export or an import: a JSON object on each line."""

CHUNK = 1 << 20
"""The bytes that are written or read at once."""


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


def write_lines(lines: Iterator[str]) -> IO[bytes]:
    """All lines in a temporary file, at its start, so that a slow reader keeps no one waiting."""
    file: IO[bytes] = tempfile.TemporaryFile(prefix="fivefold-")  # noqa: SIM115 - closed by who reads it
    try:
        for line in lines:
            file.write(line.encode() + b"\n")
        file.seek(0)
    except BaseException:
        file.close()
        raise
    return file


async def chunks_of(file: IO[bytes]) -> AsyncIterator[bytes]:
    """The file, part by part; it is closed at the end, or when the reader stops."""
    with file:
        while part := await run_in_threadpool(file.read, CHUNK):
            yield part
