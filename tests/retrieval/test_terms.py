"""The terms about likeness and about people, number by number, and the laws that hold for all of `TERMS`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from math import exp, log
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fivefold.errors import InvalidInput
from fivefold.retrieval.protocols import Pool
from fivefold.retrieval.recipe_file import load_recipe
from fivefold.retrieval.stages.terms import (
    COSINE_SCALE,
    FUSED_SCALE,
    LONG_ANSWER,
    MAX_CHARACTERS,
    MAX_NAMED,
    MIN_NAMED,
    SOFTNESS,
    SOME_BM25,
    STANDING_COSINE,
    STANDING_SCALE,
    TERMS,
    AdditiveConstants,
    Heading,
)
from fivefold.stores.records import SAID_AND_NAMES_WINDOW, AliasMatch
from fivefold.values.fields import fields_of
from fivefold.values.memory import Type
from fivefold.values.query import DEMAND_KINDS, TURNS, DemandKind, EntityRef, Meaning, Window
from fivefold.values.recall_trace import Candidate, Evidence
from tests.support.stage_pool import NOW, Namespace, aged, demand, found, of, said, search, stage
from tests.support.term_columns import NAMES, asked, at, chat, column, columns, replaced, talk

# The ranker: its weights in a recipe, its scores, and an explanation whose numbers add up.

SUM = re.compile(r"e\^\(\((-?[\d.]+) − (-?[\d.]+)\) / 3\)")
PART = re.compile(r"([a-z][a-z ]*) ([+-][\d.]+)")


def explained(candidate: Candidate) -> tuple[float, float, dict[str, float]]:
    """The sum, the best sum, and the named parts of a candidate's explanation."""
    why = str(candidate.steps[-1].why)
    total, best = SUM.match(why).groups()  # type: ignore[union-attr]
    parts = why.partition("mean candidate: ")[2]
    return float(total), float(best), {name: float(value) for name, value in PART.findall(parts)}


def test_every_term_has_a_weight_that_says_what_it_means_and_is_0_if_left_out() -> None:
    specs = fields_of(AdditiveConstants)
    assert list(specs) == NAMES
    for term in TERMS:
        assert specs[term.name].about == f"{term.about} ({term.heading})"
    assert AdditiveConstants() == AdditiveConstants(**dict.fromkeys(NAMES, 0.0))


def test_the_default_recipe_sets_a_weight_above_0_for_every_term() -> None:
    (ranker,) = (stage for stage in load_recipe("default").rerank if stage.name == "additive")
    assert all(getattr(ranker.constants, name) > 0 for name in NAMES)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("weight", [-0.01, -1, 100.5])
def test_a_weight_is_never_negative(name: str, weight: float) -> None:
    with pytest.raises(InvalidInput, match=f"{name} must be a number from 0 to 100, not {weight:g}"):
        load_recipe("default", {f"rerank.additive.{name}": weight})


def test_a_term_that_does_not_exist_has_no_weight() -> None:
    with pytest.raises(InvalidInput, match="late_peak"):
        load_recipe("default", {"rerank.additive.late_peak": 1.0})


def test_the_best_sum_has_the_score_one_and_others_fall_off() -> None:
    """In talk BM25 of 3 and 6: sums of 1.5 · (0.5 + 0.5) and 1.5 · (1 + 1), and their mean 2.25."""
    pool = stage("additive", [talk(1, lexical=3.0), talk(2, lexical=6.0)], words=1.5)
    scores = {candidate.memory.row: candidate.score for candidate in pool.candidates}
    assert scores[2] == 1.0
    assert scores[1] == pytest.approx(exp(-1.5 / SOFTNESS), rel=1e-5)
    step = pool.candidates[0].steps[-1]
    assert (step.stage, step.before) == ("additive", 0.5)
    assert explained(pool.candidates[0]) == (1.5, 3.0, {"words": -0.75})


def test_a_weight_of_0_and_a_term_that_nothing_speaks_for_change_nothing() -> None:
    candidates = [found(1, lexical=3.0), found(2, lexical=6.0)]
    assert {one.score for one in stage("additive", candidates).candidates} == {1.0}
    assert {one.score for one in stage("additive", candidates, person=9.0, turns=9.0).candidates} == {1.0}


