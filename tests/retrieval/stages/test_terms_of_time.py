"""The terms of time and of what still holds, number by number."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from fivefold.retrieval.stages.additive import ALIKE_COSINE, NEAR_LATE
from fivefold.retrieval.stages.relations import TOGETHER_ODDS
from fivefold.stores.records import NAMES_WINDOW, SAID_AND_NAMES_WINDOW, SAID_IN_WINDOW
from fivefold.values.query import DemandKind, Window
from tests.support.stage_pool import NOW, Namespace, aged, demand, found, of, search
from tests.support.term_columns import asked, at, column, columns, replaced

WEEK = Window(aged(7), NOW, "last week")


def test_a_question_without_demands_lowers_only_what_has_ended() -> None:
    """A link of 1 in 7 has odds of 1 to 6, which count six times: a chance of a half."""
    assert TOGETHER_ODDS == 6
    candidates = [of(1, event_at=aged(9)), of(2, event_at=aged(1))]
    world = Namespace({1: (1, 0), 2: (1, 0)}, links=[replaced(1, 2, 1 / 7)], times={1: [(NOW, NOW)]})
    assert columns(candidates, search(world)) == {"holds": [-0.15, 0.0]}


def test_turns_count_by_their_place() -> None:
    candidates = [found(1, turns=1.0), found(2, turns=0.5), of(3)]
    assert columns(candidates, asked("just now")) == {"turns": [1.0, 0.5, 0.0]}


@pytest.mark.parametrize(
    ("decides", "name", "values"),
    [(True, "window_only", [1.0, 0.1875, 1.75, 0.0]), (False, "window", [1.0, 0.25, 2.0, 0.0])],
)
def test_a_time_counts_by_what_was_said_in_it_and_by_what_names_it(
    decides: bool, name: str, values: list[float]
) -> None:
    """1 if it was said then; if it names the time, the score of the route, and ¾ of that if the time alone decides."""
    candidates = [
        found(1, notes={"window": SAID_IN_WINDOW}, window=1.0),
        found(2, notes={"window": NAMES_WINDOW}, window=0.25),
        found(3, notes={"window": SAID_AND_NAMES_WINDOW}, window=1.0),
        of(4),
    ]
    assert columns(candidates, search(window=WEEK, demands=[demand("window", decides)])) == {name: values}
    assert columns(candidates, search(window=WEEK)) == {}


@pytest.mark.parametrize(
    ("kind", "places"),
    [
        ("first", [0.0, 1.0, 0.5, 0.0]),
        ("last", [0.3, 0.0, 0.15, 0.0]),
        ("current", [0.5, 0.0, 0.25, 0.0]),
        ("next", [0.0] * 4),
        ("past", [0.0] * 4),
    ],
)
def test_order_counts_among_those_that_answer_about_as_well(kind: DemandKind, places: list[float]) -> None:
    """The last one answers much worse, so that its time says nothing."""
    order = zip((2, 9, 5, 20), (0.6, 0.6, 0.55, 0.2), strict=True)
    candidates = [at(found(i, late=late), aged(days)) for i, (days, late) in enumerate(order)]
    assert column("order", candidates, asked(kind)) == places


def test_one_candidate_alone_is_the_first() -> None:
    assert column("order", [of(1)], asked("first")) == [1.0]


def test_the_soonest_day_ahead_counts_most() -> None:
    """Today and in 14 days; one that is over, one that began before and goes on, and one without a day."""
    day = timedelta(days=1)
    times = {
        1: [(NOW, NOW + day)],
        2: [(NOW + 14 * day, NOW + 15 * day)],
        3: [(aged(30), aged(29))],
        4: [(aged(30), aged(29)), (aged(3), NOW + day)],
    }
    candidates = [of(row) for row in range(1, 6)]
    assert column("order", candidates, asked("next", Namespace(times=times))) == [0.7, 0.35, 0.0, 0.7, 0.0]


@pytest.mark.parametrize(("kind", "factor"), [("current", -1.0), ("past", 0.6), ("list", -0.3)])
def test_what_was_replaced_counts_less_for_the_present_and_more_for_the_past(kind: DemandKind, factor: float) -> None:
    """Chances of 1 in 3 and of 1 in 19 have odds of 1 to 2 and 1 to 18, which count six times: 0.75 and 0.25."""
    world = Namespace(links=[replaced(1, 2, 1 / 3), replaced(1, 3, 1 / 19)])
    assert column("holds", [of(1), of(2), of(3)], asked(kind, world)) == [round(0.75 * factor, 4), 0.0, 0.0]


@pytest.mark.parametrize(("kind", "value"), [("current", -1.7), ("past", 0.9), ("list", -0.6)])
def test_what_is_marked_as_ended_counts_more_than_what_a_link_says(kind: DemandKind, value: float) -> None:
    candidates = [of(1, valid_to=aged(3)), of(2, valid_to=NOW + timedelta(days=3)), of(3)]
    assert column("holds", candidates, asked(kind)) == [value, 0.0, 0.0]


def test_a_replacement_later_than_the_question_does_not_count() -> None:
    world = Namespace(links=[replaced(1, 2, days=-1)])
    assert columns([of(1), of(2)], search(world)) == {}


def test_a_link_to_a_memory_that_is_not_a_candidate_counts_as_well() -> None:
    world = Namespace(links=[replaced(1, 99), replaced(98, 2)])
    context = asked("current", world)
    assert column("holds", [of(1), of(2)], context) == [-1.0, 0.0]
    assert column("newest", [of(1), of(2)], context) == [0.0, 0.2]


@pytest.mark.parametrize(
    ("kind", "gained"), [("current", [0.0, 4.0, 1.5]), ("past", [0.0, 0.0, 0.0]), ("list", [0.0, 0.0, 0.0])]
)
def test_a_successor_inherits_the_likeness_of_the_old(kind: DemandKind, gained: list[float]) -> None:
    """Likeness of 0, −4 and −6: all of it along a sure link, along one of 1 in 19 a quarter of 0 − (−6)."""
    world = Namespace(links=[replaced(1, 2), replaced(2, 3, 1 / 19)])
    candidates = [found(row, dense=score, late=score) for row, score in ((1, 0.9), (2, 0.5), (3, 0.3))]
    assert column("successor", candidates, asked(kind, world)) == pytest.approx(gained, abs=1e-3)


def test_for_the_past_the_old_inherits_from_its_successor() -> None:
    """Half of ten times late interaction and cosine, and BM25 as a share of the best: 4 and 1 less."""
    world = Namespace(links=[replaced(1, 2)])
    candidates = [found(1, dense=0.5, late=0.5), found(2, dense=0.9, late=0.9, lexical=7.0)]
    assert column("successor", candidates, asked("past", world)) == pytest.approx([5.0, 0.0], abs=1e-3)


@pytest.mark.parametrize(
    ("kind", "values"), [("current", [0.0, 0.15, 0.05]), ("past", [0.0, -0.6, -0.2]), ("list", [0.0] * 3)]
)
def test_what_replaced_something_is_newer(kind: DemandKind, values: list[float]) -> None:
    world = Namespace(links=[replaced(1, 2, 1 / 3), replaced(1, 3, 1 / 19)])
    assert column("newest", [of(1), of(2), of(3)], asked(kind, world)) == values


@pytest.mark.parametrize("kind", ["current", "past", "list"])
def test_for_the_present_a_newer_memory_about_the_same_thing_outdates_an_older_one(kind: DemandKind) -> None:
    """Cosine 0.8 is (0.8 − 0.45) / (1 − 0.45) alike; the third is about something else."""
    world = Namespace({1: (1, 0), 2: (0.8, 0.6), 3: (0, -1)})
    candidates = [of(1, event_at=aged(9)), of(2, event_at=aged(2)), of(3, event_at=aged(1))]
    alike = round((0.8 - ALIKE_COSINE) / (1 - ALIKE_COSINE), 4) if kind == "current" else 0.0
    assert column("newest", candidates, asked(kind, world)) == [-alike, 0.0, 0.0]


def test_a_newer_memory_that_answers_less_well_outdates_less() -> None:
    world = Namespace(dict.fromkeys((1, 2, 3), (1, 0)))
    candidates = [
        at(found(1, late=0.6), aged(9)),
        at(found(2, late=0.6 - NEAR_LATE / 2), aged(8)),
        at(found(3, late=0.6 - 2 * NEAR_LATE), aged(1)),
    ]
    assert column("newest", candidates, asked("current", world)) == pytest.approx([-0.5, 0.0, 0.0], abs=1e-3)


def test_memories_without_vectors_outdate_nothing() -> None:
    candidates = [of(1, event_at=aged(9)), of(2, event_at=aged(2))]
    assert column("newest", candidates, asked("current", Namespace({1: (1, 0)}))) == [0.0, 0.0]
    nowhere = replace(asked("current", Namespace({1: (1, 0), 2: (1, 0)})), space=None)
    assert column("newest", candidates, nowhere) == [0.0, 0.0]


def test_what_held_then_began_before_the_end_of_the_time_and_ended_after_its_start() -> None:
    """One from before until now, one that ended before the time, one that ended in it, one that began after it."""
    window = Window(aged(60), aged(30), "in April")
    candidates = [of(1, event_at=aged(90)), of(2, event_at=aged(90)), of(3, event_at=aged(90)), of(4, event_at=aged(9))]
    world = Namespace(links=[replaced(2, 99, days=70), replaced(3, 98, days=40), replaced(1, 97, chance=0.4, days=80)])
    assert column("held_then", candidates, asked("past", world, window)) == [1.0, 0.0, 1.0, 0.0]
    assert column("held_then", candidates, asked("past", world)) == [0.0] * 4
    assert column("held_then", candidates, asked("current", world, window)) == [0.0] * 4
