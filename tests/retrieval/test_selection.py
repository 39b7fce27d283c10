"""The end of a recall: what was known, the best k, ties by id, and what a unit makes of sessions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from math import exp, log
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fivefold
from fivefold.retrieval.protocols import SHORT_STATEMENT, Pool, SearchContext
from fivefold.retrieval.recipe_file import load_recipe
from fivefold.retrieval.stages import STAGES
from fivefold.retrieval.stages.selection import (
    FEW_CANDIDATES,
    HIT_TERMS,
    NEW_STORE,
    RECALL_TERMS,
    SupportConstants,
    admit,
    chance_table,
    drop_unlikely,
    only_asks,
    probability,
    recall_terms,
    select,
)
from fivefold.values.filters import Filter
from fivefold.values.memory import Kind, Record
from fivefold.values.query import DemandKind, Window
from fivefold.values.recall_trace import Candidate
from tests.retrieval.test_fuse import NOW, memory
from tests.support.stage_pool import NOW as JUNE
from tests.support.stage_pool import Namespace, aged, demand, found, said, scores, search, stage
from tests.support.stage_pool import of as one_of
from tests.support.toy_engine import toy

LATER = datetime(2025, 6, 1, tzinfo=UTC)


def of(row: int, kind: Kind, session: str | None, score: float) -> Candidate:
    return Candidate(replace(memory(row), kind=kind, session_id=session), (), score)


def asked_now() -> SearchContext:
    context = search()
    return replace(context, query=replace(context.query, now=NOW))


def test_ties_break_by_id() -> None:
    candidates = [Candidate(replace(memory(row), id=id), (), 0.5) for row, id in ((1, "c"), (2, "a"), (3, "b"))]
    hits, dropped = select(Pool(candidates), 2, "memory")
    assert [hit.memory.id for hit in hits] == ["a", "b"]
    assert [hit.rank for hit in hits] == [1, 2]
    assert [(item.id, item.reason) for item in dropped] == [("c", "rank 3 of 3, beyond the 2 asked for")]


def test_a_step_reorders() -> None:
    strong, weak = Candidate(memory(1), (), 0.9), Candidate(memory(2), (), 0.6)
    hits, _ = select(Pool([strong.with_step("superseded", 0.45, "× 0.5"), weak]), 2, "memory")
    assert [hit.memory.row for hit in hits] == [2, 1]


def test_what_is_less_likely_than_asked_for_is_left_out() -> None:
    chances = {1: 0.4, 2: 0.7, 3: None, 4: 0.5}
    pool = Pool([Candidate(memory(row), (), 1 / row, chance=chance) for row, chance in chances.items()])
    hits, dropped = select(drop_unlikely(pool, 0.5), 5, "memory")
    assert [(hit.rank, hit.memory.row) for hit in hits] == [(1, 2), (2, 4)]
    assert [(item.stage, item.reason) for item in dropped] == [
        ("min_chance", "chance 0.400, below 0.5"),
        ("min_chance", "too low a rank for a chance"),
    ]
    assert drop_unlikely(pool, None) is pool


def test_what_was_not_known_yet_is_left_out() -> None:
    told_later = Candidate(replace(memory(1), event_at=LATER, created_at=LATER), (), 0.9)
    planned = Candidate(replace(memory(2), event_at=LATER), (), 0.5)
    pool = admit(Pool([told_later, planned]), asked_now())
    hits, dropped = select(pool, 5, "memory")
    assert [hit.memory.row for hit in hits] == [2]
    assert dropped[0].reason == "not yet known on 01 Jan 2025"


def test_told_later_about_an_earlier_time_is_known() -> None:
    reported = Candidate(replace(memory(1), created_at=LATER), (), 0.9)
    assert admit(Pool([reported]), asked_now()).candidates == [reported]


@pytest.mark.parametrize(
    ("zone", "asked", "known"),
    [
        ("UTC", "2025-03-10T07:00:00Z", {"night", "morning", "evening"}),
        ("UTC", "2025-03-09T23:59:00Z", {"night"}),
        ("Asia/Tokyo", "2025-03-09T16:00:00Z", {"night", "morning"}),
        ("America/New_York", "2025-03-10T14:00:00Z", {"night", "morning", "evening", "late"}),
        ("America/New_York", "2025-03-10T03:00:00Z", {"night"}),
    ],
)
@pytest.mark.parametrize("recipe", ["default", "lexical", "recall", "memsense"])
def test_what_is_dated_on_the_day_of_the_question_is_known(
    tmp_path: Path, recipe: str, zone: str, asked: str, known: set[str]
) -> None:
    """By the clock of the namespace; the turns are neighbours in one session, and a recall may bring those along."""
    told = {"night": "09T20:00", "morning": "10T09:00", "evening": "10T20:00", "late": "11T02:00", "next": "11T20:00"}
    with toy(str(tmp_path / "day.db")) as engine:
        engine.configure(timezone=zone)
        engine.remember_many(
            {"id": id, "content": f"the kestrel came in the {id}", "session_id": "s", "event_at": f"2025-03-{at}:00Z"}
            for id, at in told.items()
        )
        answer = engine.recall("when came the kestrel?", 20, recipe=recipe, now=asked)
    found = {memory.id for hit in answer for memory in (hit.memory, *hit.neighbours) if memory.kind == "turn"}
    assert found <= known
    assert found == known or recipe == "memsense"


def test_a_day_is_that_of_the_clock_of_the_question() -> None:
    at = datetime(2025, 3, 10, 20, tzinfo=UTC)
    told = replace(memory(1), event_at=at, created_at=LATER)
    asked = datetime(2025, 3, 10, 7, tzinfo=UTC)
    assert told.known_at(asked)
    assert not told.known_at(asked.astimezone(ZoneInfo("Asia/Tokyo"))), "in Tokyo it is of the next day"
    assert not told.known_at(asked - timedelta(days=1))
    assert told.known_at(asked + timedelta(days=1))


def test_by_turn_session_memories_are_named_as_dropped() -> None:
    pool = Pool([of(1, "session", "s", 0.9), of(2, "turn", "s", 0.5), of(3, "note", None, 0.4)])
    hits, dropped = select(pool, 5, "turn")
    assert [hit.memory.row for hit in hits] == [2, 3]
    assert [(item.id, item.reason) for item in dropped] == [("m00001", "a session; the recipe returns turns only")]


def test_by_session_the_best_of_each_stands_for_it_and_notes_stand_alone() -> None:
    pool = Pool(
        [
            of(1, "turn", "s", 0.9),
            of(2, "session", "s", 0.8),
            of(3, "turn", "t", 0.7),
            of(4, "note", None, 0.6),
            of(5, "note", None, 0.5),
            of(6, "turn", "t", 0.4),
        ]
    )
    hits, dropped = select(pool, 3, "session")
    assert [hit.memory.row for hit in hits] == [1, 3, 4]
    reasons = {item.id: item.reason for item in dropped}
    assert reasons["m00002"] == "its session is answered for by m00001"
    assert reasons["m00006"] == "its session is answered for by m00003"
    assert reasons["m00005"] == "rank 4 of 4, beyond the 3 asked for"


def test_what_earlier_stages_dropped_stays_named() -> None:
    gone = of(1, "note", None, 0.9)
    pool = Pool([gone, of(2, "note", None, 0.5)]).without([(gone, "says nothing new")], "mmr")
    hits, dropped = select(pool, 5, "memory")
    assert [hit.memory.row for hit in hits] == [2]
    assert [(item.id, item.stage, item.score) for item in dropped] == [("m00001", "mmr", 0.9)]


def test_what_a_stage_adds_is_tested_like_the_first() -> None:
    seen = replace(search(), keep=Filter(kinds=("note",)))
    note, turn = of(1, "note", None, 0.9), of(2, "turn", "s", 0.8)
    pool = admit(Pool([note, turn]), seen)
    assert [one.memory.row for one in pool.candidates] == [1]
    added = of(3, "turn", "s", 0.7)
    pool = admit(pool.with_candidates([*pool.candidates, added]), seen, {1})
    assert [one.memory.row for one in pool.candidates] == [1]
    assert [item.id for item in pool.dropped] == [turn.memory.id, added.memory.id]


# Where a list is asked for, turns that add nothing to it make room for others.

TURNS = {
    1: "How many things did I buy, I wonder about the things I bought",
    2: "All the things I bought and the things I did not buy",
    3: "The things I bought, all the things I buy",
    4: "I bought a tent and two sleeping bags",
    5: "How many things did you buy? Which things?",
}


def covered(
    kind: DemandKind | None = "count", lexemes: tuple[str, ...] = ("thing", "buy"), unit: str = "memory"
) -> Pool:
    candidates = [said(one_of(row, 1.0 - row / 10), text, session="s", turn=row) for row, text in TURNS.items()]
    candidates.append(said(one_of(6, 0.1), "The things I bought, all the things I buy"))
    context = search(
        text="How many things did I buy?", demands=[demand(kind)] if kind else [], lexemes=lexemes, unit=unit
    )
    return stage("coverage", candidates, context)


@pytest.mark.parametrize("kind", ["list", "count"])
def test_N3_a_turn_that_adds_nothing_steps_back(kind: DemandKind) -> None:
    """The first two of a session count whatever they say, as does what has words of its own; a note has no session."""
    pool = covered(kind)
    assert scores(pool) == pytest.approx({1: 0.9, 2: 0.8, 3: 0.007, 4: 0.6, 5: 0.005, 6: 0.1})
    whys = {one.memory.row: one.steps[-1].why for one in pool.candidates if one.steps}
    assert whys == {3: "× 0.01, the question and its session already have 100% of its words", 5: "× 0.01, it only asks"}


@pytest.mark.parametrize("kind", [None, "window", "current"])
def test_N3_other_questions_keep_their_order(kind: DemandKind | None) -> None:
    assert scores(covered(kind))[3] == 0.7


def test_N3_sessions_keep_their_order() -> None:
    assert scores(covered(unit="session"))[3] == 0.7


def test_N3_long_messages_keep_their_order() -> None:
    """Each says several things, so that most of its words being those of others says little."""
    text = f"{TURNS[3]}. " * 10
    candidates = [said(one_of(row, 1.0 - row / 10), text, session="s", turn=row) for row in range(1, 5)]
    context = search(text="How many things did I buy?", demands=[demand("count")], lexemes=("thing", "buy"))
    assert scores(stage("coverage", candidates, context)) == pytest.approx({1: 0.9, 2: 0.8, 3: 0.7, 4: 0.6})


def test_N3_who_asks_for_questions_gets_them() -> None:
    why = {one.memory.row: one.steps[-1].why for one in covered(lexemes=("thing", "ask")).candidates if one.steps}
    assert why[5].endswith("of its words")


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("How many? Which ones?", True),
        ("And where do you go now?", True),
        ("I bought a tent, is it waterproof?", False),
        ("I bought a tent. Is it waterproof?", False),
        ("I bought a tent.", False),
    ],
)
def test_a_text_with_a_statement_does_not_only_ask(text: str, asks: bool) -> None:
    assert only_asks(text) is asks


# Support: the arithmetic of neighbour, session and best turn, and who may enter.

TALK = Namespace(turns={"s": [1, 2, 3, 4], "t": [11, 12]}, sessions={"s": 5, "t": 13, "u": 21})


def turn(row: int, score: float, session: str = "s") -> Candidate:
    return one_of(row, score, kind="turn", session_id=session)


def supported(
    candidates: list[Candidate],
    supporting: dict[int, float] | None = None,
    unit: str = "memory",
    k: int = 10,
    **by: float,
) -> Pool:
    pool = Pool(candidates, supporting=supporting or {})
    return STAGES["support"].run(pool, search(TALK, unit=unit, k=k), SupportConstants(**by))  # type: ignore[arg-type]


def test_neighbour_session_and_best_turn_are_added() -> None:
    """Turn 2: 0.8 + 0.3 · 0.4 + 1 · 0.25 + 0.2 · 0.8; turn 3: 0.4 + 0.3 · 0.8 + 0.25 + 0.2 · 0.8."""
    pool = supported([turn(2, 0.8), turn(3, 0.4)], {5: 0.25})
    assert scores(pool)[2] == pytest.approx(0.8 + 0.12 + 0.25 + 0.16)
    assert scores(pool)[3] == pytest.approx(0.4 + 0.24 + 0.25 + 0.16)


def test_neighbours_outside_the_pool_enter_by_what_stands_beside_them() -> None:
    pool = supported([turn(2, 0.8)], {5: 0.25})
    assert scores(pool) == pytest.approx({2: 0.8 + 0.25 + 0.16, 1: 0.24 + 0.25 + 0.16, 3: 0.24 + 0.25 + 0.16})
    entered = next(candidate for candidate in pool.candidates if candidate.memory.row == 1)
    assert (entered.fused, entered.evidence, entered.steps[0].before) == (0.0, (), 0.0)


def test_the_better_of_two_neighbours_counts() -> None:
    pool = supported([turn(1, 0.2), turn(3, 0.6)])
    assert scores(pool)[2] == pytest.approx(0.3 * 0.6 + 0.2 * 0.6)


def test_a_note_stands_alone() -> None:
    pool = supported([one_of(9, 0.5), turn(2, 0.5)], alone=0.7)
    assert scores(pool)[9] == pytest.approx(0.85)
    note = next(candidate for candidate in pool.candidates if candidate.memory.row == 9)
    assert note.steps[0].why == "+ 0.7 · 0.5000, it stands alone"


def test_one_session_does_not_speak_for_another() -> None:
    pool = supported([turn(2, 0.8), turn(12, 0.8, "t")], {5: 0.25}, neighbour=0.0)
    assert scores(pool) == pytest.approx({2: 0.8 + 0.25 + 0.16, 12: 0.8 + 0.16})


def test_session_memories_step_back() -> None:
    pool = supported([turn(2, 0.8)], {5: 0.25, 13: 0.9, 21: 0.7})
    assert all(candidate.memory.kind != "session" for candidate in pool.candidates)


def test_only_the_best_speak_for_what_stands_beside_them() -> None:
    pool = supported([turn(2, 0.8), turn(12, 0.4, "t")], reach=1)
    assert set(scores(pool)) == {1, 2, 3, 12}


def test_no_share_for_neighbours_brings_none() -> None:
    assert set(scores(supported([turn(2, 0.8)], neighbour=0.0))) == {2}


def test_by_session_those_that_answer_as_a_whole_are_kept() -> None:
    """Session t speaks by none of its turns, u has none that were found; s has a turn and needs no second voice."""
    pool = supported([turn(2, 0.8)], {5: 0.25, 13: 0.5, 21: 0.7}, unit="session", session=2.0)
    kept = {candidate.memory.row: candidate for candidate in pool.candidates if candidate.memory.kind == "session"}
    assert {row: candidate.score for row, candidate in kept.items()} == pytest.approx({13: 1.0, 21: 1.4})
    assert all(candidate.fused == 0.0 and candidate.steps[0].before == 0.0 for candidate in kept.values())


def test_by_session_no_more_silent_ones_are_kept_than_are_asked_for() -> None:
    pool = supported([turn(2, 0.8)], {5: 0.25, 13: 0.5, 21: 0.7}, unit="session", k=1)
    assert [c.memory.row for c in pool.candidates if c.memory.kind == "session"] == [21]


def test_nothing_found_stays_nothing() -> None:
    assert supported([]).candidates == []


# Chances: their terms number by number, their laws, and what the reader has a say in.

WEEK = Window(aged(7), JUNE, "last week")

ODDS = st.floats(-40, 40)
SCORES = st.lists(st.floats(0, 1), min_size=1, max_size=14)


def term(
    name: str,
    candidates: Sequence[Candidate],
    context: SearchContext | None = None,
    answers: Mapping[int, float] | None = None,
) -> list[float]:
    table = chance_table(candidates, context or search(), answers)
    return [round(float(value), 4) for value in table[:, HIT_TERMS.index(name)]]


def chances(pool: Pool) -> list[float]:
    return [candidate.chance for candidate in pool.candidates if candidate.chance is not None]


@given(ODDS, ODDS)
def test_a_chance_lies_between_0_and_1_and_grows_with_the_odds(one: float, other: float) -> None:
    assert 0 < probability(one) < 1
    assert probability(one) + probability(-one) == pytest.approx(1)
    if one < other:
        assert probability(one) <= probability(other)


def test_the_default_recipe_weighs_every_term() -> None:
    (by,) = (stage.constants for stage in load_recipe("default").select if stage.name == "chance")
    assert tuple(by.weights) == HIT_TERMS
    assert tuple(by.recall) == tuple(by.new) == RECALL_TERMS


@given(
    scores=SCORES,
    cosines=st.lists(st.floats(-1, 1), min_size=14, max_size=14),
    weights=st.fixed_dictionaries({name: st.floats(-5, 5) for name in ("one", "margin", "dense", "lead")}),
    whole=st.floats(-5, 5),
    least=st.floats(0, 1),
)
def test_chances_never_rise_down_the_list_nor_above_the_recall_s(
    scores: list[float], cosines: list[float], weights: dict[str, float], whole: float, least: float
) -> None:
    """Every candidate has a chance; scores and order stay, and found is a matter of the recall's chance."""
    candidates = [found(row, score, dense=cosines[row]) for row, score in enumerate(scores)]
    pool = stage("chance", candidates, weights=weights, recall={"one": whole, "best": 0.5}, found=least)
    assert [c.score for c in pool.candidates] == sorted(scores, reverse=True)
    assert {c.memory.id for c in pool.candidates} == {c.memory.id for c in candidates}
    assert pool.chance is not None
    assert pool.found == (pool.chance >= least)
    assert len(chances(pool)) == len(candidates)
    for higher, lower in zip([pool.chance, *chances(pool)], chances(pool), strict=False):
        assert lower <= higher + 1e-9


