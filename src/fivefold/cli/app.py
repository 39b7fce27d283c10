"""The `fivefold` command and what all its commands share: store, namespace, JSON, errors in plain words."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fivefold.errors import FivefoldError, NotFound

if TYPE_CHECKING:
    from fivefold.engine import Engine

StoreOption = Annotated[
    str | None,
    typer.Option("--store", help="Path of the store [env FIVEFOLD_STORE, else ./fivefold.db]", show_default=False),
]
NamespaceOption = Annotated[str, typer.Option("--namespace", "-n", help="Namespace to look at or write to")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of text")]

app = typer.Typer(
    name="fivefold",
    help="Long-term memory for AI agents: remember, recall, and see why each memory came back.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
COMMANDS = ("demo", "write", "read", "care", "bench")
"""The modules that hold the commands; each registers its own on `app`."""


def run() -> None:
    for module in COMMANDS:
        import_module(f"fivefold.cli.{module}")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        app(prog_name="fivefold")
    except FivefoldError as error:
        fail(error)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)


def fail(error: FivefoldError) -> None:
    """One sentence on standard error, or an object on standard output when JSON was asked for."""
    if "--json" in sys.argv:
        print_json({"error": {"type": type(error).__name__, "message": str(error)}})
    else:
        sys.stderr.write(f"fivefold: {error}\n")
    sys.exit(3 if isinstance(error, NotFound) else 1)


@contextmanager
def opened(store: str | None, namespace: str, **options: Any) -> Iterator[Engine]:
    """The engine the options ask for."""
    from fivefold.engine import open as open_engine

    engine = open_engine(place(store), namespace=namespace, **options)
    try:
        yield engine
    finally:
        engine.close()


@contextmanager
def reading(store: str | None, namespace: str) -> Iterator[Engine]:
    """As `opened`, for commands that only read: a path where no store is stays without one."""
    path = place(store)
    if not os.path.exists(path):
        raise NotFound(f"there is no store at {path!r}; add a memory first, or name one with --store")
    with opened(store, namespace) as engine:
        yield engine


def place(store: str | None) -> str:
    return store or os.environ.get("FIVEFOLD_STORE") or "./fivefold.db"


def print_json(value: object) -> None:
    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=2) + "\n")
