"""Backups: a whole store in one file, taken while others read and write.

A file is copied as it was when the copy began. A server's namespaces come one after the other, each as it was when its
turn came. A backup is itself a store; what was learned from use lies in it too, in a table that only `restore` reads.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
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
from fivefold.stores.sqlite.encryption import (
    HEADER,
    PLAIN,
    MissingLibrary,
    can_encrypt,
    checked_key,
    has_key,
    is_locked,
    key_of,
    set_key,
    unlock,
)
from fivefold.stores.sqlite.schema import migrations, remove_copies, version_of
from fivefold.stores.sqlite.store import FIRST_VERSION
from fivefold.text.display import bar
from fivefold.transfer.migrate import migrate
from fivefold.values.open_files import is_open
from fivefold.values.reports import Finding
from fivefold.values.serialize import Value
from fivefold.values.times import iso, utc_now
from fivefold.values.validate import checked_location

STEP_PAGES = 2_000
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
    """Findings that the doctor would repair in the store as well: indexes and counts that can be rebuilt."""


@dataclass(frozen=True, slots=True)
class Contents:
    """The contents of a file."""

    counts: tuple[int, int, int, int]
    """The version of its schema, and how many namespaces, memories and keys."""
    amiss: tuple[Finding, ...]


def back_up(
    store: str,
    target: str | os.PathLike[str],
    *,
    replace: bool = False,
    progress: bool = False,
    now: datetime | None = None,
    key: str | None = None,
) -> Backup:
    """Write all of a store to one file that only its owner may read; it appears under its name once it was checked.

    If `target` is a folder, the file in it is named by the store and the time. The backup of an encrypted store is
    encrypted with the same key.
    """
    began, taken_at = monotonic(), now or utc_now()
    path, name = Path(target), _name_of(store)
    if path.is_dir():
        with suppress(OSError):
            delete_leftovers(path, f"{name}-")  # killed runs leave files under the names of other times
        path = path / f"{name}-{taken_at:%Y%m%dT%H%M%SZ}.db"
    if "://" in store and not store.startswith(POSTGRES):
        raise unknown_scheme(store)
    if store in ("", ":memory:"):
        raise InvalidInput("a store in memory ends with its process; there is nothing to back up")
    checked_location(store)
    if "://" not in store and any(Path(store + end).resolve() == path.resolve() for end in ("", "-wal", "-shm")):
        raise InvalidInput(f"{str(path)!r} is the store itself; name another file")
    check_target(path, replace)
    with temporary_folder(path) as folder:
        copy = folder / "store.db"
        if store.startswith(POSTGRES):
            with closing(open_store(store)) as origin:
                only_keys = not origin.namespaces() and origin.keys.has_any()
            if not only_keys:  # a server may have keys before it has a namespace
                migrate(store, str(copy), live=True, progress=progress)
            carry_keys(store, str(copy))
            models = models_of(str(copy))
        else:
            key = copy_file(Path(store), copy, progress, key)
            models = models_of(store)
        _pack(copy, models, taken_at, key)
        contents = check_contents(copy, progress, key)
        size = copy.stat().st_size
        move_into_place(copy, path, replace)
    return Backup(
        str(path),
        printable(store),
        taken_at,
        *contents.counts,
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
    with ExitStack() as stack:
        connection = None  # a server has no number that changes with each write
        if not store.startswith(POSTGRES) and Path(store).exists():
            connection = stack.enter_context(closing(_reading(Path(store))))
        before: object = None
        while True:
            now = None if connection is None else int(connection.pragma("data_version"))
            if now is None or now != before:
                before, moment = now, clock()
                report(back_up(store, target, now=moment))
                name = _name_of(store)
                *earlier, _ = sorted(target.glob(f"{name}-{'[0-9]' * 8}T{'[0-9]' * 6}Z.db"))
                for path in earlier:
                    if path.stem.removeprefix(f"{name}-") < f"{moment - keep:%Y%m%dT%H%M%SZ}":
                        path.unlink()
            if ended.wait(every_s):
                return


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
    """The folder next to a file that holds its rerankers."""
    return Path(f"{store}.learned")


def printable(store: str) -> str:
    """A store as it may be printed: an address without its password."""
    if not store.startswith(POSTGRES):
        return store
    from fivefold.stores.postgres.dsn import addresses

    return addresses(store).label


def copy_file(source: Path, copy: Path, progress: bool, key: str | None = None) -> str:
    """Copy a fivefold file page by page as it is now, whatever is written to it meanwhile; it is not changed.

    Returns the key of the file and the copy; empty if they are plain.
    """
    if not source.exists():
        raise NotFound(f"there is no store at {str(source)!r} to copy from")
    with plain_errors(str(source)):
        key = key_of(str(source), key)
        with closing(_reading(source, key)) as origin:
            origin.execute("BEGIN")  # one moment for all pages; else each write of another process restarts the copy
            if version_of(origin, str(source), migrations()[-1][0]) == 0:
                raise StoreError(f"{str(source)!r} is not a fivefold store; it is empty")
            _copy_pages(origin, copy, progress, key)
    return key


def _copy_pages(origin: apsw.Connection, copy: Path, progress: bool, key: str) -> None:
    with (
        open(
            os.open(copy, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600), "rb"
        ) as written,  # to be used here alone, as closing it drops SQLite's locks
        closing(apsw.Connection(str(copy))) as goal,
    ):
        unlock(goal, str(copy), key)
        total = int(origin.pragma("page_count"))
        with bar("Copying pages", total, show=progress) as advance, goal.backup("main", origin, "main") as backup:
            while not backup.done:
                before = backup.remaining or total
                backup.step(STEP_PAGES)
                os.fsync(written)  # all at the end would stop the commits of others for as long as that takes
                advance(before - backup.remaining)
        goal.execute("PRAGMA journal_mode = DELETE")  # one file without a log, which can be read where nobody can write


def _reading(source: Path, key: str | None = None) -> apsw.Connection:
    """Opens the source; read-only if this process cannot write to it."""
    writable = os.access(source, os.W_OK) and os.access(source.parent, os.W_OK)
    return connect(str(source), read_only=not writable, key=key)


def _pack(copy: Path, models: dict[str, bytes], taken_at: datetime, key: str | None) -> None:
    with connection_to(copy, key) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
        with transaction(connection):
            connection.execute(
                "CREATE TABLE IF NOT EXISTS backup (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID"
            )
            connection.execute("DELETE FROM backup")
            connection.execute("INSERT INTO backup VALUES ('taken_at', ?)", (iso(taken_at),))
            connection.executemany(
                "INSERT INTO backup VALUES (?, ?)", [(f"model/{name}", data) for name, data in models.items()]
            )


def unpack(copy: Path, key: str | None = None) -> tuple[datetime | None, dict[str, bytes]]:
    """Take out of a copy what only a backup has: when it was taken, and the rerankers by their file names."""
    with connection_to(copy, key) as connection, transaction(connection):
        if number(connection, "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'backup'") == 0:
            return None, {}
        packed = dict(rows(connection, "SELECT name, value FROM backup"))
        connection.execute("DELETE FROM backup")  # row by row, so that its checksums go too
        connection.execute("DROP TABLE backup")
    models = {Path(name).name: data for name, data in packed.items() if name.endswith(".npz")}
    taken_at = packed.get("taken_at")
    return None if taken_at is None else datetime.fromisoformat(taken_at), models


@contextmanager
def connection_to(copy: Path, key: str | None = None) -> Iterator[apsw.Connection]:
    """A connection to a file that nobody else has."""
    with plain_errors(str(copy)), closing(connect(str(copy), key=key)) as connection:
        yield connection


def check_contents(copy: Path, progress: bool, key: str | None = None) -> Contents:
    """The contents of the file. A damaged file is an error; indexes that can be rebuilt are reported."""
    with connection_to(copy, key) as connection:
        schema = int(connection.pragma("user_version"))
        names = rows(connection, "SELECT key, name FROM namespaces ORDER BY key")
        with bar("Checking", 1 + len(names), show=progress) as advance:
            problems = [str(row[0]) for row in connection.execute("PRAGMA integrity_check") if row[0] != "ok"]
            broken = problems or connection.execute("PRAGMA foreign_key_check").fetchall()
            if broken:
                fault = problems[0] if problems else f"{len(broken)} rows point nowhere"
                raise StoreError(f"it is damaged, and the copy was not kept: {fault}")
            advance(1)
            amiss = [one for one in check_rows(connection) if not one.ok]
            for namespace, name in names if schema == migrations()[-1][0] else ():
                findings = [one for one in check_namespace(connection, namespace) if not one.ok]
                amiss += [Finding(f"{name}: {one.check}", False, one.detail) for one in findings]
                advance(1)
        memories = number(connection, "SELECT count(*) FROM memories") or 0
        keys = number(connection, "SELECT count(*) FROM api_keys") or 0 if schema >= FIRST_VERSION else 0
    return Contents((schema, len(names), memories, keys), tuple(amiss))


# Replacing a store by a backup: a copy is checked in the same folder, and then takes the store's name in one step.

PATIENCE_MS = 2_000
"""Maximum time for which another process may still use a store that is to be replaced."""


@dataclass(frozen=True, slots=True)
class RestoreReport(Value):
    """A store that holds what the backup holds."""

    store: str
    file: str
    taken_at: datetime | None
    """Time of the backup; None for a file that was copied by other means."""
    schema: int
    namespaces: int
    memories: int
    keys: int
    rerankers: int
    seconds: float
    amiss: tuple[Finding, ...]


def restore(
    backup: str | os.PathLike[str], store: str, *, replace: bool = False, progress: bool = False, key: str | None = None
) -> RestoreReport:
    """Make a store out of a backup. A file is replaced only with `replace`, and never while others have it open.

    To a PostgreSQL address the namespaces are copied as by `migrate`; `replace` restarts an unfinished copy. An
    encrypted backup becomes a store with the same key.
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
        taken_at, models, contents = _to_server(source, store, replace, progress, key)
    else:
        taken_at, models, contents = _to_file(source, Path(store), replace, progress, key)
    return RestoreReport(
        printable(store), str(source), taken_at, *contents.counts, models, round(monotonic() - began, 3), contents.amiss
    )


