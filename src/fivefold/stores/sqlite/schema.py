"""The schema's versions: numbered SQL files, applied in order, each file of older data backed up first."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import cache
from importlib import resources

import apsw

from fivefold.errors import DamagedStore, NewerSchema, StoreError
from fivefold.stores.sql.memory_labels import stored_labels
from fivefold.stores.sqlite import checksums, lexeme_index, older_lexemes
from fivefold.stores.sqlite.upgrade_copies import make_copy

APPLICATION_ID = 0x35464C44
"""'5FLD': marks the file as ours, so that another program's database is never touched."""

PASSAGES = 6
"""The version of the schema that first has passages and token vectors."""

TIMES = 7
"""The version of the schema that first has the times that memories name, and links with a chance."""

LABELS = 8
"""The version of the schema that first has the labels of memories."""

SMALL_NAMESPACES = 9
"""The version of the schema that first has one table for the lexemes of namespaces with few memories."""

LIFE = 10
"""The version of the schema that first has the expiry, the pin and the origin of memories."""

CODES = 11
"""The version of the schema that first has codes of vectors."""

POSTINGS = 12
"""The version of the schema that first has postings of its own in place of FTS5's."""

QUEUE = 13
"""The version of the schema that first has records that wait to be stored."""

FORGOTTEN = 14
"""The version of the schema that first has marks of what was forgotten."""

_ZEROS = {52: bytes(4), 64: bytes(4), 72: bytes(20)}
"""Fields of the header that are zero, by their place."""

CHECKSUMS = 15
"""The version of the schema that first has a checksum of every row."""


@cache
def migrations() -> tuple[tuple[int, str], ...]:
    """Every migration as (version, SQL), oldest first."""
    folder = resources.files("fivefold.stores.sqlite").joinpath("migrations")
    steps = [
        (int(match[1]), entry.read_text("utf-8"))
        for entry in folder.iterdir()
        if (match := re.fullmatch(r"(\d{4})_\w+\.sql", entry.name))
    ]
    return tuple(sorted(steps))


def migrate(connection: apsw.Connection, location: str, steps: Sequence[tuple[int, str]]) -> None:
    """Bring the file to the newest version, or say why that cannot be."""
    newest = steps[-1][0]
    with connection:  # one look, so that another process's migration is seen whole or not at all
        if version_of(connection, location, newest) == newest:
            return
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = version_of(connection, location, newest)
        if 0 < version < newest and location != ":memory:":
            make_copy(location, version)
        _offer_labels(connection)
        for number, sql in steps:
            if number > version:
                connection.execute(sql)
                if number == POSTINGS:
                    older_lexemes.move_all(connection)
                elif number == CHECKSUMS and version >= POSTINGS:
                    lexeme_index.index_again(connection)
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
    if application not in (0, APPLICATION_ID) or (application == 0 and _has_tables(connection)):
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
    fields = {0: b"SQLite format 3\0\x10\0", 20: b"\0\x40\x20\x20", 44: (4).to_bytes(4, "big"), **_ZEROS}
    fields |= {56: (1).to_bytes(4, "big"), 60: version, 68: APPLICATION_ID.to_bytes(4, "big")}
    return [place for place, field in sorted(fields.items()) if header[place : place + len(field)] != field]


def show_newest(connection: apsw.Connection) -> None:
    """Let an older file that can only be read look as a newer one does that has nothing of what came later."""
    version = int(connection.pragma("user_version"))
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
        older_lexemes.show_all(connection, has_table=version >= SMALL_NAMESPACES)
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
    connection.create_scalar_function("labels_of", _labels_of, 2)


def _labels_of(*columns: object) -> str:
    tags, metadata = columns
    return json.dumps(stored_labels(str(tags), str(metadata)))


def _has_tables(connection: apsw.Connection) -> bool:
    return bool(connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchall())
