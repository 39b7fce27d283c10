"""Commands that check, repair and maintain a store."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from threading import Event
from typing import TYPE_CHECKING, Annotated

import typer

from fivefold.cli.app import JsonOption, NamespaceOption, StoreOption, app, existing, place, print_json, reading, say
from fivefold.errors import InvalidInput

if TYPE_CHECKING:
    from fivefold.transfer.backup import Backup, Restored
    from fivefold.values.reports import MaintenanceResult


SALVAGE = "restore a backup, or bring what is readable into a new store with `fivefold doctor --salvage NEW`"


@app.command()
def doctor(
    repair: Annotated[bool, typer.Option("--repair", help="Rebuild first all that can be derived")] = False,
    salvage: Annotated[
        str | None,
        typer.Option("--salvage", help="Bring every readable memory of a damaged file into this new store instead"),
    ] = None,
    store: StoreOption = None,
    namespace: NamespaceOption = "default",
    as_json: JsonOption = False,
) -> None:
    """Check a store, and with --repair rebuild indexes, vectors and links from the memories."""
    if salvage is not None:
        _salvage(existing(store), salvage, as_json)
        return
    with reading(store, namespace) as engine:
        findings = engine.doctor(repair=repair, progress=sys.stderr.isatty())
    if as_json:
        print_json([finding.to_dict() for finding in findings])
    else:
        from fivefold.cli import terminal

        terminal.table(("", "check", "finding"), [("✓" if f.ok else "✗", f.check, f.detail) for f in findings])
    if not all(finding.ok for finding in findings):
        if not as_json:
            sys.stderr.write("Something is wrong; `fivefold doctor --repair` rebuilds what can be derived.\n")
            if any(finding.check in ("file", "checksums", "texts") and not finding.ok for finding in findings):
                sys.stderr.write(f"The file itself is damaged; {SALVAGE}.\n")
        raise typer.Exit(1)


def _salvage(source: str, target: str, as_json: bool) -> None:
    """Show what came along and what was lost; a loss or a note is an exit code of 1."""
    if "://" in source:
        raise InvalidInput("only a SQLite file can be salvaged; use the server's own means for PostgreSQL")
    from fivefold.transfer.salvage import salvage

    done = salvage(source, target, progress=sys.stderr.isatty())
    if as_json:
        print_json(done.to_dict())
    else:
        from fivefold.cli import terminal

        terminal.table(("namespace", "memories"), [(name, f"{count:,}") for name, count in done.memories.items()])
        for note in done.notes:
            say(note)
        for lost in done.lost:
            terminal.line(f"lost: {lost.id or 'a memory'} of {lost.namespace or 'a namespace'}: {lost.why}")
        say(f"{done.source} → {done.target}: {sum(done.memories.values()):,} memories, {len(done.lost):,} lost")
    if done.lost or done.notes:
        raise typer.Exit(1)


@app.command()
def reembed(
    embedder: Annotated[str, typer.Argument(help="fivefold-minilm, minilm, wordllama, openai:MODEL, …")],
    store: StoreOption = None,
    namespace: NamespaceOption = "default",
    as_json: JsonOption = False,
) -> None:
    """Move a namespace to another embedding model; interrupted, it goes on where it stopped."""
    with reading(store, namespace) as engine:
        pin = engine.reembed(embedder, progress=sys.stderr.isatty())
        count = engine.stats().vectors
    if as_json:
        print_json({"namespace": namespace, "embedder": pin, "vectors": count})
    else:
        say(f"namespace {namespace!r} now has {count} vectors of {pin}")


@app.command()
def maintain(
    every: Annotated[
        float | None,
        typer.Option(
            "--every", min=1, help="Repeat with this many seconds between the rounds, until stopped", show_default=False
        ),
    ] = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Look after a whole store: vocabularies that have drifted, missing indexes, the planner's statistics."""
    from fivefold.service.maintenance import Maintenance
    from fivefold.service.maintenance import maintain as maintain_store
    from fivefold.stores import open_store
    from fivefold.values.times import utc_now

    def show(done: Sequence[MaintenanceResult]) -> None:
        _print(done, as_json)

    progress = sys.stderr.isatty()
    handle = open_store(existing(store))
    try:
        if every is not None:
            maintenance = Maintenance(handle, every, report=show)
            with until_signalled(maintenance.end):
                maintenance.run(progress)
            return
        done = list(maintain_store(handle, utc_now(), progress))
    finally:
        handle.close()
    show(done)
    if not all(item.ok for item in done):
        raise typer.Exit(1)


def _print(done: Sequence[MaintenanceResult], as_json: bool) -> None:
    if as_json:
        print_json([item.to_dict() for item in done])
    else:
        from fivefold.cli import terminal

        rows = [
            ("✗" if not item.ok else "✓" if item.changed else "–", item.namespace or "", item.part, item.detail)
            for item in done
        ]
        terminal.table(("", "namespace", "looked at", "outcome"), rows)
    sys.stdout.flush()


@contextmanager
def until_signalled(end_work: Callable[[], None]) -> Iterator[None]:
    """A first signal lets the step under way end; a second one ends it as usual."""
    signals = (signal.SIGTERM, signal.SIGINT)
    before = {number: signal.getsignal(number) for number in signals}

    def end(*_: object) -> None:
        end_work()
        reset()

    def reset() -> None:
        for number, action in before.items():
            signal.signal(number, action)

    for number in signals:
        signal.signal(number, end)
    try:
        yield
    finally:
        reset()


# Commands that keep a whole store in a file, and bring it back.


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
    from fivefold.transfer.backup import restore as bring_back

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
