"""Observers of an engine: they see each recall as it was, and each write with the time it took."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec, Protocol, TypeVar

from fivefold.values.reports import Report

if TYPE_CHECKING:
    from fivefold.stores.interface import Store
    from fivefold.values.recall import Recall

SHOWN_IDS = 10
"""The most ids that a write names."""

_log = logging.getLogger("fivefold")


class _Engine(Protocol):
    """An observer's view of the engine that writes: its store and its namespace."""

    store: Store
    namespace: str


P = ParamSpec("P")
R = TypeVar("R")
E = TypeVar("E", bound=_Engine)


@dataclass(frozen=True, slots=True)
class Write:
    """A write that has ended: what it was, when, how many memories it stored, and the error if it failed."""

    operation: str
    namespace: str
    began_ns: int
    ended_ns: int
    stored: int = 0
    failed: str = ""
    """The type of the error, never its message, which may contain a text."""
    ids: tuple[str, ...] = ()
    """The first of the memories that it stored."""


class Observer(Protocol):
    """Is notified of each recall and write when it ends, in its thread."""

    def recalled(self, store: Store, recall: Recall, ended_ns: int) -> None: ...

    def wrote(self, store: Store, write: Write) -> None: ...


_observers: tuple[Observer, ...] = ()


def add(observer: Observer) -> None:
    """Notify it from now on; adding it again changes nothing."""
    global _observers  # noqa: PLW0603
    if observer not in _observers:
        _observers = (*_observers, observer)


def remove(observer: Observer) -> None:
    """Notify it no longer."""
    global _observers  # noqa: PLW0603
    _observers = tuple(other for other in _observers if other is not observer)


def recalled(store: Store, recall: Recall) -> None:
    """The engine calls this at the end of a recall."""
    if _observers:
        ended = time.time_ns()
        _notify(lambda observer: observer.recalled(store, recall, ended))


def deleted(store: Store, namespace: str, began_ns: int) -> None:
    """A namespace was deleted."""
    if _observers:
        ended = Write("delete_namespace", namespace, began_ns, time.time_ns())
        _notify(lambda observer: observer.wrote(store, ended))


def write(method: Callable[Concatenate[E, P], R]) -> Callable[Concatenate[E, P], R]:
    """Marks a method of the engine as a write."""

    @wraps(method)
    def observe(engine: E, /, *args: P.args, **kwargs: P.kwargs) -> R:
        if not _observers:
            return method(engine, *args, **kwargs)
        began, failed, result = time.time_ns(), "", None
        try:
            result = method(engine, *args, **kwargs)
            return result
        except BaseException as error:
            failed = type(error).__name__
            raise
        finally:
            ids, until = result.stored if isinstance(result, Report) else (), time.time_ns()
            ended = Write(method.__name__, engine.namespace, began, until, len(ids), failed, ids[:SHOWN_IDS])
            _notify(lambda observer: observer.wrote(engine.store, ended))

    return observe


def _notify(call: Callable[[Observer], None]) -> None:
    """An observer that fails is logged; the engine and the other observers go on."""
    for observer in _observers:
        try:
            call(observer)
        except Exception:
            _log.exception("the observer %s failed", type(observer).__name__)