def _to_file(
    source: Path, target: Path, replace: bool, progress: bool, key: str | None
) -> tuple[datetime | None, int, Contents]:
    if "://" in str(target) or str(target) in ("", ":memory:"):
        raise InvalidInput(f"{str(target)!r} is not a file; name the path of the store, or a PostgreSQL address")
    if target.exists() and target.resolve() == source.resolve():
        raise InvalidInput(f"{str(source)!r} is the store itself; name a backup of it")
    if is_open(target):
        raise _in_use(target)
    check_target(target, replace)
    if not replace and learned_of(target).exists():
        raise TargetExists(str(learned_of(target)))
    with _claim(target, key):
        pass  # fails before the work rather than after it
    with temporary_folder(target) as folder:
        taken_at, models, contents = _unpack_store(source, folder / "store.db", progress, key)
        with _claim(target, key):
            _exchange(folder / "store.db", target, replace)
    return taken_at, models, contents


def _to_server(
    source: Path, address: str, replace: bool, progress: bool, key: str | None
) -> tuple[datetime | None, int, Contents]:
    with tempfile.TemporaryDirectory(prefix="fivefold-restore-") as folder:
        copy = Path(folder) / "store.db"
        taken_at, models, contents = _unpack_store(source, copy, progress, key)
        try:
            if contents.counts[1]:
                migrate(str(copy), address, restart=replace, progress=progress)
            carry_keys(str(copy), address)
        except UnfinishedCopy as error:
            raise UnfinishedCopy(error.reason, option="replace") from None
    return taken_at, models, contents


