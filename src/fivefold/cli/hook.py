"""`fivefold hook`: memory for coding agents through their hooks."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, get_args

import typer

from fivefold.cli.app import ADDRESSES, StoreOptions, app, terminal
from fivefold.cli.output import say
from fivefold.errors import InvalidInput

if TYPE_CHECKING:
    from fivefold.hooks.agents import Agent
    from fivefold.hooks.manage import FileChange, HookStatus
    from fivefold.hooks.writer import Drain

Action = Literal["install", "uninstall", "status"]
ACTIONS: tuple[Action, ...] = get_args(Action)
RETRY = "retry"
"""Used in place of an agent's name, since all agents share the spool."""


@app.command()
def hook(
    agent: Annotated[
        str,
        typer.Argument(
            help="claude-code, codex, cursor, gemini-cli, opencode or openclaw; or retry, to store waiting turns"
        ),
    ],
    action: Annotated[str, typer.Argument(help="install, uninstall or status")] = "",
    project: Annotated[
        bool, typer.Option("--project", help="Configure the project in this folder instead of the user")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show the changes of the configuration")] = False,
    *,
    options: StoreOptions,
) -> None:
    """Give a coding agent a memory: its hooks recall at each prompt and store what was said.

    The store is ~/.fivefold/memory.db unless --store names another one. Each repository has its own namespace.
    """
    from fivefold.hooks import manage
    from fivefold.hooks.agents import agent_named
    from fivefold.hooks.state import default_state

    manage.check_system()
    if (agent, action) == (RETRY, ""):
        options.show(manage.retry(default_state()), _tell)
        return
    if action not in ACTIONS:
        raise InvalidInput(f"{action!r} is unknown; it is one of {', '.join(ACTIONS)}", field="action")
    known, state = agent_named(agent), default_state()
    file = known.config_file(Path.cwd() if project else None)
    if action == "status":
        options.show(manage.status(known, file, state, Path.cwd()), lambda found: _show(found, known.title))
        return
    if action == "install":
        location = _location(options.store, state.settings_file)
        change = manage.install(known, file, state, location, dry_run=dry_run)
    else:
        change = manage.uninstall(known, file, dry_run=dry_run)
    shown = {"file": change.file, "changed": change.changes, "dry_run": dry_run, "diff": change.diff()}
    options.show(shown, lambda _: _changed(change, known, action, dry_run, state.settings().store))


def _tell(done: Drain) -> None:
    said = f"{done.stored} events are done with, {done.new} of them brought something new"
    say(said if done.stored or done.waiting else "nothing waits to be stored")
    if done.error is not None:
        say(f"{done.waiting} still wait; {done.error}")


def _location(store: str | None, settings_file: Path) -> str | None:
    """The store in full, since hooks run in other folders; None keeps the one that is set."""
    named = store or (None if settings_file.exists() else os.environ.get("FIVEFOLD_STORE"))
    if named is None or named.startswith(ADDRESSES):
        return named
    return os.path.abspath(os.path.expanduser(named))


def _changed(change: FileChange, agent: Agent, action: str, dry_run: bool, store: str) -> None:
    if dry_run:
        say(change.diff() or f"{change.file} would stay as it is")
        return
    if not change.changes:
        say(f"{change.file} is as it should be; nothing was changed")
    elif action == "install":
        say(f"hooks of {agent.title} installed in {change.file}")
    else:
        say(f"hooks of {agent.title} removed from {change.file}; the memories in {store} stay")
    if action == "install":
        say(f"memories go to {store}, each repository in a namespace of its own")
    if step := agent.next_step if action == "install" else agent.last_step * change.changes:
        say(step)


def _show(found: HookStatus, title: str) -> None:
    waiting = "0"
    if found.waiting_since is not None:
        since = f"{found.waiting_since:%Y-%m-%d %H:%M} UTC"
        waiting = f"{found.waiting}, the oldest since {since}; tried again by itself, or now by fivefold hook retry"
    rows = [
        ("configuration", found.file),
        ("installed", ", ".join(found.installed) or "none"),
        ("outdated", f"{', '.join(found.outdated)}; install again" if found.outdated else ""),
        ("missing", ", ".join(found.missing) if found.installed else ""),
        ("store", found.settings.store),
        ("namespace here", found.namespace),
        ("resident process", "running" if found.running else "not running; the next event starts it"),
        ("waiting to be stored", waiting),
        ("left in the spool", f"{', '.join(found.foreign)}; not events" if found.foreign else ""),
        ("answers too late", str(found.late)),
        ("last error", found.last_error or ""),
    ]
    terminal.table((title, ""), [row for row in rows if row[1]])
