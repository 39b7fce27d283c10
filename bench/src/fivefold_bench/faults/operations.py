"""Operations that write or delete memories, at once or later."""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path
from time import time

import apsw

from fivefold.engine import Engine
from fivefold.errors import DiskFull
from fivefold.hooks.entry import EVENT_FILE, spool
from fivefold.hooks.state import State
from fivefold.hooks.writer import SpoolWriter
from fivefold.namespace import Namespace
from fivefold.stores import open_store
from fivefold.stores.records import QueueLength
from fivefold.stores.sqlite.connection import rows
from fivefold.stores.sqlite.schema import APPLICATION_ID, migrations
from fivefold.stores.sqlite.store import SqliteStore
from fivefold.transfer.backup import back_up, restore
from fivefold.transfer.migrate import migrate
from fivefold.values.memory import Record
from fivefold.values.times import utc_now
from fivefold.writing.edit import sweep
from fivefold.writing.extract import extractor
from fivefold.writing.queue_entries import entries_of, write_entries
from fivefold_bench.faults.task import (
    Account,
    EngineTask,
    Journal,
    Letters,
    Task,
    Verdict,
    all_ids,
    all_memories,
    complaints,
    fill,
    finds,
    opened,
    store_of,
)

# Operations on all memories of a namespace or a store: reembed, import, copy, upgrade, rebuild, backup, restore.

SIZE = 60
"""Memories of a store that is moved as a whole."""

_LACKS_VECTORS = re.compile(r"vectors: \d+ memories have none, 0 are lost")

DIMENSIONS = (16, 24)
"""Those of the two embedders between which a namespace is moved."""


class FilledStoreTask(Task):
    """An operation on a store with memories that it must not change."""

    def prepare(self, folder: Path) -> None:
        with opened(folder) as engine:
            fill(engine, SIZE)

    def look(self, engine: Engine, account: Account) -> tuple[int, int]:
        return SIZE - len(all_ids(engine)), 0


class Rebuild(FilledStoreTask, EngineTask):
    """Everything that is derived is built again."""

    name = "index rebuild"

    def act(self, engine: Engine, number: int, journal: Journal) -> None:
        with journal.step(number):
            engine.doctor(repair=True)


class Reembed(FilledStoreTask):
    """The namespace goes from one embedder to another and back."""

    name = "reembed"

    def work(self, folder: Path, start: int, journal: Journal) -> None:
        engine = opened(folder, dimension=_dimension(folder))
        journal.ready()
        for number in count(start):
            with journal.step(number):
                engine.reembed(Letters(DIMENSIONS[number % 2]))

    def check(self, folder: Path, account: Account) -> Verdict:
        dimension = _dimension(folder)
        allowed = {DIMENSIONS[number % 2] if number >= 0 else DIMENSIONS[0] for number in account.possible}
        with opened(folder, dimension=dimension) as engine:
            lost, half = self.look(engine, account)
            return Verdict(lost + (dimension not in allowed), half, complaints(engine))


class Import(FilledStoreTask):
    """A file of JSON lines goes into a new namespace; an import that was cut off runs again and goes on."""

    name = "import"
    again = True

    def prepare(self, folder: Path) -> None:
        super().prepare(folder)
        with opened(folder) as engine:
            engine.export_jsonl(folder / "export.jsonl")

    def work(self, folder: Path, start: int, journal: Journal) -> None:
        journal.ready()
        for number in count(start):
            with opened(folder, f"import-{number}") as engine, journal.step(number):
                engine.import_jsonl(folder / "export.jsonl")

    def check(self, folder: Path, account: Account) -> Verdict:
        """An interrupted import may lack vectors and nothing else; after it ran again, all is there, and once."""
        lost = half = 0
        findings: tuple[str, ...] = ()
        for number in account.unsure:
            with opened(folder, f"import-{number}") as engine:
                findings += tuple(item for item in complaints(engine) if not _LACKS_VECTORS.match(item))
                engine.import_jsonl(folder / "export.jsonl")
                half += len(all_ids(engine)) != SIZE
                findings += complaints(engine)
        for number in account.done[-3:]:
            with opened(folder, f"import-{number}") as engine:
                lost += len(all_ids(engine)) != SIZE
        with opened(folder) as engine:
            return Verdict(lost, half, (*findings, *complaints(engine)))


