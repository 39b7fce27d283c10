"""Namespaces: nothing another one holds is seen from here or changes what is seen, however alike their names."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fivefold.engine import Engine
from fivefold.errors import InvalidInput, NotFound
from fivefold.stores.interface import Store

from .fixtures import StoreFixtures
from .store_pair import answers, contents_of, exported, new_namespace, opened, same_answers
from .strategies import examined, records
from .vectors import WordVectors

ALIKE = (
    "{}",
    "{}a",
    "{}A",
    "{}á",
    "{}a\u0301",
    "{}а",
    "{}ａ",
    "{}a\u200b",
    "{}\u200ba",
    "{}a.",
    "{}a%",
    "{}_",
    "{}a b",
    "{}a  b",
    "{}'a'",
    '{}"a"',
    "{}a;",
    "{}a/b",
    "{}ß",
    "{}ss",
    "{}ẞ",
    "{}I",
    "{}ı",
    "{}İ",
    "{}🎉",
    "{}null",
    "{}0",
    "{}00",
    "{}*",
)
"""Names that a careless comparison takes for one: case, accents, look-alike letters, invisible ones, wildcards."""


class NamespaceLaws(StoreFixtures):
    """A namespace is alone in the world."""

    def test_names_that_look_alike_are_different_namespaces(self, store: Store) -> None:
        base = new_namespace()
        names = [pattern.format(base) for pattern in ALIKE]
        for number, name in enumerate(names):
            engine = Engine(store, name, WordVectors())
            assert engine.stats().memories == 0, f"{name!r} sees what another namespace holds"
            engine.remember(f"Sarah{number} keeps secret number {number}", id="same")
            engine.configure(recent_days=number + 1)
        for number, name in enumerate(names):
            engine = Engine(store, name, WordVectors())
            assert engine.get("same").content == f"Sarah{number} keeps secret number {number}"
            assert [hit.memory.namespace for hit in engine.recall("secret number")] == [name]
            assert (engine.stats().memories, engine.settings.recent_days) == (1, number + 1)
            assert [item.name for item in engine.graph.entities()] == [f"Sarah{number}"]
        assert [name for name in store.namespaces() if name in names] == sorted(names)

    def test_space_around_a_name_is_no_part_of_it(self, store: Store) -> None:
        name = new_namespace()
        Engine(store, name, WordVectors()).remember("here", id="x")
        assert Engine(store, f" {name} ", WordVectors()).get("x").content == "here"

    @settings(examined, max_examples=10)
    @given(mine=st.lists(records, min_size=1, max_size=6), theirs=st.lists(records, min_size=1, max_size=6))
    def test_nothing_another_namespace_holds_changes_an_answer(
        self, store: Store, reference: Store, mine: list[dict[str, object]], theirs: list[dict[str, object]]
    ) -> None:
        """A neighbour with the same words changes nothing: it answers as it does alone in the reference."""
        alone, accompanied, neighbour = opened(reference), opened(store), opened(store)
        neighbour.remember_many(_contents(theirs))
        neighbour.configure(timezone="Asia/Tokyo", hops=0)
        for engine in (alone, accompanied):
            engine.remember_many(_contents(mine))
        neighbour.remember_many([{**record, "id": f"late{i}"} for i, record in enumerate(theirs + mine)])
        for id in neighbour.store.reader(neighbour.namespace).memories.existing_ids(["m0", "late0"]):
            neighbour.forget(id)
        same_answers(answers(alone, "tea with Sarah's boss"), answers(accompanied, "tea with Sarah's boss"))
        assert exported(alone) == exported(accompanied)
        same = ("sessions", "entities", "edges", "settings")
        assert [contents_of(alone)[part] for part in same] == [contents_of(accompanied)[part] for part in same]

    def test_ids_of_another_namespace_are_unknown_here(self, store: Store) -> None:
        here, there = opened(store), opened(store)
        here.remember("only here, said Sarah", id="x", session_id="s")
        there.remember("only there")
        answer = here.recall("only here")
        entity = here.graph.entity("Sarah").id
        for call in (
            lambda: there.get("x"),
            lambda: there.forget("x"),
            lambda: there.update("x", content="taken over"),
            lambda: there.supersede("x", "taken over"),
            lambda: there.reinstate("x"),
            lambda: there.forget_session("s"),
            lambda: there.feedback(answer.id, used=["x"]),
            lambda: there.graph.entity("Sarah"),
            lambda: there.graph.split("Sarah", "Bo", ["x"]),
        ):
            with pytest.raises(NotFound):
                call()
        with pytest.raises(InvalidInput, match="was made in namespace"):
            there.feedback(answer, used=["x"])
        assert not there.sessions()
        assert [item.name for item in there.graph.entities()] == []
        assert here.get("x").content == "only here, said Sarah"
        assert here.graph.entity(entity).name == "Sarah"

    def test_rows_and_entities_of_another_namespace_give_nothing(self, store: Store) -> None:
        """Numbers that leak from elsewhere, as through a bug in a query, lead nowhere."""
        here, there = opened(store), opened(store)
        for i in range(5):
            here.remember(f"Sarah met Tom{i} here", id=f"h{i}", session_id="s")
        there.remember("nothing of that")
        reader = there.store.reader(there.namespace)
        own = there.store.reader(there.namespace).memories.scan()[0][0].row
        rows = [here.get(f"h{i}").row for i in range(5)]
        keys = [item.id for item in here.graph.entities()]
        strangers = [row for row in rows if row != own]
        assert set(reader.memories.fetch(rows)) <= {own}
        assert reader.sessions.neighbours(strangers) == {}
        assert reader.memories.links(strangers) == {}
        assert reader.graph.entities_by_key(keys) == []
        assert [edge for key in keys for edge in reader.graph.edges(key, 10)] == []
        assert [entity for key in keys for entity in reader.graph.find_related(key, ["mentioned with"], False)] == []

    def test_the_same_id_may_live_in_two_namespaces(self, store: Store) -> None:
        one, other = opened(store), opened(store)
        for engine, text in ((one, "this is one"), (other, "this is the other")):
            engine.remember(text, id="x", session_id="s")
        one.forget("x")
        assert other.get("x").content == "this is the other"
        assert (one.stats().memories, other.stats().memories) == (0, 2)

    def test_what_is_learned_in_one_is_not_known_in_another(self, store: Store) -> None:
        engines = [opened(store) for _ in range(3)]
        for engine in engines:
            engine.remember_many([{"content": f"tea number {i}", "id": f"t{i}"} for i in range(5)])
        for _ in range(3):
            answer = engines[0].recall("tea", recipe="ditto")
            engines[0].feedback(answer, used=[answer[2].memory.id])
        assert engines[0].learned().weights.count == 3
        assert (engines[0].stats().feedback, engines[0].stats().recalls) == (3, 3)
        for engine in engines[1:]:
            assert engine.learned().weights.count == 0
            assert (engine.stats().feedback, engine.stats().recalls) == (0, 0)

    def test_each_may_have_an_embedder_of_its_own(self, store: Store) -> None:
        small, large = opened(store, embedder=WordVectors(16)), opened(store, embedder=WordVectors(48))
        for engine in (small, large):
            engine.remember_many([{"content": f"tea number {i}", "id": f"t{i}"} for i in range(5)])
        for one, other in permutations((small, large)):
            assert (one.stats().vectors, one.recall("tea number 3", recipe="dense")[0].memory.id) == (5, "t3")
            assert one.stats().embedder != other.stats().embedder


def _contents(records: list[dict[str, object]]) -> list[dict[str, object]]:
    return [{**record, "id": f"m{i}"} for i, record in enumerate(records)]
