"""Commands that keep a whole store in a file, and bring it back."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from fivefold.cli.app import JsonOption, StoreOption, app, existing, place, print_json, say

if TYPE_CHECKING:
    from fivefold.transfer.backup import Backup
    from fivefold.transfer.restore import Restored


@app.command()
def backup(
    target: Annotated[str, typer.Argument(help="The file to write, or a folder, where it is named by the time")],
    replace: Annotated[bool, typer.Option("--replace", help="Overwrite a file that is there")] = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write a whole store to one file and check it, while others read and write."""
    from fivefold.transfer.backup import back_up

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
