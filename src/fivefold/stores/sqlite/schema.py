"""The schema's versions: numbered SQL files, applied in order, each file of older data backed up first."""

from __future__ import annotations

import json
import os
import re
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import apsw

from fivefold.errors import DamagedStore, NewerSchema, StoreError
from fivefold.stores.atomic_files import delete_leftovers, move_into_place, temporary_folder
from fivefold.stores.sql.scope import stored_labels
from fivefold.stores.sqlite import checksums, postings
from fivefold.stores.sqlite.dialect import rows
from fivefold.stores.sqlite.encryption import unlock
from fivefold.stores.tables import migrations_of
from fivefold.values.reports import Finding

# The FTS5 indexes of older files: moved into postings by a migration, or read where nothing can be written.

_TABLE = re.compile(r"lex_(\d+)(_sessions)?")
_LENGTH = "length({0}) - length(replace({0}, ' ', '')) + ({0} <> '')"
"""SQL for the number of lexemes of a column, which spaces separate."""


def move_all(connection: apsw.Connection) -> None:
    """Move the documents of every FTS5 index into postings, and delete the index."""
    for table, namespace, sessions in list(_tables(connection)):
        connection.execute(f"INSERT INTO lexemes {_documents(table, namespace, sessions)}")
        connection.execute(f"DROP TABLE {table}")
        postings.move_recent(connection, namespace, sessions)


def show_all(connection: apsw.Connection, has_table: bool) -> None:
    """Let an older file look as one whose memories all wait for their index, which is slower to search."""
    parts = [_documents(*table) for table in _tables(connection)]
    if has_table:
        parts.append("SELECT namespace, sessions, memory, length, predicate, content FROM main.lexemes")
    parts.append("SELECT 0, 0, 0, 0, '', '' WHERE 0")
    columns = "lexemes (namespace, sessions, memory, length, predicate, content)"
    connection.execute(f"CREATE TEMP VIEW {columns} AS {' UNION ALL '.join(parts)}")
    connection.execute(
        "CREATE TEMP TABLE documents (namespace, sessions, memory, length, predicate, content); "
        "CREATE TEMP TABLE corpora (namespace, sessions, documents, lexemes, version); "
        "CREATE TEMP TABLE terms (namespace, sessions, lexeme, term, documents, first, last, size); "
        "CREATE TEMP TABLE postings (namespace, term, first, last, documents)"
    )


def _tables(connection: apsw.Connection) -> Iterator[tuple[str, int, int]]:
    """Each index with its namespace, and True if it is for sessions."""
    for (name,) in rows(connection, "SELECT name FROM main.sqlite_master WHERE type = 'table'"):
        if match := _TABLE.fullmatch(name):
            yield name, int(match[1]), int(match[2] is not None)


def _documents(table: str, namespace: int, sessions: int) -> str:
    length = f"{_LENGTH.format('c0')} + {_LENGTH.format('c1')}"
    return f"SELECT {namespace}, {sessions}, id, {length}, c0, c1 FROM main.{table}_content"


# The copies that an upgrade of the schema leaves next to a store: as private as the store, and not for ever.

KEPT_DAYS = 30
"""Number of days that a copy stays. It has all memories of its time, also those that were forgotten since."""


def make_copy(location: str, version: int, key: str | None = None) -> Path:
    """Copy the file before its schema changes; the copy has its name once it is whole, an older one stays."""
    target, number = Path(f"{location}.v{version}.bak"), 1
    while target.exists():
        number += 1
        target = Path(f"{location}.v{version}.bak{number}")
    with temporary_folder(target) as folder:
        copy = folder / "store.db"
        copy.touch(mode=0o600)
        _copy_pages(location, str(copy), key)
        os.chmod(copy, _mode(Path(location)))
        move_into_place(copy, target, replace=False)
    return target


def copies_of(location: str) -> list[Path]:
    """The copies next to a store, sorted by name."""
    return sorted(path for path in _files_of(location) if not path.name.endswith("-journal"))


def remove_copies(location: str) -> None:
    """After a removal: a copy still has what was forgotten, and so it goes."""
    for path in _files_of(location):
        path.unlink(missing_ok=True)


