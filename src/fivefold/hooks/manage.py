"""Install, uninstall and look at the hooks of a coding agent."""

from __future__ import annotations

import difflib
import json
import os
import re
import shlex
import socket
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fivefold.errors import InvalidFile, InvalidInput
from fivefold.hooks import entry
from fivefold.hooks.agents import Agent
from fivefold.hooks.entry import namespace_of
from fivefold.hooks.resident import END, is_running, log, send
from fivefold.hooks.state import HookSettings, State
from fivefold.stores.atomic_files import replacement
from fivefold.values.serialize import Json, Value

if TYPE_CHECKING:
    from fivefold.hooks.writer import Drain


OWN = re.compile(r"fivefold[/\\]hooks[/\\]entry\.py\b")
"""By this a command is known as one of fivefold's hooks."""

_INDENT = re.compile(r"^\{\s*?\n([ \t]+)\S")


@dataclass(frozen=True, slots=True)
class FileChange(Value):
    """A configuration file before and after; `before` is None if there is no file, `after` if none is left."""

    file: str
    before: str | None
    after: str | None
    beside: FileChange | None = None
    """The change of a second file in a folder that is only theirs."""

    @property
    def changes(self) -> bool:
        return self.before != self.after or bool(self.beside and self.beside.changes)

    def diff(self) -> str:
        """The change as lines with + and -."""
        old, new = (text.splitlines() if text else [] for text in (self.before, self.after))
        lines = difflib.unified_diff(old, new, self.file, self.file, lineterm="")
        return "\n".join([*lines, *([self.beside.diff()] if self.beside else [])])

    def apply(self) -> None:
        """Writes the file in one step, at the target of a link and with the rights it has."""
        target = Path(self.file).resolve()
        if self.beside:
            self.beside.apply()
        if self.after is None:
            target.unlink(missing_ok=True)
            if self.beside and not any(target.parent.iterdir()):
                target.parent.rmdir()
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        mode = target.stat().st_mode & 0o777 if target.exists() else 0o600
        with replacement(target) as file:
            file.write(self.after.encode())
        target.chmod(mode)


def _program(agent: Agent) -> tuple[str, ...]:
    """The command without its event. Python reads neither its variables nor its site packages: that takes time."""
    return sys.executable, "-I", "-S", str(Path(entry.__file__).resolve()), agent.name


def command(agent: Agent, event: str, state: Path) -> str:
    parts = (*_program(agent), event, str(state))
    if event != entry.TAKING:
        return shlex.join(parts)
    return f"test ! -e {shlex.quote(str(State(state).kept_flag))} || {shlex.join(parts)}"


def installation(agent: Agent, file: Path, state: Path) -> FileChange:
    """The file with the hooks of this agent, each once; hooks of an earlier installation are brought up to date."""
    if agent.plugin:
        return FileChange(str(file), _plugin(file), _plugin_text(agent, state), _manifest(agent, file))
    text, config = _read(file)
    hooks = config.get("hooks", {})
    wanted = {event: agent.entry(command(agent, event, state)) for event in agent.events}
    lists = {event: (hooks.get(event, []), wanted.get(event)) for event in {**hooks, **wanted}}
    start = {} if agent.grouped else {"version": 1}
    changed = {
        **start,
        **config,
        "hooks": _without_empty({event: (old, _with(old, new)) for event, (old, new) in lists.items()}),
    }
    return FileChange(str(file), text, text if changed == config else _written(changed, text))


def _plugin(file: Path) -> str | None:
    """The plugin that is installed; None if there is none."""
    if not file.exists():
        return None
    text = file.read_text("utf-8", "replace")
    if not OWN.search(text):
        raise InvalidFile(file, "was not written by fivefold; move it away first")
    return text


def _plugin_text(agent: Agent, state: Path) -> str:
    text = "".join(_packaged(name) for name in ("plugin.js", str(agent.plugin))).replace("__AGENT__", agent.name)
    values = {"__COMMAND__": list(_program(agent)), "__STATE__": str(state)}
    for name, value in values.items():
        text = text.replace(name, json.dumps(value))
    return text


def _packaged(name: str) -> str:
    return (Path(entry.__file__).parent / name).read_text("utf-8")


def _manifest(agent: Agent, plugin: Path, *, gone: bool = False) -> FileChange | None:
    if agent.manifest is None:
        return None
    file = plugin.with_name(agent.manifest)
    before = file.read_text("utf-8", "replace") if file.exists() else None
    return FileChange(str(file), before, None if gone else _packaged(agent.manifest))


def removal(agent: Agent, file: Path) -> FileChange:
    """The file without fivefold's hooks; a file that held nothing else goes, unless it is a link."""
    if agent.plugin:
        text = _plugin(file)
        return FileChange(str(file), text, None, None if text is None else _manifest(agent, file, gone=True))
    text, config = _read(file)
    if text is None or not any(installed_commands(config)):
        return FileChange(str(file), text, text)
    hooks = _without_empty({event: (items, _with(items, None)) for event, items in config["hooks"].items()})
    changed = {name: hooks if name == "hooks" else value for name, value in config.items() if name != "hooks" or hooks}
    empty = changed in ({}, {"version": 1})
    return FileChange(str(file), text, None if empty and not file.is_symlink() else _written(changed, text))