class Copy(FilledStoreTask):
    """The store goes to another one; a copy that was cut off continues when it is run again."""

    name = "migrate to a file"
    again = True

    def target(self, folder: Path, number: int) -> str:
        return str(folder / f"copy-{number}.db")

    def work(self, folder: Path, start: int, journal: Journal) -> None:
        journal.ready()
        for number in count(start):
            with journal.step(number):
                migrate(str(store_of(folder)), self.target(folder, number))

    def check(self, folder: Path, account: Account) -> Verdict:
        lost = 0
        findings: tuple[str, ...] = ()
        for number in account.done[-3:]:
            with Engine(open_store(self.target(folder, number)), embedder=Letters()) as engine:
                lost += len(all_ids(engine)) != SIZE
                findings += complaints(engine)
        with opened(folder) as engine:
            return Verdict(lost, SIZE - len(all_ids(engine)), (*findings, *complaints(engine)))


@dataclass(frozen=True)
class CopyToServer(Copy):
    """The store goes to PostgreSQL, each copy in a schema that is dropped at the end."""

    dsn: str
    schema: str
    name = "migrate to PostgreSQL"
    writes_files = False

    def target(self, folder: Path, number: int) -> str:
        return f"{self.dsn}{'&' if '?' in self.dsn else '?'}schema={self.schema}_{number}"

    def clean_up(self, folder: Path) -> None:
        import psycopg
        from psycopg import sql

        with psycopg.connect(self.dsn.partition("?")[0], autocommit=True) as connection:
            connection.execute("SET client_min_messages = error")
            made = connection.execute(
                "SELECT nspname FROM pg_namespace WHERE starts_with(nspname, %s)", (f"{self.schema}_",)
            ).fetchall()
            for (name,) in made:
                connection.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(name)))


class Upgrade(Task):
    """A file of the oldest schema is opened, which brings it up to date by all migrations at once or leaves it."""

    name = "migrate the schema"
    again = True

    def prepare(self, folder: Path) -> None:
        with opened(folder) as engine:
            fill(engine, SIZE)
        make_oldest(store_of(folder), folder / "oldest.db")

    def work(self, folder: Path, start: int, journal: Journal) -> None:
        journal.ready()
        for number in count(start):
            path = folder / f"old-{number}" / "memory.db"
            if not path.exists():
                path.parent.mkdir(exist_ok=True)
                shutil.copy(folder / "oldest.db", path.with_suffix(".part"))
                path.with_suffix(".part").rename(path)
            with journal.step(number), closing(SqliteStore(str(path))) as store:
                if store.read_only:
                    raise DiskFull("the file stays as it was while the disk is full")

    def check(self, folder: Path, account: Account) -> Verdict:
        """The version of an upgrade that was cut off is the first or the last; opening it here goes on with it."""
        lost = half = 0
        findings: tuple[str, ...] = ()
        for number in (*account.done[-3:], *account.unsure):
            path = folder / f"old-{number}" / "memory.db"
            version = _version(path)
            half += version not in (migrations()[0][0], migrations()[-1][0])
            lost += number in account.done and version != migrations()[-1][0]
            with opened(path) as engine:
                lost += len(all_ids(engine)) != SIZE
                findings += tuple(item for item in complaints(engine) if item.startswith(("file", "references")))
                engine.doctor(repair=True)  # the oldest file was made without anything derived
                findings += complaints(engine)
        return Verdict(lost, half, findings)


