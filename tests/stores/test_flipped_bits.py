"""One bit of a file is changed, anywhere: the doctor finds what matters, and salvage never fails.

`FIVEFOLD_TEST_FLIPS=500 pytest -s tests/stores/test_flipped_bits.py` tries so many and prints the counts.
"""

from __future__ import annotations

import os
import random
import shutil
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest
import sqlite_vec

from fivefold.engine import Engine
from fivefold.errors import FivefoldError
from fivefold.service.keys import Keyring
from fivefold.stores.records import QueueLength
from fivefold.stores.sqlite import checksums
from fivefold.stores.sqlite.connection import connect
from fivefold.transfer.salvage import Salvage, salvage
from fivefold.values.memory import Record
from fivefold.values.reports import Finding
from fivefold.values.times import utc_now
from fivefold.writing.queue_entries import entries_of
from fivefold_bench.faults.task import Letters, fill, opened

FLIPS = int(os.environ.get("FIVEFOLD_TEST_FLIPS", "24"))
QUESTIONS = ("parcel old3x", "who waits at gate 7", "what came on 3 May 2024?")
UNUSED = (*range(24, 28), *range(40, 44), *range(48, 52), *range(92, 100))
"""Bytes of the header that change no answer: counters, and the version of SQLite that wrote last."""

HEALED = (18, 19)
"""Bytes of the header that opening the file sets."""

Values = list[Any]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sound") / "memory.db"
    with opened(path) as engine, opened(path, "other") as other:
        fill(engine, 30)
        other.remember("My sister Ines lives in Porto", id="x")
        engine.supersede("old-1", {"id": "new", "content": "The parcel is gone"})
        recall = engine.recall("parcel gate")
        engine.feedback(recall.id, used=[recall.hits[0].memory.id])
        engine.configure(hops=1)
    return path


def stored_values(path: Path) -> Values:
    """Every value of every table, and the schema."""
    with closing(apsw.Connection(str(path))) as connection:
        connection.enable_load_extension(True)
        connection.load_extension(sqlite_vec.loadable_path())
        schema = connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY 1, 2").fetchall()
        tables = [name for kind, name, _, sql in schema if kind == "table" and "VIRTUAL" not in str(sql)]
        kept = [name for name in tables if name not in ("checksums", "sqlite_stat1")]
        return [*schema, *(connection.execute(f'SELECT * FROM "{name}"').fetchall() for name in kept)]


def answers(engine: Engine) -> Values:
    return [[(hit.memory.id, hit.score) for hit in engine.recall(text, k=5).hits] for text in QUESTIONS]


def flipped(sound: Path, path: Path, place: int, bit: int) -> Path:
    data = bytearray(sound.read_bytes())
    data[place] ^= 1 << bit
    for end in ("", "-wal", "-shm"):
        Path(f"{path}{end}").unlink(missing_ok=True)
    path.write_bytes(data)
    return path


def found(path: Path) -> list[Finding] | FivefoldError:
    """What the doctor finds, or the error by which the file is recognised as damaged."""
    try:
        with opened(path) as engine:
            return [finding for finding in engine.doctor() if not finding.ok]
    except FivefoldError as error:
        return error


def is_changed(path: Path, before: Values, said: Values) -> bool:
    """Whether a value that is stored or an answer is another one than before."""
    try:
        if stored_values(path) != before:
            return True
        with opened(path) as engine:
            return answers(engine) != said
    except (apsw.Error, FivefoldError, ValueError):
        return True


