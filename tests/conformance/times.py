"""Times: memories are found by the moment they were said and by the stretches of time that they name.

These tests write through the protocol itself, so that no extractor decides which times a memory names.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from fivefold.engine import Engine
from fivefold.stores.interface import Store, Writer
from fivefold.stores.records import NAMES_WINDOW, SAID_AND_NAMES_WINDOW, SAID_IN_WINDOW, Entry
from fivefold.values.entities import Span
from fivefold.values.memory import Type, record_of
from fivefold.writing.draft import draft
from fivefold.writing.extract import extractor

from .fixtures import StoreFixtures
from .store_pair import NOW, new_namespace
from .vectors import WordVectors

MODEL = WordVectors()
DAY = timedelta(days=1)
MAY = datetime(2025, 5, 1, tzinfo=UTC)

Stretch = tuple[datetime, datetime]
Said = tuple[datetime, Sequence[Stretch]]
"""When a memory was said, and which stretches of time it names."""


def days(first: float, count: float = 1) -> Stretch:
    """A stretch of days counted from the first of May."""
    return MAY + DAY * first, MAY + DAY * (first + count)


def entry_of(id: str, namespace: str, said: datetime = NOW, dates: Sequence[Stretch] = ()) -> Entry:
    record = record_of({"content": f"a text with a name of its own, {id}", "id": id, "event_at": said})
    entry = draft(record, namespace, extractor("rules"), NOW).entry()
    spans = tuple(Span(start, end, "then") for start, end in dates)
    return replace(entry, extraction=replace(entry.extraction, dates=spans), vectors={"full": MODEL.embed([id])[0]})


MANY = [days(number, 1 + 40 * (number % 2)) for number in range(30, 0, -1)]
TIMES: Mapping[str, Said] = {
    "many": (NOW, [MANY[0], *MANY]),
    "one": (NOW, [(datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC), MAY)]),
    "none": (NOW, ()),
}
"""More stretches than are stored of one memory, latest first and the first of them twice; one from before 1970."""


class Stored:
    """A namespace of memories that were said at some time and name others."""

    def __init__(self, store: Store, memories: Mapping[str, Said], name: str = "", type: Type = "fact") -> None:
        self.store, self.name = store, name or new_namespace()
        self.reader = store.reader(self.name)
        self.rows: dict[str, int] = {}
        self.ids: dict[int, str] = {}
        self.add(memories, type)

    def add(self, memories: Mapping[str, Said], type: Type = "fact") -> None:
        with self.store.write(self.name) as txn:
            txn.vectors.pin(MODEL.pin, MODEL.dimension)
            for id, how in memories.items():
                entry = entry_of(id, self.name, *how)
                self.rows[id] = txn.memories.add(replace(entry, memory=replace(entry.memory, type=type)))
        self.ids = {row: id for id, row in self.rows.items()}

    def within(self, window: Stretch, depth: int = 50) -> list[tuple[str, float, str | None]]:
        return [(self.ids[hit.row], hit.score, hit.note) for hit in self.reader.search.within(*window, depth)]

    def named(self) -> dict[str, tuple[Stretch, ...]]:
        times = self.reader.memories.named_times([*self.rows.values(), 10**9])
        return {self.ids[row]: stretches for row, stretches in times.items()}

    def is_sound(self) -> bool:
        return all(finding.ok for finding in self.store.check(self.name))


def random_memories(count: int) -> dict[str, Said]:
    """Memories of a year with stretches of all lengths around them, most of them whole days."""
    draw = random.Random(15)
    memories: dict[str, Said] = {}
    for number in range(count):
        said = MAY + draw.choice((DAY, timedelta(minutes=1))) * draw.randrange(200)
        lengths = [draw.choice((0, 1, 1, 1, 7, 31, 365, 9_000)) for _ in range(draw.randrange(3))]
        starts = [draw.randrange(-40, 240) - (length if length > 300 else 0) for length in lengths]
        memories[f"m{number}"] = said, [days(*stretch) for stretch in zip(starts, lengths, strict=True)]
    return memories


def read_all(memories: Mapping[str, Said], window: Stretch, depth: int) -> list[tuple[str, float, str]]:
    """What a search by time finds, by reading every memory."""
    start, end = window
    length, centre = end - start, start + (end - start) / 2
    found: list[tuple[datetime, timedelta, tuple[str, float, str]]] = []
    for id, (said, dates) in memories.items():
        ways = [(said, abs(said - centre), 1.0, SAID_IN_WINDOW)] if start <= said < end else []
        for first, last in dates:
            if first < end and (last > start or first >= start):
                score = 1.0 if last - first <= length + DAY else length / (last - first)
                ways.append((first, max(abs(first - centre), abs(last - centre)), score, NAMES_WINDOW))
        if ways:
            at, far, score = min(way[0] for way in ways), min(way[1] for way in ways), max(way[2] for way in ways)
            notes = {way[3] for way in ways}
            found.append((at, far, (id, score, SAID_AND_NAMES_WINDOW if len(notes) == 2 else notes.pop())))
    found.sort(key=(lambda item: item[1]) if len(found) > depth else (lambda item: item[0] - MAY))
    return [hit for *_, hit in found[:depth]]


class TimeLaws(StoreFixtures):
    """Each writes to a namespace of its own."""

    def test_events_that_name_a_window_follow_those_of_it(self, store: Store) -> None:
        said = {"later": (MAY + 2 * DAY, ()), "first": (MAY + DAY, [days(40)])}
        named = {"a month": (NOW, [days(-3, 30)]), "a day": (NOW, [days(3), days(2)]), "elsewhere": (NOW, [days(50)])}
        stored = Stored(store, said | named, type="event")
        stored.add({"fact": (MAY, [days(3)])})
        search = stored.reader.search.temporal
        window = days(0, 7)
        assert [stored.ids[hit.row] for hit in search(*window, 9)] == ["first", "later"]
        hits = [(stored.ids[hit.row], hit.score, hit.note) for hit in search(*window, 9, named=True)]
        assert hits == [
            ("first", 1.0, None),
            ("later", 1.0, None),
            ("a day", 1.0, NAMES_WINDOW),
            ("a month", pytest.approx(7 / 30), NAMES_WINDOW),
        ]
        assert [stored.ids[hit.row] for hit in search(*window, 3, named=True)] == ["first", "later", "a day"]

    def test_a_window_finds_what_was_said_in_it_and_what_names_it(self, store: Store) -> None:
        stored = Stored(
            store,
            {
                "before": (MAY - DAY, [days(-2), days(9)]),
                "said": (MAY, ()),
                "named": (MAY + 90 * DAY, [days(3)]),
                "both": (MAY + 2 * DAY, [days(5), days(1)]),
                "at the end": (MAY + 7 * DAY, [days(7)]),
                "months": (NOW, [days(0, 70)]),
                "a moment": (NOW, [days(6, 0)]),
            },
        )
        assert stored.within(days(0, 7)) == [
            ("said", 1.0, "said in it"),
            ("months", 0.1, "names it"),
            ("both", 1.0, "said in it, names it"),
            ("named", 1.0, "names it"),
            ("a moment", 1.0, "names it"),
        ]
        assert stored.within(days(0, 7), 2) == [("named", 1.0, "names it"), ("both", 1.0, "said in it, names it")]
        assert stored.within(days(0, 7), 0) == stored.within(days(3, 0)) == stored.within((MAY, MAY - DAY)) == []

    def test_a_stretch_about_as_long_as_the_window_has_the_full_score(self, store: Store) -> None:
        stored = Stored(store, {"day": (NOW, [days(0)]), "two": (NOW, [days(0, 2)]), "three": (NOW, [days(0, 3)])})
        scores = [(id, score) for id, score, _ in stored.within(days(0))]
        assert scores == [("day", 1.0), ("two", 1.0), ("three", pytest.approx(1 / 3))]

    def test_any_window_finds_what_reading_all_memories_finds(self, store: Store) -> None:
        memories = random_memories(40)
        stored = Stored(store, memories)
        for first in range(-30, 260, 11):
            for length, depth in ((1, 2), (2, 100), (7, 3), (30, 10), (100, 5), (365, 10), (365, 100)):
                window = days(first, length)
                assert stored.within(window, depth) == read_all(memories, window, depth), (first, length, depth)

    def test_a_memory_of_a_session_is_found_by_its_turns_alone(self, engine: Engine) -> None:
        turns = [{"content": f"turn {n} on 8 May 2025", "id": f"t{n}", "session_id": "s"} for n in range(8)]
        engine.remember_many([*turns, {"content": "a note of 8 May 2025", "id": "note"}])
        reader = engine.store.reader(engine.namespace)
        assert engine.stats().by_kind == {"note": 1, "session": 1, "turn": 8}
        rows = [hit.row for hit in reader.search.within(NOW - 900 * DAY, NOW + 900 * DAY, 50)]
        found = {memory.id for memory in reader.memories.fetch(rows).values()}
        assert found == {"note", *(turn["id"] for turn in turns)}

    def test_the_first_stretches_of_a_text_are_kept_each_once(self, store: Store) -> None:
        stored = Stored(store, TIMES)
        assert stored.named() == {"many": tuple(reversed(MANY[:16])), "one": tuple(TIMES["one"][1])}
        assert store.reader(new_namespace()).memories.named_times(list(stored.rows.values())) == {}
        assert store.reader(new_namespace()).search.within(*days(0, 90), 9) == []
        assert stored.is_sound()

    def test_times_before_1970_and_of_a_microsecond_come_back(self, store: Store) -> None:
        odd = (datetime(1, 1, 1, tzinfo=UTC), datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC))
        last = (datetime(9999, 12, 31, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, 1, tzinfo=UTC))
        stored = Stored(store, {"odd": (NOW, [odd, last])})
        assert stored.named() == {"odd": (odd, last)}
        assert stored.within((odd[1] - DAY, odd[1])) == [("odd", DAY / (odd[1] - odd[0]), "names it")]
        assert stored.within((odd[1], odd[1] + DAY)) == []
        assert stored.is_sound()

    def test_the_span_is_from_the_oldest_to_the_newest(self, store: Store) -> None:
        memories = {id: (MAY + DAY * day, ()) for id, day in (("b", 4), ("a", -700), ("c", 2))}
        assert Stored(store, memories).reader.memories.event_span() == (MAY - 700 * DAY, MAY + 4 * DAY)
        assert store.reader(new_namespace()).memories.event_span() is None

    def test_a_namespace_sees_only_its_own(self, store: Store) -> None:
        one, other = (Stored(store, {"a": (MAY, [days(1)]), "b": (MAY, [days(2)])}) for _ in range(2))
        assert [id for id, *_ in one.within(days(0, 9))] == ["a", "b"]
        assert store.reader(one.name).memories.named_times(list(other.rows.values())).keys() <= set(one.rows.values())

    def test_an_edit_a_removal_and_a_rebuild_are_followed(self, store: Store) -> None:
        stored = Stored(store, {id: (NOW, [days(number)]) for number, id in enumerate("abc")})

        def rebuild(txn: Writer) -> None:
            entries = [entry_of(memory.id, stored.name, NOW, [days(7)]) for memory, _ in txn.memories.scan()]
            txn.index.clear()
            for entry in entries:
                txn.index.add(stored.rows[entry.memory.id], replace(entry, vectors={}))
            txn.index.finish_rebuild()

        with store.write(stored.name) as txn:
            txn.memories.replace(stored.rows["a"], entry_of("a", stored.name, NOW, [days(5)]))
            txn.memories.remove(stored.rows["b"])
        assert stored.named() == {"a": (days(5),), "c": (days(2),)}
        assert [id for id, *_ in stored.within(days(0, 9))] == ["c", "a"]
        assert stored.is_sound()
        with store.write(stored.name) as txn:
            rebuild(txn)
        assert stored.named() == {"a": (days(7),), "c": (days(7),)}
