"""Commands that other installed packages add, by entry points of the group `fivefold.commands`.

An entry point names a function, which becomes a command, or a `typer.Typer`, which becomes a group of them. A dot in
its name leads into a group that is there: `recipes.verify` is `fivefold recipes verify`.
"""

from __future__ import annotations

from copy import copy
from typing import Any

import typer
from typer.main import get_command_name
from typer.models import CommandInfo

from fivefold.errors import PluginError
from fivefold.values.registry import plugin, plugin_names

ABSENT = {"bench": "fivefold-bench", "recipes.verify": "fivefold-bench"}
"""Commands of packages of our own, and the package to install if one is missing."""


def name_of(info: CommandInfo) -> str | None:
    return info.name or (get_command_name(info.callback.__name__) if info.callback else None)


def add_commands(tree: typer.Typer, name: str | None) -> None:
    """Add to `tree` what other packages register: all, or only what begins with `name`, whose errors are raised.

    `tree` holds the built-in commands and is changed; the groups that it shares with others are copied.
    """
    builtin = {name_of(info) for info in tree.registered_commands} | {info.name for info in tree.registered_groups}
    for info in tree.registered_groups:
        builtin |= {f"{info.name}.{name_of(each)}" for each in (info.typer_instance or tree).registered_commands}
    known = [each for each in builtin if each]
    installed = plugin_names("commands", known)
    for each in sorted({*installed, *ABSENT}):
        if name not in (None, each.partition(".")[0]):
            continue
        group, _, word = each.rpartition(".")
        try:
            found = plugin("commands", each, known)
            place = _group(tree, group) if group else tree
            if place is None and found is not None:
                raise found.error(f"there is no group of commands {group!r}")
            assert place is not None
            if found is None:
                _add_absent(place, word, each)
            elif isinstance(found.object, typer.Typer):
                place.add_typer(found.object, name=word)
            elif callable(found.object):
                place.command(word)(found.object)
            else:
                raise found.error("it is neither a function nor a typer.Typer")
        except PluginError as error:
            if name is not None:
                raise
            typer.echo(f"fivefold: {error}", err=True)


def _group(tree: typer.Typer, name: str) -> typer.Typer | None:
    """The group of that name in `tree`, as a copy that may be added to."""
    for place, info in enumerate(tree.registered_groups):
        if info.name == name and info.typer_instance is not None:
            own, inner = copy(info), copy(info.typer_instance)
            inner.registered_commands = list(inner.registered_commands)
            own.typer_instance = inner
            tree.registered_groups[place] = own
            return inner
    return None


def _add_absent(place: typer.Typer, word: str, name: str) -> None:
    """A command that says how to get the real one."""
    package = ABSENT[name]

    def absent(ctx: typer.Context) -> None:
        typer.echo(f"fivefold: {ctx.command_path} comes with a package of its own: pip install {package}", err=True)
        raise typer.Exit(2)

    anything: dict[str, Any] = {"ignore_unknown_options": True, "allow_extra_args": True}
    place.command(
        word, help=f"Install it with: pip install {package}", context_settings=anything, add_help_option=False
    )(absent)