def salvaged(path: Path, folder: Path) -> Salvage:
    target = folder / "salvaged.db"
    target.unlink(missing_ok=True)
    return salvage(str(path), str(target), embedder=Letters())


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_every_changed_bit_that_matters_is_found_and_salvage_never_fails(sound: Path, tmp_path: Path) -> None:
    """Three of four are in bytes that are not zero, since most of a small file is empty."""
    chance, data = random.Random(f"flips {FLIPS}"), sound.read_bytes()
    used = [place for place, byte in enumerate(data) if byte]
    before, missed, counts = stored_values(sound), [], {"change": 0, "found": 0, "whole": 0}
    copy = Path(shutil.copy(sound, tmp_path / "copy.db"))
    with opened(copy) as engine:
        said = answers(engine)
    for number in range(FLIPS):
        place, bit = chance.choice(used) if number % 4 else chance.randrange(len(data)), chance.randrange(8)
        path = flipped(sound, tmp_path / "flipped.db", place, bit)
        done = salvaged(path, tmp_path)
        counts["whole"] += not done.lost
        noticed = bool(found(path))
        changed = is_changed(flipped(sound, path, place, bit), before, said)
        counts["change"] += changed
        counts["found"] += noticed
        if changed and not noticed and place not in (*UNUSED, *HEALED):
            missed.append((place, bit))
    print(
        f"\n{FLIPS} flipped bits: {counts['change']} change a value or an answer, {counts['found']} are found,", end=" "
    )
    print(f"{len(missed)} missed; {counts['whole']} of the files are salvaged without a loss, none failed")
    assert missed == []


@pytest.mark.slow
@pytest.mark.parametrize("place", [place for place in range(100) if place not in (*UNUSED, *HEALED)])
def test_every_damaged_byte_of_the_header_is_recognised(sound: Path, tmp_path: Path, place: int) -> None:
    path = flipped(sound, tmp_path / "flipped.db", place, place % 8)
    assert found(path)
    assert not salvaged(path, tmp_path).lost


def damaged(sound: Path, folder: Path, sql: str) -> Path:
    """A copy of the store that another program has written to."""
    path = Path(shutil.copy(sound, folder / "damaged.db"))
    with closing(connect(str(path))) as connection:
        connection.execute(sql)
    return path


TABLES = {
    "memories": "UPDATE memories SET importance = importance / 2 WHERE id = 'old-3'",
    "vectors": "UPDATE vectors SET type = type + 1 WHERE id = 3",
    "vec_16_vector_chunks00": "UPDATE vec_16_vector_chunks00 SET vectors = zeroblob(length(vectors)) WHERE rowid = 1",
    "memory_links": "UPDATE memory_links SET chance = 0.25",
    "namespaces": "UPDATE namespaces SET settings = '{}'",
    "spaces": "UPDATE spaces SET embedder = 'another@1' WHERE key = 2",
    "recalls": "UPDATE recalls SET query = 'another question'",
    "sqlite_sequence": "UPDATE sqlite_sequence SET seq = seq - 1 WHERE name = 'memories'",
}


@pytest.mark.parametrize("table", TABLES)
def test_a_changed_column_of_any_table_is_found(sound: Path, tmp_path: Path, table: str) -> None:
    findings = found(damaged(sound, tmp_path, TABLES[table]))
    assert isinstance(findings, list)
    assert [item.detail for item in findings if item.check == "checksums" and f" of {table}" in item.detail]


def test_damage_stays_known_when_the_row_is_written_to_until_it_is_deleted(sound: Path, tmp_path: Path) -> None:
    path = damaged(sound, tmp_path, TABLES["memories"])
    with opened(path) as engine:
        engine.update("old-3", metadata={"number": 4})
        assert "1 of memories (old-3)" in {item.check: item.detail for item in engine.doctor()}["checksums"]
        engine.forget("old-3")
        assert all(item.ok for item in engine.doctor())


@pytest.mark.parametrize("table", ["vectors", "vec_16_vector_chunks00", "lexemes", "memory_labels", "links"])
def test_damage_in_what_is_derived_is_repaired(sound: Path, tmp_path: Path, table: str) -> None:
    more = {"lexemes": "content = content || ' x'", "memory_labels": "value = 'tx' || value", "links": "count = 9"}
    one = f"UPDATE {table} SET {more.get(table)} WHERE memory = 4"
    path = damaged(sound, tmp_path, TABLES.get(table, one))
    with opened(path) as engine:
        assert f"of {table}" in {item.check: item.detail for item in engine.doctor()}["checksums"]
        assert all(item.ok for item in engine.doctor(repair=True))
        assert engine.recall("parcel old3x").hits[0].memory.id == "old-3"


