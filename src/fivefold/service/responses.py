"""Answers that are no value of the library by themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fivefold.values.access import Role
from fivefold.values.memory import Memory
from fivefold.values.reports import Erasure
from fivefold.values.serialize import Json, Value


@dataclass(frozen=True, slots=True)
class Namespace(Value):
    """A namespace by its name."""

    name: str


@dataclass(frozen=True, slots=True)
class Namespaces(Value):
    """Names of namespaces in their order; `cursor` continues after the last one."""

    names: tuple[str, ...]
    cursor: str | None


@dataclass(frozen=True, slots=True)
class DeletedNamespace(Value):
    """A namespace that was deleted with everything in it, and how many memories it had."""

    namespace: str
    memories: int
    erasure: Erasure
    """Whether its bytes are gone from every file, or until when some may remain."""


@dataclass(frozen=True, slots=True)
class ForgottenMemory(Value):
    """A memory that was forgotten, as it was, and whether its bytes are gone from every file."""

    memory: Memory
    erasure: Erasure

    def to_dict(self) -> Json:
        return {**self.memory.to_dict(), "erasure": self.erasure.to_dict()}

    @classmethod
    def shape(cls) -> dict[str, Any]:
        return {**Memory.shape(), "erasure": Erasure}


@dataclass(frozen=True, slots=True)
class Who(Value):
    """Who asks, and what they may do: `key_id` is null for someone on the server's machine while no key exists."""

    key_id: str | None
    role: Role
    namespaces: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RecipeInBrief(Value):
    """A recipe by name, and what it is made of."""

    name: str
    summary: str
    routes: tuple[str, ...]
    fusion: str
    stages: int


@dataclass(frozen=True, slots=True)
class Turns(Value):
    """A conversation, turn by turn."""

    session_id: str
    turns: tuple[Memory, ...]


@dataclass(frozen=True, slots=True)
class ForgottenSession(Value):
    """A session that was forgotten, and how many turns it had."""

    session_id: str
    turns: int
    erasure: Erasure
    """Whether its bytes are gone from every file, or until when some may remain."""


@dataclass(frozen=True, slots=True)
class Feedback(Value):
    """What was noted of a recall."""

    recall_id: str
    used: tuple[str, ...]
    not_used: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RemovedEdge(Value):
    """A relation that was taken away."""

    id: int


@dataclass(frozen=True, slots=True)
class Unlearned(Value):
    """What was learned from use is forgotten; the feedback stays."""

    namespace: str


@dataclass(frozen=True, slots=True)
class Health(Value):
    """The process runs."""

    status: str
    version: str


@dataclass(frozen=True, slots=True)
class Readiness(Value):
    """The store answers, and is in the form this version writes: `ok`, or `read-only` where nothing can be written."""

    status: str
    detail: str = ""
    """Why nothing can be written."""
