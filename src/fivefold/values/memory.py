"""A memory in its three forms: the record a caller hands in, the memory that is stored, the report of a write."""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, ClassVar, Literal, Protocol, TypeAlias, TypedDict, get_args

from fivefold.errors import InvalidInput
from fivefold.values.fields import (
    About,
    Content,
    Index,
    Metadata,
    Name,
    Share,
    StoredContent,
    StoredTags,
    StoredText,
    Tags,
    Tally,
    Text,
    VisibleContent,
    fields_of,
)
from fivefold.values.serialize import Value, hidden
from fivefold.values.times import as_utc, in_zone, offset_of
from fivefold.values.validate import MAX_CONTENT, MAX_NAME, checked_text, refusal

Kind = Literal["turn", "session", "note"]
Type = Literal["fact", "preference", "event", "entity", "procedure"]
Facet = Literal["personal_info", "preferences", "events"]

KINDS: tuple[Kind, ...] = get_args(Kind)
TYPES: tuple[Type, ...] = get_args(Type)
FACETS: tuple[Facet, ...] = get_args(Facet)

Origin = Literal["user", "assistant", "tool", "import"]
ORIGINS: tuple[Origin, ...] = get_args(Origin)
"""The origins of a memory: its author, or the way by which it came."""

ROLES = frozenset({"user", "assistant", "agent", "system", "human", "ai", "tool"})
"""Speakers that name a part in the talk rather than a person."""


_ORIGINS: Mapping[str, Origin] = {
    "assistant": "assistant",
    "ai": "assistant",
    "agent": "assistant",
    "tool": "tool",
    "function": "tool",
    "system": "tool",
}


def origin_of(speaker: str | None) -> Origin:
    """The origin of a speaker's text; a person, or an unknown speaker, counts as the user."""
    return _ORIGINS.get((speaker or "").lower(), "user")


WAYS: Mapping[Origin | None, str] = {"tool": "by a tool", "import": "imported"}
"""The text for an origin that is neither the user nor the assistant, for every view (N10)."""


def speakers_of(origin: Origin) -> tuple[str, ...]:
    """The names in small letters by which that origin speaks; none for the user, who is everybody else."""
    return tuple(name for name, known in _ORIGINS.items() if known == origin)


@dataclass(frozen=True, slots=True, kw_only=True)
class Record(Value):
    """A caller's input for a memory. Only `content` is needed, or a user's and an assistant's text."""

    content: Annotated[
        VisibleContent, About("The text to remember", left_out="user_text and assistant_text, one under the other")
    ] = ""
    id: Annotated[
        Name | None,
        About(
            "Your own id, unique in the namespace; a record whose id is known is not stored again",
            left_out="a new UUID that sorts by time",
        ),
    ] = None
    speaker: Annotated[Name | None, About("The speaker: user, assistant or a person's name", left_out="nobody")] = None
    session_id: Annotated[
        Name | None, About("The conversation it belongs to; makes the record a turn", left_out="the record is a note")
    ] = None
    turn_index: Annotated[Index | None, About("Its place in the session, from 0", left_out="the next free one")] = None
    kind: Annotated[
        Kind | None,
        About("A turn of a session or a note; sessions are built from their turns", left_out="from session_id"),
    ] = None
    type: Annotated[Type | None, About("Its kind of statement", left_out="read from the wording")] = None
    predicate: Annotated[
        Text | None,
        About("The statement in a few words, such as: badge id is E-47821", left_out="read from the wording"),
    ] = None
    user_text: Annotated[Content | None, About("Text of the user, if question and answer are one memory")] = None
    assistant_text: Annotated[Content | None, About("Text of the assistant")] = None
    next_user_text: Annotated[
        Content | None, About("Text of the user's next turn", left_out="filled when the next turn of the session comes")
    ] = None
    tags: Annotated[Tags, About("Short words to search and filter by")] = ()
    task_tag: Annotated[Name | None, About("The task it belongs to; it can be searched by")] = None
    event_at: Annotated[datetime | None, About("Time when it happened or was said, ISO 8601", left_out="now")] = None
    valid_from: Annotated[datetime | None, About("Since when it holds, ISO 8601", left_out="not known")] = None
    valid_to: Annotated[datetime | None, About("Until when it holds, ISO 8601", left_out="it still holds")] = None
    importance: Annotated[
        Share | None,
        About("Its importance, from 0 for trivia to 1 for what must not be lost", left_out="read from the wording"),
    ] = None
    memory_score: Annotated[
        Share | None, About("Its worth as a memory that stands alone", left_out="read from the wording")
    ] = None
    confidence: Annotated[Share | None, About("Its certainty", left_out="1")] = None
    expires_at: Annotated[
        datetime | None,
        About(
            "Time from which it is no longer recalled, ISO 8601", left_out="never, or as the settings say for its type"
        ),
    ] = None
    pinned: Annotated[bool | None, About("Keeps it until it is forgotten or superseded by hand", left_out="false")] = (
        None
    )
    origin: Annotated[
        Origin | None, About("Its origin: who wrote it, or the way it came", left_out="read from the speaker")
    ] = None
    metadata: Annotated[
        Metadata, About("Anything of your own that is plain JSON; kept and filtered by, not searched")
    ] = field(default_factory=dict)
    notes: tuple[str, ...] = hidden(default=())
    utc_offset: timedelta | None = hidden(default=None)  # noqa: RUF009
    """The offset that `event_at` came with: the days that the text names are those of its clock."""