def test_a_memory_of_another_namespace_is_counted_and_not_named(sound: Path, tmp_path: Path) -> None:
    path = damaged(sound, tmp_path, "UPDATE memories SET importance = 0.1 WHERE id = 'x'")
    findings = found(path)
    assert isinstance(findings, list)
    assert [item.detail for item in findings] == ["rows are not what was written: 1 of memories"]


def test_every_way_of_writing_keeps_the_checksums(sound: Path, tmp_path: Path) -> None:
    path = Path(shutil.copy(sound, tmp_path / "copy.db"))
    with opened(path) as engine:
        engine.remember_many([{"content": f"Word{number} " * 50, "session_id": "s"} for number in range(40)])
        engine.update("old-2", content="Another text", tags=["new"])
        engine.forget_session("old-session-1")
        engine.reembed(Letters(24))
        engine.forget("old-4")
    with opened(path, "other", dimension=16) as other:
        other.store.delete_namespace("other")
    with closing(connect(str(path))) as connection:
        assert checksums.wrong_rows(connection) == {}


@pytest.mark.slow
@pytest.mark.parametrize("column", ["speaker", "tags", "predicate", "metadata", "extracted", "origin", "task_tag"])
def test_a_text_that_is_not_utf8_costs_that_column_at_most(sound: Path, tmp_path: Path, column: str) -> None:
    """The row is not the one of the checksum even with one bit changed, so nothing is put right."""
    sql = f"UPDATE memories SET {column} = CAST(x'fffe41' AS TEXT) WHERE id = 'old-3'"
    path = damaged(sound, tmp_path, "PRAGMA ignore_check_constraints = ON; " + sql)
    assert found(path)
    done = salvaged(path, tmp_path)
    assert done.lost == ()
    assert any(f"'old-3' was damaged: it was copied without {column}" in note for note in done.notes)
    with opened(tmp_path / "salvaged.db") as engine:
        assert engine.get("old-3").content.startswith("Parcel old3x came to Ines")


def test_one_changed_bit_of_a_memory_is_put_right(sound: Path, tmp_path: Path) -> None:
    data = sound.read_bytes()
    place = data.index(b"Parcel old7x came to Ines") + 3
    done = salvaged(flipped(sound, tmp_path / "flipped.db", place, 2), tmp_path)
    assert (done.lost, done.notes) == (
        (),
        ("memory 'old-7' was damaged: one bit of its column 'content' was put right",),
    )
    with opened(tmp_path / "salvaged.db") as engine:
        assert engine.get("old-7").content.startswith("Parcel old7x came to Ines")


def test_keys_the_audit_log_and_waiting_writes_come_along_if_they_are_sound(sound: Path, tmp_path: Path) -> None:
    path = Path(shutil.copy(sound, tmp_path / "served.db"))
    with opened(path) as engine:
        keys = Keyring(engine.store)
        _, secret = keys.create("mine", "reader", ["default"])
        other, _ = keys.create("other", "reader", ["default"])
        waiting = entries_of([Record(content="It waits", id="later")], "write", None, utc_now())
        assert engine.store.queue.add("default", "write", waiting, QueueLength("default", 9, 9_999))
    path = damaged(path, tmp_path, f"UPDATE api_keys SET role = 'admin' WHERE id = '{other.id}'")
    done = salvaged(path, tmp_path)
    assert done.notes == ("some rows of api_keys are damaged and were not copied",)
    with opened(tmp_path / "salvaged.db") as engine:
        assert [key.name for key in engine.store.keys.all()] == ["mine"]
        assert Keyring(engine.store).caller(secret).namespaces == ("default",)
        assert len(engine.store.audit.all()) == 2
        assert engine.store.queue.holds("default", "later")
        assert all(item.ok for item in engine.doctor())
