"""The file a weight model is shipped in: magic, version, a JSON header, raw tensors, a checksum (D8).

8 bytes   magic
2 bytes   format version, little-endian
4 bytes   length of the header
header    JSON: name, embedder pin, dimension, and each tensor's name and shape
tensors   float16, one after the other, in the header's order
32 bytes  SHA-256 of everything before
"""

from __future__ import annotations

import hashlib
import json
import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fivefold.errors import FivefoldError

Tensor = npt.NDArray[np.float32]

MAGIC = b"FFWEIGHT"
VERSION = 1
_START = struct.Struct("<8sHI")
_SUM = hashlib.sha256().digest_size


class BadModel(FivefoldError):
    """A model file that cannot be used; the message says why."""


@dataclass(frozen=True, slots=True)
class Contents:
    """What a model file holds: its name, the embedder it was made for, and its tensors."""

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
    whole = _START.pack(MAGIC, VERSION, len(header)) + header + body
    return whole + hashlib.sha256(whole).digest()


def unpack(data: bytes) -> Contents:
    """The contents of a file's bytes, or BadModel."""
    if len(data) < _START.size + _SUM or not data.startswith(MAGIC):
        raise BadModel("the weight model's file is no weight model")
    _, version, length = _START.unpack_from(data)
    if version != VERSION:
        raise BadModel(f"the weight model's file has format {version}, this fivefold reads format {VERSION}")
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
