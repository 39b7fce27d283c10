"""Every error fivefold raises on purpose; each message says what to do next."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Call:
    """A call that solves a problem, in Python terms; without a name, the failed call with other arguments."""

    name: str = ""
    arguments: Mapping[str, object] = field(default_factory=dict)

    def __str__(self) -> str:
        arguments = ", ".join(f"{name}={value!r}" for name, value in self.arguments.items())
        return f"{self.name}({arguments})" if self.name else arguments


class FivefoldError(Exception):
    """Base of all errors raised on purpose, so that one `except` catches them.

    `reason` says what is wrong, `advice` what to do next, with `call` in place of its {call}. A face shows fields and
    calls in its own terms.
    """

    def __init__(self, reason: str = "", *, advice: str = "", call: Call | None = None) -> None:
        self.reason = reason
        self.advice = advice
        self.call = call
        super().__init__(self.message())

    def message(self, field: Callable[[str], str] = str, call: Callable[[Call], str] = str) -> str:
        """The whole message, with the words that a face has for a field and for a call."""
        advice = self.advice if self.call is None else self.advice.replace("{call}", call(self.call))
        return "; ".join(filter(None, (self._statement(field), advice)))

    def _statement(self, field: Callable[[str], str]) -> str:
        return self.reason


class InvalidInput(FivefoldError, ValueError):
    """A value from the caller cannot be used; nothing was changed.

    `field` names the value by its path, such as `importance`, `tags[1]` or `fusion.k`, None if the fault is not in a
    single value. `other` is a field that the reason ends with. `statement` is the message, if that is not just the
    field and the reason.
    """

    def __init__(
        self,
        reason: str,
        *,
        field: str | None = None,
        other: str = "",
        statement: str = "",
        advice: str = "",
        call: Call | None = None,
    ) -> None:
        self.field = field
        self.other = other
        self.statement = statement
        super().__init__(reason, advice=advice, call=call)

    def within(self, whole: str) -> InvalidInput:
        """Returns this error for a part of something: a line of a file, a recipe, a record of a batch."""
        return InvalidInput(self.reason, field=self.field, statement=f"{whole}: {self}")

    def _statement(self, field: Callable[[str], str]) -> str:
        parts = (field(self.field or ""), self.reason, field(self.other))
        return self.statement or " ".join(filter(None, parts))


class InvalidFile(InvalidInput):
    """A file cannot be read as its format demands; `place` says which part is at fault, such as a value's."""

    def __init__(
        self, file: object, fault: str | InvalidInput, *, place: str = "", advice: str = "", call: Call | None = None
    ) -> None:
        self.file: str = str(file)
        self.fault = fault
        self.place = place
        reason, field = (fault, None) if isinstance(fault, str) else (fault.reason, fault.field)
        super().__init__(reason, field=field, advice=advice, call=call)

    def renamed(self, file: str) -> InvalidFile:
        """Returns this error for a file that its user knows by another name; an empty name is left out."""
        return InvalidFile(file, self.fault, place=self.place, advice=self.advice, call=self.call)

    def _statement(self, field: Callable[[str], str]) -> str:
        if self.place:
            return f"{', '.join(filter(None, (self.file, self.place)))}: {self.fault}"
        return f"{repr(self.file) if self.file else 'the file'} {self.fault}"


class TargetExists(InvalidInput):
    """Something is at the target already, and nothing is overwritten unless asked for."""

    def __init__(self, target: str) -> None:
        self.target = target
        super().__init__(
            f"{target!r} exists already",
            advice="name another file, or replace it with {call}",
            call=Call(arguments={"replace": True}),
        )


class UnfinishedCopy(InvalidInput):
    """The target holds part of a copy that cannot be continued; `option` is the argument that begins it again."""

    def __init__(self, reason: str, option: str = "restart") -> None:
        super().__init__(reason, advice="begin the copy again with {call}", call=Call(arguments={option: True}))


class UnknownRecipe(InvalidInput):
    """No recipe has that name."""


