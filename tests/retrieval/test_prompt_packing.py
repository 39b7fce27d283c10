"""What comes into a block: as much as its budget holds, the best first, nothing twice, something for each part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import fivefold
from fivefold.engine import Engine
from fivefold.retrieval.prompt import MAX_HITS, MIN_HITS, Context, compose, hits_for
from fivefold.retrieval.routes.standing import STANDING
from fivefold.text.passages import tokens
from fivefold.values.recall import Hit, Recall
from fivefold.values.recall_trace import Evidence
from tests.conformance.store_pair import NOW
from tests.conformance.vectors import WordVectors
from tests.support.hostile import assert_fenced

SENTENCES = (
    "Tea is in the tin behind the flour.",
    "The tea house on the hill opens at nine, and the path to it is steep in winter.",
    "Green tea.",
    "We had tea with Carla on the balcony. It rained.",
    "1. Warm the pot.\n2. Add the tea.\n3. Wait.",
    "I think that the tea from the shop at the corner, which Tom brought from his journey along the coast last spring "
    "together with a lot of other things that nobody needed, was the best that we ever had in this house.",
    "お茶は台所にあります。毎朝飲みます。",
    "TEA-4711 arrived on 12 May, TEA-4712 did not.",
)
WORK = "The build of the office wing is late again, and nobody knows which of the two firms will pay for that. " * 4


@pytest.fixture
def engine() -> Iterator[Engine]:
    with fivefold.open(":memory:", embedder=WordVectors()) as opened:
        opened.configure(find_changes=False, find_repeats=False)
        yield opened


@pytest.fixture(scope="module")
def life() -> Iterator[Engine]:
    """A few statements between long messages about something else, with the default embedder."""
    told = [
        ("user", "leeds", "I live in Leeds, near the canal."),
        ("user", "ana", "My sister Ana plays the violin in an orchestra."),
        ("assistant", "echo", "Your sister Ana plays the violin in an orchestra."),
        ("user", "tom", "My brother Tom repairs old clocks."),
        ("user", "key", f"{WORK}By the way, the spare key is under the flower pot."),
        ("user", "bristol", "I live in Bristol now, near the harbour."),
        ("user", "wish", f"{WORK}Please always answer in short sentences. {WORK}"),
        *((speaker, f"work{i}", f"{i}: {WORK * 3}") for i, speaker in enumerate(("user", "assistant") * 4)),
    ]
    with fivefold.open(":memory:") as opened:
        opened.remember_many(
            {"id": id, "speaker": speaker, "content": text, "event_at": NOW - timedelta(days=60 - i)}
            for i, (speaker, id, text) in enumerate(told)
        )
        yield opened


def ids(block: Context) -> set[str]:
    return {source.id for source in block.sources}


# the budget


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    told=st.lists(
        st.tuples(st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=30), st.sampled_from((None, "assistant"))),
        min_size=1,
        max_size=25,
    ),
    budget=st.integers(400, 3_000),
    recent=st.integers(0, 4),
)
def test_a_block_uses_its_budget_if_there_is_more_to_say(
    told: list[tuple[list[str], str | None]], budget: int, recent: int
) -> None:
    with fivefold.open(":memory:", embedder=WordVectors()) as engine:
        engine.configure(find_changes=False, find_repeats=False)
        engine.remember_many(
            {"content": f"{i}. {' '.join(text)}", "speaker": who, "session_id": f"s{i % 4}", "event_at": NOW}
            for i, (text, who) in enumerate(told)
        )
        answer = engine.recall("Where is the tea?", hits_for(budget), recipe="lexical", now=NOW, recent_turns=recent)
    block, again = (compose(answer, budget, tokens) for _ in range(2))
    assert block == again, "the same recall gives the same block"
    assert block.tokens == tokens(block.text) <= budget
    if block.sources:
        assert_fenced(block.text)
    more = any("no room" in cut.why for cut in block.cut) or any(source.shortened for source in block.sources)
    assert not more or block.tokens >= 0.9 * budget


@pytest.mark.parametrize("budget", [200, 300, 600, 1_200, 2_500])
@pytest.mark.parametrize("question", ["Where do I live?", "What is late in the office?", "Suggest a present for Ana"])
def test_a_block_of_long_messages_is_full(life: Engine, question: str, budget: int) -> None:
    block = life.context(question, token_budget=budget, now=NOW, overrides={"select.chance.found": 0.0})
    assert 0.9 * budget <= block.tokens <= budget
    assert (
        life.context(question, token_budget=budget, now=NOW, overrides={"select.chance.found": 0.0}).text == block.text
    )


def test_a_larger_budget_has_use_for_more_memories() -> None:
    counts = [hits_for(budget) for budget in (1, 100, 300, 1_000, 2_500, 1_000_000)]
    assert counts == sorted(counts)
    assert (counts[0], counts[-1]) == (MIN_HITS, MAX_HITS)


def test_as_many_come_as_fit_or_at_most_k(engine: Engine) -> None:
    engine.remember_many([{"content": f"tea number {i}", "event_at": NOW} for i in range(30)])
    many = engine.context("tea", token_budget=2_000, recipe="lexical", now=NOW)
    few = engine.context("tea", 4, token_budget=2_000, recipe="lexical", now=NOW)
    assert [len(block.sources) for block in (many, few)] == [30, 4]


# what comes


def test_an_answer_that_repeats_the_user_is_left_out_and_said_so(life: Engine) -> None:
    block = life.context("What does my sister Ana play?", token_budget=2_000, now=NOW)
    assert "ana" in ids(block)
    assert [cut.ids for cut in block.cut if cut.why == "says what another source says"] == [("echo",)]
    assert block.text.count("plays the violin") == 1


def test_the_original_has_the_place_of_its_echo(engine: Engine) -> None:
    engine.remember_many(
        [
            {"content": "The tea is in the blue tin", "speaker": "assistant", "id": "echo", "event_at": NOW},
            {"content": "the tea is in the blue tin!", "speaker": "user", "id": "said", "event_at": NOW},
            *({"content": f"tea {i} {'with milk ' * 20}", "speaker": "user", "event_at": NOW} for i in range(9)),
        ]
    )
    answer = engine.recall("tea", 11, recipe="lexical", now=NOW)
    found = {hit.memory.id: hit for hit in answer}
    others = [hit for id, hit in found.items() if id not in ("echo", "said")]
    block = compose(replace(answer, hits=(found["echo"], *others, found["said"])), 100, tokens)
    assert "said" in ids(block)
    assert "echo" in {id for cut in block.cut for id in cut.ids}


@pytest.mark.parametrize(
    ("user", "assistant"),
    [
        (
            "The train to Berlin leaves at 9 from the main station",
            "The train to Berlin leaves at 10 from the main station",
        ),
        ("I like green tea", "Green tea has caffeine, as black tea has, and you can brew it twice"),
        ("👍", "🎉"),
    ],
)
def test_an_answer_that_says_something_else_stays(engine: Engine, user: str, assistant: str) -> None:
    engine.remember(user, speaker="user", event_at=NOW)
    engine.remember(assistant, speaker="assistant", event_at=NOW)
    answer = engine.recall(f"{user} {assistant}", recipe="dense", now=NOW)
    assert len(compose(answer, 1_000, tokens).sources) == 2


@pytest.mark.parametrize("budget", [110, 300, 2_000])
def test_both_values_of_a_changed_fact_come_and_the_older_names_the_newer(life: Engine, budget: int) -> None:
    block = life.context("Where do I live?", token_budget=budget, now=NOW)
    number = {source.id: source.number for source in block.sources}
    assert {"leeds", "bristol"} <= set(number)
    assert f"[{number['leeds']}] user (superseded by [{number['bristol']}]): I live in Leeds" in block.text
    assert f"[{number['bristol']}] user: I live in Bristol now" in block.text


def test_where_one_value_of_a_changed_fact_fits_it_is_the_newer(engine: Engine) -> None:
    engine.remember("the best tea is the one from the market", id="first", event_at=NOW)
    old = engine.remember("my tea tin is red", id="old", event_at=NOW - timedelta(days=9)).id
    assert old is not None
    engine.supersede(old, {"content": "the tin got green paint and is full of tea", "id": "new", "event_at": NOW})
    answer = engine.recall("tea", recipe="lexical", now=NOW)
    found = {hit.memory.id: hit for hit in answer}
    ordered = replace(answer, hits=tuple(found[id] for id in ("first", "old", "new")))
    blocks = [compose(ordered, budget, tokens) for budget in range(50, 130)]
    assert all("new" in ids(block) for block in blocks if "old" in ids(block))
    assert {len(block.sources) for block in blocks} == {1, 2, 3}


@pytest.mark.parametrize("budget", [120, 400])
def test_each_part_of_a_question_has_a_memory(life: Engine, budget: int) -> None:
    question = "Where do I live and what does my brother Tom repair?"
    assert len(life.understand(question).parts) == 2
    block = life.context(question, token_budget=budget, now=NOW, overrides={"select.chance.found": 0.0})
    assert {"bristol", "tom"} <= ids(block)


@pytest.mark.parametrize("budget", [150, 300, 1_000])
def test_a_remark_at_the_end_of_a_long_message_is_in_its_excerpt(life: Engine, budget: int) -> None:
    block = life.context("Where is the spare key?", token_budget=budget, now=NOW)
    (source,) = [source for source in block.sources if source.id == "key"]
    assert source.content.startswith("… ") or budget == 1_000
    assert source.content.endswith("By the way, the spare key is under the flower pot.")


# standing wishes


def with_standing(answer: Recall, standing: Sequence[str]) -> Recall:
    """The recall as if the route of standing wishes had found these memories."""

    def marked(hit: Hit) -> Hit:
        if hit.memory.id not in standing:
            return hit
        evidence = (*hit.candidate.evidence, Evidence(STANDING, 1, 0.5, 1.0, 0.1, "by hand"))
        return replace(hit, candidate=replace(hit.candidate, evidence=evidence))

    return replace(answer, hits=tuple(map(marked, answer)), found=True)


def test_standing_wishes_have_a_section_of_their_own(life: Engine) -> None:
    answer = with_standing(life.recall("Write a note to Ana", 15, now=NOW), ["wish"])
    block = compose(answer, 900, tokens)
    assert {source.id for source in block.sources if source.standing} == {"wish"}
    head, _, memories = block.text.partition("\nMemories, oldest first")
    assert "\nStanding wishes of the user that may apply:\n" in head
    assert "Please always answer in short sentences." in head, "the sentence that states the wish"
    assert "ana" in {source.id for source in block.sources if not source.standing}
    assert "short sentences" not in memories
    assert_fenced(block.text)


def test_standing_wishes_take_no_more_than_their_share_from_others(engine: Engine) -> None:
    wishes = [f"I always want tea of the sort number {i} " + "with the cups that we had before " * 4 for i in range(20)]
    engine.remember_many([{"content": text, "id": f"w{i}", "event_at": NOW} for i, text in enumerate(wishes)])
    engine.remember_many(
        [{"content": f"tea {i} " + "was served on the lawn " * 8, "id": f"m{i}", "event_at": NOW} for i in range(20)]
    )
    answer = with_standing(engine.recall("tea", 40, recipe="lexical", now=NOW), [f"w{i}" for i in range(20)])
    crowded = compose(answer, 900, tokens)
    standing = [source for source in crowded.sources if source.standing]
    assert 0 < len(standing) < len(crowded.sources) / 2
    alone = compose(replace(answer, hits=tuple(hit for hit in answer if hit.memory.id.startswith("w"))), 900, tokens)
    assert len(alone.sources) > 2 * len(standing), "what nobody else needs is theirs"
    assert alone.tokens >= 0.9 * 900


# the last turns


def talk(engine: Engine, turns: Sequence[str]) -> None:
    at = datetime(2025, 3, 9, 9, tzinfo=UTC)
    engine.remember_many(
        {"content": text, "session_id": "s", "event_at": at + timedelta(minutes=i)} for i, text in enumerate(turns)
    )


def test_room_that_no_memory_needs_goes_to_earlier_turns(engine: Engine) -> None:
    talk(engine, [f"step {i} " + "is to look at the gate and to write down what is there " * 3 for i in range(8)])
    engine.remember_many([{"content": f"tea {i}", "event_at": NOW} for i in range(2)])
    options: dict[str, Any] = {
        "recipe": "lexical",
        "now": NOW,
        "recent_turns": 8,
        "overrides": {"routes.lexical.depth": 2},
    }
    block = engine.context("tea", token_budget=500, **options)
    turns = [source for source in block.sources if source.recent]
    assert len(block.sources) - len(turns) == 2
    assert sum(tokens(turn.content) for turn in turns) > 250, "more than half of the room"
    assert turns[-1].content.startswith("step 7")


@pytest.mark.parametrize(
    "later", ["thank you", "thank you for that, and now I have to go and look after the cat " * 30]
)
@pytest.mark.parametrize("budget", [60, 70, 100, 200, 400])
def test_a_turn_that_is_the_best_hit_comes_before_memories(engine: Engine, budget: int, later: str) -> None:
    talk(engine, ["hello", "the tea tin is blue", later])
    engine.remember_many([{"content": f"the kettle {i} is full of tea", "event_at": NOW} for i in range(9)])
    block = engine.context("blue tin tea", token_budget=budget, recipe="lexical", now=NOW, recent_turns=3)
    assert "the tea tin is blue" in {source.content for source in block.sources}
    turns = [source.content for source in block.sources if source.recent]
    assert turns == ["hello", "the tea tin is blue", later][3 - len(turns) :] or "…" in turns[0]


def test_a_last_turn_that_is_too_long_is_shortened(engine: Engine) -> None:
    talk(engine, ["go on", "I want to tell you about the gate. " * 200])
    engine.remember_many([{"content": f"tea {i}", "event_at": NOW} for i in range(2)])
    block = engine.context("tea", token_budget=300, recipe="lexical", now=NOW, recent_turns=2)
    assert [(source.recent, source.shortened) for source in block.sources] == [
        (True, True),
        (False, False),
        (False, False),
    ]
