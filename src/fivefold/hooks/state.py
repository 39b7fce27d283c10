"""The folder in which the hooks keep what they need between two events, and their settings."""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from fivefold.errors import FivefoldError, InvalidFile, InvalidInput
from fivefold.hooks.entry import EVENT_FILE, FLAG, KEPT, LATE, SEALED, SETTINGS, SOCKET, SPOOL, START_WAIT_MS, WAIT_MS
from fivefold.stores.atomic_files import LEFTOVER_S, delete_leftovers, replacement
from fivefold.stores.sqlite.encryption import has_key
from fivefold.values.fields import About, Between, Share, TokenBudget, VisibleText, build
from fivefold.values.recall_trace import Effort
from fivefold.values.serialize import Json, Value

MAX_OFFSETS = 1_000
"""Transcripts whose length is kept; an older one is read from its start, which adds nothing twice."""

FIRST_PAUSE_S, MAX_PAUSE_S = 1.0, 300.0
"""Before what could not be stored is tried again; each pause is twice the last."""

HOME_VARIABLE = "FIVEFOLD_HOME"

_UNFINISHED = re.compile(r"\d{20}-\d+")
"""The name of an event while a hook writes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HookSettings(Value):
    """Settings of the hooks of all agents, from `hooks.json` in their folder."""

    store: Annotated[
        VisibleText, About("The store of the memories: a path or an address", left_out="`memory.db` there")
    ]
    token_budget: Annotated[TokenBudget, About("Maximum number of tokens that a prompt gets")] = 400
    session_tokens: Annotated[TokenBudget, About("Maximum number of tokens that a session begins with")] = 600
    min_chance: Annotated[Share, About("Minimum chance of a memory that a prompt gets")] = 0.1
    wait_ms: Annotated[int, Between(1, 4_000), About("Maximum milliseconds that a prompt waits for its memories")] = (
        WAIT_MS
    )
    start_wait_ms: Annotated[
        int,
        Between(1, 4_000),
        About("Maximum milliseconds that the start of a session waits for its block, even while the process starts"),
    ] = START_WAIT_MS
    effort: Annotated[Effort, About("The work that a recall for a prompt may do")] = "low"
    idle_minutes: Annotated[
        int, Between(1, 1_440), About("Minutes without an event after which the resident process ends")
    ] = 30


class State:
    """The folder: settings, socket, spool, and how far each transcript is read. No file has a text that is stored."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.settings_file: Path = folder / SETTINGS
        self.socket: Path = folder / SOCKET
        self.spool: Path = folder / SPOOL
        self.lock: Path = folder / "hooks.lock"
        self.log: Path = folder / "hooks.log"
        self.offsets: Path = folder / "offsets.json"
        self.kept_flag: Path = folder / KEPT / FLAG
        """A file that is there while an answer is kept."""

    @property
    def late(self) -> int:
        """Number of answers that did not come in time, as the hooks have counted them."""
        path = self.folder / LATE
        return path.stat().st_size if path.exists() else 0

    def events(self) -> list[Path]:
        """The events that wait to be stored, oldest first."""
        return [path for path in self._spooled() if path.name.endswith(EVENT_FILE) and _is_plain(path)]

    def foreign(self) -> list[str]:
        """The names of what lies in the spool and is not an event: a FIFO, a link, a folder, a foreign file."""
        return [
            path.name
            for path in self._spooled()
            if not _is_plain(path) or not (path.name.endswith(EVENT_FILE) or _UNFINISHED.fullmatch(path.name))
        ]

    def delete_leftovers(self) -> None:
        """Delete what killed processes left unfinished, and what earlier versions kept of memories."""
        for path in self._spooled():
            with suppress(OSError):
                if _UNFINISHED.fullmatch(path.name) and path.lstat().st_mtime < time.time() - LEFTOVER_S:
                    path.unlink()
        for name in (SETTINGS, self.offsets.name):
            delete_leftovers(self.folder, name)
        for pattern in ("blocks/*.json", "kept/*.json", "blocks/.*.part", "kept/.*.part"):
            for path in self.folder.glob(pattern):
                path.unlink(missing_ok=True)
        for path in self.folder.glob(f"failed/*{EVENT_FILE}"):
            os.replace(path, self.spool / path.name)
        for name in ("blocks", "failed"):
            with suppress(OSError):
                (self.folder / name).rmdir()
        self.kept_flag.unlink(missing_ok=True)

    def seal(self, store: str) -> None:
        """Note whether the store is encrypted: then no event may wait in a file."""
        if "://" not in store and has_key(store):
            (self.folder / SEALED).touch()
        else:
            (self.folder / SEALED).unlink(missing_ok=True)

    def _spooled(self) -> list[Path]:
        return sorted(self.spool.iterdir()) if self.spool.is_dir() else []

    def create(self) -> None:
        """Make the folder, for its user alone."""
        for folder in (self.folder, self.spool, self.folder / KEPT):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def settings(self) -> HookSettings:
        data = read_json(self.settings_file)
        try:
            return build(HookSettings, data or {"store": str(self.folder / "memory.db")}, noun="setting of hooks")
        except InvalidInput as error:
            raise InvalidFile(self.settings_file, error, place="settings") from None

    def save_settings(self, settings: HookSettings) -> None:
        self.create()
        with replacement(self.settings_file) as file:
            file.write(json.dumps(settings.to_dict(), ensure_ascii=False, indent=2).encode())


