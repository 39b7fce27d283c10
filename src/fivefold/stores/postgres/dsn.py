"""PostgreSQL addresses: one, or several of which the first takes the writes."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Annotated, Any
from urllib.parse import unquote

from fivefold.errors import InvalidInput
from fivefold.values.fields import About, Between, FieldSpec, fields_of
from fivefold.values.validate import refusal

UNLIMITED_S = 600.0
"""Seconds that a write waits for others if a statement may take any time."""

_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_NEXT = re.compile(r"\s*,\s*(?=postgres(?:ql)?://)")


@dataclass(frozen=True, slots=True)
class Options:
    """The options behind the `?` of the first address, in addition to those PostgreSQL itself takes there."""

    schema: Annotated[str, About("The schema that holds the tables; two schemas in one database are two stores")] = (
        "fivefold"
    )
    role: Annotated[
        str, About("The role everything but migrations and administration runs as; row-level security binds it")
    ] = "fivefold_app"
    pool_size: Annotated[
        int,
        Between(1, 1_000),
        About("Connections to each server at most; of those to the primary half are for writing"),
    ] = 8
    connect_timeout_s: Annotated[
        int, Between(1, 600), About("Maximum seconds to wait for a server or a free connection")
    ] = 5
    statement_timeout_ms: Annotated[
        int, Between(0, 86_400_000), About("Maximum milliseconds of one statement; 0 for no limit")
    ] = 60_000
    hnsw_m: Annotated[int, Between(2, 100), About("Neighbours of a vector in a new HNSW index")] = 16
    hnsw_ef_construction: Annotated[
        int, Between(4, 1_000), About("Candidates for each vector while an HNSW index is built; at least twice hnsw_m")
    ] = 128
    hnsw_ef_search: Annotated[int, Between(1, 1_000), About("Candidates while an HNSW index is searched")] = 400
    exact_up_to: Annotated[
        int,
        Between(0, 10_000_000),
        About("A search over no more vectors than this reads them all; a field with more gets an HNSW index"),
    ] = 10_000

    @property
    def writers(self) -> int:
        return max(1, self.pool_size // 2)

    @property
    def patience_s(self) -> float:
        """Seconds that a write waits for its turn: as long as the one before it may take."""
        return self.connect_timeout_s + (self.statement_timeout_ms / 1000 or UNLIMITED_S)


@dataclass(frozen=True, slots=True)
class Addresses:
    primary: str = field(repr=False)
    replicas: tuple[str, ...] = field(repr=False)
    options: Options

    @property
    def label(self) -> str:
        """The store's name without passwords."""
        own = {
            name: getattr(self.options, name)
            for name, option in fields_of(Options).items()
            if getattr(self.options, name) != option.default
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
        replica, own = _own_options(other)
        if own != Options():
            raise InvalidInput("options such as schema stand on the first address only; they hold for all of them")
        replicas.append(replica)
    return Addresses(primary, tuple(replicas), options)


def without_password(address: str) -> str:
    """Rather too much is left out than too little."""
    label = re.sub(r"(://[^:/?#@]*):(?!\d*[/?#]).*@", r"\1@", address)
    return re.sub(r"(?<=[?&])((?:ssl)?password)=[^&,]*", r"\1=…", label)


def _own_options(address: str) -> tuple[str, Options]:
    """The address as PostgreSQL takes it, and what in it was meant for the store."""
    _check_password(address)
    known = fields_of(Options)
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
    """Refuses a password with a sign that would end its part of the address, unless the sign is percent-encoded."""
    match = re.search(r"://[^:/?#@]*:(?!\d*[/?#])[^@/?#\s]*([/?#\s])[^@]*@", address)
    if match:
        raise InvalidInput(
            f"the password in the address seems to hold {match[1]!r}; write that as %{ord(match[1]):02X}, "
            "or leave the password to ~/.pgpass"
        )


def _checked(option: FieldSpec, text: str) -> Any:
    if option.type is str:
        if not _NAME.fullmatch(text):
            raise refusal(option.name, f"{text!r} must be lower-case letters, digits and underscores, up to 63")
        return text
    return option.check(int(text) if re.fullmatch(r"[0-9]{1,9}", text) else text)
