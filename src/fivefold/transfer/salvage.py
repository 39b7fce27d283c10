"""Out of a damaged file into a new store: every memory that can be read and is what was stored; nothing is invented."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import apsw

from fivefold.errors import EmbedderError, FivefoldError, InvalidInput, NotFound
from fivefold.models.embedders import DEFAULT, RETIRED, Embedder, choice_of, is_remote
from fivefold.models.embedders import embedder as load_embedder
from fivefold.namespace import Namespace
from fivefold.stores import open_store
from fivefold.stores.atomic_files import check_target, move_into_place, temporary_folder
from fivefold.stores.interface import Store
from fivefold.stores.sqlite.connection import plain_errors, transaction
from fivefold.stores.sqlite.damage import DEFAULTS, DamagedFile, FoundRow
from fivefold.stores.sqlite.encryption import unlock
from fivefold.stores.tables import MEMORY_COLUMNS, memory_of
from fivefold.transfer.backup import connection_to
from fivefold.transfer.jsonl import draft_of, line_of, restore
from fivefold.values.entities import extraction_of
from fivefold.values.open_files import refuse_open_store
from fivefold.values.reports import Link
from fivefold.values.serialize import Json, Value
from fivefold.values.times import is_hash_of, utc_now
from fivefold.writing.draft import Draft
from fivefold.writing.extract import extractor
from fivefold.writing.rebuild import rebuild
from fivefold.writing.sessions import refresh_session

_FAULTS = (InvalidInput, ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError)
"""The errors of a row whose columns do not fit together."""


@dataclass(frozen=True, slots=True)
class LostMemory(Value):
    """A memory that could not be copied."""

    namespace: str | None
    id: str | None
    """None, as the namespace, if it cannot be read."""
    why: str


@dataclass(frozen=True, slots=True)
class Salvage(Value):
    """The memories brought into the new store, by namespace, and those that were lost."""

    source: str
    target: str
    memories: dict[str, int]
    lost: tuple[LostMemory, ...]
    notes: tuple[str, ...]


@dataclass(slots=True)
class _Find:
    """The findings of one pass over a damaged file."""

    lines: dict[int, list[str]] = field(default_factory=dict)
    """The memories of each namespace as exported lines; in no file, as the store may be encrypted."""
    ids: dict[int, set[str]] = field(default_factory=dict)
    lost: list[tuple[int, str | None, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Part:
    """The known part of a namespace."""

    name: str
    settings: str
    lines: list[str]
    pin: str | None


def salvage(
    source: str, target: str, *, embedder: str | Embedder | None = None, progress: bool = False, key: str | None = None
) -> Salvage:
    """Bring every readable memory of a damaged SQLite file into a new store, and list what is lost.

    The damaged file is only read. Memories, links between them and settings are copied; derived data is made
    again. `embedder` is for namespaces whose own one cannot be loaded by its name. The store of an encrypted file gets
    the same key.
    """
    path, goal = Path(source), Path(target)
    if not path.is_file():
        raise NotFound(f"there is no file at {source!r} to read from")
    refuse_open_store(path)
    check_target(goal, replace=False)
    with temporary_folder(goal) as folder:
        copy, new = folder / "damaged.db", folder / "store.db"
        for end in ("", "-wal"):
            if Path(source + end).exists():
                shutil.copyfile(source + end, f"{copy}{end}")
        with plain_errors(source), closing(apsw.Connection(str(copy))) as connection:
            key = unlock(connection, source, key) or None
            file = DamagedFile(connection)
            found = _read(file)
            named, pins = file.namespaces(), file.embedders()
            for number in found.lines:
                if number not in named:
                    named[number] = (f"salvaged-{number}", "{}")
                    found.notes.append(f"the name of a namespace is lost; its memories are in 'salvaged-{number}'")
            parts = {
                number: _Part(*own, found.lines.get(number, []), pins.get(number)) for number, own in named.items()
            }
            open_store(new, key).close()
            with connection_to(new, key) as connected, transaction(connected):
                for table in file.carry(connected):
                    found.notes.append(f"some rows of {table} are damaged and were not copied")
        with closing(open_store(new, key)) as store:
            counts = {part.name: _write(store, part, embedder, found.notes, progress) for part in parts.values()}
        move_into_place(new, goal, replace=False)
    lost = tuple(LostMemory(parts[number].name if number in parts else None, id, why) for number, id, why in found.lost)
    return Salvage(source, target, counts, lost, tuple(found.notes))


def _read(file: DamagedFile) -> _Find:
    """Each sound memory as a line of JSON of its namespace; a memory that is found twice comes once."""
    found, links, known, sums = _Find(), file.links(), file.known(), file.sums()
    ids = {row: id for row, (_, id) in known.items() if isinstance(id, str)}
    faults: dict[tuple[int, str | None], str] = {}
    for as_read in chain(file.memories(), file.scattered()):
        if as_read.id in found.ids.get(as_read.namespace, ()):
            continue
        row, doubt, checksum = as_read, "", sums.get(as_read.values["row"])
        if checksum is not None and not as_read.agrees(checksum):
            mended = as_read.mended(checksum)  # a changed bit is put right if the checksum tells which
            row, doubt = as_read, "its text is what was stored, some other column may not be"
            if mended is not None:
                row, doubt = mended[0], f"one bit of its column {mended[1]!r} was put right"
        if row.id in found.ids.get(row.namespace, ()):
            continue
        try:
            line, without = _sound_memory(row, lambda source: _links(source, links, ids))
        except _FAULTS as error:
            faults.setdefault((row.namespace, row.id), f"its row is damaged: {error}")
            continue
        found.ids.setdefault(row.namespace, set()).add(line["id"])
        found.lines.setdefault(row.namespace, []).append(json.dumps(line, ensure_ascii=False))
        if doubt or without:
            left_out = f"it was copied without {', '.join(without)}" if without else doubt
            found.notes.append(f"memory {row.id!r} was damaged: {left_out}")
    for namespace, id in known.values():
        faults.setdefault((namespace, id), "its row cannot be read")
    if not file.knows_all():
        found.notes.append("the table of memories is damaged itself, so that some may be lost that are not listed")
    for table, what in (("memory_links", "links between memories"), ("namespaces", "settings of namespaces")):
        if file.wrong_rows(table):
            found.notes.append(f"the {what} are not all what was stored; they were copied as far as they can be read")
    found.lost = [(key, id, why) for (key, id), why in faults.items() if id not in found.ids.get(key, ())]
    return found


def _sound_memory(row: FoundRow, links: Callable[[int], Iterable[Link]]) -> tuple[Json, list[str]]:
    """The exported line of a memory, and the names of columns that are left out as they cannot be read."""
    undecoded = [name for name, value in row.values.items() if isinstance(value, bytes) and name != "content_hash"]
    readable = {**row.values, **{name: DEFAULTS.get(name) for name in undecoded}}
    try:
        return _line(readable, links), undecoded
    except _FAULTS:
        for name in readable:
            with suppress(*_FAULTS):
                return _line({**readable, name: DEFAULTS.get(name)}, links), [*undecoded, name]
        raise


def _line(values: dict[str, Any], links: Callable[[int], Iterable[Link]]) -> Json:
    """The exported line of a memory, which is checked as one that comes from anywhere."""
    memory = memory_of("salvaged", [values[name] for name in MEMORY_COLUMNS])
    first = memory.session_id if memory.kind == "session" else memory.speaker
    if not is_hash_of(values["content_hash"], first, memory.content):
        raise InvalidInput("its text is not the one that was stored")
    line = line_of(memory, extraction_of(memory, json.loads(values["extracted"])), links(memory.row))
    draft_of(line, "salvaged")
    return line


def _links(source: int, links: dict[int, list[tuple[int, str, str, float]]], ids: dict[int, str]) -> Iterator[Link]:
    for target, relation, why, chance in links.get(source, ()):
        if target in ids and source in ids:
            yield Link(ids[source], ids[target], relation, why, chance)  # type: ignore[arg-type]


def _write(store: Store, part: _Part, choice: str | Embedder | None, notes: list[str], progress: bool) -> int:
    """Makes a namespace of the new store; derived rows are made again if they do not fit the copied ones."""
    embedder = choice or _embedder(part, notes)
    namespace = Namespace(store, part.name, embedder, extractor("rules"), utc_now)
    try:
        namespace.configure(json.loads(part.settings))
    except (ValueError, TypeError, AttributeError, FivefoldError):
        notes.append(f"the settings of {part.name!r} are lost; it has the defaults")
    if not part.lines:
        return 0

    def drafts() -> Iterator[Draft]:
        return (draft_of(json.loads(line), "salvaged") for line in part.lines)

    report = restore(namespace, drafts, progress=progress).build()
    with namespace.transaction(namespace.embedder()) as txn:
        for session in report.sessions:
            if txn.sessions.memory_row(session) is None:
                refresh_session(session, namespace, txn, at_once=True)
    if not all(finding.ok for finding in store.check(part.name)):
        rebuild(namespace, progress=progress)
    return len(report.stored)


def _embedder(part: _Part, notes: list[str]) -> str:
    """The embedder of the namespace, or the default if that cannot be loaded or would send texts to a server."""
    if part.pin is None:
        return DEFAULT
    wanted = RETIRED.get(part.pin) or choice_of(part.pin)
    try:
        if is_remote(wanted):
            raise EmbedderError(f"{wanted} sends texts to a server")
        load_embedder(wanted)
    except FivefoldError:
        notes.append(f"the embedder {part.pin!r} of {part.name!r} is not used here; its vectors are of {DEFAULT!r}")
        return DEFAULT
    return wanted