class Backup(FilledStoreTask, EngineTask):
    """A backup takes the place of the one before; it has every memory that was there when it began."""

    name = "backup"

    def act(self, engine: Engine, number: int, journal: Journal) -> None:
        engine.remember(f"Backup number {number} comes next", id=f"next-{number}")
        with journal.step(number):
            back_up(engine.location, Path(engine.location).with_name("backup.db"), replace=True)

    def check(self, folder: Path, account: Account) -> Verdict:
        with opened(folder) as engine:
            findings = complaints(engine)
        if not (folder / "backup.db").exists():
            return Verdict(bool(account.done), 0, findings)
        with tempfile.TemporaryDirectory(dir=folder) as place:
            copy = Path(shutil.copy(folder / "backup.db", Path(place) / "copy.db"))
            with opened(copy) as engine:
                ids = all_ids(engine)
                last = max((int(id.removeprefix("next-")) for id in ids if id.startswith("next-")), default=-1)
                whole = sum(id.startswith("old-") for id in ids) == SIZE
                return Verdict(last not in account.possible, not whole, (*findings, *complaints(engine)))


class Restore(Task):
    """The store becomes one of two backups in turn."""

    name = "restore"

    def prepare(self, folder: Path) -> None:
        for place, name in enumerate(("first", "second")):
            with tempfile.TemporaryDirectory(dir=folder) as source:
                with opened(Path(source)) as engine:
                    fill(engine, SIZE + 10 * place, name)
                back_up(str(store_of(Path(source))), folder / f"{name}.db")
        restore(folder / "second.db", str(store_of(folder)))

    def work(self, folder: Path, start: int, journal: Journal) -> None:
        journal.ready()
        for number in count(start):
            with journal.step(number):
                restore(folder / f"{_backup(number)}.db", str(store_of(folder)), replace=True)

    def check(self, folder: Path, account: Account) -> Verdict:
        expected = {_backup(number) for number in account.possible}
        with opened(folder) as engine:
            names = {id.partition("-")[0] for id in all_ids(engine)}
            size = len(all_ids(engine))
            whole = len(names) == 1 and size == (SIZE if names == {"first"} else SIZE + 10)
            return Verdict(not names <= expected, not whole, complaints(engine))


MOVES: tuple[Task, ...] = (Reembed(), Import(), Upgrade(), Copy(), Rebuild(), Backup(), Restore())


def make_oldest(store: Path, target: Path) -> None:
    """A file of the first schema with the memories of a store, and nothing that is derived from them."""
    with closing(apsw.Connection(str(target))) as connection:
        connection.execute(migrations()[0][1])
        connection.execute("ATTACH ? AS newest", (str(store),))
        for table in ("namespaces", "memories"):
            columns = ", ".join(str(row[1]) for row in rows(connection, f"PRAGMA main.table_info({table})"))
            connection.execute(f"INSERT INTO {table} ({columns}) SELECT {columns} FROM newest.{table}")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {migrations()[0][0]}")


def _version(path: Path) -> int:
    with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)) as connection:
        return int(connection.pragma("user_version"))


def _dimension(folder: Path) -> int:
    """The dimension of the embedder to which the namespace is pinned."""
    with Engine(SqliteStore(str(store_of(folder)))) as engine:
        pin = engine.embedder_pin()
    return next(dimension for dimension in DIMENSIONS if Letters(dimension).pin == pin)


def _backup(number: int) -> str:
    return "first" if number % 2 == 0 else "second"


BATCH = 12
"""Memories in a batch."""

SLOTS = 12
"""Memories that are updated in turn."""

ROOM = QueueLength("", 100_000, 1 << 30)
"""The most that may wait in the queue."""

PROBED = 3
"""Number of the latest memories that are looked up in the lexical index as well."""


class Add(EngineTask):
    """One memory at a time."""

    name = "add"

    def act(self, engine: Engine, number: int, journal: Journal) -> None:
        with journal.step(number):
            engine.remember(_text(number), id=f"add-{number}", tags=[f"t{number}"])

    def look(self, engine: Engine, account: Account) -> tuple[int, int]:
        stored = engine.stored_ids([f"add-{number}" for number in (*account.done, *account.unsure)])
        lost = sum(f"add-{number}" not in stored for number in account.done)
        lost += sum(not self._whole(engine, number) for number in account.done[-PROBED:])
        half = [number for number in account.unsure[-PROBED:] if f"add-{number}" in stored]
        return lost, sum(not self._whole(engine, number) for number in half)

    def _whole(self, engine: Engine, number: int) -> bool:
        (id,) = ids = [f"add-{number}"]
        if not engine.stored_ids(ids):
            return False
        memory = engine.get(id)
        listed = [found.id for found in engine.memories(tag=f"t{number}")]
        return memory.content == _text(number) and listed == finds(engine, f"add{number}x") == ids


