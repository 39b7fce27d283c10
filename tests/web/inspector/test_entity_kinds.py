"""The kinds that entities are stored with, and relations that are said twice."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import apsw

import fivefold
from fivefold.web.inspector.graph import RelationReader

KINDS = {
    "We moved to Porto in May.": {"Porto": "place"},
    "My sister Ildikó has a new job at Brightwater Foods.": {"Ildikó": "person", "Brightwater Foods": "organisation"},
    "Dr. Vasquez-Holm retires in June.": {"Vasquez-Holm": "person"},
    "Our plumber Szymon can't come before Friday.": {"Szymon": "person"},
    "Szymon said the boiler is fine.": {"Szymon": "person"},
    "The parcel goes to 12 Quarrel Lane.": {"Quarrel Lane": "place"},
    "The Kestrel needs a new sail.": {"Kestrel": "name"},
    "I joined Halvorsen Logistics on Monday.": {"Halvorsen Logistics": "organisation"},
    "Florence told me about it.": {"Florence": "person"},
    "We speak Welsh at home with my cousin Carys.": {"Carys": "person"},
    "The invoice has the number INV-20931.": {"INV-20931": "identifier"},
}


def test_texts_tell_what_an_entity_is(tmp_path: Path) -> None:
    with fivefold.open(tmp_path / "m.db") as memory:
        memory.remember_many([{"content": text, "speaker": "user"} for text in KINDS])
        kinds = {entity.name: entity.kind for entity in memory.graph.entities(limit=50)}
    wanted = {name: kind for named in KINDS.values() for name, kind in named.items()}
    assert {name: kinds.get(name) for name in wanted} == wanted


def test_the_kind_that_most_texts_tell_wins_and_a_merge_or_a_hand_keeps_it(tmp_path: Path) -> None:
    with fivefold.open(tmp_path / "m.db") as memory:
        memory.remember("I dreamt of Florence.")
        assert memory.graph.entity("Florence").kind == "person"
        memory.remember_many([{"content": "I flew to Florence."}, {"content": "The flat in Florence is small."}])
        assert memory.graph.entity("Florence").kind == "place"
        memory.remember("Florence laughed.")
        assert memory.graph.entity("Florence").kind == "place"
        memory.remember_many([{"content": "The Zundel needs paint."}, {"content": "I asked Zundie."}])
        memory.graph.merge("Zundel", "Zundie")
        assert memory.graph.entity("Zundel").kind == "person"
        memory.graph.add("Mercer", "organisation")
        memory.remember("My brother Mercer laughed.")
        assert memory.graph.entity("Mercer").kind == "organisation"


def test_a_repair_tells_the_kinds_of_an_older_store(tmp_path: Path) -> None:
    with fivefold.open(tmp_path / "m.db") as memory:
        memory.remember_many([{"content": text} for text in ("I flew to Lucca.", "The flat in Lucca is small.")])
    with closing(apsw.Connection(str(tmp_path / "m.db"))) as file:
        file.execute("UPDATE memories SET extracted = replace(extracted, '\"place\"', '\"name\"')")
        file.execute("UPDATE entities SET kind = 'name'")
    with fivefold.open(tmp_path / "m.db") as memory:
        assert memory.graph.entity("Lucca").kind == "name"
        memory.doctor(repair=True)
        assert memory.graph.entity("Lucca").kind == "place"
        memory.remember("Lucca said so.")
        assert memory.graph.entity("Lucca").kind == "place", "the older texts count"


def test_a_relation_that_is_said_from_both_ends_is_one(tmp_path: Path) -> None:
    said = (
        "Malte is Jonte's father.",
        "Jonte is Malte's son.",
        "My sister Petra lives in Whitby.",
        "Petra is my sibling.",
    )
    with fivefold.open(tmp_path / "m.db") as memory:
        memory.remember_many([{"content": text} for text in said])
        reader = RelationReader(memory.graph, datetime.now(UTC))
        found = {
            entity.name: [item.edge.relation for item in reader.of(entity.id) if item.stated]
            for entity in memory.graph.entities(limit=20)
        }
    assert found["Malte"] == found["Jonte"] == ["father of"]
    assert found["user"] == ["sister of"]
