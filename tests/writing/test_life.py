"""A pin, while another writer changes the memory."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import fivefold
from fivefold.engine import Engine
from fivefold.namespace import Namespace
from fivefold.values.memory import Memory
from tests.support.toy_engine import toy


def after_the_first_look(act: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> None:
    """Something happens once, right after an engine has looked at a memory."""
    look = Namespace.get

    def get(self: Namespace, id: str) -> Memory:
        memory = look(self, id)
        monkeypatch.setattr(Namespace, "get", look)
        act()
        return memory

    monkeypatch.setattr(Namespace, "get", get)


@pytest.fixture
def other(store_path: str) -> Engine:
    engine = toy(store_path)
    engine.remember("Nuno drinks tea", id="m")
    return engine


def test_a_pin_keeps_the_end_that_another_writer_gives(
    store_path: str, other: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    with toy(store_path) as engine, other:
        after_the_first_look(lambda: other.update("m", expires_at="2999-01-01T00:00:00Z"), monkeypatch)
        memory = engine.pin("m")
        assert memory.pinned
        assert memory.expires_at is not None
        assert memory.expires_at.year == 2999


def test_a_memory_that_another_writer_forgets_is_not_pinned(
    store_path: str, other: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    with toy(store_path) as engine, other:
        after_the_first_look(lambda: other.forget("m"), monkeypatch)
        with pytest.raises(fivefold.NotFound, match="no memory 'm'"):
            engine.pin("m")
