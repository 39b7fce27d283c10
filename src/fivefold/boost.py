"""Boosts: later looks at the candidates that raise or lower their scores. A new one is one function and one line."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from fivefold.memory import Memory
from fivefold.recall import Candidate
from fivefold.recipe import BoostSpec
from fivefold.routes import Sight

Boost = Callable[[Sequence[Candidate], Sight, Mapping[str, float]], list[Candidate]]


def superseded(candidates: Sequence[Candidate], sight: Sight, constants: Mapping[str, float]) -> list[Candidate]:
    """A memory that has ended stops winning; where something newer replaced it, that takes its place."""
    found = {candidate.memory.id: candidate for candidate in candidates}
    known = {id: candidate.memory for id, candidate in found.items()}
    factor = constants.get("factor", 0.5)
    for old in candidates:
        if old.memory.current(sight.query.now):
            continue
        heir = _heir(old.memory, sight, known)
        why = f"× {factor:g}, ended {old.memory.valid_to:%d %b %Y}"
        if heir is not None:
            why = f"× {factor:g}, replaced by {heir.id}"
            new = found.get(heir.id) or Candidate(heir, (), 0.0)
            if old.score > new.score:
                new = new.stepped("superseded", old.score, f"takes the place of {old.memory.id}")
            found[heir.id] = new
        found[old.memory.id] = found[old.memory.id].stepped("superseded", old.score * factor, why)
    return list(found.values())


def _heir(memory: Memory, sight: Sight, known: dict[str, Memory]) -> Memory | None:
    """What holds at the time of the question in place of `memory`, along the whole chain; None if it holds itself."""
    heir, seen = memory, {memory.id}
    while heir.superseded_by and not heir.current(sight.query.now) and heir.superseded_by not in seen:
        seen.add(heir.superseded_by)
        newer = known.get(heir.superseded_by) or sight.reader.get(heir.superseded_by)
        if newer is None:
            break
        heir = known[newer.id] = newer
    return heir if heir.id != memory.id else None


BOOSTS: dict[str, Boost] = {"superseded": superseded}


def boost(candidates: list[Candidate], sight: Sight, specs: tuple[BoostSpec, ...]) -> list[Candidate]:
    """Every boost of the recipe, in its order."""
    for spec in specs:
        candidates = BOOSTS[spec.name](candidates, sight, spec.constants)
    return candidates
