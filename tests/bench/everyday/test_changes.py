"""Changes written by the real engine, and the pairs that are shipped."""

from __future__ import annotations

import lzma
from dataclasses import replace
from pathlib import Path

import pytest
from training.reader.pairs import read_pairs

from fivefold.errors import InvalidInput
from fivefold_bench import everyday as changes
from fivefold_bench.everyday import CASES, Case, measure_changes, shipped_cases
from tests.support.change_cases import packed_text

MOVED = Case("I live in Porto.", "I live in Braga now.", "user", "user", True, "first")
SAME = Case("I live in Porto.", "Rui lives in Braga.", "user", "user", False, "first")
HIRED = Case("Rui works at Acme.", "Rui works at Globex now.", "user", "user", True, "third")


def test_changes_are_counted_by_person() -> None:
    wrongly_labelled = replace(MOVED, replaces=False)
    never_linked = replace(SAME, replaces=True)
    first, third = measure_changes([MOVED, SAME, wrongly_labelled, never_linked, HIRED], "wordllama")
    assert (first.person, first.changes, first.linked, first.others) == ("first", 2, 0.5, 2)
    assert first.falsely_linked == 0.5
    assert first.likely >= first.linked
    assert (third.person, third.changes, third.linked) == ("third", 1, 1)
    assert (third.others, third.falsely_linked) == (0, 0)


def test_the_shipped_pairs_have_both_persons_and_all_relations() -> None:
    choose, report = shipped_cases("choose"), shipped_cases("report")
    assert len(shipped_cases("all")) == len(choose) + len(report)
    for cases in (choose, report):
        assert {(case.person, case.replaces) for case in cases} == {
            (person, replaces) for person in ("first", "third") for replaces in (True, False)
        }
    assert not {(case.older, case.newer) for case in choose} & {(case.older, case.newer) for case in report}


def test_a_fault_in_a_pair_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = lzma.decompress((CASES / "choose.jsonl.xz").read_bytes()).decode().splitlines()[:1]
    broken = lines[0].replace('"relation": "', '"relation": "un')
    (tmp_path / "choose.jsonl.xz").write_bytes(lzma.compress(broken.encode()))
    monkeypatch.setattr(changes, "CASES", tmp_path)
    with pytest.raises(InvalidInput, match="line 1, field relation: 'un"):
        shipped_cases("choose")


@pytest.mark.parametrize("part", ["choose", "report"])
def test_the_shipped_pairs_are_those_of_the_training_data(part: str) -> None:
    """`python -m tests.support.change_cases` packs them again."""
    assert lzma.decompress((CASES / f"{part}.jsonl.xz").read_bytes()).decode() == packed_text(part)


def test_no_way_of_wording_is_in_two_parts() -> None:
    families = [{pair.family for pair in read_pairs(part)} for part in ("train", "choose", "report")]
    assert sum(map(len, families)) == len(set().union(*families))
