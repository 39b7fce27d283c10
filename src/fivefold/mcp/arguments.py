"""Arguments of each tool. The descriptions are read by a model, which decides by them when and how to call."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from fivefold.errors import InvalidInput
from fivefold.retrieval.plan import REQUEST_FIELDS
from fivefold.service.responses import AS_MANY_AS_FIT, described
from fivefold.values.memory import RECORD_FIELDS, Type
from fivefold.values.recall_trace import Effort
from fivefold.values.serialize import Json
from fivefold.values.validate import MAX_TOKENS, shorten

DEFAULT_TOKEN_BUDGET = 1_000
"""Tokens of an answer unless the caller names another number."""

Budget = Annotated[int, Field(ge=200, le=MAX_TOKENS, description="Maximum tokens")]
CONTENT = "The text to remember: one self-contained statement; name people and things, avoid 'he', 'it', 'tomorrow'"
"""Advice that a model needs to write a good memory."""

IMPORTANCE = "From 0 for trivia to 1; default: read from the wording"
OWN_ID = "Your own id; if it is known, nothing is stored"
EXPIRES = "Time from which it is no longer recalled, ISO 8601; default: never"
PINNED = "Never expires, and no later text replaces it"
SESSION = "The current conversation; its last turns are added; default: the latest"
OF = "A name for profile; 'my job' for history; session_id for recap"
MIN_CHANCE = "Minimum chance of a source; default: any"
"""Shorter than in the library: a model reads all of them before each talk."""

MAX_SOURCES = 1_000
"""The most sources that one call may name."""

MAX_MESSAGES = 1_000
"""The most messages in one call."""

Question = Annotated[str, described(REQUEST_FIELDS["question"])]
Count = Annotated[int, described(REQUEST_FIELDS["k"], high=False)]


View = Literal["profile", "agenda", "history", "changes", "recap"]


class Arguments(BaseModel):
    """Arguments that all tools take."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    about: ClassVar[str | None] = None
    """The field with the id of what the call is about, for the audit log."""
    namespace: str | None = None
    """Explained once for all tools, in the instructions of the server."""

    @property
    def action(self) -> str | None:
        """The name in the audit log if it is not the name of the tool."""
        return None

    @property
    def subject(self) -> str | None:
        return None if self.about is None else getattr(self, self.about)


class Remember(Arguments):
    content: Annotated[str, described(RECORD_FIELDS["content"], description=CONTENT)]
    speaker: Annotated[str | None, described(RECORD_FIELDS["speaker"])] = None
    session_id: Annotated[str | None, described(RECORD_FIELDS["session_id"])] = None
    event_at: Annotated[str | None, described(RECORD_FIELDS["event_at"])] = None
    type: Annotated[Type | None, described(RECORD_FIELDS["type"])] = None
    tags: Annotated[list[str], described(RECORD_FIELDS["tags"])] = []
    importance: Annotated[float | None, described(RECORD_FIELDS["importance"], description=IMPORTANCE)] = None
    expires_at: Annotated[str | None, described(RECORD_FIELDS["expires_at"], description=EXPIRES)] = None
    pinned: Annotated[bool | None, described(RECORD_FIELDS["pinned"], description=PINNED)] = None
    supersedes: Annotated[str | None, Field(description="Id of the memory that this one corrects")] = None
    id: Annotated[str | None, described(RECORD_FIELDS["id"], description=OWN_ID)] = None

    @property
    def action(self) -> str | None:
        return None if self.supersedes is None else "supersede"

    @property
    def subject(self) -> str | None:
        return self.id if self.supersedes is None else self.supersedes


class RememberMessages(Arguments):
    about: ClassVar[str | None] = "session_id"
    session_id: Annotated[str, Field(description="The conversation the messages belong to")]
    messages: Annotated[
        list[dict[str, Any]],
        Field(
            min_length=1,
            max_length=MAX_MESSAGES,
            fail_fast=True,
            description="Messages in their order, each with role (user, assistant, system, tool) and content",
        ),
    ]


class Recall(Arguments):
    question: Question
    token_budget: Budget = DEFAULT_TOKEN_BUDGET
    k: Annotated[int | None, described(REQUEST_FIELDS["k"], description=AS_MANY_AS_FIT, high=False)] = None
    effort: Annotated[Effort, described(REQUEST_FIELDS["effort"])] = "normal"
    now: Annotated[str | None, described(REQUEST_FIELDS["now"])] = None
    session_id: Annotated[str | None, described(REQUEST_FIELDS["session_id"], description=SESSION)] = None
    recent_turns: Annotated[int | None, described(REQUEST_FIELDS["recent_turns"])] = None
    min_chance: Annotated[float | None, described(REQUEST_FIELDS["min_chance"], description=MIN_CHANCE)] = None
    filter: Annotated[str | None, described(REQUEST_FIELDS["filter"])] = None
    ids: Annotated[
        bool, Field(description="Also give the id of each source, which forget and supersedes need; costs tokens")
    ] = False


