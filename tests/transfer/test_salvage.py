"""Damaged files: the doctor notices, and a salvage brings along all that is readable and nothing else."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import apsw
import pytest

import fivefold
from fivefold.engine import Engine
from fivefold.stores.sqlite.connection import connect, number
from fivefold.transfer.salvage import Salvage
from fivefold.transfer.salvage import salvage as salvage_store
from tests.support.older_files import BEFORE_LIFE
from tests.support.toy_engine import Toy, toy

COUNT = 20


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A store with two namespaces, closed; its texts by their ids."""
    path = str(tmp_path_factory.mktemp("sound") / "memory.db")
    with toy(path) as engine, toy(path, "other") as other:
        engine.configure(find_changes=False, find_repeats=False)
        engine.remember_many([{"content": f"Note {i}: the plum of house {i}", "id": f"n{i}"} for i in range(COUNT)])
        engine.remember_many([{"content": f"Turn {i}", "session_id": "s", "id": f"t{i}"} for i in range(5)])
        engine.supersede("n0", {"content": "House 0 has no plum any more", "id": "cut"})
        engine.configure(hops=1)
        other.remember("Of somebody else", id="else")
        memories = [*engine.memories(limit=200), *engine.session_memories(["s"]).values(), *other.memories()]
        return Path(path), {memory.id: memory.content for memory in memories}


@pytest.fixture
def texts(sound: tuple[Path, dict[str, str]], store_path: str) -> dict[str, str]:
    """The texts of the store, which lies at its path."""
    shutil.copy(sound[0], store_path)
    return sound[1]


def salvage(source: str, target: str) -> Salvage:
    return salvage_store(source, target, embedder=Toy())


def edit(path: str, sql: str) -> None:
    connection = connect(path)
    connection.execute(sql)
    connection.close()


def stored_texts(engine: Engine) -> dict[str, str]:
    memories = [*engine.memories(limit=200), *engine.session_memories(["s"]).values()]
    return {memory.id: memory.content for memory in memories}


def test_a_sound_file_comes_along_whole(store_path: str, texts: dict[str, str]) -> None:
    done = salvage(store_path, f"{store_path}.new")
    assert (done.lost, done.notes) == ((), ())
    with toy(f"{store_path}.new") as engine, toy(f"{store_path}.new", "other") as other:
        assert stored_texts(engine) | stored_texts(other) == texts
        assert engine.settings.hops == 1
        assert engine.get("n0").superseded_by == "cut"
        assert [(link.source, link.target) for link in engine.history("cut").links] == [("cut", "n0")]
        assert all(finding.ok for finding in (*engine.doctor(), *other.doctor()))


def test_a_changed_text_is_noticed_and_left_out(store_path: str, texts: dict[str, str]) -> None:
    edit(store_path, "UPDATE memories SET content = replace(content, 'plum', 'pear') WHERE id = 'n7'")
    with toy(store_path) as engine:
        findings = {finding.check: finding.detail for finding in engine.doctor(repair=True) if not finding.ok}
    assert findings == {
        "checksums": "rows are not what was written: 1 of memories (n7)",
        "texts": "1 texts are not what was stored: n7",
    }
    done = salvage(store_path, f"{store_path}.new")
    assert [(lost.namespace, lost.id) for lost in done.lost] == [("default", "n7")]
    assert "its text is not the one that was stored" in done.lost[0].why
    with toy(f"{store_path}.new") as engine, toy(f"{store_path}.new", "other") as other:
        assert stored_texts(engine) | stored_texts(other) == {id: text for id, text in texts.items() if id != "n7"}


def test_an_index_that_disagrees_with_its_table_is_noticed(store_path: str, texts: dict[str, str]) -> None:
    data = bytearray(Path(store_path).read_bytes())
    connection = apsw.Connection(store_path)
    page = number(connection, "SELECT rootpage FROM sqlite_master WHERE name = 'memories_id'") or 0
    connection.close()
    place = data.index(b"n17", (page - 1) * 4096, page * 4096)
    data[place : place + 3] = b"n1!"
    Path(store_path).write_bytes(data)
    with toy(store_path) as engine:
        assert not {finding.check: finding.ok for finding in engine.doctor()}["file"]
    assert salvage(store_path, f"{store_path}.new").memories["default"] == len(texts) - 1


