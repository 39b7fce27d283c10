"""Of a long text that states thousands of things, the first ones are read and stored, so that no text costs seconds."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from fivefold.text.time_grammar import dates_in
from fivefold.values.validate import MAX_READ
from fivefold.writing.extract.relations import relations
from fivefold.writing.extract.statements import statements
from tests.support.toy_engine import toy

NOW = datetime(2025, 6, 1, tzinfo=UTC)


def towns(count: int) -> list[str]:
    letters = "abcdefghijklmnopqrstuvwxyz"
    return [f"Town{letters[number // 26 % 26]}{letters[number % 26]}" for number in range(count)]


def test_the_first_dates_are_read() -> None:
    text = "We met on 5 May 2024. " * (MAX_READ + 50)
    assert dates_in(text, NOW) == dates_in(text[: len(text) * MAX_READ // (MAX_READ + 50)], NOW)
    assert len(dates_in(text, NOW)) == MAX_READ


def test_the_first_relations_are_read() -> None:
    named = towns(MAX_READ + 50)
    found = relations(" ".join(f"I live in {town}." for town in named), "user")
    assert [relation.target for relation in found] == named[:MAX_READ]


def test_the_last_value_of_each_of_the_first_statements_counts() -> None:
    text = " ".join(f"My {town} code is {number}." for number, town in enumerate(towns(MAX_READ + 50)))
    found = statements(f"{text} My Townaa code is 999.", "user")
    assert len(found) == MAX_READ
    assert found[0].value == "999"


def test_such_a_text_is_stored_whole(tmp_path: Path) -> None:
    text = " ".join(f"I live in {town}." for town in towns(MAX_READ + 50))
    with toy(str(tmp_path / "m.db")) as mem:
        mem.remember(text, id="long")
        assert mem.get("long").content == text
        assert mem.stats().memories == 1
