"""Evidence in the block: what is packed, and what is counted."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

import fivefold
from fivefold.text.passages import tokens
from fivefold.values.memory import Record
from fivefold_bench.benchmark import Options
from fivefold_bench.block import BlockReport, BlockRow, draw_evidence, markdown, pack, run_blocks, table_rows
from fivefold_bench.data import Dataset

DAY = datetime(2024, 3, 4, 10, tzinfo=UTC)
WORDS = "we took the slow ferry over the lake and ate plums"
LINE = f"[1] 2024-03-04, Ines: {WORDS}"


def said(*texts: str) -> list[Record]:
    return [Record(id=f"m{number}", content=text, speaker="Ines", event_at=DAY) for number, text in enumerate(texts, 1)]


# packing


def test_memories_are_lines_with_number_date_and_speaker() -> None:
    both = f"{LINE}\n[2] 2024-03-04, Ines: {WORDS}"
    for room, ids in ((0, {"m1", "m2"}), (-1, {"m1", "m2"}), (-tokens(WORDS), {"m1"})):
        assert pack(said(WORDS, WORDS), tokens(both) + room).ids == ids
    assert pack(said(WORDS, WORDS), 1_000).tokens == tokens(both)
    bare = replace(said(WORDS)[0], speaker=None)
    assert pack([bare], 1_000).tokens == tokens(f"[1] 2024-03-04: {WORDS}")


def test_a_memory_that_does_not_fit_is_cut_and_ends_the_block() -> None:
    shown = f"[1] 2024-03-04, Ines: {WORDS[:40]}"
    assert pack(said(WORDS, "plums"), tokens(shown)).ids == {"m1"}
    assert pack(said(WORDS, "plums"), tokens(shown) - 2).ids == frozenset()


def test_a_short_memory_counts_only_if_it_is_whole() -> None:
    whole = tokens("[1] 2024-03-04, Ines: Plums from the mill")
    assert pack(said("Plums from the mill"), whole).ids == {"m1"}
    assert pack(said("Plums from the mill"), whole - 1).ids == frozenset()


@given(st.lists(st.text(min_size=1, max_size=200), max_size=6), st.integers(1, 200))
def test_a_block_never_takes_more_than_its_budget(texts: list[str], budget: int) -> None:
    block = pack(said(*texts), budget)
    assert block.tokens <= budget
    assert block.ids == {f"m{number}" for number in range(1, len(block.ids) + 1)}


# measuring


def rows(data: Dataset, budgets: tuple[int, ...], recipes: str | None = None) -> dict[tuple[str, int], BlockRow]:
    report = run_blocks([lambda: data], budgets, Options(recipes=recipes, embedder="wordllama"))
    return {(row.recipe, row.budget): row for row in report.rows}


def test_fivefold_is_what_context_gives(mill: Dataset, tmp_path: Path) -> None:
    asked, now = mill.questions[:3], datetime(2024, 3, 6, 10, 0, 2, tzinfo=UTC)
    shares, used = [], []
    with fivefold.open(tmp_path / "m.db", embedder="wordllama") as engine:
        engine.remember_many(mill.memories["mill"])
        for question in asked:
            context = engine.context(question.text, token_budget=60, now=now)
            there = {source.id for source in context.sources}
            shares.append(sum(id in there for id in question.relevant) / len(question.relevant))
            used.append(context.tokens)
    found = rows(replace(mill, questions=asked), (60,), "fivefold")["fivefold", 60]
    assert (found.share, found.tokens) == pytest.approx((sum(shares) / 3, sum(used) / 3), abs=0.05)
    assert found.any == sum(share > 0 for share in shares) / 3
    assert found.all == pytest.approx(sum(share == 1 for share in shares) / 3, abs=1e-6)


def test_with_room_for_everything_all_evidence_is_there(mill: Dataset) -> None:
    found = rows(mill, (2_500,))
    assert [name for name, _ in found] == ["fivefold", "facts", "dense", "bm25", "sessions"]
    for row in found.values():
        assert (row.questions, row.any) == (6, 1)
        assert row.tokens <= 2_500
    assert found["sessions", 2_500].all == found["dense", 2_500].all == 1


def test_sessions_come_whole_and_in_order(mill: Dataset) -> None:
    """The session of the nearest turn begins with its first turn, which is all that fits."""
    wrist = [question for question in mill.questions if question.relevant == ("D2:1",)]
    badge = [question for question in mill.questions if question.relevant == ("D2:3",)]
    first = tokens("[1] 2024-03-05, Olaf: I broke my wrist when I fell off the ladder")
    data = replace(mill, questions=[*wrist, *badge])
    found = rows(data, (first,), "sessions,dense")
    assert found["sessions", first].any == 0.5
    assert found["dense", first].any == 1


def test_a_recipe_fills_its_own_block(mill: Dataset) -> None:
    found = rows(mill, (60,), "recipe:lexical,fivefold")
    assert [name for name, _ in found] == ["recipe:lexical", "fivefold"]


def test_questions_without_gold_are_left_out(mill: Dataset) -> None:
    bare = replace(mill, questions=[replace(mill.questions[0], relevant=()), *mill.questions[1:]])
    report = run_blocks([lambda: bare], (60,), Options(recipes="bm25", embedder="wordllama"))
    assert [row.questions for row in report.rows] == [5]
    assert report.notes == ("lines: questions left out because they have no gold: 1",)


# the report


def report() -> BlockReport:
    made = [
        BlockRow.of(data, name, budget, [(1.0, budget), (part, budget - 20)])
        for data in ("lakes", "mills")
        for budget in (300, 1_200)
        for name, part in (("fivefold", 0.5), ("dense", 0.0))
    ]
    return BlockReport("e", "1", (300, 1_200), tuple(made), ("lakes: n",))


def test_any_all_and_share_are_means_over_questions() -> None:
    first = report().rows[0]
    assert (first.questions, first.any, first.all, first.share, first.tokens) == (2, 1.0, 0.5, 0.75, 290.0)


def test_the_best_of_each_budget_is_marked() -> None:
    made = report()
    mine, theirs, *_ = table_rows(made.by_dataset()["lakes"])
    assert (mine.name, mine.cells) == ("fivefold", ("300", "1.000", ".500", ".750", "290"))
    assert (sorted(mine.best), sorted(theirs.best)) == ([1, 2, 3], [2])
    assert (mine.baseline, theirs.baseline) == (False, True)
    page = markdown(made)
    assert "## lakes, 2 questions" in page
    assert "| fivefold | 1,200 | **1.000** | **.500** | **.750** | 1,190 |" in page
    assert page.endswith("- embedder e\n- lakes: n\n")


@pytest.mark.slow
def test_a_plot_has_a_panel_for_each_dataset(tmp_path: Path) -> None:
    one = replace(report(), rows=report().rows[:4])
    draw_evidence(one, tmp_path / "one.png")
    draw_evidence(report(), tmp_path / "two.png")
    with Image.open(tmp_path / "one.png") as narrow, Image.open(tmp_path / "two.png") as wide:
        assert narrow.width < wide.width
