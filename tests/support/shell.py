"""A small store to try commands on, and two ways to run them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from fivefold.service.keys import Keyring
from fivefold.stores import open_store
from tests.support import bench_data

RECORDS = [
    {"id": "badge", "content": "My badge ID is E-47821", "speaker": "user", "session_id": "monday"},
    {"id": "nod", "content": "Noted, the badge is E-47821.", "speaker": "assistant", "session_id": "monday"},
    {"id": "key", "content": "The spare key is with Mrs Okafor"},
    {"id": "home", "content": "I live in Leeds", "speaker": "user"},
]

ARGS: dict[str, list[str]] = {
    "demo": ["-k", "1"],
    "add": ["The plumber comes on Tuesday"],
    "import": ["{lines}"],
    "update": ["key", "--content", "The spare key is with Mr Okafor"],
    "supersede": ["key", "The spare key is under the pot"],
    "reinstate": ["key"],
    "forget": ["--session", "monday"],
    "used": ["{recall}", "badge"],
    "recall": ["what is my badge ID?"],
    "explain": ["what is my badge ID?"],
    "context": ["what is my badge ID?"],
    "plan": ["what is my badge ID?"],
    "understand": ["what is my badge ID?"],
    "chat": [],
    "profile": [],
    "agenda": [],
    "history": ["what is my badge ID?"],
    "changes": [],
    "recap": ["monday"],
    "correct": ["key", "The spare key is with Mrs Okafor", "The spare key is with Mr Okafor"],
    "hide": ["key"],
    "evaluate": ["{folder}/nuno.json", "--embedder", "wordllama"],
    "recipes list": [],
    "recipes show": ["engram"],
    "recipes verify": [],
    "get": ["key"],
    "list": [],
    "sessions": [],
    "stats": [],
    "export": ["{folder}/out.jsonl"],
    "sync": ["{path}", "{folder}/shared"],
    "quarantine": [],
    "migrate": ["{path}", "{folder}/copy.db"],
    "backup": ["{folder}/kept.db"],
    "restore": ["{path}", "--store", "{folder}/back.db"],
    "rekey": ["--decrypt"],
    "graph show": [],
    "graph alias": ["Okafor", "Mrs O"],
    "graph merge": ["Okafor", "E-47821"],
    "graph split": ["Okafor", "Mrs Okafor", "key"],
    "graph relate": ["Okafor", "owns", "E-47821"],
    "settings": [],
    "pin": ["key"],
    "unpin": ["key"],
    "sweep": [],
    "health": [],
    "namespaces list": [],
    "namespaces delete": ["default", "--yes"],
    "weights": ["what is my badge ID?"],
    "train reranker": [],
    "train reset": [],
    "doctor": [],
    "reembed": ["wordllama"],
    "maintain": [],
    "serve": ["--port", "0"],
    "mcp": [],
    "hook": ["claude-code", "status"],
    "keys create": ["the bot", "--role", "writer", "--namespace", "default"],
    "keys list": [],
    "keys revoke": ["{key}"],
    "audit": [],
    "db status": [],
    "db distribute": [],
    "db rebalance": [],
    "bench speed": ["--sizes", "10,50,1000", "--rounds", "1"],
    "bench hooks": ["--memories", "50", "--rounds", "1"],
    "bench async": ["--tasks", "5", "--seconds", "1", "--embedder", "wordllama"],
    "bench faults": ["--kills", "4", "--failures", "4"],
    "bench load": ["--clients", "2", "--seconds", "1", "--embedder", "wordllama"],
    "bench peers": ["--peers", "none", "--sizes", "100", "--questions", "2"],
    "bench locomo": ["{folder}/talk.json", "--recipes", "bm25,recipe:lexical", "--embedder", "wordllama"],
    "bench longmemeval": ["{folder}/chats.json", "--recipes", "bm25,recipe:lexical", "--embedder", "wordllama"],
    "bench beam": ["{folder}/talks", "--recipes", "bm25,recipe:lexical", "--embedder", "wordllama"],
    "bench personamem": ["{folder}/questions_tiny.csv", "--recipes", "bm25", "--embedder", "wordllama"],
    "bench everyday": ["{folder}/nuno.json", "--recipes", "bm25,recipe:lexical", "--embedder", "wordllama"],
    "bench block": ["--locomo", "{folder}/talk.json", "--budgets", "60,300", "--embedder", "wordllama"],
    "bench profile": ["--lives", "emlyn", "--embedder", "wordllama"],
    "bench jsonl": ["{folder}/lines", "--recipes", "bm25,recipe:lexical", "--embedder", "wordllama"],
    "bench qa": ["{folder}/talk.json", "--model", "mine", "--out", "{folder}/answers"],
    "bench diff": ["{folder}/run/results.json", "--recipes", "old,new"],
}
"""Every command with arguments that work on the small store."""

UNSET = ("FIVEFOLD_STORE", "COLUMNS", "NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE")
STORELESS = {
    name
    for name in ARGS
    if name.startswith(("bench ", "evaluate", "hook", "recipes ", "weights", "migrate", "restore", "sync"))
}
NEEDS_SERVER = {name for name in ARGS if name.startswith("db ")}
"""Commands for stores on PostgreSQL alone; they have a file of tests of their own."""

RUNS_ON = {"serve", "mcp", "chat", "bench qa", "bench speed", "sync", "quarantine", "rekey"}
"""Commands that run until they are stopped or for long, ask a model, need another library, or answer by what they did;
they have tests of their own."""

WHOLE = {
    "maintain",
    "backup",
    "namespaces list",
    "namespaces delete",
    "keys create",
    "keys list",
    "keys revoke",
    "audit",
    "rekey",
    "serve",
    *NEEDS_SERVER,
}
"""Commands that look at all of a store rather than one namespace."""

MAKES_STORES = {"demo", "add", "import", "keys create", "chat"}
READS_STORES = sorted(set(ARGS) - STORELESS - MAKES_STORES - NEEDS_SERVER - RUNS_ON)


class Small(NamedTuple):
    """A store with a few memories, the id of a recall that returned only `badge`, and a file to import."""

    path: str
    recall: str
    lines: str
    folder: str

    def args(self, command: str) -> list[str]:
        if command.startswith(("bench ", "evaluate")):
            bench_data.write(Path(self.folder))
        key = _new_key(self.path) if command.startswith("keys ") else ""
        given = [arg.format(**self._asdict(), key=key) for arg in ARGS[command]]
        return [*command.split(), *given]


def _new_key(path: str) -> str:
    with closing(open_store(path)) as store:
        return Keyring(store).create("the page", "reader", ["default"])[0].id


class Ran(NamedTuple):
    """What a command came to."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Command = Callable[..., Ran]

FIVEFOLD = [sys.executable, "-m", "fivefold"]
"""How a process of `fivefold` is started; the fixture `warm` has one that starts sooner."""


def process(*args: str, folder: str, said: str | bytes = "", **env: str) -> Ran:
    """Runs `fivefold` in a process of its own, piped, with only the environment it is given."""
    done = subprocess.run(
        [*FIVEFOLD, *args],
        cwd=folder,
        env=clean(env),
        capture_output=True,
        check=False,
        input=said.encode() if isinstance(said, str) else said,
    )
    return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())


def clean(env: dict[str, str]) -> dict[str, str]:
    """This environment without what changes the output, and with `env`."""
    return {**{name: value for name, value in os.environ.items() if name not in UNSET}, **env}
