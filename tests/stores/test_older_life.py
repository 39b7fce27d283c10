"""Files from before memories had an end, a pin and an origin: brought up to date, or only read."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

import fivefold
from fivefold.stores.sqlite.connection import connect
from tests.support.older_files import BEFORE_LIFE
from tests.support.toy_engine import toy


@pytest.fixture
def older(tmp_path: Path) -> str:
    """A file of the version before, in which a note repeats a turn."""
    location = str(tmp_path / "memory.db")
    with toy(location) as engine:
        engine.remember("Sarah likes green tea", id="person", speaker="Ann", event_at="2025-02-03T10:00:00Z")
        engine.remember("Tom likes cake", id="reply", speaker="Assistant", session_id="s", type="event")
        engine.remember("Tom likes cake", id="again", speaker="Assistant", session_id="s", tags=["sweet"])
        engine.remember("The kettle is on", id="machine", speaker="tool")
    with closing(connect(location)) as connection:
        connection.execute(BEFORE_LIFE)
    return location


def test_what_is_stored_was_written_by_its_speaker(older: str) -> None:
    with toy(older) as engine:
        origins = {id: engine.get(id).origin for id in ("person", "reply", "again", "machine")}
        assert origins == {"person": "user", "reply": "assistant", "again": "assistant", "machine": "tool"}
        assert [memory.origin for memory in engine.memories(kind="session")] == [None]
        assert [link.relation for link in engine.history("again").links] == ["equal"]
        assert (engine.get("person").expires_at, engine.get("person").pinned) == (None, False)
        assert engine.sweep().swept == ()
        engine.pin("person")
        assert all(finding.ok for finding in engine.doctor())


def test_a_file_that_can_only_be_read_answers_by_every_search(older: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fivefold.stores.sqlite.store.os.access", lambda *_: False)
    with toy(older) as engine:
        with pytest.raises(fivefold.ReadOnly):
            engine.remember("no more")
        for recipe in ("default", "lexical", "dense", "recall", "ditto"):
            assert engine.recall("who likes cake?", recipe=recipe)[0].memory.content == "Tom likes cake", recipe
        assert engine.recall("what happened in 2025?", filter="type:event").hits
        assert [memory.id for memory in engine.memories(filter="tag:sweet pinned:no")] == ["again"]
        assert engine.memories(filter="origin:user").items == ()
        assert engine.sweep(dry_run=True).swept == ()
        assert all(finding.ok for finding in engine.doctor())
        assert len(list(engine.export_lines())) == 5