def test_a_chance_by_hand() -> None:
    """Log-odds 0.5 + 2 · 0.6 for the first, 0.5 + 2 · 0.1 for the second; the recall: 1.1 + half of the best."""
    weights, recall = {"one": 0.5, "dense": 2.0}, {"one": 1.1, "best": 0.5}
    pool = stage("chance", [found(1, 0.9, dense=0.6), found(2, 0.8, dense=0.1)], weights=weights, recall=recall)
    assert chances(pool) == pytest.approx([1 / (1 + exp(-1.7)), 1 / (1 + exp(-0.7))])
    assert pool.chance == pytest.approx(1 / (1 + exp(-1.95)))
    assert pool.found is True
    assert pool.notes[-1].stage == "chance"
    assert "88% that one of them answers" in pool.notes[-1].why


def test_chances_that_would_rise_are_averaged() -> None:
    """Log-odds of 1, −1, 0.5 and −3: the second and third share a mean; then also the first if that is below it."""
    for first, runs in ((1.0, [1, 2, 1]), (-1.0, [3, 1])):
        odds = [first, -1.0, 0.5, -3.0]
        candidates = [found(row, 0.9 - row / 10, dense=value) for row, value in enumerate(odds)]
        each = [probability(value) for value in odds]
        expected, at = list[float](), 0
        for size in runs:
            expected += [sum(each[at : at + size]) / size] * size
            at += size
        pool = stage("chance", candidates, weights={"dense": 1.0}, recall={"one": 9.0})
        assert chances(pool) == pytest.approx(expected)