@pytest.mark.parametrize("seed", range(4))
def test_random_damage_costs_only_what_it_hits(store_path: str, texts: dict[str, str], seed: int) -> None:
    """What is in the new store is what was stored, and what is not there is listed as lost."""
    chance, data = random.Random(seed), bytearray(Path(store_path).read_bytes())
    for _ in range(6):
        page = chance.randrange(1, len(data) // 4096)
        start = page * 4096 + chance.randrange(0, 4000)
        data[start : start + 64] = chance.randbytes(64)
    Path(store_path).write_bytes(data)
    new = f"{store_path}.new"
    done = salvage(store_path, new)
    found: dict[str, str] = {}
    for name in done.memories:
        with toy(new, name) as engine:
            found |= {id: text for id, text in stored_texts(engine).items() if id in texts}
            assert all(finding.ok for finding in engine.doctor())
    assert all(texts[id] == text for id, text in found.items())
    missing = set(texts) - set(found) - {lost.id for lost in done.lost}
    assert not missing or any("may be lost that are not listed" in note for note in done.notes)


def test_a_truncated_file_gives_what_is_left(store_path: str, texts: dict[str, str]) -> None:
    data = Path(store_path).read_bytes()
    Path(store_path).write_bytes(data[: 4096 * (len(data) // 4096 * 3 // 4)])
    done = salvage(store_path, f"{store_path}.new")
    assert sum(done.memories.values()) + len(done.lost) >= COUNT


def test_memories_whose_other_tables_are_destroyed_all_come_along(store_path: str, texts: dict[str, str]) -> None:
    connection = apsw.Connection(store_path)
    tables = "'links', 'entities', 'edges', 'vectors', 'slots', 'memory_times', 'sessions', 'memory_labels', 'lexemes'"
    pages = [
        page
        for (page,) in connection.execute(
            f"SELECT rootpage FROM sqlite_master WHERE tbl_name IN ({tables}) AND rootpage > 0"
        )
    ]
    connection.close()
    with Path(store_path).open("r+b") as file:
        for page in pages:
            file.seek((page - 1) * 4096)
            file.write(bytes(4096))
    done = salvage(store_path, f"{store_path}.new")
    assert done.lost == ()
    with toy(f"{store_path}.new") as engine, toy(f"{store_path}.new", "other") as other:
        assert stored_texts(engine) | stored_texts(other) == texts


def test_a_file_without_its_schema_still_gives_its_memories(store_path: str, texts: dict[str, str]) -> None:
    with Path(store_path).open("r+b") as file:
        file.seek(100)
        file.write(bytes(3996))  # the root of the schema, and with it the way to every table
    done = salvage(store_path, f"{store_path}.new")
    assert (done.memories, done.lost) == ({"default": len(texts) - 1, "other": 1}, ())


def test_what_only_the_log_has_comes_along(store_path: str, tmp_path: Path) -> None:
    with toy(store_path) as engine:
        engine.remember("Only in the log", id="late")
        for end in ("", "-wal"):
            (tmp_path / f"crashed.db{end}").write_bytes(Path(store_path + end).read_bytes())
    done = salvage(str(tmp_path / "crashed.db"), str(tmp_path / "new.db"))
    assert done.memories == {"default": 1}
    assert not (tmp_path / "crashed.db-shm").exists()  # the damaged file is only read


def test_an_older_file_comes_along(store_path: str, texts: dict[str, str]) -> None:
    edit(store_path, BEFORE_LIFE)
    done = salvage(store_path, f"{store_path}.new")
    assert (sum(done.memories.values()), done.lost) == (len(texts), ())


def test_nothing_is_overwritten_and_an_open_store_is_refused(store_path: str, texts: dict[str, str]) -> None:
    with pytest.raises(fivefold.InvalidInput, match="exists already"):
        salvage(store_path, store_path)
    with pytest.raises(fivefold.NotFound):
        salvage(f"{store_path}.missing", f"{store_path}.new")
    with toy(store_path), pytest.raises(fivefold.InvalidInput, match="open in this process"):
        salvage(store_path, f"{store_path}.new")
    assert not Path(f"{store_path}.new").exists()
