"""Model files that come with the package: what is loaded is what was shipped, by the SHA-256 of each file."""

from __future__ import annotations

import hashlib
import json
import math
import struct
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from fivefold.errors import EmbedderError, FivefoldError

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
        raise _ChangedFile(f"its SHA-256 is {digest[:12]}…, not the one of the shipped file")


@cache
def _sums(folder: Path) -> dict[str, str]:
    lines = (line.split() for line in (folder / SUMS).read_text("utf-8").splitlines())
    return {name: digest for digest, name in lines}


Tensor = npt.NDArray[np.float32]

MAGIC = b"FFWEIGHT"
FILE_FORMAT = 1
_START = struct.Struct("<8sHI")
_SUM = hashlib.sha256().digest_size


class BadModel(FivefoldError):
    """A model file that cannot be used; the message says why."""


@dataclass(frozen=True, slots=True)
class Contents:
    """The contents of a model file: its name, the embedder it was made for, and its tensors."""

    name: str
    pin: str
    dimension: int
    tensors: Mapping[str, Tensor]


def pack(contents: Contents) -> bytes:
    """The file's bytes. Numbers become float16, so round them before comparing with another runtime."""
    header = json.dumps(
        {
            "name": contents.name,
            "pin": contents.pin,
            "dimension": contents.dimension,
            "tensors": [[name, list(tensor.shape)] for name, tensor in contents.tensors.items()],
        }
    ).encode()
    body = b"".join(np.ascontiguousarray(tensor, dtype="<f2").tobytes() for tensor in contents.tensors.values())
    whole = _START.pack(MAGIC, FILE_FORMAT, len(header)) + header + body
    return whole + hashlib.sha256(whole).digest()


def unpack(data: bytes) -> Contents:
    """The contents of a file's bytes, or BadModel."""
    if len(data) < _START.size + _SUM or not data.startswith(MAGIC):
        raise BadModel("the weight model's file is not a weight model")
    _, version, length = _START.unpack_from(data)
    if version != FILE_FORMAT:
        raise BadModel(f"the weight model's file has format {version}, this fivefold reads format {FILE_FORMAT}")
    if hashlib.sha256(data[:-_SUM]).digest() != data[-_SUM:]:
        raise BadModel("the weight model's file is damaged: its checksum does not match")
    try:
        header = json.loads(data[_START.size : _START.size + length])
        tensors = _tensors(header["tensors"], data[_START.size + length : -_SUM])
        return Contents(str(header["name"]), str(header["pin"]), int(header["dimension"]), tensors)
    except (KeyError, TypeError, ValueError) as error:
        raise BadModel(f"the weight model's file cannot be read: {error}") from None


def _tensors(listed: list[tuple[str, list[int]]], body: bytes) -> dict[str, Tensor]:
    numbers = np.frombuffer(body, dtype="<f2").astype(np.float32)
    if len(numbers) != sum(math.prod(shape) for _, shape in listed):
        raise BadModel("the weight model's file does not hold the tensors it lists")
    tensors: dict[str, Tensor] = {}
    for name, shape in listed:
        size = math.prod(shape)
        tensors[name], numbers = numbers[:size].reshape(shape), numbers[size:]
    return tensors
