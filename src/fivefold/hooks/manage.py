"""Install, uninstall and look at the hooks of a coding agent."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from fivefold.errors import InvalidInput
from fivefold.hooks.agents import Agent
from fivefold.hooks.configuration import FileChange, installation, installed_events, removal
from fivefold.hooks.entry import namespace_of
from fivefold.hooks.resident import END, is_running, log, send
from fivefold.hooks.state import HookSettings, State
from fivefold.values.serialize import Value

if TYPE_CHECKING:
    from fivefold.hooks.writer import Drain


@dataclass(frozen=True, slots=True, kw_only=True)
class HookStatus(Value):
    """How things stand with the hooks of an agent."""

    agent: str
    file: str
    installed: tuple[str, ...]
    """Events with a hook that is up to date."""
    outdated: tuple[str, ...]
    """Events with a hook of another installation or another folder."""
    missing: tuple[str, ...]
    namespace: str
    """Where the memories of this folder's repository are."""
    settings: HookSettings
    running: bool
    waiting: int
    """Events in the spool that are not stored yet."""
    waiting_since: datetime | None
    """When the oldest of them came."""
    foreign: tuple[str, ...]
    """What lies in the spool and is not an event; it is left there."""
    late: int
    """How often an answer did not come in time."""
    last_error: str | None


def check_system() -> None:
    """Refuse a system that lacks what the hooks need."""
    if not hasattr(socket, "AF_UNIX") or not hasattr(os, "fork"):
        raise InvalidInput("hooks need Unix sockets and fork, which this system does not have")


def install(agent: Agent, file: Path, state: State, store: str | None, *, dry_run: bool = False) -> FileChange:
    """Add the hooks to the agent's configuration; all agents of a user share the settings and the store."""
    check_system()
    known = state.settings()
    settings = known if store is None else replace(known, store=store)
    change = installation(agent, file, state.folder)
    if not dry_run:
        if settings != known or not state.settings_file.exists():
            state.save_settings(settings)
            send(state, END)
        state.create()
        change.apply()
    return change


def uninstall(agent: Agent, file: Path, *, dry_run: bool = False) -> FileChange:
    """Remove the hooks from the agent's configuration. Memories and settings stay."""
    change = removal(agent, file)
    if change.changes and not dry_run:
        change.apply()
    return change


def retry(state: State) -> Drain:
    """Try at once to store what waits, in this process."""
    from fivefold.engine import store as open_store  # the other actions need no engine, which takes time to load
    from fivefold.hooks.writer import SpoolWriter

    check_system()
    state.create()
    with open_store(state.settings().store) as store:
        return SpoolWriter(state, store.namespace, partial(log, state)).drain()


def status(agent: Agent, file: Path, state: State, folder: Path) -> HookStatus:
    """What is installed, and what the resident process does."""
    found = installed_events(file, agent, state.folder)
    waiting = state.events()
    lines = state.log.read_text("utf-8", "replace").splitlines() if state.log.exists() else []
    return HookStatus(
        agent=agent.name,
        file=str(file),
        installed=tuple(event for event, current in found.items() if current and event in agent.events),
        outdated=tuple(event for event, current in found.items() if not current or event not in agent.events),
        missing=tuple(event for event in agent.events if event not in found),
        namespace=namespace_of(str(folder)),
        settings=state.settings(),
        running=is_running(state),
        waiting=len(waiting),
        waiting_since=datetime.fromtimestamp(waiting[0].lstat().st_mtime, UTC) if waiting else None,
        foreign=tuple(state.foreign()),
        late=state.late,
        last_error=lines[-1] if lines else None,
    )
