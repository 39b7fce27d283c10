"""Each requirement id that is cited has its line, and each line is for an id that is cited."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "requirements.md"
LINE = re.compile(r"^\| ([DEFMR]\d+) \| (.+) \|$", re.MULTILINE)
RANGE = re.compile(r"\b([DEFMR])(\d+)–\1(\d+)\b")
CITED = re.compile(r"(?<![\w'])[DEFMR][1-9]\d?\b(?!:)")
"""Not `D8:6`, which is a turn of a benchmark."""


def cited_in(*folders: str) -> dict[str, str]:
    """Each id with one of the files that cite it."""
    found: dict[str, str] = {}
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".py", ".toml", ".sql", ".md") and path != PAGE:
                text = RANGE.sub(every_id, path.read_text("utf-8"))
                found |= dict.fromkeys(CITED.findall(text), str(path.relative_to(ROOT)))
    return found


def every_id(match: re.Match[str]) -> str:
    return " ".join(f"{match[1]}{number}" for number in range(int(match[2]), int(match[3]) + 1))


def lines() -> list[str]:
    return [match[1] for match in LINE.finditer(PAGE.read_text("utf-8"))]


def test_every_cited_id_has_its_line() -> None:
    missing = {id: path for id, path in cited_in("src", "docs", "training").items() if id not in lines()}
    assert missing == {}, "add a line to docs/requirements.md for each, or cite another id"


def test_no_line_is_for_an_id_that_nobody_cites() -> None:
    assert sorted(set(lines()) - set(cited_in("src", "training"))) == []


def test_lines_are_in_order_and_each_is_there_once() -> None:
    found = lines()
    letters = "".join(dict.fromkeys(id[0] for id in found))
    assert found == sorted(set(found), key=lambda id: (letters.index(id[0]), int(id[1:])))
