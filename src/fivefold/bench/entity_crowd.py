"""A crowd of entities around the memories of a speed measurement: rows written straight into the tables."""

from __future__ import annotations

import random
from collections.abc import Iterator

import apsw

FIRST = (
    "Ada Bo Cleo Dara Edo Fay Gus Hana Ida Jon Kim Lou Mae Ned Ola Pia Quin Rosa Sol Tia Uma Vik Wyn Yan Zoe".split()
)
LAST = (
    "Adeyo Brandt Castel Dunmore Eskola Farrow Gantz Holm Ibarra Jensen Kovac Lindt Moreau Novak Okoye Prasad".split()
)


def name(number: int) -> str:
    """A name nobody shares: first name, last name, number."""
    return f"{FIRST[number % len(FIRST)]} {LAST[number // len(FIRST) % len(LAST)]} {number}"


def add_entities(
    connection: apsw.Connection, namespace: int, entities: int, links: int, edges: int, seed: int = 3
) -> None:
    """Add entities, linked to the namespace's memories and to each other; a few of them are hubs."""
    chance = random.Random(seed)
    memories = [row for (row,) in connection.execute("SELECT row FROM memories WHERE namespace = ?", (namespace,))]
    first = connection.execute("SELECT coalesce(max(key), 0) + 1 FROM entities").fetchall()[0][0]
    assert isinstance(first, int)
    keys = range(first, first + entities)
    with connection:
        connection.executemany(
            "INSERT INTO entities VALUES (?, ?, ?, 'name', 0, 0, 0)",
            ((key, namespace, name(key - first)) for key in keys),
        )
        connection.executemany(
            "INSERT OR IGNORE INTO entity_aliases VALUES (?, ?, ?, ?)", _aliases(keys, first, namespace)
        )
        connection.executemany(
            "INSERT OR IGNORE INTO links (memory, entity, namespace, count) VALUES (?, ?, ?, 1)",
            ((chance.choice(memories), _skewed_key(chance, keys), namespace) for _ in range(links)),
        )
        connection.executemany(
            "INSERT OR IGNORE INTO edges (namespace, source, target, relation, kind, confidence, count) "
            "VALUES (?, ?, ?, 'mentioned with', 'semantic', ?, 1)",
            ((namespace, _skewed_key(chance, keys), chance.choice(keys), chance.random()) for _ in range(edges)),
        )


def _aliases(keys: range, first: int, namespace: int) -> Iterator[tuple[int, str, int, int]]:
    for key in keys:
        whole = name(key - first).casefold()
        yield namespace, whole, key, 0
        yield namespace, whole.split()[0], key, 1


def _skewed_key(chance: random.Random, keys: range) -> int:
    """A few keys come often, most of them rarely."""
    return (
        keys[min(int(chance.paretovariate(0.6)) - 1, len(keys) - 1)] if chance.random() < 0.5 else chance.choice(keys)
    )