class Explain(Arguments):
    question: Question
    token_budget: Budget = 2 * DEFAULT_TOKEN_BUDGET
    k: Count = 5
    recipe: Annotated[str, Field(description="The recipe to answer by; recall uses 'default'")] = "default"
    effort: Effort = "normal"
    now: str | None = None
    filter: str | None = None


class Forget(Arguments):
    about: ClassVar[str | None] = "id"
    id: Annotated[str, Field(description="Id of the memory, as recall lists it with ids")]


class Feedback(Arguments):
    about: ClassVar[str | None] = "recall_id"
    recall_id: Annotated[str, Field(description="The recall_id that recall or explain gave")]
    used: Annotated[
        list[str],
        Field(
            max_length=MAX_SOURCES,
            fail_fast=True,
            description="Numbers (such as '2') or ids of sources that you relied on",
        ),
    ] = []
    not_used: Annotated[
        list[str], Field(max_length=MAX_SOURCES, fail_fast=True, description="Sources that were of no use")
    ] = []


class Sessions(Arguments):
    about: ClassVar[str | None] = "session_id"
    session_id: Annotated[str | None, Field(description="One conversation, to read its turns; default: list them")] = (
        None
    )
    limit: Annotated[int, Field(ge=1, description="Maximum number of conversations")] = 20
    cursor: Annotated[str | None, Field(description="Cursor of the answer before")] = None
    token_budget: Budget = DEFAULT_TOKEN_BUDGET

    @property
    def action(self) -> str | None:
        return None if self.session_id is None else "session"


class Known(Arguments):
    what: View
    of: Annotated[str | None, Field(description=OF)] = None
    since: Annotated[str | None, Field(description="Start of agenda or changes")] = None

    @property
    def action(self) -> str | None:
        return self.what

    @property
    def subject(self) -> str | None:
        return self.of if self.what == "recap" else None


class Stats(Arguments):
    pass


class Health(Arguments):
    pass


class Namespaces(Arguments):
    cursor: Annotated[str | None, Field(description="Cursor of the answer before")] = None


class DeleteNamespace(Arguments):
    namespace: Annotated[str, Field(description="The namespace to delete")]


T = TypeVar("T", bound=Arguments)

_WORDS = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "object": "an object",
}


def checked(kind: type[T], values: Mapping[str, Any] | None) -> T:
    """The arguments as `kind`; a null counts as left out. An error names only the first unknown one, to stay short."""
    present = {name: value for name, value in (values or {}).items() if value is not None}
    unknown = next((name for name in present if name not in kind.model_fields), None)
    if unknown is not None:
        raise InvalidInput(f"there is no argument {unknown[:50]!r}; known are {', '.join(schema(kind)['properties'])}")
    try:
        return kind.model_validate(present)
    except ValidationError as error:
        raise InvalidInput("; ".join(_fault_message(kind, dict(fault)) for fault in error.errors())) from None


@cache
def schema(kind: type[Arguments]) -> Json:
    """The JSON Schema of the arguments, short for models: no titles, and no null for what may be left out."""
    generated = kind.model_json_schema()
    fields = {name: _short(field) for name, field in generated["properties"].items()}
    order = [*(name for name in fields if name != "namespace"), "namespace"]
    required = {"required": generated["required"]} if "required" in generated else {}
    properties = {name: fields[name] for name in order}
    return {"type": "object", "properties": properties, **required, "additionalProperties": False}


def _short(field: Json) -> Json:
    kinds = [kind for kind in field.get("anyOf", ()) if kind.get("type") != "null"]
    rest = {name: value for name, value in field.items() if name not in {"title", "anyOf"}}
    if rest.get("default", ...) in (None, []):
        del rest["default"]
    return {**(kinds[0] if kinds else {}), **rest}


def _fault_message(kind: type[Arguments], fault: Json) -> str:
    name = str(fault["loc"][0])
    fields = schema(kind)["properties"]
    if len(fault["loc"]) > 1:
        each = _WORDS[fields[name]["items"]["type"]]
        return f"each of {name} must be {each}, not {_shorten_value(fault['input'])}"
    if fault["type"] == "missing":
        about = fields[name].get("description")
        return f"{name} is missing: {_expected(fields[name])}" + (f". {about}" if about else "")
    return f"{name} must be {_expected(fields[name])}, not {_shorten_value(fault['input'])}"


def _expected(field: Json) -> str:
    if "enum" in field:
        return f"one of {', '.join(map(str, field['enum']))}"
    if field["type"] == "array":
        entries = "texts" if field["items"]["type"] == "string" else "objects"
        return f"a list of {'1 to' if 'minItems' in field else 'at most'} {field['maxItems']:,} {entries}"
    least, most = field.get("minimum"), field.get("maximum")
    span = (f" from {least:,}" if least is not None else "") + (f" to {most:,}" if most is not None else "")
    return _WORDS[field["type"]] + span


def _shorten_value(value: object) -> str:
    return shorten(repr(value), 60)
