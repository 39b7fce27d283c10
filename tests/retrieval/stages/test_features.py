"""The features of candidates, number by number, and the additive model over them."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log

import pytest

from fivefold.retrieval.recipe_file import load_recipe
from fivefold.retrieval.routes import SearchContext
from fivefold.retrieval.stages.additive import SOFTNESS, AdditiveConstants
from fivefold.retrieval.stages.base import Pool
from fivefold.retrieval.stages.features import FEATURES, feature_table
from fivefold.values.recall_trace import Candidate
from tests.support.stage_pool import Namespace, found, said, search, stage


def column(
    name: str, candidates: Sequence[Candidate], context: SearchContext | None = None, pool: Pool | None = None
) -> list[float]:
    table = feature_table(pool or Pool(list(candidates)), context or search())
    return [round(float(value), 4) for value in table[:, FEATURES.index(name)]]


def test_every_feature_has_a_weight_and_the_default_recipe_sets_known_ones() -> None:
    assert AdditiveConstants.__slots__ == FEATURES
    assert any(stage.name == "additive" for stage in load_recipe("default").rerank)


def test_scores_count_by_their_distance_to_the_best() -> None:
    candidates = [found(1, dense=0.8, late=0.7), found(2, dense=0.6), found(3, late=0.4)]
    assert column("dense", candidates) == [0.0, -2.0, -2.0]
    assert column("late", candidates) == [0.0, -3.0, -3.0]
    assert column("dense_peak", candidates) == [1.0, round(exp(-1.6), 4), round(exp(-1.6), 4)]


def test_words_count_by_what_they_are_worth_and_nothing_without_any() -> None:
    """BM25 over 10, and over 6 but at most 1."""
    candidates = [found(1, lexical=8.0), found(2, lexical=3.0), found(3)]
    assert column("lexical", candidates) == [0.8, 0.3, 0.0]
    assert column("lexical_some", candidates) == [1.0, 0.5, 0.0]
    assert column("lexical", [found(1), found(2)]) == [0.0, 0.0]


def test_the_turns_next_to_a_turn_speak_for_it() -> None:
    turns = [said(found(i, dense=score), "x", session="s", turn=i) for i, score in enumerate((0.9, 0.1, 0.5))]
    assert column("dense_before", turns) == [0.0, 1.0, 0.0]
    assert column("dense_after", turns) == [0.0, 0.5, 0.0]
    apart = [said(found(1, dense=0.9), "x", session="s", turn=4), said(found(2, dense=0.1), "x", session="t", turn=5)]
    assert column("dense_before", apart) == [0.0, 0.0]
    notes = [found(1, dense=0.9), found(2, dense=0.1)]
    assert column("dense_before", notes) == [0.0, 0.0]


def test_a_session_speaks_for_its_turns_and_a_note_for_itself() -> None:
    candidates = [
        said(found(1, 0.4), "x", session="s", turn=1),
        said(found(2, 0.7), "x", session="s", turn=9),
        said(found(3, 0.5, lexical=3.0), "a note"),
    ]
    context = search(Namespace(sessions={"s": 50}))
    pool = Pool(candidates, supporting={50: 0.8})
    assert column("session_words", candidates, context, pool) == [0.8, 0.8, 1.0]
    assert column("session_best", candidates, context, pool) == [1.4, 1.4, 1.0]


@pytest.mark.parametrize(
    ("question", "general"), [("Would Ana like it?", True), ("What does she eat?", True), ("What did she eat?", False)]
)
def test_questions_about_what_holds_in_general_rely_less_on_one_session(question: str, general: bool) -> None:
    candidates = [said(found(1, 0.4), "x", session="s")]
    assert column("general_session_best", candidates, search(text=question)) == [0.8 if general else 0.0]


@pytest.mark.parametrize(
    ("question", "user", "assistant"),
    [
        ("What did I say about tea?", (1.0, -1.0), (0.0, 0.0)),
        ("What did you suggest?", (0.0, 0.0), (-1.0, 1.0)),
        ("What did you say about my tea?", (0.0, 0.0), (0.0, 0.0)),
        ("Which tea is best?", (0.0, 0.0), (0.0, 0.0)),
    ],
)
def test_the_role_of_the_speaker_is_compared_with_whom_the_question_asks(
    question: str, user: tuple[float, float], assistant: tuple[float, float]
) -> None:
    candidates = [said(found(1), "a", "user"), said(found(2), "b", "Assistant")]
    context = search(text=question)
    assert column("user", candidates, context) == [1.0, -1.0]
    assert tuple(column("user_mine", candidates, context)) == user
    assert tuple(column("assistant_yours", candidates, context)) == assistant


def test_a_speaker_whom_the_question_names_counts_and_the_other_less() -> None:
    candidates = [said(found(1), "a", "Ana Lopez"), said(found(2), "b", "Ben"), said(found(3), "c", "user"), found(4)]
    assert column("named", candidates, search(text="what did ana buy?")) == [1.0, -1.0, 0.0, 0.0]
    assert column("named", candidates, search(text="what did Ana and Ben buy?")) == [1.0, 1.0, 0.0, 0.0]
    assert column("named", candidates, search(text="what was bought?")) == [0.0, 0.0, 0.0, 0.0]


def test_the_text_is_looked_at_for_what_the_question_asks() -> None:
    candidates = [said(found(1), "It was last Friday"), said(found(2), "I have 3 cats"), said(found(3), "Who knows? ")]
    assert column("time", candidates, search(text="When was it?")) == [1.0, 0.0, 0.0]
    assert column("number", candidates, search(text="How many cats are there?")) == [0.0, 1.0, 0.0]
    assert column("time", candidates, search(text="How many?")) == [0.0, 0.0, 0.0]
    assert column("asks", candidates) == [0.0, 0.0, 1.0]
    assert column("length", candidates)[0] == round(log(19) - 5, 4)


def test_a_talk_with_an_assistant_has_weights_of_its_own() -> None:
    people = [said(found(1), "why?", "Ana"), said(found(2), "so", "Ben")]
    chat = [said(found(1), "why?", "user"), said(found(2), "so", "assistant")]
    assert column("chat_asks", people) == [0.0, 0.0]
    assert column("chat_asks", chat) == [1.0, 0.0]


def test_the_best_sum_has_the_score_one_and_others_fall_off() -> None:
    pool = stage("additive", [found(1, dense=0.5), found(2, dense=0.8)], dense=1.5)
    scores = {candidate.memory.row: candidate.score for candidate in pool.candidates}
    assert scores[2] == 1.0
    assert scores[1] == pytest.approx(exp(-4.5 / SOFTNESS), rel=1e-5)
    step = pool.candidates[0].steps[-1]
    assert (step.stage, step.before) == ("additive", 0.5)
    assert "dense -2.25" in step.why


def test_an_empty_pool_stays_empty() -> None:
    assert stage("additive", []).candidates == []
