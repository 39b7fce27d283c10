"""Fields of a trace that are worked out when somebody reads them, from what was kept; most are never read."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

T = TypeVar("T")
C = TypeVar("C", bound=type)


class _Later(partial[Any]):
    """A call that has not been made yet."""

    __slots__ = ()


class _Field:
    """Stands before the slot of a field, and puts the value there when it is read first."""

    __slots__ = ("_put", "_read")

    def __init__(self, slot: Any) -> None:
        self._read, self._put = slot.__get__, slot.__set__

    def __get__(self, owner: object, kind: type | None = None) -> Any:
        if owner is None:
            return self
        value = self._read(owner)
        if type(value) is _Later:
            value = value()
            self._put(owner, value)
        return value

    def __set__(self, owner: object, value: Any) -> None:
        self._put(owner, value)


def later(make: Callable[..., T], *values: object) -> T:
    """What `make` gives for these values, for a field that `read_later` names; it is called when the field is read."""
    return _Later(make, *values)  # type: ignore[return-value]


def read_later(*names: str) -> Callable[[C], C]:
    """The fields of a dataclass with slots that may be given as `later(…)`. Nobody can see the difference."""

    def decorate(kind: C) -> C:
        for name in names:
            setattr(kind, name, _Field(kind.__dict__[name]))
        return kind

    return decorate
