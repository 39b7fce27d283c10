"""Profiles, agendas and histories against lists of what is known."""

from __future__ import annotations

from fivefold.engine import Engine
from fivefold.evaluation import life_of
from fivefold.values.json_files import Fields
from fivefold_bench.profile import ProfileFigures, _longest, measure

LIFE = {
    "now": "2026-03-20T09:00:00Z",
    "memories": [
        {"id": "a", "content": "I live in Leeds and the rent is 640 a month.", "event_at": "2026-01-05T10:00:00Z"},
        {"id": "b", "content": "I moved to Bristol.", "event_at": "2026-03-01T10:00:00Z"},
        {"id": "c", "content": "The dentist is on 20 April 2026.", "event_at": "2026-03-02T10:00:00Z"},
    ],
    "questions": [{"q": "Where do I live?", "kind": "current", "expected": ["b"]}],
}
LISTS = {
    "facts": [
        {"section": "home", "keys": [["bristol"]], "sources": ["b"]},
        {"section": "work", "keys": [["harbour"], ["office"]], "sources": []},
    ],
    "stale": [{"keys": [["leeds"]], "sources": ["a"]}],
    "dated": [
        {"when": "2026-04-20", "keys": [["dentist"]], "cancelled": False, "sources": ["c"]},
        {"when": "2026-04-21", "keys": [["dentist"]], "cancelled": True, "sources": ["c"]},
    ],
    "changed": [{"question": "where do I live", "values": [["leeds"], ["bristol"]], "sources": ["a", "b"]}],
}


def test_a_life_is_measured_against_its_list(engine: Engine) -> None:
    life = life_of("nadia", Fields("nadia", LIFE))
    engine.remember_many(life.memories)
    sections: dict[str, list[int]] = {}
    found = measure(engine, life, Fields("list", LISTS), 600, sections)
    assert (found.facts, found.found, found.stale, found.wrong) == (2, 1, 0, 0)
    assert (found.dated_found, found.dated, found.cancelled_shown, found.cancelled) == (1, 1, 0, 1)
    assert (found.in_order, found.values) == (2, 2)
    assert sections == {"home": [True], "work": [False]}
    total = ProfileFigures.total("all", [found, found])
    assert (total.name, total.facts, total.found) == ("all", 4, 2)


def test_values_count_in_their_order_only() -> None:
    assert _longest([[0], [1], [2]]) == 3
    assert _longest([[2], [1], [0]]) == 1
    assert _longest([[1], [], [3, 0]]) == 2
    assert _longest([]) == 0
