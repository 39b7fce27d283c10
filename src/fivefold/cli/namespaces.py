"""`fivefold namespaces`: which there are, and one of them deleted for good."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from fivefold.cli.app import JsonOption, StoreOption, app, existing, print_json, say

namespaces = typer.Typer(help="List the namespaces of a store, or delete one.", rich_markup_mode=None)
app.add_typer(namespaces, name="namespaces")


@namespaces.callback(invoke_without_command=True)
def _namespaces(ctx: typer.Context, store: StoreOption = None, as_json: JsonOption = False) -> None:
    """List the namespaces of a store, or delete one."""
    if ctx.invoked_subcommand is None:
        list_(store, as_json)
    elif store is not None or as_json:
        raise typer.BadParameter(f"options stand after {ctx.invoked_subcommand!r}")


@namespaces.command("list")
def list_(store: StoreOption = None, as_json: JsonOption = False) -> None:
    """List the namespaces of a store, each with the number of its memories."""
    from fivefold.engine import store as open_shared

    with open_shared(existing(store)) as opened:
        counts = [(name, opened.namespace(name).stats().memories) for name in opened.namespaces()]
    if as_json:
        print_json([{"namespace": name, "memories": count} for name, count in counts])
        return
    if not counts:
        say("There are no namespaces yet; `fivefold add TEXT` makes the first one.")
        return
    from fivefold.cli import terminal

    terminal.table(("namespace", "memories"), [(name, f"{count:,}") for name, count in counts], right=("memories",))


@namespaces.command()
def delete(
    name: Annotated[str, typer.Argument(help="The namespace")],
    yes: Annotated[bool, typer.Option("--yes", help="Delete it without asking")] = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Delete a namespace with everything in it, for good; the audit log says so."""
    from fivefold.engine import store as open_shared

    with open_shared(existing(store)) as opened:
        if not yes:
            _confirm(name, opened.namespace(name).stats().memories)
        count = opened.delete_namespace(name)
    if as_json:
        print_json({"namespace": name, "memories": count})
    else:
        say(f"deleted: namespace {name!r} with {_memories(count)}")


def _confirm(name: str, count: int) -> None:
    if not sys.stdin.isatty():
        raise typer.BadParameter("it deletes for good; repeat it with --yes to confirm")
    typer.confirm(f"Delete namespace {name!r} with {_memories(count)} for good?", abort=True, err=True)


def _memories(count: int) -> str:
    return f"{count:,} {'memory' if count == 1 else 'memories'}"
