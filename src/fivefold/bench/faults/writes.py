"""Operations that write memories: add, batch, update, supersede, forget."""

from __future__ import annotations

from pathlib import Path

from fivefold.bench.faults.journal import Account, Journal
from fivefold.bench.faults.task import EngineTask, finds, opened
from fivefold.engine import Engine

BATCH = 12
"""Memories in a batch."""

SLOTS = 12
"""Memories that are updated in turn."""

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


WRITES: tuple[EngineTask, ...] = (Add(), Batch(), Update(), Supersede(), Forget())


def _text(number: int) -> str:
    return f"Parcel add{number}x waits for Ines at gate {number % 90}"


def _ids(number: int, count: int = BATCH) -> list[str]:
    return [f"piece-{number}-{place}" for place in range(count)]


def _of_slot(numbers: list[int], slot: int) -> list[int]:
    return [number for number in numbers if number % SLOTS == slot]


def _first(number: int) -> set[str]:
    return set(_ids(number, 3) if number % 2 else _ids(number, 1))


def _count(engine: Engine, number: int) -> int:
    return len(engine.stored_ids(_ids(number)))
