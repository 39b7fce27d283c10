"""The reader in a recall: what it adds to the sums, whom it reads, and what happens without it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import exp, log

import numpy as np
import pytest

import fivefold
from fivefold.errors import ReaderError
from fivefold.models.reader import PairReader, Said, pair_reader
from fivefold.retrieval.stages.additive import SOFTNESS
from fivefold.retrieval.stages.base import SHORT_STATEMENT, are_short, is_talk
from fivefold.retrieval.stages.reads import AT_A_TIME, CLEAR
from fivefold.values.query import DemandKind
from fivefold.values.recall_trace import Candidate
from tests.support.stage_pool import aged, demand, of, said, scores, search, stage


@pytest.fixture
def verdicts(monkeypatch: pytest.MonkeyPatch) -> list[Said]:
    """The log-odds 2, 1, 0 … in the order of reading, so that sums can be checked by hand; what was read is listed."""
    heard: list[Said] = []

    def answers(self: PairReader, question: str, memories: Sequence[Said]) -> np.ndarray:
        heard.extend(memories)
        return np.array([2.0 - place for place in range(len(memories))], dtype=np.float32)

    monkeypatch.setattr(PairReader, "answers", answers)
    return heard


def test_what_is_read_adds_its_log_odds_to_the_sum_and_the_others_count_as_the_worst(verdicts: list[Said]) -> None:
    pool = stage("reads", [of(1, 0.9), of(2, 0.8), of(3, 0.5)], depth=2, weight=0.5)
    sums = [SOFTNESS * log(0.9) + 1.0, SOFTNESS * log(0.8) + 0.5, SOFTNESS * log(0.5) + 0.5]
    expected = [exp((total - sums[0]) / SOFTNESS) for total in sums]
    assert [one.score for one in pool.candidates] == pytest.approx(expected)
    assert pool.answers == {1: 2.0, 2: 1.0}
    assert len(verdicts) == 2
    assert "it answers with 88%" in pool.candidates[0].steps[-1].why
    assert "not read" in pool.candidates[2].steps[-1].why
    assert pool.notes[-1].status == "done"


def test_a_memory_is_read_with_its_speaker(verdicts: list[Said]) -> None:
    stage("reads", [said(of(1, 0.9), "tea at four", "Ana"), said(of(2, 0.8), "rain")])
    assert verdicts == [Said("tea at four", "Ana"), Said("rain", "")]


def test_a_verdict_counts_up_to_where_it_is_clear(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PairReader, "answers", lambda self, question, memories: np.array([40.0, -40.0]))
    assert stage("reads", [of(1, 0.9), of(2, 0.8)]).answers == {1: CLEAR, 2: -CLEAR}


def test_what_lacks_the_number_asked_for_gains_nothing_over_what_has_it(verdicts: list[Said]) -> None:
    """The log-odds would be 2, 1 and 0; the first has no 7."""
    candidates = [said(of(1, 0.9), "room 3"), said(of(2, 0.8), "room 7"), said(of(3, 0.7), "a room")]
    assert stage("reads", candidates, search(text="who sleeps in room 7?")).answers == {1: 1.0, 2: 1.0, 3: 0.0}
    assert stage("reads", candidates, search(text="who sleeps in room 9?")).answers == {1: 2.0, 2: 1.0, 3: 0.0}


def test_it_reads_on_where_nothing_answers_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    verdicts = {"a": -1.0, "b": -0.5, "c": 3.0, "d": 1.0}
    monkeypatch.setattr(
        PairReader, "answers", lambda self, question, memories: np.array([verdicts[memory.text] for memory in memories])
    )
    candidates = [said(of(row, 0.9 - row / 10), text) for row, text in enumerate("abcd", 1)]
    assert stage("reads", candidates, depth=2, further=1).answers == {1: -1.0, 2: -0.5, 3: 3.0}
    assert stage("reads", candidates[1:], depth=2, further=1).answers == {2: -0.5, 3: 3.0}


def test_it_ends_where_no_memory_left_can_come_first(verdicts: list[Said]) -> None:
    """As many scores that are near as are read together, and two far behind; the first answers with log-odds of 2."""
    near = range(1, AT_A_TIME + 1)
    candidates = [*(of(row, 0.9 - row / 100) for row in near), of(AT_A_TIME + 1, 0.2), of(AT_A_TIME + 2, 0.1)]
    pool = stage("reads", candidates, depth=AT_A_TIME + 2, weight=0.8, unread=1.0)
    assert list(pool.answers) == [*near]
    assert f"read the best {AT_A_TIME}" in pool.notes[-1].why
    assert len(stage("reads", candidates, depth=AT_A_TIME + 2, weight=0.8, unread=20.0).answers) == AT_A_TIME + 2


@pytest.mark.parametrize("kind", ["list", "count"])
def test_it_reads_on_where_all_that_belongs_is_asked_for(verdicts: list[Said], kind: DemandKind) -> None:
    candidates = [of(1, 0.9), of(2, 0.8), of(3, 0.7)]
    stage("reads", candidates, search(demands=[demand(kind)]), depth=2, further=1)
    assert len(verdicts) == 3


@pytest.mark.parametrize("kind", ["just now", "last time"])
def test_the_order_of_the_turns_that_are_asked_for_stays(verdicts: list[Said], kind: DemandKind) -> None:
    pool = stage("reads", [of(1, 0.5), of(2, 0.8)], search(demands=[demand(kind)]), weight=3.0)
    assert scores(pool) == pytest.approx({2: 1.0, 1: 0.5 / 0.8})


@pytest.mark.parametrize(
    ("speaker", "length", "stays"),
    [
        ("user", SHORT_STATEMENT, False),
        (None, 10, False),
        ("user", SHORT_STATEMENT + 1, True),
        ("Assistant", 2_000, True),
        ("Ana", 10, True),
    ],
)
def test_talk_between_people_and_chats_of_long_messages_are_judged_but_keep_their_order(
    verdicts: list[Said], speaker: str | None, length: int, stays: bool
) -> None:
    """Log-odds of 2 and 1 for scores of 0.8 and 0.5: with a weight, the second falls further behind."""
    pool = stage(
        "reads", [said(of(row, score), "x" * length, speaker) for row, score in ((1, 0.8), (2, 0.5))], weight=3.0
    )
    assert pool.answers == {1: 2.0, 2: 1.0}
    assert scores(pool) == pytest.approx({1: 1.0, 2: 0.5 / 0.8 * (1.0 if stays else exp(-3.0 / SOFTNESS))})


def test_talk_has_names_for_most_speakers_and_short_memories_are_short_on_average() -> None:
    """Lengths of 10 and 600 are 305 on average; one more of 10 makes it 207."""
    short, long = said(of(1), "x" * 10, "Ana").memory, said(of(2), "x" * 2 * SHORT_STATEMENT, "user").memory
    assert [is_talk(some) for some in ([short], [short, long], [short, short, long], [])] == [True, False, True, False]
    assert [are_short(some) for some in ([short], [short, long], [short, short, long])] == [True, False, True]


def test_what_is_outdated_keeps_its_place_in_talk_between_people() -> None:
    people = [Candidate(replace(one.memory, speaker="Ana"), (), one.score) for one in STANDUP]
    asks = search(text="when is the standup?", demands=[demand("current")])
    assert scores(stage("reads", people, asks, overtaken=4.0)) == pytest.approx({1: 1.0, 2: 0.8 / 0.9, 3: 0.1 / 0.9})


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


def test_nothing_is_read_where_nothing_was_found(verdicts: list[Said]) -> None:
    pool = stage("reads", [])
    assert (pool.candidates, pool.notes, verdicts) == ([], (), [])


def test_without_its_model_the_order_stays_and_a_note_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: PairReader, question: str, memories: Sequence[Said]) -> np.ndarray:
        raise ReaderError("the file is gone")

    monkeypatch.setattr(PairReader, "answers", fail)
    pool = stage("reads", [of(1, 0.9), of(2, 0.8)])
    assert [one.score for one in pool.candidates] == [0.9, 0.8]
    assert (pool.notes[-1].status, pool.notes[-1].why) == ("failed", "the file is gone")


def test_the_model_knows_an_answer_from_what_only_sounds_alike() -> None:
    question = "what is the door code of the studio?"
    texts = ["The door code of the studio is 4417.", "We painted the door of the studio green.", "Lunch was late."]
    odds = pair_reader().answers(question, [Said(text) for text in texts])
    assert odds.argmax() == 0
    assert odds[0] > 0 > odds[2]


def test_of_a_long_text_the_passage_nearest_to_the_question_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    read = PairReader.answers
    heard: list[str] = []

    def listen(self: PairReader, question: str, memories: Sequence[Said]) -> np.ndarray:
        heard.extend(memory.text for memory in memories)
        return read(self, question, memories)

    monkeypatch.setattr(PairReader, "answers", listen)
    with fivefold.open(":memory:") as engine:
        filler = " ".join(f"On day {day} we talked about the weather and walked along the river." for day in range(80))
        engine.remember(f"{filler} The alarm of the workshop is switched off with 9071. {filler}")
        engine.recall("how do I switch off the alarm of the workshop?")
    assert "9071" in heard[0]
    assert len(heard[0]) < len(filler)