def test_no_hit_is_likelier_than_the_recall() -> None:
    pool = stage("chance", [found(1, dense=0.6), found(2, dense=-5.0)], weights={"dense": 1.0}, recall={"one": -3.0})
    assert chances(pool) == [pool.chance, probability(-5.0)]
    assert pool.chance == probability(-3.0)


def test_the_chance_of_one_candidate_is_the_recall_s() -> None:
    pool = stage("chance", [found(1, dense=0.1)], weights={"dense": 1.0}, recall={"one": 3.0})
    assert chances(pool) == [pool.chance] == [probability(3.0)]


def test_nothing_has_no_chance() -> None:
    pool = stage("chance", [])
    assert (pool.chance, pool.found, pool.candidates) == (0.0, False, [])


def test_a_term_without_a_weight_changes_nothing() -> None:
    pool = stage("chance", [found(1, dense=0.9)], weights={}, recall={})
    assert chances(pool) == [0.5]
    assert pool.chance == 0.5


def test_cosines_are_taken_as_they_are_and_what_lacks_one_has_the_lowest() -> None:
    candidates = [found(1, dense=0.7), found(2, dense=0.3), one_of(3)]
    assert term("dense", candidates) == [0.7, 0.3, 0.3]
    assert term("dense", [one_of(1)]) == [0.0]
    assert term("one", candidates) == [1.0, 1.0, 1.0]