def test_an_empty_pool_stays_empty() -> None:
    assert stage("additive", []).candidates == []


def test_the_parts_are_named_for_twice_as_many_as_are_asked_for() -> None:
    pool = stage("additive", [talk(row, lexical=row) for row in range(1, 7)], search(k=2), words=1.0)
    named = {candidate.memory.row: explained(candidate)[2] for candidate in pool.candidates}
    assert [row for row, parts in named.items() if parts] == [3, 4, 5, 6]


numbers = st.floats(0, 1, allow_nan=False, width=32)


@st.composite
def lists(draw: st.DrawFn) -> list[Candidate]:
    """Talk or a chat, of any scores and times."""
    said_by, candidates = draw(st.sampled_from([(talk, "Ana"), (chat, "assistant")])), []
    for row in range(1, draw(st.integers(1, 8)) + 1):
        by = {"late": draw(numbers), "dense": draw(numbers), "lexical": 20 * draw(numbers), "turns": draw(numbers)}
        text = draw(st.sampled_from(["Why?", "I love 3 of them", "Carla left last Friday", "x" * 800]))
        one = said_by[0](row, text, said_by[1], draw(numbers), row, **by)
        candidates.append(at(one, aged(draw(st.integers(0, 400)))))
    return candidates


@given(
    candidates=lists(),
    weights=st.dictionaries(st.sampled_from(NAMES), st.floats(0, 5), max_size=len(NAMES)),
    kind=st.sampled_from(["current", "past", "first", "list", "suggestion", "negation"]),
)
def test_the_explanation_adds_up(candidates: list[Candidate], weights: dict[str, float], kind: str) -> None:
    """The two sums give the score. What is named is what sets a candidate apart from the mean, the largest first."""
    world = Namespace({row: (1.0, row / 5) for row in range(1, 9)}, links=[replaced(1, 2), replaced(2, 3, 0.6)])
    context = search(world, text="when was it?", demands=[demand(kind)])  # type: ignore[arg-type]
    pool = stage("additive", candidates, context, **weights)
    found_sums = [explained(candidate) for candidate in pool.candidates]
    mean = sum(total for total, _, _ in found_sums) / len(found_sums)
    for candidate, (total, best, parts) in zip(pool.candidates, found_sums, strict=True):
        assert SOFTNESS * log(candidate.score) == pytest.approx(total - best, abs=0.02)
        sizes = [abs(part) for part in parts.values()]
        assert len(sizes) <= MAX_NAMED
        assert sizes == sorted(sizes, reverse=True)
        assert {name.replace(" ", "_") for name in parts} <= set(weights)
        if len(sizes) < MAX_NAMED:
            missing = len(NAMES) * MIN_NAMED
            assert sum(parts.values()) == pytest.approx(total - mean, abs=missing + 0.05)
    assert max(candidate.score for candidate in pool.candidates) == 1.0


def test_the_parts_of_one_candidate_are_its_terms_times_their_weights_less_the_mean() -> None:
    """Two notes, of which the first is a taste that was replaced, for a question of advice about the present."""
    old, new = (at(said(found(row), text), aged(days)) for row, text, days in ((1, "I love figs", 9), (2, "figs", 1)))
    context = search(Namespace(links=[replaced(1, 2)]), demands=[demand("current"), demand("suggestion")])
    pool = stage("additive", [old, new], context, holds=2.0, applies=0.5, newest=1.0)
    assert explained(pool.candidates[0]) == (-3.5, 0.2, {"holds": -2.0, "applies": 0.25, "newest": -0.1})
    assert explained(pool.candidates[1]) == (0.2, 0.2, {"holds": 2.0, "applies": -0.25, "newest": 0.1})


MAX_TERMS = 20

ASKED_FOR = {
    "kind": ("list", "count", "negation"),
    "turns": TURNS,
    "window_only": ("window",),
    "window": ("window",),
    "order": ("first", "last", "current", "next"),
    "successor": ("current", "past", "first"),
    "newest": ("current", "past", "first"),
    "held_then": ("past",),
    "person": (),
    "applies": ("suggestion", "request", "negation"),
}
"""Terms that are 0 unless a question makes one of these demands; `person` needs a relation or a pronoun."""

