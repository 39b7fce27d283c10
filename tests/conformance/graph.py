"""The graph: entities and edges read out of texts or put right by hand, and what a walk over them finds."""

from __future__ import annotations

from functools import partial

import pytest

from fivefold.engine import Engine
from fivefold.stores.interface import Store
from fivefold.stores.records import Walk
from fivefold.values.recall_trace import RouteHit
from fivefold.writing.entity_graph import Graph

from .fixtures import StoreFixtures
from .recipes import steady_with
from .store_pair import NOW, StorePair, opened

TEXTS = (
    "Sarah Chen reports to Tom Reed",
    "Sarah met Priya at the pier",
    "Tom Reed owns Kestrel",
    "Priya works at Larkfield",
    "Sam Osei works at Larkfield",
    "Sam Whitfield climbs with Priya",
    "Larkfield makes Kestrel",
    "Sarah met Priya again",
    "Elin is married to Marco",
    "Marco works at Larkfield",
    "my manager is Ravi",
    "Ravi reports to Tom Reed",
)

QUESTIONS = (
    "who does Sarah report to?",
    "what about Sam?",
    "Sarah's boss",
    "my manager",
    "who works at Larkfield?",
    "how is Elin connected to Kestrel through others?",
    "Priya and Kestrel",
)


class GraphLaws(StoreFixtures):
    """Edits are made on both sides, and the walks from every entity compared with their notes."""

    def test_what_is_read_out_of_texts_makes_the_same_graph(self, pair: StorePair) -> None:
        tell(pair)
        _compared(pair)

    def test_relations_that_end_are_kept_as_such(self, pair: StorePair) -> None:
        for month, text in enumerate(("Sarah reports to Tom", "Sarah reports to Nadia", "Tom lives in Leeds"), 1):
            pair.remember({"content": text, "id": f"m{month}", "event_at": f"2025-0{month}-01T00:00:00Z"})
        pair.remember({"content": "My former manager Ravi came by", "id": "former", "speaker": "user"})
        pair.remember({"content": "Tom lives in York", "id": "early", "event_at": "2024-01-01T00:00:00Z"})
        _compared(pair)

    def test_entities_are_added_aliased_and_renamed_alike(self, pair: StorePair) -> None:
        tell(pair)
        edit(pair, Graph.add, "Kestrel II", aliases=["the float", "K2"])
        edit(pair, Graph.alias, "Kestrel", "K1")
        edit(pair, Graph.alias, "Kestrel", "k1")
        edit(pair, Graph.rename, "Sarah Chen", "Sarah Chen-Reed")
        edit(pair, Graph.add, "Nobody", kind="ghost")
        pair.remember({"content": "the float and K1 met Sarah", "id": "later"})
        _compared(pair)

    def test_a_merge_moves_everything(self, pair: StorePair) -> None:
        tell(pair)
        edit(pair, Graph.merge, "Sam Osei", "Sam Whitfield")
        edit(pair, Graph.merge, "Tom Reed", "Ravi")
        edit(pair, Graph.merge, "Priya", "Priya")
        edit(pair, Graph.merge, "Priya", "nobody")
        assert pair.tested.graph.entity("Sam Whitfield").name == "Sam Osei"
        _compared(pair)

    def test_a_split_moves_memories(self, pair: StorePair) -> None:
        tell(pair)
        edit(pair, Graph.split, "Priya", "Priya the climber", ["g05"])
        edit(pair, Graph.split, "Priya", "Priya the third", [])
        pair.remember({"content": "Priya the climber fell", "id": "later"})
        _compared(pair)
        pair.both(lambda engine: engine.doctor(repair=True) and None)
        _compared(pair)

    def test_relations_are_made_changed_and_taken_away_by_hand(self, pair: StorePair) -> None:
        tell(pair)
        edit(pair, Graph.relate, "Elin", "leads", "Larkfield", confidence=0.95)
        edit(pair, Graph.relate, "Elin", "leads", "Larkfield", "lifecycle", 0.5, valid_to="2025-01-01T00:00:00Z")
        edit(pair, Graph.relate, "Marco", "mentioned with", "Priya", "semantic", 1.0)
        edit(pair, Graph.relate, "Marco", "knows", "nobody")
        edit(pair, Graph.relate, "Marco", "knows", "Elin", "odd")
        edit(pair, Graph.relate, "Marco", "knows", "Elin", confidence=0)
        _compared(pair)
        pair.both(lambda engine: engine.graph.unrelate(engine.graph.edges("Elin")[0].id))
        _compared(pair)

    def test_what_was_made_by_hand_outlives_what_is_forgotten(self, pair: StorePair) -> None:
        tell(pair)
        edit(pair, Graph.add, "Lighthouse")
        edit(pair, Graph.relate, "Sarah Chen", "keeps", "Lighthouse")
        edit(pair, Graph.rename, "Marco", "Marco Polo")
        for number in (0, 1, 7, 8, 9):
            pair.both(partial(Engine.forget, id=f"g{number:02}"))
        _compared(pair)

    def test_a_walk_scores_by_hop_confidence_kind_and_freshness(self, engine: Engine) -> None:
        """1.0 for a mention, 0.6 × 0.95 a hop further, 0.35 × 0.95² the next; what has expired counts 0.3 (R6)."""
        for name in ("Alpha", "Bravo", "Charlie", "Delta"):
            engine.remember(f"a note on {name}", id=name)
        for one, other in (("Alpha", "Bravo"), ("Bravo", "Charlie")):
            engine.graph.relate(one, "reports to", other, confidence=0.95)
        engine.graph.relate("Alpha", "left", "Delta", "lifecycle", 1.0, valid_to="2025-01-01T00:00:00Z")
        hits = walked(engine, "Alpha")
        assert {id: round(hit.score, 6) for id, hit in hits.items()} == {
            "Alpha": 1.0,
            "Bravo": 0.57,
            "Charlie": round(0.35 * 0.95**2, 6),
            "Delta": round(0.6 * 0.3 * 0.3, 6),
        }
        assert [hits[id].note for id in ("Alpha", "Bravo", "Charlie", "Delta")] == [
            "mentions Alpha",
            "Alpha —reports to→ Bravo",
            "Alpha —reports to→ Bravo —reports to→ Charlie",
            "Alpha —left→ Delta",
        ]
        assert walked(engine, "Charlie")["Alpha"].note == "Charlie ←reports to— Bravo ←reports to— Alpha"
        assert set(walked(engine, "Alpha", hops=0)) == {"Alpha"}

    def test_a_hub_is_followed_along_its_surest_edges_and_latest_memories(self, engine: Engine) -> None:
        engine.remember_many([{"content": f"note {i} on Hubert", "id": f"n{i}"} for i in range(9)])
        for i in range(12):
            engine.remember(f"a note on Spoke{i:02}", id=f"s{i:02}")
            engine.graph.relate("Hubert", "owns", f"Spoke{i:02}", confidence=(i + 1) / 12)
        assert set(walked(engine, "Hubert", fan_out=3)) == {*(f"n{i}" for i in range(9)), "s11", "s10", "s09"}
        assert set(walked(engine, "Hubert", fan_out=1, per_entity=2)) == {"n8", "n7", "s11"}

    @pytest.mark.parametrize("crowd", [3, 70])
    def test_a_name_of_many_is_resolved_alike(self, store: Store, reference: Store, crowd: int) -> None:
        pair = StorePair(store, reference)
        pair.remember(*({"content": f"Alex Number{i} likes tea and boats", "id": f"a{i:02}"} for i in range(crowd)))
        pair.remember({"content": "my manager is Alex Number1", "id": "x", "speaker": "user"})
        pair.remember({"content": "boats of Alex", "id": "y"}, {"content": "Alex Number2 sails boats", "id": "z"})
        pair.ask("does Alex like boats?", "Alex", recipes=steady_with("routes.graph"))

    def test_entities_that_share_a_name_are_told_apart(self, store: Store) -> None:
        engine = opened(store)
        engine.remember_many(["Sam Whitfield climbs", "Sam Osei sells parts", "Sam called today"])
        assert {item.name for item in engine.graph.entities("sam")} == {"Sam Whitfield", "Sam Osei", "Sam"}


