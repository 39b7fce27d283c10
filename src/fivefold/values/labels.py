"""Labels: the tags and the metadata of a memory as pairs of name and value, in the form in which stores index them.

A value begins with `t` for a text or `n` for a number. Numbers are written so that their texts sort as the numbers do.
So equality and range mean the same in every store, and in `Filter.matches`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fivefold.values.limits import MAX_NAME

Label = tuple[str, str]

TAG = "tag"
META = "meta."

MOST_LABELS = 256
"""How many values of one memory's metadata are indexed, the first ones."""

_SIGN = 1 << 63
_ALL = (1 << 64) - 1


def labels_of(tags: Sequence[str], metadata: Mapping[str, Any]) -> list[Label]:
    """The labels of a memory, each once: all its tags, and the texts and numbers of its metadata.

    Keys of nested objects are joined by dots. Each entry of a list is a value of its key.
    """
    found = {(TAG, text_label(tag)): None for tag in tags}
    most = len(found) + MOST_LABELS
    for key, value in _leaves("", metadata):
        if len(found) >= most:
            break
        label = _label(value)
        if label is not None and _fits(key):
            found[META + key, label] = None
    return list(found)


def _leaves(path: str, value: object) -> Iterator[tuple[str, object]]:
    """The plain values inside, each with its dotted key, in their order."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _leaves(f"{path}.{key}" if path else str(key), inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _leaves(path, inner)
    else:
        yield path, value


def _label(value: object) -> str | None:
    if isinstance(value, bool):
        return text_label(truth(value))
    if isinstance(value, int | float):
        return number_label(value)
    return text_label(value) if isinstance(value, str) and _fits(value) else None


def _fits(text: str) -> bool:
    """Whether every store can index it."""
    return len(text) <= MAX_NAME and "\x00" not in text


def truth(value: bool) -> str:
    """True and false as the text by which they are found."""
    return "true" if value else "false"


def label_value(value: str | float) -> str:
    """A text or a number as the value of a label."""
    return text_label(value) if isinstance(value, str) else number_label(value)


def text_label(text: str) -> str:
    return f"t{text}"


def number_label(number: float) -> str:
    """The bits of the number, turned so that the texts of all numbers sort as the numbers do."""
    try:
        value = float(number) + 0.0
    except OverflowError:
        value = float("inf") if number > 0 else float("-inf")
    (bits,) = struct.unpack(">Q", struct.pack(">d", value))
    return f"n{bits ^ (_ALL if bits & _SIGN else _SIGN):016x}"
