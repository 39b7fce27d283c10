"""Successions: which memory replaces which, surely or likely, and which sessions came before a moment.

These tests write the links through the protocol itself, so that no wording decides what replaces what.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from fivefold.engine import Engine
from fivefold.stores.interface import Store
from fivefold.stores.records import Succession
from fivefold.values.memory import Memory

from .fixtures import StoreFixtures
from .store_pair import StorePair, exported, opened

TEXTS = {"old": "The mill has a red door", "mid": "Grapes are sour in June", "new": "Seven boats left early"}
"""Texts that have nothing to do with each other, so that no write links them by itself."""

SURE = 1.0


def day(number: int) -> datetime:
    return datetime(2025, 1, number, tzinfo=UTC)


class Chain:
    """Three notes, a day apart, between which nothing is linked yet."""

    def __init__(self, engine: Engine) -> None:
        self.engine, self.reader = engine, engine.store.reader(engine.namespace)
        for number, (id, text) in enumerate(TEXTS.items(), 1):
            engine.remember(text, id=id, event_at=day(number))

    def memory(self, id: str) -> Memory:
        return self.engine.get(id)

    def link(self, newer: str, older: str, chance: float = SURE) -> None:
        source, target = self.memory(newer).row, self.memory(older).row
        with self.engine.store.write(self.engine.namespace) as txn:
            txn.memories.link(source, target, "supersedes" if chance == SURE else "likely", "for a test", chance)

    def links(self, *ids: str) -> list[tuple[str, str, float]]:
        """Older, newer and chance, of these memories or of all."""
        present = {memory.row: memory.id for memory, _ in self.reader.memories.scan()}
        wanted = [row for row, id in present.items() if not ids or id in ids]
        found = self.reader.memories.successions(wanted)
        return [(present[item.older], present[item.newer], item.chance) for item in found]


class SuccessionLaws(StoreFixtures):
    """Each writes to a namespace of its own."""

    @pytest.fixture
    def chain(self, engine: Engine) -> Chain:
        """What each is likely replaced by."""
        chain = Chain(engine)
        chain.link("mid", "old", 0.75)
        chain.link("new", "mid", 0.5)
        return chain

    def test_a_succession_is_found_from_either_end(self, chain: Chain) -> None:
        assert chain.links("old") == [("old", "mid", 0.75)]
        assert chain.links("mid") == chain.links() == [("old", "mid", 0.75), ("mid", "new", 0.5)]
        assert chain.links("new") == [("mid", "new", 0.5)]
        old, mid = chain.memory("old").row, chain.memory("mid").row
        assert chain.reader.memories.successions([old]) == [Succession(old, mid, 0.75, day(2), "user", "user")]
        assert chain.reader.memories.successions([]) == []
        assert opened(chain.engine.store).store.reader("nobody's").memories.successions([old]) == []

    def test_a_likely_one_marks_nothing_and_is_shown_with_its_chance(self, chain: Chain) -> None:
        assert [chain.memory(id).superseded_by for id in TEXTS] == [None] * 3
        history = chain.engine.history("mid")
        assert [memory.id for memory in history.chain] == ["mid"]
        shown = [(link.source, link.target, link.relation, link.chance, link.label) for link in history.links]
        assert shown == [
            ("mid", "old", "likely", 0.75, "likely supersedes (0.75)"),
            ("new", "mid", "likely", 0.5, "likely supersedes (0.50)"),
        ]

    def test_a_link_stays_as_it_is_until_it_is_sure(self, chain: Chain) -> None:
        chain.link("mid", "old", 0.25)
        assert chain.links("old") == [("old", "mid", 0.75)]
        chain.link("mid", "old")
        chain.link("mid", "old", 0.25)
        assert chain.links("old") == [("old", "mid", SURE)]
        assert [link.relation for link in chain.engine.history("old").links] == ["supersedes"]

    def test_what_is_sure_leaves_nothing_likely_the_other_way_round(self, chain: Chain) -> None:
        chain.link("old", "mid")
        chain.link("mid", "old", 0.9)
        assert chain.links("old") == [("mid", "old", SURE)]

    def test_superseding_takes_the_place_of_a_likely_link(self, chain: Chain) -> None:
        old, mid = chain.memory("old"), chain.memory("mid")
        with chain.engine.store.write(chain.engine.namespace) as txn:
            txn.statements.supersede(old, mid, "for a test")
        assert chain.links("old") == [("old", "mid", SURE)]
        assert chain.memory("old").superseded_by == "mid"

    def test_an_edit_and_a_removal_take_the_likely_links_with_them(self, chain: Chain) -> None:
        chain.link("new", "old")
        chain.engine.update("mid", content="Snow fell on the roof")
        assert chain.links() == [("old", "new", SURE)]
        chain.link("mid", "old", 0.75)
        chain.engine.forget("mid")
        assert chain.links() == [("old", "new", SURE)]

    def test_what_holds_again_by_hand_is_no_longer_likely_replaced(self, chain: Chain) -> None:
        chain.engine.reinstate("mid")
        assert chain.links() == [("old", "mid", 0.75)]

    def test_what_holds_again_on_its_own_may_still_be_likely_replaced(self, chain: Chain) -> None:
        newest = chain.engine.supersede("old", {"content": "The lamp is broken", "id": "newest"})
        assert [link.target for link in newest.superseded] == ["old"]
        chain.engine.forget("newest")
        assert chain.memory("old").superseded_by is None
        assert chain.links("old") == [("old", "mid", 0.75)]

    def test_an_export_carries_them(self, chain: Chain, tmp_path: Path) -> None:
        chain.link("new", "old")
        chain.engine.export_jsonl(tmp_path / "notes.jsonl")
        other = opened(chain.engine.store)
        other.import_jsonl(tmp_path / "notes.jsonl")
        assert exported(other) == exported(chain.engine)
        links = [(link.target, link.relation, link.chance) for link in other.history("new").links]
        assert links == [("old", "supersedes", SURE), ("mid", "likely", 0.5)]

    def test_what_is_read_is_listed_newest_first_and_without_what_was_replaced(self, chain: Chain) -> None:
        def pairs(after: tuple[int, int] | None = None, limit: int = 9) -> list[tuple[str, str, float]]:
            found = chain.reader.memories.linked("likely", after, limit)
            return [(pair.link.source, pair.link.target, pair.link.chance) for pair in found]

        assert pairs() == [("new", "mid", 0.5), ("mid", "old", 0.75)]
        assert pairs(limit=1) == [("new", "mid", 0.5)]
        assert pairs((chain.memory("new").row, chain.memory("mid").row)) == [("mid", "old", 0.75)]
        assert chain.reader.memories.linked("repeats") == []
        assert opened(chain.engine.store).store.reader("nobody's").memories.linked("likely") == []
        chain.engine.supersede("old", {"content": "The lamp is broken"})
        assert pairs() == [("new", "mid", 0.5)]

    def test_a_near_duplicate_is_linked_until_it_is_edited_or_replaced(self, engine: Engine, tmp_path: Path) -> None:
        engine.remember("Sarah likes green tea", id="a", event_at=day(1))
        engine.remember("Sarah really likes green tea", id="b", event_at=day(2))
        reader = engine.store.reader(engine.namespace)
        (pair,) = reader.memories.linked("repeats")
        assert (pair.link.source, pair.link.target, pair.link.label) == ("b", "a", "repeats (1.00)")
        assert (pair.source, pair.target) == (engine.get("b").row, engine.get("a").row)
        assert reader.memories.successions([pair.target]) == [], "nothing is replaced by it"
        engine.export_jsonl(tmp_path / "notes.jsonl")
        other = opened(engine.store)
        other.import_jsonl(tmp_path / "notes.jsonl")
        assert exported(other) == exported(engine)
        other.update("b", content="The mill has a red door")
        assert other.history("a").links == ()
        with engine.store.write(engine.namespace) as txn:
            txn.statements.supersede(engine.get("a"), engine.get("b"), "for a test")
            txn.memories.link(pair.source, pair.target, "repeats", "for a test", 1.0)
        assert [link.relation for link in engine.history("a").links] == ["supersedes"]

    def test_the_sessions_before_a_moment_come_latest_first(self, pair: StorePair) -> None:
        for number, id in enumerate("abcd", 1):
            at = [f"2025-01-0{number + step}T09:00:00Z" for step in (0, 1)]
            turns = [{"content": time, "id": f"{id} {time}", "session_id": id, "event_at": time} for time in at]
            pair.remember(*turns)

        def before(engine: Engine, hour: int, limit: int) -> list[str]:
            now = datetime(2025, 1, 4, hour, tzinfo=UTC)
            return [session.id for session in engine.store.reader(engine.namespace).sessions.before(now, limit)]

        assert pair.both(lambda engine: before(engine, 9, 9)) == ["b", "a"]
        assert pair.both(lambda engine: before(engine, 10, 9)) == ["c", "b", "a"]
        assert pair.both(lambda engine: before(engine, 10, 1)) == ["c"]

    def test_a_store_that_knows_no_session_has_none_before(self, store: Store) -> None:
        assert opened(store).store.reader("nobody's").sessions.before(day(1), 9) == []
