"""The cross-encoder's stage: the arithmetic by hand, what is read, how deep, and what a failure leaves."""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import exp, log
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fivefold
from fivefold.engine import Engine
from fivefold.errors import ReaderError, StoreClosed
from fivefold.models.reader import PairReader, Remark, pair_reader
from fivefold.models.rerankers import Scores
from fivefold.retrieval.protocols import SHORT_STATEMENT, Pool, are_short, best_first, is_talk
from fivefold.retrieval.recipe import Recipe, recipe_data
from fivefold.retrieval.recipe_file import known_recipes, load_recipe, parse_recipe
from fivefold.retrieval.stages import reading as rerank
from fivefold.retrieval.stages.reading import (
    FIRST_DEPTH,
    MAX_ODDS,
    READ_TOGETHER,
    CrossEncoder,
    cross_encoder,
    log_odds,
)
from fivefold.retrieval.stages.terms import SOFTNESS
from fivefold.values.query import DemandKind
from fivefold.values.recall import Recall
from fivefold.values.recall_trace import Candidate, StageNote
from fivefold.values.vectors import Passage
from tests.retrieval.test_pipeline import lawful
from tests.support.judges import AWAY, Judge
from tests.support.rerank_service import Service, serving
from tests.support.stage_pool import Namespace, aged, demand, of, said, scores, search, stage
from tests.support.toy_engine import toy

# The reader in a recall: what it adds to the sums, whom it reads, and what happens without it.


@pytest.fixture
def verdicts(monkeypatch: pytest.MonkeyPatch) -> list[Remark]:
    """The log-odds 2, 1, 0 … in the order of reading, so that sums can be checked by hand; what was read is listed."""
    heard: list[Remark] = []

    def answers(self: PairReader, question: str, memories: Sequence[Remark]) -> np.ndarray:
        first = len(heard)
        heard.extend(memories)
        return np.array([2.0 - place for place in range(first, len(heard))], dtype=np.float32)

    monkeypatch.setattr(PairReader, "answers", answers)
    return heard


def test_what_is_read_adds_its_log_odds_to_the_sum_and_the_others_count_as_the_worst(verdicts: list[Remark]) -> None:
    pool = stage("reads", [of(1, 0.9), of(2, 0.8), of(3, 0.5)], depth=2, weight=0.5)
    sums = [SOFTNESS * log(0.9) + 1.0, SOFTNESS * log(0.8) + 0.5, SOFTNESS * log(0.5) + 0.5]
    expected = [exp((total - sums[0]) / SOFTNESS) for total in sums]
    assert [one.score for one in pool.candidates] == pytest.approx(expected)
    assert pool.answers == {1: 2.0, 2: 1.0}
    assert len(verdicts) == 2
    assert "it answers with 88%" in pool.candidates[0].steps[-1].why
    assert "not read" in pool.candidates[2].steps[-1].why
    assert pool.notes[-1].status == "done"


def test_a_memory_is_read_with_its_speaker(verdicts: list[Remark]) -> None:
    stage("reads", [said(of(1, 0.9), "tea at four", "Ana"), said(of(2, 0.8), "rain")])
    assert verdicts == [Remark("tea at four", "Ana"), Remark("rain", "")]


def test_a_verdict_counts_up_to_where_it_is_clear(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PairReader, "answers", lambda self, question, memories: np.array([40.0, -40.0]))
    assert stage("reads", [of(1, 0.9), of(2, 0.8)]).answers == {1: MAX_ODDS, 2: -MAX_ODDS}


def test_what_lacks_the_number_asked_for_gains_nothing_over_what_has_it(verdicts: list[Remark]) -> None:
    """The log-odds would be 2, 1 and 0; the first has no 7."""
    candidates = [said(of(1, 0.9), "room 3"), said(of(2, 0.8), "room 7"), said(of(3, 0.7), "a room")]
    assert stage("reads", candidates, search(text="who sleeps in room 7?")).answers == {1: 1.0, 2: 1.0, 3: 0.0}
    verdicts.clear()
    assert stage("reads", candidates, search(text="who sleeps in room 9?")).answers == {1: 2.0, 2: 1.0, 3: 0.0}


