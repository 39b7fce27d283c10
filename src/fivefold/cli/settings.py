"""`fivefold settings`: look at and change what a namespace has set."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from fivefold.cli.app import JsonOption, NamespaceOption, StoreOption, app, print_json, reading
from fivefold.errors import InvalidInput


@app.command()
def settings(
    changes: Annotated[
        list[str] | None, typer.Argument(help="NAME=VALUE to set, NAME= to bring the default back", show_default=False)
    ] = None,
    store: StoreOption = None,
    namespace: NamespaceOption = "default",
    as_json: JsonOption = False,
) -> None:
    """Show the settings of a namespace, or change them."""
    values = dict(_change(text) for text in changes or ())
    with reading(store, namespace, anyway=bool(values)) as engine:
        current = engine.configure(**values) if values else engine.settings
    if as_json:
        print_json(current.to_dict())
        return
    from fivefold.cli import terminal
    from fivefold.settings import Settings

    default = Settings().to_dict()
    rows = [
        (name, value, "" if value == default[name] else f"default {default[name]}")
        for name, value in current.to_dict().items()
    ]
    terminal.table(("setting", "value", ""), rows)


def _change(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals:
        raise InvalidInput(f"{text!r} sets nothing; write NAME=VALUE, such as timezone=Europe/Berlin")
    if not value:
        return name.strip(), None
    try:
        return name.strip(), json.loads(value)
    except ValueError:
        return name.strip(), value
