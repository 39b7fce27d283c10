"""Commands that check, repair and maintain a store."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from threading import Event
from typing import TYPE_CHECKING, Annotated

import typer

from fivefold.cli.app import SpaceOptions, StoreOptions, app, existing, place, terminal
from fivefold.cli.output import say
from fivefold.errors import InvalidInput, MissingExtra

if TYPE_CHECKING:
    from fivefold.transfer.backup import Backup, RestoreReport
    from fivefold.values.reports import MaintenanceResult


SALVAGE = "restore a backup, or bring what is readable into a new store with `fivefold doctor --salvage NEW`"


@app.command()
def doctor(
    repair: Annotated[bool, typer.Option("--repair", help="First rebuild all derived data")] = False,
    salvage: Annotated[
        str | None,
        typer.Option("--salvage", help="Copy every readable memory of a damaged file into this new store instead"),
    ] = None,
    *,
    space: SpaceOptions,
) -> None:
    """Check a store, and with --repair rebuild indexes, vectors and links from the memories."""
    if salvage is not None:
        _salvage(existing(space.store), salvage, space)
        return
    with space.reading() as engine:
        findings = engine.doctor(repair=repair, progress=sys.stderr.isatty())
    rows = [("✓" if f.ok else "✗", f.check, f.detail) for f in findings]
    space.show(findings, lambda _: terminal.table(("", "check", "finding"), rows))
    if not all(finding.ok for finding in findings):
        if not space.as_json:
            sys.stderr.write("Something is wrong; `fivefold doctor --repair` rebuilds derived data.\n")
            if any(finding.check in ("file", "checksums", "texts") and not finding.ok for finding in findings):
                sys.stderr.write(f"The file itself is damaged; {SALVAGE}.\n")
        raise typer.Exit(1)


def _salvage(source: str, target: str, space: SpaceOptions) -> None:
    """Shows the copied and the lost memories; the exit code is 1 if there is a loss or a note."""
    if "://" in source:
        raise InvalidInput("only a SQLite file can be salvaged; use the server's own means for PostgreSQL")
    from fivefold.transfer.salvage import salvage

    done = salvage(source, target, progress=sys.stderr.isatty())

    def draw(_: object) -> None:
        terminal.table(("namespace", "memories"), [(name, f"{count:,}") for name, count in done.memories.items()])
        for note in done.notes:
            say(note)
        for lost in done.lost:
            terminal.line(f"lost: {lost.id or 'a memory'} of {lost.namespace or 'a namespace'}: {lost.why}")
        say(f"{done.source} → {done.target}: {sum(done.memories.values()):,} memories, {len(done.lost):,} lost")

    space.show(done, draw)
    if done.lost or done.notes:
        raise typer.Exit(1)


@app.command()
def reembed(
    embedder: Annotated[str, typer.Argument(help="fivefold-minilm, minilm, wordllama, openai:MODEL, …")],
    *,
    space: SpaceOptions,
) -> None:
    """Move a namespace to another embedding model; an interrupted run continues when it is run again."""
    with space.reading() as engine:
        pin = engine.reembed(embedder, progress=sys.stderr.isatty())
        count = engine.stats().vectors
    done = {"namespace": space.namespace, "embedder": pin, "vectors": count}
    space.show(done, lambda _: say(f"namespace {space.namespace!r} now has {count} vectors of {pin}"))


@app.command()
def maintain(
    every: Annotated[
        float | None,
        typer.Option(
            "--every", min=1, help="Repeat with this many seconds between the rounds, until stopped", show_default=False
        ),
    ] = None,
    *,
    options: StoreOptions,
) -> None:
    """Maintain a whole store: check vocabularies for drift, build missing indexes, renew the planner's statistics."""
    from fivefold.service.maintenance import Maintenance
    from fivefold.service.maintenance import maintain as maintain_store
    from fivefold.stores import open_store
    from fivefold.values.times import utc_now

    def draw(done: Sequence[MaintenanceResult]) -> None:
        marks = ("✗" if not item.ok else "✓" if item.changed else "–" for item in done)
        rows = [(mark, item.namespace or "", item.part, item.detail) for mark, item in zip(marks, done, strict=True)]
        terminal.table(("", "namespace", "looked at", "outcome"), rows)
        sys.stdout.flush()

    progress = sys.stderr.isatty()
    handle = open_store(existing(options.store))
    try:
        if every is not None:
            maintenance = Maintenance(handle, every, report=lambda done: options.show(done, draw))
            with until_signalled(maintenance.end):
                maintenance.run(progress)
            return
        done = list(maintain_store(handle, utc_now(), progress))
    finally:
        handle.close()
    options.show(done, draw)
    if not all(item.ok for item in done):
        raise typer.Exit(1)


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
    target: Annotated[str, typer.Argument(help="The file to write, or a folder; there its name has the time")],
    replace: Annotated[bool, typer.Option("--replace", help="Overwrite an existing file")] = False,
    every: Annotated[
        float | None,
        typer.Option(
            "--every", min=2, help="Repeat after this many seconds if the store has changed", show_default=False
        ),
    ] = None,
    keep_hours: Annotated[float, typer.Option(min=0, help="With --every: delete backups older than this")] = 24.0,
    *,
    options: StoreOptions,
) -> None:
    """Write a whole store to one file and check it, while others read and write."""
    from fivefold.transfer.backup import back_up, back_up_repeatedly

    store = existing(options.store)
    if every is None:
        result = back_up(store, target, replace=replace, progress=sys.stderr.isatty())
        _tell(result, f"{result.store} → {result.file}", options)
        return

    def tell(one: Backup) -> None:
        with suppress(typer.Exit):  # a backup with findings does not end the others
            _tell(one, f"{one.store} → {one.file}", options)
        sys.stdout.flush()

    ended = Event()
    with until_signalled(ended.set):
        back_up_repeatedly(store, target, every, timedelta(hours=keep_hours), ended, tell)


