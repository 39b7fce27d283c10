"""Files of phrases: one regular expression a line, in named sections, each of which becomes one pattern.

`{name}` stands for the alternatives of an earlier section. A line matches whole words of a lower-case text.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import resources

_SECTION = re.compile(r"\[([a-z ]+)\]")
_LOOK_AHEAD = re.compile(r"\(\?[!=][^()]*(?:\([^()]*\)[^()]*)*\)$")
_PART = re.compile(r"\{([a-z ]+)\}")


def lower_case(text: str) -> str:
    """The text as phrases read it, each character in its place."""
    lower = text.lower().replace("’", "'")
    return lower if len(lower) == len(text) else "".join(char.lower()[:1] for char in text)


@cache
def phrase(package: str, path: str, section: str) -> re.Pattern[str]:
    """The pattern of a section of a file: any of its lines."""
    return re.compile("|".join(map(_whole_words, _sections(package, path)[section])))


@cache
def _sections(package: str, path: str) -> dict[str, list[str]]:
    """The lines of each section of a file, with those of other sections put in."""
    sections: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in filter(None, resources.files(package).joinpath(path).read_text("utf-8").splitlines()):
        header = _SECTION.fullmatch(line)
        if header:
            lines = sections.setdefault(header[1], [])
        elif not line.startswith("#"):
            lines.append(_PART.sub(lambda match: f"(?:{'|'.join(sections[match[1]])})", line))
    return sections


def _whole_words(line: str) -> str:
    """The line between word borders, if it begins or ends with a word."""
    begin = "" if line.startswith(("^", "'", "(?<")) else r"\b"
    end = "" if line.endswith("$") or _LOOK_AHEAD.search(line) else r"\b"
    return f"{begin}(?:{line}){end}"
