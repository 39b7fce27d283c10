"""Answers end to end, by a scripted endpoint on this machine: accuracy, cost, and a run that goes on."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from fivefold.errors import InvalidInput
from fivefold.models.remote import RemoteError
from fivefold_bench.qa import ANSWERS, Cost, QaOptions, QaReport, run_qa
from tests.support import bench_data

pytest.importorskip("httpx")

EXPECTED = {
    "What happened to the plum trees?": "frost",
    "When does the ferry leave?": "seven",
    "Who keeps bees?": "Petra",
    "How did Olaf break his wrist?": "ladder",
    "What is Olaf's badge number?": "E-47821",
    "What is being painted red?": "the moon",
}
"""A word of the evidence of each question; the last one is in no memory."""
OPTIONS = QaOptions("answerer", "judge", 400)


class Endpoint:
    """Answers with the expected word if the block of the prompt has it, judges by it, and fails after some calls."""

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []
        self.fails_after = 1_000
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                failed = len(endpoint.calls) >= endpoint.fails_after
                if not failed:
                    endpoint.calls.append(body)
                reply = {"choices": [{"message": {"content": endpoint.say(body)}}], "usage": {"prompt_tokens": 77}}
                data = json.dumps({"error": "out of credit"} if failed else reply).encode()
                self.send_response(402 if failed else 200)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}/v1"

    def say(self, body: dict[str, Any]) -> str:
        text = body["messages"][1]["content"]
        if body["model"] == "silent":
            return "Hm."
        if body["model"] == "judge":
            answer = text.rpartition("Answer: ")[2]
            return "RIGHT." if answer in text.partition("Answer: ")[0] else "It is wrong."
        question = text.rpartition("Question: ")[2]
        word = EXPECTED[question]
        return word if word in text else "I do not know"


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    endpoint = Endpoint()
    monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    yield endpoint
    endpoint.server.shutdown()
    endpoint.server.server_close()


@pytest.fixture
def data(tmp_path: Path) -> Path:
    talks = bench_data.locomo()
    for item in talks[0]["qa"]:
        item["answer"] = EXPECTED[item["question"]]
    talks[0]["qa"].append({"question": "Who stole it?", "evidence": ["D1:1"], "category": 5, "adversarial_answer": "x"})
    (tmp_path / "locomo.json").write_text(json.dumps(talks))
    return tmp_path / "locomo.json"


def ask(data: Path, out: Path, options: QaOptions = OPTIONS, agree: bool = True) -> tuple[QaReport | None, list[Cost]]:
    costs: list[Cost] = []

    def agreed(cost: Cost) -> bool:
        costs.append(cost)
        return agree

    return run_qa(data, out, options, 2, agreed), costs


def test_accuracy_tokens_and_every_answer(data: Path, tmp_path: Path, endpoint: Endpoint) -> None:
    report, costs = ask(data, tmp_path / "out")
    assert report is not None
    assert [(cost.questions, cost.calls) for cost in costs] == [(6, 12)]
    assert 6 * 100 < costs[0].prompt_tokens < 6 * 1_000
    found = {item.kind: (item.questions, item.right, item.unjudged, item.accuracy) for item in report.results}
    assert found["all"] == (6, 5, 0, 0.8333)
    assert found["single-hop"] == (4, 3, 0, 0.75)
    assert (found["multi-hop"], found["temporal"]) == ((1, 1, 0, 1.0), (1, 1, 0, 1.0))
    assert report.results[-1].prompt_tokens == 77
    assert 0 < report.results[-1].context_tokens <= 400
    rows = [json.loads(line) for line in (tmp_path / "out" / ANSWERS).read_text().splitlines()]
    answers = {row["question"]: row["answer"] for row in rows}
    assert answers == EXPECTED | {"What is being painted red?": "I do not know"}
    assert all(row["sources"] and row["verdict"] for row in rows)
    prompts = [call["messages"][1]["content"] for call in endpoint.calls if call["model"] == "answerer"]
    assert all("Today is" in prompt for prompt in prompts)
    assert not any(call["messages"][1]["content"] == "Who stole it?" for call in endpoint.calls)


def test_a_judge_without_a_verdict_gives_no_accuracy(data: Path, tmp_path: Path, endpoint: Endpoint) -> None:
    report, _ = ask(data, tmp_path / "out", QaOptions("answerer", "silent", 400))
    assert report is not None
    assert (report.results[-1].unjudged, report.results[-1].accuracy) == (6, None)


def test_a_run_that_was_cut_off_goes_on(data: Path, tmp_path: Path, endpoint: Endpoint) -> None:
    out = tmp_path / "out"
    assert ask(data, out, QaOptions("another", "judge", 400), agree=False)[0] is None
    assert ask(data, out, agree=False)[0] is None, "a folder without answers binds to nothing"
    assert endpoint.calls == [], "nothing is asked before somebody agrees"
    endpoint.fails_after = 5
    with pytest.raises(RemoteError, match="402"):
        ask(data, out)
    written = (out / ANSWERS).read_bytes()
    (out / ANSWERS).write_bytes(written + b'{"id": "mill:')  # killed while it wrote
    endpoint.fails_after = 1_000
    report, costs = ask(data, out)
    assert costs[0].questions == 6 - written.count(b"\n") < 6
    assert report is not None
    assert (report.results[-1].questions, report.results[-1].right) == (6, 5)
    calls = len(endpoint.calls)
    assert ask(data, out) == (report, [])
    two = ask(data, out, QaOptions("answerer", "judge", 400, limit=2))[0]
    assert two is not None
    assert two.results[-1].questions == 2
    assert len(endpoint.calls) == calls
    with pytest.raises(InvalidInput, match="budget"):
        ask(data, out, QaOptions("answerer", "judge", 500))


def test_longmemeval_and_files_that_have_no_answers(tmp_path: Path, endpoint: Endpoint) -> None:
    questions = bench_data.longmemeval()
    file = tmp_path / "lme.json"
    file.write_text(json.dumps(questions))
    with pytest.raises(InvalidInput, match="no question has an answer"):
        ask(file, tmp_path / "none")
    for item in questions:
        item["answer"] = EXPECTED[item["question"]]
    file.write_text(json.dumps(questions))
    report, _ = ask(file, tmp_path / "out")
    assert report is not None
    assert report.data == "longmemeval"
    assert (report.results[-1].questions, report.results[-1].right) == (6, 5)
    (tmp_path / "other.json").write_text('[{"a": 1}]')
    with pytest.raises(InvalidInput, match="not a file of"):
        ask(tmp_path / "other.json", tmp_path / "other")
