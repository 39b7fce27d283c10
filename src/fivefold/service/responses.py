"""Response types used only by the server."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, get_args, get_origin

from pydantic import Field
from pydantic.config import JsonDict

from fivefold.service.limits import Limits
from fivefold.values.access import Role
from fivefold.values.fields import Between, Chars, FieldSpec, Items, declared
from fivefold.values.memory import Memory
from fivefold.values.reports import Erasure
from fivefold.values.serialize import Json, Value
from fivefold.values.validate import MAX_NAME, NAME_PATTERN, TEXT_PATTERN


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
    """Says whether the bytes are gone from every file, or until when some may remain."""


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
    """The caller and its rights: `key_id` is null for someone on the server's machine while no key exists."""

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
    """Says whether the bytes are gone from every file, or until when some may remain."""


@dataclass(frozen=True, slots=True)
class Feedback(Value):
    """The feedback stored for a recall."""

    recall_id: str
    used: tuple[str, ...]
    not_used: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RemovedEdge(Value):
    """A relation that was taken away."""

    id: int


@dataclass(frozen=True, slots=True)
class Unlearned(Value):
    """Everything learned from use was forgotten; the feedback stays."""

    namespace: str


@dataclass(frozen=True, slots=True)
class Health(Value):
    """The process runs."""

    status: str
    version: str


@dataclass(frozen=True, slots=True)
class Readiness(Value):
    """The store answers and has this version's schema: `ok`, or `read-only` if nothing can be written."""

    status: str
    detail: str = ""
    """Why nothing can be written."""


Moment = Annotated[str, Field(json_schema_extra={"format": "date-time"}, max_length=100)]
"""A time in ISO 8601; without a zone it is taken as UTC."""

Name = Annotated[str, Field(min_length=1, max_length=MAX_NAME, json_schema_extra={"pattern": NAME_PATTERN})]
Text = Annotated[str, Field(json_schema_extra={"pattern": TEXT_PATTERN})]
"""A visible text. Patterns are in the schema alone: the library checks values, in its own words."""

AS_MANY_AS_FIT = "Maximum number of memories; default: as many as fit"


def described(spec: FieldSpec, *, description: str = "", high: bool = True) -> Any:
    """The range and the description of a field; without `high` the server's own limit bounds the number."""
    entries = spec.max_length if get_origin(spec.type) is tuple else None
    own: JsonDict = {} if high else {"maximum": Limits().k}
    return Field(
        ge=spec.low,
        le=spec.high if high else None,
        max_length=entries,
        fail_fast=True if entries else None,
        description=description or spec.description,
        json_schema_extra=own,
    )


def annotations_of(specs: Iterable[FieldSpec]) -> dict[str, Any]:
    """The annotations of a model with these fields, each of which may be left out."""
    return {
        spec.name: Annotated[json_type(spec.hint) | None, Field(default=None, description=spec.description)]
        for spec in specs
    }


def json_type(hint: Any) -> Any:
    """The JSON type of a declared type, with its limits; the length of a text is up to the server's limits."""
    field_type = declared(hint)
    between, chars, items = field_type.mark(Between), field_type.mark(Chars), field_type.mark(Items)
    if field_type.base is datetime:
        return Moment
    if items:
        return Annotated[list[json_type(get_args(field_type.base)[0])], Field(max_length=items.most, fail_fast=True)]  # type: ignore[misc]
    if chars and chars.line:
        return Name
    if chars and chars.visible:
        return Text
    if between:
        return Annotated[field_type.base, Field(ge=between.low, le=between.high)]
    return dict[str, Any] if get_origin(field_type.base) is Mapping else field_type.base