def installed_events(file: Path, agent: Agent, state: Path) -> dict[str, bool]:
    """The events that have one of fivefold's hooks, and whether it is the one that would be installed now."""
    if agent.plugin:
        change = installation(agent, file, state)
        return {} if change.before is None else dict.fromkeys(agent.events, not change.changes)
    _, config = _read(file)
    return {event: found == command(agent, event, state) for event, found in installed_commands(config)}


def installed_commands(config: Json) -> Iterator[tuple[str, str]]:
    """Each event with a command of fivefold's."""
    for event, items in config.get("hooks", {}).items():
        for item in items:
            yield from ((event, str(hook["command"])) for hook in (item, *item.get("hooks", ())) if _own(hook))


def _without_empty(lists: dict[str, tuple[list[Any], list[Any]]]) -> dict[str, list[Any]]:
    """The lists after a change, by event, without those that the change has left empty."""
    return {event: after for event, (before, after) in lists.items() if after or not before}


def _with(items: list[Any], wanted: Json | None) -> list[Any]:
    """The list with the wanted entry in the place of the first own one, else at the end, and no other own one."""
    result, placed = [], wanted is None
    for item in items:
        rest = _without_own(item)
        if rest is item:
            result.append(item)
            continue
        if not placed:
            result.append(wanted)
            placed = True
        if rest is not None:
            result.append(rest)
    return result if placed else [*result, wanted]


def _without_own(item: Json) -> Json | None:
    """The entry itself if nothing in it is fivefold's, else the rest of it, or None."""
    if _own(item):
        return None
    hooks = item.get("hooks")
    if not isinstance(hooks, list) or not any(map(_own, hooks)):
        return item
    others = [hook for hook in hooks if not _own(hook)]
    return {**item, "hooks": others} if others else None


def _own(hook: object) -> bool:
    return isinstance(hook, dict) and isinstance(hook.get("command"), str) and bool(OWN.search(hook["command"]))


def _read(file: Path) -> tuple[str | None, Json]:
    """The text of the file and what it says; a file that cannot be understood is never written."""
    try:
        text = file.read_text("utf-8")
    except FileNotFoundError:
        return None, {}
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidFile(file, f"could not be read: {error}") from None
    try:
        config = json.loads(text or "{}", object_pairs_hook=_object) if text.strip() else {}
    except (ValueError, RecursionError) as error:
        raise InvalidFile(file, f"is not JSON: {error}", advice="mend it first; nothing was changed") from None
    fault = next((reason for test, reason in _SHAPE if not test(config)), None)
    if fault:
        raise InvalidFile(file, fault, advice="mend it first; nothing was changed")
    return text, config


def _object(pairs: list[tuple[str, Any]]) -> Json:
    names = [name for name, _ in pairs]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"{twice!r} is there twice")
    return dict(pairs)


def _lists(config: Json) -> bool:
    hooks = config.get("hooks", {}).values()
    return all(isinstance(items, list) and all(isinstance(item, dict) for item in items) for items in hooks)


_SHAPE: tuple[tuple[Callable[[Any], bool], str], ...] = (
    (lambda config: isinstance(config, dict), "should hold an object"),
    (lambda config: isinstance(config.get("hooks", {}), dict), "has hooks that are not an object"),
    (_lists, "has hooks that are not lists of objects"),
)


def _written(config: Json, before: str | None) -> str:
    """As the file was written: on one line or with its indent, and its end with or without a line break."""
    old = before or ""
    found = _INDENT.match(old)
    indent = found[1] if found else 2
    text = json.dumps(config, indent=None if old.strip() and "\n" not in old.strip() else indent, ensure_ascii=False)
    return text if old and not old.endswith("\n") else f"{text}\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class HookStatus(Value):
    """The state of an agent's hooks."""

    agent: str
    file: str
    installed: tuple[str, ...]
    """Events with a hook that is up to date."""
    outdated: tuple[str, ...]
    """Events with a hook of another installation or another folder."""
    missing: tuple[str, ...]
    namespace: str
    """Namespace with the memories of this folder's repository."""
    settings: HookSettings
    running: bool
    waiting: int
    """Events in the spool that are not stored yet."""
    waiting_since: datetime | None
    """Time at which the oldest of them came."""
    foreign: tuple[str, ...]
    """Files in the spool that are not events; they are left there."""
    late: int
    """Number of answers that did not come in time."""
    last_error: str | None


def check_system() -> None:
    """Refuse a system that lacks what the hooks need."""
    if not hasattr(socket, "AF_UNIX") or not hasattr(os, "fork"):
        raise InvalidInput(
            "hooks need Unix sockets and fork, which this system does not have; use them in WSL, or use MCP"
        )


def install(agent: Agent, file: Path, state: State, store: str | None, *, dry_run: bool = False) -> FileChange:
    """Add the hooks to the agent's configuration; all agents of a user share the settings and the store."""
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

    state.create()
    with open_store(state.settings().store) as store:
        return SpoolWriter(state, store.namespace, partial(log, state)).drain()


def status(agent: Agent, file: Path, state: State, folder: Path) -> HookStatus:
    """The installed hooks and the state of the resident process."""
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
