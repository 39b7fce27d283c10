"""How a PostgreSQL store is named: one address, or several of which the first takes the writes."""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit, urlunsplit

from fivefold.errors import InvalidInput
from fivefold.shape import number

_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_NEXT = re.compile(r",(?=postgres(?:ql)?://)")


@dataclass(frozen=True, slots=True)
class Options:
    """What may be set behind the `?` of the first address, beside what PostgreSQL itself takes there."""

    schema: str = "fivefold"
    """The schema that holds the tables; two schemas in one database are two stores."""
    role: str = "fivefold_app"
    """The role everything but migrations and administration runs as; row-level security binds it."""
    pool_size: int = number(8, 1, 1_000)
    """Connections to each server at most."""
    connect_timeout_s: int = number(5, 1, 600)
    """How long to wait for a server or a free connection."""
    statement_timeout_ms: int = number(60_000, 0, 86_400_000)
    """How long one statement may take; 0 for any time."""
    hnsw_m: int = number(16, 2, 100)
    """Neighbours of a vector in a new HNSW index."""
    hnsw_ef_construction: int = number(64, 4, 1_000)
    """Candidates looked at for each vector while an HNSW index is built; at least twice `hnsw_m`."""
    hnsw_ef_search: int = number(100, 1, 1_000)
    """Candidates looked at while an HNSW index is searched."""
    exact_up_to: int = number(20_000, 0, 10_000_000)
    """A search over no more vectors than this reads them all; a field with more gets an HNSW index."""


@dataclass(frozen=True, slots=True)
class Addresses:
    """The server that takes the writes, its replicas, and the options."""

    primary: str
    replicas: tuple[str, ...]
    options: Options

    @property
    def shown(self) -> str:
        """The store's name without passwords."""
        own = {
            field.name: getattr(self.options, field.name)
            for field in dataclasses.fields(Options)
            if getattr(self.options, field.name) != field.default
        }
        first = without_password(self.primary)
        if own:
            first += ("&" if "?" in first else "?") + urlencode(own)
        return ",".join([first, *map(without_password, self.replicas)])


def addresses(location: str) -> Addresses:
    """Take a location apart; errors name the part that is wrong."""
    first, *others = _NEXT.split(location)
    primary, options = _own_options(first)
    replicas = []
    for other in others:
        replica, given = _own_options(other)
        if given != Options():
            raise InvalidInput("options such as schema stand on the first address only; they hold for all of them")
        replicas.append(replica)
    return Addresses(primary, tuple(replicas), options)


def _own_options(address: str) -> tuple[str, Options]:
    """The address as PostgreSQL takes it, and what in it was meant for the store."""
    try:
        parts = urlsplit(address)
        given = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
    except ValueError as error:
        raise InvalidInput(f"{without_password(address)!r} is no PostgreSQL address: {error}") from None
    known = {field.name: field for field in dataclasses.fields(Options)}
    own: dict[str, Any] = {name: value for name, value in given if name in known}
    left = [(name, value) for name, value in given if name not in known]
    values = {name: _checked(known[name], value) for name, value in own.items()}
    return urlunsplit(parts._replace(query=urlencode(left))), Options(**values)


def _checked(field: dataclasses.Field[Any], value: str) -> Any:
    if field.type == "str":
        if not _NAME.fullmatch(value):
            raise InvalidInput(f"{field.name} {value!r} must be lower-case letters, digits and underscores, up to 63")
        return value
    low, high = field.metadata["low"], field.metadata["high"]
    if not re.fullmatch(r"\d{1,9}", value) or not low <= int(value) <= high:
        raise InvalidInput(f"{field.name} must be a whole number from {low:g} to {high:g}, not {value!r}")
    return int(value)


def without_password(address: str) -> str:
    try:
        parts = urlsplit(address)
    except ValueError:
        return re.sub(r":[^:@/]*@", "@", address)
    if parts.password is None:
        return address
    user = quote(unquote(parts.username or ""), safe="")
    return urlunsplit(parts._replace(netloc=f"{user}@{parts.netloc.rpartition('@')[2]}"))
