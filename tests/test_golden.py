"""Every requirement has a golden number, and each comes out on the built-in store."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.golden import GOLDEN, Golden, GoldenStore, verify

PAGE = Path(__file__).parents[1] / "docs" / "requirements.md"
IDS = re.findall(r"^\| ([DMFERN]\d+) \|", PAGE.read_text("utf-8"), re.MULTILINE)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GoldenStore]:
    with GoldenStore(tmp_path_factory.mktemp("golden")) as opened:
        yield opened


@pytest.mark.parametrize("row", GOLDEN, ids=lambda row: f"{row.id} {row.what}")
def test_a_golden_number_comes_out(store: GoldenStore, row: Golden) -> None:
    checked = row.check(store)
    assert checked.ok, checked


def test_every_requirement_has_one() -> None:
    assert len(IDS) == len(set(IDS)) == 57
    assert {row.id for row in GOLDEN} == set(IDS)


def test_a_number_that_is_not_the_documents_is_found() -> None:
    half = next(row for row in GOLDEN if row.id == "F4" and row.expected == 0.5)
    assert [row.ok for row in verify([half, replace(half, expected=0.5001)])] == [True, False]


def test_what_must_be_reached_may_be_passed(store: GoldenStore) -> None:
    most = Golden("D7", "error", 0.5, lambda _: 0.4, "at most")
    least = replace(most, bound="at least")
    checked = [row.check(store) for row in (most, least, replace(least, expected=0.4))]
    assert [(row.expected, row.found, row.ok) for row in checked] == [
        ("at most 0.5", 0.4, True),
        ("at least 0.5", 0.4, False),
        ("at least 0.4", 0.4, True),
    ]


def test_an_error_is_a_finding_of_its_row_alone(store: GoldenStore) -> None:
    checked = Golden("D1", "broken", 1, lambda _: dict[str, float]()["gone"]).check(store)
    assert (checked.ok, checked.found) == (False, "KeyError: 'gone'")
