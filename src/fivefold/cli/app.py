"""The `fivefold` command, and the parts that its commands share: options, store, namespace, errors in plain words."""

from __future__ import annotations

import io
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache, wraps
from importlib import import_module
from inspect import Parameter, Signature, signature
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_type_hints

import typer
from typer.core import TyperGroup
from typer.main import get_command

from fivefold.cli.output import complain, kind, phrase, print_json, say
from fivefold.errors import FivefoldError, NotFound, StoreError
from fivefold.text.display import visible

if TYPE_CHECKING:
    from fivefold.cli import terminal as _terminal
    from fivefold.engine import Engine

    terminal = _terminal
else:

    class _Terminal:
        """The functions of that module, which loads when one of them is called: help and JSON need none."""

        def __getattr__(self, name: str) -> Any:
            def call(*values: Any, **named: Any) -> Any:
                return getattr(import_module("fivefold.cli.terminal"), name)(*values, **named)

            return call

    terminal = _Terminal()


COMMAND_MODULES = (
    *("demo", "write", "transfer", "read", "known", "recipes", "browse", "graph", "learn", "maintain"),
    *("database", "serve", "hook", "keys"),
)
"""The modules that hold the commands, in the order of the help; each registers its own on `app`."""

ADDRESSES = ("postgresql://", "postgres://")
"""Beginnings of the address of a store on a server; all else is a path."""


def named_store(path: str | None) -> str | None:
    """An empty name is a mistake, most often an unset variable; it does not mean the default store."""
    if path == "":
        raise typer.BadParameter("it is empty; name a file, or leave --store out")
    return path


