"""What has ended steps back behind what replaced it."""

from __future__ import annotations

from dataclasses import dataclass

from fivefold.retrieval.routes import SearchContext
from fivefold.retrieval.stages.base import Pool
from fivefold.values.fields import number
from fivefold.values.memory import Memory
from fivefold.values.recall import Candidate
from fivefold.values.serialize import Value


@dataclass(frozen=True, slots=True)
class Superseded(Value):
    """What is left of the score of a memory that has ended."""

    factor: float = number(0.5, 0, 1)


def superseded(pool: Pool, search: SearchContext, by: Superseded) -> Pool:
    """A memory that has ended stops winning; where something newer replaced it, that takes its place."""
    found = {candidate.memory.id: candidate for candidate in pool.candidates}
    known = {id: candidate.memory for id, candidate in found.items()}
    factor = by.factor
    for old in pool.candidates:
        if old.memory.is_current(search.query.now):
            continue
        heir = _heir(old.memory, search, known)
        why = f"× {factor:g}, ended {old.memory.valid_to:%d %b %Y}"
        if heir is not None:
            why = f"× {factor:g}, replaced by {heir.id}"
            new = found.get(heir.id)
            if new is None or old.score > new.score:
                new = new or Candidate(heir, (), 0.0)
                found[heir.id] = new.stepped("superseded", old.score, f"takes the place of {old.memory.id}")
        found[old.memory.id] = found[old.memory.id].stepped("superseded", lowered(old.score, factor), why)
    return pool.with_(found.values())


def lowered(score: float, factor: float) -> float:
    """The factor's share of a score, or of the way up from a negative one, which a cross-encoder may give."""
    return score * factor if score >= 0 else score - (1 - factor) * max(1.0, abs(score))


def _heir(memory: Memory, search: SearchContext, known: dict[str, Memory]) -> Memory | None:
    """What holds at the time of the question in place of `memory`, along the whole chain; None if it holds itself."""
    heir, seen = memory, {memory.id}
    while heir.superseded_by and not heir.is_current(search.query.now) and heir.superseded_by not in seen:
        seen.add(heir.superseded_by)
        newer = known.get(heir.superseded_by) or search.reader.get(heir.superseded_by)
        if newer is None or not newer.known_at(search.query.now):
            break
        heir = known[newer.id] = newer
    return heir if heir.id != memory.id else None