def test_it_reads_on_where_nothing_answers_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    verdicts = {"a": -1.0, "b": -0.5, "c": 3.0, "d": 1.0}
    monkeypatch.setattr(
        PairReader, "answers", lambda self, question, memories: np.array([verdicts[memory.text] for memory in memories])
    )
    candidates = [said(of(row, 0.9 - row / 10), text) for row, text in enumerate("abcd", 1)]
    assert stage("reads", candidates, depth=2, further=1).answers == {1: -1.0, 2: -0.5, 3: 3.0}
    assert stage("reads", candidates[1:], depth=2, further=1).answers == {2: -0.5, 3: 3.0}


def test_it_ends_where_no_memory_left_can_come_first(verdicts: list[Remark]) -> None:
    """As many scores that are near as are read together, and two far behind; the first answers with log-odds of 2."""
    near = range(1, READ_TOGETHER + 1)
    candidates = [*(of(row, 0.9 - row / 100) for row in near), of(READ_TOGETHER + 1, 0.2), of(READ_TOGETHER + 2, 0.1)]
    pool = stage("reads", candidates, depth=READ_TOGETHER + 2, weight=0.8, unread=1.0)
    assert list(pool.answers) == [*near]
    assert f"read the best {READ_TOGETHER}" in pool.notes[-1].why
    further = stage("reads", candidates, depth=READ_TOGETHER + 2, weight=0.8, unread=20.0)
    assert len(further.answers) == READ_TOGETHER + 2


@pytest.mark.parametrize("kind", ["list", "count"])
def test_it_reads_on_where_all_that_belongs_is_asked_for(verdicts: list[Remark], kind: DemandKind) -> None:
    candidates = [of(1, 0.9), of(2, 0.8), of(3, 0.7)]
    stage("reads", candidates, search(demands=[demand(kind)]), depth=2, further=1)
    assert len(verdicts) == 3


@pytest.mark.parametrize("kind", ["just now", "last time", "window"])
def test_nothing_is_read_if_turns_or_a_time_alone_decide(verdicts: list[Remark], kind: DemandKind) -> None:
    pool = stage("reads", [of(1, 0.5), of(2, 0.8)], search(demands=[demand(kind, decides=True)]), weight=3.0)
    assert (verdicts, scores(pool), pool.answers) == ([], {2: 0.8, 1: 0.5}, {})
    assert pool.notes[-1].status == "idle"
    assert "the question asks for" in pool.notes[-1].why


def test_a_window_with_a_subject_is_read(verdicts: list[Remark]) -> None:
    stage("reads", [of(1, 0.5), of(2, 0.8)], search(demands=[demand("window", decides=False)]))
    assert len(verdicts) == 2


@pytest.mark.parametrize(
    ("speaker", "length", "why"),
    [
        ("user", SHORT_STATEMENT, ""),
        (None, 10, ""),
        ("user", SHORT_STATEMENT + 1, "messages are long"),
        ("Assistant", 2_000, "messages are long"),
        ("Ana", 10, "people talk with each other"),
    ],
)
def test_talk_between_people_and_chats_of_long_messages_are_not_read(
    verdicts: list[Remark], speaker: str | None, length: int, why: str
) -> None:
    """Log-odds of 2 and 1 for scores of 0.8 and 0.5: if they are read, the second falls further behind."""
    pool = stage(
        "reads", [said(of(row, score), "x" * length, speaker) for row, score in ((1, 0.8), (2, 0.5))], weight=3.0
    )
    assert pool.answers == ({} if why else {1: 2.0, 2: 1.0})
    assert scores(pool) == pytest.approx({1: 0.8, 2: 0.5} if why else {1: 1.0, 2: 0.5 / 0.8 * exp(-3.0 / SOFTNESS)})
    assert why in pool.notes[-1].why