def test_what_the_reader_says_is_taken_as_it_is_and_what_it_did_not_read_is_known() -> None:
    candidates, answers = [one_of(1), one_of(2), one_of(3)], {2: -1.5, 1: 0.5}
    assert term("answers", candidates, answers=answers) == [0.5, -1.5, 0.0]
    assert term("unread", candidates, answers=answers) == [0.0, 0.0, 1.0]
    assert term("messages", candidates, answers=answers) == term("unjudged", candidates, answers=answers) == [0.0] * 3
    assert term("unread", candidates) == [0.0, 0.0, 0.0]
    assert term("unjudged", candidates) == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(("speaker", "length"), [("Ana", 10), ("user", SHORT_STATEMENT + 1)])
def test_of_talk_and_long_messages_the_reader_is_not_asked(speaker: str, length: int) -> None:
    candidates = [said(one_of(row), "x" * length, speaker) for row in (1, 2)]
    answers = {1: 2.0}
    assert term("messages", candidates, answers=answers) == [1.0, 1.0]
    assert term("answers", candidates, answers=answers) == term("unread", candidates, answers=answers) == [0.0, 0.0]
    terms = recall_terms(chance_table(candidates, search(), answers), np.array([0.5, 0.1]))
    assert terms[: len(RECALL_TERMS)].tolist() == [1, 0.5, 0, 0, 1, 0.95, 0, 0, 0, 0, 0, 0]


