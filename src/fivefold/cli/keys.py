"""`fivefold keys`: the API keys of a served store; and `fivefold audit`: the log of its users."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from fivefold.cli.app import StoreOptions, app, existing, place, terminal
from fivefold.cli.output import say
from fivefold.values.access import ALL, Role

if TYPE_CHECKING:
    from fivefold.stores.interface import Store
    from fivefold.values.access import Key

keys: typer.Typer = typer.Typer(
    help="Create, list and revoke the API keys of a server.", no_args_is_help=True, rich_markup_mode=None
)
app.add_typer(keys, name="keys")


@keys.command()
def create(
    name: Annotated[str, typer.Argument(help="The purpose of the key, such as the name of its program")],
    role: Annotated[
        Role, typer.Option("--role", help="reader recalls, writer also writes, admin also changes settings")
    ],
    namespace: Annotated[
        list[str] | None, typer.Option("--namespace", "-n", help="A namespace it reaches; repeatable")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="It reaches every namespace, future ones too")] = False,
    expires: Annotated[
        str | None, typer.Option("--expires", help="The key expires at this time, ISO 8601 in UTC [default: never]")
    ] = None,
    *,
    options: StoreOptions,
) -> None:
    """Create an API key. Its secret is shown only once; the store keeps its hash."""
    from fivefold.service.keys import Keyring
    from fivefold.values.times import as_utc

    reached = _reached(namespace or [], every)
    until = None if expires is None else as_utc(expires, "--expires")[0]
    with _opened(place(options.store)) as handle:
        keyring = Keyring(handle)
        first = not keyring.any()
        key, secret = keyring.create(name, role, reached, until)

    def draw(_: object) -> None:
        say(secret)
        say(f"Save it now, it cannot be shown again. Key {key.id}: {key.role} of {_reach(key)}.")
        if first:
            say("This is the first key: from now on every request needs a key, also from this machine.")

    options.show({"key": key, "secret": secret}, draw)


@keys.command("list")
def list_(options: StoreOptions) -> None:
    """List the API keys, oldest first, without their secrets."""
    from fivefold.service.keys import Keyring
    from fivefold.values.times import utc_now

    with _opened(existing(options.store)) as handle:
        api_keys = Keyring(handle).keys()

    def draw(_: object) -> None:
        if not api_keys:
            say("There is no key yet; make one with: fivefold keys create NAME --role writer --namespace default")
            return
        now = utc_now()
        columns = ("id", "name", "role", "namespaces", "state", "made", "expires", "last used")
        rows = [
            (
                *(key.id, key.name, key.role, _reach(key), key.state(now)),
                *map(terminal.day, (key.created_at, key.expires_at, key.last_used_at)),
            )
            for key in api_keys
        ]
        terminal.table(columns, rows)

    options.show(api_keys, draw)


@keys.command()
def revoke(
    id: Annotated[str, typer.Argument(help="The key's id, as `fivefold keys list` shows it")], *, options: StoreOptions
) -> None:
    """Refuse a key from now on, at once and for good."""
    from fivefold.service.keys import Keyring

    with _opened(existing(options.store)) as handle:
        key = Keyring(handle).revoke(id)
    options.show(key, lambda _: say(f"Key {key.id} ({key.name}) is refused since {key.revoked_at:%Y-%m-%d %H:%M} UTC."))


@app.command()
def audit(
    limit: Annotated[int, typer.Option("--limit", help="Maximum number of entries, latest first")] = 20,
    cursor: Annotated[
        str | None, typer.Option("--cursor", help="Where to continue: the cursor at the end of the previous list")
    ] = None,
    namespace: Annotated[str | None, typer.Option("--namespace", "-n", help="Only entries of this namespace")] = None,
    key: Annotated[str | None, typer.Option("--key", help="Only entries of the key with this id")] = None,
    *,
    options: StoreOptions,
) -> None:
    """Show the audit log of a server: writes, deletions, uses and changes of keys."""
    from fivefold.service.audit import Audit

    with _opened(existing(options.store)) as handle:
        entries = Audit(handle).entries(limit, cursor, namespace, key)

    def draw(_: object) -> None:
        if not entries:
            say("Nothing is noted.")
            return
        rows = [
            (f"{e.at:%Y-%m-%d %H:%M:%S}", e.key_id or "–", e.action, e.namespace or "–", e.subject or "–", e.outcome)
            for e in entries
        ]
        terminal.table(("when", "key", "action", "namespace", "subject", "outcome"), rows)
        if entries.cursor is not None:
            say(f"more with --cursor {entries.cursor}")

    options.show(entries, draw)


@contextmanager
def _opened(location: str) -> Iterator[Store]:
    from fivefold.stores import open_store

    store = open_store(location)
    try:
        yield store
    finally:
        store.close()


def _reached(namespaces: list[str], every: bool) -> list[str]:
    if every == bool(namespaces):
        raise typer.BadParameter("say which namespaces the key reaches: --namespace NAME, or --all and no name")
    if ALL in namespaces:
        raise typer.BadParameter(f"{ALL} is not a name a key can have; --all gives every namespace")
    return [ALL] if every else namespaces


def _reach(key: Key) -> str:
    return "every namespace" if key.namespaces == (ALL,) else ", ".join(key.namespaces)
