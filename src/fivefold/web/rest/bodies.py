"""The bodies of requests. Their shape is checked here, their values by the library."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, get_args

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field, SkipValidation, TypeAdapter, ValidationError, model_validator
from pydantic.config import JsonDict
from pydantic.types import JsonValue

from fivefold.retrieval.plan import REQUEST_FIELDS
from fivefold.service.limits import Limits
from fivefold.service.responses import AS_MANY_AS_FIT, Moment, Name, Text, annotations_of, described
from fivefold.values.entities import EdgeKind, EntityKind
from fivefold.values.filters import FLAGS, MAX_FILTER, STATES, TIMES
from fivefold.values.memory import RECORD_FIELDS, TEXT_FIELDS, Kind, Origin, RecordChanges, Type
from fivefold.values.recall_trace import Effort
from fivefold.values.validate import MAX_K, MAX_TOKENS
from fivefold.writing.messages import ROLES

Names = Annotated[list[Name], Field(max_length=MAX_K, fail_fast=True)]
PageLimit = Annotated[
    int, Field(ge=1, json_schema_extra={"maximum": Limits().page}, description="Maximum number of entries on a page")
]
_WORD = r'(?:"(?:[^"\\]|\\["\\])*"|[^\s,"]+)'
_CONDITIONS = (
    *(
        rf'{name}[:=]"?(?:{"|".join(get_args(kind))})"?(?:,"?(?:{"|".join(get_args(kind))})"?)*'
        for name, kind in (("type", Type), ("kind", Kind), ("origin", Origin))
    ),
    f"(?:speaker|session|tag)[:=]{_WORD}(?:,{_WORD})*",
    f"text[:=]{_WORD}",
    rf'(?:{"|".join(STATES)})[:=]"?(?:{"|".join(FLAGS)})"?',
    rf'(?:{"|".join(TIMES)})[:=](?:"[^"]+"|[0-9]{{4}}[^\s,"]+)',
    rf'meta\.(?:"(?:[^"\\]|\\["\\])+"|[^\s:=<>,"]+)(?:[:=]|>=|<=|>|<){_WORD}(?:,{_WORD})*',
)
_FILTER = rf"^\s*(?:(?:{'|'.join(_CONDITIONS)})(?:\s+|$))*$"
"""All filters that are accepted, and a few more: no pattern can say that a field comes once."""
FilterText = Annotated[str, Field(max_length=MAX_FILTER, json_schema_extra={"pattern": _FILTER})]

CHANGEABLE = RecordChanges.__annotations__
"""Fields of a memory that may change once it is stored."""


def whole_numbers(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields with 3.0 as 3, since JSON does not tell them apart."""
    return {
        name: int(value) if type(value) is float and value.is_integer() else value for name, value in fields.items()
    }


def _one_of(*names: str, alone: bool = False) -> ConfigDict:
    """A schema whose body has one of these fields, not null; with `alone`, only one of them."""
    null: JsonDict = {"type": "null"}
    choices: list[JsonValue] = []
    for name in names:
        others = {other: null for other in names if alone and other != name}
        choices.append({"required": [name], "properties": {name: {"not": null}, **others}})
    return ConfigDict(json_schema_extra={"anyOf": choices})