def test_a_recall_is_judged_by_its_likeliest_hit_and_the_best_three_by_the_reader() -> None:
    """One that was not read does not count. That there are few candidates weighs differently if nothing was read."""
    for answers, mean in (({1: 0.5, 2: 2.5}, 1.5), ({2: 2.5}, 2.5), ({}, 0.0)):
        table = chance_table([one_of(1), one_of(2), one_of(3)], search(), answers)
        whole = dict(zip(RECALL_TERMS, recall_terms(table, np.array([-1.0, 3.0, 0.5])).tolist(), strict=False))
        assert [whole[name] for name in ("one", "best", "three", "unjudged")] == [1, 3, mean, not answers]
        few = 1 - 3 / FEW_CANDIDATES
        assert [whole["few"], whole["few_unjudged"]] == pytest.approx([few, 0] if answers else [0, few])


def test_each_term_counts_again_as_far_as_the_store_is_new() -> None:
    for count, share in ((1, 1 - 1 / NEW_STORE), (5, 1 - 5 / NEW_STORE), (NEW_STORE + 9, 0.0)):
        candidates = [found(row, dense=0.5) for row in range(count)]
        terms = recall_terms(chance_table(candidates, search()), np.full(count, 2.0), (0.1, -0.2, 1.0))
        known, again = np.split(terms, 2)
        assert dict(zip(RECALL_TERMS, known.tolist(), strict=True))["likeness"] == 0.5
        assert again == pytest.approx(known * share)