def test_in_talk_all_but_a_few_speakers_have_names_and_short_memories_are_short_on_average() -> None:
    """One user among forty people is an aside. Lengths of 10 and 600 are 305 on average; with one more of 10, 207."""
    short, long = said(of(1), "x" * 10, "Ana").memory, said(of(2), "x" * 2 * SHORT_STATEMENT, "user").memory
    assert [is_talk(some) for some in ([short], [short, long], [short] * 40 + [long], [])] == [True, False, True, False]
    assert [are_short(some) for some in ([short], [short, long], [short, short, long])] == [True, False, True]


def test_what_is_outdated_keeps_its_place_in_talk_between_people() -> None:
    people = [Candidate(replace(one.memory, speaker="Ana"), (), one.score) for one in STANDUP]
    asks = search(text="when is the standup?", demands=[demand("current")])
    assert scores(stage("reads", people, asks, overtaken=4.0)) == pytest.approx({1: 0.9, 2: 0.8, 3: 0.1})


STANDUP = (
    said(of(1, 0.9, event_at=aged(90)), "Our standup is at 9:45."),
    said(of(2, 0.8, event_at=aged(10)), "The standup has moved to 10:00, no more 9:45."),
    said(of(3, 0.1, event_at=aged(5)), "Bought apples."),
)


def test_for_the_present_a_newer_answer_passes_the_one_that_it_replaces() -> None:
    asks = search(text="when is the standup?", demands=[demand("current")])
    before = scores(stage("reads", STANDUP, asks, weight=0.0))
    pool = stage("reads", STANDUP, asks, weight=0.0, overtaken=4.0)
    assert before[1] > before[2]
    assert scores(pool)[2] > scores(pool)[1]
    older = next(one for one in pool.candidates if one.memory.row == 1)
    assert "another is of the right time" in older.steps[-1].why


def test_for_the_past_the_older_answer_passes_the_one_that_replaced_it() -> None:
    newest_first = [Candidate(STANDUP[0].memory, (), 0.8), Candidate(STANDUP[1].memory, (), 0.9)]
    asks = search(text="when was the standup before?", demands=[demand("past")])
    found = scores(stage("reads", newest_first, asks, weight=0.0, overtaken=4.0))
    assert found[1] > found[2]


def test_without_a_demand_for_a_state_and_in_lists_nothing_is_overtaken() -> None:
    for demands in ([], [demand("current"), demand("list")]):
        asks = search(text="when is the standup?", demands=demands)
        found = scores(stage("reads", STANDUP, asks, weight=0.0, overtaken=4.0))
        assert found[1] > found[2]


def test_nothing_is_read_where_nothing_was_found(verdicts: list[Remark]) -> None:
    pool = stage("reads", [])
    assert (pool.candidates, pool.notes, verdicts) == ([], (), [])


def test_without_its_model_the_order_stays_and_a_note_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: PairReader, question: str, memories: Sequence[Remark]) -> np.ndarray:
        raise ReaderError("the file is gone")

    monkeypatch.setattr(PairReader, "answers", fail)
    pool = stage("reads", [of(1, 0.9), of(2, 0.8)])
    assert [one.score for one in pool.candidates] == [0.9, 0.8]
    assert (pool.notes[-1].status, pool.notes[-1].why) == ("failed", "the file is gone")


def test_the_model_knows_an_answer_from_what_only_sounds_alike() -> None:
    question = "what is the door code of the studio?"
    texts = ["The door code of the studio is 4417.", "We painted the door of the studio green.", "Lunch was late."]
    odds = pair_reader().answers(question, [Remark(text) for text in texts])
    assert odds.argmax() == 0
    assert odds[0] > 0 > odds[2]


