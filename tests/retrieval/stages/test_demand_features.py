"""The terms for what a question demands, number by number; a term is 0 where the question does not ask for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import numpy as np
import pytest

from fivefold.retrieval.routes import SearchContext
from fivefold.retrieval.stages.demand_features import ALIKE, DEMAND_FEATURES, NEAR, demand_columns
from fivefold.stores.protocol import Succession
from fivefold.stores.queries import NAMES_WINDOW, SAID_AND_NAMES_WINDOW, SAID_IN_WINDOW
from fivefold.values.demands import DEMAND_KINDS, DemandKind
from fivefold.values.memory import Type
from fivefold.values.query import EntityRef, Meaning, Window
from fivefold.values.recall_trace import Candidate
from tests.support.stage_pool import NOW, Namespace, aged, demand, found, of, said, search

WEEK = Window(aged(7), NOW, "last week")


def columns(candidates: Sequence[Candidate], context: SearchContext | None = None) -> dict[str, list[float]]:
    """The columns that are not all 0, rounded; late interaction is what the candidates' evidence says, or equal."""
    late = [next((item.score for item in c.evidence if item.route == "late"), 0.5) for c in candidates]
    scores = np.array(late, dtype=np.float32)
    table = demand_columns(candidates, context or search(), scores, scores)
    assert set(table) == set(DEMAND_FEATURES)
    return {name: [round(float(v), 4) for v in values] for name, values in table.items() if np.any(values)}


def at(candidate: Candidate, when: datetime) -> Candidate:
    return replace(candidate, memory=replace(candidate.memory, event_at=when))


def replaced(older: int, newer: int, chance: float = 1.0, days: float = 1) -> Succession:
    return Succession(older, newer, chance, aged(days))


def asked(kind: DemandKind, namespace: Namespace | None = None, window: Window | None = None) -> SearchContext:
    return search(namespace, demands=[demand(kind)], window=window)


def test_a_question_without_demands_has_no_terms_but_what_has_ended() -> None:
    plain = [of(1, event_at=aged(9)), of(2, event_at=aged(1))]
    world = Namespace({1: (1, 0), 2: (1, 0)}, links=[replaced(1, 2, 1 / 7)], times={1: [(NOW, NOW)]})
    assert columns(plain, search(world)) == {"ended": [0.5, 0.0]}


def test_turns_count_by_their_place() -> None:
    assert columns([found(1, turns=1.0), found(2, turns=0.5), of(3)]) == {"turns": [1.0, 0.5, 0.0]}


@pytest.mark.parametrize(("decides", "prefix"), [(True, "window_only"), (False, "window")])
def test_a_time_counts_by_what_was_said_in_it_and_by_what_names_it(decides: bool, prefix: str) -> None:
    candidates = [
        found(1, notes={"window": SAID_IN_WINDOW}, window=1.0),
        found(2, notes={"window": NAMES_WINDOW}, window=0.25),
        found(3, notes={"window": SAID_AND_NAMES_WINDOW}, window=1.0),
        of(4),
    ]
    context = search(window=WEEK, demands=[demand("window", decides)])
    said_then, named = [1.0, 0.0, 1.0, 0.0], [0.0, 0.25, 1.0, 0.0]
    assert columns(candidates, context) == {f"{prefix}_said": said_then, f"{prefix}_named": named}


@pytest.mark.parametrize(("kind", "suffix"), [("current", "_now"), ("past", "_past"), ("list", "")])
def test_what_was_replaced_counts_apart_for_present_and_past(kind: DemandKind, suffix: str) -> None:
    world = Namespace(links=[replaced(1, 2, 1 / 3), replaced(1, 3, 1 / 19)])
    table = columns([of(1), of(2), of(3)], asked(kind, world))
    assert table.pop(f"ended{suffix}") == pytest.approx([0.75, 0.0, 0.0])
    if suffix:
        assert table.pop(f"newer{suffix}") == pytest.approx([0.0, 0.75, 0.25])
    assert not {name for name in table if name.startswith(("ended", "newer"))}


def test_what_is_marked_as_ended_has_surely_ended() -> None:
    candidates = [of(1, valid_to=aged(3)), of(2, valid_to=NOW + timedelta(days=3)), of(3)]
    assert columns(candidates, asked("current"))["ended_now"] == [1.0, 0.0, 0.0]


