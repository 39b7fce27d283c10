"""The server's log: a line a request, for programs or for people, and nothing of what was said or asked."""

from __future__ import annotations

import io
import json
import logging
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from fivefold.service.keys import Keyring
from fivefold.service.metrics import RequestSummary
from fivefold.stores import open_store
from fivefold.web import request_log as logs
from tests.support.web_server import Served

pytestmark = pytest.mark.slow

TEXTS = ("7719-Zebra", "Quillfeather", "Marzipan")
"""Words of memories, questions and ids, none of which a log may hold."""


Logged = tuple[list[dict[str, Any]], str, str, str]


def busy(server: Served) -> None:
    """Everything a client may do, right and wrong."""
    space = "/v1/namespaces/Ostrava"
    post = server.client.post
    post(f"{space}/memories", json={"content": "The safe opens with 7719-Zebra", "id": "Marzipan"})
    post(f"{space}/memories/batch", json={"records": [{"content": "Quillfeather called"}]})
    answer = post(f"{space}/recall", json={"question": "who is Quillfeather?"}).json()
    post(f"{space}/feedback", json={"recall_id": answer["id"], "used": ["Marzipan"]})
    post(f"{space}/context", json={"question": "what opens with 7719-Zebra?"})
    post(f"{space}/recall", json={"question": "Quillfeather", "recipe": "Marzipan"})
    post(f"{space}/recall", content=b'{"question": "Quillfeather"')
    post(f"{space}/memories", json={"content": "Quillfeather", "no_such_field": "Marzipan"})
    server.client.get(f"{space}/memories", params={"text": "Quillfeather"})
    server.client.get(f"{space}/memories/Marzipan")
    server.client.get(f"{space}/memories/Quillfeather")
    server.client.get("/ask", params={"namespace": "Ostrava", "question": "who is Quillfeather?"})
    server.client.get("/Quillfeather?x=Marzipan", headers={"X-Request-Id": "Quill feather"})
    server.client.get("/health", headers={"X-Request-Id": "mine-1"})
    server.client.delete(f"{space}/memories/Marzipan")
    for arguments in ({"question": "Quillfeather"}, {"question": 7719, "Marzipan": "7719-Zebra"}):
        call = {"name": "recall", "arguments": arguments}
        both = {"Accept": "application/json, text/event-stream"}
        post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}, headers=both)
        post("/mcp", content=b'{"method": "Quillfeather', headers={**both, "Content-Type": "application/json"})


@pytest.fixture(scope="module")
def logged(tmp_path_factory: pytest.TempPathFactory) -> Logged:
    """The lines of a busy server, its key's id and secret, and the log as it is."""
    folder = tmp_path_factory.mktemp("logged")
    path, errors = str(folder / "store.db"), folder / "log"
    with closing(open_store(path)) as store:
        key, secret = Keyring(store).create("laptop", "admin", ["*"])
    options = ("--log-level", "debug", "--embedder", "wordllama")
    with Served(path, *options, key=secret, errors=errors) as server:
        busy(server)
        with server.asking("ff_wrong_Quillfeather") as stranger:
            assert stranger.get("/v1/namespaces").status_code == 401
    text = errors.read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()], key.id, secret, text


def test_each_request_is_one_line(logged: Logged) -> None:
    lines, key, _, _ = logged
    requests = [line for line in lines if line["logger"] == "fivefold.requests"]
    assert len(requests) == 20
    first = requests[0]
    assert (first["operation"], first["method"], first["key"], first["level"]) == ("remember", "POST", key, "info")
    assert set(first) == {
        "at",
        "level",
        "logger",
        "message",
        "request_id",
        "method",
        "operation",
        "status",
        "ms",
        "key",
    }
    assert first["ms"] > 0
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+Z", first["at"])
    assert len({line["request_id"] for line in requests}) == len(requests)
    by_operation = {line["operation"]: line["status"] for line in requests}
    assert by_operation["unmatched"] == 404
    assert {"remember", "recall", "feedback", "/ask", "/mcp", "health"} <= set(by_operation)
    assert "mine-1" in {line["request_id"] for line in requests}
    refused = [line for line in requests if line["status"] == 401]
    assert [line["key"] for line in refused] == [None]


def test_nothing_of_what_was_said_or_asked_is_in_it(logged: Logged) -> None:
    _, _, secret, text = logged
    for word in (*TEXTS, secret, "Quill"):
        assert word not in text


def test_with_contents_it_is(tmp_path: Path) -> None:
    """The way round, which shows that the words are looked for in the right place."""
    errors = tmp_path / "log"
    with Served(str(tmp_path / "store.db"), "--log-level", "info", "--log-contents", errors=errors) as server:
        server.client.post("/v1/namespaces/n/recall", json={"question": "Quillfeather: 7719-Zebra", "recipe": "none"})
        server.client.get("/v1/namespaces/n/memories/Marzipan?x=y")
        server.client.post("/login", data={"key": f"ff_0123456789ab_{'5e' * 24}", "next": "/"})
    text = errors.read_text("utf-8")
    assert "/v1/namespaces/n/memories/Marzipan?x=y" in text
    assert "ff_0123456789ab_…" in text
    assert "5e5e" not in text
    for word in TEXTS:
        assert word in text


