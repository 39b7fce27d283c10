"""Moving namespaces between stores: nothing is overwritten, and what differs or changes meanwhile is noticed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
from contextlib import closing
from pathlib import Path

import pytest

import fivefold
from fivefold import sample
from fivefold.errors import FivefoldError, InvalidInput, NotFound, ReadOnly, StoreError
from fivefold.stores import open_store
from fivefold.stores.sqlite.store import SqliteStore
from fivefold.stores.tables import TABLES
from fivefold.transfer.migrate import migrate
from tests.support.migrating import ODD, checksums, exported, interrupted, meanwhile
from tests.support.postgres import Server
from tests.support.toy_engine import toy

pytestmark = pytest.mark.slow


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
    with pytest.raises(InvalidInput, match="is itself an unfinished copy; finish that one first"):
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
    monkeypatch.setattr("fivefold.stores.postgres.store.CHUNK", 7)
    migrate(lived, target, ["default"])
    for location in (lived, target):
        with closing(open_store(location)) as store, store.snapshot("default") as look:
            for table in TABLES:
                rows = list(look.rows(table))
                assert look.counts()[table.name] == len(rows)
                for at in {0, 6, len(rows) // 2, len(rows) - 1} & set(range(len(rows))):
                    assert list(look.rows(table, table.position(rows[at]))) == rows[at + 1 :]
