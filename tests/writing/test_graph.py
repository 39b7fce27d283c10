"""The entity graph: hand-computed scores of R6, edges read out of texts, and putting them right by hand."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import product

import pytest

import fivefold
from fivefold.engine import Engine
from fivefold.stores.records import Walk
from fivefold.values.entities import EDGE_KINDS, Entity
from fivefold.values.filters import Filter
from fivefold.values.recall_trace import RouteHit
from fivefold.writing.entity_graph import Graph
from tests.support.toy_engine import toy

NOW = datetime(2025, 12, 20, tzinfo=UTC)


def hits(engine: Engine, root: str, hops: int = 2, confidence: float = 1.0, **how: float) -> dict[str, RouteHit]:
    """What a walk from one entity reaches, by memory id."""
    reader = engine.store.reader(engine.namespace)
    found = reader.graph.walk([(engine.graph.entity(root).id, confidence)], Walk(NOW, hops, **how), 100)  # type: ignore[arg-type]
    memories = reader.memories.fetch([hit.row for hit in found])
    return {memories[hit.row].id: hit for hit in found}


@pytest.fixture
def chain(engine: Engine) -> Engine:
    """Four entities in a row, one memory for each, edges made by hand with confidence 0.95."""
    for name in ("Alpha", "Bravo", "Charlie", "Delta"):
        engine.remember(f"a note on {name}", id=name)
    for one, other in (("Alpha", "Bravo"), ("Bravo", "Charlie"), ("Charlie", "Delta")):
        engine.graph.relate(one, "reports to", other, confidence=0.95)
    return engine


def test_R7_adding_a_known_name_gives_the_entity_that_is_there(engine: Engine) -> None:
    engine.remember("Sarah Chen works at Northwind", id="work")
    known = engine.graph.entity("Sarah Chen")
    again = engine.graph.add("sarah chen", "person", aliases=["Sari"])
    assert (again.id, again.name) == (known.id, "Sarah Chen")
    assert engine.graph.add("Northwind").id == engine.graph.entity("Northwind").id
    engine.graph.relate("Sarah Chen", "reports to", "Northwind")
    engine.forget("work")
    assert engine.graph.entity("Sari").id == known.id


def test_a_direct_mention_scores_one(chain: Engine) -> None:
    hit = hits(chain, "Alpha")["Alpha"]
    assert (hit.score, hit.factor, hit.note) == (1.0, 1.0, "mentions Alpha")


def test_one_structural_hop_scores_057(chain: Engine) -> None:
    """The document's own example: 0.6 × 0.95 × 1.0 × 1.0 = 0.57."""
    hit = hits(chain, "Alpha")["Bravo"]
    assert hit.score == pytest.approx(0.57)
    assert (hit.factor, hit.note) == (0.8, "Alpha —reports to→ Bravo")


def test_two_hops_score_035_and_the_confidences(chain: Engine) -> None:
    hit = hits(chain, "Alpha")["Charlie"]
    assert hit.score == pytest.approx(0.35 * 0.95 * 0.95)
    assert hit.note == "Alpha —reports to→ Bravo —reports to→ Charlie"


def test_three_hops_are_only_walked_when_asked(chain: Engine) -> None:
    assert "Delta" not in hits(chain, "Alpha")
    assert hits(chain, "Alpha", hops=3)["Delta"].score == pytest.approx(0.15 * 0.95**3)


def test_an_expired_lifecycle_edge_two_hops_away_is_noise(engine: Engine) -> None:
    """The document's own example: 0.35 × 0.95 × 0.3 × 0.3 ≈ 0.030."""
    for name in ("Alpha", "Bravo", "Charlie"):
        engine.remember(f"a note on {name}", id=name)
    engine.graph.relate("Alpha", "part of", "Bravo", confidence=1.0)
    engine.graph.relate(
        "Bravo", "reports to", "Charlie", kind="lifecycle", confidence=0.95, valid_to="2025-01-01T00:00:00Z"
    )
    assert hits(engine, "Alpha")["Charlie"].score == pytest.approx(0.030, abs=5e-4)


