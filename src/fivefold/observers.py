"""Who wants to know what the engine does: recalls as they were, writes and how long they took. Nobody, unless asked."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar

from fivefold.values.reports import Report

if TYPE_CHECKING:
    from fivefold.engine import Engine
    from fivefold.stores.protocol import Store
    from fivefold.values.recall import Recall

_log = logging.getLogger("fivefold")

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Write:
    """A write that has ended: what it was, when, how many memories it stored, and what went wrong, if anything."""

    operation: str
    namespace: str
    began_ns: int
    ended_ns: int
    stored: int = 0
    failed: str = ""
    """The kind of error, never its words, which may hold a text."""


class Observer(Protocol):
    """Is told of each recall and write once it has ended, in the thread that did it."""

    def recalled(self, store: Store, recall: Recall, ended_ns: int) -> None: ...

    def wrote(self, store: Store, write: Write) -> None: ...


_observers: tuple[Observer, ...] = ()


def add(observer: Observer) -> None:
    """Tell it from now on; adding it again changes nothing."""
    global _observers  # noqa: PLW0603
    if observer not in _observers:
        _observers = (*_observers, observer)


def remove(observer: Observer) -> None:
    """Tell it no more."""
    global _observers  # noqa: PLW0603
    _observers = tuple(other for other in _observers if other is not observer)


def recalled(store: Store, recall: Recall) -> None:
    """Called by the engine at the end of a recall."""
    if _observers:
        ended = time.time_ns()
        _tell(lambda observer: observer.recalled(store, recall, ended))


def write(method: Callable[Concatenate[Engine, P], R]) -> Callable[Concatenate[Engine, P], R]:
    """Marks the engine's writes; where nobody observes, it costs one look."""
    operation = method.__name__

    @wraps(method)
    def watched(engine: Engine, /, *args: P.args, **kwargs: P.kwargs) -> R:
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
            ended = Write(operation, engine.namespace, began, time.time_ns(), _stored(result), failed)
            _tell(lambda observer: observer.wrote(engine.store, ended))

    return watched


def _stored(result: Any) -> int:
    return len(result.stored) if isinstance(result, Report) else 0


def _tell(tell: Callable[[Observer], None]) -> None:
    """What an observer does wrong is its own; the engine goes on."""
    for observer in _observers:
        try:
            tell(observer)
        except Exception:
            _log.exception("%s could not be told", type(observer).__name__)
