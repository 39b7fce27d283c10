"""Stores that sync: directly or over a folder, deletions before edits, with conflicts shown and secrets masked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fivefold.engine import Engine
from fivefold.errors import InvalidInput
from tests.support.toy_engine import toy


def state(engine: Engine) -> list[dict[str, object]]:
    """All memories but those of sessions, which each store builds itself, without what each counts for itself."""
    lines = [json.loads(line) for line in engine.export_lines()]
    counted = ("seen_count", "access_count", "last_accessed_at", "echo_count")
    kept = [{name: item for name, item in line.items() if name not in counted} for line in lines]
    return sorted((line for line in kept if line["kind"] != "session"), key=lambda line: str(line["id"]))


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Engine, Engine]:
    return toy(str(tmp_path / "one.db")), toy(str(tmp_path / "two.db"))


def fill(one: Engine, two: Engine) -> None:
    one.remember("I live in Leeds", id="leeds", event_at="2025-01-01T00:00:00Z")
    one.remember("I live in Bristol now", id="bristol", event_at="2025-02-01T00:00:00Z")
    one.remember("Shall we cook?", id="t1", session_id="chat", speaker="user", tags=["food"])
    two.remember("Gladly, at eight", id="t2", session_id="chat", speaker="assistant", turn_index=1)
    two.remember("Tom likes cake", id="cake", pinned=True)


def test_there_and_back_leaves_equal_stores(pair: tuple[Engine, Engine]) -> None:
    one, two = pair
    fill(one, two)
    before = one.get("leeds")
    report = one.sync(two)
    assert (set(report.added), report.changed, report.conflicts) == ({"t2", "cake"}, (), ())
    assert state(one) == state(two)
    assert len(state(one)) == 5
    assert (two.get("leeds").superseded_by, one.get("leeds")) == ("bristol", before)
    assert [turn.id for turn in two.turns("chat")] == [turn.id for turn in one.turns("chat")]
    assert two.recall("where do I live?")[0].memory.id == "bristol"
    assert all(finding.ok for engine in pair for finding in engine.doctor())
    exported = list(one.export_lines())
    assert one.sync(two) == two.sync(one)
    assert list(one.export_lines()) == exported


def test_changes_and_deletions_pass_on_and_a_deletion_wins(pair: tuple[Engine, Engine]) -> None:
    one, two = pair
    fill(one, two)
    one.sync(two)
    one.update("cake", content="Tom likes green tea")
    two.update("t1", tags=["dinner"])
    two.forget("leeds")
    report = one.sync(two)
    assert (set(report.changed), report.deleted, report.conflicts) == ({"t1", "bristol"}, ("leeds",), ())
    assert (two.get("cake").content, one.get("t1").tags) == ("Tom likes green tea", ("dinner",))
    assert state(one) == state(two)

    one.forget("cake")
    two.update("cake", content="Tom likes pie")
    one.update("bristol", content="I live in Bath now")
    two.update("bristol", content="I live in Wells now")
    report = one.sync(two)
    conflicts = {item.id: (item.kept, item.lost) for item in report.conflicts}
    assert conflicts.keys() == {"cake", "bristol"}
    assert conflicts["cake"] == (None, "Tom likes pie")
    assert set(conflicts["bristol"]) == {"I live in Bath now", "I live in Wells now"}
    assert one.get("bristol").content == two.get("bristol").content == conflicts["bristol"][0]
    assert {engine.stats().memories - len(engine.sessions()) for engine in pair} == {len(state(one))}
    assert state(one) == state(two)
    assert one.sync(two).conflicts == ()


def test_three_stores_meet_over_a_folder(tmp_path: Path, pair: tuple[Engine, Engine]) -> None:
    one, two = pair
    three, folder = toy(str(tmp_path / "three.db")), tmp_path / "shared"
    folder.mkdir()
    fill(one, two)
    for _ in range(2):
        for engine in (one, two, three):
            engine.sync(folder)
    assert state(one) == state(two) == state(three)
    three.forget("cake")
    two.update("t1", content="Shall we bake?")
    for _ in range(2):
        for engine in (three, two, one):
            assert engine.sync(folder).conflicts == ()
    assert state(one) == state(two) == state(three)
    assert one.get("t1").content == "Shall we bake?"
    assert "cake" not in {line["id"] for line in state(one)}
    assert len(list(folder.iterdir())) == 3
    two.forget("t1")
    (folder / "broken.fivefold-sync.jsonl").write_text("{}")
    with pytest.raises(InvalidInput, match=r"broken"):
        two.sync(folder)


def test_masked_secrets_stay_where_they_are(tmp_path: Path, pair: tuple[Engine, Engine]) -> None:
    one, two = pair
    folder = tmp_path / "shared"
    folder.mkdir()
    one.remember("The wifi password is hunter22", id="wifi")
    for engine in (one, two, one, two):
        engine.sync(folder, mask_secrets=True)
    assert not any(b"hunter22" in path.read_bytes() for path in folder.iterdir())
    assert (one.get("wifi").content, "hunter22" in two.get("wifi").content) == ("The wifi password is hunter22", False)


def test_what_was_forgotten_before_the_first_sync_is_deleted_everywhere(pair: tuple[Engine, Engine]) -> None:
    one, two = pair
    for engine in pair:
        engine.remember("The tap drips", id="tap", session_id="chat", event_at="2025-01-01T00:00:00Z")
    one.forget("tap")
    assert one.sync(two).added == ()
    assert state(two) == []


def test_what_cannot_be_synced_is_refused(pair: tuple[Engine, Engine], tmp_path: Path) -> None:
    with pytest.raises(InvalidInput):
        pair[0].sync(pair[0])
    with pytest.raises(InvalidInput):
        pair[0].sync(tmp_path / "none")