@app.command()
def restore(
    backup: Annotated[str, typer.Argument(help="A file that `fivefold backup` wrote, or a copy of a store")],
    replace: Annotated[bool, typer.Option("--replace", help="Put it in the place of a store that is there")] = False,
    *,
    options: StoreOptions,
) -> None:
    """Make a store out of a backup. A store in use stays as it is, and another is replaced only with --replace."""
    from fivefold.transfer.backup import restore as bring_back

    result = bring_back(backup, place(options.store), replace=replace, progress=sys.stderr.isatty())
    _tell(result, f"{result.file} → {result.store}", options)


NEW_KEY_VARIABLE = "FIVEFOLD_NEW_STORE_KEY"


@app.command()
def rekey(
    decrypt: Annotated[bool, typer.Option("--decrypt", help="Make the file plain again")] = False,
    keyring: Annotated[
        bool, typer.Option("--keyring", help="Use the key of the system's keyring, which is made if there is none")
    ] = False,
    *,
    options: StoreOptions,
) -> None:
    """Encrypt a store that nothing has open, or give it another key.

    The new key is FIVEFOLD_NEW_STORE_KEY, for a plain store also FIVEFOLD_STORE_KEY; a terminal is asked for it.
    """
    store = existing(options.store)
    if "://" in store:
        raise InvalidInput("only a file can be encrypted; use the server's own means for PostgreSQL")
    if decrypt and keyring:
        raise InvalidInput("--decrypt needs no key; leave --keyring out")
    from fivefold.transfer.backup import rekey as change_key

    new_key = None if decrypt else _keyring_key() if keyring else _new_key(store)
    counts = change_key(store, new_key, progress=sys.stderr.isatty()).counts
    done = {"store": store, "encrypted": not decrypt, "namespaces": counts[1], "memories": counts[2]}
    how = "is plain" if decrypt else "is encrypted; its backups keep the key that they have"
    options.show(done, lambda _: say(f"{store} {how}; memories: {counts[2]:,}, all checked"))


def _new_key(store: str) -> str:
    """The new key of the environment, or of who sits at the terminal."""
    from fivefold.stores.sqlite.encryption import KEY_VARIABLE, has_key

    key = os.environ.get(NEW_KEY_VARIABLE) or (None if has_key(store) else os.environ.get(KEY_VARIABLE))
    if key:
        return key
    if not sys.stdin.isatty():
        raise InvalidInput(f"give the new key as {NEW_KEY_VARIABLE}, or use --keyring")
    return str(typer.prompt("New key", hide_input=True, confirmation_prompt=True, err=True))


def _keyring_key() -> str:
    """The key in the system's keyring; a new one is there before anything is encrypted with it."""
    from fivefold.stores.sqlite.encryption import KEYRING, new_key, open_keyring

    package = open_keyring()
    if package is None:
        raise MissingExtra("the system's keyring", "encryption")
    try:
        key = package.get_password(*KEYRING)
        if not key:
            key = new_key()
            package.set_password(*KEYRING, key)
    except package.errors.KeyringError as error:
        raise InvalidInput(f"the system's keyring cannot be used: {error}") from None
    return str(key)


def _tell(result: Backup | RestoreReport, way: str, options: StoreOptions) -> None:
    """Print the result; indexes that are wrong in the store are wrong in the copy too, and are reported."""
    memories = f"{result.memories:,} {'memory' if result.memories == 1 else 'memories'}"
    namespaces = f"{result.namespaces:,} {'namespace' if result.namespaces == 1 else 'namespaces'}"
    options.show(result, lambda _: say(f"{way}: {memories} of {namespaces}, checked, in {result.seconds:.1f} s"))
    if result.amiss:
        if not options.as_json:
            for finding in result.amiss:
                sys.stderr.write(f"✗ {finding.check}: {finding.detail}\n")
            sys.stderr.write("`fivefold doctor --repair` rebuilds what can be derived, and says what cannot.\n")
        raise typer.Exit(1)
