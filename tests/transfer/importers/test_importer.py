"""Importing: once, again, grown, changed, and killed in the middle."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path

import pytest

import fivefold
from fivefold.engine import Engine
from fivefold.errors import InvalidInput
from fivefold.transfer.importers import import_from
from tests.support.exports import BREAD, MOVE, NINE, chatgpt, claude, message, node, said, write

pytestmark = pytest.mark.slow


@pytest.fixture
def mem(tmp_path: Path) -> Iterator[Engine]:
    with fivefold.open(tmp_path / "memory.db", embedder="wordllama") as opened:
        yield opened


def held(mem: Engine, folder: Path) -> str:
    mem.export_jsonl(folder / "held.jsonl")
    return (folder / "held.jsonl").read_text("utf-8")


def test_importing_again_changes_nothing(mem: Engine, tmp_path: Path) -> None:
    twice = [{"id": "m-1", "memory": "Likes hiking"}, {"id": "m-2", "memory": "likes  HIKING"}]
    sources = [
        write(tmp_path / "gpt.json", [BREAD]),
        write(tmp_path / "claude.json", [MOVE]),
        write(tmp_path / "mem0.json", twice),
        write(tmp_path / "chain.json", [message("human", "ok"), message("ai", "fine"), message("human", "ok")]),
        tmp_path / "notes.md",
    ]
    sources[-1].write_text("# One\nA thought\n# Two\nA thought\n", "utf-8")
    first = [import_from(mem, path) for path in sources]
    assert [len(done.stored) for done in first] == [4, 3, 1, 3, 2]
    assert first[2].merged[0].to_dict() == {"id": "mem0:m-2", "why": "another note says the same"}
    before = held(mem, tmp_path)
    for path, done in zip(sources, first, strict=True):
        again = import_from(mem, path)
        assert (again.stored, again.updated, again.records) == ((), (), done.records)
    assert held(mem, tmp_path) == before
    assert all(finding.ok for finding in mem.doctor())


def test_a_conversation_that_has_grown_adds_only_what_is_new(mem: Engine, tmp_path: Path) -> None:
    import_from(mem, write(tmp_path / "a.json", [BREAD]))
    grown = deepcopy(BREAD)
    grown["mapping"]["m7"] = node("m7", "m6", "user", "Bertha goes in the fridge", create_time=NINE + 90)
    grown["current_node"] = "m7"
    done = import_from(mem, write(tmp_path / "a.json", [grown]))
    assert (done.stored, len(done.merged)) == (("chatgpt:talk-1:m7",), 4)
    assert [session.turns for session in mem.sessions()] == [5]
    assert mem.get("chatgpt:talk-1:m7").turn_index == 4


def test_a_text_that_changed_at_its_source_changes_here(mem: Engine, tmp_path: Path) -> None:
    note = tmp_path / "notes" / "house.md"
    note.parent.mkdir()
    note.write_text("---\ntags: [home]\n---\nThe spare key is with Ines", "utf-8")
    import_from(mem, note)
    mem.update("markdown:notes/house.md", metadata={**mem.get("markdown:notes/house.md").metadata, "mine": 1})
    note.write_text("---\ndate: 2024-01-02\n---\nThe spare key is under the pot", "utf-8")
    done = import_from(mem, note)
    assert (done.updated, done.stored, done.merged) == (("markdown:notes/house.md",), (), ())
    changed = mem.get("markdown:notes/house.md")
    assert (changed.content, changed.tags) == ("house\nThe spare key is under the pot", ())
    assert changed.event_at.isoformat() == "2024-01-02T00:00:00+00:00"
    assert changed.metadata["mine"] == 1
    assert import_from(mem, note).updated == ()
    assert mem.recall("where is the spare key?", k=1)[0].memory.id == "markdown:notes/house.md"


def test_folders_of_different_names_do_not_meet(mem: Engine, tmp_path: Path) -> None:
    for name in ("work", "home"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "index.md").write_text(f"All about {name}", "utf-8")
        assert len(import_from(mem, tmp_path / name).stored) == 1
    assert mem.get("markdown:work/index.md").content == "index\nAll about work"


def test_what_was_changed_here_stays_while_its_source_does_not_change(mem: Engine, tmp_path: Path) -> None:
    path = write(tmp_path / "m.json", [{"id": "m-1", "memory": "Lives in Oslo"}])
    import_from(mem, path)
    mem.update("mem0:m-1", content="Lives in Bergen")
    assert import_from(mem, path).updated == ()
    assert mem.get("mem0:m-1").content == "Lives in Bergen"
    write(path, [{"id": "m-1", "memory": "Lives in Tromsø"}])
    assert import_from(mem, path).updated == ("mem0:m-1",)
    assert mem.get("mem0:m-1").content == "Lives in Tromsø"


def test_a_memory_of_ones_own_under_the_same_id_is_left_alone(mem: Engine, tmp_path: Path) -> None:
    mem.remember("Mine", id="mem0:m-1")
    done = import_from(mem, write(tmp_path / "m.json", [{"id": "m-1", "memory": "Theirs"}]))
    assert len(done.merged) == 1
    assert mem.get("mem0:m-1").content == "Mine"


def test_a_dry_run_stores_nothing(mem: Engine, tmp_path: Path) -> None:
    path = write(tmp_path / "a.json", [BREAD, {"mapping": 3, "title": "Spoilt"}])
    told = import_from(mem, path, dry_run=True)
    assert (len(told.stored), told.records, told.dry_run, len(told.skipped)) == (4, 4, True, 1)
    assert mem.stats().memories == 0
    assert import_from(None, path, dry_run=True) == told
    done = import_from(mem, path)
    assert (done.stored, done.skipped, done.left_out) == (told.stored, told.skipped, told.left_out)
    assert len(import_from(mem, path, dry_run=True).merged) == 4


def test_strict_stops_before_anything_is_stored(mem: Engine, tmp_path: Path) -> None:
    path = write(tmp_path / "a.json", [BREAD, {"mapping": 3, "title": "Spoilt"}])
    with pytest.raises(InvalidInput, match="conversation 2 'Spoilt'"):
        import_from(mem, path, strict=True)
    assert mem.stats().memories == 0


def test_lines_come_as_they_always_did(mem: Engine, tmp_path: Path) -> None:
    import_from(mem, write(tmp_path / "a.json", [BREAD]))
    mem.export_jsonl(tmp_path / "out.jsonl")
    with fivefold.open(tmp_path / "copy.db", embedder="wordllama") as copy:
        told = import_from(None, tmp_path / "out.jsonl", dry_run=True)
        assert (told.format, told.records, told.left_out) == ("jsonl", 4, {"session memories": 1})
        done = import_from(copy, tmp_path / "out.jsonl")
        assert (done.format, len(done.stored)) == ("jsonl", 5)
        assert held(copy, tmp_path) == held(mem, tmp_path)


def test_killed_in_the_middle_and_begun_again_all_is_there_once(tmp_path: Path) -> None:
    turns = 400
    talks = [
        claude(*(said(f"t{n}", "human", f"word{n} of talk {talk}") for n in range(turns // 4)), id=f"c{talk}")
        for talk in range(4)
    ]
    path, store = write(tmp_path / "conversations.json", talks), tmp_path / "memory.db"
    child = f"""
