"""Anyone's data as JSON lines, and the reading all formats share: an error names file, place and field."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO, Any, TypeVar, cast

from fivefold.bench.data import UNITS, Dataset, Question, Unit
from fivefold.errors import InvalidInput
from fivefold.values.memory import ROLES, Record
from fivefold.values.records import record_of
from fivefold.values.serialize import Json
from fivefold.values.times import as_utc
from fivefold.values.validate import checked_history, checked_name, checked_text

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
_BOM = b"\xef\xbb\xbf"
_T = TypeVar("_T")


@dataclass(slots=True)
class Known:
    """What a namespace holds: its records, and the ids a question may name in each unit."""

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
    known = _memories(_either(folder, "memories"))
    questions, unit = _queries(_either(folder, "queries"), known, unit)
    zoneless = sum(bool(record.notes) for space in known.values() for record in space.records)
    return Dataset(
        name=folder.resolve().name,
        unit=unit,
        memories={namespace: space.records for namespace, space in known.items()},
        questions=questions,
        plain={namespace: list(_plain(space.records, unit)) for namespace, space in known.items()},
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
                raise line.fault("relevant", f"{id!r} is no {expected} id of namespace {question.namespace!r}")
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


def _plain(records: Sequence[Record], unit: Unit) -> Iterator[tuple[str, str]]:
    for record in records:
        id = record.id if unit == "turn" else record.session_id
        if id is not None:
            has_name = record.speaker and record.speaker.casefold() not in ROLES
            yield id, f"{record.speaker}: {record.content}" if has_name else record.content


# reading, shared by all formats


@dataclass(frozen=True, slots=True)
class Fields:
    """A JSON object and its place in the file. A missing or wrong field is an error that names the place."""

    where: str
    data: Json

    @staticmethod
    def of(where: str, value: object) -> Fields:
        if not isinstance(value, dict):
            raise InvalidInput(f"{where}: must be an object with named fields, not {kind_of(value)}")
        return Fields(where, {name: item for name, item in value.items() if item is not None})

    def fault(self, name: str, why: object) -> InvalidInput:
        reason = why.reason if isinstance(why, InvalidInput) and why.field == name else why
        return InvalidInput(f"{self.where}, field {name}: {reason}")

    def checked(self, name: str, check: Callable[..., _T], *arguments: object) -> _T:
        """What `check` makes of the arguments; an error names the place."""
        try:
            return check(*arguments)
        except InvalidInput as error:
            raise self.fault(name, error) from None

    def only(self, known: Sequence[str]) -> None:
        unknown = next((name for name in self.data if name not in known), None)
        if unknown is not None:
            raise self.fault(unknown, f"is unknown; known are {', '.join(known)}")

    def value(self, name: str) -> Any:
        if name not in self.data:
            raise self.fault(name, "is missing")
        return self.data[name]

    def text(self, name: str, *, empty: bool = False) -> str:
        return self.checked(name, partial(checked_text, empty=empty), self.value(name), name)

    def name(self, name: str) -> str:
        return self.checked(name, checked_name, self.value(name), name)

    def entries(self, name: str) -> list[Any]:
        value = self.value(name)
        if not isinstance(value, list):
            raise self.fault(name, f"must be a list, not {kind_of(value)}")
        return value


def kind_of(value: object) -> str:
    """What JSON calls a value, for errors."""
    if isinstance(value, bool):
        return "true or false"
    names = {dict: "an object", list: "a list", str: "text", int: "a number", float: "a number", type(None): "null"}
    return names.get(type(value), type(value).__name__)


def lines(path: Path) -> Iterator[Fields]:
    """One object a line, read as it is needed; blank lines are passed over, an empty file is an error."""
    empty = True
    with _open_lines(path) as file:
        for number, raw in enumerate(file, 1):
            where = f"{path.name} line {number}"
            if not raw.removeprefix(_BOM).strip():
                continue
            value = _parse(raw, where)
            if empty and isinstance(value, list):
                raise InvalidInput(f"{where}: the file is a JSON list; write one object a line instead")
            empty = False
            yield Fields.of(where, value)
    if empty:
        raise InvalidInput(f"{path.name} is empty; write one object a line")


def document(path: str | Path) -> list[Any]:
    """The one JSON list that a file holds."""
    path = Path(path)
    with _open_lines(path) as file:
        value = _parse(file.read(), path.name)
    if not isinstance(value, list):
        raise InvalidInput(f"{path.name}: must be a list at its top, not {kind_of(value)}")
    if not value:
        raise InvalidInput(f"{path.name}: the list is empty; there is nothing to measure")
    return value


def _parse(raw: bytes, where: str) -> object:
    raw = raw.removeprefix(_BOM)
    if not raw.strip():
        raise InvalidInput(f"{where} is empty")
    try:
        return json.loads(raw.decode())
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{where}: not UTF-8 text, {error.reason} at byte {error.start}") from None
    except json.JSONDecodeError as error:
        row = f"line {error.lineno}, " if b"\n" in raw.strip() else ""
        raise InvalidInput(f"{where}: not JSON, {error.msg} at {row}column {error.colno}") from None
    except ValueError as error:
        raise InvalidInput(f"{where}: not JSON, {error}") from None
    except RecursionError:
        raise InvalidInput(f"{where}: its values are nested too deep") from None


@contextmanager
def _open_lines(path: Path) -> Iterator[IO[bytes]]:
    if path.is_dir():
        raise InvalidInput(f"{path} is a folder; give the file itself")
    try:
        packed = path.suffix == ".gz"
        with cast("IO[bytes]", gzip.open(path)) if packed else path.open("rb") as file:
            yield file
    except FileNotFoundError:
        raise InvalidInput(f"{path} does not exist; check the path") from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InvalidInput(f"{path.name} is not a sound gzip file: {error}; pack it again") from None
    except OSError as error:
        raise InvalidInput(f"{path} could not be read: {error.strerror or error}") from None


def _either(folder: Path, name: str) -> Path:
    paths = [path for path in (folder / f"{name}.jsonl", folder / f"{name}.jsonl.gz") if path.exists()]
    if not paths:
        raise InvalidInput(f"{folder} holds neither {name}.jsonl nor {name}.jsonl.gz; write one of them")
    if len(paths) > 1:
        raise InvalidInput(f"{folder} holds both {name}.jsonl and {name}.jsonl.gz; keep one of them")
    return paths[0]
