"""The lives that are shipped and lives of one's own: read, checked, and made ready to be stored and asked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal, get_args

from fivefold.bench.data import Dataset, Question
from fivefold.bench.jsonl import plain_texts
from fivefold.bench.reading import PACKED, Fields, document
from fivefold.errors import InvalidInput
from fivefold.values.memory import Record
from fivefold.values.records import RECORD_FIELDS, record_of
from fivefold.values.times import as_utc
from fivefold.values.validate import checked_history, checked_name

Part = Literal["choose", "report", "all"]
"""Lives that may be looked at to choose and fit, lives that only report, or both."""

PARTS: tuple[Part, ...] = get_args(Part)

NEVER = "never"
"""The kind of a question that nothing in the life answers."""

KINDS = (
    *("current", "past", "window", "event_date", "recency", "list", "count", "multihop", "negation", "preference"),
    *("identifier", "typo", "followup", "foreign", "paraphrase", NEVER),
)
"""The kinds of question, in the order of the tables."""

OTHER_NAMES = {"never-said": NEVER, "pronoun": "followup", "multi-hop": "multihop"}
"""Other spellings of a kind that files may have."""

LIVES = Path(__file__).with_name("data") / "lives"
INDEX = "index.json"
"""Which of the shipped lives are for choosing and which only report."""

UNREAD = "kind"
"""In a life this word labels a memory for its author; it is not the kind of a record."""


@dataclass(frozen=True, slots=True)
class Life:
    """One person's memories and questions. `unread` names fields of its memories that a record does not have."""

    name: str
    memories: tuple[Record, ...]
    questions: tuple[Question, ...]
    unread: frozenset[str]


def shipped_lives(part: Part) -> list[Path]:
    """The files of the shipped lives of one part, or of both."""
    index = Fields.of(INDEX, document(LIVES / INDEX))
    names = [name for each in PARTS[:2] if part in (each, "all") for name in index.entries(each)]
    if not names:
        raise InvalidInput(f"no shipped life is for {part!r}; take one of {', '.join(PARTS)}", field="lives")
    return [LIVES / f"{name}.json.xz" for name in names]


def load_lives(paths: Sequence[Path]) -> Dataset:
    """A namespace for each life, with all of its questions, also those that nothing answers."""
    lives: dict[str, Life] = {}
    for path in paths:
        life = read_life(path)
        if life.name in lives:
            raise InvalidInput(f"two files are of a life called {life.name!r}; rename one of them")
        lives[life.name] = life
    unread = sorted({name for life in lives.values() for name in life.unread})
    return Dataset(
        name="everyday",
        unit="turn",
        memories={name: life.memories for name, life in lives.items()},
        questions=tuple(question for life in lives.values() for question in life.questions),
        plain={name: list(plain_texts(life.memories, "turn")) for name, life in lives.items()},
        notes=(f"fields of memories that are not stored: {', '.join(unread)}",) if unread else (),
    )


def read_life(path: Path) -> Life:
    """One file; a fault is reported with its place."""
    name = life_name(path)
    life = Fields.of(path.name, document(path))
    now = life.checked("now", as_utc, life.value("now"), "now")[0]
    entries = [Fields.of(f"{path.name} memory {n}", each) for n, each in enumerate(life.entries("memories"), 1)]
    memories: dict[str, Record] = {}
    for entry in entries:
        id = entry.name("id")
        if id in memories:
            raise entry.fault("id", f"{id!r} is already the id of an earlier memory")
        memories[id] = _record(entry)
    if not memories:
        raise life.fault("memories", "is empty; there is nothing to recall")
    questions = tuple(
        _question(Fields.of(f"{path.name} question {number}", each), name, number, now, memories.keys())
        for number, each in enumerate(life.entries("questions"), 1)
    )
    if not questions:
        raise life.fault("questions", "is empty; there is nothing to ask")
    unread = frozenset(field for entry in entries for field in entry.data if not _is_read(field))
    return Life(name, tuple(memories.values()), questions, unread)


def life_name(path: Path) -> str:
    """The name of a file without its endings."""
    name = path.name.removesuffix(path.suffix) if path.suffix in PACKED else path.name
    return checked_name(name.removesuffix(".json"), "life")


def _is_read(field: str) -> bool:
    return field in RECORD_FIELDS and field != UNREAD


def _record(entry: Fields) -> Record:
    try:
        return record_of({field: value for field, value in entry.data.items() if _is_read(field)})
    except InvalidInput as error:
        raise entry.fault(error.field or "content", error) from None


def _question(entry: Fields, life: str, number: int, now: datetime, ids: Iterable[str]) -> Question:
    kind = entry.name("kind")
    kind = OTHER_NAMES.get(kind, kind)
    if kind not in KINDS:
        raise entry.fault("kind", f"{kind!r} is unknown; known are {', '.join(KINDS)}")
    expected = _ids(entry, "expected_ids" if "expected_ids" in entry.data else "expected", ids)
    stale = _ids(entry, "stale", ids)
    if (kind == NEVER) != (not expected):
        raise entry.fault("expected", f"a question of kind {NEVER} names no memory, and every other one names some")
    both = [id for id in stale if id in expected]
    if both:
        raise entry.fault("stale", f"{both[0]!r} is expected as well; name it once")
    own = entry.data.get("now")
    return Question(
        id=f"{life}:{number}",
        namespace=life,
        text=entry.text("q"),
        relevant=expected,
        category=kind,
        now=now if own is None else entry.checked("now", as_utc, own, "now")[0],
        history=entry.checked("context", checked_history, entry.data.get("context", ())),
        stale=stale,
    )


def _ids(entry: Fields, field: str, known: Iterable[str]) -> tuple[str, ...]:
    ids = entry.entries(field) if field in entry.data else []
    unknown = next((id for id in ids if id not in known), None)
    if unknown is not None:
        raise entry.fault(field, f"{unknown!r} is no memory of this life")
    return tuple(dict.fromkeys(ids))
