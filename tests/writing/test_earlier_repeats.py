"""Near-duplicates among memories that were written without being compared."""

from __future__ import annotations

import pytest

from fivefold.engine import Engine
from fivefold.writing import repeats as earlier_repeats

TEXTS = {
    "old": "The deploy script is in the tools folder",
    "other": "I live in Porto.",
    "new": "Deploy script lives in the tools folder",
    "latest": "The deploy script is just in the tools folder",
}


@pytest.fixture
def uncompared(engine: Engine) -> Engine:
    engine.configure(find_repeats=False)
    for day, (id, text) in enumerate(TEXTS.items(), 1):
        engine.remember(text, id=id, event_at=f"2025-03-0{day}T09:00:00Z")
    engine.configure(find_repeats=None)
    return engine


def linked(engine: Engine) -> set[tuple[str, str]]:
    return {(link.source, link.target) for link in engine.links("repeats")}


def test_they_are_linked_as_if_each_were_written_now(uncompared: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(earlier_repeats, "PAGE", 3)
    assert linked(uncompared) == set()
    expected = {("new", "old"), ("latest", "old"), ("latest", "new")}
    report = uncompared.link_repeats()
    assert {(link.source, link.target) for link in report.linked} == expected
    assert linked(uncompared) == expected
    assert uncompared.health().finding("near-duplicates").count == 3
    assert [uncompared.get(id).content for id in TEXTS] == list(TEXTS.values())


def test_a_second_time_nothing_is_new(uncompared: Engine) -> None:
    uncompared.link_repeats()
    before = linked(uncompared)
    assert uncompared.link_repeats().linked == ()
    assert linked(uncompared) == before


def test_an_empty_namespace_has_none(engine: Engine) -> None:
    assert engine.link_repeats().linked == ()
    assert not engine.exists()
