"""Looking through a namespace: pages that add up to the list, filters, last turns, what replaced what."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fivefold.engine import Engine
from fivefold.errors import InvalidInput, NotFound
from fivefold.stores.interface import Store
from fivefold.values.memory import Memory
from fivefold.values.reports import Page

from .fixtures import StoreFixtures
from .store_pair import StorePair, opened
from .strategies import examined

MOMENTS = ("1969-12-31T23:59:59Z", "2025-02-01T09:00:00Z", "2025-02-01T09:00:00.000001Z", "2025-02-03T10:00:00Z")
"""Few, so that many memories are of the same one."""

TEXTS = (
    "Tea with Zoë at ten",
    "tea, 100% green_tea",
    "ZOË and the Straße in Zürich",
    "東京で会った 🎉",
    "back\\slash ' quote",
    "nothing of it",
)

records = st.lists(
    st.fixed_dictionaries(
        {
            "content": st.sampled_from(TEXTS),
            "event_at": st.sampled_from(MOMENTS),
            "session_id": st.sampled_from((None, "s", "ß 東京")),
            "speaker": st.sampled_from((None, "Ann", "Zoë 🎉")),
            "tags": st.lists(st.sampled_from(("a", ",", 'q"uote', "Straße")), max_size=2, unique=True),
            "type": st.sampled_from((None, "event", "preference")),
        }
    ),
    min_size=1,
    max_size=9,
)

FILTERS: dict[str, tuple[dict[str, Any], Callable[[Memory], bool]]] = {
    "all": ({}, lambda m: True),
    "turns": ({"kind": "turn"}, lambda m: m.kind == "turn"),
    "notes": ({"kind": "note"}, lambda m: m.kind == "note"),
    "events": ({"type": "event"}, lambda m: m.type == "event"),
    "speaker": ({"speaker": "Zoë 🎉"}, lambda m: m.speaker == "Zoë 🎉"),
    "session": ({"session_id": "ß 東京"}, lambda m: m.session_id == "ß 東京"),
    "tag": ({"tag": ","}, lambda m: "," in m.tags),
    "odd tag": ({"tag": 'q"uote'}, lambda m: 'q"uote' in m.tags),
    "words": ({"text": "ZOË tea"}, lambda m: "zoë" in m.content.lower() and "tea" in m.content.lower()),
    "signs": ({"text": "%"}, lambda m: "%" in m.content),
    "under": ({"text": "n_t"}, lambda m: "n_t" in m.content),
    "back": ({"text": "\\"}, lambda m: "\\" in m.content),
    "unspaced": ({"text": "東京"}, lambda m: "東京" in m.content),
    "since": ({"since": MOMENTS[1]}, lambda m: m.event_at >= datetime(2025, 2, 1, 9, tzinfo=UTC)),
    "until": ({"until": MOMENTS[1]}, lambda m: m.event_at < datetime(2025, 2, 1, 9, tzinfo=UTC)),
    "current": ({"superseded": False}, lambda m: m.superseded_by is None),
    "replaced": ({"superseded": True}, lambda m: m.superseded_by is not None),
}


class BrowsingLaws(StoreFixtures):
    """Reading without a question."""

    @settings(examined, max_examples=8)
    @given(earlier=records, later=records, limit=st.integers(1, 4))
    def test_pages_add_up_to_the_list_whatever_is_added_meanwhile(
        self, store: Store, earlier: list[dict[str, Any]], later: list[dict[str, Any]], limit: int
    ) -> None:
        engine = opened(store)
        engine.remember_many(earlier)
        before = list(engine.memories(limit=1_000))
        assert before == sorted(before, key=lambda memory: (memory.event_at, memory.row), reverse=True)
        waiting = iter(later)
        seen = []
        for page in pages(lambda cursor: engine.memories(limit=limit, cursor=cursor)):
            assert 1 <= len(page) <= limit
            seen += [memory.id for memory in page]
            engine.remember_many([record for record in (next(waiting, None),) if record])
        assert len(seen) == len(set(seen))
        assert [id for id in seen if id in {memory.id for memory in before}] == [memory.id for memory in before]
        for of in (engine.sessions, engine.graph.entities):
            whole: list[Any] = list(of(limit=1_000))
            paged = pages(lambda cursor, of=of: of(limit=limit, cursor=cursor))  # type: ignore[misc]
            assert [item for page in paged for item in page] == whole

    @settings(examined, max_examples=4)
    @given(batch=records)
    def test_filters_give_what_they_say(self, store: Store, batch: list[dict[str, Any]]) -> None:
        engine = opened(store)
        engine.remember_many(batch)
        engine.supersede(engine.memories(limit=1)[0].id, {"content": "else", "event_at": MOMENTS[3], "tags": [","]})
        stored = list(engine.memories(limit=1_000))
        for name, (options, fits) in FILTERS.items():
            ids = [memory.id for memory in engine.memories(limit=1_000, **options)]
            assert ids == [memory.id for memory in stored if fits(memory)], name
        sessions = [engine.get(session.memory_id or "") for session in engine.sessions()]
        assert sorted(m.id for m in engine.memories(kind="session")) == sorted(memory.id for memory in sessions)

    def test_a_cursor_survives_that_its_memory_is_forgotten(self, engine: Engine) -> None:
        engine.remember_many([{"content": f"note {i}", "id": f"n{i}", "event_at": MOMENTS[1]} for i in range(5)])
        first = engine.memories(limit=2)
        engine.forget("n3")
        assert [memory.id for memory in engine.memories(cursor=first.cursor)] == ["n2", "n1", "n0"]

    @pytest.mark.parametrize(
        "cursor", ["", "x", "é", "bm9uc2Vuc2U", "W10", "WyJtZW1vcmllcyJd", "WyJzZXNzaW9ucyIsMSwicyJd", "A" * 5_000, 7]
    )
    def test_what_is_no_cursor_is_refused(self, engine: Engine, cursor: Any) -> None:
        with pytest.raises(InvalidInput, match="cursor"):
            engine.memories(cursor=cursor)

    def test_the_last_turns_are_those_of_a_session_by_then(self, pair: StorePair) -> None:
        for i in range(6):
            at = f"2025-03-0{1 + i // 2}T09:0{i}:00Z"
            pair.remember({"content": f"turn {i}", "id": f"t{i}", "session_id": "ab"[i % 2], "event_at": at})
        pair.remember({"content": "in a year", "id": "far", "session_id": "c", "event_at": "2026-03-01T00:00:00Z"})
        pair.remember({"content": "a note", "id": "note", "event_at": "2025-03-09T00:00:00Z"})

        def last(**how: Any) -> list[str]:
            ids = pair.both(lambda engine: [m.id for m in engine.recall("turn?", **how).recent])
            assert isinstance(ids, list)
            return ids

        assert last(recent_turns=2) == ["t3", "t5"]
        assert last(recent_turns=9, session_id="a") == ["t0", "t2", "t4"]
        assert last(recent_turns=9, now="2025-03-02T09:03:00Z") == ["t1", "t3"]
        assert last(recent_turns=9, session_id="a", now="2025-03-01T08:00:00Z") == []
        assert last(recent_turns=9, session_id="nobody") == []
        assert last() == []
        pair.both(lambda engine: engine.configure(recent_turns=1))
        assert last() == ["t5"]
        assert last(recent_turns=0) == []

    def test_a_session_is_read_turn_by_turn(self, pair: StorePair) -> None:
        pair.remember(*({"content": f"turn {i}", "id": f"t{i}", "session_id": "st"[i % 2]} for i in range(6)))
        pair.remember({"content": "between", "id": "b", "session_id": "s", "turn_index": 1})
        turns = pair.both(lambda engine: [memory.id for memory in engine.turns("s")])
        assert turns == ["t0", "t2", "b", "t4"]
        for missing in ("nobody", "", "a\nb"):
            with pytest.raises(NotFound, match="has no session"):
                pair.tested.turns(missing)

    def test_history_is_what_was_replaced_and_by_what(self, pair: StorePair) -> None:
        for year, town in ((2022, "Leeds"), (2023, "Bristol"), (2024, "Paris"), (2025, "Rome")):
            pair.remember({"content": f"I live in {town}", "id": town, "event_at": f"{year}-01-01T00:00:00Z"})
        pair.remember({"content": "The key is under the fern", "id": "key"})
        history = pair.both(lambda engine: engine.history("Bristol"))
        assert [memory.id for memory in history.chain] == ["Leeds", "Bristol", "Paris", "Rome"]
        assert [(link.source, link.target) for link in history.links] == [
            ("Bristol", "Leeds"),
            ("Paris", "Bristol"),
            ("Rome", "Paris"),
        ]
        assert "replaces" in history.links[0].why
        alone = pair.both(lambda engine: engine.history("key"))
        assert ([memory.id for memory in alone.chain], alone.links) == (["key"], ())
        with pytest.raises(NotFound):
            pair.tested.history("nobody")

    def test_what_speaks_of_an_entity_is_listed(self, pair: StorePair) -> None:
        texts = ("Sarah met Tom", "Tom baked bread", "it rained", "Sarah sang")
        pair.remember(
            *(
                {"content": text, "id": f"m{i}", "event_at": f"2025-02-0{i + 1}T00:00:00Z"}
                for i, text in enumerate(texts)
            )
        )
        assert pair.both(lambda engine: [m.id for m in engine.graph.memories("Tom")]) == ["m1", "m0"]
        assert pair.both(lambda engine: [m.id for m in engine.graph.memories("Sarah", limit=1)]) == ["m3"]
        with pytest.raises(NotFound):
            pair.tested.graph.memories("nobody")

    def test_what_speaks_of_an_entity_and_its_relations_come_page_by_page(self, pair: StorePair) -> None:
        """Moments and confidences repeat, so that places differ by the last part alone."""
        names = ("Ann", "Bob", "Cleo", "Dora", "Edgar")
        pair.remember(
            *(
                {"content": f"Sarah met {name}", "id": name, "event_at": f"2025-02-0{1 + i // 2}T00:00:00Z"}
                for i, name in enumerate(names)
            )
        )
        for engine in (pair.tested, pair.reference):
            for number, name in enumerate(names):
                engine.graph.relate("Sarah", "knows", name, confidence=(1 / 3, 2 / 3)[number % 2])
        spoken = pair.both(
            lambda engine: [
                [memory.id for memory in page]
                for page in pages(lambda cursor: engine.graph.memories("Sarah", limit=2, cursor=cursor))
            ]
        )
        assert spoken == [["Edgar", "Dora"], ["Cleo", "Bob"], ["Ann"]]
        related = pair.both(
            lambda engine: [
                [(edge.relation, edge.target) for edge in page]
                for page in pages(lambda cursor: engine.graph.edges("Sarah", limit=3, cursor=cursor))
            ]
        )
        assert [len(page) for page in related] == [3, 3, 3, 1]
        known = [target for page in related for relation, target in page if relation == "knows"]
        assert known == ["Bob", "Dora", "Ann", "Cleo", "Edgar"]
        assert len({edge for page in related for edge in page}) == 10
        for wrong in (pair.tested.memories(limit=1).cursor, "x"):
            with pytest.raises(InvalidInput):
                pair.tested.graph.edges("Sarah", cursor=wrong)

    def test_no_list_has_anything_of_another_namespace(self, store: Store) -> None:
        here, there = opened(store), opened(store)
        here.remember_many([{"content": "Sarah met Tom", "id": "m", "session_id": "s"}])
        there.remember_many([{"content": f"Sarah met Ann {i}", "id": f"x{i}", "session_id": "s"} for i in range(3)])
        assert [memory.id for memory in here.memories()] == ["m"]
        assert [memory.id for memory in here.turns("s")] == ["m"]
        assert [memory.id for memory in here.recall("Sarah?", recent_turns=9).recent] == ["m"]
        cursor = there.memories(limit=1).cursor
        assert {memory.id for memory in here.memories(cursor=cursor)} <= {"m"}
        nobody = Engine(store, "nobody looked here")
        assert (len(nobody.memories()), nobody.memories().cursor) == (0, None)
        assert "nobody looked here" not in store.namespaces()


def pages(ask: Callable[[str | None], Page[Any]]) -> Iterator[Page[Any]]:
    """One page after the other, to the last."""
    page = ask(None)
    yield page
    while page.cursor is not None:
        page = ask(page.cursor)
        yield page
