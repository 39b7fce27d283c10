"""Replacing a store by a backup: a copy is checked in the same folder, and then takes the store's name in one step."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
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
from fivefold.stores.atomic_files import check_target, move_into_place, sync, temporary_folder
from fivefold.stores.sqlite.connection import plain_errors
from fivefold.stores.sqlite.schema import migrations, version_of
from fivefold.transfer.backup import Contents, carry_keys, check_contents, copy_file, learned_of, printable, unpack
from fivefold.transfer.migrate import migrate
from fivefold.values.open_files import is_open
from fivefold.values.reports import Finding
from fivefold.values.serialize import Value
from fivefold.values.validate import checked_location

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
