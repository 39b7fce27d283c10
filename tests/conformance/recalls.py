"""Recalls: every recipe gives what the reference gives, on the sample, on random talks, as of any time."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given

from fivefold import sample
from fivefold.engine import Engine
from fivefold.models.embedders import DEFAULT
from fivefold.models.embedders import embedder as load_embedder
from fivefold.stores.interface import Store
from fivefold.values.filters import Filter
from fivefold.values.vectors import FIELDS

from .fixtures import StoreFixtures
from .recipes import steady_recipes, steady_with
from .searches import dense, words
from .store_pair import StorePair, answers, opened
from .strategies import Story, examined, stories
from .vectors import Embedded, WordVectors

YEAR = (
    ("I moved the kestrel nest to the barn", "s", "2025-01-10"),
    ("The barn roof leaks badly", "s", "2025-01-11"),
    ("Kestrel chicks hatched in the barn", "s", "2025-05-02"),
    ("A kestrel sat on the fence", None, "2025-02-01"),
    ("The kestrel nest was painted green", None, "2025-06-01"),
    ("The kestrel nest is empty", "t", "2025-07-01"),
)
"""A session and notes of early 2025, and the same talk going on after March."""


def year() -> list[dict[str, object]]:
    return [
        {
            "content": content,
            "session_id": session,
            "event_at": f"{day}T09:00:00Z",
            "type": "event",
            "id": f"y{i}",
            "speaker": ("Ann", "Bo")[i % 2],
        }
        for i, (content, session, day) in enumerate(YEAR)
    ]


class RecallLaws(StoreFixtures):
    """The same hits, in the same order, with the same scores, evidence, drops and reasons."""

    def test_every_recipe_answers_the_sample_as_the_reference_does(self, store: Store, reference: Store) -> None:
        """Every third question by a third of the recipes, in turn, and a few by all of them."""
        pair, recipes = StorePair(store, reference, real_vectors()), steady_recipes()
        pair.remember(*sample.memories())
        for number, question in enumerate(sample.questions()[::3]):
            pair.ask(question.query, recipes=recipes[number % 3 :: 3], now=question.now)
        pair.ask(*(question.query for question in sample.questions()[1::24]), k=40, now="2025-07-01T00:00:00Z")
        pair.same()

    @examined
    @given(story=stories)
    def test_every_recipe_answers_a_random_story_as_the_reference_does(
        self, store: Store, reference: Store, story: Story
    ) -> None:
        """Stored, then updated, superseded, forgotten and used in any order; errors are the same as well."""
        pair = StorePair(store, reference)
        for act in story.acts():
            pair.both(act)
        pair.ask(*story.questions, k=story.k, now=story.now)
        pair.same()

    @pytest.mark.parametrize("unit", ["turn", "session"])
    def test_turns_or_sessions_alone_are_the_same(self, pair: StorePair, unit: str) -> None:
        pair.remember(*year())
        pair.ask("kestrel nest in the barn", "the roof", overrides={"unit": unit})

    def test_asked_as_of_an_earlier_time_what_came_later_is_unknown(self, pair: StorePair) -> None:
        pair.clock.now = pair.clock.now.replace(month=12)
        pair.remember(*year())
        then = "2025-03-01T00:00:00Z"
        pair.ask("kestrel nest in the barn", k=20, now=then)
        for recipe in steady_recipes():
            answer = pair.tested.recall("kestrel nest in the barn", k=20, recipe=recipe, now=then)
            assert len(answer) > 0
            memories = [memory for hit in answer for memory in (hit.memory, *hit.neighbours)]
            assert [memory.content for memory in memories if memory.event_at > answer.query.now] == []

    def test_what_was_replaced_later_holds_as_of_before(self, pair: StorePair) -> None:
        pair.clock.now = pair.clock.now.replace(month=12)
        pair.remember({"content": "I live in Leeds", "id": "old", "event_at": "2025-01-06T09:00:00Z"})
        pair.remember({"content": "I moved from Leeds to Bristol", "id": "new", "event_at": "2025-06-07T09:00:00Z"})
        for now in ("2025-03-01T00:00:00Z", "2025-12-09T00:00:00Z"):
            pair.ask("where do I live, in Leeds?", now=now)
        for recipe in steady_recipes():
            answer = pair.tested.recall("where do I live, in Leeds?", recipe=recipe, now="2025-03-01T00:00:00Z")
            assert [hit.memory.id for hit in answer] == ["old"]

    def test_times_asked_about_are_searched_alike(self, pair: StorePair) -> None:
        days = [f"2025-{month:02}-{day:02}" for month in (1, 2) for day in range(1, 29, 3)]
        pair.remember(
            *(
                {
                    "content": f"We met at number {i} and had lunch",
                    "event_at": f"{day}T12:00:00Z",
                    "type": "event",
                    "id": day,
                }
                for i, day in enumerate(days)
            )
        )
        pair.ask("what happened last month?", "what did I do in early January?", "on 10 February", "lately", k=5)
        few = {"routes.temporal.depth": 3}
        pair.ask("what happened in February?", k=3, overrides=few, recipes=steady_with("routes.temporal"))

    def test_the_last_talk_is_the_same(self, pair: StorePair) -> None:
        pair.remember(*year())
        pair.ask("what have we said since we last talked?", "since our last chat", now="2025-06-20T00:00:00Z")

    @pytest.mark.parametrize("types", [(), ("event",), ("preference", "procedure"), ("entity",)])
    def test_a_type_filter_narrows_the_search_alike(self, pair: StorePair, types: tuple[str, ...]) -> None:
        kinds = ("event", "fact", "preference", "procedure")
        texts = ("tea in the barn", "coffee in the barn", "tea with Sarah", "a roof of tea", "barn and roof", "tea tea")
        pair.remember(
            *({"content": f"{text} {i}", "type": kinds[i % 4], "id": f"m{i:02}"} for i, text in enumerate(texts * 4))
        )
        keep = Filter(types)  # type: ignore[arg-type]
        rankings = pair.both(lambda each: [dense(each, "tea in the barn", 9, keep), words(each, "tea barn", 9, keep)])
        allowed = {f"m{i:02}" for i in range(24) if not types or kinds[i % 4] in types}
        for hits in rankings:
            assert {id for id, _ in hits} <= allowed
            assert len(hits) == min(9, len(allowed)) or len(hits) < 9

    def test_implied_types_are_searched_first_and_widened_alike(self, pair: StorePair) -> None:
        pair.remember(*({"content": f"I prefer tea number {i}", "type": "preference", "id": f"p{i}"} for i in range(6)))
        pair.remember(
            *({"content": f"To make tea {i}, boil water", "type": "procedure", "id": f"q{i}"} for i in range(2))
        )
        pair.ask("what tea do I prefer?", "how do I make tea?", recipes=steady_with("routes.lexical"))

    def test_every_field_is_searched_by_its_own_vectors(self, pair: StorePair) -> None:
        pair.remember(*sample.memories()[:60])
        pair.remember(
            {"id": "qa", "user_text": "how tall is the mast?", "assistant_text": "the mast is nine metres tall"},
            {"id": "next", "content": "the tide turns", "next_user_text": "when does the tide turn?"},
        )
        pair.both(lambda engine: {field: dense(engine, "how tall is the mast?", 20, where=field) for field in FIELDS})

    def test_many_vectors_are_searched_for_at_once(self, engine: Engine) -> None:
        engine.remember_many(sample.memories()[:60])
        search = engine.store.reader(engine.namespace).search
        space = search.vector_space()
        assert space is not None
        texts = [f"{text} {number}" for number in range(35) for text in ("the tide", "how tall is the mast?", "tea")]
        vectors = list(WordVectors(space.dimension).embed(texts))
        for asked in ([], vectors[:1], vectors):
            found = search.dense_each(space, "full", asked, 7)
            alone = [search.dense(space, "full", vector, 7, Filter()) for vector in asked]
            assert [[hit.row for hit in hits] for hits in found] == [[hit.row for hit in hits] for hits in alone]
            scores = [[hit.score for hit in hits] for hits in alone]
            assert [pytest.approx([hit.score for hit in hits]) for hits in found] == scores

    def test_equal_texts_come_in_the_order_they_were_stored(self, engine: Engine) -> None:
        same = {"content": "the very same words again", "event_at": "2025-02-03T09:00:00Z", "speaker": "Ann"}
        engine.remember_many([{**same, "session_id": f"s{i}", "id": f"m{9 - i}"} for i in range(10)])
        stored = [f"m{9 - i}" for i in range(10)]
        for hits in (dense(engine, "the very same words"), words(engine, "words again")):
            assert [id for id, _ in hits] == stored
        for depth in (1, 4, 9):
            assert [id for id, _ in dense(engine, "other words", depth)] == stored[:depth]
            assert [id for id, _ in words(engine, "words", depth)] == stored[:depth]

    def test_a_question_without_an_answer_is_answered_with_nothing(self, pair: StorePair) -> None:
        pair.ask("anything at all?", "🎉", "the of and")
        pair.remember({"content": "one memory alone", "id": "one"})
        pair.ask("anything at all?", "🎉", "the of and", "one", k=1)

    def test_a_namespace_that_is_not_there_is_answered_with_nothing_and_not_made(self, store: Store) -> None:
        missing = Engine(store, "nobody wrote here", WordVectors())
        for recipe in steady_recipes():
            answer = missing.recall("anything at all?", recipe=recipe)
            assert (len(answer), answer.dropped, answer.degraded) == (0, (), ())
        assert missing.stats().memories == 0
        assert not missing.sessions()
        assert "nobody wrote here" not in store.namespaces()

    def test_the_same_question_gives_the_same_answer(self, store: Store) -> None:
        engine = opened(store)
        engine.remember_many(sample.memories()[:80])
        assert answers(engine, "who works on the Kestrel?") == answers(engine, "who works on the Kestrel?")


@cache
def real_vectors() -> Embedded:
    """The default embedder, each text embedded once for all stores."""
    return Embedded(load_embedder(DEFAULT))
