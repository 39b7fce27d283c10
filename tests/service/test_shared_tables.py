"""Tables of one process and tables that processes share behave the same, and stay whole."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

import fivefold
from fivefold.mcp.transport import SourceNumbers
from fivefold.service import shared_tables
from fivefold.service.limits import RateExceeded, Rates
from fivefold.service.live import LiveFeed
from fivefold.service.service import MAX_WRITERS, Processes, SignIns
from fivefold.service.shared_tables import FileTable, MemoryTable, SharedTables, Table, shared_folder


def test_the_parent_makes_the_file_of_the_tables_so_that_workers_do_not_fight_for_it() -> None:
    with shared_folder() as folder:
        connection = apsw.Connection(str(folder / "tables.db"), apsw.SQLITE_OPEN_READONLY)
        assert connection.execute("PRAGMA journal_mode").fetchall() == [("wal",)]
        connection.close()


@pytest.fixture(params=["memory", "file"])
def table(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Table:
    monkeypatch.setattr(shared_tables, "TRIM_AFTER", 1)
    return MemoryTable(3) if request.param == "memory" else FileTable(tmp_path / "t.db", "t", 3)


@pytest.fixture
def both(tmp_path: Path) -> Iterator[tuple[SharedTables, SharedTables]]:
    """Two processes of one server, as far as tables are concerned."""
    made = SharedTables(tmp_path), SharedTables(tmp_path)
    yield made
    for one in made:
        one.close()


def test_a_row_is_changed_in_one_step_and_taken_away(table: Table) -> None:
    assert table.get("a") is None
    table.change("a", lambda value: f"{value} 1")
    table.change("a", lambda value: f"{value} 2")
    assert table.get("a") == "None 1 2"
    table.change("a", lambda value: None)
    assert (table.get("a"), table.values()) == (None, [])


def test_the_rows_changed_longest_ago_are_dropped(table: Table) -> None:
    for key in "abc":
        table.change(key, lambda value, key=key: key)  # type: ignore[misc]
    table.change("a", lambda value: "again")
    table.change("d", lambda value: "d")
    assert table.values() == ["c", "again", "d"]
    table.append(lambda last: (f"{last}e", "e"))
    assert (table.values(), table.get("de")) == (["again", "d", "e"], "e")


def test_a_change_that_fails_changes_nothing(table: Table) -> None:
    table.change("a", lambda value: "1")

    def fail(value: str | None) -> str:
        raise ValueError(value)

    with pytest.raises(ValueError, match="1"):
        table.change("b", lambda value: fail("1"))
    table.change("c", lambda value: "3")
    assert table.values() == ["1", "3"]


def test_no_change_of_another_process_is_lost(both: tuple[SharedTables, SharedTables]) -> None:
    tables = [tables.table("counts", 10) for tables in both]

    def count(table: Table) -> None:
        for _ in range(50):
            table.change("n", lambda value: str(int(value or 0) + 1))

    threads = [threading.Thread(target=count, args=(table,)) for table in tables]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert tables[0].get("n") == tables[1].get("n") == "100"


def test_a_caller_has_one_rate_over_all_processes(both: tuple[SharedTables, SharedTables]) -> None:
    first, second = (Rates(4, lambda: 7.0, tables.table("rates", 10)) for tables in both)
    left = [taken.left for rates in (first, second, second, first) if (taken := rates.take("a")) is not None]
    assert left == [3, 2, 1, 0]
    for rates in (first, second):
        with pytest.raises(RateExceeded):
            rates.take("a")


def test_who_signs_in_at_one_process_is_known_to_all_and_the_file_has_no_key(
    both: tuple[SharedTables, SharedTables], tmp_path: Path
) -> None:
    first, second = (SignIns(tables.table("sign-ins", 10)) for tables in both)
    secret = "ff_0123456789ab_" + "ab" * 24
    token = first.begin(secret)
    assert second.secret(token) == secret
    assert second.secret("other") is None
    stored = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    for hidden in (secret.encode(), token.encode(), secret.encode().hex().encode()):
        assert hidden not in stored
    second.end(token)
    assert first.secret(token) is None


def test_events_of_all_processes_are_in_one_order(both: tuple[SharedTables, SharedTables]) -> None:
    with fivefold.open(":memory:", embedder="wordllama") as mem:
        feeds = [LiveFeed(mem.store, table=tables.table("events", 500)) for tables in both]
        try:
            mem.remember("The spare key lies under the flowerpot", id="key")
        finally:
            for feed in feeds:
                feed.close()
        events = feeds[0].after(0, "default")
        assert events == feeds[1].after(0, "default")
        assert [event.ids for event in events] == [("key",), ("key",)]  # each of the two noted it
        assert events[0].number < events[1].number


def test_no_file_has_an_event_of_what_was_forgotten(both: tuple[SharedTables, SharedTables], tmp_path: Path) -> None:
    with fivefold.open(":memory:", embedder="wordllama") as mem:
        feeds = [LiveFeed(mem.store, table=tables.table("events", 500)) for tables in both]
        try:
            mem.remember("Zyxquince lives in Xanthopolis", id="zyx")
            mem.recall("where does Zyxquince live?", recipe="lexical")
            assert any(b"Zyxquince" in file.read_bytes() for file in tmp_path.iterdir())
            mem.forget("zyx")
        finally:
            for feed in feeds:
                feed.close()
        assert not any(b"Zyxquince" in file.read_bytes() for file in tmp_path.iterdir())
        assert {event.action for event in feeds[1].after(0, "default")} == {"forget"}


def test_numbers_of_sources_are_known_to_all_processes(both: tuple[SharedTables, SharedTables]) -> None:
    first, second = (SourceNumbers(tables.table("sources", 10)) for tables in both)
    first.record("default", "r", ["a", "b"])
    assert second.ids("default", "r", ["[2]"]) == ["b"]
    assert not second.lost("default", "r", ["2"])


def test_the_processes_share_the_turns_of_writes() -> None:
    assert [Processes(count).writers for count in (1, 2, 4, 64)] == [MAX_WRITERS, MAX_WRITERS // 2, MAX_WRITERS // 4, 1]


def test_the_folder_is_private_and_goes_with_the_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for place in (tmp_path, tmp_path / "missing"):
        monkeypatch.setattr(shared_tables, "IN_MEMORY", place)
        with shared_folder() as folder:
            assert folder.stat().st_mode & 0o077 == 0
            assert (folder.parent == tmp_path) == place.exists()
        assert not folder.exists()
