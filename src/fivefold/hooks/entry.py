"""The command that a coding agent runs at each event: python entry.py AGENT EVENT STATE, the payload on standard input.

The agent waits for it, so that it loads no module that takes time, not even `socket` or `json`, and nothing else of
fivefold. What a session begins with is a file that is ready; a prompt is passed to the resident process, whose answer
must come in time; what is to be stored goes to the spool. Whatever fails, the agent sees nothing of it.
"""

from __future__ import annotations

import os
import sys
import time

LIMIT_S = 0.046
"""From the start of the process to its answer, at most: one that comes later is dropped."""

WAIT_S = 0.030
"""How long an answer is waited for where the start of the process is not known."""

BLOCKS, SPOOL, KEPT, SOCKET = "blocks", "spool", "kept", "hooks.sock"
EVENT_FILE = ".event"
FLAG = "any"
"""A file among the answers that are kept, as long as there is one."""

READY = {"SessionStart": "additionalContext", "sessionStart": "additional_context"}
"""Events that get what lies ready, and the field in which each agent takes it."""

ASKING = ("UserPromptSubmit",)
"""Events that wait for an answer."""

KEEPING, TAKING = "beforeSubmitPrompt", "postToolUse"
"""Cursor takes nothing at a prompt, so that the answer is kept until the agent has used a tool."""

PROJECTS = {"claude-code": "CLAUDE_PROJECT_DIR", "cursor": "CURSOR_PROJECT_DIR"}
"""The variable in which an agent names the project; the others run hooks in its folder."""


def main(arguments: list[str]) -> None:
    agent, event, state = arguments[:3]
    payload = os.fsencode(arguments[3]) if len(arguments) > 3 else _standard_input()
    namespace = namespace_of(project_folder(agent, payload))
    os.chdir(state)  # the path of a socket may only be short
    header = f"{agent}\n{event}\n{namespace}\n{time.time()!r}\n".encode()
    if event in READY:
        _print_ready(event, namespace)
        _call(state, b"warm\n" + header)
    elif event in ASKING:
        wait = _time_left()
        _call(state, f"ask\n{time.time() + wait!r}\n".encode() + header + payload, wait)
    elif event == TAKING:
        _print_kept(payload)
    else:
        spool(header + payload)
        _call(state, b"keep\n" + header + payload if event == KEEPING else b"drain\n" + header)


def project_folder(agent: str, payload: bytes) -> str:
    """Where the agent works. Cursor runs hooks of the user in its own folder and names the project elsewhere."""
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
    """The folder that all worktrees of a repository share; `folder` itself where there is no repository."""
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
    """A worktree names its folder in the repository, in which a file names the common one; a submodule has none."""
    folder = os.path.join(path, _read(git).removeprefix("gitdir:").strip())
    common = os.path.join(folder, "commondir")
    if os.path.isfile(common):
        folder = os.path.join(folder, _read(common).strip())
    return os.path.realpath(folder)


def spool(event: bytes) -> None:
    """Leave an event for the resident process; it has its name only when it is whole."""
    name = f"{SPOOL}/{time.time_ns():020d}-{os.getpid()}"
    file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        _write_all(file, event)
    finally:
        os.close(file)
    os.rename(name, name + EVENT_FILE)


def _print_ready(event: str, namespace: str) -> None:
    """The block is stored as a JSON text, so that it can be put into the answer as it is."""
    try:
        with open(f"{BLOCKS}/{namespace}.json", "rb") as file:
            block = file.read()
    except FileNotFoundError:
        return
    field = READY[event].encode()
    if event == "SessionStart":
        answer = b'{"hookSpecificOutput": {"hookEventName": "SessionStart", "%s": %s}}\n' % (field, block)
    else:
        answer = b'{"%s": %s}\n' % (field, block)
    _write_all(1, answer)


def kept_file(conversation: str) -> str:
    """Where the answer to the last prompt of a conversation is kept."""
    return f"{KEPT}/{''.join(sign for sign in conversation if sign.isalnum() or sign == '-')[:100]}.json"


def _print_kept(payload: bytes) -> None:
    """The answer to the prompt, once; without any, the agent does not even start this process."""
    import json

    path = kept_file(json.loads(payload)["conversation_id"])
    try:
        with open(path, "rb") as file:
            block = file.read()
        os.unlink(path)
        _write_all(1, b'{"additional_context": %s}\n' % block)
    finally:
        if not any(name.endswith(".json") for name in os.listdir(KEPT)):
            os.unlink(f"{KEPT}/{FLAG}")


def _call(state: str, message: bytes, wait: float = 0.0) -> None:
    """Send a message to the resident process and print its answer if one comes in time; start it if it is not there."""
    import _socket

    with_limit = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        with_limit.settimeout(max(wait, 0.002))
        try:
            with_limit.connect(SOCKET)
        except (FileNotFoundError, ConnectionRefusedError):
            start_resident(state)
            return
        with_limit.sendall(message)
        with_limit.shutdown(_socket.SHUT_WR)
        answer, end = b"", time.monotonic() + wait
        while wait and (left := end - time.monotonic()) > 0:
            with_limit.settimeout(left)
            part = with_limit.recv(65_536)
            if not part:
                _write_all(1, answer)
                return
            answer += part
    finally:
        with_limit.close()


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
        os.execv(sys.executable, [sys.executable, "-I", "-m", "fivefold.hooks.resident", state])
    finally:
        os._exit(0)


def _time_left() -> float:
    """How long an answer may take; the system says in hundredths of a second when the process began."""
    given = os.environ.get("FIVEFOLD_HOOK_WAIT_MS")
    if given:
        return float(given) / 1000
    try:
        began = int(_read("/proc/self/stat").rpartition(")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")
        passed = time.clock_gettime(time.CLOCK_BOOTTIME) - began
    except (OSError, ValueError, IndexError, AttributeError):
        return WAIT_S
    return max(0.0, min(LIMIT_S - passed, LIMIT_S))


def _standard_input() -> bytes:
    parts = []
    while part := os.read(0, 1 << 20):
        parts.append(part)
    return b"".join(parts)


def _read(path: str) -> str:
    with open(path, "rb") as file:
        return os.fsdecode(file.read())


def _write_all(file: int, data: bytes) -> None:
    while data:
        data = data[os.write(file, data) :]


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    finally:
        os._exit(0)