OF_TALK = {"late_in_talk", "beside", "length"}
"""Terms that are 0 unless people talk with each other."""


def fused(row: int, **contributions: float) -> Candidate:
    """A candidate with what each route adds to its fused score."""
    evidence = tuple(Evidence(name, 1, 0.5, 1.0, value, "") for name, value in contributions.items())
    return replace(of(row, sum(contributions.values())), evidence=evidence)


def test_there_are_at_most_twenty_terms_and_each_has_a_name_and_a_sentence_of_its_own() -> None:
    assert len(TERMS) <= MAX_TERMS
    assert len({term.name for term in TERMS}) == len({term.about for term in TERMS}) == len(TERMS)
    assert all(term.name.isidentifier() and term.about[0].isupper() for term in TERMS)


def test_the_terms_stand_in_four_groups_one_after_the_other() -> None:
    assert list(dict.fromkeys(term.heading for term in TERMS)) == list(get_args(Heading))
    assert [term.heading for term in TERMS] == sorted((t.heading for t in TERMS), key=get_args(Heading).index)


def everything(speakers: tuple[str, str] = ("user", "assistant")) -> tuple[list[Candidate], Namespace]:
    """Candidates that every term could speak for, in a namespace of links, vectors and named times."""
    texts = ("She adores figs and never eats 3 of them", "Do you like Carla?", "Last Friday it rained", "so")
    candidates = [
        at(
            said(found(row, row / 10, late=row / 20, dense=row / 9, lexical=2.0), text, speakers[row % 2], "s", row),
            aged(row),
        )
        for row, text in enumerate(texts, 1)
    ]
    vectors = {row: (1.0, row / 10) for row in range(1, 5)}
    links = [replaced(3, 1, 0.8, days=1), replaced(4, 2, days=2)]
    return candidates, Namespace(vectors, links=links, times={row: [(NOW, NOW)] for row in (1, 3)})


@given(kinds=st.sets(st.sampled_from(DEMAND_KINDS)), decides=st.booleans(), window=st.booleans())
def test_a_term_that_the_question_does_not_ask_for_is_0_for_all(
    kinds: set[DemandKind], decides: bool, window: bool
) -> None:
    """Routes leave evidence as they do in a recall: those that the question does not ask for are skipped."""
    plain, world = everything()
    asked_routes: dict[str, set[DemandKind]] = {
        "turns": set(TURNS),
        "standing": {"request", "suggestion"},
        "window": {"window"},
    }
    ran = [route for route, needs in asked_routes.items() if kinds & needs]
    evidence = tuple(Evidence(route, 1, 0.9, 1.0, 0.0, "", SAID_AND_NAMES_WINDOW) for route in ran)
    candidates = [replace(one, evidence=(*one.evidence, *evidence)) for one in plain]
    time = Window(aged(7), NOW, "last week") if window else None
    context = search(world, demands=[demand(kind, decides) for kind in sorted(kinds)], window=time)
    table = columns(candidates, context)
    assert not {name for name, needs in ASKED_FOR.items() if name in table and kinds.isdisjoint(needs)}
    assert "window_only" not in table or decides
    assert "window" not in table or not decides
    assert "held_then" not in table or window


def test_each_of_these_terms_is_not_0_if_the_question_asks_for_it() -> None:
    plain, world = everything()
    boss = EntityRef("my boss", 0, (Meaning(4, "Carla", 1.0),), via="boss of user")
    seen = set(columns(plain, search(world, entities=[boss])))
    for kind in DEMAND_KINDS:
        for decides in (False, True):
            evidence = tuple(
                Evidence(route, 1, 0.9, 1.0, 0.0, "", SAID_AND_NAMES_WINDOW)
                for route in ("window", "turns", "standing")
            )
            candidates = [replace(plain[0], evidence=(*plain[0].evidence, *evidence)), *plain[1:]]
            demands = [demand(kind, decides)]
            seen |= set(columns(candidates, search(world, demands=demands, window=Window(aged(7), NOW, "last week"))))
    assert set(ASKED_FOR) <= seen