def _unpack_store(source: Path, copy: Path, progress: bool, key: str | None) -> tuple[datetime | None, int, Contents]:
    """Make the store out of the backup, up to date, with its rerankers next to it, and check it."""
    try:
        key = copy_file(source, copy, progress, key)
    except DamagedStore as error:
        raise DamagedStore(error.location, error.cause, advice="restore another backup") from None
    taken_at, models = unpack(copy, key)
    if models:
        learned_of(copy).mkdir(mode=0o700)
    for name, data in models.items():
        file = learned_of(copy) / name
        file.touch(mode=0o600)
        file.write_bytes(data)
        sync(file)
    open_store(str(copy), key or None).close()
    return taken_at, len(models), check_contents(copy, progress, key)


def _exchange(copy: Path, target: Path, replace: bool) -> None:
    """The old store's log would be read into the new one, so it goes first; rerankers follow the file they are of."""
    for end in ("-wal", "-shm", "-journal"):
        Path(f"{target}{end}").unlink(missing_ok=True)
    learned, aside = learned_of(target), copy.parent / "replaced"
    if learned.exists():
        os.rename(learned, aside)
    try:
        move_into_place(copy, target, replace)
    except BaseException:
        if aside.exists() and copy.exists():  # the copy could not take the store's place
            os.rename(aside, learned)
        raise
    if learned_of(copy).exists():
        os.rename(learned_of(copy), learned_of(target))
        sync(target.parent)


