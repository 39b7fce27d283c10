"""What SQLite leaves of rows that it moved between pages is cleared, and nothing else in the file changes."""

from __future__ import annotations

import random
import re
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from fivefold.stores.sqlite.erasure import clear_remains, unused_part

TEXT = re.compile(rb"zyx\d{4}qwz")


def shuffled(path: Path, page_size: int) -> apsw.Connection:
    """A table whose rows were moved when their neighbours came and went, most of them deleted; the log is empty."""
    connection = apsw.Connection(str(path))
    for setting in (f"page_size = {page_size}", "journal_mode = WAL", "secure_delete = ON", "synchronous = OFF"):
        connection.execute(f"PRAGMA {setting}")
    connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, text TEXT); PRAGMA user_version = 7")
    chance = random.Random(1)
    ids = list(range(2_000))
    chance.shuffle(ids)
    for id in ids:
        text = f"zyx{id:04d}qwz" + "x" * chance.randrange(200)
        connection.execute("INSERT INTO t VALUES (?, ?)", (id, text))
    chance.shuffle(ids)
    for id in ids[600:]:
        connection.execute("DELETE FROM t WHERE id = ?", (id,))
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    return connection


@pytest.mark.slow
@pytest.mark.parametrize("page_size", [1_024, 4_096])
def test_only_what_is_stored_is_left_in_the_file(tmp_path: Path, page_size: int) -> None:
    path = tmp_path / "t.db"
    with closing(shuffled(path, page_size)) as used:
        stored = used.execute("SELECT * FROM t").fetchall()
        left = {str(text).encode()[:10] for _, text in stored}
        with closing(apsw.Connection(str(path))) as other:
            assert set(TEXT.findall(path.read_bytes())) > left, "SQLite alone leaves copies"
            assert clear_remains(other, str(path))
        assert set(TEXT.findall(path.read_bytes())) == left
        assert (tmp_path / "t.db-wal").stat().st_size == 0
        assert used.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert used.execute("SELECT * FROM t").fetchall() == stored
        assert used.pragma("user_version") == 7
        used.executemany("INSERT INTO t VALUES (?, ?)", [(10_000 + n, "other" * 9) for n in range(500)])
        used.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        assert set(TEXT.findall(path.read_bytes())) == left, "a page that was in memory brings nothing back"


@pytest.mark.slow
def test_a_reader_or_a_writer_keeps_the_file_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    with closing(shuffled(path, 1_024)) as used, closing(apsw.Connection(str(path))) as other:
        stored = {str(text).encode()[:10] for (text,) in used.execute("SELECT text FROM t").fetchall()}
        used.execute("BEGIN IMMEDIATE; INSERT INTO t VALUES (-1, 'new')")
        assert not clear_remains(other, str(path))
        used.execute("COMMIT; BEGIN; SELECT count(*) FROM t")
        used.execute("SELECT * FROM t").fetchall()
        with closing(apsw.Connection(str(path))) as third:
            third.execute("INSERT INTO t VALUES (-2, 'newer')")
        assert not clear_remains(other, str(path))
        used.execute("COMMIT")
        assert set(TEXT.findall(path.read_bytes())) > stored
        assert clear_remains(other, str(path))
        assert set(TEXT.findall(path.read_bytes())) == stored


def test_a_page_without_rows_is_left_alone() -> None:
    assert unused_part(bytes(4_096), 4_096) is None
    assert unused_part(b"\x00\x00\x00\x05" + b"x" * 4_092, 4_096) is None, "a part of a long value"
    assert unused_part(b"\x0d" + b"\xff" * 4_095, 4_096) is None, "a damaged page"
    page = b"\x0d\x00\x00\x00\x01\x0f\xf0\x00\x0f\xf0" + b"a" * 4_086
    assert unused_part(page, 4_096) == (10, 0xFF0)