def tidy(location: str) -> None:
    """Delete copies that are empty or too old and what killed runs left, and make the others as private as the store.

    A folder that cannot be changed stays as it is.
    """
    with suppress(OSError):
        delete_leftovers(Path(location).parent, f"{Path(location).name}.")
        for path in _files_of(location):
            if path.stat().st_size == 0 or time.time() - path.stat().st_mtime > KEPT_DAYS * 86_400:
                path.unlink(missing_ok=True)
            elif _mode(path) & ~_mode(Path(location)):
                path.chmod(_mode(path) & _mode(Path(location)))


def check_copies(location: str) -> Iterator[Finding]:
    """Names the copies, and says if people who cannot read the store can read them; nothing if there are none."""
    copies = copies_of(location)
    if not copies:
        return
    exposed = [path.name for path in copies if _mode(path) & ~_mode(Path(location))]
    if exposed:
        yield Finding("copies of upgrades", False, f"more users can read {', '.join(exposed)} than the store")
        return
    names = ", ".join(f"{path.name} of {datetime.fromtimestamp(path.stat().st_mtime, UTC):%Y-%m-%d}" for path in copies)
    advice = f"deleted {KEPT_DAYS} days after the upgrade, and as soon as something is forgotten"
    yield Finding("copies of upgrades", True, f"{names}: {advice}")


def _copy_pages(location: str, copy: str, key: str | None) -> None:
    with (
        closing(apsw.Connection(location, flags=apsw.SQLITE_OPEN_READONLY)) as source,
        closing(apsw.Connection(copy)) as goal,
    ):
        unlock(goal, copy, unlock(source, location, key))
        with goal.backup("main", source, "main") as backup:
            while not backup.done:
                backup.step(1000)


def _files_of(location: str) -> list[Path]:
    store = Path(location)
    ours = re.compile(re.escape(store.name) + r"\.v\d+\.bak\d*(-journal)?")
    with os.scandir(store.parent) as entries:
        return [Path(entry) for entry in entries if ours.fullmatch(entry.name)]


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode) & 0o777


APPLICATION_ID = 0x35464C44
"""'5FLD': marks the file as ours, so that another program's database is never touched."""

PASSAGES, TIMES, LABELS, SMALL_NAMESPACES, LIFE, CODES = range(6, 12)
POSTINGS, QUEUE, FORGOTTEN, CHECKSUMS, QUARANTINE, FACTS = range(12, 18)
"""The versions of the schema that first have passages and token vectors; the times that memories name, and links with
a chance; the labels of memories; one table for the lexemes of small namespaces; the expiry, the pin and the origin of
memories; codes of vectors; postings of its own in place of FTS5's; records that wait; marks of what was forgotten;
a checksum of every row; records that wait for approval; and the facts of profiles."""

_ZEROS = {52: bytes(4), 64: bytes(4), 72: bytes(20)}
"""Fields of the header that are zero, by their place."""


@cache
def migrations() -> tuple[tuple[int, str], ...]:
    """Every migration as (version, SQL), oldest first."""
    return migrations_of("fivefold.stores.sqlite")


def migrate(
    connection: apsw.Connection, location: str, steps: Sequence[tuple[int, str]], key: str | None = None
) -> None:
    """Bring the file to the newest version, or say why that cannot be."""
    newest = steps[-1][0]
    with connection:  # one look, so that another process's migration is seen whole or not at all
        if version_of(connection, location, newest) == newest:
            return
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = version_of(connection, location, newest)
        if 0 < version < newest and location != ":memory:":
            make_copy(location, version, key)
        _offer_labels(connection)
        for number, sql in steps:
            if number > version:
                connection.execute(sql)
                if number == POSTINGS:
                    move_all(connection)
                elif number == CHECKSUMS and version >= POSTINGS:
                    postings.index_again(connection)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {newest}")
        if version < newest and newest >= CHECKSUMS:
            checksums.renew(connection)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def version_of(connection: apsw.Connection, location: str, newest: int) -> int:
    version = int(connection.pragma("user_version"))
    application = int(connection.pragma("application_id"))
    if (version, application) != (newest, APPLICATION_ID) and not checksums.has_sound_schema(connection):
        raise DamagedStore(location, "its header or its schema was changed")
    has_tables = bool(connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchall())
    if application not in (0, APPLICATION_ID) or (application == 0 and has_tables):
        raise StoreError(f"{location!r} is another program's SQLite database; choose another path")
    if version > newest:
        raise NewerSchema(
            f"{location!r} has schema version {version}, and this fivefold knows up to {newest}; "
            "upgrade fivefold to open it"
        )
    return version