def test_a_semantic_edge_counts_09(engine: Engine) -> None:
    engine.remember("a note on Alpha", id="Alpha")
    engine.remember("a note on Bravo", id="Bravo")
    engine.graph.relate("Alpha", "mentioned with", "Bravo", kind="semantic", confidence=1.0)
    assert hits(engine, "Alpha")["Bravo"].score == pytest.approx(0.6 * 0.9)


def test_an_edge_that_has_not_ended_yet_is_fresh(engine: Engine) -> None:
    engine.remember("a note on Alpha", id="Alpha")
    engine.remember("a note on Bravo", id="Bravo")
    engine.graph.relate("Alpha", "works at", "Bravo", confidence=1.0, valid_to="2030-01-01T00:00:00Z")
    assert hits(engine, "Alpha")["Bravo"].score == pytest.approx(0.6)


def test_edges_are_walked_against_their_direction_too(chain: Engine) -> None:
    assert hits(chain, "Bravo")["Alpha"].note == "Bravo ←reports to— Alpha"


def test_the_best_path_wins(chain: Engine) -> None:
    chain.graph.relate("Alpha", "part of", "Charlie", confidence=0.9)
    assert hits(chain, "Alpha")["Charlie"].score == pytest.approx(0.6 * 0.9)


def test_an_unsure_root_counts_by_its_confidence(chain: Engine) -> None:
    assert hits(chain, "Alpha", confidence=0.5)["Bravo"].score == pytest.approx(0.285)


@pytest.mark.slow
def test_a_hub_is_followed_along_its_surest_edges_only(engine: Engine) -> None:
    engine.remember("a note on Hubert", id="hub")
    for i in range(40):
        engine.remember(f"a note on Spoke{i:02}", id=f"s{i:02}")
        engine.graph.relate("Hubert", "owns", f"Spoke{i:02}", confidence=(i + 1) / 40)
    reached = hits(engine, "Hubert", fan_out=5)
    assert set(reached) == {"hub", "s39", "s38", "s37", "s36", "s35"}


def test_a_hub_gives_its_latest_memories_only(engine: Engine) -> None:
    engine.remember_many([{"content": f"note {i} on Hubert", "id": f"n{i}"} for i in range(30)])
    assert set(hits(engine, "Hubert", per_entity=4)) == {"n26", "n27", "n28", "n29"}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_R6_leaving_out_what_can_give_nothing_changes_no_answer(engine: Engine, seed: int) -> None:
    """Among the rows of a filter nothing is left out beforehand, so one that all pass gives every way's answer."""
    chance = random.Random(seed)
    names = [f"{letter}lpine" for letter in "ABCDEFGHIJKLMNOP"]
    engine.remember_many({"content": f"{' met '.join(chance.sample(names, 2))}, {i}"} for i in range(60))
    for one, other in (chance.sample(names, 2) for _ in range(40)):
        kind = chance.choice(EDGE_KINDS)
        engine.graph.relate(one, chance.choice("xy"), other, kind, chance.choice((0.2, 0.5, 1.0)))
    reader = engine.store.reader(engine.namespace)
    roots = [(engine.graph.entity(name).id, chance.choice((0.1, 0.6, 1.0))) for name in chance.sample(names, 3)]
    everything = Filter(kinds=("note",))
    for hops, depth, scores in product(range(4), (1, 2, 5, 100), ((1.0, 0.6, 0.35, 0.15), (0.2, 0.2, 0.9, 0.9))):
        how = Walk(NOW, hops, scores, fan_out=8, per_entity=5)
        assert reader.graph.walk(roots, how, depth) == reader.graph.walk(roots, how, depth, everything)


# what the write path builds


def relations(engine: Engine, name: str) -> set[tuple[str, str, str, str]]:
    return {(edge.source, edge.relation, edge.target, edge.kind) for edge in engine.graph.edges(name)}


