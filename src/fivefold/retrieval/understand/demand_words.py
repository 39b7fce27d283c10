"""The phrases by which a question demands something, read from `data/demands.txt`."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources

_SECTION = re.compile(r"\[([a-z ]+)\]")
_LOOK_AHEAD = re.compile(r"\(\?[!=][^()]*(?:\([^()]*\)[^()]*)*\)$")
_PART = re.compile(r"\{([a-z ]+)\}")


def phrases(name: str) -> re.Pattern[str]:
    """The pattern of a section: any of its lines, as whole words of a lower-case text."""
    return _patterns()[name]


def lower_case(question: str) -> str:
    """The question as the phrases read it, each character in its place."""
    text = question.lower().replace("’", "'")
    return text if len(text) == len(question) else "".join(char.lower()[:1] for char in question)


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    sections: dict[str, list[str]] = {}
    text = resources.files("fivefold.retrieval.understand").joinpath("data/demands.txt").read_text("utf-8")
    lines: list[str] = []
    for line in filter(None, text.splitlines()):
        header = _SECTION.fullmatch(line)
        if header:
            lines = sections.setdefault(header[1], [])
        elif not line.startswith("#"):
            lines.append(_PART.sub(lambda match: f"(?:{'|'.join(sections[match[1]])})", line))
    return {name: re.compile("|".join(map(_whole_words, lines))) for name, lines in sections.items()}


def _whole_words(line: str) -> str:
    """The line between word borders, where it begins or ends with a word."""
    begin = "" if line.startswith(("^", "'", "(?<")) else r"\b"
    end = "" if line.endswith("$") or _LOOK_AHEAD.search(line) else r"\b"
    return f"{begin}(?:{line}){end}"
