"""Letters without their accents."""

from __future__ import annotations

import unicodedata


def bare(text: str) -> str:
    """The text in lower case and without accents, each character in its place."""
    if text.isascii():
        return text.lower()
    return "".join(unicodedata.normalize("NFKD", char)[:1].lower()[:1] or " " for char in text.replace("’", "'"))
