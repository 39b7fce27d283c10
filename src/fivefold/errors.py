"""Every error fivefold raises on purpose; each message says what to do next."""

from __future__ import annotations


class FivefoldError(Exception):
    """Base of all errors raised on purpose, so that one `except` catches them."""


class InvalidInput(FivefoldError, ValueError):
    """A value from the caller cannot be used; nothing was changed.

    `field` names the value by its path, such as `importance`, `tags[1]` or `fusion.k`, None where no single value is
    wrong. `reason` says what is wrong with it; the message says both.
    """

    def __init__(self, message: str, *, field: str | None = None, reason: str | None = None) -> None:
        super().__init__(message)
        self.field = field
        self.reason = message if reason is None else reason

    def within(self, whole: str) -> InvalidInput:
        """The same error, said of a part of something: a line of a file, a recipe, a record of a batch."""
        return InvalidInput(f"{whole}: {self}", field=self.field, reason=self.reason)


class UnknownRecipe(InvalidInput):
    """No recipe has that name."""


class NotFound(FivefoldError, LookupError):
    """The namespace holds nothing under that id."""


class MissingExtra(FivefoldError, ImportError):
    """An optional part was chosen whose package is not installed."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs an optional package; install it with: pip install 'fivefold[{extra}]'")


class PluginError(FivefoldError):
    """A part that another package registers cannot be used."""

    def __init__(self, kind: str, name: str, package: str, reason: str) -> None:
        super().__init__(
            f"the {kind} {name!r} of package {package} cannot be used: {reason}; update or uninstall that package"
        )
        self.kind = kind
        self.name = name
        self.package = package
        self.reason = reason


class EmbedderError(FivefoldError):
    """The embedder could not be loaded or did not answer."""


class RerankerError(FivefoldError):
    """The reranker could not be loaded or did not answer."""


class EmbedderMismatch(FivefoldError):
    """The namespace is pinned to another embedding model (R3)."""

    def __init__(self, namespace: str, pinned: str, asked: str) -> None:
        super().__init__(
            f"namespace {namespace!r} holds vectors of {pinned!r}, but {asked!r} was asked for. "
            f"Open it without naming an embedder, or move it over with reembed() or: "
            f"fivefold reembed {asked.rpartition('@')[0]} --namespace {namespace}"
        )


class StoreError(FivefoldError):
    """The store could not be opened, read or written."""


class NewerSchema(StoreError):
    """The store was written by a newer fivefold."""


class ServerAway(StoreError):
    """The database server does not answer."""


class OwnerOnly(StoreError):
    """Only the owner of the store's tables may do this."""


class ReadOnly(StoreError):
    """The store can be read but not written."""


class DiskFull(StoreError):
    """There is no room left; the write was undone."""


class StoreClosed(StoreError):
    """The engine was used after close()."""
