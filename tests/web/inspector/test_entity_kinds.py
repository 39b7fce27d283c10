"""Kinds of entities in the picture: by name, by what is stored, by what relations tell."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

import fivefold
from fivefold.values.entities import CO_MENTION, Edge, Entity
from fivefold.web.inspector.graph import RelationReader, kind_of

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def edge(source: int, relation: str, target: int) -> Edge:
    return Edge(1, "a", relation, "b", "structural", 0.9, 1, None, None, source, target)


@pytest.mark.parametrize(
    ("edges", "kind"),
    [
        ([edge(1, "lives in", 7)], "place"),
        ([edge(7, "lives in", 1)], "person"),
        ([edge(1, "works at", 7)], "organisation"),
        ([edge(7, "dentist of", 1)], "person"),
        ([edge(7, "part of", 1)], "organisation"),
        ([edge(1, "owns", 7)], "other"),
        ([edge(7, CO_MENTION, 1), edge(1, "located in", 7)], "place"),
        ([], "other"),
    ],
)
def test_relations_tell_what_an_entity_is(edges: list[Edge], kind: str) -> None:
    assert kind_of(Entity(7, "Larkfield", "name", 3), edges) == kind


def test_the_user_and_stored_kinds_come_first() -> None:
    assert kind_of(Entity(7, "user", "name", 0), [edge(7, "lives in", 1)]) == "user"
    assert kind_of(Entity(7, "JIRA-9921", "identifier", 2), [edge(1, "lives in", 7)]) == "identifier"


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
