"""Backups: a whole store in one file, taken while others read and write.

A file is copied as it was when the copy began. A server's namespaces come one after the other, each as it was when its
turn came. A backup is itself a store; what was learned from use lies in it too, in a table that only `restore` reads.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from threading import Event
from time import monotonic

import apsw

from fivefold.errors import (
    Call,
    DamagedStore,
    InvalidInput,
    NewerSchema,
    NotFound,
    StoreError,
    TargetExists,
    UnfinishedCopy,
)
from fivefold.stores import POSTGRES, open_store, unknown_scheme
from fivefold.stores.atomic_files import check_target, delete_leftovers, move_into_place, sync, temporary_folder
from fivefold.stores.sqlite.connection import connect, number, plain_errors, rows, transaction
from fivefold.stores.sqlite.damage import check_namespace, check_rows
from fivefold.stores.sqlite.schema import migrations, version_of
from fivefold.stores.sqlite.store import FIRST_VERSION
from fivefold.text.progress import bar
from fivefold.transfer.migrate import migrate
from fivefold.values.open_files import is_open
from fivefold.values.reports import Finding
from fivefold.values.serialize import Value
from fivefold.values.times import iso, utc_now
from fivefold.values.validate import checked_location

PAGES = 2_000
"""Pages that are copied between two looks at the progress bar."""


@dataclass(frozen=True, slots=True)
class Backup(Value):
    """A backup that was made and checked."""

    file: str
    store: str
    taken_at: datetime
    schema: int
    namespaces: int
    memories: int
    keys: int
    rerankers: int
    size: int
    seconds: float
    amiss: tuple[Finding, ...]
    """What the doctor would repair in the store as well: indexes and counts that can be rebuilt."""


@dataclass(frozen=True, slots=True)
class Contents:
    """What a file holds."""

    schema: int
    namespaces: int
    memories: int
    keys: int
    amiss: tuple[Finding, ...]


def back_up(
    store: str,
    target: str | os.PathLike[str],
    *,
    replace: bool = False,
    progress: bool = False,
    now: datetime | None = None,
) -> Backup:
    """Write all of a store to one file that only its owner may read; it appears under its name once it was checked.

    Where `target` is a folder, the file in it is named by the store and the time.
    """
    began, taken_at = monotonic(), now or utc_now()
    path = _target_path(Path(target), store, taken_at)
    _must_differ(store, path)
    check_target(path, replace)
    with temporary_folder(path) as folder:
        copy = folder / "store.db"
        if store.startswith(POSTGRES):
            _copy_server(store, copy, progress)
            models = models_of(str(copy))
        else:
            copy_file(Path(store), copy, progress)
            models = models_of(store)
        _pack(copy, models, taken_at)
        contents = check_contents(copy, progress)
        size = copy.stat().st_size
        move_into_place(copy, path, replace)
    return Backup(
        str(path),
        printable(store),
        taken_at,
        contents.schema,
        contents.namespaces,
        contents.memories,
        contents.keys,
        len(models),
        size,
        round(monotonic() - began, 3),
        contents.amiss,
    )


def back_up_repeatedly(
    store: str,
    folder: str | os.PathLike[str],
    every_s: float,
    keep: timedelta,
    ended: Event,
    report: Callable[[Backup], None],
    clock: Callable[[], datetime] = utc_now,
) -> None:
    """Write a backup whenever the store has changed, at most every so many seconds, until `ended` is set.

    At most what was written in the last `every_s` seconds, and while a backup is made, is in none of them. Those older
    than `keep` are deleted, but for the last one.
    """
    target = Path(folder)
    if not target.is_dir():
        raise InvalidInput(f"{str(target)!r} is not a folder; repeated backups need one")
    with _versions(store) as version:
        before: object = None
        while True:
            now = version()
            if now is None or now != before:
                before, moment = now, clock()
                report(back_up(store, target, now=moment))
                _delete_older(target, store, moment - keep)
            if ended.wait(every_s):
                return


@contextmanager
def _versions(store: str) -> Iterator[Callable[[], int | None]]:
    """Gives a number that changes with each write to a file, and None for a server, which has no such number."""
    if store.startswith(POSTGRES) or not Path(store).exists():
        yield lambda: None
        return
    with closing(_reading(Path(store))) as connection:
        yield lambda: int(connection.pragma("data_version"))


def _delete_older(folder: Path, store: str, before: datetime) -> None:
    """Delete the backups of a store that were taken before a moment; the last one stays."""
    name = _name_of(store)
    *earlier, _ = sorted(folder.glob(f"{name}-{'[0-9]' * 8}T{'[0-9]' * 6}Z.db"))
    for path in earlier:
        if path.stem.removeprefix(f"{name}-") < f"{before:%Y%m%dT%H%M%SZ}":
            path.unlink()


def _name_of(store: str) -> str:
    return "fivefold" if "://" in store else Path(store).stem


def models_of(location: str) -> dict[str, bytes]:
    """The rerankers next to a file, by their file names."""
    return {file.name: file.read_bytes() for file in sorted(learned_of(Path(location)).glob("*.npz"))}


def carry_keys(source: str, target: str) -> None:
    """The API keys and the audit log of a store to one that has no keys yet."""
    with closing(open_store(source)) as origin, closing(open_store(target)) as goal:
        if goal.keys.has_any():
            return
        keys = filter(None, (origin.keys.get(key.id) for key in origin.keys.all()))
        goal.keys.restore(keys, origin.audit.all())


def learned_of(store: Path) -> Path:
    """The folder next to a file where its rerankers are."""
    return Path(f"{store}.learned")


def printable(store: str) -> str:
    """A store as it may be printed: an address without its password."""
    if not store.startswith(POSTGRES):
        return store
    from fivefold.stores.postgres.dsn import addresses

    return addresses(store).label


def _target_path(target: Path, store: str, taken_at: datetime) -> Path:
    """Where the backup goes; killed runs leave files under the names of other times, which are deleted here."""
    if not target.is_dir():
        return target
    name = _name_of(store)
    with suppress(OSError):
        delete_leftovers(target, f"{name}-")
    return target / f"{name}-{taken_at:%Y%m%dT%H%M%SZ}.db"


def _must_differ(store: str, path: Path) -> None:
    if "://" in store and not store.startswith(POSTGRES):
        raise unknown_scheme(store)
    if store in ("", ":memory:"):
        raise InvalidInput("a store in memory ends with its process; there is nothing to back up")
    checked_location(store)
    if "://" not in store and any(Path(store + end).resolve() == path.resolve() for end in ("", "-wal", "-shm")):
        raise InvalidInput(f"{str(path)!r} is the store itself; name another file")


def copy_file(source: Path, copy: Path, progress: bool) -> None:
    """Copy a fivefold file page by page as it is now, whatever is written to it meanwhile; it is not changed."""
    if not source.exists():
        raise NotFound(f"there is no store at {str(source)!r} to copy from")
    with (
        plain_errors(str(source)),
        _new_file(copy) as written,
        closing(_reading(source)) as origin,
        closing(apsw.Connection(str(copy))) as goal,
    ):
        origin.execute("BEGIN")  # one moment for all pages; else each write of another process restarts the copy
        if version_of(origin, str(source), migrations()[-1][0]) == 0:
            raise StoreError(f"{str(source)!r} is not a fivefold store; it is empty")
        total = int(origin.pragma("page_count"))
        with bar("Copying pages", total, show=progress) as advance, goal.backup("main", origin, "main") as backup:
            while not backup.done:
                before = backup.remaining or total
                backup.step(PAGES)
                os.fsync(written)  # all at the end would stop the commits of others for as long as that takes
                advance(before - backup.remaining)
        _stand_alone(goal)


@contextmanager
def _new_file(copy: Path) -> Iterator[int]:
    """The number of a new private file; nobody else may use it, since closing it would drop SQLite's locks."""
    number = os.open(copy, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
    try:
        yield number
    finally:
        os.close(number)


def _copy_server(address: str, copy: Path, progress: bool) -> None:
    """Every namespace and all keys; a server may have keys before it has a namespace."""
    with closing(open_store(address)) as origin:
        only_keys = not origin.namespaces() and origin.keys.has_any()
    if not only_keys:
        migrate(address, str(copy), live=True, progress=progress)
    carry_keys(address, str(copy))


def _reading(source: Path) -> apsw.Connection:
    """Open the source; read-only where this process cannot write to it."""
    writable = os.access(source, os.W_OK) and os.access(source.parent, os.W_OK)
    return connect(str(source), read_only=not writable)


def _stand_alone(connection: apsw.Connection) -> None:
    """Make it one file without a log next to it, which can be read where nothing can be written."""
    connection.execute("PRAGMA journal_mode = DELETE")


def _pack(copy: Path, models: dict[str, bytes], taken_at: datetime) -> None:
    with connection_to(copy) as connection:
        _stand_alone(connection)
        with transaction(connection):
            connection.execute(
                "CREATE TABLE IF NOT EXISTS backup (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID"
            )
            connection.execute("DELETE FROM backup")
            connection.execute("INSERT INTO backup VALUES ('taken_at', ?)", (iso(taken_at),))
            connection.executemany(
                "INSERT INTO backup VALUES (?, ?)", [(f"model/{name}", data) for name, data in models.items()]
            )


def unpack(copy: Path) -> tuple[datetime | None, dict[str, bytes]]:
    """Take out of a copy what only a backup has: when it was taken, and the rerankers by their file names."""
    with connection_to(copy) as connection, transaction(connection):
        if number(connection, "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'backup'") == 0:
            return None, {}
        packed = dict(rows(connection, "SELECT name, value FROM backup"))
        connection.execute("DELETE FROM backup")  # row by row, so that its checksums go too
        connection.execute("DROP TABLE backup")
    models = {Path(name).name: data for name, data in packed.items() if name.endswith(".npz")}
    taken_at = packed.get("taken_at")
    return None if taken_at is None else datetime.fromisoformat(taken_at), models


@contextmanager
def connection_to(copy: Path) -> Iterator[apsw.Connection]:
    """A connection to a file that nobody else has."""
    with plain_errors(str(copy)), closing(connect(str(copy))) as connection:
        yield connection


def check_contents(copy: Path, progress: bool) -> Contents:
    """What the file contains. A damaged file is an error; what can be rebuilt is reported."""
    with connection_to(copy) as connection:
        schema = int(connection.pragma("user_version"))
        names = rows(connection, "SELECT key, name FROM namespaces ORDER BY key")
        with bar("Checking", 1 + len(names), show=progress) as advance:
            _must_be_sound(connection)
            advance(1)
            amiss = [one for one in check_rows(connection) if not one.ok]
            for key, name in names if schema == migrations()[-1][0] else ():
                findings = [one for one in check_namespace(connection, key) if not one.ok]
                amiss += [Finding(f"{name}: {one.check}", False, one.detail) for one in findings]
                advance(1)
        memories = number(connection, "SELECT count(*) FROM memories") or 0
        keys = number(connection, "SELECT count(*) FROM api_keys") or 0 if schema >= FIRST_VERSION else 0
    return Contents(schema, len(names), memories, keys, tuple(amiss))


def _must_be_sound(connection: apsw.Connection) -> None:
    problems = [str(row[0]) for row in connection.execute("PRAGMA integrity_check") if row[0] != "ok"]
    if problems:
        raise StoreError(f"it is damaged, and the copy was not kept: {problems[0]}")
    broken = connection.execute("PRAGMA foreign_key_check").fetchall()
    if broken:
        raise StoreError(f"it is damaged, and the copy was not kept: {len(broken)} rows point nowhere")


# Replacing a store by a backup: a copy is checked in the same folder, and then takes the store's name in one step.

PATIENCE_MS = 2_000
"""How long another process may still use a store that is to be replaced."""

_MAGIC = b"SQLite format 3\0"


@dataclass(frozen=True, slots=True)
class Restored(Value):
    """A store that holds what the backup holds."""

    store: str
    file: str
    taken_at: datetime | None
    """When the backup was made; None for a file that was copied by other means."""
    schema: int
    namespaces: int
    memories: int
    keys: int
    rerankers: int
    seconds: float
    amiss: tuple[Finding, ...]


def restore(backup: str | os.PathLike[str], store: str, *, replace: bool = False, progress: bool = False) -> Restored:
    """Make a store out of a backup. A file is replaced only with `replace`, and never while others have it open.

    To a PostgreSQL address the namespaces are copied as by `migrate`; `replace` restarts an unfinished copy.
    """
    began, source = monotonic(), Path(backup)
    if "://" in str(backup):
        raise InvalidInput("a backup is a file", advice="copy a store on a server with {call}", call=Call("migrate"))
    if not source.is_file():
        raise NotFound(f"there is no backup at {str(source)!r}")
    if "://" in store and not store.startswith(POSTGRES):
        raise unknown_scheme(store)
    checked_location(store)
    if store.startswith(POSTGRES):
        taken_at, models, contents = _to_server(source, store, replace, progress)
    else:
        taken_at, models, contents = _to_file(source, Path(store), replace, progress)
    return Restored(
        printable(store),
        str(source),
        taken_at,
        contents.schema,
        contents.namespaces,
        contents.memories,
        contents.keys,
        models,
        round(monotonic() - began, 3),
        contents.amiss,
    )


def _to_file(source: Path, target: Path, replace: bool, progress: bool) -> tuple[datetime | None, int, Contents]:
    if "://" in str(target) or str(target) in ("", ":memory:"):
        raise InvalidInput(f"{str(target)!r} is no file; name the path of the store, or a PostgreSQL address")
    if target.exists() and target.resolve() == source.resolve():
        raise InvalidInput(f"{str(source)!r} is the store itself; name a backup of it")
    if is_open(target):
        raise _in_use(target)
    check_target(target, replace)
    if not replace and learned_of(target).exists():
        raise TargetExists(str(learned_of(target)))
    with _claim(target):
        pass  # fails before the work rather than after it
    with temporary_folder(target) as folder:
        taken_at, models, contents = _unpack_store(source, folder / "store.db", progress)
        _swap(folder / "store.db", target, replace)
    return taken_at, models, contents


def _to_server(source: Path, address: str, replace: bool, progress: bool) -> tuple[datetime | None, int, Contents]:
    with tempfile.TemporaryDirectory(prefix="fivefold-restore-") as folder:
        copy = Path(folder) / "store.db"
        taken_at, models, contents = _unpack_store(source, copy, progress)
        try:
            if contents.namespaces:
                migrate(str(copy), address, restart=replace, progress=progress)
            carry_keys(str(copy), address)
        except UnfinishedCopy as error:
            raise UnfinishedCopy(error.reason, option="replace") from None
    return taken_at, models, contents


def _unpack_store(source: Path, copy: Path, progress: bool) -> tuple[datetime | None, int, Contents]:
    """Make the store out of the backup, up to date, with its rerankers next to it, and check it."""
    try:
        copy_file(source, copy, progress)
    except DamagedStore as error:
        raise DamagedStore(error.location, error.cause, advice="restore another backup") from None
    taken_at, models = unpack(copy)
    if models:
        learned_of(copy).mkdir(mode=0o700)
    for name, data in models.items():
        file = learned_of(copy) / name
        file.touch(mode=0o600)
        file.write_bytes(data)
        sync(file)
    open_store(str(copy)).close()
    return taken_at, len(models), check_contents(copy, progress)


def _swap(copy: Path, target: Path, replace: bool) -> None:
    """The old store's log would be read into the new one, so it goes first; rerankers follow the file they are of."""
    with _claim(target):
        for end in ("-wal", "-shm", "-journal"):
            Path(f"{target}{end}").unlink(missing_ok=True)
        with _set_aside(learned_of(target), copy):
            move_into_place(copy, target, replace)
    if learned_of(copy).exists():
        os.rename(learned_of(copy), learned_of(target))
        sync(target.parent)


@contextmanager
def _set_aside(learned: Path, copy: Path) -> Iterator[None]:
    """The old store's rerankers go with it; they come back where the copy could not take its place."""
    aside = copy.parent / "replaced"
    if learned.exists():
        os.rename(learned, aside)
    try:
        yield
    except BaseException:
        if aside.exists() and copy.exists():
            os.rename(aside, learned)
        raise


@contextmanager
def _claim(target: Path) -> Iterator[None]:
    """Inside, nobody else has the file open or can read it; a damaged file counts as unused.

    This process does not have it open either, or reading its first bytes would drop the locks.
    """
    if is_open(target):
        raise _in_use(target)
    if not target.exists() or target.stat().st_size == 0:
        yield
        return
    with target.open("rb") as file:
        if file.read(len(_MAGIC)) != _MAGIC:
            raise StoreError(f"{str(target)!r} is not a fivefold store; move it away first")
    with (
        plain_errors(str(target)),
        closing(apsw.Connection(str(target), flags=apsw.SQLITE_OPEN_READWRITE)) as connection,
    ):
        connection.set_busy_timeout(PATIENCE_MS)
        _lock(connection, target)
        yield


def _in_use(target: Path) -> StoreError:
    return StoreError(f"{str(target)!r} is in use; stop the server and every program that has it open, then try again")


def _lock(connection: apsw.Connection, target: Path) -> None:
    """To leave its write-ahead log, SQLite needs the file for itself, and then writes the rest of the log into it."""
    try:
        with suppress(NewerSchema):  # replacing a newer store by an older one is allowed
            version_of(connection, str(target), migrations()[-1][0])
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute("BEGIN EXCLUSIVE")
    except (apsw.BusyError, apsw.LockedError):
        raise _in_use(target) from None
    except (apsw.CorruptError, apsw.NotADBError):
        return  # damaged, and so to be replaced
