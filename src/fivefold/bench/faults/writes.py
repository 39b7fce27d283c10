"""Operations that write or delete memories, at once or later."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable
from datetime import datetime, timedelta
from pathlib import Path
from time import time

from fivefold.bench.faults.journal import Account, Journal
from fivefold.bench.faults.task import EngineTask, Letters, all_ids, all_memories, fill, finds, opened
from fivefold.engine import Engine
from fivefold.hooks.entry import EVENT_FILE, spool
from fivefold.hooks.state import State
from fivefold.hooks.writer import SpoolWriter
from fivefold.namespace import Namespace
from fivefold.stores.protocol import QueueLength
from fivefold.values.memory import Record
from fivefold.values.times import utc_now
from fivefold.writing.extract import extractor
from fivefold.writing.life import sweep
from fivefold.writing.queue_entries import entries_of, write_entries

BATCH = 12
"""Memories in a batch."""

SLOTS = 12
"""Memories that are updated in turn."""

ROOM = QueueLength("", 100_000, 1 << 30)
"""The most that may wait in the queue."""

PROBED = 3
"""How many of the latest are looked up in the lexical index as well."""


class Add(EngineTask):
    """One memory at a time."""

    name = "add"

    def act(self, engine: Engine, number: int, journal: Journal) -> None:
        with journal.step(number):
            engine.remember(_text(number), id=f"add-{number}", tags=[f"t{number}"])

    def look(self, engine: Engine, account: Account) -> tuple[int, int]:
        stored = engine.stored_ids([f"add-{number}" for number in (*account.done, *account.unsure)])
        lost = sum(f"add-{number}" not in stored for number in account.done)
        lost += sum(not self._whole(engine, number) for number in account.done[-PROBED:])
        half = [number for number in account.unsure[-PROBED:] if f"add-{number}" in stored]
        return lost, sum(not self._whole(engine, number) for number in half)

    def _whole(self, engine: Engine, number: int) -> bool:
        (id,) = ids = [f"add-{number}"]
        if not engine.stored_ids(ids):
            return False
        memory = engine.get(id)
        listed = [found.id for found in engine.memories(tag=f"t{number}")]
        return memory.content == _text(number) and listed == finds(engine, f"add{number}x") == ids


class Batch(EngineTask):
    """Several memories in one call, half of them turns of a session: all of them or none."""

    name = "batch"

    def act(self, engine: Engine, number: int, journal: Journal) -> None:
        records = [
            {
                "id": id,
                "content": f"{_text(number)}, piece {id}",
                "session_id": f"batch-{number}" if place % 2 else None,
            }
            for place, id in enumerate(_ids(number))
        ]
        with journal.step(number):
            engine.remember_many(records)

    def look(self, engine: Engine, account: Account) -> tuple[int, int]:
        lost = sum(_count(engine, number) != BATCH for number in account.done)
        half = [_count(engine, number) for number in account.unsure]
        return lost, sum(0 < there < BATCH for there in half)


class Update(EngineTask):
    """Text, tags and metadata of a few memories, again and again; each update changes all three."""

    name = "update"

    def prepare(self, folder: Path) -> None:
        with opened(folder) as engine:
            engine.remember_many({"id": f"slot-{slot}", "content": f"Slot {slot} waits"} for slot in range(SLOTS))

    def act(self, engine: Engine, number: int, journal: Journal) -> None:
        with journal.step(number):
            engine.update(
                f"slot-{number % SLOTS}", content=_text(number), tags=[f"t{number}"], metadata={"version": number}
            )

    def look(self, engine: Engine, account: Account) -> tuple[int, int]:
        results = [self._slot(engine, slot, account) for slot in range(SLOTS)]
        return results.count("lost"), results.count("half")

    def _slot(self, engine: Engine, slot: int, account: Account) -> str:
        own = Account(done=_of_slot(account.done, slot), unsure=_of_slot(account.unsure, slot))
        memory = engine.get(f"slot-{slot}")
        version = memory.metadata.get("version", -1)
        if version not in own.possible:
            return "lost"
        if version == -1:
            return "whole" if memory.content == f"Slot {slot} waits" and not memory.tags else "half"
        whole = memory.content == _text(version) and memory.tags == (f"t{version}",)
        return "whole" if whole and finds(engine, f"add{version}x") == [memory.id] else "half"


class Supersede(EngineTask):
    """A memory that replaces another: the new one and the mark on the old one, or neither."""

    name = "supersede"

    def act(self, engine: Engine, number: int, journal: Journal) -> None:
        engine.remember(f"Before: {_text(number)}", id=f"before-{number}")
        with journal.step(number):
            engine.supersede(f"before-{number}", {"id": f"after-{number}", "content": f"After: {_text(number)}"})

    def look(self, engine: Engine, account: Account) -> tuple[int, int]:
        lost = sum(self._marks(engine, number) != (True, True) for number in account.done)
        half = [self._marks(engine, number) for number in account.unsure]
        return lost, sum(new != marked for new, marked in half)

    def _marks(self, engine: Engine, number: int) -> tuple[bool, bool]:
        new = bool(engine.stored_ids([f"after-{number}"]))
        return new, engine.get(f"before-{number}").superseded_by == f"after-{number}"


class Forget(EngineTask):
    """A memory, or a session with its turns, goes for good."""

    name = "forget"

    def act(self, engine: Engine, number: int, journal: Journal) -> None:
        ids, session = _ids(number, 3), f"gone-{number}" if number % 2 else None
        engine.remember_many({"id": id, "content": f"{_text(number)} {id}", "session_id": session} for id in ids)
        with journal.step(number):
            if session:
                engine.forget_session(session)
            else:
                engine.forget(ids[0])

    def look(self, engine: Engine, account: Account) -> tuple[int, int]:
        lost = sum(self._left(engine, number) != 0 for number in account.done)
        lost += sum(bool(_first(number) & set(finds(engine, f"add{number}x"))) for number in account.done[-PROBED:])
        half = sum(0 < self._left(engine, number) < 3 for number in account.unsure if number % 2)
        return lost, half

    def _left(self, engine: Engine, number: int) -> int:
        """How many are left of those that were forgotten."""
        return len(engine.stored_ids(_ids(number, 3) if number % 2 else _ids(number, 1)))


class ForgottenSource(EngineTask):
    """What was forgotten comes again, by an import and as records: it is stored only after it was reinstated.

    The operations forget a note, forget a session, reinstate a note, reinstate a session, in turn.
    """

    name = "forgotten sources"

    def prepare(self, folder: Path) -> None:
        """Export a note and a session; a source is one of these files with a number in it."""
        super().prepare(folder)
        for place in range(2):
            with opened(folder, f"source-{place}") as engine:
                engine.remember_many(_source("NUMBER", place))
                engine.export_jsonl(path := folder / f"source-{place}.jsonl")
                for own in all_memories(engine, "session"):
                    path.write_text(path.read_text().replace(own.id, "talk-NUMBER-own"))

    def act(self, engine: Engine, number: int, journal: Journal) -> None:
        self._come_again(engine, [number])
        if number % 4 < 2:
            with journal.step(number):
                self._forget(engine, number)
        else:
            if engine.stored_ids([f"said-{number}-0"]):
                self._forget(engine, number)
            with journal.step(number):
                engine.reinstate(f"talk-{number}" if number % 2 else f"said-{number}-0")
        self._come_again(engine, [number])

    def look(self, engine: Engine, account: Account) -> tuple[int, int]:
        self._come_again(engine, range(account.next + 1))
        stored = Counter(memory.content for memory in (*all_memories(engine), *all_memories(engine, "session")))
        there: dict[int, set[int]] = {}
        for number in range(account.next):
            texts = [record.content for record in _source(number, number)]
            there[number] = {stored[text] for text in (*texts, "\n".join(texts))}
        lost = sum(there[number] != {int(number % 4 > 1)} for number in account.done)
        return lost, sum(there[number] not in ({0}, {1}) for number in account.unsure)

    def _forget(self, engine: Engine, number: int) -> None:
        if number % 2:
            engine.forget_session(f"talk-{number}")
        else:
            engine.forget(f"said-{number}-0")

    def _come_again(self, engine: Engine, numbers: Iterable[int]) -> None:
        folder = Path(engine.location).parent
        kinds = [(folder / f"source-{place}.jsonl").read_text() for place in range(2)]
        again = folder / "again.jsonl"
        again.write_text("".join(kinds[number % 2].replace("NUMBER", str(number)) for number in numbers))
        engine.import_jsonl(again)
        engine.remember_many(record for number in numbers for record in _source(number, number))


class Queue(EngineTask):
    """Records are accepted, and stored later: each waits or is stored, and never both."""

    name = "queue"

    def act(self, engine: Engine, number: int, journal: Journal) -> None:
        records = [Record(content=f"{_text(number)}, piece {id}", id=id) for id in _ids(number, 3)]
        waiting = entries_of(records, f"write-{number}", None, utc_now())
        with journal.step(number):
            engine.store.queue.add(engine.namespace, f"write-{number}", waiting, ROOM)
        if number % 2:
            write_entries(_space(engine, utc_now()), engine.store.queue.first(engine.namespace, BATCH, utc_now()))

    def look(self, engine: Engine, account: Account) -> tuple[int, int]:
        there = [self._there(engine, number) for number in account.done]
        cut_off = [self._there(engine, number) for number in account.unsure]
        lost, doubled = sum(count < 3 for count in there), sum(count > 3 for count in there)
        return lost, doubled + sum(count not in (0, 3) for count in cut_off)

    def _there(self, engine: Engine, number: int) -> int:
        """How often the records of a write are there, stored or waiting."""
        ids = _ids(number, 3)
        return len(engine.stored_ids(ids)) + sum(engine.store.queue.holds(engine.namespace, id) for id in ids)


class Hooks(EngineTask):
    """An event of a coding agent goes into the spool, and from there into the store, once."""

    name = "hooks"

    def prepare(self, folder: Path) -> None:
        super().prepare(folder)
        State(folder / "hooks").create()

    def act(self, engine: Engine, number: int, journal: Journal) -> None:
        state = State(Path(engine.location).with_name("hooks"))
        payload = json.dumps({"conversation_id": f"talk-{number % 3}", "prompt": _text(number)})
        os.chdir(state.folder)
        with journal.step(number):
            spool(f"cursor\nbeforeSubmitPrompt\n{engine.namespace}\n{time()}\n{payload}".encode())
        SpoolWriter(state, lambda namespace: engine, lambda line: None).drain()

    def look(self, engine: Engine, account: Account) -> tuple[int, int]:
        """One that waits while it is stored as well was cut off before its file was deleted, and is stored once."""
        stored = Counter(memory.content for memory in all_memories(engine))
        folder = Path(engine.location).with_name("hooks")
        waiting = "".join(path.read_text() for path in folder.rglob(f"*{EVENT_FILE}"))
        done, both = map(_text, account.done), map(_text, (*account.done, *account.unsure))
        return sum(not stored[text] and text not in waiting for text in done), sum(stored[text] > 1 for text in both)


class Expire(EngineTask):
    """Memories whose time is over are forgotten, and no others."""

    name = "expiry"

    def act(self, engine: Engine, number: int, journal: Journal) -> None:
        soon, late = utc_now() + timedelta(hours=1), utc_now() + timedelta(days=99)
        for id, until in zip(_ids(number, 4), (soon, soon, late, None), strict=True):
            engine.remember(f"{_text(number)} {id}", id=id, expires_at=until)
        with journal.step(number):
            sweep(_space(engine, soon))

    def look(self, engine: Engine, account: Account) -> tuple[int, int]:
        left = {number: engine.stored_ids(_ids(number, 4)) for number in (*account.done, *account.unsure)}
        kept = {number: set(_ids(number, 4)[2:]) for number in left}
        lost = sum(left[number] != kept[number] for number in account.done)
        return lost, sum(not left[number] >= kept[number] for number in account.unsure)


class Delete(EngineTask):
    """A namespace goes with all that it has, and no other."""

    name = "delete a namespace"

    def act(self, engine: Engine, number: int, journal: Journal) -> None:
        with opened(Path(engine.location), f"space-{number}") as other:
            fill(other, BATCH)
            engine.remember(_text(number), id=f"kept-{number}")
            with journal.step(number):
                engine.store.delete_namespace(other.namespace)

    def look(self, engine: Engine, account: Account) -> tuple[int, int]:
        spaces = set(engine.store.namespaces())
        kept = engine.stored_ids([f"kept-{number}" for number in account.done])
        lost = sum(f"space-{number}" in spaces for number in account.done) + len(account.done) - len(kept)
        half = 0
        for number in account.unsure:
            if f"space-{number}" in spaces:
                with opened(Path(engine.location), f"space-{number}") as other:
                    half += len(all_ids(other)) != BATCH
        return lost, half


WRITES: tuple[EngineTask, ...] = (
    Add(),
    Batch(),
    Update(),
    Supersede(),
    Forget(),
    ForgottenSource(),
    Queue(),
    Hooks(),
    Expire(),
    Delete(),
)


def _space(engine: Engine, now: datetime) -> Namespace:
    """The namespace of an engine at some moment."""
    return Namespace(engine.store, engine.namespace, Letters(), extractor("rules"), lambda: now)


def _text(number: int) -> str:
    return f"Parcel add{number}x waits for Ines at gate {number % 90}"


def _ids(number: int, count: int = BATCH) -> list[str]:
    return [f"piece-{number}-{place}" for place in range(count)]


def _source(number: int | str, place: int) -> list[Record]:
    """One note if `place` is even, else three turns of a session."""
    session, size = (f"talk-{number}", 3) if place % 2 else (None, 1)
    return [
        Record(id=f"said-{number}-{part}", content=f"Part {part} of source add{number}x", session_id=session)
        for part in range(size)
    ]


def _of_slot(numbers: list[int], slot: int) -> list[int]:
    return [number for number in numbers if number % SLOTS == slot]


def _first(number: int) -> set[str]:
    return set(_ids(number, 3) if number % 2 else _ids(number, 1))


def _count(engine: Engine, number: int) -> int:
    return len(engine.stored_ids(_ids(number)))
