"""The tables of a run that no single figure of it shows."""

from __future__ import annotations

from typing import Any

import pytest

from fivefold_bench import tables


def ran(recall: float, precision: float, relevance: float, ms: float, encode: float) -> dict[str, Any]:
    overall = {"recall@10": recall, "precision@5": precision, "relevance": relevance}
    return {"overall": overall, "latency_ms": {"recall": {"p50": ms}, "encode": {"p50": encode}}}


def results(**recipes: dict[str, Any]) -> dict[str, Any]:
    named = {name.replace("_", "-"): each for name, each in recipes.items()}
    about = {
        "dataset": "d",
        "unit": "turn",
        "embedder": "e",
        "categories": {"one": 3},
        "notes": ["n"],
        "by_session": None,
    }
    return {**about, "recipes": named}


DENSE, FIVE = ran(0.4, 0.1, 0.25, 1.5, 2.0), ran(0.8, 0.2, 0.5, 24.25, 3.0)


def test_F7_cosine_alone_and_five_stage_stand_next_to_what_is_published() -> None:
    found = tables.five_stage(results(dense=DENSE, five_stage=FIVE))
    assert found is not None
    columns, rows = found
    assert columns == ["recall@10", "precision@5", "relevance", "whole ms"]
    assert [(row.name.strip(), row.cells) for row in rows] == [
        ("dense", (".400", ".100", ".250", "3.5")),
        ("published, cosine alone", (".380", ".420", ".190", "45.0")),
        ("five-stage", (".800", ".200", ".500", "27.2")),
        ("published, five stages", (".880", ".720", ".716", "28.0")),
    ]


@pytest.mark.parametrize(("ms", "where"), [(24.0, "within"), (26.0, "above")])
def test_F7_a_note_says_whether_five_stage_is_as_fast_as_published(ms: float, where: str) -> None:
    notes = list(tables.notes(results(dense=DENSE, five_stage=ran(0.8, 0.2, 0.5, ms, 3.0))))
    assert any(f"from call to answer, {where} the published 28 ms" in note for note in notes)


def test_F7_without_one_of_the_two_or_without_relevance_there_is_no_such_table() -> None:
    unjudged = {**FIVE, "overall": {"recall@10": 0.8, "precision@5": 0.2}}
    for each in (results(dense=DENSE), results(five_stage=FIVE), results(dense=DENSE, five_stage=unjudged)):
        assert tables.five_stage(each) is None
        assert not any("published" in note for note in tables.notes(each))