@pytest.mark.parametrize(("kind", "suffix"), [("current", "_now"), ("past", "_past"), ("list", "")])
def test_what_is_marked_counts_apart_from_what_is_only_likely(kind: DemandKind, suffix: str) -> None:
    world = Namespace(links=[replaced(2, 99, 0.75)])
    table = columns([of(1, valid_to=aged(3)), of(2)], asked(kind, world))
    assert table[f"marked{suffix}"] == [1.0, 0.0]
    assert {name for name in table if name.startswith("marked")} == {f"marked{suffix}"}


@pytest.mark.parametrize(
    ("kind", "name", "gained"),
    [("current", "heir_now", [0.0, 4.0, 1.5]), ("past", "heir_past", [0.0, 0.0, 0.0]), ("list", "heir_now", [0.0] * 3)],
)
def test_a_successor_inherits_the_likeness_of_the_old(kind: DemandKind, name: str, gained: list[float]) -> None:
    """All of it along a sure link; along one of 1 in 19, whose odds count six times, a quarter of 0 − (−6)."""
    world = Namespace(links=[replaced(1, 2), replaced(2, 3, 1 / 19)])
    likeness = np.array([0.0, -4.0, -6.0], dtype=np.float32)
    table = demand_columns([of(1), of(2), of(3)], asked(kind, world), np.full(3, 0.5, np.float32), likeness)
    assert table[name].tolist() == pytest.approx(gained)


def test_for_the_past_the_old_inherits_from_its_successor() -> None:
    world = Namespace(links=[replaced(1, 2)])
    likeness = np.array([-4.0, 0.0], dtype=np.float32)
    table = demand_columns([of(1), of(2)], asked("past", world), np.full(2, 0.5, np.float32), likeness)
    assert table["heir_past"].tolist() == pytest.approx([4.0, 0.0])


def test_a_replacement_later_than_the_question_does_not_count() -> None:
    world = Namespace(links=[replaced(1, 2, days=-1)])
    assert columns([of(1), of(2)], search(world)) == {}


def test_a_link_to_a_memory_that_is_no_candidate_counts_as_well() -> None:
    world = Namespace(links=[replaced(1, 99), replaced(98, 2)])
    table = columns([of(1), of(2)], asked("current", world))
    assert (table["ended_now"], table["newer_now"]) == ([1.0, 0.0], [0.0, 1.0])


def test_what_held_then_began_before_the_end_of_the_time_and_ended_after_its_start() -> None:
    """One from before until now, one that ended before the time, one that ended in it, one that began after it."""
    window = Window(aged(60), aged(30), "in April")
    candidates = [of(1, event_at=aged(90)), of(2, event_at=aged(90)), of(3, event_at=aged(90)), of(4, event_at=aged(9))]
    world = Namespace(links=[replaced(2, 99, days=70), replaced(3, 98, days=40), replaced(1, 97, chance=0.4, days=80)])
    assert columns(candidates, asked("past", world, window))["held_then"] == [1.0, 0.0, 1.0, 0.0]
    assert "held_then" not in columns(candidates, asked("past", world))
    assert "held_then" not in columns(candidates, asked("current", world, window))


@pytest.mark.parametrize(("kind", "name"), [("current", "outdated_now"), ("past", "outdated_past")])
def test_a_newer_memory_about_the_same_thing_outdates_an_older_one(kind: DemandKind, name: str) -> None:
    """Cosine 0.8 is (0.8 − ALIKE) / (1 − ALIKE) alike; the third is about something else."""
    world = Namespace({1: (1, 0), 2: (0.8, 0.6), 3: (0, -1)})
    candidates = [of(1, event_at=aged(9)), of(2, event_at=aged(2)), of(3, event_at=aged(1))]
    alike = round((0.8 - ALIKE) / (1 - ALIKE), 4)
    assert columns(candidates, asked(kind, world))[name] == [alike, 0.0, 0.0]


def test_a_newer_memory_that_answers_less_well_outdates_less() -> None:
    world = Namespace(dict.fromkeys((1, 2, 3), (1, 0)))
    candidates = [
        at(found(1, late=0.6), aged(9)),
        at(found(2, late=0.6 - NEAR / 2), aged(8)),
        at(found(3, late=0.6 - 2 * NEAR), aged(1)),
    ]
    assert columns(candidates, asked("current", world))["outdated_now"] == pytest.approx([0.5, 0.0, 0.0], abs=1e-3)


def test_memories_without_vectors_outdate_nothing() -> None:
    candidates = [of(1, event_at=aged(9)), of(2, event_at=aged(2))]
    assert "outdated_now" not in columns(candidates, asked("current", Namespace({1: (1, 0)})))
    nowhere = replace(asked("current", Namespace({1: (1, 0), 2: (1, 0)})), space=None)
    assert "outdated_now" not in columns(candidates, nowhere)