def test_of_a_long_text_the_passage_nearest_to_the_question_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    read = PairReader.answers
    heard: list[str] = []

    def listen(self: PairReader, question: str, memories: Sequence[Remark]) -> np.ndarray:
        heard.extend(memory.text for memory in memories)
        return read(self, question, memories)

    monkeypatch.setattr(PairReader, "answers", listen)
    with fivefold.open(":memory:") as engine:
        filler = " ".join(f"On day {day} we talked about the weather and walked along the river." for day in range(80))
        engine.remember(f"{filler} The alarm of the workshop is switched off with 9071. {filler}")
        engine.remember_many(f"The workshop was open on day {day}." for day in range(40))
        engine.recall("how do I switch off the alarm of the workshop?")
    (passage,) = (text for text in heard if "9071" in text)
    assert len(passage) < len(filler)


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """No scores and no pace of other tests."""
    monkeypatch.setattr(rerank, "SCORES", Scores())
    monkeypatch.setattr(rerank, "_PACE", {})
    monkeypatch.setattr(rerank, "_WARM", set())


@pytest.fixture
def judge(monkeypatch: pytest.MonkeyPatch) -> Judge:
    made = Judge()
    monkeypatch.setattr(rerank, "reranker", lambda choice: made)
    return made


def judged(row: int, fused: float, answers: float) -> Any:
    """A candidate whose text says how well it answers."""
    return of(row, fused, content=f"memory {row} @{answers:.3f}")


def reranked(name: str, **constants: object) -> Recipe:
    """A built-in recipe with a cross-encoder put in."""
    rerank = [{"name": "cross_encoder", **constants}]
    return parse_recipe(f"{name}-reranked", {**recipe_data(load_recipe(name)), "rerank": rerank})


PLAIN = parse_recipe("plain", {**recipe_data(load_recipe("default")), "rerank": []})
"""The default recipe with nothing reranked."""


# The arithmetic


def test_the_score_by_hand(judge: Judge) -> None:
    # Fused 4, 3 and 2 stretched are 1, 0.5 and 0; the odds of 0.2, 0.8 and 0.5 are 1 to 4, 4 to 1 and even.
    pool = stage("cross_encoder", [judged(1, 4.0, 0.2), judged(2, 3.0, 0.8), judged(3, 2.0, 0.5)], weight=0.4)
    assert scores(pool) == pytest.approx({1: 1 - 0.4 * math.log(4), 2: 0.5 + 0.4 * math.log(4), 3: 0.0})
    assert [candidate.memory.row for candidate in best_first(pool.candidates)] == [2, 1, 3]
    step = next(candidate for candidate in pool.candidates if candidate.memory.row == 2).steps[-1]
    assert (step.stage, step.before) == ("cross-encoder", 3.0)
    assert (
        step.why == "(3.0000 − 2.0000) / 2.0000 = 0.5000 fused + 0.4 · 1.3863, the log-odds of 0.8000 that it answers"
    )
    assert pool.notes == (
        StageNote("cross-encoder", "done", "read the best 3, 3 of them for the first time", "judge@1"),
    )


def test_all_of_one_fused_score_are_ordered_by_the_judge(judge: Judge) -> None:
    pool = stage("cross_encoder", [judged(1, 2.0, 0.2), judged(2, 2.0, 0.8)], weight=1.0)
    assert scores(pool) == pytest.approx({1: 1 - math.log(4), 2: 1 + math.log(4)})


def test_no_weight_is_the_fused_order_and_a_great_one_the_judges(judge: Judge) -> None:
    given = [judged(1, 2.0, 0.1), judged(2, 1.0, 0.9)]
    assert scores(stage("cross_encoder", given, weight=0.0)) == {1: 1.0, 2: 0.0}
    great = stage("cross_encoder", given, weight=100.0).candidates
    assert [candidate.memory.row for candidate in best_first(great)] == [2, 1]


