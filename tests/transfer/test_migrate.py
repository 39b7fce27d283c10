"""Moving namespaces between stores: everything arrives."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import textwrap
from contextlib import closing, suppress
from pathlib import Path

import numpy as np
import pytest

import fivefold
from fivefold import sample
from fivefold.errors import FivefoldError, InvalidInput, NotFound, ReadOnly, StoreError
from fivefold.learning.reranker import reranker_store
from fivefold.stores import open_store
from fivefold.stores.sqlite.store import SqliteStore
from fivefold.stores.tables import TABLES, VECTORS
from fivefold.transfer.migrate import migrate
from tests.conformance.store_pair import answers, same_answers
from tests.learning.test_reranker import VERDICT, liking
from tests.support.migrating import ODD, QUESTIONS, TOKENS, checksums, exported, interrupted, make_namespace, meanwhile
from tests.support.postgres import Server
from tests.support.toy_engine import Toy, toy

pytestmark = pytest.mark.slow

# what arrives


def test_there_and_back_again_is_byte_equal(lived: str, postgres: Server, tmp_path: Path) -> None:
    """SQLite → PostgreSQL → SQLite: exports, every table, and the answers of every recipe."""
    before = hashlib.sha256(Path(lived).read_bytes()).digest()
    there, back = postgres.new_location(), str(tmp_path / "back.db")
    first, second = migrate(lived, there), migrate(there, back)
    assert hashlib.sha256(Path(lived).read_bytes()).digest() == before
    assert checksums(first) == checksums(second)
    assert [item.tables for item in first] == [item.tables for item in second]
    assert [item.namespace for item in first] == sorted(["default", ODD, "empty"])
    for namespace in ("default", ODD, "empty"):
        wanted = exported(lived, namespace, tmp_path)
        assert exported(there, namespace, tmp_path) == wanted
        assert exported(back, namespace, tmp_path) == wanted
    copy = str(shutil.copy(lived, tmp_path / "asked.db"))
    with fivefold.open(copy) as old, fivefold.open(there) as new, fivefold.open(back) as newest:
        asked = [answers(engine, *QUESTIONS, now="2025-03-10T12:00:00Z") for engine in (old, new, newest)]
        same_answers(asked[0], asked[1])
        same_answers(asked[0], asked[2])


def test_everything_comes_along(lived: str, target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also what an export leaves out; and no model is asked for."""

    def unwanted(choice: str) -> None:
        raise AssertionError(choice)

    with monkeypatch.context() as patch:
        patch.setattr("fivefold.models.embedders.embedder", unwanted)
        (moved,) = migrate(lived, target, ["default"])
    rows = {checked.table: checked.rows for checked in moved.tables}
    assert all(rows.values()), rows
    assert (moved.memories, moved.vectors) == (rows["memories"], rows["vectors"])
    with fivefold.open(lived) as old, fivefold.open(target) as new:
        for mem in (old, new):
            mem.store.recalls.flush()  # type: ignore[attr-defined]
        assert new.settings == old.settings
        assert new.store.reader("default").admin.learned_value("weights") == old.store.reader(
            "default"
        ).admin.learned_value("weights")
        assert new.learned().weights.count == len(QUESTIONS)
        stats = [{**mem.stats().to_dict(), "bytes_on_disk": 0} for mem in (old, new)]
        assert stats[0] == stats[1]
        assert new.sessions(1_000) == old.sessions(1_000)
        (edge,) = [edge for edge in new.graph.edges("Old Mill") if edge.relation == "stands by"]
        assert (edge.target, edge.confidence) == ("Project Kestrel", 0.8)
        assert "the mill" in new.graph.entity("Old Mill").aliases
        assert new.store.reader("default").feedback.latest(10) == old.store.reader("default").feedback.latest(10)
        recalled = new.store.reader("default").feedback.latest(10)[0].recall
        assert new.store.reader("default").feedback.signals(recalled) == old.store.reader("default").feedback.signals(
            recalled
        )
        with old.store.snapshot("default") as one, new.store.snapshot("default") as other:
            assert list(other.rows(VECTORS)) == list(one.rows(VECTORS))
            stored = [row[6] for row in other.rows(VECTORS) if row[6] is not None]
            assert stored[-len(TOKENS) :] == TOKENS
            assert len(stored) > len(TOKENS)
            assert {row[3] for row in other.rows(VECTORS)} == {0, 1, 2}
            assert {len(row[5]) // 4 for row in other.rows(VECTORS)} == {Toy.dimension, 384}


def test_vectors_are_the_same_to_the_last_bit(target: str, tmp_path: Path) -> None:
    """Whatever a model may give: the smallest numbers, and zeros of either sign."""
    source = str(tmp_path / "source.db")
    odd = np.array([1e-45, -0.0, 0.0, 1.1754944e-38, 3.4028235e38, -1.0, 1 / 3, 2**-24] * 2, dtype=np.float32)
    with toy(source) as mem:
        memory = mem.get(mem.remember("told as it is").id or "")
        with mem.store.write("default") as txn:
            txn.vectors.put(memory, {"user": odd}, "active")
    migrate(source, target)
    with closing(open_store(target)) as store, store.snapshot("default") as look:
        assert odd.tobytes() in [row[5] for row in look.rows(VECTORS)]


@pytest.mark.parametrize("namespace", [ODD, "empty", "x" * 200])
def test_any_namespace_arrives_under_its_name(namespace: str, lived: str, target: str, tmp_path: Path) -> None:
    source = str(shutil.copy(lived, tmp_path / "source.db"))
    make_namespace(source, namespace)
    (moved,) = migrate(source, target, [namespace])
    assert moved.namespace == namespace
    with closing(open_store(target)) as store:
        assert store.namespaces() == (namespace,)
    assert exported(target, namespace, tmp_path) == exported(source, namespace, tmp_path)


def test_another_namespace_of_the_target_is_left_alone(lived: str, target: str, tmp_path: Path) -> None:
    """In a file, keys are counted over all namespaces; what comes in is numbered behind what is there."""
    with toy(target, "before") as mem:
        mem.remember_many([f"note {i} of Anna and Boris" for i in range(30)])
        mem.graph.relate("Anna", "knows", "Boris")
    kept = exported(target, "before", tmp_path)
    moved = migrate(lived, target)
    assert checksums(moved) == checksums(migrate(lived, str(tmp_path / "alone.db")))
    assert exported(target, "before", tmp_path) == kept
    assert exported(target, "default", tmp_path) == exported(lived, "default", tmp_path)
    with fivefold.open(target) as mem, fivefold.open(str(shutil.copy(lived, tmp_path / "asked.db"))) as old:
        asked = [answers(engine, QUESTIONS[0], now="2025-03-10T12:00:00Z") for engine in (old, mem)]
        same_answers(*asked)


def test_the_target_can_be_written_to_afterwards(lived: str, target: str) -> None:
    migrate(lived, target)
    with fivefold.open(target) as mem:
        before = mem.stats().memories
        report = mem.remember("Anna moved to the Old Mill with Boris", session_id="new")
        mem.forget(sample.memories()[0]["id"])
        assert mem.get(report.id or "").row > 0
        assert mem.stats().memories == before + 1
        assert [finding for finding in mem.doctor() if not finding.ok] == []


def test_a_trained_reranker_comes_along(lived: str, target: str, tmp_path: Path) -> None:
    source, back = str(shutil.copy(lived, tmp_path / "source.db")), str(tmp_path / "back.db")
    with closing(open_store(source)) as store, closing(open_store(back)) as other:
        reranker_store(store, "default").save(liking("event"), VERDICT)
        reranker_store(other, ODD).save(liking("event"), VERDICT)
    migrate(source, target)
    migrate(target, back)
    for location in (target, back):
        with closing(open_store(location)) as store:
            learned = reranker_store(store, "default").load()
            assert learned.verdict == VERDICT
            assert learned.ranker is not None
            assert reranker_store(store, ODD).load().verdict is None


# where the copy goes on


# A migration that is really killed, again and again, and goes on where it was.

ROWS = 25
"""Rows in a batch, so that there are many."""


CHILD = textwrap.dedent("""
    import sys
    from contextlib import contextmanager
    import fivefold.transfer.migrate
    fivefold.transfer.migrate.BATCH_ROWS = int(sys.argv[3])

    @contextmanager
    def told(title, total, *, show):
        def advance(done):
            print(title.split()[0], done, flush=True)
            sys.stdin.readline()

        yield advance

    fivefold.transfer.migrate.bar = told
    print("whole", fivefold.transfer.migrate.migrate(sys.argv[1], sys.argv[2])[0].checksum)
""")


def run(source: str, target: str, until: int | None = None) -> list[tuple[str, str]]:
    """What a copy in a process of its own says; after so many batches it is told to go on, and killed at once."""
    command = [sys.executable, "-c", CHILD, source, target, str(ROWS)]
    said: list[tuple[str, str]] = []
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for line in process.stdout:
            word, _, number = line.strip().partition(" ")
            said.append((word, number))
            if len(said) > (until or len(said)):
                break
            with suppress(BrokenPipeError):
                process.stdin.write("\n")
            if len(said) == until:
                process.send_signal(signal.SIGKILL)
    return said


def copied(said: list[tuple[str, str]]) -> list[int]:
    """How many rows each batch had, the first being those a run before had copied."""
    return [int(rows) for word, rows in said if word == "Copying"]


@pytest.mark.parametrize("way", ["to PostgreSQL", "to SQLite", "between files", "between schemas"])
def test_a_killed_copy_goes_on_where_it_was(way: str, sample_path: str, postgres: Server, tmp_path: Path) -> None:
    source, target = sample_path, str(tmp_path / "target.db")
    if way in ("to SQLite", "between schemas"):
        source = postgres.new_location()
        migrate(sample_path, source)
    if way in ("to PostgreSQL", "between schemas"):
        target = postgres.new_location()
    whole = migrate(sample_path, str(tmp_path / "whole.db"))[0]
    batches = 0
    for kills in (1, 12, 20, 25):
        said = run(source, target, until=kills)
        assert said[-1][0] == "Copying"
        batches += len(copied(said)) - 1
    said = run(source, target)
    assert said[-1] == ("whole", whole.checksum)
    rows = sum(checked.rows for checked in whole.tables)
    assert copied(said)[0] > 0
    assert sum(copied(said)[1:]) <= rows - ROWS * batches // 2
    assert exported(target, "default", tmp_path) == exported(sample_path, "default", tmp_path)


def test_a_copy_killed_while_it_is_checked_is_checked_anew(sample_path: str, postgres: Server, tmp_path: Path) -> None:
    target = postgres.new_location()
    batches = len(copied(run(sample_path, str(tmp_path / "whole.db"))))
    assert run(sample_path, target, until=batches + 3)[-1][0] == "Checking"
    said = run(sample_path, target)
    assert said[-1][0] == "whole"
    assert copied(said)[1:] == []
    assert exported(target, "default", tmp_path) == exported(sample_path, "default", tmp_path)


# Moving namespaces between stores: nothing is overwritten, and what differs or changes meanwhile is noticed.


def test_what_is_there_already_is_checked_and_passed_over(lived: str, target: str) -> None:
    """As after a run that was killed between two namespaces."""
    first = migrate(lived, target, [ODD, "empty"])
    assert checksums(migrate(lived, target, [ODD, "empty"])) == checksums(first)
    assert checksums(migrate(lived, target, restart=True)).items() >= checksums(first).items()


def test_other_namespaces_may_be_written_to_meanwhile(
    lived: str, target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They take no keys that the copy is about to use."""
    with meanwhile(lambda: toy(target, "other").remember("Anna met Boris in Leeds", session_id="s"), monkeypatch):
        migrate(lived, target, ["default"])
    assert exported(target, "default", tmp_path) == exported(lived, "default", tmp_path)
    exported(target, "other", tmp_path)


def test_a_source_that_changes_is_noticed(
    lived: str, target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = str(shutil.copy(lived, tmp_path / "source.db"))
    monkeypatch.setattr("fivefold.transfer.migrate.BATCH_ROWS", 50)

    def change() -> None:
        with fivefold.open(source) as mem:
            mem.update(sample.memories()[20]["id"], importance=0.123)

    with (
        meanwhile(change, monkeypatch),
        pytest.raises(StoreError, match=r"^memories of namespace 'default' differ: .*run it again with restart=True"),
    ):
        migrate(source, target, ["default"])
    with pytest.raises(FivefoldError, match="restart=True"):
        migrate(source, target, ["default"])
    migrate(source, target, ["default"], restart=True)
    assert exported(target, "default", tmp_path) == exported(source, "default", tmp_path)


def test_a_source_that_has_grown_since_is_noticed_before_more_is_copied(
    lived: str, target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = str(shutil.copy(lived, tmp_path / "source.db"))
    interrupted(source, target, monkeypatch)
    with fivefold.open(source) as mem:
        mem.remember("One more thing")
    with pytest.raises(InvalidInput, match=r"has changed since its copy .*; begin the copy again with restart=True"):
        migrate(source, target, ["default"])
    migrate(source, target, ["default"], restart=True)


def test_a_target_that_was_written_to_is_not_emptied(lived: str, target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupted(lived, target, monkeypatch)
    with fivefold.open(target, embedder="wordllama") as mem:
        id = mem.remember("mine").id or ""
    for restart in (False, True):
        with pytest.raises(InvalidInput, match="was written to while it was being copied; forget what was added"):
            migrate(lived, target, ["default"], restart=restart)
    with fivefold.open(target) as mem:
        assert mem.get(id).content == "mine"


def test_a_target_that_changes_is_noticed(lived: str, target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def configure() -> None:
        with fivefold.open(target) as mem:
            mem.configure(hops=3)

    with meanwhile(configure, monkeypatch), pytest.raises(StoreError, match="namespaces of namespace 'default' differ"):
        migrate(lived, target, ["default"])
    migrate(lived, target, ["default"], restart=True)


def test_two_copies_to_one_namespace_do_not_mix(
    lived: str, target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        meanwhile(lambda: migrate(lived, target, ["default"]), monkeypatch),
        pytest.raises(StoreError, match="another process is copying"),
    ):
        migrate(lived, target, ["default"])
    assert exported(target, "default", tmp_path) == exported(lived, "default", tmp_path)


# what is refused


@pytest.mark.parametrize("restart", [False, True])
def test_a_namespace_that_holds_something_is_refused(lived: str, target: str, tmp_path: Path, restart: bool) -> None:
    with toy(target) as mem:
        mem.remember("mine")
    kept = exported(target, "default", tmp_path)
    with pytest.raises(InvalidInput, match="already holds something else; name another file or schema"):
        migrate(lived, target, restart=restart)
    assert exported(target, "default", tmp_path) == kept


def test_a_namespace_with_settings_of_its_own_is_refused(lived: str, target: str) -> None:
    with fivefold.open(target) as mem:
        mem.configure(hops=3)
    with pytest.raises(InvalidInput, match="already holds something else"):
        migrate(lived, target, ["default"])


def test_as_many_rows_are_not_the_same_rows(target: str, tmp_path: Path) -> None:
    source = str(tmp_path / "source.db")
    for location, text in ((source, "one"), (target, "two")):
        with toy(location) as mem:
            mem.remember(text)
    with pytest.raises(InvalidInput, match="already holds something else"):
        migrate(source, target)


def test_an_unfinished_copy_of_another_source_is_named(
    lived: str, target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = str(shutil.copy(lived, tmp_path / "other.db"))
    interrupted(other, target, monkeypatch)
    with pytest.raises(InvalidInput, match=r"unfinished copy of '.*other\.db'; begin the copy again with restart=True"):
        migrate(lived, target, ["default"])
    migrate(lived, target, ["default"], restart=True)


def test_an_unfinished_copy_is_not_copied_further(
    lived: str, target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted(lived, target, monkeypatch)
    with pytest.raises(InvalidInput, match="is itself an unfinished copy; finish it first"):
        migrate(target, str(tmp_path / "further.db"), ["default"])


def test_a_zero_below_zero_is_a_zero(postgres: Server, tmp_path: Path) -> None:
    """PostgreSQL keeps its sign, SQLite does not."""
    source = postgres.new_location()
    with toy(source) as mem:
        mem.remember("of no importance", importance=-0.0)
    migrate(source, str(tmp_path / "target.db"))


def test_a_store_is_not_copied_onto_itself(lived: str, postgres: Server, tmp_path: Path) -> None:
    linked = tmp_path / "linked.db"
    linked.symlink_to(lived)
    location = postgres.new_location()
    toy(location).remember("mine")
    for source, target in ((lived, lived), (lived, str(linked)), (location, f"{location}&pool_size=3")):
        with pytest.raises(InvalidInput, match="the same store"):
            migrate(source, target)


@pytest.mark.parametrize(("source", "target"), [(":memory:", "x.db"), ("x.db", ":memory:"), ("", "x.db"), ("x.db", "")])
def test_both_stores_must_be_named(source: str, target: str) -> None:
    with pytest.raises(InvalidInput, match="name both"):
        migrate(source, target)


def test_a_source_that_is_not_there_is_not_made(lived: str, postgres: Server, tmp_path: Path) -> None:
    schema = postgres.new_schema()
    for source in (str(tmp_path / "nothing.db"), postgres.dsn(schema=schema)):
        with pytest.raises(NotFound, match=r"there is no store at .* to copy from"):
            migrate(source, str(tmp_path / "target.db"))
    with pytest.raises(NotFound, match=r"there is no namespace 'defualt' in .*; there are: default"):
        migrate(lived, str(tmp_path / "target.db"), ["defualt"])
    SqliteStore(str(tmp_path / "new.db")).close()
    with pytest.raises(NotFound, match="holds nothing yet"):
        migrate(str(tmp_path / "new.db"), str(tmp_path / "target.db"))
    assert not (tmp_path / "nothing.db").exists()
    assert not (tmp_path / "target.db").exists()
    with postgres.connect() as connection:
        assert connection.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", [schema]).fetchall() == []


def test_a_password_is_not_shown(tmp_path: Path) -> None:
    with pytest.raises(StoreError) as error:
        migrate("postgresql://me:secret@127.0.0.1:1/nowhere", str(tmp_path / "x.db"))
    assert "secret" not in str(error.value)


def test_a_read_only_source_is_enough_and_a_read_only_target_is_not(lived: str, tmp_path: Path) -> None:
    """Runs as an ordinary user, since to root no file is read-only."""
    folder, out = tmp_path / "closed", tmp_path / "open"
    for made in (folder, out):
        made.mkdir()
    source = Path(shutil.copy(lived, folder / "source.db"))
    SqliteStore(str(folder / "target.db")).close()
    for parent in (out, *out.parents):
        if parent.stat().st_uid == os.getuid() and parent != Path("/"):
            parent.chmod(parent.stat().st_mode | 0o055)
    out.chmod(0o777)
    for file in folder.iterdir():
        file.chmod(0o444)
    folder.chmod(0o555)
    child = textwrap.dedent(f"""
        import os
        from fivefold.transfer.migrate import migrate
        migrate({lived!r}, {str(tmp_path / "rehearsal.db")!r})  # loads every module while they can be read
        if os.getuid() == 0:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
        print(len(migrate({str(source)!r}, {str(out / "copy.db")!r})))
        try:
            migrate({str(out / "copy.db")!r}, {str(folder / "target.db")!r})
        except Exception as error:
            print(type(error).__name__)
    """)
    try:
        done = subprocess.run([sys.executable, "-c", child], capture_output=True, text=True, check=False)
    finally:
        folder.chmod(0o755)
    assert done.stdout.split() == ["3", ReadOnly.__name__], done.stderr


# reading


def test_reading_may_begin_anywhere(lived: str, target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In every table of every store, also where a read ends just behind it."""
    monkeypatch.setattr("fivefold.stores.postgres.store.CHUNK_ROWS", 7)
    migrate(lived, target, ["default"])
    for location in (lived, target):
        with closing(open_store(location)) as store, store.snapshot("default") as look:
            for table in TABLES:
                rows = list(look.rows(table))
                assert look.counts()[table.name] == len(rows)
                for at in {0, 6, len(rows) // 2, len(rows) - 1} & set(range(len(rows))):
                    assert list(look.rows(table, table.position(rows[at]))) == rows[at + 1 :]
