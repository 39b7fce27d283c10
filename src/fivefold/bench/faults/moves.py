"""Operations on all memories of a namespace or a store: reembed, import, copy, upgrade, rebuild, backup, restore."""

from __future__ import annotations

import re
import shutil
import tempfile
from contextlib import closing
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import apsw

from fivefold.bench.faults.journal import Account, Journal
from fivefold.bench.faults.task import EngineTask, Letters, Task, Verdict, all_ids, complaints, fill, opened, store_of
from fivefold.engine import Engine
from fivefold.errors import DiskFull
from fivefold.stores import open_store
from fivefold.stores.sqlite.connection import rows
from fivefold.stores.sqlite.schema import APPLICATION_ID, migrations
from fivefold.stores.sqlite.store import SqliteStore
from fivefold.transfer.backup import back_up
from fivefold.transfer.migrate import migrate
from fivefold.transfer.restore import restore

SIZE = 60
"""Memories of a store that is moved as a whole."""

_LACKS_VECTORS = re.compile(r"vectors: \d+ memories have none, 0 are lost")

DIMENSIONS = (16, 24)
"""Those of the two embedders between which a namespace is moved."""


class Filled(Task):
    """An operation on a store with memories that it must not change."""

    def prepare(self, folder: Path) -> None:
        with opened(folder) as engine:
            fill(engine, SIZE)

    def look(self, engine: Engine, account: Account) -> tuple[int, int]:
        return SIZE - len(all_ids(engine)), 0


class Rebuild(Filled, EngineTask):
    """Everything that is derived is built again."""

    name = "index rebuild"

    def act(self, engine: Engine, number: int, journal: Journal) -> None:
        with journal.step(number):
            engine.doctor(repair=True)


class Reembed(Filled):
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


class Import(Filled):
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
        """What was cut off may lack vectors and nothing else; after it ran again, all is there, and once."""
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


class Copy(Filled):
    """The store goes to another one; a copy that was cut off goes on where it was."""

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
    """The same to PostgreSQL, each copy in a schema that is dropped at the end."""

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


class Backup(Filled, EngineTask):
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
    """That of the embedder to which the namespace is pinned."""
    with Engine(SqliteStore(str(store_of(folder)))) as engine:
        pin = engine.embedder_pin()
    return next(dimension for dimension in DIMENSIONS if Letters(dimension).pin == pin)


def _backup(number: int) -> str:
    return "first" if number % 2 == 0 else "second"