def record(message: str, *args: object, **extra: object) -> logging.LogRecord:
    made = logging.LogRecord("fivefold", logging.WARNING, "", 0, message, args, None)
    vars(made).update(extra)
    return made


def failing() -> logging.LogRecord:
    made = record("error %s", "e1", error_id="e1")
    try:
        try:
            raise KeyError("7719-Zebra")
        except KeyError:
            raise RuntimeError("cannot read 7719-Zebra") from None
    except RuntimeError as error:
        made.exc_info = (type(error), error, error.__traceback__)
    return made


@pytest.mark.parametrize("form", [logs.Lines, logs.Plain])
def test_an_error_is_told_by_its_kind_and_place(form: type[logs.Lines | logs.Plain]) -> None:
    quiet, open_ = form().format(failing()), form(contents=True).format(failing())
    assert "7719" not in quiet
    assert "RuntimeError" in quiet
    assert "test_logs.py" in quiet
    assert "e1" in quiet
    assert "cannot read 7719-Zebra" in open_


def test_an_error_among_the_values_is_told_by_its_kind() -> None:
    given = record("route %s failed: %s", "lexical", RuntimeError("near 7719-Zebra"))
    assert logs.message_of(given, contents=False) == "route lexical failed: RuntimeError"
    assert logs.message_of(given, contents=True) == "route lexical failed: near 7719-Zebra"
    named = record("%(part)s: %(why)s", {"part": "lexical", "why": RuntimeError("7719")})
    assert logs.message_of(named, contents=False) == "lexical: RuntimeError"
    assert logs.message_of(record("100 % sure"), contents=False) == "100 % sure"


def test_what_others_write_is_told_by_its_place() -> None:
    others = logging.LogRecord("mcp.server", logging.WARNING, "/x/server.py", 7, "got 7719-Zebra", (), None, "take")
    assert logs.message_of(others, contents=False) == "/x/server.py:7 in take"
    assert logs.message_of(others, contents=True) == "got 7719-Zebra"


def test_the_causes_of_an_error_come_along() -> None:
    try:
        try:
            raise KeyError("7719")
        except KeyError as error:
            raise RuntimeError("7719") from error
    except RuntimeError as error:
        told = logs.failure(error, contents=False)
    assert (told["type"], told["cause"]["type"]) == ("RuntimeError", "KeyError")
    assert "7719" not in json.dumps(told)


@pytest.fixture
def root() -> Iterator[None]:
    """The root logger as it was before."""
    names = ("", "fivefold", "uvicorn")
    before = [(logging.getLogger(name), logging.getLogger(name).level) for name in names]
    handlers = logging.getLogger().handlers[:]
    yield
    logging.getLogger().handlers[:] = handlers
    for logger, level in before:
        logger.setLevel(level)


SUMMARY = RequestSummary("r1", "POST", "recall", 200, 0.0123, "k1")


@pytest.mark.parametrize(
    ("summary", "shown"),
    [
        (SUMMARY, r"\d\d:\d\d:\d\d 200 POST recall 12\.3 ms key k1 \(r1\)"),
        (
            RequestSummary("r2", "GET", "unmatched", 404, 0.001, None, "/a\x1b[31m?x", '{"q": 1}'),
            r"\d\d:\d\d:\d\d 404 GET unmatched 1\.0 ms \(r2\) /a␛\[31m\?x \{\"q\": 1\}",
        ),
    ],
)
def test_for_people_it_is_one_plain_line(root: None, summary: RequestSummary, shown: str) -> None:
    out = io.StringIO()
    logs.start("plain", "info", stream=out)
    logs.RequestLogger().request_ended(summary)
    assert re.fullmatch(shown + "\n", out.getvalue())


def test_what_is_below_the_level_is_left_out(root: None) -> None:
    out = io.StringIO()
    logs.start("json", "warning", stream=out)
    logs.RequestLogger().request_ended(SUMMARY)
    logging.getLogger("somebody.else").info("chatter")
    assert out.getvalue() == ""
    logs.RequestLogger().request_ended(RequestSummary("r3", "POST", "recall", 500, 0.1, None))
    assert json.loads(out.getvalue())["level"] == "error"


def test_what_a_terminal_would_obey_is_escaped(root: None) -> None:
    out = io.StringIO()
    logs.start("json", "info", stream=out)
    logging.getLogger("fivefold").info("a\x1b[31m\nb")
    assert out.getvalue().count("\n") == 1
    assert json.loads(out.getvalue())["message"] == "a\x1b[31m\nb"
