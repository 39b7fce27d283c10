"""What a request may hold: checked for shape here, for sense by the library."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field, SkipValidation, TypeAdapter, ValidationError, model_validator

from fivefold.service.limits import Limits
from fivefold.values.graph import EdgeKind, EntityKind
from fivefold.values.memory import Kind, Type
from fivefold.values.trace import Effort

TIME = {"format": "date-time"}
Moment = Annotated[str, Field(json_schema_extra=TIME, max_length=100)]
"""A time in ISO 8601; without a zone it is taken as UTC."""

Name = Annotated[str, Field(min_length=1, max_length=200)]
Tags = Annotated[list[Name], Field(max_length=64, fail_fast=True)]
Turns = Annotated[list[str], Field(max_length=1_000, fail_fast=True)]
Names = Annotated[list[Name], Field(max_length=1_000, fail_fast=True)]

TEXTS = ("content", "predicate", "user_text", "assistant_text", "next_user_text")


class Body(BaseModel):
    """Of unknown fields, and of faults in a list, the first is told: a body full of them shall keep no one waiting."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _first_unknown(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        unknown = next((name for name in given if name not in cls.model_fields), None)
        return (
            given if unknown is None else {name: given[name] for name in (*cls.model_fields, unknown) if name in given}
        )


class Telling(Body):
    """What can be said of a memory, and changed later."""

    content: str | None = Field(None, description="The text to remember; not needed with user_text or assistant_text")
    speaker: Name | None = Field(None, description="Who said it: user, assistant, or a name")
    type: Type | None = Field(None, description="What kind of statement it is; read from the text unless given")
    predicate: str | None = Field(None, description="The statement in a few words; read from the text unless given")
    user_text: str | None = Field(None, description="The user's part, where question and answer are one memory")
    assistant_text: str | None = Field(None, description="The assistant's part")
    next_user_text: str | None = Field(None, description="What the user said next")
    tags: Annotated[list[Name], Field(max_length=64, fail_fast=True)] | None = Field(
        None, description="Short words to filter by"
    )
    task_tag: Name | None = Field(None, description="The task it belongs to")
    event_at: Moment | None = Field(None, description="When it happened or was said; now unless given")
    valid_from: Moment | None = Field(None, description="Since when it holds")
    valid_to: Moment | None = Field(None, description="Until when it holds")
    importance: Annotated[float, Field(ge=0, le=1)] | None = Field(None, description="How much it matters, 0 to 1")
    memory_score: Annotated[float, Field(ge=0, le=1)] | None = Field(None, description="How worth keeping, 0 to 1")
    confidence: Annotated[float, Field(ge=0, le=1)] | None = Field(None, description="How sure it is, 0 to 1")
    metadata: dict[str, Any] | None = Field(None, description="Anything of your own")

    def given(self, limits: Limits) -> dict[str, Any]:
        """The fields that were sent, with no text longer than the server takes."""
        for name in TEXTS:
            limits.check_text(getattr(self, name), name)
        return self.model_dump(exclude_unset=True)


class RecordBody(Telling):
    """A record: what is to be remembered. Only `content` is needed, or a user's and an assistant's text."""

    id: Name | None = Field(None, description="An id of your own; a record whose id is known is not stored again")
    session_id: Name | None = Field(None, description="The conversation it is a turn of")
    turn_index: Annotated[int, Field(ge=0, lt=2**31)] | None = Field(None, description="Its place in the conversation")
    kind: Kind | None = Field(None, description="turn within a session, else note; sessions are made from their turns")


class Changes(Telling):
    """Fields of a memory and their new values; null takes a value away."""


class Batch(Body):
    """Records that are remembered together: all are checked first, and a batch is stored whole or not at all."""

    records: Annotated[list[SkipValidation[RecordBody]], Field(min_length=1)]

    def given(self, limits: Limits) -> list[dict[str, Any]]:
        """The fields of each record; they are checked here and not before, when it is known how many there may be."""
        limits.check_batch(len(self.records))
        try:
            checked = _RECORDS.validate_python(self.records)
        except ValidationError as error:
            found = [{**item, "loc": ("body", "records", *item["loc"])} for item in error.errors()]
            raise RequestValidationError(found) from None
        return [record.given(limits) for record in checked]


_RECORDS = TypeAdapter(Annotated[list[RecordBody], Field(fail_fast=True)])


class Question(Body):
    """A question, and how it is to be answered."""

    question: str = Field(description="What is asked")
    now: Moment | None = Field(None, description="Answer as of this time")
    history: Annotated[list[str], Field(max_length=1_000, fail_fast=True)] = Field(
        [], description="Earlier turns, oldest first"
    )

    def checked(self, limits: Limits) -> None:
        limits.check_text(self.question, "question")
        limits.check_length(sum(map(len, (self.question, *self.history))), "question and history together")


class PlanBody(Question):
    """A question and the recipe that ranks the answers."""

    k: Annotated[int, Field(ge=1)] = Field(10, description="How many memories")
    recipe: Name = Field("default", description="The name of a recipe; /v1/recipes lists them")
    overrides: dict[str, Any] = Field({}, description='Changes of the recipe by path, as {"fusion.k": 30}')
    effort: Effort = Field("normal", description="How much work a recall may do")

    def checked(self, limits: Limits) -> None:
        super().checked(limits)
        limits.check_k(self.k)


class RecallBody(PlanBody):
    """A question, the recipe that ranks the answers, and how much of the talk just now comes along."""

    recent_turns: Annotated[int, Field(ge=0, le=100)] | None = Field(
        None, description="How many of the last turns come along; the namespace's setting unless given"
    )
    session_id: Name | None = Field(None, description="Of which session; the one that spoke last unless given")


class ContextBody(RecallBody):
    """As for a recall, and how long the text may be."""

    token_budget: Annotated[int, Field(ge=1, le=1_000_000)] = Field(1_000, description="The most tokens in the text")


class FeedbackBody(Body):
    """Which memories of a recall were used, and which were of no use."""

    recall_id: Name = Field(description="The id of the recall that returned them")
    used: Names = Field([], description="Ids of the memories that were used")
    not_used: Names = Field([], description="Ids of the memories that were of no use")


class EntityBody(Body):
    """An entity made by hand."""

    name: Name = Field(description="What it is called")
    kind: EntityKind = Field("name", description="What it is")
    aliases: Names = Field([], description="Other names for it")


class EntityChanges(Body):
    """A new name, or one more."""

    name: Name | None = Field(None, description="The new name; the old one stays as an alias")
    alias: Name | None = Field(None, description="One more name for it")


class MergeBody(Body):
    """The entity that was the same one."""

    gone: int = Field(description="The id of the entity whose links, aliases and relations move over")


class SplitBody(Body):
    """The entity that was another one."""

    name: Name = Field(description="What the other entity is called")
    memories: Annotated[list[Name], Field(min_length=1, max_length=1_000, fail_fast=True)] = Field(
        description="Ids of the memories that speak of the other one"
    )


class EdgeBody(Body):
    """A relation between two entities."""

    source: int = Field(description="The id of the entity it starts from")
    relation: Name = Field(description="What it is called, such as works at")
    target: int = Field(description="The id of the entity it leads to")
    kind: EdgeKind = Field("structural", description="What sort of relation it is")
    confidence: Annotated[float, Field(gt=0, le=1)] = Field(1.0, description="How sure it is")
    valid_from: Moment | None = Field(None, description="Since when it holds")
    valid_to: Moment | None = Field(None, description="Until when it held")
