"""Parts of a benchmark: memories to store, questions to ask, and the memories that each should find."""

from __future__ import annotations

import hashlib
import json
import tempfile
import weakref
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar, get_args, overload

from fivefold.errors import InvalidInput
from fivefold.evaluation import Question
from fivefold.values.json_files import PACKED, document, kind_of
from fivefold.values.memory import ROLES, Memory, Record

# Values laid down in a temporary file and read back one at a time, so that a large dataset needs little memory.

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a value in the file."""

    start: int
    length: int


class Spool:
    """A temporary file of JSON values, packed; equal values lie there once. It goes with the last who holds it."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115
        self._places: dict[bytes, Place] = {}
        weakref.finalize(self, self._file.close)

    def put(self, value: object) -> Place:
        raw = json.dumps(value).encode()
        key = hashlib.sha256(raw).digest()
        if key not in self._places:
            packed = zlib.compress(raw, 1)
            start = self._file.seek(0, 2)
            self._file.write(packed)
            self._places[key] = Place(start, len(packed))
        return self._places[key]

    def get(self, place: Place) -> Any:
        self._file.seek(place.start)
        return json.loads(zlib.decompress(self._file.read(place.length)))


class LazyList(Sequence[T], Generic[T]):
    """A list that is made each time it is used and whose length is known without that."""

    def __init__(self, length: int, make: Callable[[], list[T]]) -> None:
        self._length, self._make = length, make

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[T]:
        return iter(self._make())

    @overload
    def __getitem__(self, place: int) -> T: ...
    @overload
    def __getitem__(self, place: slice) -> list[T]: ...
    def __getitem__(self, place: int | slice) -> T | list[T]:
        return self._make()[place]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]


Unit = Literal["turn", "session"]
UNITS: tuple[Unit, ...] = get_args(Unit)


@dataclass(frozen=True, slots=True)
class Choice:
    """The answers that a question offers, and the place of the right one."""

    options: tuple[str, ...]
    right: int


@dataclass(frozen=True, slots=True)
class Dataset:
    """A benchmark, ready to be stored and asked.

    `unit` says what `Question.relevant` names: memories (turn) or sessions. `plain` holds for each namespace what the
    plain baselines search: pairs of the id they are counted by and the text, without dates. `measures` are those that
    the benchmark's authors report, `choices` the answers offered to a question. `sessions` is the same benchmark with
    sessions as gold, if a run by turn is to be scored by session as well.
    """

    name: str
    unit: Unit
    memories: Mapping[str, Sequence[Record]]
    questions: Sequence[Question]
    plain: Mapping[str, Sequence[tuple[str, str]]]
    notes: tuple[str, ...] = ()
    measures: tuple[str, ...] = ()
    choices: Mapping[str, Choice] = field(default_factory=dict)
    sessions: Dataset | None = None


def spoken(memory: Record | Memory) -> str:
    """The text of a memory as the plain baselines have it: with its speaker if that is a person, without a date."""
    has_name = memory.speaker and memory.speaker.casefold() not in ROLES
    return f"{memory.speaker}: {memory.content}" if has_name else memory.content


def turn_of(id: str, content: str, role: str, session: str, index: int, event_at: datetime) -> Record:
    """A turn of a talk with an assistant as a memory."""
    texts = {f"{role}_text": content} if role in ("user", "assistant") else {}
    place = {"session_id": session, "turn_index": index, "event_at": event_at}
    return Record(id=id, content=content, speaker=role, kind="turn", **place, **texts)  # type: ignore[arg-type]


def tallied(tally: Counter[str], labels: Mapping[str, str], always: Sequence[str]) -> tuple[str, ...]:
    """Notes on everything that reading a file left out or repaired; a count of zero is noted only for a label in
    `always`."""
    return tuple(f"{words}: {tally[what]}" for what, words in labels.items() if what in always or tally[what])


def sessions_of(records: Sequence[Record]) -> dict[str, str]:
    """The session of each memory by its id; a memory without a session stands for itself."""
    return {record.id or "": record.session_id or record.id or "" for record in records}


def by_session(dataset: Dataset) -> Dataset:
    """The benchmark with the sessions of its gold memories as gold, and plain texts under the names of sessions."""
    of = {space: sessions_of(records) for space, records in dataset.memories.items()}

    def plain(space: str) -> LazyList[tuple[str, str]]:
        texts = dataset.plain[space]
        return LazyList(len(texts), lambda: [(of[space].get(id, id), text) for id, text in texts])

    questions = tuple(
        replace(item, relevant=tuple(dict.fromkeys(of[item.namespace].get(id, id) for id in item.relevant)))
        for item in dataset.questions
    )
    return replace(dataset, unit="session", questions=questions, plain={space: plain(space) for space in dataset.plain})


# Files of benchmarks: a list of JSON, or lines with a name in a folder.


def listed(path: str | Path) -> list[Any]:
    """The one JSON list that a file holds."""
    path, value = Path(path), document(path)
    if not isinstance(value, list):
        raise InvalidInput(f"{path.name}: must be a list at its top, not {kind_of(value)}")
    if not value:
        raise InvalidInput(f"{path.name}: the list is empty; there is nothing to measure")
    return value


def find_file(folder: Path, name: str) -> Path:
    """The one file of lines with this name, plain or packed."""
    paths = [folder / f"{name}.jsonl{end}" for end in ("", *PACKED)]
    found = [path for path in paths if path.exists()]
    if not found:
        names = [path.name for path in paths]
        raise InvalidInput(f"{folder} holds neither {', '.join(names[:-1])} nor {names[-1]}; write one of them")
    if len(found) > 1:
        raise InvalidInput(f"{folder} holds both {found[0].name} and {found[1].name}; keep one of them")
    return found[0]
