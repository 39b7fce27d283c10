"""Anthropic's memory tool: its files are memories, durable, with their earlier versions, and found by every recall."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any
from urllib.parse import unquote

from fivefold.adapters.hits import all_memories, checked_engine, original_metadata, original_of, storable
from fivefold.engine import Engine
from fivefold.engine.async_engine import threads_of
from fivefold.errors import InvalidInput, MissingExtra, NotFound
from fivefold.values.filters import Filter, MetadataTest
from fivefold.values.memory import Memory
from fivefold.values.serialize import Json
from fivefold.values.times import content_hash
from fivefold.values.validate import is_name, visible

try:
    from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError
    from anthropic.types.beta import (
        BetaCacheControlEphemeralParam,
        BetaMemoryTool20250818Command,
        BetaMemoryTool20250818CreateCommand,
        BetaMemoryTool20250818DeleteCommand,
        BetaMemoryTool20250818InsertCommand,
        BetaMemoryTool20250818RenameCommand,
        BetaMemoryTool20250818StrReplaceCommand,
        BetaMemoryTool20250818ViewCommand,
    )
except ImportError as _error:
    raise MissingExtra("the Anthropic adapter", "anthropic") from _error

LIBRARY = "anthropic"
ROOT = "/memories"
SHOWN_LEVELS = 2
MAX_LINES = 999_999
SNIPPET_LINES = 2
"""Lines shown before and after a change."""

PARAMETERS: dict[str, dict[str, tuple[type, bool]]] = {
    "view": {"path": (str, True), "view_range": (list, False)},
    "create": {"path": (str, True), "file_text": (str, True)},
    "str_replace": {"path": (str, True), "old_str": (str, True), "new_str": (str, False)},
    "insert": {"path": (str, True), "insert_line": (int, True), "insert_text": (str, True)},
    "delete": {"path": (str, True)},
    "rename": {"old_path": (str, True), "new_path": (str, True)},
}
"""Parameters of each command: the type, and True if it is needed."""


class MemoryFiles:
    """A tree of files under /memories. A file is a pinned memory that its path speaks; an edit supersedes it."""

    def __init__(self, engine: Engine) -> None:
        self.engine = checked_engine(engine)
        self._lock = threading.Lock()

    def run(self, command: BetaMemoryTool20250818Command) -> str:
        """Run a command as a model gave it; what is wrong with it is a ToolError, which the model can read."""
        given = command.model_dump(exclude_unset=True, warnings=False)
        name = given.pop("command", None)
        known = PARAMETERS.get(str(name))
        if known is None:
            raise ToolError(f"Unknown command {name!r}; known are {', '.join(PARAMETERS)}.")
        _check_parameters(str(name), given, known)
        commands: dict[str, Callable[..., str]] = {
            "view": self.view,
            "create": self.create,
            "str_replace": self.str_replace,
            "insert": self.insert,
            "delete": self.delete,
            "rename": self.rename,
        }
        try:
            with self._lock:
                return commands[str(name)](**{key: value for key, value in given.items() if value is not None})
        except (InvalidInput, NotFound) as error:
            raise ToolError(str(error)) from error

    def view(self, path: str, view_range: Sequence[int] | None = None) -> str:
        path = _checked_path(path)
        memory = self._find(path)
        if memory is None:
            return self._view_folder(path)
        lines = _text(memory).split("\n")
        if len(lines) > MAX_LINES:
            raise ToolError(f"File {path} exceeds maximum line limit of {MAX_LINES:,} lines.")
        first, last = _range(view_range, len(lines), path)
        return f"Here's the content of {path} with line numbers:\n" + _numbered(lines, first, last)

    def create(self, path: str, file_text: str) -> str:
        path = _checked_path(path)
        self._check_free(path, f"File {path} already exists")
        record = _record(path, file_text)
        if not self.engine.remember_many([record]).stored:  # it says what was recalled a moment ago
            (empty,) = self.engine.remember_many([_record(path, "")]).stored
            self.engine.supersede(empty, record)
            self.engine.forget(empty)
        return f"File created successfully at: {path}"

    def str_replace(self, path: str, old_str: str, new_str: str = "") -> str:
        memory = self._file(path)
        path, text = _checked_path(path), _text(memory)
        count = text.count(old_str) if old_str else 0
        if count == 0:
            raise ToolError(f"No replacement was performed, old_str `{old_str}` did not appear verbatim in {path}.")
        at = text.find(old_str)
        if count > 1:
            parts = text.split(old_str)
            places = [str("".join(parts[: n + 1]).count("\n") + old_str.count("\n") * n + 1) for n in range(count)]
            raise ToolError(
                f"No replacement was performed. Multiple occurrences of old_str `{old_str}` in lines: "
                f"{', '.join(dict.fromkeys(places))}. Please ensure it is unique"
            )
        changed = text.replace(old_str, new_str)
        self._write(memory, path, changed)
        line, lines = text[:at].count("\n") + 1, changed.split("\n")
        last = min(len(lines), line + new_str.count("\n") + SNIPPET_LINES)
        snippet = _numbered(lines, max(1, line - SNIPPET_LINES), last)
        return (
            f"The memory file has been edited. Here is the snippet showing the change (with line numbers):\n{snippet}"
        )

    def insert(self, path: str, insert_line: int, insert_text: str) -> str:
        memory = self._file(path)
        path, lines = _checked_path(path), _text(memory).removesuffix("\n").split("\n")
        if lines == [""]:
            lines = []
        if not 0 <= insert_line <= len(lines):
            raise ToolError(
                f"Invalid `insert_line` parameter: {insert_line}. It should be within the range [0, {len(lines)}]."
            )
        lines.insert(insert_line, insert_text.removesuffix("\n"))
        self._write(memory, path, "\n".join(lines) + "\n")
        return f"The file {path} has been edited."

    def delete(self, path: str) -> str:
        """Forget a file, or a folder with all its files, together with their earlier versions."""
        path = _checked_path(path)
        if path == ROOT:
            raise ToolError(f"Cannot delete the {ROOT} directory itself")
        for memory in self._at(path):
            for version in self.versions(memory):
                self.engine.forget(version.id)
        return f"Successfully deleted {path}"

    def rename(self, old_path: str, new_path: str) -> str:
        old, new = _checked_path(old_path), _checked_path(new_path)
        if ROOT in (old, new):
            raise ToolError(f"Cannot rename the {ROOT} directory itself")
        if new.startswith(f"{old}/"):
            raise ToolError(f"Cannot move {old} into itself")
        files = self._at(old)
        self._check_free(new, f"The destination {new} already exists")
        moved = [(memory, _checked_path(new + _path(memory).removeprefix(old))) for memory in files]
        for memory, path in moved:
            record = _record(path, _text(memory))
            self.engine.update(memory.id, content=record["content"], speaker=path, metadata=record["metadata"])
        return f"Successfully renamed {old} to {new}"

    def clear(self) -> str:
        """Forget every file with its earlier versions; other memories stay."""
        with self._lock:
            for memory in self._under(ROOT):
                for version in self.versions(memory):
                    self.engine.forget(version.id)
        return "All memory cleared"

    def versions(self, memory: Memory) -> list[Memory]:
        """The versions of a file, oldest first, the present one last."""
        return [each for each in self.engine.history(memory.id).chain if LIBRARY in each.metadata]

    def _view_folder(self, path: str) -> str:
        files = self._under(path)
        if not files and path != ROOT:
            raise ToolError(f"The path {path} does not exist. Please provide a valid path.")
        sizes: dict[str, int] = {}
        for memory in files:
            names = _path(memory).removeprefix(f"{path}/").split("/")
            size = len(_text(memory).encode())
            if not any(name.startswith(".") for name in names):
                for level in range(1, min(len(names), SHOWN_LEVELS) + 1):
                    shown = "/".join(names[:level]) + ("/" if level < len(names) else "")
                    sizes[shown] = sizes.get(shown, 0) + size
        header = f"Here're the files and directories up to 2 levels deep in {path}, excluding hidden items:"
        total = sum(size for shown, size in sizes.items() if "/" not in shown.removesuffix("/"))
        return "\n".join(
            [header, f"{_size(total)}\t{path}", *(f"{_size(sizes[name])}\t{path}/{name}" for name in sorted(sizes))]
        )

    def _find(self, path: str) -> Memory | None:
        found = self._current("path", path)
        return found[0] if found else None

    def _under(self, folder: str) -> list[Memory]:
        return self._current("folders", folder)

    def _current(self, key: str, value: str) -> list[Memory]:
        """The present versions of files, those written last first."""
        test = MetadataTest(key=f"{LIBRARY}.{key}", any_of=(value,))
        return list(all_memories(self.engine, Filter(metadata=(test,), superseded=False)))

    def _at(self, path: str) -> list[Memory]:
        """The file of that path, or all files of the folder."""
        memory = self._find(path)
        found = self._under(path) if memory is None else [memory]
        if not found:
            raise ToolError(f"The path {path} does not exist")
        return found

    def _file(self, path: str) -> Memory:
        path = _checked_path(path)
        memory = self._find(path)
        if memory is None and (path == ROOT or self._under(path)):
            raise ToolError(f"The path {path} is not a file.")
        if memory is None:
            raise ToolError(f"The path {path} does not exist. Please provide a valid path.")
        return memory

    def _check_free(self, path: str, reason: str) -> None:
        if path == ROOT or self._find(path) is not None or self._under(path):
            raise ToolError(reason)
        for folder in _folders(path):
            if self._find(folder) is not None:
                raise ToolError(f"{folder} is a file, not a directory")

    def _write(self, memory: Memory, path: str, text: str) -> None:
        """Store a new version; a change of letter case or space alone is made in place, since it says the same."""
        record = _record(path, text)
        if content_hash(path, record["content"]) == content_hash(memory.speaker, memory.content):
            self.engine.update(memory.id, content=record["content"], metadata=record["metadata"])
        else:
            self.engine.supersede(memory.id, record)


class FivefoldMemoryTool(BetaAbstractMemoryTool):
    """The memory tool (`memory_20250818`) over a namespace, for `client.beta.messages.tool_runner(tools=[…])`."""

    def __init__(self, engine: Engine, *, cache_control: BetaCacheControlEphemeralParam | None = None) -> None:
        super().__init__(cache_control=cache_control)
        self.files: MemoryFiles = MemoryFiles(engine)

    def execute(self, command: BetaMemoryTool20250818Command) -> str:
        return self.files.run(command)

    def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        return self.files.run(command)

    def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        return self.files.run(command)

    def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        return self.files.run(command)

    def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        return self.files.run(command)

    def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        return self.files.run(command)

    def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        return self.files.run(command)

    def clear_all_memory(self) -> str:
        return self.files.clear()


class FivefoldAsyncMemoryTool(BetaAsyncAbstractMemoryTool):
    """The memory tool for asynchronous clients; commands run in threads."""

    def __init__(self, engine: Engine, *, cache_control: BetaCacheControlEphemeralParam | None = None) -> None:
        super().__init__(cache_control=cache_control)
        self.files: MemoryFiles = MemoryFiles(engine)

    async def execute(self, command: BetaMemoryTool20250818Command) -> str:
        return await threads_of(self.files.engine.store).run("write", partial(self.files.run, command))

    async def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        return await self.execute(command)

    async def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        return await self.execute(command)

    async def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        return await self.execute(command)

    async def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        return await self.execute(command)

    async def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        return await self.execute(command)

    async def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        return await self.execute(command)

    async def clear_all_memory(self) -> str:
        return await threads_of(self.files.engine.store).run("write", self.files.clear)


def _check_parameters(name: str, given: Mapping[str, Any], known: Mapping[str, tuple[type, bool]]) -> None:
    for key, value in given.items():
        if key not in known:
            raise ToolError(f"{name} has no parameter {key!r}; known are {', '.join(known)}.")
        kind, needed = known[key]
        if (value is not None or needed) and (not isinstance(value, kind) or isinstance(value, bool)):
            raise ToolError(f"The parameter {key!r} of {name} must be of type {kind.__name__}.")
    for key, (_, needed) in known.items():
        if needed and key not in given:
            raise ToolError(f"{name} needs the parameter {key!r}.")


def _checked_path(path: str) -> str:
    """The path without a slash at its end; one that leads elsewhere, or that no name can be, is refused."""
    root, *names = path.rstrip("/").removeprefix("/").split("/")
    if f"/{root}" != ROOT or not path.startswith("/"):
        raise ToolError(f"Path must start with {ROOT}, got: {path}")
    for name in names:
        plain = unquote(name)
        if plain in ("", ".", "..") or "/" in plain or "\\" in plain:
            raise ToolError(f"Path {path} would escape {ROOT} directory, or has an empty name")
    checked = "/".join([ROOT, *names])
    if not is_name(checked):
        raise ToolError(f"Path {path!r} has control characters, or more than 200 characters")
    return checked


def _folders(path: str) -> list[str]:
    """The folders that a file lies in, from the root on."""
    names = path.split("/")
    return ["/".join(names[:level]) for level in range(2, len(names))]


def _record(path: str, text: str) -> Json:
    """A file as a record. The engine drops the space around a text, so the metadata keeps it."""
    content = storable(text)
    if visible(content):
        around = {"start": text[: len(text) - len(text.lstrip())], "end": text[len(text.rstrip()) :]}
    else:
        content, around = f"(empty file {path})", {"blank": text}
    original = {"path": path, "folders": _folders(path), **around}
    return {
        "content": content,
        "speaker": path,
        "origin": "assistant",
        "pinned": True,
        "metadata": original_metadata(content, LIBRARY, original),
    }


def _text(memory: Memory) -> str:
    """The text of a file as it was written; its content alone if another face has changed that."""
    original = original_of(memory, LIBRARY)
    if original is None:
        return memory.content
    return str(original.get("blank", f"{original.get('start', '')}{memory.content}{original.get('end', '')}"))


def _path(memory: Memory) -> str:
    return str(memory.metadata[LIBRARY]["path"])


def _range(view_range: Sequence[int] | None, count: int, path: str) -> tuple[int, int]:
    if view_range is None:
        return 1, count
    if len(view_range) != 2 or not all(type(line) is int for line in view_range):
        raise ToolError("view_range must be two line numbers, as in [1, 10]; -1 stands for the last line.")
    first, last = view_range
    last = count if last == -1 else min(last, count)
    if not 1 <= first <= last:
        raise ToolError(f"Invalid `view_range` {list(view_range)}: {path} has {count} lines.")
    return first, last


def _numbered(lines: Sequence[str], first: int, last: int) -> str:
    numbered: Iterable[tuple[int, str]] = enumerate(lines[first - 1 : last], first)
    return "\n".join(f"{number:6}\t{line}" for number, line in numbered)


def _size(count: int) -> str:
    size, unit = float(count), "B"
    for larger in ("K", "M", "G"):
        if size < 1024:
            break
        size, unit = size / 1024, larger
    return f"{size:.1f}".removesuffix(".0") + unit