class Batch(EngineTask):
    """Several memories in one call, half of them turns of a session: all of them or none."""

    name = "batch"

    def act(self, engine: Engine, number: int, journal: Journal) -> None:
        records = [
            {
                "id": id,
                "content": f"{_text(number)}, piece {id}",
                "session_id": f"batch-{number}" if place % 2 else None,
            }
            for place, id in enumerate(_ids(number))
        ]
        with journal.step(number):
            engine.remember_many(records)

    def look(self, engine: Engine, account: Account) -> tuple[int, int]:
        lost = sum(len(engine.stored_ids(_ids(number))) != BATCH for number in account.done)
        return lost, sum(0 < len(engine.stored_ids(_ids(number))) < BATCH for number in account.unsure)


class Update(EngineTask):
    """Text, tags and metadata of a few memories, again and again; each update changes all three."""

    name = "update"

    def prepare(self, folder: Path) -> None:
        with opened(folder) as engine:
            engine.remember_many({"id": f"slot-{slot}", "content": f"Slot {slot} waits"} for slot in range(SLOTS))

    def act(self, engine: Engine, number: int, journal: Journal) -> None:
        with journal.step(number):
            engine.update(
                f"slot-{number % SLOTS}", content=_text(number), tags=[f"t{number}"], metadata={"version": number}
            )

    def look(self, engine: Engine, account: Account) -> tuple[int, int]:
        results = [self._slot(engine, slot, account) for slot in range(SLOTS)]
        return results.count("lost"), results.count("half")

    def _slot(self, engine: Engine, slot: int, account: Account) -> str:
        done, unsure = ([n for n in each if n % SLOTS == slot] for each in (account.done, account.unsure))
        own = Account(done, unsure)
        memory = engine.get(f"slot-{slot}")
        version = memory.metadata.get("version", -1)
        if version not in own.possible:
            return "lost"
        if version == -1:
            return "whole" if memory.content == f"Slot {slot} waits" and not memory.tags else "half"
        whole = memory.content == _text(version) and memory.tags == (f"t{version}",)
        return "whole" if whole and finds(engine, f"add{version}x") == [memory.id] else "half"


class Supersede(EngineTask):
    """A memory that replaces another: the new one and the mark on the old one, or neither."""

    name = "supersede"

    def act(self, engine: Engine, number: int, journal: Journal) -> None:
        engine.remember(f"Before: {_text(number)}", id=f"before-{number}")
        with journal.step(number):
            engine.supersede(f"before-{number}", {"id": f"after-{number}", "content": f"After: {_text(number)}"})

    def look(self, engine: Engine, account: Account) -> tuple[int, int]:
        lost = sum(self._marks(engine, number) != (True, True) for number in account.done)
        half = [self._marks(engine, number) for number in account.unsure]
        return lost, sum(new != marked for new, marked in half)

    def _marks(self, engine: Engine, number: int) -> tuple[bool, bool]:
        new = bool(engine.stored_ids([f"after-{number}"]))
        return new, engine.get(f"before-{number}").superseded_by == f"after-{number}"


class Forget(EngineTask):
    """A memory, or a session with its turns, goes for good."""

    name = "forget"

    def act(self, engine: Engine, number: int, journal: Journal) -> None:
        ids, session = _ids(number, 3), f"gone-{number}" if number % 2 else None
        engine.remember_many({"id": id, "content": f"{_text(number)} {id}", "session_id": session} for id in ids)
        with journal.step(number):
            if session:
                engine.forget_session(session)
            else:
                engine.forget(ids[0])

    def look(self, engine: Engine, account: Account) -> tuple[int, int]:
        lost = sum(self._left(engine, number) != 0 for number in account.done)
        for number in account.done[-PROBED:]:
            lost += not set(self._ids(number)).isdisjoint(finds(engine, f"add{number}x"))
        half = sum(0 < self._left(engine, number) < 3 for number in account.unsure if number % 2)
        return lost, half

    def _left(self, engine: Engine, number: int) -> int:
        """Number of forgotten memories that are still there."""
        return len(engine.stored_ids(self._ids(number)))

    def _ids(self, number: int) -> list[str]:
        return _ids(number, 3) if number % 2 else _ids(number, 1)


