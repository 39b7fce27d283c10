"""`fivefold` for shells that run a hundred commands: each is a process of its own, forked from one with the package.

Starting Python, importing and loading models takes longer than most commands do. A command has its own arguments,
environment, folder, streams and exit code; only its imports are done and its models loaded already. Those that run on,
such as servers, are started as usual.
"""

from __future__ import annotations

import atexit
import marshal
import os
import signal
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import NoReturn

import fivefold
from fivefold.cli import main
from fivefold.cli.app import COMMAND_MODULES
from fivefold.models.loading import load_models
from fivefold.values.memory import record_of
from fivefold.writing.extract import extractor

ROOT = Path(__file__).parents[2]

MODULES = (
    "fivefold.engine",
    "fivefold.retrieval.recipe_file",
    "fivefold.retrieval.routes",
    "fivefold.stores.sqlite.store",
    "fivefold.writing.extract",
    "rich.console",
    "rich.table",
    "rich.text",
    "fivefold.text.stemmers",
    "typer._adapters",
    "tokenizers",
)
"""What most commands import. None of it starts a thread, which a fork would lose, or looks at the terminal."""

CLIENT = """\
#!{python} -IS
import _socket, marshal, posix, sys
if len(sys.argv) > 1 and sys.argv[1] in {running_on!r}:
    posix.execv({python!r}, [{python!r}, "-m", "fivefold", *sys.argv[1:]])
server = _socket.socket(_socket.AF_UNIX)
server.connect({address!r})
said = marshal.dumps((sys.argv, posix.environ, posix.getcwd()))
streams = b"".join(number.to_bytes(4, sys.byteorder) for number in range(3))
server.sendmsg([len(said).to_bytes(4, "big")], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)])
server.sendall(said)
sys.exit(int(server.recv(8) or b"1"))
"""
"""Imports only what is in the interpreter, which halves its start."""

RUNNING_ON = ("hook", "mcp", "serve")
"""Commands that run on in the background, or that are stopped by their process id."""


@contextmanager
def warm_commands(folder: Path) -> Iterator[Path]:
    """Gives a folder with a `fivefold` to put on the path; while open, it runs commands in forks."""
    address = str(folder / "commands")
    programs = folder / "bin"
    programs.mkdir()
    client = programs / "fivefold"
    client.write_text(CLIENT.format(python=sys.executable, running_on=RUNNING_ON, address=address), "utf-8")
    client.chmod(0o755)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(address)
        listening.listen()
        env = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
        command = [sys.executable, "-m", "tests.support.warm_commands", str(listening.fileno())]
        process = subprocess.Popen(
            command, cwd=ROOT, env=env, stdin=subprocess.DEVNULL, pass_fds=[listening.fileno()], start_new_session=True
        )
        try:
            yield programs
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def serve(listening: socket.socket) -> NoReturn:
    """Each command gets a process that waits for it and sends its exit code."""
    for module in (*(f"fivefold.cli.{name}" for name in COMMAND_MODULES), *MODULES):
        import_module(module)
    load_models(None)
    with fivefold.open(":memory:") as memory:  # patterns are compiled when a question or a text is first read
        memory.understand("Where did I say that we live now?")
    extractor("rules").extract(record_of("I live in Leeds, and my sister Ana flew to Rome yesterday."))
    assert threading.active_count() == 1
    while True:
        connection, _ = listening.accept()
        with connection:
            if not os.fork():
                connection.sendall(str(_run(connection)).encode())
                os._exit(0)
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


def _run(connection: socket.socket) -> int:
    length, streams, _, _ = socket.recv_fds(connection, 4, 3)
    said = b""
    while len(said) < int.from_bytes(length, "big"):
        said += connection.recv(65536)
    arguments, env, folder = marshal.loads(said)
    command = os.fork()
    if not command:
        _become(arguments, env, folder, streams)
    return os.waitstatus_to_exitcode(os.waitpid(command, 0)[1]) % 256


def _become(arguments: list[str], env: dict[bytes, bytes], folder: str, streams: list[int]) -> NoReturn:
    """The command itself, as Python would run it."""
    for stream, number in zip(streams, (0, 1, 2), strict=True):
        os.dup2(stream, number)
    sys.stdin, sys.stdout = os.fdopen(0, closefd=False), os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, errors="backslashreplace", closefd=False)
    os.chdir(folder)
    os.environb.clear()
    os.environb.update(env)
    sys.argv = arguments
    try:
        main()
    except SystemExit as end:
        _leave(end.code)
    except BaseException:
        traceback.print_exc()
        _leave(1)
    _leave(0)


def _leave(code: str | int | None) -> NoReturn:
    """As Python ends, but for the models: in a forked process their last steps wait for a thread that is not there."""
    if isinstance(code, str):
        print(code, file=sys.stderr)
        code = 1
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):
            stream.flush()
    os._exit(code or 0)


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
