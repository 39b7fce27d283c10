"""The table of all engines, and the comparison with the fastest hybrid one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from fivefold.errors import InvalidInput
from fivefold_bench.peers.contest import FIVEFOLD, PEERS, _why, entrants_for, quiet_environment
from fivefold_bench.peers.report import (
    COLUMNS,
    PeerReport,
    PeerRow,
    cells,
    colour,
    compare,
    draw_times,
    markdown,
    remarks,
    sentence,
)
from fivefold_bench.results import PEER_PLOTS


def row(engine: str, p50: float | None, recall: float | None, search: str = "hybrid", size: int = 10_000) -> PeerRow:
    own = engine.startswith("fivefold")
    return PeerRow(engine, search, "1", f"{size:,}", size, p50_ms=p50, recall_at_10=recall, own=own)


ROWS = (
    row("fivefold default", 4, 0.8),
    row("fivefold default, low effort", 10, 0.6),
    row("fivefold dense", 1, 0.5, "vectors"),
    row("Quick", 8, 0.7),
    row("Slow", 30, 0.75),
    row("Vectors", 1, 0.4, "vectors"),
    row("Absent", None, None),
    row("fivefold default", 4, 0.8, size=1_000),
    row("Quick", 8, 0.7, size=1_000),
    row("fivefold default", 4, 0.8, size=100_000),
)


def test_hybrid_search_is_compared_with_the_fastest_hybrid_engine() -> None:
    first, second, small = compare(ROWS)
    assert (first.engine, first.against, first.times, first.ok) == ("fivefold default", "Quick", 2.0, True)
    assert first.recall_gain == pytest.approx(0.1)
    assert (second.times, second.ok) == (0.8, False)
    assert second.recall_gain == pytest.approx(-0.1)
    assert (small.memories, small.ok) == (1_000, None)
    assert sentence(first) == "10,000 memories: fivefold default is 2.0 times as fast as Quick, R@10 +0.100"
    assert sentence(second).endswith("fivefold default, low effort takes 1.2 times as long as Quick, R@10 -0.100")


def test_a_lower_recall_or_too_little_speed_misses_the_bar() -> None:
    for own in (row("fivefold default", 4, 0.69), row("fivefold default", 4.1, 0.8)):
        assert [item.ok for item in compare([own, row("Quick", 8, 0.7)])] == [False]


def test_a_row_has_a_cell_for_each_column_and_a_dash_for_what_is_missing() -> None:
    full = PeerRow(
        "A", "hybrid", "1", "10,000", 10_000, 9, 1234.5, 1.25, 99.94, 3.0, 0.5, 0.756, 210.4, 33.33, "a note"
    )
    assert cells(full) == ("A 1", "hybrid", "10,000", "1,234", "1.2", "99.9", "3.0", ".500", "0.76", "210", "33.3")
    assert len(cells(full)) == len(COLUMNS)
    empty = PeerRow("B", "words", "1", "in 5 conversations", 2_960, note="not installed: no network")
    assert cells(empty) == ("B 1", "words", "2,960 in 5 conversations", *["–"] * 8)


def test_a_note_stands_once_below_the_table_with_the_sizes_that_it_is_about() -> None:
    late, always = "stopped after 3 s", "without a language model"
    rows = (
        replace(row("Slow", None, None), note=late),
        row("Slow", 4, 0.5, size=1_000),
        *(replace(row("Plain", 4, 0.5, size=size), note=always) for size in (1_000, 10_000)),
    )
    assert remarks(rows) == [f"Slow 1, 10,000: {late}", f"Plain 1: {always}"]


@pytest.mark.slow
def test_the_table_for_a_page_has_all_rows_and_the_comparisons(tmp_path: Path) -> None:
    report = PeerReport("locomo", "model@1", 2, 0.5, ROWS, tuple(compare(ROWS)))
    lines = markdown(report).splitlines()
    assert len(lines) == 2 + len(ROWS) + 1 + 3
    assert {line.count("|") for line in lines[: 2 + len(ROWS)]} == {len(COLUMNS) + 1}
    assert lines[-1].startswith("- 1,000 memories: fivefold default")
    draw_times(report, tmp_path)
    with Image.open(tmp_path / PEER_PLOTS[0]) as picture:
        assert picture.width >= 800


def test_engines_are_chosen_by_name() -> None:
    assert entrants_for("all") == [*FIVEFOLD, *PEERS]
    assert entrants_for("none") == [*FIVEFOLD]
    assert [item.name for item in entrants_for("txtai, LanceDB")[len(FIVEFOLD) :]] == ["LanceDB", "txtai"]
    with pytest.raises(InvalidInput, match="pinecone is not among lancedb, chroma, txtai, mem0, haystack, all, none"):
        entrants_for("lancedb,pinecone")
    with pytest.raises(InvalidInput, match="nothing is not among"):
        entrants_for(",")


def test_every_engine_is_pinned_and_has_its_driver_and_its_colour() -> None:
    folder = Path(entrants_for.__code__.co_filename).parent
    for entrant in (*FIVEFOLD, *PEERS):
        assert (folder / entrant.driver).is_file()
        assert all("==" in requirement for requirement in entrant.requirements)
    names = [*FIVEFOLD, *PEERS]
    assert len({colour(place) for place in range(len(names))}) == len(names)


def test_the_last_error_of_pip_says_why_and_a_missing_network_is_named() -> None:
    assert _why("WARNING: x\nERROR: first\nERROR: No matching distribution found for a==1\n") == (
        "No matching distribution found for a==1"
    )
    assert _why("Retrying … NewConnectionError('…')\nERROR: No matching distribution found for a") == (
        "the package index cannot be reached"
    )
    assert _why("") == "pip gave no reason"


def test_other_engines_see_no_path_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "/somewhere")
    theirs, ours = quiet_environment(tmp_path, own=False), quiet_environment(tmp_path, own=True)
    assert "PYTHONPATH" not in theirs
    assert theirs["HOME"] == str(tmp_path)
    assert ours["PYTHONPATH"] == "/somewhere"
    assert theirs["HF_HUB_OFFLINE"] == ours["HF_HUB_OFFLINE"] == "1"
