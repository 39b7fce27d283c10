"""Observers: told of every recall and write, and unable to spoil one."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from fivefold import observers
from fivefold.engine import Engine
from fivefold.errors import NotFound
from fivefold.observers import Write
from fivefold.stores.interface import Store
from fivefold.values.recall import Recall
from tests.support.toy_engine import toy


class Notes:
    def __init__(self) -> None:
        self.recalls: list[Recall] = []
        self.writes: list[Write] = []

    def recalled(self, store: Store, recall: Recall, ended_ns: int) -> None:
        self.recalls.append(recall)

    def wrote(self, store: Store, write: Write) -> None:
        self.writes.append(write)


class Clumsy(Notes):
    def recalled(self, store: Store, recall: Recall, ended_ns: int) -> None:
        raise RuntimeError("dropped it")

    def wrote(self, store: Store, write: Write) -> None:
        raise RuntimeError("dropped it")


@pytest.fixture
def mem() -> Iterator[Engine]:
    with toy(":memory:") as engine:
        yield engine


@pytest.fixture
def notes() -> Iterator[Notes]:
    made = Notes()
    observers.add(made)
    observers.add(made)
    yield made
    observers.remove(made)


def test_each_recall_and_write_is_told_once(mem: Engine, notes: Notes) -> None:
    report = mem.remember("I take my tea without milk")
    mem.remember_many(["Stand-up at ten", "The plumber comes on Tuesday"])
    answer = mem.recall("tea")
    mem.feedback(answer, used=[str(report.id)])
    mem.forget(str(report.id))
    assert notes.recalls == [answer]
    assert [(write.operation, write.stored) for write in notes.writes] == [
        ("remember", 1),
        ("remember_many", 2),
        ("feedback", 0),
        ("forget", 0),
    ]
    assert all(write.began_ns <= write.ended_ns and write.failed == "" for write in notes.writes)


def test_a_write_that_fails_is_told_by_the_kind_of_its_error(mem: Engine, notes: Notes) -> None:
    with pytest.raises(NotFound):
        mem.forget("nothing of that name")
    assert [(write.operation, write.failed) for write in notes.writes] == [("forget", "NotFound")]


def test_who_is_removed_hears_no_more(mem: Engine, notes: Notes) -> None:
    observers.remove(notes)
    mem.remember("I take my tea without milk")
    mem.recall("tea")
    assert (notes.recalls, notes.writes) == ([], [])


def test_an_observer_that_fails_spoils_nothing(mem: Engine, notes: Notes, caplog: pytest.LogCaptureFixture) -> None:
    clumsy = Clumsy()
    observers.add(clumsy)
    try:
        with caplog.at_level(logging.ERROR, "fivefold"):
            mem.remember("I take my tea without milk")
            assert mem.recall("tea").hits
    finally:
        observers.remove(clumsy)
    assert [record.getMessage() for record in caplog.records] == ["the observer Clumsy failed"] * 2
    assert len(notes.recalls) == len(notes.writes) == 1


def test_the_marked_methods_keep_their_names_and_words() -> None:
    assert Engine.remember.__name__ == "remember"
    assert (Engine.remember.__doc__ or "").startswith("Remember one text.")
