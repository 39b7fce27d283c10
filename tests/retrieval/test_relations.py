"""The terms of time and of what still holds, number by number."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path

import pytest

import fivefold
from fivefold.engine import Engine
from fivefold.retrieval.protocols import Pool
from fivefold.retrieval.relations import TOGETHER_ODDS, EndedConstants, lower_ended
from fivefold.retrieval.stages.terms import STATE_FACTOR
from fivefold.stores.records import NAMES_WINDOW, SAID_AND_NAMES_WINDOW, SAID_IN_WINDOW
from fivefold.values.query import DemandKind, Window
from fivefold.values.recall_trace import Candidate
from tests.support.stage_pool import NOW, Namespace, aged, demand, found, of, said, search
from tests.support.term_columns import asked, at, column, columns, replaced

# What has ended steps back, and what replaced it stands where it stood, whatever the sign of the score.


class Known:
    """A reader that knows one memory which no route has found."""

    def __init__(self, candidate: Candidate) -> None:
        self.memory = candidate.memory
        self.memories = self

    def get_many(self, ids: Sequence[str]) -> dict[str, fivefold.Memory]:
        return {id: self.memory for id in ids if id == self.memory.id}


class Asked:
    def __init__(self, heir: Candidate) -> None:
        self.reader = Known(heir)
        self.query = type("Now", (), {"now": NOW})()


@pytest.mark.parametrize("score", [0.8, -0.3])
def test_what_no_route_found_takes_the_place_of_what_it_replaced(score: float) -> None:
    heir, other = of(2), of(3, 0.1)
    old = of(1, score, valid_to=aged(1), superseded_by=heir.memory.id)
    made = lower_ended(Pool((old, other)), Asked(heir), EndedConstants(0.5))  # type: ignore[arg-type]
    scores = {candidate.memory.id: candidate.score for candidate in made.candidates}
    assert scores[heir.memory.id] == score
    assert scores[old.memory.id] == (0.4 if score > 0 else -0.8)
    assert scores[other.memory.id] == 0.1


def test_a_memory_that_answers_nothing_is_not_lifted_by_what_it_replaced(tmp_path: Path) -> None:
    """As when the cross-encoder has given every other candidate less than nothing."""
    with fivefold.open(tmp_path / "me.db") as mem:
        mem.remember("I prefer meetings in the morning", speaker="user", event_at="2025-01-06T09:00:00Z")
        mem.remember("The API time-out of the Kestrel is 30 seconds", speaker="user", event_at="2025-01-07T09:00:00Z")
        mem.remember("I prefer meetings in the afternoon now", speaker="user", event_at="2025-02-06T09:00:00Z")
        mem.remember("I take my tea without milk", speaker="user", event_at="2025-02-07T09:00:00Z")
        answer = mem.recall("how do I take my tea?", k=4, now="2025-03-01T09:00:00Z")
        assert answer[0].memory.content == "I take my tea without milk"
        assert [hit.score for hit in answer] == sorted((hit.score for hit in answer), reverse=True)
        assert 0.0 not in [hit.score for hit in answer]


# Of two near-duplicates the newest answers for both, and the trace says so.

TEXTS = {
    "first": "The deploy script is in the tools folder",
    "again": "Deploy script lives in the tools folder",
    "other": "The deploy script of the website is written in Rust",
    "seven": "The deploy script runs on 7 machines",
    "eight": "The deploy script runs on 8 machines",
}


@pytest.fixture(scope="module")
def mem(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with fivefold.open(tmp_path_factory.mktemp("repeats") / "m.db") as engine:
        engine.remember_many(
            {"content": text, "id": id, "event_at": f"2025-01-0{day}T09:00:00Z"}
            for day, (id, text) in enumerate(TEXTS.items(), 1)
        )
        assert [(link.source, link.target) for link in engine.links("repeats")] == [("again", "first")]
        yield engine


def ids(answer: fivefold.Recall) -> list[str]:
    return [hit.memory.id for hit in answer]


def test_the_newest_stands_for_both(mem: Engine) -> None:
    answer = mem.recall("Where is the deploy script?", k=5)
    assert "again" in ids(answer)
    assert "first" not in ids(answer)
    (gone,) = [item for item in answer.dropped if item.stage == "repeats"]
    assert (gone.id, gone.reason) == ("first", "again says nearly the same, and is newer")
    (hit,) = [hit for hit in answer if hit.memory.id == "again"]
    assert hit.candidate.steps[-1].why == "stands for first too"
    assert [memory.id for memory in hit.folded] == ["first"]
    assert "stands for first too" in answer.explain()
    assert [each.folded for each in answer.brief.hits if each.memory.id == "again"] == [("first",)]
    assert "said 2 times" in str(mem.context("Where is the deploy script?"))


def test_it_has_the_better_place_and_chance_of_both(mem: Engine) -> None:
    question = "Where is the deploy script?"
    before = {hit.memory.id: hit for hit in mem.recall(question, k=5, overrides={"select.repeats.shared": 1.0})}
    (after,) = [hit for hit in mem.recall(question, k=5) if hit.memory.id == "again"]
    assert after.rank == min(before["first"].rank, before["again"].rank)
    assert after.score == pytest.approx(max(before["first"].score, before["again"].score))
    assert after.chance == pytest.approx(max(before["first"].chance or 0, before["again"].chance or 0))


def test_what_differs_in_a_number_stays(mem: Engine) -> None:
    answer = mem.recall("On how many machines does the deploy script run?", k=5)
    assert {"seven", "eight"} <= set(ids(answer))


@pytest.mark.parametrize(
    "question",
    [
        "List everything I said about the deploy script",
        "What did I say about the deploy script on 1 January 2025?",
        "What did I first say about the deploy script?",
    ],
)
def test_a_question_for_all_or_for_a_time_keeps_both(question: str, mem: Engine) -> None:
    assert {"first", "again"} <= set(ids(mem.recall(question, k=5, now="2025-02-01T00:00:00Z")))


def test_a_list_names_each_state_once_and_each_event(tmp_path: Path) -> None:
    with fivefold.open(tmp_path / "m.db") as mem:
        for id, text in (
            ("a", "I'm allergic to nuts"),
            ("b", "Nuts are something I'm allergic to"),
            ("c", "I'm allergic to nuts, really"),
        ):
            mem.remember(text, id=id)
        assert mem.understand("Which allergies do I have?").demand("list")
        (hit,) = mem.recall("Which allergies do I have?")
        assert (hit.memory.id, [memory.id for memory in hit.folded]) == ("c", ["b", "a"])
        mem.remember("I paid the nut supplier at the market", id="d", type="event")
        mem.remember("I paid the nut supplier at the market, really", id="e", type="event")
        assert {"d", "e"} <= set(ids(mem.recall("Which suppliers did I pay at the market?")))


def test_asked_as_of_an_earlier_time_the_older_answers(mem: Engine) -> None:
    assert ids(mem.recall("Where is the deploy script?", k=5, now="2025-01-01T12:00:00Z")) == ["first"]


def test_what_is_pinned_stays(tmp_path: Path) -> None:
    with fivefold.open(tmp_path / "m.db") as mem:
        mem.remember(TEXTS["first"], id="first", pinned=True)
        mem.remember(TEXTS["again"], id="again")
        assert set(ids(mem.recall("Where is the deploy script?", k=2))) == {"first", "again"}


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
    [(True, "window_only", [1.0, 0.1875, 1.75, 0.0]), (False, "window", [3.0, 0.75, 6.0, 0.0])],
)
def test_a_time_counts_by_what_was_said_in_it_and_by_what_names_it(
    decides: bool, name: str, values: list[float]
) -> None:
    """1 if it was said then; if it names the time, the score of the route, and ¾ of that if the time alone decides.

    Three times as much if the question asks what happened then.
    """
    candidates = [
        found(1, notes={"window": SAID_IN_WINDOW}, window=1.0),
        found(2, notes={"window": NAMES_WINDOW}, window=0.25),
        found(3, notes={"window": SAID_AND_NAMES_WINDOW}, window=1.0),
        of(4),
    ]
    assert columns(candidates, search(window=WEEK, demands=[demand("window", decides)])) == {name: values}
    assert columns(candidates, search(window=WEEK)) == {}


def test_a_time_to_come_counts_by_what_names_it_and_still_holds() -> None:
    week = Window(NOW, NOW + timedelta(days=7), "next week")
    candidates = [
        found(1, notes={"window": SAID_IN_WINDOW}, window=1.0),
        found(2, notes={"window": NAMES_WINDOW}, window=1.0),
        of(3, event_at=aged(9), valid_to=aged(2)),
    ]
    found_columns = columns(candidates, search(window=week, demands=[demand("window", True)]))
    assert found_columns["window_only"] == [0.5, 0.75, 0.0]
    assert found_columns["holds"][2] < found_columns["holds"][1] == 0.0
    assert columns(candidates, search(window=week, demands=[demand("window")]))["window"] == [1.0, 1.0, 0.0]


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


@pytest.mark.parametrize(("kind", "factor"), [("current", -2.0), ("past", 1.2), ("list", -0.3)])
def test_what_was_replaced_counts_less_for_the_present_and_more_for_the_past(kind: DemandKind, factor: float) -> None:
    """Chances of 1 in 3 and of 1 in 19 have odds of 1 to 2 and 1 to 18, which count six times: 0.75 and 0.25.

    Among statements, a state that is asked for counts twice what it counts among long messages.
    """
    world = Namespace(links=[replaced(1, 2, 1 / 3), replaced(1, 3, 1 / 19)])
    assert column("holds", [of(1), of(2), of(3)], asked(kind, world)) == [round(0.75 * factor, 4), 0.0, 0.0]
    messages = [said(of(row), "so " * 150, "user") for row in (1, 2, 3)]
    less = factor if kind == "list" else factor / STATE_FACTOR
    assert column("holds", messages, asked(kind, world)) == [round(0.75 * less, 4), 0.0, 0.0]


@pytest.mark.parametrize(("kind", "value"), [("current", -3.4), ("past", 1.8), ("list", -0.6)])
def test_what_is_marked_as_ended_counts_more_than_what_a_link_says(kind: DemandKind, value: float) -> None:
    candidates = [of(1, valid_to=aged(3)), of(2, valid_to=NOW + timedelta(days=3)), of(3)]
    assert column("holds", candidates, asked(kind)) == [value, 0.0, 0.0]


def test_a_replacement_later_than_the_question_does_not_count() -> None:
    world = Namespace(links=[replaced(1, 2, days=-1)])
    assert columns([of(1), of(2)], search(world)) == {}


def test_a_link_to_a_memory_that_is_not_a_candidate_counts_as_well() -> None:
    world = Namespace(links=[replaced(1, 99), replaced(98, 2)])
    context = asked("current", world)
    assert column("holds", [of(1), of(2)], context) == [-STATE_FACTOR, 0.0]
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


def test_what_held_then_began_before_the_end_of_the_time_and_ended_after_its_start() -> None:
    """One from before until now, one that ended before the time, one that ended in it, one that began after it."""
    window = Window(aged(60), aged(30), "in April")
    candidates = [of(1, event_at=aged(90)), of(2, event_at=aged(90)), of(3, event_at=aged(90)), of(4, event_at=aged(9))]
    world = Namespace(links=[replaced(2, 99, days=70), replaced(3, 98, days=40), replaced(1, 97, chance=0.4, days=80)])
    assert column("held_then", candidates, asked("past", world, window)) == [1.0, 0.0, 1.0, 0.0]
    assert column("held_then", candidates, asked("past", world)) == [0.0] * 4
    assert column("held_then", candidates, asked("current", world, window)) == [0.0] * 4
