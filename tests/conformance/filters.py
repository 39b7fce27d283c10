"""Filters: every search among those that pass is the search of all memories, filtered by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fivefold.engine import Engine
from fivefold.stores.interface import Reader, Store
from fivefold.stores.records import Arm, VectorSpace, Walk
from fivefold.values.filters import EVERYTHING, Filter, filter_of, write_filter
from fivefold.values.memory import KINDS, ORIGINS, TYPES
from fivefold.values.recall_trace import RouteHit

from .fixtures import StoreFixtures
from .store_pair import NOW, Clock, StorePair, opened
from .strategies import examined
from .vectors import WordTokens, WordVectors

MOMENTS = ("2025-02-01T09:00:00Z", "2025-02-03T10:00:00Z", "2025-02-20T08:00:00Z", "2025-03-09T00:00:00Z")
TEXTS = (
    "Sarah met Tom at the pier on 3 February 2025",
    "Tom likes green tea",
    "Sarah likes tea with milk",
    "Sarah reports to Tom",
    "the boat at the pier is green",
    "last February Tom painted the boat",
)
SPEAKERS = ("ana", "Zoë 🎉", "o'neil; --", 'q"uote')
TAGS = ("work", "a,b", "Straße", "two words")
SESSIONS = ("s", "ß 東京")
KEYS = ("price", "city", "order.total", "odd key", "done")
VALUES: tuple[Any, ...] = (0, 1, 9.5, 10, -3, "Paris", "Rome", "10", "", True, False, 1e300, "x\x00y")
PLAIN: tuple[Any, ...] = tuple(value for value in VALUES if value != "x\x00y")
QUESTION = "did Sarah drink green tea with Tom at the pier?"

QUOTES = (
    "'; DROP TABLE memories; --",
    '"',
    "\\",
    "%",
    "_",
    ":ns",
    "?1",
    "$1",
    "a,b",
    "a b",
    "=1",
    "<2",
    "meta.x",
    "{}",
)
"""Texts that would do harm, or be read as something else, where they are put into a statement or a line of text."""

_metadata = st.dictionaries(st.sampled_from(("price", "city", "odd key", "done")), st.sampled_from(VALUES), max_size=3)
_nested = st.builds(
    lambda flat, total: {**flat, "order": {"total": total}},
    _metadata,
    st.sampled_from((*VALUES, [1, "Paris"], [9.5, [10]], None)),
)
_records = st.lists(
    st.fixed_dictionaries(
        {
            "content": st.sampled_from(TEXTS),
            "event_at": st.sampled_from(MOMENTS),
            "speaker": st.sampled_from((None, *SPEAKERS)),
            "session_id": st.sampled_from((None, *SESSIONS)),
            "type": st.sampled_from((None, *TYPES)),
            "tags": st.lists(st.sampled_from(TAGS), max_size=3, unique=True),
            "metadata": st.one_of(_metadata, _nested),
            "expires_at": st.sampled_from((None, *MOMENTS)),
            "pinned": st.booleans(),
            "origin": st.sampled_from((None, *ORIGINS)),
        }
    ),
    min_size=1,
    max_size=14,
)


def _some(values: Sequence[Any]) -> st.SearchStrategy[list[Any]]:
    return st.lists(st.sampled_from(values), min_size=1, max_size=3, unique_by=repr)


def _range(bounds: tuple[str, ...], values: Sequence[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({name: st.sampled_from(values) for name in bounds})


_NUMBERS, _WORDS = (-3, 1, 9.5, 10), ("", "Paris", "Q")
_tests = st.one_of(
    st.sampled_from(PLAIN),
    _some(PLAIN),
    *(
        _range(bounds, values)
        for bounds in (("at_least",), ("above",), ("below",), ("at_most",), ("above", "at_most"), ("at_least", "below"))
        for values in (_NUMBERS, _WORDS)
    ),
)
_PARTS: dict[str, st.SearchStrategy[Any]] = {
    "types": _some(TYPES),
    "kinds": _some(KINDS),
    "speakers": _some(SPEAKERS),
    "session_ids": _some(SESSIONS),
    "tags": _some(TAGS),
    "all_tags": _some(TAGS),
    "metadata": st.dictionaries(st.sampled_from(KEYS), _tests, min_size=1, max_size=2),
    "words": _some(("TEA", "boat", "ë")),
    "superseded": st.booleans(),
    "origins": _some(ORIGINS),
    "pinned": st.booleans(),
    "alive_at": st.sampled_from(MOMENTS),
    "used": st.booleans(),
    "expires_before": st.sampled_from(MOMENTS),
    "idle_since": st.sampled_from((NOW, NOW + timedelta(minutes=1))),
    "since": st.sampled_from(MOMENTS),
    "until": st.sampled_from(MOMENTS),
    "written_since": st.sampled_from((NOW, NOW + timedelta(minutes=1))),
    "written_until": st.sampled_from((NOW, NOW + timedelta(minutes=1))),
}
filters = st.sets(st.sampled_from(sorted(_PARTS)), min_size=1, max_size=3).flatmap(
    lambda names: st.fixed_dictionaries({name: _PARTS[name] for name in sorted(names)}).map(filter_of)
)
"""Filters of up to three parts."""

Search = Callable[[Reader, VectorSpace, int, Filter], list[RouteHit]]

_VECTOR = WordVectors().embed([QUESTION])[0]
_LEXEMES = ["sarah", "green", "tea", "tom", "pier"]
_START, _END = NOW - timedelta(days=60), NOW
RANKED: dict[str, Search] = {
    "dense": lambda reader, space, depth, keep: reader.search.dense(space, "full", _VECTOR, depth, keep),
    "sessions": lambda reader, space, depth, keep: reader.search.dense(space, "session", _VECTOR, depth, keep),
    "lexical": lambda reader, space, depth, keep: reader.search.lexical(_LEXEMES, depth, keep),
    "sessions by words": lambda reader, space, depth, keep: reader.search.lexical(_LEXEMES, depth, keep, sessions=True),
}
TIMED: dict[str, Search] = {
    "temporal": lambda reader, space, depth, keep: reader.search.temporal(_START, _END, depth, keep),
    "window": lambda reader, space, depth, keep: reader.search.within(_START, _END, depth, keep),
}
"""Searches that give the nearest to the middle of the window where there are too many, else all in time order."""

WALKED: dict[str, Search] = {
    "graph": lambda reader, space, depth, keep: reader.graph.walk(_roots(reader), Walk(NOW), depth, keep)
}
"""A search that considers a fixed number of memories for each one it returns, so its depth changes the order."""


class FilterLaws(StoreFixtures):
    """What passes a filter is found, all of it and nothing else, in the order it has among all memories."""

    @settings(examined, max_examples=12)
    @given(batch=_records, keeps=st.lists(filters, min_size=1, max_size=4))
    def test_a_search_among_those_that_pass_is_the_search_of_all_filtered_by_hand(
        self, store: Store, batch: list[dict[str, Any]], keeps: list[Filter]
    ) -> None:
        engine = told(store, batch)
        reader = store.reader(engine.namespace)
        space = reader.search.vector_space()
        assert space is not None
        for keep in keeps:
            for name, search in {**RANKED, **TIMED, **WALKED}.items():
                expected = _by_hand(reader, search(reader, space, 1_000, EVERYTHING), keep)
                _same_hits(search(reader, space, 1_000, keep), expected, name)
                for depth in (1, 3):
                    few = search(reader, space, depth, keep)
                    if name in RANKED:
                        _same_hits(few, expected[:depth], name)
                    least = 1 if name in WALKED else depth
                    assert min(least, len(expected)) <= len(few) <= depth, name
                    assert {hit.row for hit in few} <= {hit.row for hit in expected}, name

    @settings(examined, max_examples=8)
    @given(batch=_records, keep=filters)
    def test_searching_and_fusing_at_once_ranks_among_those_that_pass(
        self, store: Store, batch: list[dict[str, Any]], keep: Filter
    ) -> None:
        engine = told(store, batch)
        reader = store.reader(engine.namespace)
        space = reader.search.vector_space()
        assert space is not None
        arms = [Arm("dense", 50, 1.0, "full"), Arm("lexical", 50, 0.5)]
        fused = reader.search.rrf(space, _VECTOR, _LEXEMES, arms, 15, keep)
        for arm in arms:
            ranked = sorted((hit.rank, hit.row) for hit in fused if hit.route == arm.route)
            expected = _by_hand(reader, RANKED[arm.route](reader, space, 1_000, EVERYTHING), keep)
            assert [row for _, row in ranked] == [hit.row for hit in expected], arm.route
        every = RANKED["dense"](reader, space, 1_000, EVERYTHING)
        patterns = reader.search.patterns(space, "full", _VECTOR, 1_000, keep)
        assert len(patterns) == len(_by_hand(reader, every, keep))

    @settings(examined, max_examples=12)
    @given(batch=_records, keep=filters, k=st.integers(1, 6))
    def test_lists_and_recalls_have_what_passes_and_as_many_as_are_asked_for(
        self, store: Store, batch: list[dict[str, Any]], keep: Filter, k: int
    ) -> None:
        engine = told(store, batch)
        listed = list(engine.memories(filter=keep, limit=1_000))
        kinds = keep.kinds or ("turn", "note")
        every = [memory for kind in KINDS for memory in engine.memories(kind=kind, limit=1_000)]
        passing = [memory.id for memory in every if keep.matches(memory)]
        assert {memory.id for memory in listed} == {m.id for m in every if m.id in passing and m.kind in kinds}
        later = NOW + timedelta(days=1)
        spoken = [
            memory for memory in every if memory.kind != "session" and memory.id in passing and memory.is_alive(later)
        ]
        for recipe in ("dense", "lexical"):
            whole = engine.recall(QUESTION, 1_000, recipe=recipe, now=later)
            expected = [hit.memory.id for hit in whole if hit.memory.id in passing][:k]
            found = engine.recall(QUESTION, k, recipe=recipe, now=later, filter=keep)
            assert [hit.memory.id for hit in found] == expected
        found = engine.recall(QUESTION, k, now=later, filter=write_filter(keep))
        assert {hit.memory.id for hit in found} <= set(passing)
        assert len(found) == min(k, len(spoken))
        assert found.plan.filter == write_filter(keep)

    @settings(examined, max_examples=5)
    @given(batch=_records, keep=filters)
    def test_every_recipe_answers_as_the_reference_does(
        self, store: Store, reference: Store, batch: list[dict[str, Any]], keep: Filter
    ) -> None:
        pair = StorePair(store, reference)
        pair.remember(*({**record, "id": f"m{number}"} for number, record in enumerate(batch)))
        pair.ask(QUESTION, "what happened in February?", k=4, filter=keep, now=NOW + timedelta(days=1))

    @pytest.mark.parametrize("text", QUOTES)
    def test_a_hostile_text_is_a_value_like_any_other(self, engine: Engine, text: str) -> None:
        odd = {"content": f"tea {text}", "speaker": text, "session_id": text, "tags": [text], "metadata": {text: text}}
        engine.remember_many([odd, {"content": "tea for two", "speaker": "ana", "metadata": {"x": 1}}])
        before = engine.stats().memories
        for keep in (
            {"speakers": text},
            {"session_ids": text, "kinds": "turn"},
            {"tags": text, "kinds": "turn"},
            {"metadata": {text: text}},
            {"metadata": {text: {"at_least": text, "at_most": text}}},
        ):
            for given_filter in (filter_of(keep), write_filter(filter_of(keep))):
                assert [m.content for m in engine.memories(filter=given_filter)] == [f"tea {text}".strip()]
                found = engine.recall("tea", filter=given_filter)
                assert [hit.memory.content for hit in found] == [f"tea {text}".strip()]
        assert engine.stats().memories == before

    def test_what_changes_is_found_by_what_it_is_now(self, engine: Engine) -> None:
        engine.remember("tea at four", id="a", tags=["old"], metadata={"n": 1})
        engine.remember("tea at four", tags=["again"])
        engine.remember("tea at five", id="b", tags=["old"])

        def ids(keep: str) -> list[str]:
            return sorted(memory.id for memory in engine.memories(filter=keep))

        assert (ids("tag:old"), ids("tag:old tag:again"), ids("meta.n:1")) == (["a", "b"], ["a"], ["a"])
        engine.update("a", tags=["new"], metadata={"n": 2}, speaker="Ann")
        assert (ids("tag:old"), ids("tag:new"), ids("meta.n=1"), ids("meta.n>1 speaker:Ann")) == (
            ["b"],
            ["a"],
            [],
            ["a"],
        )
        engine.forget("a")
        assert (ids("tag:new"), ids("meta.n>0")) == ([], [])
        assert all(finding.ok for finding in engine.doctor())

    def test_a_filter_sees_nothing_of_another_namespace(self, store: Store) -> None:
        here, there = opened(store), opened(store)
        for engine, text in ((here, "tea here"), (there, "tea there")):
            engine.remember(text, speaker="ana", tags=["x"], metadata={"n": 1})
        for keep in ("speaker:ana", "tag:x", "meta.n:1", "since:2000-01-01"):
            assert [memory.content for memory in here.memories(filter=keep)] == ["tea here"]
            assert [hit.memory.content for hit in here.recall("tea", filter=keep)] == ["tea here"]


def told(store: Store, batch: Sequence[dict[str, Any]]) -> Engine:
    """An engine that wrote half of the batch a minute after the other half."""
    clock = Clock()
    engine = opened(store, embedder=WordTokens(), clock=clock)
    half = len(batch) // 2
    engine.remember_many(batch[:half])
    clock.tick()
    engine.remember_many(batch[half:])
    return engine


def _roots(reader: Reader) -> list[tuple[int, float]]:
    return [(entity.id, 1.0) for entity in reader.graph.entities(None, 5)]


def _by_hand(reader: Reader, hits: Sequence[RouteHit], keep: Filter) -> list[RouteHit]:
    memories = reader.memories.fetch([hit.row for hit in hits])
    return [hit for hit in hits if keep.matches(memories[hit.row])]


def _same_hits(actual: Sequence[RouteHit], expected: Sequence[RouteHit], name: str) -> None:
    assert [hit.row for hit in actual] == [hit.row for hit in expected], name
    assert [hit.score for hit in actual] == pytest.approx([hit.score for hit in expected], abs=1e-6), name
    assert [(hit.note, hit.factor) for hit in actual] == [(hit.note, hit.factor) for hit in expected], name
