"""How a PostgreSQL store is named: one address, or several of which the first takes the writes."""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from fivefold.errors import InvalidInput
from fivefold.values.fields import number

_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_NEXT = re.compile(r"\s*,\s*(?=postgres(?:ql)?://)")


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
    hnsw_ef_construction: int = number(128, 4, 1_000)
    """Candidates looked at for each vector while an HNSW index is built; at least twice `hnsw_m`."""
    hnsw_ef_search: int = number(400, 1, 1_000)
    """Candidates looked at while an HNSW index is searched."""
    exact_up_to: int = number(10_000, 0, 10_000_000)
    """A search over no more vectors than this reads them all; a field with more gets an HNSW index."""


@dataclass(frozen=True, slots=True)
class Addresses:
    """The server that takes the writes, its replicas, and the options."""

    primary: str = field(repr=False)
    replicas: tuple[str, ...] = field(repr=False)
    options: Options

    @property
    def shown(self) -> str:
        """The store's name without passwords."""
        own = {
            option.name: getattr(self.options, option.name)
            for option in dataclasses.fields(Options)
            if getattr(self.options, option.name) != option.default
        }
        first = without_password(self.primary)
        if own:
            first += ("&" if "?" in first else "?") + "&".join(f"{name}={value}" for name, value in own.items())
        return ",".join([first, *map(without_password, self.replicas)])


def addresses(location: str) -> Addresses:
    """Take a location apart; errors name the part that is wrong."""
    first, *others = _NEXT.split(location.strip())
    primary, options = _own_options(first)
    replicas = []
    for other in others:
        replica, given = _own_options(other)
        if given != Options():
            raise InvalidInput("options such as schema stand on the first address only; they hold for all of them")
        replicas.append(replica)
    return Addresses(primary, tuple(replicas), options)


def without_password(address: str) -> str:
    """Rather too much is left out than too little."""
    shown = re.sub(r"(://[^:/?#@]*):(?!\d*[/?#]).*@", r"\1@", address)
    return re.sub(r"(?<=[?&])((?:ssl)?password)=[^&,]*", r"\1=…", shown)


def _own_options(address: str) -> tuple[str, Options]:
    """The address as PostgreSQL takes it, and what in it was meant for the store."""
    _check_password(address)
    known = {option.name: option for option in dataclasses.fields(Options)}
    base, _, query = address.partition("?")
    own: dict[str, Any] = {}
    left = []
    for part in filter(None, query.split("&")):
        name, _, value = part.partition("=")
        if name not in known:
            left.append(part)
        elif name in own:
            raise InvalidInput(f"{name} is given twice in the address; leave one out")
        else:
            own[name] = _checked(known[name], unquote(value))
    return "?".join(filter(None, (base, "&".join(left)))), Options(**own)


def _check_password(address: str) -> None:
    """A sign that ends the part of an address where the password stands must be written otherwise."""
    found = re.search(r"://[^:/?#@]*:(?!\d*[/?#])[^@/?#]*([/?#])[^@]*@", address)
    if found:
        raise InvalidInput(
            f"the password in the address seems to hold {found[1]!r}; write that as %{ord(found[1]):02X}, "
            "or leave the password to ~/.pgpass"
        )


def _checked(option: dataclasses.Field[Any], value: str) -> Any:
    if option.type == "str":
        if not _NAME.fullmatch(value):
            raise InvalidInput(f"{option.name} {value!r} must be lower-case letters, digits and underscores, up to 63")
        return value
    low, high = option.metadata["low"], option.metadata["high"]
    if not re.fullmatch(r"[0-9]{1,9}", value) or not low <= int(value) <= high:
        raise InvalidInput(f"{option.name} must be a whole number from {low:g} to {high:g}, not {value!r}")
    return int(value)