import fivefold
from fivefold.transfer import importers
importers.BATCH = 50
with fivefold.open({str(store)!r}, embedder="wordllama") as mem:
    print("ready", flush=True)
    importers.import_from(mem, {str(path)!r})
"""
    with subprocess.Popen([sys.executable, "-c", child], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        with fivefold.open(store) as watched:
            while watched.stats().by_kind.get("turn", 0) < 50:
                assert process.poll() is None
                time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
    with fivefold.open(store, embedder="wordllama") as mem:
        kept = mem.stats().by_kind["turn"]
        assert 50 <= kept < turns
        done = import_from(mem, path)
        assert (len(done.merged), len(done.stored), done.records) == (kept, turns - kept, turns)
        assert [session.turns for session in mem.sessions()] == [turns // 4] * 4
        lines = held(mem, tmp_path).splitlines()
        texts = sorted(line["content"] for line in map(json.loads, lines) if line["kind"] == "turn")
        assert texts == sorted(f"word{n} of talk {talk}" for talk in range(4) for n in range(turns // 4))
        assert all(finding.ok for finding in mem.doctor())


def test_only_a_dry_run_goes_without_an_engine(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="needs an engine to write with"):
        import_from(None, write(tmp_path / "a.json", [BREAD]))


def test_an_empty_export_is_no_error(mem: Engine, tmp_path: Path) -> None:
    done = import_from(mem, write(tmp_path / "a.json", []), "chatgpt")
    assert (done.records, done.stored) == (0, ())
    done = import_from(mem, write(tmp_path / "b.json", [chatgpt()]))
    assert (done.records, done.stored) == (0, ())