@contextmanager
def _claim(target: Path, key: str | None) -> Iterator[apsw.Connection | None]:
    """Inside, nobody else has the file open or can read it; a damaged file counts as unused.

    This process does not have it open either, or reading its first bytes would drop the locks. Yields the connection
    that has the file, None if there is no file yet.
    """
    if is_open(target):
        raise _in_use(target)
    if not target.exists() or target.stat().st_size == 0:
        yield None
        return
    with target.open("rb") as file:
        header = file.read(HEADER)
        if not header.startswith(PLAIN) and not is_locked(header):
            raise StoreError(f"{str(target)!r} is not a fivefold store; move it away first")
    with (
        plain_errors(str(target)),
        closing(apsw.Connection(str(target), flags=apsw.SQLITE_OPEN_READWRITE)) as connection,
    ):
        connection.set_busy_timeout(PATIENCE_MS)
        if is_locked(header):
            unlock(connection, str(target), key)
        try:  # to leave its write-ahead log, SQLite needs the file for itself, and writes the rest of the log into it
            with suppress(NewerSchema):  # replacing a newer store by an older one is allowed
                version_of(connection, str(target), migrations()[-1][0])
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            connection.execute("PRAGMA journal_mode = DELETE")
            connection.execute("BEGIN EXCLUSIVE")
        except (apsw.BusyError, apsw.LockedError):
            raise _in_use(target) from None
        except (apsw.CorruptError, apsw.NotADBError):
            pass  # damaged, and so to be replaced
        yield connection


def _in_use(target: Path) -> StoreError:
    return StoreError(f"{str(target)!r} is in use; stop the server and every program that has it open, then try again")


def rekey(store: str, new_key: str | None, *, key: str | None = None, progress: bool = False) -> Contents:
    """Encrypt a store that nobody has open with another key; None makes it plain.

    A copy with the new key is checked and takes the store's name in one step, so that a kill leaves the store with the
    old key or with the new one. Copies that upgrades left are deleted; backups keep their key.
    """
    target, new_key = Path(checked_location(store)), "" if new_key is None else checked_key(new_key)
    if not target.is_file():
        raise NotFound(f"there is no file at {store!r} to encrypt")
    if not can_encrypt():
        raise MissingLibrary()
    if is_open(target):
        raise _in_use(target)
    with plain_errors(store):
        key = key_of(store, key if has_key(store) else "")
    with _claim(target, key) as connection, temporary_folder(target) as folder:
        if connection is None or version_of(connection, store, migrations()[-1][0]) == 0:
            raise StoreError(f"{store!r} is not a fivefold store; it is empty")
        copy = folder / "store.db"
        connection.execute("COMMIT")  # as a writer it could not be copied; it keeps its lock all the same
        _copy_pages(connection, copy, progress, key)
        with plain_errors(str(copy)), closing(apsw.Connection(str(copy))) as goal:
            unlock(goal, str(copy), key)
            goal.execute("PRAGMA journal_mode = MEMORY")
            set_key(goal, "rekey", new_key)
        contents = check_contents(copy, progress, new_key)
        if learned_of(target).exists():
            shutil.copytree(learned_of(target), learned_of(copy))
        _exchange(copy, target, replace=True)
    remove_copies(store)
    return contents
