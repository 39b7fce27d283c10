"""Anyone's data as JSON lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fivefold.errors import InvalidInput
from fivefold.evaluation import Life, Question
from fivefold.values.json_files import Fields, lines
from fivefold.values.memory import Record, record_of
from fivefold.values.times import as_utc
from fivefold.values.validate import checked_history, checked_name
from fivefold_bench.data import UNITS, Dataset, Unit, find_file, spoken

MEMORY_FIELDS = (
    "id",
    "namespace",
    "content",
    "speaker",
    "session_id",
    "event_at",
    "type",
    "tags",
    "user_text",
    "assistant_text",
)
QUERY_FIELDS = ("id", "namespace", "query", "relevant", "category", "now", "history")


@dataclass(slots=True)
class Known:
    """The contents of a namespace: its records, and the ids a question may name in each unit."""

    records: list[Record] = field(default_factory=list)
    ids: dict[Unit, set[str]] = field(default_factory=lambda: {unit: set() for unit in UNITS})


def load(folder: str | Path, unit: Unit | None = None) -> Dataset:
    """The memories and queries of a folder; `unit` settles what `relevant` names, else the ids themselves do."""
    folder = Path(folder)
    if unit is not None and unit not in UNITS:
        raise InvalidInput(f"unit {unit!r} is unknown; it is one of {', '.join(UNITS)}")
    if not folder.is_dir():
        problem = "is a file, not a folder" if folder.exists() else "does not exist"
        raise InvalidInput(f"{folder} {problem}; give the folder that holds memories.jsonl and queries.jsonl")
    known = _memories(find_file(folder, "memories"))
    questions, unit = _queries(find_file(folder, "queries"), known, unit)
    zoneless = sum(bool(record.notes) for space in known.values() for record in space.records)
    return Dataset(
        name=folder.resolve().name,
        unit=unit,
        memories={namespace: space.records for namespace, space in known.items()},
        questions=questions,
        plain={namespace: list(plain_texts(space.records, unit)) for namespace, space in known.items()},
        notes=(f"memories whose time had no zone and was taken as UTC: {zoneless}",) if zoneless else (),
    )


def _memories(path: Path) -> dict[str, Known]:
    known: dict[str, Known] = {}
    for line in lines(path):
        line.only(MEMORY_FIELDS)
        space = known.setdefault(line.name("namespace"), Known())
        id = line.name("id")
        if id in space.ids["turn"]:
            raise line.fault("id", f"{id!r} is already on an earlier line of this namespace")
        record = _record(line)
        space.records.append(record)
        space.ids["turn"].add(id)
        if record.session_id:
            space.ids["session"].add(record.session_id)
    return known


def _record(line: Fields) -> Record:
    """The record of a line; when it is refused, each field is tried alone to find the one at fault."""
    data = {name: value for name, value in line.data.items() if name != "namespace"}
    try:
        return record_of(data)
    except InvalidInput as error:
        for name, value in data.items():
            line.checked(name, record_of, {"content": "x", name: value})
        raise line.fault("content", error) from None


def _queries(path: Path, known: dict[str, Known], forced: Unit | None) -> tuple[list[Question], Unit]:
    """The questions, and the unit that all of them fit; ids that are both memories and sessions count as memories."""
    questions: dict[str, Question] = {}
    allowed: Sequence[Unit] = (forced,) if forced else UNITS
    units = allowed
    for line in lines(path):
        question = _question(line, known)
        if question.id in questions:
            raise line.fault("id", f"{question.id!r} is already on an earlier line")
        questions[question.id] = question
        ids = known[question.namespace].ids
        for id in question.relevant:
            if not any(id in ids[unit] for unit in allowed):
                expected = "memory" if forced == "turn" else "session" if forced else "memory or session"
                raise line.fault("relevant", f"{id!r} is not a known {expected} id of namespace {question.namespace!r}")
        units = [unit for unit in units if ids[unit].issuperset(question.relevant)]
        if not units:
            raise line.fault("relevant", "names memories in one place and sessions in another; keep to one of them")
    return list(questions.values()), units[0]


def _question(line: Fields, known: dict[str, Known]) -> Question:
    line.only(QUERY_FIELDS)
    namespace = line.name("namespace")
    if namespace not in known:
        raise line.fault("namespace", f"{namespace!r} holds no memories")
    relevant = [line.checked("relevant", checked_name, id, "relevant") for id in line.entries("relevant")]
    if not relevant:
        raise line.fault("relevant", "is empty; name what answers the question, or leave the question out")
    data = line.data
    return Question(
        id=line.name("id"),
        namespace=namespace,
        text=line.text("query"),
        relevant=tuple(dict.fromkeys(relevant)),
        category=line.name("category") if "category" in data else "all",
        now=line.checked("now", as_utc, data["now"], "now")[0] if "now" in data else None,
        history=line.checked("history", checked_history, data.get("history", ())),
    )


def plain_texts(records: Sequence[Record], unit: Unit) -> Iterator[tuple[str, str]]:
    """The texts that the plain baselines search: the id that counts, and the text with its speaker if that is a
    person."""
    for record in records:
        id = record.id if unit == "turn" else record.session_id
        if id is not None:
            yield id, spoken(record)


def dataset_of(lives: Sequence[Life]) -> Dataset:
    """A namespace for each life, with all of its questions, also those that nothing answers."""
    unread = sorted({name for life in lives for name in life.unread})
    return Dataset(
        name="everyday",
        unit="turn",
        memories={life.name: life.memories for life in lives},
        questions=tuple(question for life in lives for question in life.questions),
        plain={life.name: list(plain_texts(life.memories, "turn")) for life in lives},
        notes=(f"fields of memories that are not stored: {', '.join(unread)}",) if unread else (),
    )
