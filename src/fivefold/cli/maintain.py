"""`fivefold maintain`: look after a whole store, once or on a schedule."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from fivefold.cli.app import JsonOption, StoreOption, app, existing, print_json

if TYPE_CHECKING:
    from fivefold.service.maintenance import Upkeep
    from fivefold.values.reports import MaintenanceResult


@app.command()
def maintain(
    every: Annotated[
        float | None,
        typer.Option(
            "--every", min=1, help="Go on, with so many seconds between the rounds, until stopped", show_default=False
        ),
    ] = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Look after a whole store: vocabularies that have drifted, missing indexes, the planner's statistics."""
    from fivefold.service.maintenance import Upkeep, care
    from fivefold.stores import open_store
    from fivefold.values.times import utc_now

    def told(done: Sequence[MaintenanceResult]) -> None:
        _print(done, as_json)

    progress = sys.stderr.isatty()
    held = open_store(existing(store))
    try:
        if every is not None:
            upkeep = Upkeep(held, every, told=told)
            with _until_signalled(upkeep):
                upkeep.run(progress)
            return
        done = list(care(held, utc_now(), progress))
    finally:
        held.close()
    told(done)
    if not all(item.ok for item in done):
        raise typer.Exit(1)


def _print(done: Sequence[MaintenanceResult], as_json: bool) -> None:
    if as_json:
        print_json([item.to_dict() for item in done])
    else:
        from fivefold.cli import show

        rows = [
            ("✗" if not item.ok else "✓" if item.changed else "–", item.namespace or "", item.part, item.detail)
            for item in done
        ]
        show.table(("", "namespace", "looked at", "outcome"), rows)
    sys.stdout.flush()


@contextmanager
def _until_signalled(upkeep: Upkeep) -> Iterator[None]:
    """A first signal lets the step under way end; a second one ends it as usual."""
    signals = (signal.SIGTERM, signal.SIGINT)
    before = {number: signal.getsignal(number) for number in signals}

    def end(*_: object) -> None:
        upkeep.end()
        restore()

    def restore() -> None:
        for number, action in before.items():
            signal.signal(number, action)

    for number in signals:
        signal.signal(number, end)
    try:
        yield
    finally:
        restore()
