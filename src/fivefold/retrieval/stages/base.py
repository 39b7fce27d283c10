"""The protocol of a stage: after fusion it raises, lowers, orders or drops candidates."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from fivefold.retrieval.routes import SearchContext
from fivefold.values.memory import ROLES, Memory
from fivefold.values.recall_trace import Candidate, Dropped, Effort, StageNote
from fivefold.values.serialize import Value

SHORT_STATEMENT = 300
"""Characters of a statement; longer texts are messages that say several things."""


@dataclass(frozen=True, slots=True)
class Pool:
    """The current candidates, best first where a stage has ordered them, and those dropped so far."""

    candidates: list[Candidate]
    dropped: tuple[Dropped, ...] = ()
    supporting: Mapping[int, float] = field(default_factory=dict)
    """What memories that are not candidates add to others, by row."""
    answers: Mapping[int, float] = field(default_factory=dict)
    """The log-odds that a memory answers, by row, for those that a model has read."""
    judge: str = ""
    """The cross-encoder that read the best, as a recipe names it; empty if none did."""
    notes: tuple[StageNote, ...] = ()
    chance: float | None = None
    """How likely one of the candidates answers, where a stage has judged it."""
    found: bool | None = None
    idle: tuple[StageNote, ...] = ()
    """Stages that changed nothing, with the reason."""

    def with_note(self, note: StageNote) -> Pool:
        return replace(self, notes=(*self.notes, note))

    def with_idle(self, stage: str, why: str) -> Pool:
        """The pool, with the reason why a stage left it as it was."""
        return replace(self, idle=(*self.idle, StageNote(stage, "idle", why)))

    def is_same(self, other: Pool) -> bool:
        """Whether a stage made this pool of the other and changed nothing: no candidate, no note."""
        mine, theirs = self.candidates, other.candidates
        if len(mine) != len(theirs) or self.notes is not other.notes:
            return False
        return all(one is two for one, two in zip(mine, theirs, strict=True))

    def with_candidates(self, candidates: Iterable[Candidate]) -> Pool:
        return replace(self, candidates=list(candidates))

    def without(self, left: Iterable[tuple[Candidate, str]], stage: str) -> Pool:
        """The pool less these candidates, each with the reason."""
        drops = {
            candidate.memory.id: Dropped(candidate.memory.id, candidate.score, stage, why) for candidate, why in left
        }
        remaining = [candidate for candidate in self.candidates if candidate.memory.id not in drops]
        return replace(self, candidates=remaining, dropped=(*self.dropped, *drops.values()))


@dataclass(frozen=True, slots=True)
class NoConstants(Value):
    """A stage with nothing to set."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One function, the constants it takes, and where it belongs."""

    run: Callable[[Pool, SearchContext, Any], Pool]
    constants: type[Any]
    group: Literal["boosts", "rerank", "select"]
    effort: Effort = "low"
    """The least effort at which it runs, where a recipe says nothing else."""
    does: Callable[[Any], str] | None = None
    """What it does with these constants, where the first line of its docstring does not say it for all."""
    rests: str = "it changed nothing"
    """Why it may leave every candidate as it is."""


def is_talk(memories: Sequence[Memory]) -> bool:
    """Whether most of it is talk between people, not a user's chat with an assistant and not notes."""
    named = sum((memory.speaker or "user").casefold() not in ROLES for memory in memories)
    return 2 * named > len(memories)


def are_short(memories: Sequence[Memory]) -> bool:
    """Whether they are single statements on average rather than messages that say several things."""
    return sum(len(memory.content) for memory in memories) <= SHORT_STATEMENT * len(memories)


def best_first(candidates: Iterable[Candidate]) -> list[Candidate]:
    """By score, ties by id, so that the same question on the same store gives the same answer."""
    return sorted(candidates, key=lambda candidate: (-candidate.score, candidate.memory.id))


def scores_of(candidates: Sequence[Candidate], route: str) -> list[float | None]:
    """The score that a route gave to each candidate; None for those that it did not find."""
    found: list[float | None] = [None] * len(candidates)
    for place, candidate in enumerate(candidates):
        for item in candidate.evidence:
            if item.route == route:
                found[place] = item.score
                break
    return found