def test_a_new_store_weighs_by_its_own_weights_too() -> None:
    """Log-odds of 1 + 11/12 · 2 with one memory, and of 1 with many."""
    for count, odds in ((1, 1 + 2 * (1 - 1 / NEW_STORE)), (60, 1.0)):
        candidates = [found(row, 1 - row / 100, dense=0.1) for row in range(count)]
        pool = stage("chance", candidates, weights={}, recall={"one": 1.0}, new={"one": 2.0})
        assert pool.chance == pytest.approx(probability(odds))


def test_of_what_asks_for_everything_more_is_answered() -> None:
    context = search(demands=[demand("count")])
    assert term("listed", [one_of(1)], context) == [1.0]
    assert (
        recall_terms(chance_table([one_of(1)], context), np.zeros(1, np.float32))[RECALL_TERMS.index("listed")] == 1.0
    )
    assert term("listed", [one_of(1)]) == [0.0]


def test_the_distance_to_the_best_and_its_lead() -> None:
    """Sums of the ranker: three times the logarithm of a score."""
    candidates = [one_of(1, 1.0), one_of(2, 0.5)]
    apart = round(3 * log(2), 4)
    assert term("margin", candidates) == [0.0, -apart]
    assert term("lead", candidates) == [apart, 0.0]
    assert term("lead", [one_of(1)]) == [0.0]
    assert term("lead", [one_of(1, 0.5), one_of(2, 0.5)]) == [0.0, 0.0]


