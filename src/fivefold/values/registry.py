"""Parts that other installed packages add by entry points. They load when a name is used that is not built in."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator, Mapping, MutableMapping
from importlib import import_module
from inspect import getattr_static
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from fivefold.errors import FivefoldError, InvalidInput, PluginError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


T = TypeVar("T")

Group = Literal["routes", "stages", "embedders", "extractors", "rerankers", "stores", "commands"]
"""The entry points of `fivefold.routes` are in the group `routes`, and so on."""

_log = logging.getLogger("fivefold")


class Parts(MutableMapping[str, T]):
    """Parts by name. One given as a reference, such as `fivefold.designs.memsense:MMR`, loads when it is first used."""

    def __init__(self, parts: Mapping[str, T | str]) -> None:
        self._parts = dict(parts)

    def __getitem__(self, name: str) -> T:
        part = self._parts[name]
        if isinstance(part, str):
            module, _, attribute = part.partition(":")
            part = self._parts[name] = getattr(import_module(module), attribute)
        return part

    def __setitem__(self, name: str, part: T) -> None:
        self._parts[name] = part

    def __delitem__(self, name: str) -> None:
        del self._parts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)


class Registry(Parts[T]):
    """Named parts of a recipe: the built-in ones, and those of other packages once their name is used.

    Iterating gives the built-in names; `names()` asks the installed packages as well.
    """

    def __init__(self, group: Group, builtin: Mapping[str, T | str], needs: Collection[str]) -> None:
        super().__init__(builtin)
        self._group: Group = group
        self._needs = needs
        self._loaded: dict[str, T] = {}

    def __getitem__(self, name: str) -> T:
        if name in self._parts:
            return super().__getitem__(name)
        if name not in self._loaded:
            match = plugin(self._group, name, self)
            if match is None:
                raise KeyError(name)
            self._loaded[name] = match.part(self._needs)
        return self._loaded[name]

    def __contains__(self, name: object) -> bool:
        if name in self._parts or name in self._loaded:
            return True
        return isinstance(name, str) and name in plugin_names(self._group, self)

    def names(self) -> tuple[str, ...]:
        """Every name that a recipe may use."""
        return (*self, *plugin_names(self._group, self))


class Plugin:
    """The target of an entry point, with the package it comes from."""

    def __init__(self, group: Group, entry: EntryPoint) -> None:
        self.group = group
        self.name: str = entry.name
        self.package: str = _package(entry)
        self.object = self._try(entry.load)

    def part(self, needs: Collection[str], *args: str) -> Any:
        """The object, or what the class or function makes of `args`; an error names the attributes it lacks."""
        part = self._try(lambda: self.object(*args)) if callable(self.object) else self.object
        missing = sorted(name for name in needs if not _has(part, name))
        if missing:
            raise self.error(f"{type(part).__name__} has no {', '.join(missing)}")
        return part

    def error(self, reason: str) -> PluginError:
        return PluginError(self.group.removesuffix("s"), self.name, self.package, reason)

    def _try(self, step: Callable[[], Any]) -> Any:
        try:
            return step()
        except FivefoldError:
            raise
        except Exception as error:
            raise self.error(f"{type(error).__name__}: {error}") from error


def plugin(group: Group, name: str, builtin: Collection[str]) -> Plugin | None:
    """The part that an installed package registers under `name`, or None; a built-in name is never looked up."""
    matches = [entry for entry in _entries(group, builtin) if entry.name == name]
    if not matches:
        return None
    if len(matches) > 1:
        others = " and ".join(sorted(_package(entry) for entry in matches))
        raise PluginError(group.removesuffix("s"), name, others, "each of them registers that name")
    return Plugin(group, matches[0])


def plugin_names(group: Group, builtin: Collection[str]) -> tuple[str, ...]:
    """The names that installed packages add to the built-in ones."""
    return tuple(sorted({entry.name for entry in _entries(group, builtin)}))


def plugin_by_choice(group: Group, choice: str, builtin: Mapping[str, str], protocol: type[Any]) -> Any:
    """The plugin's part for `NAME` or `NAME:MODEL`, with the model as an argument; an unknown name is an error.

    `builtin` says how each built-in name is written, for that error.
    """
    name, _, model = choice.partition(":")
    match = plugin(group, name, builtin)
    if match is None:
        known = ", ".join((*builtin.values(), *plugin_names(group, builtin)))
        raise InvalidInput(f"unknown {group.removesuffix('s')} {choice!r}; known are {known}")
    return match.part(members_of(protocol), *([model] if model else []))


def members_of(protocol: type[Any]) -> tuple[str, ...]:
    """The attributes and methods that a protocol asks for, with those of the protocols it is made of."""
    own = {name for base in protocol.__mro__ for name in (*getattr(base, "__annotations__", {}), *vars(base))}
    return tuple(sorted(name for name in own if not name.startswith("_")))


def _has(part: object, name: str) -> bool:
    """Looks without asking, since a property may load a model."""
    missing = object()
    return getattr_static(part, name, missing) is not missing or hasattr(part, name)


def _entries(group: Group, builtin: Collection[str]) -> list[EntryPoint]:
    """All but those that take a built-in name, which are named in the log."""
    from importlib.metadata import entry_points

    free = []
    for entry in entry_points(group=f"fivefold.{group}"):
        if entry.name in tuple(builtin):
            _log.warning(
                "package %s registers the %s %r, which is built in; the built-in one is used. Rename the plugin's.",
                _package(entry),
                group.removesuffix("s"),
                entry.name,
            )
        else:
            free.append(entry)
    return free


def _package(entry: EntryPoint) -> str:
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist is not None else entry.module