def test_what_is_not_read_counts_as_the_worst_that_was(judge: Judge) -> None:
    # Fused 5, 4, 3, 1 stretched are 1, 0.75, 0.5, 0; two are read, the worse of them at odds of 1 to 4.
    given = [judged(1, 5.0, 0.8), judged(2, 4.0, 0.2), judged(3, 3.0, 0.999), judged(4, 1.0, 0.999)]
    pool = stage("cross_encoder", given, depth=2, weight=0.1)
    less = 0.1 * math.log(4)
    assert scores(pool) == pytest.approx({1: 1 + less, 2: 0.75 - less, 3: 0.5 - less, 4: -less})
    assert len(judge.asked[0][1]) == 2
    assert (
        pool.candidates[2].steps[-1].why
        == "(3.0000 − 1.0000) / 4.0000 = 0.5000 fused + 0.1 · -1.3863, not read and so as the worst that was"
    )


@pytest.mark.parametrize("score", [0.0, 1.0, 1e-12, 1 - 1e-12, 0.5])
def test_log_odds_are_finite_and_fair(score: float) -> None:
    assert log_odds(score) == pytest.approx(-log_odds(1 - score), abs=1e-6)
    assert abs(log_odds(score)) < 14


@settings(max_examples=100, deadline=None)
@given(
    fused=st.lists(st.floats(0, 10), min_size=1, max_size=30),
    depth=st.integers(1, 30),
    weight=st.floats(0, 5),
    seed=st.integers(0, 999),
)
def test_what_was_not_read_never_comes_before_what_was(
    fused: list[float], depth: int, weight: float, seed: int
) -> None:
    candidates = [judged(i, score, (i * 37 + seed) % 1000 / 1000) for i, score in enumerate(fused)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rerank, "reranker", lambda choice: Judge())
        patch.setattr(rerank, "SCORES", Scores())
        pool = cross_encoder(Pool(candidates), search(), CrossEncoder(depth=depth, weight=weight, budget_ms=0))
    read = {candidate.memory.row for candidate in best_first(candidates)[:depth]}
    least = min(candidate.score for candidate in pool.candidates if candidate.memory.row in read)
    assert all(candidate.score <= least for candidate in pool.candidates if candidate.memory.row not in read)
    assert {candidate.memory.id for candidate in pool.candidates} == {candidate.memory.id for candidate in candidates}


# What is read


def test_a_memory_is_read_as_it_was_told_with_the_turn_before_it(judge: Judge) -> None:
    talk = Namespace(turns={"s": [7, 8, 9]})
    given = [of(8, 2.0, content="green", speaker="Mia", kind="turn", session_id="s"), of(3, 1.0, content="a note")]
    stage("cross_encoder", given, search(talk, text="which tea?"), timeout_ms=1_500)
    question, passages, seconds = judge.asked[0]
    assert (question, seconds) == ("which tea?", 1.5)
    assert passages == [Passage("Mia (1 June 2025): green", "memory 7"), Passage("1 June 2025 a note")]


def test_the_turn_before_is_left_out_where_the_recipe_says_so(judge: Judge) -> None:
    given = [of(8, 2.0, content="green", kind="turn", session_id="s")]
    stage("cross_encoder", given, search(Namespace(turns={"s": [7, 8]})), before=False)
    assert judge.asked[0][1] == [Passage("1 June 2025 green")]


def test_nothing_is_read_of_an_empty_pool(judge: Judge) -> None:
    assert stage("cross_encoder", []) == Pool([])
    assert judge.asked == []


def test_what_was_read_for_the_same_question_is_not_read_again(judge: Judge) -> None:
    given = [judged(1, 2.0, 0.1), judged(2, 1.0, 0.9)]
    first, second = (stage("cross_encoder", given) for _ in range(2))
    assert scores(first) == scores(second)
    assert second.notes[0].why == "read the best 2, 0 of them for the first time"
    changed = stage("cross_encoder", [given[0], judged(2, 1.0, 0.3)])
    assert changed.notes[0].why == "read the best 2, 1 of them for the first time"


# How deep


def many(count: int = 60) -> list[Any]:
    return [judged(i, 100.0 - i, 0.5) for i in range(count)]