def _is_plain(path: Path) -> bool:
    """True if it is a file itself, not a link to one or anything that would make a reader wait."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except FileNotFoundError:
        return False


def default_state() -> State:
    """The folder of this user: `~/.fivefold`, or the one that a variable names."""
    given = os.environ.get(HOME_VARIABLE)
    return State(Path(given).expanduser().absolute() if given else Path.home() / ".fivefold")


@contextmanager
def sole(folder: Path) -> Iterator[None]:
    """Wait until no other process works in a folder, and be the one that does."""
    import fcntl  # which Windows lacks

    number = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(number, fcntl.LOCK_EX)
        yield
    finally:
        os.close(number)


def read_json(path: Path) -> Json:
    """The object in a file; empty if there is no file."""
    try:
        data = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise InvalidFile(path, f"could not be read: {error}") from None
    if not isinstance(data, dict):
        raise InvalidFile(path, "should hold an object")
    return data


def read_offsets(path: Path) -> dict[str, int]:
    """The position to which each transcript was read; an unknown one is read from its start, which adds nothing
    twice."""
    try:
        offsets = read_json(path)
    except InvalidFile:
        return {}
    # Earlier versions wrote the path itself.
    names = {name: offset_name(Path(name)) if os.path.isabs(name) else name for name in offsets}
    return {names[name]: end for name, end in offsets.items() if isinstance(end, int) and end >= 0}


def write_offset(path: Path, transcript: Path, end: int) -> None:
    """Note how far a transcript is read, in the file as it is: a kill leaves no second file behind."""
    offsets, name = read_offsets(path), offset_name(transcript)
    offsets.pop(name, None)
    latest = dict([*offsets.items(), (name, end)][-MAX_OFFSETS:])
    number = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    with open(number, "wb") as file:
        file.write(json.dumps(latest, indent=2).encode())
        file.truncate()


def offset_name(transcript: Path) -> str:
    """A transcript's name among the offsets: a digest, since its path names the project and the session."""
    return hashlib.blake2b(os.fsencode(transcript), digest_size=16).hexdigest()


def reason_of(error: Exception) -> str:
    """An error for the log. One that is not ours may quote a text, so that only its kind and place are said."""
    if isinstance(error, FivefoldError):
        return str(error)
    if isinstance(error, OSError):
        return f"{type(error).__name__}: {error.strerror}"
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    place = "" if last is None else f" in {Path(last.tb_frame.f_code.co_filename).name}:{last.tb_lineno}"
    return f"{type(error).__name__}{place}"
