"""Text and JSON as commands print them, and errors in the terms of the command line."""

from __future__ import annotations

import json
import shlex
import sys

from fivefold.errors import Call, DamagedStore, FivefoldError, InvalidFile, TargetExists, UnfinishedCopy
from fivefold.text.display import escaped, visible
from fivefold.values.serialize import plain


def say(text: str) -> None:
    sys.stdout.write(visible(text) + "\n")


def complain(text: str) -> None:
    sys.stderr.write(f"fivefold: {visible(text)}\n")


def print_json(value: object, indent: int | None = 2) -> None:
    sys.stdout.write(escaped(json.dumps(plain(value), ensure_ascii=False, indent=indent)) + "\n")
    sys.stdout.flush()


# Errors: options instead of fields, commands instead of calls.

SAME_NAMED = """
ablate budgets dsn effort filter id importance jobs kind limit metadata min_chance mix now origin out port recipes
replace restart seed since speaker tag text type unit until valid_from valid_to
"""
OPTIONS = {name: f"--{name.replace('_', '-')}" for name in SAME_NAMED.split()} | {
    "event_at": "--at",
    "expires_at": "--expires",
    "format": "--from",
    "k": "-k",
    "ks": "--k",
    "overrides": "--set",
    "recent_turns": "--recent",
    "session_id": "--session",
    "token_budget": "--budget",
    "turn_index": "--turn",
}
"""The option for each field of the library."""

COMMANDS = {
    "Keyring.create": "fivefold keys create NAME --role admin --all --store {location}",
    "Keyring.keys": "fivefold keys list",
    "distribute": "fivefold db distribute",
    "doctor": "fivefold doctor --repair",
    "migrate": "fivefold migrate",
    "salvage": "fivefold doctor --salvage NEW --store {location}",
    "rekey": "fivefold rekey --store {store}",
    "reembed": "fivefold reembed {embedder} --namespace {namespace}",
}
"""The command for each call of the library, filled with the call's arguments and the error's data."""


SPECIAL_ERRORS = (DamagedStore, InvalidFile, TargetExists, UnfinishedCopy)


def phrase(error: FivefoldError) -> str:
    """The error as the command line says it."""

    def command(call: Call) -> str:
        if not call.name:
            named = ((option(name), value) for name, value in call.arguments.items())
            return " ".join(flag if value is True else f"{flag} {value}" for flag, value in named)
        data = {**vars(error), **call.arguments}
        quoted = {name: shlex.quote(str(value)) for name, value in data.items()}
        return COMMANDS[call.name].format_map(quoted) if call.name in COMMANDS else str(call)

    return error.message(option, command)


def kind(error: FivefoldError) -> str:
    """The name of its class; a class that only refines another goes by the name of that one."""
    return next(cls.__name__ for cls in type(error).__mro__ if cls not in SPECIAL_ERRORS)


def phrase_note(note: str) -> str:
    """A note of a report, which may begin with a field."""
    field, space, rest = note.partition(" ")
    return f"{option(field)}{space}{rest}"


def option(field: str) -> str:
    """The option for a field, or for the list it is an entry of."""
    name, bracket, place = field.partition("[")
    return f"{OPTIONS.get(name, name)}{bracket}{place}"