class NotFound(FivefoldError, LookupError):
    """The namespace holds nothing under that id."""


class MissingExtra(FivefoldError, ImportError):
    """An optional part was chosen whose package is not installed."""

    def __init__(self, what: str, extra: str) -> None:
        self.what = what
        self.extra = extra
        super().__init__(
            f"{what} needs an optional package", advice=f"install it with: pip install 'fivefold[{extra}]'"
        )


class PluginError(FivefoldError):
    """A part that another package registers cannot be used."""

    def __init__(self, kind: str, name: str, package: str, reason: str) -> None:
        self.kind = kind
        self.name = name
        self.package = package
        self.cause = reason
        super().__init__(
            f"the {kind} {name!r} of package {package} cannot be used: {reason}",
            advice="update or uninstall that package",
        )


class EmbedderError(FivefoldError):
    """The embedder could not be loaded or did not answer."""


class RerankerError(FivefoldError):
    """The reranker could not be loaded or did not answer."""


class ReaderError(FivefoldError):
    """The model that finds changes and judges answers could not be loaded."""


class EmbedderMismatch(FivefoldError):
    """The namespace is pinned to another embedding model (R3)."""

    def __init__(self, namespace: str, pinned: str, requested: str) -> None:
        self.namespace = namespace
        self.pinned = pinned
        self.requested = requested
        super().__init__(
            f"namespace {namespace!r} holds vectors of {pinned!r}, not of {requested!r}",
            advice="open it without an embedder, or move it with {call}",
            call=Call("reembed", {"embedder": requested.rpartition("@")[0] or requested}),
        )


class RetiredEmbedder(EmbedderMismatch):
    """The namespace has vectors of an earlier version of its model, which is no longer there to search them."""

    def __init__(self, namespace: str, pinned: str, requested: str) -> None:
        super().__init__(namespace, pinned, requested)
        FivefoldError.__init__(
            self,
            f"namespace {namespace!r} has vectors of {pinned!r}, a model that this version no longer has",
            advice=f"{{call}} moves it to {requested!r}, and so does the next write or a repair",
            call=self.call,
        )


class StoreError(FivefoldError):
    """The store could not be opened, read or written."""


class DamagedStore(StoreError):
    """The file is not a store, or it is damaged."""

    def __init__(
        self,
        location: str,
        cause: object,
        advice: str = "choose another path, restore a backup, or read what is left with {call}",
    ) -> None:
        self.location = location
        self.cause: str = str(cause)
        super().__init__(
            f"{location!r} is not a fivefold store, or it is damaged ({cause})",
            advice=advice,
            call=Call("salvage", {"source": location, "target": "NEW"}),
        )


class StoreReplaced(StoreError):
    """The store's file was deleted, moved or replaced while it was open."""

    def __init__(self, file: str) -> None:
        self.file = file
        super().__init__(
            f"{file!r} was deleted, moved or replaced while it was open; nothing that is written now would stay",
            advice="bring the file back, or open the store again",
        )


class NewerSchema(StoreError):
    """The store was written by a newer fivefold."""


class ServerAway(StoreError):
    """The database server does not answer."""


class OwnerOnly(StoreError):
    """Only the owner of the store's tables may do this."""


class ReadOnly(StoreError):
    """The store can be read but not written."""


class QueueFull(FivefoldError):
    """So much waits to be stored that no more is accepted for now; nothing of the write was kept.

    `waiting` is None if all namespaces together are the reason: the number of other namespaces' writes stays private.
    """

    def __init__(self, waiting: int | None, limit: int, unit: str = "records") -> None:
        reason = (
            "too much of all namespaces together waits to be stored"
            if waiting is None
            else f"{waiting:,} {unit} of this namespace wait to be stored, and at most {limit:,} may"
        )
        super().__init__(f"{reason}; try again in a while")
        self.waiting = waiting
        self.limit = limit


class DiskFull(StoreError):
    """The disk is full; the write was undone."""


class StoreClosed(StoreError):
    """The engine was used after close()."""
