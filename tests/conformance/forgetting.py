"""Forgetting: everything of a memory is deleted, and the rest is as if it had never been stored."""

from __future__ import annotations

from functools import partial

import pytest

from fivefold.engine import Engine
from fivefold.errors import NotFound
from fivefold.stores.interface import Store

from .fixtures import StoreFixtures
from .store_pair import StorePair, answers, contents_of, exported, opened, same_answers

REMAINING: tuple[dict[str, object], ...] = (
    {"content": "Sarah met Priya at the pier", "id": "k0", "event_at": "2025-02-01T09:00:00Z"},
    {"content": "I prefer tea in the morning", "id": "k1", "session_id": "s", "speaker": "user"},
    {"content": "Tom owns Kestrel", "id": "k2", "session_id": "s", "speaker": "assistant"},
    {"content": "we ran a race in the rain", "id": "k3", "session_id": "s", "speaker": "user", "type": "event"},
    {"content": "my badge ID is E-47821", "id": "k4"},
)
FORGOTTEN: tuple[dict[str, object], ...] = (
    {"content": "Sarah met Priya at the pier again with Bertil", "id": "g0"},
    {"content": "Bertil reports to Nadia about the rain", "id": "g1", "session_id": "s", "speaker": "assistant"},
    {"content": "the race was in Zürich, tea tea tea", "id": "g2", "session_id": "t", "type": "event"},
    {"content": "JIRA-9921 was about my badge", "id": "g3", "tags": ["badge"]},
    {"content": "I prefer tea in the morning", "id": "g4", "session_id": "t", "speaker": "user"},
)
QUESTIONS = (
    "who met Priya at the pier?",
    "tea in the morning",
    "the race in February",
    "badge E-47821",
    "Kestrel in the rain",
)


class ForgettingLaws(StoreFixtures):
    """Each compares a namespace that has forgotten with one that never knew."""

    def test_what_was_forgotten_might_never_have_been_told(self, store: Store) -> None:
        """Hits, scores, entities, edges, statistics, sessions: all of them, by every recipe."""
        never, forgot = opened(store), opened(store)
        never.remember_many(REMAINING)
        forgot.remember_many([*REMAINING[:1], *FORGOTTEN[:1], *REMAINING[1:4], *FORGOTTEN[1:], *REMAINING[4:]])
        for record in FORGOTTEN:
            forgot.forget(str(record["id"]))
        assert exported(forgot) == exported(never)
        assert contents_of(forgot) | {"stats": _counts(forgot)} == contents_of(never) | {"stats": _counts(never)}
        same_answers(answers(never, *QUESTIONS), answers(forgot, *QUESTIONS))

    def test_a_forgotten_session_might_never_have_been_held(self, store: Store) -> None:
        never, forgot = opened(store), opened(store)
        for engine in (never, forgot):
            engine.remember_many([record for record in REMAINING if "session_id" not in record])
        forgot.remember_many([record for record in REMAINING if "session_id" in record])
        assert forgot.forget_session("s") == 3
        assert not forgot.sessions()
        assert exported(forgot) == exported(never)
        same_answers(answers(never, *QUESTIONS), answers(forgot, *QUESTIONS))
        with pytest.raises(NotFound, match="no session 's'"):
            forgot.forget_session("s")

    def test_all_forgotten_leaves_an_empty_namespace(self, engine: Engine) -> None:
        engine.remember_many([*REMAINING, *FORGOTTEN])
        answer = engine.recall("tea")
        engine.feedback(answer, used=[answer[0].memory.id])
        for record in [*FORGOTTEN, *REMAINING]:
            engine.forget(str(record["id"]))
        stats = engine.stats()
        assert (stats.memories, stats.sessions, stats.entities, stats.links, stats.edges, stats.vectors) == (0,) * 6
        assert (stats.feedback, stats.by_kind, stats.first_event_at) == (0, {}, None)
        for result in answers(engine, *QUESTIONS):
            assert (result["hits"], result["dropped"], [run["found"] for run in result["routes"] if run["found"]]) == (
                [],
                [],
                [],
            )
        assert all(finding.ok for finding in engine.doctor())

    def test_the_recalls_that_showed_it_go_too(self, pair: StorePair) -> None:
        pair.remember(*REMAINING)
        recalls = {engine: engine.recall("tea in the morning", k=2) for engine in (pair.tested, pair.reference)}
        apart = {engine: engine.recall("badge E-47821", k=1) for engine in (pair.tested, pair.reference)}
        for engine, answer in (*recalls.items(), *apart.items()):
            engine.feedback(answer, used=[answer[0].memory.id])
            engine.stats()  # writes down what is still to be logged
        pair.both(partial(Engine.forget, id="k1"))
        for engine, answer in recalls.items():
            with pytest.raises(NotFound, match="no recall"):
                engine.feedback(answer.id, used=[answer[0].memory.id])
        for engine, answer in apart.items():
            engine.feedback(answer.id, used=[answer[0].memory.id])
        pair.same()

    def test_what_it_had_replaced_holds_again_or_goes_to_its_heir(self, pair: StorePair) -> None:
        for year, town in ((2022, "Leeds"), (2023, "York"), (2024, "Bristol"), (2025, "Paris")):
            pair.remember({"content": f"I live in {town}", "id": town, "event_at": f"{year}-01-01T00:00:00Z"})
        pair.both(partial(Engine.forget, id="York"))
        assert pair.tested.get("Leeds").superseded_by == "Bristol"
        pair.both(partial(Engine.forget, id="Paris"))
        assert pair.tested.get("Bristol").superseded_by is None
        pair.ask("where do I live?")
        pair.same()

    def test_a_turn_that_goes_closes_the_gap_it_leaves(self, pair: StorePair) -> None:
        pair.remember(
            *(
                {
                    "content": f"turn {i} of the talk",
                    "id": f"t{i}",
                    "session_id": "s",
                    "speaker": ("user", "assistant")[i % 2],
                    "event_at": f"2025-02-01T09:0{i}:00Z",
                }
                for i in range(6)
            )
        )
        for id in ("t2", "t5", "t0"):
            pair.both(partial(Engine.forget, id=id))
            pair.ask("turn 2 of the talk")
            pair.same()
        assert pair.tested.sessions()[0].turns == 3

    def test_forgetting_twice_is_an_error(self, pair: StorePair) -> None:
        pair.remember(*REMAINING)
        pair.both(partial(Engine.forget, id="k0"))
        pair.both(partial(Engine.forget, id="k0"))
        pair.both(partial(Engine.forget, id="nobody"))
        pair.same()


def _counts(engine: Engine) -> dict[str, object]:
    """The statistics without the name and what the store takes on its disk."""
    counts = engine.stats().to_dict()
    return {name: value for name, value in counts.items() if name not in ("namespace", "bytes_on_disk")}
