"""200 memories are forgotten under load, by every face: then no file has a byte of them, and no face an answer."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import fivefold
from fivefold.engine import Engine
from fivefold.hooks.entry import namespace_of
from tests.support.hook_events import Hooks, new_hooks, wait_for
from tests.support.shell import Ran
from tests.support.web_server import Served

pytestmark = pytest.mark.slow

COUNT, ASKED = 200, 20
SECRET = re.compile(rb"zyx\d{3}qwz", re.IGNORECASE)
QUESTION = "Which parcel came with the blue van?"


def record(number: int) -> dict[str, Any]:
    text = f"Parcel zyx{number:03d}qwz came with the blue van and Ana signed for it"
    return {"id": f"p{number}", "content": text, "session_id": f"s{number}", "speaker": "user"}


class Faces:
    """One namespace by every face: this process, the command line, REST, MCP, the pages and the hooks."""

    def __init__(self, hooks: Hooks, served: Served, engine: Engine, command: Callable[..., Ran]) -> None:
        self.hooks, self.served, self.engine, self.command = hooks, served, engine, command
        self.name = engine.namespace
        self.rest = f"/v1/namespaces/{self.name}"

    def tool(self, name: str, **arguments: object) -> str:
        call = {"name": name, "arguments": {"namespace": self.name, **arguments}}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
        headers = {"Accept": "application/json, text/event-stream"}
        return self.served.client.post("/mcp", json=message, headers=headers).text

    def shell(self, *words: str) -> str:
        done = self.command(*words, "--store", self.engine.store.location, "-n", self.name)
        assert done.code == 0, done.err
        return done.out

    def forget(self, number: int) -> None:
        id = f"p{number}"
        match number % 5:
            case 0:
                self.engine.forget(id)
            case 1:
                self.served.client.delete(f"{self.rest}/memories/{id}").raise_for_status()
            case 2:
                assert "zyx" in self.tool("forget", id=id)
            case 3:
                self.engine.forget_session(f"s{number}")
            case 4:
                self.shell("forget", id) if number % 20 == 4 else self.engine.update(id, expires_at="2020-01-01")

    def asked(self, number: int) -> Iterator[str]:
        """What each face answers to a question for what was forgotten."""
        question = f"{QUESTION} Did Ana sign for number {number}?"
        client = self.served.client
        yield json.dumps(self.engine.recall(question).to_dict())
        yield self.engine.context(question).text
        yield client.post(f"{self.rest}/recall", json={"question": question}).text
        yield client.post(f"{self.rest}/context", json={"question": question}).text
        yield client.get(f"{self.rest}/sessions/s{number}").text
        yield self.tool("recall", question=question)
        yield client.get("/ask", params={"q": question, "namespace": self.name}).text
        yield client.get("/live", params={"namespace": self.name}).text
        yield self.hooks.run("claude-code", "UserPromptSubmit", prompt=question, session_id="other").output
        yield self.hooks.run("codex", "SessionStart").output
        yield self.shell("recall", question, "--json")


@pytest.fixture
def faces(tmp_path: Path, command: Callable[..., Ran]) -> Iterator[Faces]:
    hooks = new_hooks(tmp_path)
    store = hooks.state.settings().store
    with fivefold.open(store, namespace=namespace_of(str(hooks.project))) as engine:
        engine.configure(find_changes=False, find_repeats=False)
        engine.remember_many([*map(record, range(COUNT)), {"content": "The blue van is parked at Ana's", "id": "kept"}])
        with Served(store, "--workers", "2") as served:
            yield Faces(hooks, served, engine, command)
    hooks.end()


def test_what_was_forgotten_under_load_is_nowhere(faces: Faces, tmp_path: Path) -> None:
    client, key = faces.served.client, {"Idempotency-Key": "once"}
    patch = {"content": "Parcel zyx000qwz came late with the blue van"}
    told = client.patch(f"{faces.rest}/memories/p0", json=patch, headers=key)
    assert b"zyx000qwz" in told.content
    assert all(SECRET.search(text.encode()) for text in list(faces.asked(1))[:4])
    kept = faces.hooks.payload("cursor", "beforeSubmitPrompt", conversation_id="c", prompt=QUESTION)
    faces.hooks.run_raw("cursor", "beforeSubmitPrompt", kept)
    wait_for(faces.hooks.state.kept_flag.exists)
    faces.hooks.wait_until_stored()
    under_load(faces)
    wait_for(lambda: faces.engine.erasure().complete)
    wait_for(lambda: not left_in(tmp_path), 30)
    taken = faces.hooks.payload("cursor", "beforeSubmitPrompt", conversation_id="c", hook_event_name="postToolUse")
    assert not SECRET.search(faces.hooks.run_raw("cursor", "postToolUse", taken).output.encode())
    assert not SECRET.search(client.patch(f"{faces.rest}/memories/p0", json=patch, headers=key).content)
    for number in range(ASKED):
        for answer in faces.asked(number):
            assert not SECRET.search(answer.encode()), answer[:300]
    back = faces.engine.remember_many(map(record, range(1, COUNT)))
    assert (back.stored, len(back.merged)) == ((), COUNT - 1), "its source does not bring it back"
    assert left_in(tmp_path) == []


def under_load(faces: Faces) -> None:
    """Forget everything while others recall it and write."""
    ended, failed = threading.Event(), list[BaseException]()

    def again(act: Callable[[int], object]) -> None:
        number = 0
        try:
            while not ended.is_set():
                act(number := number + 1)
        except BaseException as error:
            failed.append(error)

    def write(number: int) -> None:
        body = {"content": f"Letter {number} came by post", "session_id": "letters"}
        asking.post(f"{faces.rest}/memories", json=body).raise_for_status()

    def recall(number: int) -> None:
        other.post(f"{faces.rest}/recall", json={"question": QUESTION}).raise_for_status()

    asking, other = faces.served.asking(None), faces.served.asking(None)
    with asking, other, fivefold.open(faces.engine.store.location, namespace=faces.name) as second:
        acts = (write, recall, lambda number: second.recall(QUESTION, recipe="lexical"))
        threads = [threading.Thread(target=again, args=(act,)) for act in acts]
        for thread in threads:
            thread.start()
        try:
            for number in range(COUNT):
                faces.forget(number)
            faces.engine.sweep()
        finally:
            ended.set()
            for thread in threads:
                thread.join()
    assert failed == []


def left_in(folder: Path) -> list[tuple[str, bytes]]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [(path.name, found[0]) for path in files if (found := SECRET.search(path.read_bytes().lower()))]
