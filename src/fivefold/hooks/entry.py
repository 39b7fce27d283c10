"""The command that a coding agent runs at each event: python entry.py AGENT EVENT STATE, the payload on standard input.

The agent waits for it, so that it loads no module that takes time, not even `socket` or `json`, and nothing else of
fivefold. It asks the resident process for the block of a session and the memories of a prompt; the answer must come
in time. New turns go to the spool. No file here holds a memory, so none holds a forgotten one. The agent sees no
failure.
"""

from __future__ import annotations

import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    import _socket

WAIT_MS, START_WAIT_MS = 300, 2_000
"""The defaults of how long a prompt, and the start of a session, wait for their answer from the start of the hook."""

CONNECT_S = 0.02
"""Between two attempts to reach a resident process that has only just been started."""

SPOOL, LATE, SETTINGS, SOCKET = "spool", "late", "hooks.json", "hooks.sock"
KEPT, FLAG = "kept", "any"
"""The folder and the name of a file that is there while the resident process keeps an answer for Cursor."""

EVENT_FILE = ".event"

SEALED, SEND_S = "sealed", 2.0
"""A file that is there if the store is encrypted: events are then sent, within so many seconds, and not spooled."""

STARTING = {"SessionStart": "additionalContext", "sessionStart": "additional_context"}
"""Events that get the block of a session, and the field in which each agent takes it."""

ASKING = ("UserPromptSubmit", "BeforeAgent")
"""Events that wait for an answer."""

KEEPING, TAKING = "beforeSubmitPrompt", "postToolUse"
"""Cursor takes nothing at a prompt, so that the answer is kept until the agent has used a tool."""

PROJECTS = {"claude-code": "CLAUDE_PROJECT_DIR", "cursor": "CURSOR_PROJECT_DIR", "gemini-cli": "GEMINI_PROJECT_DIR"}
"""The variable in which an agent names the project; the others run hooks in its folder."""


def main(arguments: list[str]) -> None:
    agent, event, state = arguments[:3]
    payload = os.fsencode(arguments[3]) if len(arguments) > 3 else _standard_input()
    namespace = namespace_of(project_folder(agent, payload))
    os.chdir(state)  # the path of a socket may only be short
    header = f"{agent}\n{event}\n{namespace}\n{time.time()!r}\n".encode()
    if event in STARTING:
        _ask(state, b"begin", header, _time_left("start_wait_ms", START_WAIT_MS), starts=True)
    elif event in ASKING:
        try:
            if not _has_transcript(payload):
                _leave(state, header + payload)
        except OSError:
            pass  # a full disk keeps no prompt from its answer
        _ask(state, b"ask", header + payload, _time_left("wait_ms", WAIT_MS))
    elif event == TAKING:
        _ask(state, b"take", header + payload, _time_left("wait_ms", WAIT_MS))
    else:
        _leave(state, header + payload)
        _call(state, b"keep\n" + header + payload if event == KEEPING else b"drain\n" + header)


def project_folder(agent: str, payload: bytes) -> str:
    """The folder in which the agent works. Cursor runs hooks of the user in its own folder and names the project
    elsewhere."""
    named = os.environ.get(PROJECTS.get(agent, ""))
    if named or agent != "cursor":
        return named or os.getcwd()
    import json

    roots = json.loads(payload).get("workspace_roots")
    return roots[0] if roots else os.getcwd()


def namespace_of(folder: str) -> str:
    """The namespace of a project: one for all worktrees of a repository, else one for the folder."""
    path = repository(folder)
    shown = os.path.dirname(path) if os.path.basename(path) == ".git" else path.removesuffix(".git")
    name = "".join(sign if sign.isalnum() or sign in "._-" else "-" for sign in os.path.basename(shown)) or "root"
    number = 0xCBF29CE484222325
    for byte in os.fsencode(path):
        number = (number ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF  # FNV-1a; hashlib takes too long to load
    return f"{name[:100]}-{number:016x}"


def repository(folder: str) -> str:
    """The folder that all worktrees of a repository share; `folder` itself if there is no repository."""
    own = path = os.path.realpath(folder)
    while True:
        git = os.path.join(path, ".git")
        if os.path.isdir(git):
            return git
        if os.path.isfile(git):
            return _common_folder(path, git)
        if os.path.dirname(path) == path:
            return own
        path = os.path.dirname(path)


def _common_folder(path: str, git: str) -> str:
    """The folder that a `.git` file stands for; `path` itself unless that folder names the file back, as git checks.

    Otherwise anyone who makes a folder could have it take the memories of another project.
    """
    folder = os.path.realpath(os.path.join(path, _first_line(git).removeprefix("gitdir:").strip()))
    common = os.path.join(folder, "commondir")
    if os.path.isfile(common):
        shared = os.path.realpath(os.path.join(folder, _first_line(common)))
        named, place = os.path.join(folder, "gitdir"), os.path.join(shared, "worktrees")
        known = os.path.dirname(folder) == place and os.path.isfile(named)
        return shared if known and _is_same(os.path.join(folder, _first_line(named)), git) else path
    tree = _worktree_setting(os.path.join(folder, "config"))
    return folder if tree and _is_same(os.path.join(folder, tree), path) else path


def _is_same(one: str, other: str) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)