def test_names_told_together_are_tied_ever_more_surely(engine: Engine) -> None:
    for i in range(3):
        engine.remember(f"Day {i}: Sarah met Priya at the pier")
    tie = engine.graph.edges("Sarah")[0]
    assert (tie.relation, tie.kind, tie.count, tie.confidence) == ("mentioned with", "semantic", 3, 0.75)


def test_relations_are_read_out_of_the_text(engine: Engine) -> None:
    engine.remember("Sarah reports to Tom", speaker="user")
    engine.remember("Elin is married to Marco", speaker="user")
    assert ("Sarah", "reports to", "Tom", "structural") in relations(engine, "Sarah")
    assert ("Elin", "married to", "Marco", "structural") in relations(engine, "Marco")


def test_a_relation_that_ended_is_a_lifecycle_edge(engine: Engine) -> None:
    engine.remember("My former manager Ravi came by", speaker="user", event_at="2025-03-01T00:00:00Z")
    edge = next(edge for edge in engine.graph.edges("Ravi") if edge.relation == "reports to")
    assert (edge.kind, edge.source) == ("lifecycle", "user")
    assert edge.valid_to is not None


def test_a_new_target_ends_the_old_edge(engine: Engine) -> None:
    engine.remember("Sarah reports to Tom", event_at="2025-01-01T00:00:00Z")
    engine.remember("Sarah reports to Nadia", event_at="2025-06-01T00:00:00Z")
    edges = {edge.target: edge for edge in engine.graph.edges("Sarah") if edge.relation == "reports to"}
    assert (edges["Tom"].kind, edges["Nadia"].kind) == ("lifecycle", "structural")
    assert edges["Tom"].valid_to == datetime(2025, 6, 1, tzinfo=UTC)


def test_forgetting_takes_edges_and_entities_along(engine: Engine) -> None:
    kept = engine.remember("Sarah met Priya at the pier").id
    gone = engine.remember("Sarah reports to Tom").id
    engine.forget(gone)
    assert {edge.relation for edge in engine.graph.edges("Sarah")} == {"mentioned with"}
    with pytest.raises(fivefold.NotFound, match="no entity 'Tom'"):
        engine.graph.entity("Tom")
    engine.forget(kept)
    assert engine.stats().edges == 0
    assert engine.stats().entities == 0


def test_a_rebuild_gives_the_same_graph(engine: Engine) -> None:
    engine.remember_many(["Sarah reports to Tom", "Sarah met Priya", "Tom owns Kestrel", "Sarah met Priya again"])
    before = [(edge.source, edge.relation, edge.target, edge.count) for edge in engine.graph.edges("Sarah")]
    engine.doctor(repair=True)
    assert [(edge.source, edge.relation, edge.target, edge.count) for edge in engine.graph.edges("Sarah")] == before


def test_a_first_name_means_the_one_full_name_it_is_part_of(engine: Engine) -> None:
    engine.remember("Sarah is new here")
    engine.remember("Sarah Chen knows amplifiers")
    engine.remember("I had lunch with Sarah")
    entity = engine.graph.entity("Sarah")
    assert (entity.name, entity.links) == ("Sarah Chen", 3)


def test_a_title_grows_into_the_name_and_a_greeting_does_not(engine: Engine) -> None:
    engine.remember_many(
        ["Kestrel drifts", "Project Kestrel is late", "Bertil bubbles", "we said O Bertil and laughed"]
    )
    assert engine.graph.entity("Kestrel").name == "Project Kestrel"
    assert not engine.graph.entities("project")
    assert engine.graph.entity("Bertil").name == "Bertil"


def test_a_first_name_of_two_people_stays_apart(engine: Engine) -> None:
    engine.remember_many(["Sam Whitfield climbs", "Sam Osei sells parts", "Sam called today"])
    assert {entity.name for entity in engine.graph.entities("Sam")} == {"Sam Whitfield", "Sam Osei", "Sam"}


def people(engine: Engine, name: str) -> dict[str, set[str]]:
    """The ids of the memories of each entity under that name."""
    return {
        entity.name: {memory.id for memory in engine.graph.memories(entity.id)}
        for entity in engine.graph.entities(name)
    }