class ForgottenSource(EngineTask):
    """A forgotten memory comes again, by an import and as records: it is stored only after it was reinstated.

    The operations forget a note, forget a session, reinstate a note, reinstate a session, in turn.
    """

    name = "forgotten sources"

    def prepare(self, folder: Path) -> None:
        """Export a note and a session; a source is one of these files with a number in it."""
        super().prepare(folder)
        for place in range(2):
            with opened(folder, f"source-{place}") as engine:
                engine.remember_many(_source("NUMBER", place))
                engine.export_jsonl(path := folder / f"source-{place}.jsonl")
                for own in all_memories(engine, "session"):
                    path.write_text(path.read_text().replace(own.id, "talk-NUMBER-own"))

    def act(self, engine: Engine, number: int, journal: Journal) -> None:
        self._come_again(engine, [number])
        if number % 4 < 2:
            with journal.step(number):
                self._forget(engine, number)
        else:
            if engine.stored_ids([f"said-{number}-0"]):
                self._forget(engine, number)
            with journal.step(number):
                engine.reinstate(f"talk-{number}" if number % 2 else f"said-{number}-0")
        self._come_again(engine, [number])

    def look(self, engine: Engine, account: Account) -> tuple[int, int]:
        self._come_again(engine, range(account.next + 1))
        stored = Counter(memory.content for memory in (*all_memories(engine), *all_memories(engine, "session")))
        there: dict[int, set[int]] = {}
        for number in range(account.next):
            texts = [record.content for record in _source(number, number)]
            there[number] = {stored[text] for text in (*texts, "\n".join(texts))}
        lost = sum(there[number] != {int(number % 4 > 1)} for number in account.done)
        return lost, sum(there[number] not in ({0}, {1}) for number in account.unsure)

    def _forget(self, engine: Engine, number: int) -> None:
        if number % 2:
            engine.forget_session(f"talk-{number}")
        else:
            engine.forget(f"said-{number}-0")

    def _come_again(self, engine: Engine, numbers: Iterable[int]) -> None:
        folder = Path(engine.location).parent
        kinds = [(folder / f"source-{place}.jsonl").read_text() for place in range(2)]
        again = folder / "again.jsonl"
        again.write_text("".join(kinds[number % 2].replace("NUMBER", str(number)) for number in numbers))
        engine.import_jsonl(again)
        engine.remember_many(record for number in numbers for record in _source(number, number))


class Queue(EngineTask):
    """Records are accepted, and stored later: each waits or is stored, and never both."""

    name = "queue"

    def act(self, engine: Engine, number: int, journal: Journal) -> None:
        records = [Record(content=f"{_text(number)}, piece {id}", id=id) for id in _ids(number, 3)]
        waiting = entries_of(records, f"write-{number}", None, utc_now())
        with journal.step(number):
            engine.store.queue.add(engine.namespace, f"write-{number}", waiting, ROOM)
        if number % 2:
            write_entries(_space(engine, utc_now()), engine.store.queue.first(engine.namespace, BATCH, utc_now()))

    def look(self, engine: Engine, account: Account) -> tuple[int, int]:
        there = [self._there(engine, number) for number in account.done]
        cut_off = [self._there(engine, number) for number in account.unsure]
        lost, doubled = sum(count < 3 for count in there), sum(count > 3 for count in there)
        return lost, doubled + sum(count not in (0, 3) for count in cut_off)

    def _there(self, engine: Engine, number: int) -> int:
        """Number of times the records of a write are there, stored or waiting."""
        ids = _ids(number, 3)
        return len(engine.stored_ids(ids)) + sum(engine.store.queue.holds(engine.namespace, id) for id in ids)


