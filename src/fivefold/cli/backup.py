"""Commands that keep a whole store in a file, and bring it back."""

from __future__ import annotations

import sys
from contextlib import suppress
from datetime import timedelta
from threading import Event
from typing import TYPE_CHECKING, Annotated

import typer

from fivefold.cli.app import JsonOption, StoreOption, app, existing, place, print_json, say
from fivefold.cli.maintain import until_signalled

if TYPE_CHECKING:
    from fivefold.transfer.backup import Backup
    from fivefold.transfer.restore import Restored


@app.command()
def backup(
    target: Annotated[str, typer.Argument(help="The file to write, or a folder, where it is named by the time")],
    replace: Annotated[bool, typer.Option("--replace", help="Overwrite a file that is there")] = False,
    every: Annotated[
        float | None,
        typer.Option(
            "--every", min=2, help="Repeat when the store has changed, after this many seconds", show_default=False
        ),
    ] = None,
    keep_hours: Annotated[float, typer.Option(min=0, help="With --every: delete backups older than this")] = 24.0,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write a whole store to one file and check it, while others read and write."""
    from fivefold.transfer.backup import back_up, back_up_repeatedly

    if every is not None:
        ended = Event()
        with until_signalled(ended.set):
            back_up_repeatedly(
                existing(store), target, every, timedelta(hours=keep_hours), ended, lambda one: _show(one, as_json)
            )
        return
    result = back_up(existing(store), target, replace=replace, progress=sys.stderr.isatty())
    _tell(result, f"{result.store} → {result.file}", as_json)


@app.command()
def restore(
    backup: Annotated[str, typer.Argument(help="A file that `fivefold backup` wrote, or a copy of a store")],
    replace: Annotated[bool, typer.Option("--replace", help="Put it in the place of a store that is there")] = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a store out of a backup. A store in use stays as it is, and another is replaced only with --replace."""
    from fivefold.transfer.restore import restore as bring_back

    result = bring_back(backup, place(store), replace=replace, progress=sys.stderr.isatty())
    _tell(result, f"{result.file} → {result.store}", as_json)


def _show(result: Backup, as_json: bool) -> None:
    """Print one of many backups at once; one with findings does not end the others."""
    with suppress(typer.Exit):
        _tell(result, f"{result.store} → {result.file}", as_json)
    sys.stdout.flush()


def _tell(result: Backup | Restored, way: str, as_json: bool) -> None:
    """Print the result; indexes that are wrong in the store are wrong in the copy too, and are reported."""
    if as_json:
        print_json(result.to_dict())
    else:
        memories = f"{result.memories:,} {'memory' if result.memories == 1 else 'memories'}"
        namespaces = f"{result.namespaces:,} {'namespace' if result.namespaces == 1 else 'namespaces'}"
        say(f"{way}: {memories} of {namespaces}, checked, in {result.seconds:.1f} s")
    if result.amiss:
        if not as_json:
            for finding in result.amiss:
                sys.stderr.write(f"✗ {finding.check}: {finding.detail}\n")
            sys.stderr.write("`fivefold doctor --repair` rebuilds what can be derived, and says what cannot.\n")
        raise typer.Exit(1)
