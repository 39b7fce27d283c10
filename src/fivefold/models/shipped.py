"""Model files that come with the package: what is loaded is what was shipped, by the SHA-256 of each file."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TypeVar

from fivefold.errors import EmbedderError

FOLDER = Path(str(resources.files("fivefold.models").joinpath("data")))
SUMS = "SHA256SUMS"
"""The file with a line for each model file, as `sha256sum` writes it."""

T = TypeVar("T")


class _ChangedFile(Exception):
    """A file is not the one that was shipped."""


def load_shipped(name: str, load: Callable[[Path], T]) -> T:
    """Load a file, and compute its digest in the meantime, so that the check takes next to no time."""
    path = FOLDER / name
    with ThreadPoolExecutor(1, thread_name_prefix="fivefold-digest") as pool:
        digest = pool.submit(digest_of, path)
        try:
            return load(path)
        finally:
            _check(name, digest.result())


def shipped_lines(name: str) -> list[str]:
    """The lines of a small file of text."""
    try:
        data = (FOLDER / name).read_bytes()
        _check(name, hashlib.sha256(data).hexdigest())
    except (OSError, _ChangedFile) as error:
        raise EmbedderError(f"{name} could not be loaded; install fivefold again ({error})") from error
    return data.decode("utf-8").removesuffix("\n").split("\n")


def digest_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _check(name: str, digest: str) -> None:
    if _sums(FOLDER).get(name) != digest:
        raise _ChangedFile(f"its SHA-256 is {digest[:12]}…, which is not that of the file that was shipped")


@cache
def _sums(folder: Path) -> dict[str, str]:
    lines = (line.split() for line in (folder / SUMS).read_text("utf-8").splitlines())
    return {name: digest for digest, name in lines}