def test_terms_of_talk_are_0_if_a_user_talks_with_an_assistant() -> None:
    candidates, world = everything()
    assert OF_TALK.isdisjoint(columns(candidates, search(world)))
    candidates, world = everything(("Ana", "Ben"))
    assert not OF_TALK - set(columns(candidates, search(world)))


def test_likeness_counts_by_its_distance_to_the_best_and_half_in_talk() -> None:
    """Contributions of dense, lexical and late search count; those of other routes find by time or place."""
    candidates = [
        fused(1, dense=0.3, lexical=0.1),
        fused(2, late=0.2),
        fused(3, dense=0.1, window=5.0),
        fused(4, turns=1),
    ]
    expected = [0.0, -0.2 * FUSED_SCALE, -0.3 * FUSED_SCALE, -0.4 * FUSED_SCALE]
    messages = [said(one, "so " * 150, "user") for one in candidates]
    assert column("alike", messages) == pytest.approx(expected, abs=1e-4)
    people = [said(one, "so", "Ana") for one in candidates]
    assert column("alike", people) == pytest.approx([value / 2 for value in expected], abs=1e-4)


def test_words_count_by_what_they_are_worth_and_by_their_share_of_the_best() -> None:
    """BM25 over 6 but at most 1, and over the best of the question."""
    assert SOME_BM25 == 6
    candidates = [talk(1, lexical=8.0), talk(2, lexical=3.0), talk(3)]
    assert column("words", candidates) == [2.0, 0.875, 0.0]
    assert column("words", [talk(1, lexical=3.0), talk(2)]) == [1.5, 0.0]
    assert column("words", [talk(1), talk(2)]) == [0.0, 0.0]


def test_among_short_statements_words_and_details_say_nothing_beside_likeness() -> None:
    notes = [found(1, lexical=8.0), chat(2, "It was last Friday", lexical=3.0)]
    assert column("words", notes) == column("detail", notes, search(text="When was it?")) == [0.0, 0.0]


def test_late_interaction_counts_by_itself_in_talk_and_what_lacks_it_as_the_lowest() -> None:
    candidates = [talk(1, late=0.7), talk(2, late=0.4), talk(3)]
    assert column("late_in_talk", candidates) == pytest.approx([0.0, -0.3 * COSINE_SCALE, -0.3 * COSINE_SCALE])


def test_the_turns_next_to_a_turn_speak_for_it_in_talk() -> None:
    """Cosines of 0.9, 0.1 and 0.5 are shares of 1, 0 and 0.5: all of the turn before, 0.3 of the turn after."""
    turns = [talk(i, turn=i, dense=score) for i, score in enumerate((0.9, 0.1, 0.5))]
    assert column("beside", turns) == [0.0, 1.15, 0.0]
    apart = [talk(1, turn=4, dense=0.9), said(found(2, dense=0.1), "so", "Ben", session="t", turn=5)]
    assert column("beside", apart) == [0.0, 0.0]
    notes = [said(found(row, dense=row / 10), "so", "Ana") for row in (1, 2)]
    assert column("beside", notes) == [0.0, 0.0]
    same = [talk(i, turn=i, dense=0.5) for i in range(3)]
    assert column("beside", same) == [0.0, 0.0, 0.0]


def test_a_session_speaks_for_its_turns_in_talk() -> None:
    """Twice what its best turn is ahead, and what the session itself says; a note has no session."""
    candidates = [talk(1, score=0.4), talk(2, score=0.7), said(found(3, 0.9), "a note", "Ben")]
    context = search(Namespace(sessions={"s": 50}))
    assert column("session", candidates, context) == [0.6, 0.0, 0.0]
    pool = Pool(candidates, supporting={50: 0.8})
    assert column("session", candidates, context, pool) == [1.4, 0.8, 0.0]


@pytest.mark.parametrize("kind", DEMAND_KINDS)
@pytest.mark.parametrize("decides", [False, True])
def test_among_long_messages_a_session_counts_only_if_a_time_decides(kind: DemandKind, decides: bool) -> None:
    candidates = [chat(1, "so " * 150, score=0.4), chat(2, "so " * 150, score=0.7)]
    context = search(Namespace(sessions={"s": 50}), demands=[demand(kind, decides)])
    pool = Pool(candidates, supporting={50: 0.8})
    counts = decides and kind in ("window", *TURNS)
    assert column("session", candidates, context, pool) == ([0.6, 0.0] if counts else [0.0, 0.0])