class AnyDataclass(Protocol):
    """A dataclass of the caller's own, with the fields of a record."""

    __dataclass_fields__: ClassVar[dict[str, Any]]


RecordInput: TypeAlias = str | Record | Mapping[str, object] | AnyDataclass
"""The forms of a record that a caller may hand in."""


class RecordChanges(TypedDict, total=False):
    """The fields of a memory that an update may change; None clears one, a field left out stays."""

    content: str
    type: Type | None
    speaker: str | None
    predicate: str | None
    user_text: str | None
    assistant_text: str | None
    next_user_text: str | None
    tags: Collection[str] | None
    task_tag: str | None
    event_at: datetime | str | None
    valid_from: datetime | str | None
    valid_to: datetime | str | None
    importance: float | None
    memory_score: float | None
    confidence: float | None
    expires_at: datetime | str | None
    pinned: bool | None
    metadata: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory(Value):
    """One stored memory. Times are UTC; `superseded_by` names the memory that replaced this one."""

    id: Name
    namespace: Name
    content: StoredContent
    kind: Kind
    type: Type
    speaker: Name | None
    session_id: Name | None
    turn_index: Index | None
    predicate: StoredText | None
    user_text: StoredContent | None
    assistant_text: StoredContent | None
    next_user_text: StoredContent | None
    tags: StoredTags
    task_tag: Name | None
    event_at: datetime
    created_at: datetime
    valid_from: datetime | None
    valid_to: datetime | None
    superseded_by: Name | None
    importance: Share
    memory_score: Share
    confidence: Share
    seen_count: Tally
    access_count: Tally
    last_accessed_at: datetime | None
    expires_at: datetime | None = None
    pinned: bool = False
    origin: Origin | None = None
    """None if it is not known, and for the memory of a session."""
    echo_count: Tally = 0
    """Number of times it was recalled and then stored again by the assistant or a tool."""
    metadata: Metadata
    row: int = hidden(default=0)

    def known_at(self, t: datetime) -> bool:
        """True if the memory was stored by `t`, or is dated on the day of `t` or before, by the clock of `t`.

        A memory often has the hour of a conversation, or none at all: a day is all that its date says for sure.
        """
        if self.event_at <= t or self.created_at <= t:
            return True
        return in_zone(self.event_at, t.tzinfo or UTC).date() == t.date()

    def is_current(self, t: datetime) -> bool:
        """True if the memory still holds at `t`."""
        return self.valid_to is None or self.valid_to > t

    @property
    def touched_at(self) -> datetime:
        """The time when it was written or last used, whichever is later."""
        return max(self.created_at, self.last_accessed_at or self.created_at)

    def is_alive(self, t: datetime) -> bool:
        """True if the memory may be recalled at `t`: it has not expired, or is pinned."""
        return self.pinned or self.expires_at is None or self.expires_at > t

    def expires_by(self, t: datetime) -> bool:
        """True if the memory expires before `t`."""
        return not self.pinned and self.expires_at is not None and self.expires_at < t


@dataclass(frozen=True, slots=True)
class Session(Value):
    """One conversation in the session log."""

    id: str
    started_at: datetime
    ended_at: datetime
    turns: int
    memory_id: str | None


# Bad input stops here: every record is checked as `Record` declares it before anything is written.

RECORD_FIELDS = fields_of(Record)
"""The fields of a record that a caller may give."""

TEXT_FIELDS = tuple(name for name, spec in RECORD_FIELDS.items() if spec.type is str and spec.max_length != MAX_NAME)
"""Fields with a whole text, not a name."""

_TIMES = tuple(name for name, spec in RECORD_FIELDS.items() if spec.type is datetime)
_CHECKERS = {name: spec.checker for name, spec in RECORD_FIELDS.items() if name not in _TIMES}