def _worktree_setting(config: str) -> str:
    """The folder that the configuration of a submodule's repository names for its files; empty if it names none."""
    if not os.path.isfile(config):
        return ""
    for line in _read(config).splitlines():
        name, _, value = line.partition("=")
        if name.strip().lower() == "worktree":
            return value.strip().strip('"')
    return ""


def _leave(state: str, event: bytes) -> None:
    if os.path.exists(SEALED):
        _call(state, b"store\n" + event, starts=True, within=SEND_S)
    else:
        spool(event)


def spool(event: bytes) -> None:
    """Leave an event for the resident process, on the disk before it has its name."""
    name = f"{SPOOL}/{time.time_ns():020d}-{os.getpid()}"
    file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        try:
            _write_all(file, event)
            os.fsync(file)
        finally:
            os.close(file)
        os.rename(name, name + EVENT_FILE)
    except BaseException:
        os.unlink(name)
        raise
    folder = os.open(SPOOL, os.O_RDONLY)  # a new name is on the disk once its folder is
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _has_transcript(payload: bytes) -> bool:
    """True if the payload names a transcript, which has the prompt too; a parser would take time to load."""
    _, found, rest = payload.partition(b'"transcript_path"')
    return bool(found) and rest.lstrip(b" \t\r\n:").startswith(b'"')


def _ask(state: str, what: bytes, event: bytes, wait: float, starts: bool = False) -> None:
    """Print the answer of the resident process; one that does not come in time is counted."""
    request = what + f"\n{time.time() + wait!r}\n".encode() + event
    if _call(state, request, max(wait, 0.001), starts):
        return
    file = os.open(LATE, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.write(file, b".")
    finally:
        os.close(file)


def _call(state: str, message: bytes, wait: float = 0.0, starts: bool = False, within: float = 0.0) -> bool:
    """Send a message and print the answer, False if none came in time; with `starts`, wait also for a new process."""
    import _socket

    end = time.monotonic() + wait
    client = _connected(state, end + within, starts)
    if client is None:
        return False
    try:
        client.settimeout(max(end + within - time.monotonic(), 0.002))
        client.sendall(message)
        client.shutdown(_socket.SHUT_WR)
        answer = b""
        while wait and (left := end - time.monotonic()) > 0:
            client.settimeout(left)
            part = client.recv(65_536)
            if not part:
                _write_all(1, answer)
                return True
            answer += part
    except TimeoutError:
        pass
    finally:
        client.close()
    return not wait


def _connected(state: str, end: float, starts: bool) -> _socket.socket | None:
    import _socket

    started = False
    while True:
        client = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        try:
            client.settimeout(max(end - time.monotonic(), 0.002))
            client.connect(SOCKET)
            return client
        except (FileNotFoundError, ConnectionRefusedError):
            client.close()
        except TimeoutError:
            client.close()
            return None
        if not started:
            start_resident(state)
            started = True
        if not starts or time.monotonic() + CONNECT_S > end:
            return None
        time.sleep(CONNECT_S)


def start_resident(state: str) -> None:
    """Start the resident process on its own, in a session of its own and without the agent's streams."""
    if os.fork():
        return
    try:
        os.setsid()
        null = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(null, stream)
        os.closerange(3, 256)
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the command line does
        os.execv(sys.executable, [sys.executable, "-I", "-m", "fivefold.hooks.resident", state])
    finally:
        os._exit(0)


def _time_left(setting: str, default: int) -> float:
    """Seconds left for an answer; the system says in hundredths of a second when the process began."""
    given = os.environ.get("FIVEFOLD_HOOK_WAIT_MS")
    limit = float(given or _setting(setting) or default) / 1000
    try:
        began = int(_read("/proc/self/stat").rpartition(")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")
        passed = time.clock_gettime(time.CLOCK_BOOTTIME) - began
    except (OSError, ValueError, IndexError, AttributeError):
        return limit
    return max(0.0, min(limit - passed, limit))


def _setting(name: str) -> str:
    """The digits of a setting, without a parser, which takes time to load; empty if it is not set."""
    try:
        value = _read(SETTINGS).partition(f'"{name}"')[2].lstrip(" \t\r\n:")
    except OSError:
        return ""
    return value[: len(value) - len(value.lstrip("0123456789"))]


def _standard_input() -> bytes:
    parts = []
    while part := os.read(0, 1 << 20):
        parts.append(part)
    return b"".join(parts)


def _read(path: str) -> str:
    with open(path, "rb") as file:
        return os.fsdecode(file.read())


def _first_line(path: str) -> str:
    return _read(path).partition("\n")[0].strip()


def _write_all(file: int, data: bytes) -> None:
    while data:
        data = data[os.write(file, data) :]


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    finally:
        os._exit(0)