@pytest.mark.parametrize(
    ("kind", "name", "places"),
    [
        ("first", "earliest", [0.0, 1.0, 0.5, 0.0]),
        ("last", "latest", [1.0, 0.0, 0.5, 0.0]),
        ("current", "recent_now", [1.0, 0.0, 0.5, 0.0]),
    ],
)
def test_order_counts_among_those_that_answer_about_as_well(kind: DemandKind, name: str, places: list[float]) -> None:
    """The last one answers much worse, so that its time says nothing."""
    order = zip((2, 9, 5, 20), (0.6, 0.6, 0.55, 0.2), strict=True)
    candidates = [at(found(i, late=late), aged(days)) for i, (days, late) in enumerate(order)]
    table = columns(candidates, asked(kind))
    assert table[name] == places
    assert not {"earliest", "latest", "recent_now", "ahead"} & set(table) - {name}


def test_the_soonest_day_ahead_counts_most() -> None:
    """Today and in 14 days; one that is over, one that began before and goes on, and one without a day."""
    day = timedelta(days=1)
    times = {
        1: [(NOW, NOW + day)],
        2: [(NOW + 14 * day, NOW + 15 * day)],
        3: [(aged(30), aged(29))],
        4: [(aged(30), aged(29)), (aged(3), NOW + day)],
    }
    table = columns([of(row) for row in range(1, 6)], asked("next", Namespace(times=times)))
    assert table["ahead"] == [1.0, 0.5, 0.0, 1.0, 0.0]


def test_names_count_by_their_share_and_relations_apart() -> None:
    people = [
        EntityRef("Ana", 0, (Meaning(1, "Ana Lopez", 1.0),)),
        EntityRef("Ben", 0, (Meaning(2, "Ben", 0.6), Meaning(3, "Benjamin", 0.4))),
        EntityRef("my boss", 0, (Meaning(4, "Carla", 1.0),), via="boss of user"),
    ]
    texts = [("Ana met Benjamin", None), ("ana went home", None), ("We talked", "Carla"), ("Banana bread", None)]
    table = columns([said(of(i), *text) for i, text in enumerate(texts)], search(entities=people))
    assert table == {"person": [1.0, 0.5, 0.0, 0.0], "relative": [0.0, 0.0, 1.0, 0.0]}


@pytest.mark.parametrize(
    ("name", "kind", "hint", "texts"),
    [
        ("taste", "suggestion", None, ("She adores figs", "She is allergic to nuts", "She went home")),
        ("taste", None, "preference", ("My favourite is tea", "He can't stand coffee", "The kettle broke")),
        ("negates", "negation", None, ("I don't eat meat", "We cancelled the trip", "We went to Rome")),
    ],
)
def test_words_of_taste_and_denial_count_where_they_are_asked_for(
    name: str, kind: DemandKind | None, hint: Type | None, texts: Sequence[str]
) -> None:
    candidates = [said(of(i), text) for i, text in enumerate(texts)]
    context = search(demands=[demand(kind)] if kind else [], type_hints=[hint] if hint else [])
    assert columns(candidates, context) == {name: [1.0, 1.0, 0.0]}
    assert columns(candidates) == {}


def test_types_count_where_the_question_implies_them() -> None:
    candidates = [of(1, type="event"), of(2, type="preference"), of(3)]
    assert columns(candidates, search(type_hints=["event"])) == {"event": [1.0, 0.0, 0.0]}
    assert columns(candidates, search(type_hints=["preference"])) == {"taste": [0.0, 1.0, 0.0]}


@pytest.mark.parametrize("kind", DEMAND_KINDS)
def test_likeness_to_the_best_counts_where_everything_of_a_kind_is_asked_for(kind: DemandKind) -> None:
    """The second best of the four nearest, since the best is itself for those four; one has no vector."""
    vectors = {1: (1.0, 0.0), 2: (0.8, 0.6), 3: (0.6, 0.8), 4: (0.0, 1.0), 5: (0.96, 0.28)}
    candidates = [found(row, late=0.9 - row / 10) for row in range(1, 7)]
    table = columns(candidates, asked(kind, Namespace(vectors)))
    expected = [0.8, 0.96, 0.96, 0.8, 0.936, 0.0]
    assert table.get("like_best") == (expected if kind in ("list", "count", "negation") else None)


def test_one_candidate_alone_is_compared_with_itself() -> None:
    assert columns([of(1)], asked("list", Namespace({1: (0.6, 0.8)}))) == {"like_best": [1.0]}
    assert columns([of(1)], asked("first")) == {"earliest": [1.0]}