def test_a_session_speaks_for_its_short_statements() -> None:
    assert column("session", [chat(1, score=0.4), chat(2, score=0.7)]) == [0.6, 0.0]


def test_short_statements_are_alike_by_cosine_too() -> None:
    """9.3 times the distance of the cosine; long messages count by the fused score alone."""
    near, far = found(1, 0.5, None, dense=0.7), found(2, 0.5, None, dense=0.2)
    statements = [said(one, "so", "user", "s", 0) for one in (near, far)]
    messages = [said(one, "so " * 150, "user", "s", 0) for one in (near, far)]
    of_statements, of_messages = column("alike", statements), column("alike", messages)
    assert of_statements[1] == pytest.approx(of_messages[1] * 3.4 / 8 - 9.3 * 0.5, abs=1e-3)


def test_in_talk_questions_count_less_and_long_turns_more() -> None:
    candidates = [talk(1, "It was last Friday"), talk(2, "Who knows? ")]
    assert column("statement", candidates) == [0.0, -1.0]
    assert column("length", candidates) == [round(log(19) - 5, 4), round(log(12) - 5, 4)]


def test_what_a_household_tells_its_assistant_is_not_talk() -> None:
    people, role = [talk(row, "why?") for row in (1, 2)], chat(3, "why?", "Assistant")
    assert column("statement", people) == [-1.0, -1.0]
    assert column("statement", [*people, role]) == [-1.0] * 3
    assert column("statement", [said(found(row), "why? " * 80) for row in (1, 2)]) == [0.0, 0.0]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("When was it?", [1.0, 0.0, 1.0]),
        ("Which day was it?", [1.0, 0.0, 1.0]),
        ("How many cats are there?", [0.0, 1.0, 1.0]),
        ("When was it, and how much was it?", [1.0, 1.0, 2.0]),
        ("Tell me when it was", [0.0, 0.0, 0.0]),
        ("Who was it?", [0.0, 0.0, 0.0]),
    ],
)
def test_the_text_is_looked_at_for_what_the_question_asks(question: str, expected: list[float]) -> None:
    texts = ("It was last Friday", "I have three cats", "In 2021 it was dear")
    context = search(text=question)
    assert column("detail", [talk(row, text) for row, text in enumerate(texts)], context) == expected
    messages = [chat(row, text + " so" * 150) for row, text in enumerate(texts)]
    assert column("detail", messages, context) == pytest.approx([0.4 * value for value in expected])


def test_only_the_beginning_of_a_long_text_is_looked_at() -> None:
    texts = ("x" * MAX_CHARACTERS + " 7", "x " * 100 + "7")
    candidates = [talk(row, text) for row, text in enumerate(texts)]
    assert column("detail", candidates, search(text="how many?")) == [0.0, 1.0]


@pytest.mark.parametrize("kind", DEMAND_KINDS)
def test_likeness_to_the_best_counts_if_everything_of_a_kind_is_asked_for(kind: DemandKind) -> None:
    """The second nearest of the best four, since the nearest is itself for those four; one has no vector."""
    vectors = {1: (1.0, 0.0), 2: (0.8, 0.6), 3: (0.6, 0.8), 4: (0.0, 1.0), 5: (0.96, 0.28)}
    candidates = [found(row, late=0.9 - row / 10) for row in range(1, 7)]
    expected = [0.8, 0.96, 0.96, 0.8, 0.936, 0.0] if kind in ("list", "count", "negation") else [0.0] * 6
    assert column("kind", candidates, asked(kind, Namespace(vectors))) == expected
    assert column("kind", candidates, asked(kind)) == [0.0] * 6


def test_one_candidate_alone_is_compared_with_itself() -> None:
    assert column("kind", [of(1)], asked("list", Namespace({1: (0.6, 0.8)}))) == [1.0]