def tell(pair: StorePair) -> None:
    pair.remember(*({"content": text, "id": f"g{i:02}", "speaker": "user"} for i, text in enumerate(TEXTS)))


def edit(pair: StorePair, act: object, *arguments: object, **options: object) -> None:
    """An edit by hand on both sides; one that is refused is refused on both."""
    pair.both(lambda engine: act(engine.graph, *arguments, **options))  # type: ignore[operator]


def walked(engine: Engine, root: str, hops: int = 2, **how: int) -> dict[str, RouteHit]:
    """What a walk from one entity reaches, best first, by memory."""
    reader = engine.store.reader(engine.namespace)
    hits = reader.graph.walk([(engine.graph.entity(root).id, 1.0)], Walk(NOW, hops, **how), 100)  # type: ignore[arg-type]
    memories = reader.memories.fetch([hit.row for hit in hits])
    return {memories[hit.row].id: hit for hit in hits}


def _compared(pair: StorePair) -> None:
    def walks(engine: Engine) -> dict[str, list[list[object]]]:
        names = [item.name for item in engine.graph.entities(limit=100)]
        return {
            name: [[id, hit.score, hit.note, hit.factor] for id, hit in walked(engine, name).items()] for name in names
        }

    pair.both(walks)
    pair.ask(*QUESTIONS, recipes=steady_with("routes.graph"))
    pair.same()
