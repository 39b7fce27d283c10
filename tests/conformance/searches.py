"""Single searches of a namespace, their hits by id."""

from __future__ import annotations

from fivefold.engine import Engine
from fivefold.text.lexemes import lexemes
from fivefold.values.filters import Filter
from fivefold.values.recall_trace import RouteHit
from fivefold.values.vectors import VectorField

from .vectors import WordVectors

Ranking = list[tuple[str, float]]
ALL = Filter()


def dense(engine: Engine, text: str, depth: int = 50, keep: Filter = ALL, where: VectorField = "full") -> Ranking:
    """What lies nearest to a text, by id."""
    reader = engine.store.reader(engine.namespace)
    space = reader.search.vector_space()
    assert space is not None
    vector = WordVectors(space.dimension).embed([text])[0]
    return _by_id(engine, reader.search.dense(space, where, vector, depth, keep))


def words(
    engine: Engine, text: str, depth: int = 50, keep: Filter = ALL, sessions: bool = False, multiplied: bool = False
) -> Ranking:
    """What shares words with a text, by id."""
    reader = engine.store.reader(engine.namespace)
    asked = list(dict.fromkeys(lexemes(text)))
    return _by_id(engine, reader.search.lexical(asked, depth, keep, sessions=sessions, multiplied=multiplied))


def _by_id(engine: Engine, hits: list[RouteHit]) -> Ranking:
    memories = engine.store.reader(engine.namespace).memories.fetch([hit.row for hit in hits])
    return [(memories[hit.row].id, hit.score) for hit in hits]
