"""The one way in which a text is cut where only its beginning is shown."""

from __future__ import annotations


def shorten(text: str, length: int) -> str:
    """`text` on one line of at most `length` characters; a cut ends with an ellipsis."""
    line = " ".join(text.split())
    return line if len(line) <= length else f"{line[: length - 1].rstrip()}…"