@pytest.mark.parametrize(("decides", "expected"), [(True, [1.0, 1.0, -1.0]), (False, [0.0, 0.0, 0.0])])
def test_a_time_that_alone_decides_is_met_or_not(decides: bool, expected: list[float]) -> None:
    candidates = [found(1, window=1.0), found(2, turns=0.5), found(3, dense=0.9)]
    assert term("decided", candidates, search(window=WEEK, demands=[demand("window", decides)])) == expected
    assert term("decided", candidates) == [0.0, 0.0, 0.0]


def test_a_recall_with_another_embedder_still_has_chances() -> None:
    with toy(":memory:") as engine:
        engine.remember("The spare key hangs in the shed.")
        answer = engine.recall("where is the spare key?")
        assert answer[0].candidate.chance is not None
        assert not answer.degraded


def test_what_answers_is_likelier_than_what_only_sounds_alike() -> None:
    """Both share words with the question, but only one says what is asked."""
    with fivefold.open(":memory:") as engine:
        engine.remember("The door code of the studio is 4417.", id="answer")
        engine.remember("We painted the door of the studio green.", id="alike")
        answer = engine.recall("what is the door code of the studio?")
        chance = {hit.memory.id: hit.candidate.chance for hit in answer}
        assert chance["answer"] is not None
        assert chance["alike"] is not None
        assert chance["answer"] > chance["alike"]


NOTES = (
    "Imani moved our calls to Wednesday at seven.",
    "My favourite flower is the foxglove.",
    "Broad beans like the cool.",
    "I prefer small commits with a reason in the body.",
    "The staging server listens on port 8443.",
    "We decided against a dog, the flat is too small.",
    "Keith says the mower needs a new blade.",
)


def test_an_unmet_word_speaks_against_an_answer_and_a_name_that_is_met_for_one() -> None:
    """The frame of a question is met by many memories; what it is about need not be."""
    with fivefold.open(":memory:") as engine:
        engine.remember_many([Record(content=note, speaker="user") for note in NOTES])
        for unmet, met in (
            ("Which editor do I prefer?", "Which kind of commits do I prefer?"),
            ("What did we decide about the fence?", "What did we decide about a dog?"),
            ("Who is Theo?", "Who is Imani?"),
        ):
            none, some = engine.recall(unmet), engine.recall(met)
            assert none.chance is not None
            assert some.chance is not None
            assert some.found, met
            assert none.chance < some.chance - 0.2, (unmet, none.chance, some.chance)
