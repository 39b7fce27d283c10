"""Text with nothing in it that a terminal, a page or a notebook would obey or hide."""

from __future__ import annotations

import re
import unicodedata

_MARK = "·"
_JOINERS = "\u200c\u200d"
_PREPENDED = "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
"""Format characters that have a shape of their own."""

_HARMLESS = frozenset("\n\t" + _JOINERS + _PREPENDED)
_LINE_SIGNS = re.compile(r"[\[\]［］(){}:;,·“”\"]")
"""Signs by which our lines separate a name from what is said about it."""
_PLAIN_BRACKETS = str.maketrans('[]［］“”"', "()()'''")

_OBEYED = frozenset({"Cc", "Cf", "Zl", "Zp", "Cs"})


def visible(text: str) -> str:
    """`text` with a mark in place of every control, bidi and invisible format character; lines and tabs stay."""
    if text.isprintable():
        return text
    return "".join(_mark(c) if is_obeyed(c) else c for c in text.replace("\r\n", "\n"))


def one_line(text: str) -> str:
    """`text` visible and without line breaks, so that it cannot begin a line of ours."""
    return " ".join(visible(text).splitlines())


def shown_name(name: str) -> str:
    """A name inside a line of ours. One that could pose as the rest of the line stands in quotation marks.

    Square brackets become round ones: a number in square brackets is always the number of a source.
    """
    plain = one_line(name)
    if not _LINE_SIGNS.search(plain):
        return plain
    return f"“{plain.translate(_PLAIN_BRACKETS)}”"


def is_obeyed(c: str) -> bool:
    """Whether a character does something instead of being seen."""
    return not c.isprintable() and c not in _HARMLESS and unicodedata.category(c) in _OBEYED


def _mark(c: str) -> str:
    if c < " ":
        return chr(0x2400 + ord(c))
    return "␡" if c == "\x7f" else _MARK