def record_of(value: object) -> Record:
    """A string, mapping, dataclass or Record as a checked Record; errors name the field."""
    data = _as_mapping(value)
    if not RECORD_FIELDS.keys() >= data.keys():
        unknown = min((name for name in data if name not in RECORD_FIELDS), key=str)
        reason = f"unknown field {unknown!r}; a record has {', '.join(sorted(RECORD_FIELDS))}"
        raise InvalidInput(reason, field=str(unknown), statement=reason)
    parts = data.get("user_text") is not None or data.get("assistant_text") is not None
    fields: dict[str, Any] = {}
    for name, checker in _CHECKERS.items():
        item = data.get(name)
        if item is not None and not (name == "content" and item == "" and parts):
            fields[name] = checker(item, name)
    if "content" not in fields:
        fields["content"] = _from_parts(fields)
    notes = _check_times(data, fields)
    _check_kind(fields)
    offset = value.utc_offset if isinstance(value, Record) else None  # a record that was checked before knows it
    said_at = data.get("event_at")
    if offset is None and said_at is not None:
        offset = offset_of(said_at)
    return Record(**fields, notes=notes, utc_offset=offset)


def _as_mapping(value: object) -> Mapping[str, Any]:
    if isinstance(value, str):
        return {"content": value}
    if isinstance(value, Record):
        return {name: getattr(value, name) for name in RECORD_FIELDS}
    if isinstance(value, Mapping):
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    raise InvalidInput(f"a record must be text, a mapping or a dataclass, not {type(value).__name__}")


def _from_parts(fields: Mapping[str, Any]) -> str:
    """A record of a question and its answer (F6) is remembered as both."""
    parts = [fields[name] for name in ("user_text", "assistant_text") if fields.get(name)]
    if not parts:
        raise refusal("content", "is empty; say something to remember")
    return checked_text("\n".join(parts), "content", most=MAX_CONTENT)


def _check_times(data: Mapping[str, Any], fields: dict[str, Any]) -> tuple[str, ...]:
    """Put the times into the fields; a time without a zone gets a note."""
    notes = []
    for name in _TIMES:
        if data.get(name) is not None:
            fields[name], naive = as_utc(data[name], name)
            if naive:
                notes.append(f"{name} {fields[name]:%Y-%m-%d %H:%M} had no time zone and was taken as UTC")
    start, end = fields.get("valid_from"), fields.get("valid_to")
    if start is not None and end is not None and end < start:
        raise InvalidInput("lies before", field="valid_to", other="valid_from")
    return tuple(notes)


def _check_kind(fields: Mapping[str, Any]) -> None:
    if fields.get("kind") == "turn" and not fields.get("session_id"):
        reason = "a turn belongs to a session; give its session_id"
        raise InvalidInput(reason, field="session_id", statement=reason)
    if fields.get("kind") == "session":
        reason = "session memories are built from their turns; remember the turns with a session_id"
        raise InvalidInput(reason, field="kind", statement=reason)


# Labels: the tags and the metadata of a memory as pairs of name and value, in the form in which stores index them.

Label = tuple[str, str]

TAG = "tag"
META = "meta."

MAX_LABELS = 256
"""Maximum number of values of one memory's metadata that are indexed, the first ones."""

_SIGN = 1 << 63
_ALL = (1 << 64) - 1


def labels_of(tags: Sequence[str], metadata: Mapping[str, Any]) -> list[Label]:
    """The labels of a memory, each once: all its tags, and the texts and numbers of its metadata.

    Keys of nested objects are joined by dots. Each entry of a list is a value of its key.
    """
    found = {(TAG, text_label(tag)): None for tag in tags}
    most = len(found) + MAX_LABELS
    for key, value in _leaves("", metadata):
        if len(found) >= most:
            break
        label = _label(value)
        if label is not None and _fits(key):
            found[META + key, label] = None
    return list(found)


def _leaves(path: str, value: object) -> Iterator[tuple[str, object]]:
    """The plain values inside, each with its dotted key, in their order."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _leaves(f"{path}.{key}" if path else str(key), inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _leaves(path, inner)
    else:
        yield path, value


def _label(value: object) -> str | None:
    if isinstance(value, bool):
        return text_label(truth(value))
    if isinstance(value, int | float):
        return number_label(value)
    return text_label(value) if isinstance(value, str) and _fits(value) else None


def _fits(text: str) -> bool:
    """True if every store can index it."""
    return len(text) <= MAX_NAME and "\x00" not in text


def truth(value: bool) -> str:
    """True and false as the text by which they are found."""
    return "true" if value else "false"


def label_value(value: str | float) -> str:
    """A text or a number as the value of a label."""
    return text_label(value) if isinstance(value, str) else number_label(value)


def text_label(text: str) -> str:
    return f"t{text}"


def number_label(number: float) -> str:
    """The bits of the number, turned so that the texts of all numbers sort as the numbers do."""
    try:
        value = float(number) + 0.0
    except OverflowError:
        value = float("inf") if number > 0 else float("-inf")
    (bits,) = struct.unpack(">Q", struct.pack(">d", value))
    return f"n{bits ^ (_ALL if bits & _SIGN else _SIGN):016x}"