@pytest.mark.parametrize(
    ("pace", "budget", "depth"), [(2.0, 60.0, 30), (2.0, 30.0, 15), (6.0, 60.0, 10), (100.0, 60.0, 1), (0.1, 60.0, 40)]
)
def test_the_depth_is_what_the_budget_allows_at_the_pace_seen(
    judge: Judge, monkeypatch: pytest.MonkeyPatch, pace: float, budget: float, depth: int
) -> None:
    monkeypatch.setattr(rerank, "_PACE", {"judge@1": pace})
    stage("cross_encoder", many(), depth=40, budget_ms=budget)
    assert len(judge.asked[0][1]) == depth


def test_before_the_pace_is_known_few_are_read_and_without_a_budget_all(judge: Judge) -> None:
    stage("cross_encoder", many(), depth=40, budget_ms=60)
    stage("cross_encoder", many(), search(text="another"), depth=40, budget_ms=0)
    assert [len(passages) for _, passages, _ in judge.asked] == [FIRST_DEPTH, 40]


def test_loading_a_model_says_nothing_about_its_pace() -> None:
    rerank._learn_pace("slow to load", 10, 5_000.0)
    assert "slow to load" not in rerank._PACE
    rerank._learn_pace("slow to load", 10, 20.0)
    assert rerank._PACE["slow to load"] == pytest.approx(2.0)
    rerank._learn_pace("slow to load", 0, 900.0)
    assert rerank._PACE["slow to load"] == pytest.approx(2.0)


def test_one_slow_moment_does_not_last() -> None:
    """However shallow a slow moment has made the reading, what follows makes it deep again."""
    by = CrossEncoder(depth=20, budget_ms=60)
    for _ in range(2):
        rerank._learn_pace("m", 10, 20.0)
    rerank._learn_pace("m", 10, 3_000.0)
    assert rerank._depth("m", by) < 2
    for _ in range(200):
        depth = rerank._depth("m", by)
        rerank._learn_pace("m", depth, 2.0 * depth)
    assert rerank._depth("m", by) == 20


# A failure leaves the order


@pytest.mark.parametrize("error", [AWAY, ValueError("odd"), RuntimeError("no memory"), ZeroDivisionError("by design")])
def test_a_failure_leaves_the_fused_order_and_is_named(judge: Judge, error: Exception) -> None:
    judge.error = error
    given = [judged(1, 3.0, 0.0), judged(2, 2.0, 1.0)]
    pool = stage("cross_encoder", given)
    assert pool.candidates == given
    assert pool.notes == (StageNote("cross-encoder", "failed", f"{type(error).__name__}: {error}", "local"),)


def test_an_unexpected_failure_is_logged(judge: Judge, caplog: pytest.LogCaptureFixture) -> None:
    judge.error = RuntimeError("no memory")
    with caplog.at_level(logging.WARNING, "fivefold"):
        stage("cross_encoder", [judged(1, 3.0, 0.0)])
    assert "reranking failed: no memory" in caplog.text


def test_a_store_that_closes_meanwhile_says_so(judge: Judge) -> None:
    judge.error = StoreClosed("the engine is closed")
    with pytest.raises(StoreClosed):
        stage("cross_encoder", [judged(1, 3.0, 0.0)])


TOLD = [f"remark number {i} about tea 0.{i:02}" for i in range(30)]


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    with serving("results") as made:
        monkeypatch.setenv("JINA_BASE_URL", made.url)
        monkeypatch.setenv("JINA_API_KEY", "local-key")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        yield made


@pytest.fixture
def stocked(store_path: str) -> Iterator[Engine]:
    with toy(store_path) as engine:
        engine.remember_many(TOLD)
        yield engine


def hosted(stocked: Engine, **constants: object) -> Recall:
    answer = stocked.recall("tea?", recipe=reranked("default", model="jina:small", budget_ms=0, **constants))
    lawful(answer)
    return answer


def order(answer: Recall) -> list[str]:
    return [hit.memory.content for hit in answer]