class Body(BaseModel):
    """An error names only the first unknown field and the first fault in a list, so that a bad body costs little."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _first_unknown(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        data = whole_numbers(data)
        unknown = next((name for name in data if name not in cls.model_fields), None)
        return data if unknown is None else {name: data[name] for name in (*cls.model_fields, unknown) if name in data}


class RecordFields(Body):
    """Fields of a record, as `Record` declares them."""

    def to_fields(self, limits: Limits) -> dict[str, Any]:
        """The fields that were sent, with no text longer than the server takes."""
        for name in TEXT_FIELDS:
            limits.check_text(getattr(self, name), name)
        return self.model_dump(exclude_unset=True)


class RecordBody(RecordFields):
    """A record: what to remember. Only `content` is needed, or a user's and an assistant's text."""

    model_config = _one_of("content", "user_text", "assistant_text")
    __annotations__ = annotations_of(RECORD_FIELDS.values())


class MemoryChanges(RecordFields):
    """Fields of a memory and their new values; null takes a value away."""

    __annotations__ = annotations_of(spec for name, spec in RECORD_FIELDS.items() if name in CHANGEABLE)


class Batch(Body):
    """Records that are remembered together: all are checked first, and a batch is stored whole or not at all."""

    records: Annotated[list[SkipValidation[RecordBody]], Field(min_length=1)]

    def to_fields(self, limits: Limits) -> list[dict[str, Any]]:
        """The fields of each record; they are checked here, after the number of records."""
        limits.check_batch(len(self.records))
        try:
            records = _RECORDS.validate_python(self.records)
        except ValidationError as error:
            errors = [{**item, "loc": ("body", "records", *item["loc"])} for item in error.errors()]
            raise RequestValidationError(errors) from None
        return [record.to_fields(limits) for record in records]


_RECORDS = TypeAdapter(Annotated[list[RecordBody], Field(fail_fast=True)])


Message = Annotated[
    dict[str, Any],
    Field(
        json_schema_extra={
            "anyOf": [{"required": ["role"]}, {"required": ["type"]}],
            "properties": {"role": {"enum": list(ROLES)}, "content": {"type": ["string", "array", "null"]}},
        }
    ),
]


class MessagesBody(Body):
    """The messages of a conversation, as OpenAI, Anthropic and LangChain send them."""

    session_id: Name = Field(description="The conversation; its turns are the messages")
    messages: Annotated[list[Message], Field(min_length=1, fail_fast=True)] = Field(
        description="Messages in their order, each with role and content"
    )

    def checked(self, limits: Limits) -> list[dict[str, Any]]:
        """The messages, no more of them and none longer than the server takes."""
        limits.check_batch(len(self.messages))
        for number, message in enumerate(self.messages):
            limits.check_message(message, f"messages[{number}]")
        return self.messages


class Question(Body):
    """A question, and how it is to be answered."""

    question: Annotated[Text, described(REQUEST_FIELDS["question"])]
    now: Annotated[Moment | None, described(REQUEST_FIELDS["now"])] = None
    history: Annotated[list[str], described(REQUEST_FIELDS["history"])] = []

    def check(self, limits: Limits) -> None:
        limits.check_question(self.question, self.history)


class RankedQuestion(Question):
    """A question and the recipe that ranks the answers."""

    k: Annotated[int | None, described(REQUEST_FIELDS["k"], high=False)] = 10
    recipe: Name = Field("default", description="The name of a recipe; /v1/recipes lists them")
    overrides: dict[str, Any] = Field({}, description='Changes of the recipe by path, as {"fusion.k": 30}')
    effort: Annotated[Effort, described(REQUEST_FIELDS["effort"])] = "normal"
    filter: FilterText | dict[str, Any] | None = Field(
        None,
        description=f"{REQUEST_FIELDS['filter'].description}; as text, or as an object with the fields of a filter",
    )

    def check(self, limits: Limits) -> None:
        super().check(limits)
        limits.check_k(self.k)


class PlanBody(RankedQuestion):
    """A question, the recipe that ranks the answers, and how many of them are wanted."""

    k: Annotated[int, described(REQUEST_FIELDS["k"], high=False)] = 10


class TalkQuestion(RankedQuestion):
    """A question, the recipe that ranks the answers, and the number of last turns to add."""

    recent_turns: Annotated[int | None, described(REQUEST_FIELDS["recent_turns"])] = None
    session_id: Annotated[Name | None, described(REQUEST_FIELDS["session_id"])] = None
    min_chance: Annotated[float | None, described(REQUEST_FIELDS["min_chance"])] = None


class RecallBody(TalkQuestion):
    """A question, how it is answered, and how many memories are wanted."""

    k: Annotated[int, described(REQUEST_FIELDS["k"], high=False)] = 10


class TracedBody(RecallBody):
    """The request of a recall, with or without the trace in the answer."""

    trace: bool = Field(False, description="Adds the whole trace, tens of kilobytes")


class ContextBody(TalkQuestion):
    """A question, how it is answered, and how long the text may be."""

    k: Annotated[int | None, described(REQUEST_FIELDS["k"], description=AS_MANY_AS_FIT, high=False)] = None
    token_budget: Annotated[int, Field(ge=1, le=MAX_TOKENS)] = Field(
        1_000, description="Maximum number of tokens in the text"
    )


class FeedbackBody(Body):
    """The memories of a recall that were used, and those that were of no use."""

    recall_id: Name = Field(description="The id of the recall that returned them")
    used: Names = Field([], description="Ids of the memories that were used")
    not_used: Names = Field([], description="Ids of the memories that were of no use")


class Decision(Body):
    """Approves or rejects records in quarantine: those with these ids, or all that pass a filter."""

    model_config = _one_of("ids", "filter", alone=True)

    ids: Names | None = Field(None, description="Ids of the records")
    filter: FilterText | None = Field(None, description="A filter such as speaker:ci-bot; empty for all of them")


class EntityBody(Body):
    """An entity made by hand."""

    name: Name = Field(description="Its name")
    kind: EntityKind = Field("name", description="Its kind")
    aliases: Names = Field([], description="Other names for it")


class EntityChanges(Body):
    """A new name, or one more."""

    model_config = _one_of("name", "alias", alone=True)

    name: Name | None = Field(None, description="The new name; the old one stays as an alias")
    alias: Name | None = Field(None, description="One more name for it")


class MergeBody(Body):
    """The entity that was the same one."""

    gone: int = Field(description="The id of the entity whose links, aliases and relations move over")


class SplitBody(Body):
    """The entity that was another one."""

    name: Name = Field(description="The name of the other entity")
    memories: Annotated[list[Name], Field(min_length=1, max_length=MAX_K, fail_fast=True)] = Field(
        description="Ids of the memories about the other one"
    )


class EdgeBody(Body):
    """A relation between two entities."""

    source: int = Field(description="The id of the entity it starts from")
    relation: Name = Field(description="Its name, such as works at")
    target: int = Field(description="The id of the entity it leads to")
    kind: EdgeKind = Field("structural", description="The sort of relation")
    confidence: Annotated[float, Field(gt=0, le=1)] = Field(1.0, description="Its certainty")
    valid_from: Moment | None = Field(None, description="Since when it holds")
    valid_to: Moment | None = Field(None, description="Until when it held")