def chat(engine: Engine, *texts: str, speaker: str = "user") -> None:
    """Messages on one day each; a memory's id is its place."""
    for day, text in enumerate(texts, 1):
        engine.remember(text, id=str(day), speaker=speaker, event_at=f"2025-03-{day:02}T10:00:00Z")


def test_two_full_names_are_two_people_whichever_comes_first(engine: Engine) -> None:
    chat(
        engine,
        "My cousin Sam is staying with us",
        "Sam Whitfield is the new manager",
        "Sam Okafor, my cousin, passed the test",
        "My manager Sam wants reports",
        "Sam was on holiday all week",
    )
    assert people(engine, "Sam") == {"Sam Okafor": {"1", "3"}, "Sam Whitfield": {"2", "4"}, "Sam": {"5"}}
    engine.doctor(repair=True)
    assert people(engine, "Sam")["Sam Whitfield"] == {"2", "4"}


def test_a_bare_name_means_whoever_the_session_speaks_of(engine: Engine) -> None:
    engine.remember_many(
        {"content": text, "id": id, "session_id": session, "speaker": "user", "event_at": f"2025-03-0{day}T10:00:00Z"}
        for day, session, id, text in (
            (1, "a", "1", "Ben Adler is my dentist"),
            (2, "b", "2", "My brother Ben Osei is here"),
            (3, "c", "3", "Ben Adler has a new chair"),
            (3, "c", "4", "Ben wants to see me again in May"),
        )
    )
    assert people(engine, "Ben") == {"Ben Adler": {"1", "3", "4"}, "Ben Osei": {"2"}}


def test_a_nickname_and_a_word_of_kinship_mean_the_person(engine: Engine) -> None:
    chat(
        engine,
        "Robert is next door, everybody calls him Bob",
        "Bob has our spare key",
        "My sister Anna sings",
        "My sister plays the cello",
    )
    assert people(engine, "Bob") == {"Robert": {"1", "2"}}
    assert people(engine, "Anna") == {"Anna": {"3", "4"}}


def test_what_others_say_of_the_user_by_name_is_about_the_user(engine: Engine) -> None:
    engine.remember("I'm Marit Solheim, nice to meet you", speaker="user")
    engine.remember("Marit lives in Bergen with her husband Jonas", speaker="assistant", id="note")
    assert ("user", "lives in", "Bergen", "structural") in relations(engine, "user")
    assert ("user", "married to", "Jonas", "structural") in relations(engine, "Jonas")
    engine.remember("Marit from choir lives in Oslo", speaker="user", id="choir")
    assert people(engine, "Marit")["Marit"] == {"choir"}


# by hand


def test_entities_can_be_added_aliased_and_renamed(engine: Engine) -> None:
    made = engine.graph.add("Kestrel", aliases=["the float"])
    engine.graph.alias("Kestrel", "K1")
    assert engine.graph.entity("k1").id == engine.graph.entity("The Float").id == made.id
    engine.graph.rename("Kestrel", "Project Kestrel")
    assert engine.graph.entity("kestrel").name == "Project Kestrel"


def test_a_merge_moves_everything_and_survives_a_rebuild(engine: Engine) -> None:
    engine.remember_many(["Bob Stone met Ann", "Robert Stone likes tea", "Robert Stone met Ann"])
    engine.graph.merge("Robert Stone", "Bob Stone")
    assert engine.graph.entity("Bob Stone").name == "Robert Stone"
    assert engine.graph.entity("Robert Stone").links == 3
    engine.doctor(repair=True)
    assert engine.graph.entity("Bob Stone").links == 3
    with pytest.raises(fivefold.InvalidInput, match="merged into itself"):
        engine.graph.merge("Bob Stone", "Robert Stone")