class Hooks(EngineTask):
    """An event of a coding agent goes into the spool, and from there into the store, once."""

    name = "hooks"

    def prepare(self, folder: Path) -> None:
        super().prepare(folder)
        State(folder / "hooks").create()

    def act(self, engine: Engine, number: int, journal: Journal) -> None:
        state = State(Path(engine.location).with_name("hooks"))
        payload = json.dumps({"conversation_id": f"talk-{number % 3}", "prompt": _text(number)})
        os.chdir(state.folder)
        with journal.step(number):
            spool(f"cursor\nbeforeSubmitPrompt\n{engine.namespace}\n{time()}\n{payload}".encode())
        SpoolWriter(state, lambda namespace: engine, lambda line: None).drain()

    def look(self, engine: Engine, account: Account) -> tuple[int, int]:
        """One that waits while it is stored as well was cut off before its file was deleted, and is stored once."""
        stored = Counter(memory.content for memory in all_memories(engine))
        folder = Path(engine.location).with_name("hooks")
        waiting = "".join(path.read_text() for path in folder.rglob(f"*{EVENT_FILE}"))
        done, both = map(_text, account.done), map(_text, (*account.done, *account.unsure))
        return sum(not stored[text] and text not in waiting for text in done), sum(stored[text] > 1 for text in both)


class Expire(EngineTask):
    """Memories whose time is over are forgotten, and no others."""

    name = "expiry"

    def act(self, engine: Engine, number: int, journal: Journal) -> None:
        soon, late = utc_now() + timedelta(hours=1), utc_now() + timedelta(days=99)
        for id, until in zip(_ids(number, 4), (soon, soon, late, None), strict=True):
            engine.remember(f"{_text(number)} {id}", id=id, expires_at=until)
        with journal.step(number):
            sweep(_space(engine, soon))

    def look(self, engine: Engine, account: Account) -> tuple[int, int]:
        left = {number: engine.stored_ids(_ids(number, 4)) for number in (*account.done, *account.unsure)}
        kept = {number: set(_ids(number, 4)[2:]) for number in left}
        lost = sum(left[number] != kept[number] for number in account.done)
        return lost, sum(not left[number] >= kept[number] for number in account.unsure)


class Delete(EngineTask):
    """A namespace goes with all that it has, and no other."""

    name = "delete a namespace"

    def act(self, engine: Engine, number: int, journal: Journal) -> None:
        with opened(Path(engine.location), f"space-{number}") as other:
            fill(other, BATCH)
            engine.remember(_text(number), id=f"kept-{number}")
            with journal.step(number):
                engine.store.delete_namespace(other.namespace)

    def look(self, engine: Engine, account: Account) -> tuple[int, int]:
        spaces = set(engine.store.namespaces())
        kept = engine.stored_ids([f"kept-{number}" for number in account.done])
        lost = sum(f"space-{number}" in spaces for number in account.done) + len(account.done) - len(kept)
        half = 0
        for number in account.unsure:
            if f"space-{number}" in spaces:
                with opened(Path(engine.location), f"space-{number}") as other:
                    half += len(all_ids(other)) != BATCH
        return lost, half


WRITES: tuple[EngineTask, ...] = (
    Add(),
    Batch(),
    Update(),
    Supersede(),
    Forget(),
    ForgottenSource(),
    Queue(),
    Hooks(),
    Expire(),
    Delete(),
)


def _space(engine: Engine, now: datetime) -> Namespace:
    """The namespace of an engine at some moment."""
    return Namespace(engine.store, engine.namespace, Letters(), extractor("rules"), lambda: now)


def _text(number: int) -> str:
    return f"Parcel add{number}x waits for Ines at gate {number % 90}"


def _ids(number: int, count: int = BATCH) -> list[str]:
    return [f"piece-{number}-{place}" for place in range(count)]


def _source(number: int | str, place: int) -> list[Record]:
    """One note if `place` is even, else three turns of a session."""
    session, size = (f"talk-{number}", 3) if place % 2 else (None, 1)
    return [
        Record(id=f"said-{number}-{part}", content=f"Part {part} of source add{number}x", session_id=session)
        for part in range(size)
    ]