def test_a_hosted_reranker_orders_the_answer(stocked: Engine, service: Service) -> None:
    answer = hosted(stocked, depth=30, weight=100.0)
    assert order(answer) == TOLD[:-11:-1]
    assert (answer.degraded, answer.notes[0].model) == ((), "jina:small")
    assert "jina:small  read the best 30, 30 of them for the first time" in answer.explain()


def test_a_service_that_refuses_leaves_the_fused_order(stocked: Engine, service: Service) -> None:
    plain = stocked.recall("tea?", recipe=PLAIN)
    service.failures = [(401, "bad key")]
    answer = hosted(stocked, depth=30, weight=100.0)
    assert order(answer) == order(plain)
    assert answer.degraded == ("cross-encoder",)
    assert "HTTP 401: bad key" in answer.notes[0].why
    assert answer.to_dict()["notes"][0]["status"] == "failed"


def test_a_service_that_is_late_leaves_the_fused_order(stocked: Engine, service: Service) -> None:
    plain = stocked.recall("tea?", recipe=PLAIN)
    service.wait = True
    answer = hosted(stocked, depth=30, weight=100.0, timeout_ms=200)
    assert order(answer) == order(plain)
    assert answer.degraded == ("cross-encoder",)
    assert "ReadTimeout" in answer.notes[0].why


@pytest.mark.parametrize(
    ("model", "why"),
    [
        ("fastembed:some/model", r"MissingExtra: .*fivefold\[fastembed\]"),
        ("nothing", "InvalidInput: unknown reranker 'nothing'"),
    ],
)
def test_a_model_that_is_not_there_leaves_the_fused_order(stocked: Engine, model: str, why: str) -> None:
    plain = stocked.recall("tea?", recipe=PLAIN)
    answer = stocked.recall("tea?", recipe=reranked("default", model=model))
    assert order(answer) == order(plain)
    assert answer.degraded == ("cross-encoder",)
    assert re.match(why, answer.notes[0].why)


# The law, whatever the recipe


@pytest.mark.parametrize("name", known_recipes())
def test_the_parts_add_up_in_every_recipe(sample_engine: Engine, judge: Judge, name: str) -> None:
    recipe = reranked(name, depth=15)
    for question in ("what's my badge ID?", "who works on the Kestrel?", "where do I live now?"):
        answer = sample_engine.recall(question, recipe=recipe, now="2025-12-20T09:00:00Z")
        lawful(answer)
        assert not answer.degraded
        assert [note.stage for note in answer.notes if note.model] == ["cross-encoder"]
        found = [hit.candidate for hit in answer if hit.candidate.evidence]  # others stand for what they replaced
        assert all("cross-encoder" in {step.stage for step in candidate.steps} for candidate in found)


def test_our_own_model_answers_plain_questions_first(store_path: str) -> None:
    told = {
        "badge": "My badge ID is E-47821",
        "lost": "I lost my badge at the station",
        "tea": "I prefer green tea",
        "ill": "Priya was ill last week",
        "move": "Priya moved to Lisbon in May",
    }
    with fivefold.open(store_path) as engine:
        engine.remember_many([{"id": id, "content": text} for id, text in told.items()])
        recipe = reranked("default", budget_ms=0)
        for question, wanted in (("Where does Priya live now?", "move"), ("what's the number on my badge?", "badge")):
            answer = engine.recall(question, recipe=recipe)
            lawful(answer)
            assert answer[0].memory.id == wanted
            assert (answer.degraded, answer.notes[0].model) == ((), "local@1")


def test_alone_its_score_is_the_score_and_what_was_not_read_stays_below(judge: Judge) -> None:
    # Fused 5, 4, 3, 1 stretched are 1, 0.75, 0.5, 0; the worst that was read has 0.2.
    given = [judged(1, 5.0, 0.8), judged(2, 4.0, 0.2), judged(3, 3.0, 0.999), judged(4, 1.0, 0.999)]
    pool = stage("cross_encoder", given, depth=2, alone=True)
    assert scores(pool) == pytest.approx({1: 0.8, 2: 0.2, 3: 0.1, 4: 0.0})