StoreOption = Annotated[
    str | None,
    typer.Option(
        "--store",
        help="Path of the store [env FIVEFOLD_STORE, else ./fivefold.db]",
        show_default=False,
        callback=named_store,
    ),
]
NamespaceOption = Annotated[str, typer.Option("--namespace", "-n", help="Namespace to look at or write to")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of text")]
FullOption = Annotated[bool, typer.Option("--full", help="Show long memories in full")]

COMMAND_GROUPS = {
    "Everyday": ("add", "recall", "context", "chat", "update", "forget", "pin", "unpin", "used", "demo"),
    "What is known": ("profile", "agenda", "history", "changes", "recap", "correct", "hide"),
    "Look inside": ("explain", "understand", "plan", "weights", "get", "list", "sessions", "stats", "graph", "health"),
    "Correct and maintain": (
        "supersede",
        "reinstate",
        "quarantine",
        "sweep",
        "doctor",
        "maintain",
        "reembed",
        "settings",
        "namespaces",
    ),
    "Move data": ("import", "export", "sync", "migrate", "backup", "restore", "rekey"),
    "Serve": ("serve", "mcp", "hook", "keys", "audit", "db"),
    "Tune and measure": ("recipes", "train", "evaluate", "bench"),
}
"""The commands as the help lists them; commands of other packages come last."""


class _GroupedHelp(TyperGroup):
    """Lists the commands in groups, each with its whole description."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        listed = {name for names in COMMAND_GROUPS.values() for name in names}
        others = {"From other packages": tuple(name for name in self.commands if name not in listed)}
        for title, names in (COMMAND_GROUPS | others).items():
            rows = [(name, self.commands[name].get_short_help_str(400)) for name in names if name in self.commands]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


app: typer.Typer = typer.Typer(
    name="fivefold",
    cls=_GroupedHelp,
    help="Long-term memory for AI agents: remember, recall, and see why each memory came back.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

BEGINNING = """\
fivefold: long-term memory for AI agents, in one file on this machine.

Begin with:
  fivefold demo                               a sample year, and questions about it
  fivefold add "I take my tea without milk"   remember something
  fivefold recall "how do I take my tea?"     find it again
  fivefold chat                               a prompt that remembers and recalls as you type
  fivefold serve                              a page to look inside, and REST
  fivefold mcp                                tools for an agent

fivefold -h lists all commands, fivefold recall -h explains one.
fivefold --install-completion completes them in your shell."""
"""First steps, shown if no command is named."""


def _version(show: bool) -> None:
    if show:
        from fivefold.version import VERSION

        say(f"fivefold {VERSION}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _fivefold(
    ctx: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Long-term memory for AI agents: remember, recall, and see why each memory came back."""
    if ctx.invoked_subcommand is None:
        say(BEGINNING)


@cache
def command_tree(name: str | None = None) -> Callable[..., Any]:
    """All commands as they are parsed, or only the one of this name, since to build all takes a tenth of a second.

    A name that no command has gives all of them, which the error needs. Other packages are looked through for what is
    not a built-in command.
    """
    for module in COMMAND_MODULES:
        import_module(f"fivefold.cli.{module}")
    from fivefold.cli.plugins import add_commands, name_of

    tree = copy(app)
    tree.registered_commands = [info for info in app.registered_commands if name_of(info) == name]
    tree.registered_groups = [info for info in app.registered_groups if info.name == name]
    if name is not None and not tree.registered_commands:  # a group may have commands of other packages
        add_commands(tree, name)
    if not tree.registered_commands and not tree.registered_groups:
        tree.registered_commands, tree.registered_groups = [*app.registered_commands], [*app.registered_groups]
        add_commands(tree, None)
    expand_groups(tree)
    return get_command(tree)


def run() -> None:
    """Run one command; an error while output is written becomes one sentence."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        try:
            _command()
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        _close_output()
        sys.exit(1)
    except OSError as error:
        if error.filename is not None:
            raise
        _close_output()
        sys.stderr.write(f"fivefold: the output could not be written: {error.strerror or error}\n")
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)


def _command() -> None:
    try:
        command_tree(sys.argv[1] if len(sys.argv) > 1 else None)(prog_name="fivefold")
    except FivefoldError as error:
        fail(error)
    except SystemExit as ended:
        if ended.code == 2:
            _hint(sys.argv[1:])
        raise


def _hint(args: list[str]) -> None:
    """A text such as '-5 degrees' was taken for an option."""
    alone = (arg for before, arg in pairwise(["", *args]) if not before.startswith("--"))
    text = next((arg for arg in alone if re.match(r"-(\d|[^=]*\s)", arg)), None)
    if text is not None and "--" not in args:
        rest = [arg for arg in args if arg != text]
        right = shlex.join(["fivefold", *rest, "--", text])
        sys.stderr.write(f"A text that begins with - goes after --, as in: {visible(right)}\n")


def _close_output() -> None:
    """Drops buffered output, which has nowhere to go; without this, Python complains when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def fail(error: FivefoldError) -> None:
    """One sentence on standard error, or an object on standard output with --json."""
    message = phrase(error)
    if "--json" in sys.argv:
        print_json({"error": {"type": kind(error), "message": message}})
    else:
        complain(message)
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


def list_namespaces(engine: Engine) -> tuple[str, ...]:
    """The namespaces of the store; only this one if a restricted role may not list them."""
    try:
        return engine.namespaces()
    except StoreError:
        return (engine.namespace,) if engine.exists() else ()


def existing(store: str | None, advice: str = "or name one with --store") -> str:
    """The location of the store, if it exists; a server is only checked when it is opened."""
    path = place(store)
    if "://" not in path and not os.path.exists(path):
        raise NotFound(f"there is no store at {path!r}; add a memory first, {advice}")
    return path


def place(store: str | None) -> str:
    location = store or os.environ.get("FIVEFOLD_STORE") or "./fivefold.db"
    if "=" in location or location.startswith("postgres"):
        from fivefold.values.validate import checked_location

        checked_location(location)
    return location


# Options that several commands share, declared once as the fields of a dataclass.

T = TypeVar("T")


class OutputOptions:
    """Options of a command whose result is shown as JSON or as text."""

    as_json: bool

    def show(self, value: T, draw: Callable[[T], object]) -> None:
        """Prints the value as JSON, or in the terminal as `draw` does."""
        print_json(value) if self.as_json else draw(value)


@dataclass(frozen=True, slots=True)
class StoreOptions(OutputOptions):
    """A store, and JSON instead of text."""

    store: StoreOption = None
    as_json: JsonOption = False


@dataclass(frozen=True, slots=True)
class SpaceOptions(OutputOptions):
    """A namespace of a store, and JSON instead of text."""

    store: StoreOption = None
    namespace: NamespaceOption = "default"
    as_json: JsonOption = False

    @contextmanager
    def reading(self, *, anyway: bool = False) -> Iterator[Engine]:
        """The engine of a store that exists. A missing namespace is an error, or with `anyway` only a note."""
        path = existing(self.store)
        with opened(self.store, self.namespace) as engine:
            if not engine.exists():
                there = list_namespaces(engine)
                contents = f"there are: {', '.join(there)}" if there else "it holds nothing yet"
                location = engine.location if path.startswith(ADDRESSES) else path
                missing = f"there is no namespace {engine.namespace!r} in {location!r}; {contents}"
                if not anyway:
                    raise NotFound(missing)
                complain(missing)
            yield engine


def with_groups(function: Callable[..., None]) -> Callable[..., None]:
    """The command, with an option for each field of its parameters that are dataclasses, in their place."""
    hints = get_type_hints(function, include_extras=True)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    if not groups:
        return function
    parameters: list[Parameter] = []
    for name, parameter in signature(function).parameters.items():
        if name in groups:
            options = get_type_hints(groups[name], include_extras=True)
            parameters += [
                Parameter(
                    option.name,
                    Parameter.KEYWORD_ONLY,
                    default=Parameter.empty if option.default is MISSING else option.default,
                    annotation=options[option.name],
                )
                for option in fields(groups[name])
            ]
        else:
            parameters.append(parameter.replace(kind=Parameter.KEYWORD_ONLY, annotation=hints[name]))

    @wraps(function)
    def command(**values: Any) -> None:
        grouped = {
            name: group(**{option.name: values.pop(option.name) for option in fields(group)})
            for name, group in groups.items()
        }
        function(**grouped, **values)

    command.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return command


def expand_groups(tree: typer.Typer) -> None:
    """Gives each command of a tree its options."""
    for info in tree.registered_commands:
        info.callback = info.callback and with_groups(info.callback)
    if (own := tree.registered_callback) and own.callback:
        own.callback = with_groups(own.callback)
    for group in tree.registered_groups:
        if group.typer_instance is not None:
            expand_groups(group.typer_instance)