@pytest.mark.parametrize(
    ("question", "answers"),
    [
        ("What did I say about tea?", -1.0),
        ("Which tea is best?", -1.0),
        ("Can you tell me which tea I like?", -1.0),
        ("Thank you. Which tea is best?", -1.0),
        ("Do you remember which tea I like?", -1.0),
        ("What did you suggest?", 1.0),
        ("Could you remind me of your plan?", 1.0),
        ("What was that idea of yours?", 1.0),
    ],
)
def test_long_answers_of_an_assistant_count_less_unless_the_question_asks_for_them(
    question: str, answers: float
) -> None:
    """In full from 600 characters on; a "you" that only asks politely says nothing."""
    lengths = {"user": 900, "assistant": LONG_ANSWER // 2, "Assistant": LONG_ANSWER, "Ana": 900}
    candidates = [said(found(row), "x" * length, name) for row, (name, length) in enumerate(lengths.items())]
    assert column("side", candidates, search(text=question)) == [0.0, answers / 2, answers, 0.0]
    assert column("side", [said(found(1), "x" * 9_000, "assistant")], search(text=question)) == [answers]


def test_people_whom_the_question_means_by_a_relation_count_by_their_share_and_names_do_not() -> None:
    """A name has words that searches find by themselves."""
    people = [
        EntityRef("Dana", 0, (Meaning(5, "Dana", 1.0),)),
        EntityRef("she", 0, (Meaning(1, "Ana Lopez", 1.0),), via="pronoun"),
        EntityRef("my boss", 0, (Meaning(2, "Ben", 0.6), Meaning(3, "Carla", 0.4)), via="boss of user"),
    ]
    texts = [("Ana met Carla", None), ("ana went home", None), ("We talked", "Ben"), ("Banana for Dana", None)]
    candidates = [said(of(i), *text) for i, text in enumerate(texts)]
    assert column("person", candidates, search(entities=people)) == [1.0, 0.5, 0.5, 0.0]
    assert column("person", candidates, search(entities=people[:1])) == [0.0] * 4


def test_a_memory_of_a_namesake_counts_against_it_and_one_of_an_open_name_does_not() -> None:
    """Entity 1 is asked about, 2 has its first name too, and 3 is a bare name that may be either's."""
    asked = [EntityRef("Sam Okafor", 0, (Meaning(1, "Sam Okafor", 1.0),))]
    names = [AliasMatch("sam", key, name, "name", 1, key < 3) for key, name in enumerate(("Sam Okafor", "Sam Wu"), 1)]
    candidates = [said(of(row), f"Sam {row}") for row in (1, 2, 3, 4)]
    ids = [candidate.memory.id for candidate in candidates]
    world = Namespace(names=names, mentions={ids[0]: {1}, ids[1]: {2}, ids[2]: {1, 2}})
    assert column("person", candidates, search(world, entities=asked)) == [1.0, -3.0, 1.0, 0.0]


@pytest.mark.parametrize(
    ("kind", "hint", "texts", "worth"),
    [
        ("suggestion", None, ("She adores figs", "She is allergic to nuts", "She went home"), 1.0),
        (None, "preference", ("My favourite is tea", "He can't stand coffee", "The kettle broke"), 1.0),
        ("negation", None, ("I don't eat meat", "We cancelled the trip", "We went to Rome"), 0.7),
    ],
)
def test_tastes_and_refusals_apply_if_they_are_asked_for(
    kind: DemandKind | None, hint: Type | None, texts: Sequence[str], worth: float
) -> None:
    candidates = [said(of(i), text) for i, text in enumerate(texts)]
    context = search(demands=[demand(kind)] if kind else [], type_hints=[hint] if hint else [])
    assert column("applies", candidates, context) == [worth, worth, 0.0]
    assert column("applies", candidates) == [0.0] * 3


def test_a_stored_preference_applies_as_its_words_do() -> None:
    candidates = [of(1, type="event"), of(2, type="preference"), said(of(3, type="preference"), "I love tea")]
    assert column("applies", candidates, search(type_hints=["preference"])) == [0.0, 1.0, 1.0]


def test_a_standing_instruction_applies_by_how_much_nearer_than_chance_it_is() -> None:
    candidates = [found(1, standing=0.65), found(2, standing=STANDING_COSINE), found(3, standing=0.05), found(4)]
    assert column("applies", candidates, asked("request")) == [round(0.5 * STANDING_SCALE, 4), 0.0, 0.0, 0.0]