def wrong_places(connection: apsw.Connection) -> list[int]:
    """The first bytes of those fields of the file's header that always have one value and have another."""
    if not connection.filename:
        return []
    header = connection.read("main", 0, 0, 100)[1]
    version = int(connection.pragma("user_version")).to_bytes(4, "big")
    fields = {0: b"SQLite format 3\0\x10\0", 21: b"\x40\x20\x20", 44: (4).to_bytes(4, "big"), **_ZEROS}
    fields |= {56: (1).to_bytes(4, "big"), 60: version, 68: APPLICATION_ID.to_bytes(4, "big")}
    return [place for place, field in sorted(fields.items()) if header[place : place + len(field)] != field]


def show_newest(connection: apsw.Connection) -> None:
    """Let an older file that can only be read look as a newer one does that has nothing of what came later."""
    version = int(connection.pragma("user_version"))
    if version < FACTS:
        connection.execute("CREATE TEMP TABLE facts (namespace INTEGER, memory, starts, ends, section, weight)")
    if version < QUARANTINE:
        connection.execute(
            "CREATE TEMP TABLE quarantine (namespace INTEGER, id, session_id, content_hash, held_at, record)"
        )
    if version < FORGOTTEN:
        connection.execute(
            "CREATE TEMP TABLE forgotten (namespace INTEGER, memory_mark, text_mark, said_mark, session_mark)"
        )
    if version < QUEUE:
        connection.execute(
            "CREATE TEMP TABLE queue (namespace, write, place, number, memory_id, session_id, key_id, added_at, "
            "record, tries, next_try_at, problem); CREATE TEMP TABLE queue_lengths (namespace, name, records, bytes)"
        )
    if version < POSTINGS:
        show_all(connection, has_table=version >= SMALL_NAMESPACES)
    if version < CODES:
        connection.execute(
            "CREATE TEMP TABLE code_blocks (key INTEGER PRIMARY KEY, space, field, last, heads, codes); "
            "CREATE TEMP TABLE removed_vectors (space, field, number, id)"
        )
    if version < LIFE:
        connection.execute(
            "CREATE TEMP VIEW memories AS SELECT *, NULL AS expires_at, 0 AS pinned, NULL AS origin, 0 AS echo_count "
            "FROM main.memories"
        )
    if version < LABELS:
        _offer_labels(connection)
        connection.execute(
            "CREATE TEMP VIEW memory_labels AS SELECT m.namespace, m.row AS memory, label.value ->> 0 AS name, "
            "label.value ->> 1 AS value FROM memories m CROSS JOIN json_each(labels_of(m.tags, m.metadata)) label"
        )
    if version < TIMES:
        connection.execute(
            "CREATE TEMP TABLE memory_times (namespace INTEGER, memory INTEGER, starts_at INTEGER, ends_at INTEGER); "
            "CREATE TEMP VIEW memory_links AS SELECT *, 1.0 AS chance FROM main.memory_links"
        )
    if version < PASSAGES:
        connection.execute(
            "CREATE TEMP VIEW spaces AS SELECT *, 0 AS tokens FROM main.spaces; "
            "CREATE TEMP VIEW vectors AS SELECT *, 0 AS part FROM main.vectors; "
            "CREATE TEMP TABLE tokens (key INTEGER PRIMARY KEY, tokens BLOB)"
        )


def _offer_labels(connection: apsw.Connection) -> None:
    """Give the connection the function by which labels are made from the columns of a memory."""

    def labels_of(*columns: object) -> str:
        tags, metadata = columns
        return json.dumps(stored_labels(str(tags), str(metadata)))

    connection.create_scalar_function("labels_of", labels_of, 2)