def test_a_split_moves_memories_and_survives_a_rebuild(engine: Engine) -> None:
    first = engine.remember("Alex sings").id
    second = engine.remember("Alex repairs bikes").id
    engine.graph.split("Alex", "Alex the mechanic", [second])
    engine.doctor(repair=True)
    assert set(hits(engine, "Alex the mechanic", hops=0)) == {second}
    assert set(hits(engine, "Alex", hops=0)) == {first}


def test_a_split_undoes_a_merge_with_what_was_stated(engine: Engine) -> None:
    chat(engine, "Sam Okafor is my cousin", "Sam Whitfield is my boss", "Sam Whitfield lives in Leeds")

    def known(name: str) -> tuple[object, ...]:
        return people(engine, name), {one for one in relations(engine, name) if one[3] != "semantic"}

    before = known("Sam Okafor"), known("Sam Whitfield")
    kept = engine.graph.merge("Sam Okafor", "Sam Whitfield")
    engine.graph.split(kept.id, "Sam Whitfield", ["2", "3"])
    assert (known("Sam Okafor"), known("Sam Whitfield")) == before
    engine.doctor(repair=True)
    assert (known("Sam Okafor"), known("Sam Whitfield")) == before


def test_an_ambiguous_name_lists_who_may_be_meant(engine: Engine) -> None:
    engine.remember_many(["Sam Whitfield climbs", "Sam Osei sells parts"])
    with pytest.raises(fivefold.InvalidInput, match=r"'Sam' may be Sam .* \(id \d+\), Sam"):
        engine.graph.entity("Sam")


def test_edges_can_be_taken_away(chain: Engine) -> None:
    edge = chain.graph.edges("Alpha")[0]
    chain.graph.unrelate(edge.id)
    assert len(chain.graph.edges("Alpha")) == 0
    with pytest.raises(fivefold.NotFound):
        chain.graph.unrelate(edge.id)


@pytest.mark.parametrize(("change", "said"), [({"kind": "odd"}, "kind 'odd'"), ({"confidence": 0}, "confidence must")])
def test_bad_edges_are_refused(chain: Engine, change: dict[str, object], said: str) -> None:
    with pytest.raises(fivefold.InvalidInput, match=said):
        chain.graph.relate("Alpha", "owns", "Delta", **change)  # type: ignore[arg-type]


def test_forgetting_takes_away_only_ties_the_memory_had_made(engine: Engine) -> None:
    """Of a long list of names only the first few are tied, so only those ties end with it."""
    names = "Anna, Boris, Clara, David, Elena, Frank, Greta, Hannah, Irene and Jakob"
    (crowd,) = engine.remember(f"We saw {names} at Henley").stored
    engine.remember("Irene met Jakob at Kew")
    before = [(edge.target, edge.count) for edge in engine.graph.edges("Irene")]
    engine.forget(crowd)
    assert [(edge.target, edge.count) for edge in engine.graph.edges("Irene")] == before == [("Jakob", 1), ("Kew", 1)]


@pytest.mark.parametrize("act", ["alias", "rename", "relate"])
def test_an_entity_that_another_writer_merges_meanwhile_is_a_clear_error(
    act: str, store_path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with toy(store_path) as engine, toy(store_path) as other:
        one, two, three = [engine.graph.add(name).id for name in ("Alpha", "Bravo", "Charlie")]
        look = Graph.entity

        def entity(self: Graph, which: str | int) -> Entity:
            found = look(self, which)
            monkeypatch.setattr(Graph, "entity", look)
            other.graph.merge(two, one)
            return found

        monkeypatch.setattr(Graph, "entity", entity)
        acts: dict[str, Callable[[], object]] = {
            "alias": lambda: engine.graph.alias(one, "Zulu"),
            "rename": lambda: engine.graph.rename(one, "Zulu"),
            "relate": lambda: engine.graph.relate(one, "knows", three),
        }
        with pytest.raises(fivefold.StoreError, match=r"another process changed .* nothing was written, try again"):
            acts[act]()
        assert [item.name for item in engine.graph.entities()] == ["Bravo", "Charlie"]
        assert all(finding.ok for finding in engine.doctor())
