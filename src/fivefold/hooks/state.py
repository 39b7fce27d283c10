"""The folder in which the hooks keep what they need between two events, and their settings."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from fivefold.errors import InvalidFile, InvalidInput
from fivefold.hooks.entry import BLOCKS, EVENT_FILE, FLAG, KEPT, SOCKET, SPOOL, kept_file
from fivefold.stores.atomic_files import replacement
from fivefold.values.field_types import About, Between, Share, TokenBudget, VisibleText
from fivefold.values.fields import build
from fivefold.values.recall_trace import Effort
from fivefold.values.serialize import Json, Value

HOME_VARIABLE = "FIVEFOLD_HOME"


@dataclass(frozen=True, slots=True, kw_only=True)
class HookSettings(Value):
    """What the hooks of all agents go by; `hooks.json` in their folder has it."""

    store: Annotated[
        VisibleText, About("Where memories are stored: a path or an address", left_out="`memory.db` there")
    ]
    token_budget: Annotated[TokenBudget, About("The most tokens that a prompt gets")] = 400
    session_tokens: Annotated[TokenBudget, About("The most tokens that a session begins with")] = 600
    min_chance: Annotated[Share, About("How likely a memory must answer a prompt to come along")] = 0.1
    effort: Annotated[Effort, About("How much work a recall for a prompt may do")] = "low"
    idle_minutes: Annotated[
        int, Between(1, 1_440), About("After how many minutes without an event the resident process ends")
    ] = 30


@dataclass(frozen=True, slots=True)
class State:
    """The folder: settings, socket, spool, blocks, and how far each transcript is read."""

    folder: Path

    @property
    def settings_file(self) -> Path:
        return self.folder / "hooks.json"

    @property
    def socket(self) -> Path:
        return self.folder / SOCKET

    @property
    def lock(self) -> Path:
        return self.folder / "hooks.lock"

    @property
    def log(self) -> Path:
        return self.folder / "hooks.log"

    @property
    def spool(self) -> Path:
        return self.folder / SPOOL

    @property
    def failed(self) -> Path:
        return self.folder / "failed"

    @property
    def offsets(self) -> Path:
        return self.folder / "offsets.json"

    def block(self, namespace: str) -> Path:
        return self.folder / BLOCKS / f"{namespace}.json"

    def keep(self, conversation: str, block: str) -> None:
        """Keep the answer to a prompt until the agent takes it; an empty one takes the last away."""
        path = self.folder / kept_file(conversation)
        if block:
            write_json(path, block)
            self.kept_flag.touch()
        else:
            path.unlink(missing_ok=True)

    @property
    def kept_flag(self) -> Path:
        """A file that is there while an answer is kept."""
        return self.folder / KEPT / FLAG

    def events(self) -> list[Path]:
        """What waits to be stored, oldest first."""
        return sorted(self.spool.glob(f"*{EVENT_FILE}"))

    def create(self) -> None:
        """Make the folder, for its user alone."""
        for folder in (self.folder, self.spool, self.failed, self.folder / BLOCKS, self.folder / KEPT):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def settings(self) -> HookSettings:
        data = read_json(self.settings_file)
        try:
            return build(HookSettings, data or {"store": str(self.folder / "memory.db")}, noun="setting of hooks")
        except InvalidInput as error:
            raise InvalidFile(self.settings_file, error, place="settings") from None

    def save_settings(self, settings: HookSettings) -> None:
        self.create()
        write_json(self.settings_file, settings.to_dict())


def default_state() -> State:
    """The folder of this user: `~/.fivefold`, or the one that a variable names."""
    given = os.environ.get(HOME_VARIABLE)
    return State(Path(given).expanduser().absolute() if given else Path.home() / ".fivefold")


def read_json(path: Path) -> Json:
    """The object in a file; empty where there is no file."""
    try:
        data = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise InvalidFile(path, f"could not be read: {error}") from None
    if not isinstance(data, dict):
        raise InvalidFile(path, "should hold an object")
    return data


def write_json(path: Path, data: Mapping[str, Any] | str) -> None:
    with replacement(path) as file:
        file.write(json.dumps(data, ensure_ascii=False, indent=None if isinstance(data, str) else 2).encode())
