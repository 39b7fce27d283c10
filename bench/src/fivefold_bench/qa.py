"""Questions answered end to end, as others publish it: a model answers from the engine's block, and a model judges.

The models are the user's own, at any endpoint that speaks OpenAI's chat completions (`OPENAI_BASE_URL`). Every
answer is written as soon as it is judged, so an interrupted run continues and no call is paid for twice.
"""

from __future__ import annotations

import json
import os
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean, median
from typing import Any, Literal

import fivefold
from fivefold.errors import InvalidFile, InvalidInput
from fivefold.evaluation import Question
from fivefold.models.remote import post
from fivefold.retrieval.prompt import Context
from fivefold.text.display import bar
from fivefold.text.passages import tokens
from fivefold.transfer.importers.sources import JsonStream
from fivefold.values.json_files import open_file
from fivefold.values.serialize import Json, Value
from fivefold_bench import locomo, longmemeval
from fivefold_bench.contestants import select_questions
from fivefold_bench.data import Dataset, Spool, listed

Data = Literal["locomo", "longmemeval"]

ANSWER = (
    "You answer questions about earlier conversations. Use only the memories below. Work out dates from the dates of "
    "the memories. If they do not hold the answer, say that you do not know. Answer in one or two short sentences."
)
JUDGE = (
    "You compare an answer with the expected answer to a question. It is right if it says what the expected answer "
    "says, in any wording; more detail does not make it wrong, another form of the same date does not either. It is "
    "wrong if it contradicts the expected answer, leaves out what was asked, or says that it does not know. "
    "Reply with one word: RIGHT or WRONG."
)
MAX_ANSWER_TOKENS, MAX_VERDICT_TOKENS = 300, 16
SKIPPED_KIND = "adversarial"
"""Questions of LoCoMo without an answer, which published figures leave out."""

ANSWERS, SETTINGS, RESULTS, STORE = "answers.jsonl", "settings.json", "results.json", "memories.db"
_VERDICT = re.compile(r"\b(RIGHT|WRONG)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class QaOptions:
    """Options for the choice of questions and models; a continued run must have the same models and budget."""

    model: str
    judge: str
    budget: int = 2_500
    limit: int | None = None
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class Cost(Value):
    """The rest of a run: calls, and about how many tokens go there and come back."""

    questions: int
    calls: int
    prompt_tokens: int
    answer_tokens: int


@dataclass(frozen=True, slots=True)
class KindResult(Value):
    """The questions of one kind, or all; the accuracy is that of those that were judged."""

    kind: str
    questions: int
    right: int
    unjudged: int
    accuracy: float | None
    context_tokens: float
    prompt_tokens: float
    recall_ms: float
    answer_s: float


@dataclass(frozen=True, slots=True)
class QaReport(Value):
    """A finished run, with the address and the names of the models."""

    data: str
    model: str
    judge: str
    budget: int
    results: tuple[KindResult, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Task:
    question: Question
    expected: str
    context: Context
    recall_s: float

    @property
    def prompt(self) -> str:
        now = self.question.now
        today = f"Today is {now:%A, %d %B %Y}.\n\n" if now else ""
        return f"{self.context.text}\n\n{today}Question: {self.question.text}"


def run_qa(
    path: Path, out: Path, options: QaOptions, jobs: int, agree: Callable[[Cost], bool], progress: bool = False
) -> QaReport | None:
    """Ask what is not answered yet, once `agree` has seen what that costs; None if it does not agree."""
    dataset, expected = load(path, options)
    out.mkdir(parents=True, exist_ok=True)
    kept = {"model": options.model, "judge": options.judge, "budget": options.budget}
    _check_settings(out / SETTINGS, {"data": dataset.name, "file": path.name, **kept})
    done = {row["id"]: row for row in _rows(out / ANSWERS)}
    asked = [item for item in dataset.questions if item.id not in done]
    tasks = list(_tasks(dataset, asked, expected, out / STORE, options.budget, progress))
    if tasks and not agree(_cost(tasks)):
        return None
    for row in _answered(tasks, out / ANSWERS, options, jobs, progress):
        done[row["id"]] = row
    rows = [done[item.id] for item in dataset.questions]
    report = QaReport(dataset.name, options.model, options.judge, options.budget, _results(rows), tuple(dataset.notes))
    (out / RESULTS).write_text(json.dumps(report.to_dict(), ensure_ascii=False, indent=1) + "\n", "utf-8")
    return report


def load(path: Path, options: QaOptions) -> tuple[Dataset, dict[str, str]]:
    """The questions of a file that have an expected answer, and these answers."""
    expected: dict[str, str] = {}
    if _kind(path) == "locomo":
        dataset = locomo.load(path)
        for talk in listed(path):
            for index, item in enumerate(talk["qa"]):
                if locomo.CATEGORIES.get(item.get("category")) != SKIPPED_KIND and "answer" in item:
                    expected[f"{talk['sample_id']}:{index}"] = str(item["answer"])
    else:
        dataset = longmemeval.load(path, pool=False)
        for value in longmemeval.read_questions(path, Spool()):
            if isinstance(value, dict) and "answer" in value:
                expected[str(value.get("question_id"))] = str(value["answer"])
    questions = [question for question in dataset.questions if question.id in expected]
    if not questions:
        raise InvalidInput(f"{path.name}: no question has an answer, which LoCoMo and LongMemEval give under 'answer'")
    left = len(dataset.questions) - len(questions)
    notes = (*dataset.notes, f"questions left out that have no expected answer, or are {SKIPPED_KIND}: {left}")
    answerable = replace(dataset, questions=questions, notes=notes)
    return select_questions(answerable, None, options.limit, options.seed), expected


def _kind(path: Path) -> Data:
    with open_file(path) as file:
        stream = JsonStream(file, path.name)
        if stream.peek() == "{":
            return "longmemeval"
        first = next((stream.value() for _ in stream.entries()), None) if stream.peek() == "[" else None
    if isinstance(first, dict) and "conversation" in first:
        return "locomo"
    if isinstance(first, dict) and "question_id" in first:
        return "longmemeval"
    raise InvalidInput(f"{path.name}: is not a file of LoCoMo or LongMemEval")


def _check_settings(file: Path, wanted: Json) -> None:
    """The folder holds no answer yet, or answers that were asked in the same way."""
    if not file.exists() or not file.with_name(ANSWERS).exists():
        file.write_text(json.dumps(wanted, indent=1) + "\n", "utf-8")
        return
    known = json.loads(file.read_text("utf-8"))
    for name, value in wanted.items():
        if known.get(name) != value:
            reason = f"has answers that were asked with {name} {known.get(name)!r}, not {value!r}"
            raise InvalidFile(file.parent, reason, advice="name another folder")


def _rows(file: Path) -> Iterator[Json]:
    """The answers of an earlier run; a line that was cut off is asked again."""
    if not file.exists():
        return
    raw = file.read_bytes()
    whole = raw[: raw.rfind(b"\n") + 1]
    if len(whole) < len(raw):
        file.write_bytes(whole)
    yield from (json.loads(line) for line in whole.decode().splitlines())


def _tasks(
    dataset: Dataset, questions: Sequence[Question], expected: dict[str, str], store: Path, budget: int, progress: bool
) -> Iterator[_Task]:
    """The block of each question, made on this machine; memories are stored once and stay for the next run."""
    with fivefold.store(store) as memories, bar("Making blocks", len(questions), show=progress) as advance:
        for space in dict.fromkeys(question.namespace for question in questions):
            engine = memories.namespace(space)
            records = list(dataset.memories[space])
            stored = engine.stored_ids([record.id for record in records if record.id])
            if missing := [record for record in records if record.id not in stored]:
                engine.remember_many(missing)
            for question in questions:
                if question.namespace == space:
                    began = time.perf_counter()
                    context = engine.context(question.text, token_budget=budget, now=question.now)
                    yield _Task(question, expected[question.id], context, time.perf_counter() - began)
                    advance(1)


def _cost(tasks: Sequence[_Task]) -> Cost:
    asked = sum(tokens(ANSWER) + tokens(task.prompt) for task in tasks)
    judged = sum(tokens(JUDGE) + tokens(task.question.text) + tokens(task.expected) + 80 for task in tasks)
    return Cost(len(tasks), 2 * len(tasks), asked + judged, 40 * len(tasks))


def _answered(tasks: Sequence[_Task], file: Path, options: QaOptions, jobs: int, progress: bool) -> Iterator[Json]:
    """Ask and judge, a few at a time; the first call that fails ends the run, and what was answered stays written."""
    lock, stop = threading.Lock(), threading.Event()

    def ask(task: _Task) -> Json | None:
        if stop.is_set():
            return None
        row = _answer(task, options)
        with lock, file.open("ab") as stream:
            stream.write(f"{json.dumps(row, ensure_ascii=False)}\n".encode())
        return row

    with ThreadPoolExecutor(jobs) as pool, bar("Asking", len(tasks), show=progress) as advance:
        pending = [pool.submit(ask, task) for task in tasks]
        try:
            for done in as_completed(pending):
                if (row := done.result()) is not None:
                    yield row
                advance(1)
        except BaseException:
            stop.set()
            raise


def _answer(task: _Task, options: QaOptions) -> Json:
    began = time.perf_counter()
    answer, used = _chat(options.model, ANSWER, task.prompt, MAX_ANSWER_TOKENS)
    answered_s = time.perf_counter() - began
    judged = f"Question: {task.question.text}\nExpected answer: {task.expected}\nAnswer: {answer}"
    verdict, _ = _chat(options.judge, JUDGE, judged, MAX_VERDICT_TOKENS)
    word = _VERDICT.search(verdict)
    return {
        "id": task.question.id,
        "kind": task.question.category,
        "question": task.question.text,
        "expected": task.expected,
        "answer": answer,
        "right": None if word is None else word[1].upper() == "RIGHT",
        "verdict": verdict,
        "sources": [source.id for source in task.context.sources],
        "context_tokens": task.context.tokens,
        "prompt_tokens": used,
        "recall_s": round(task.recall_s, 4),
        "answer_s": round(answered_s, 3),
    }


def _chat(model: str, system: str, text: str, most: int) -> tuple[str, int]:
    """A model's answer, and the tokens of the prompt by its own count, or by ours if it gives none."""
    messages = [{"role": "system", "content": system}, {"role": "user", "content": text}]
    body: dict[str, Any] = {"model": model, "messages": messages, "temperature": 0, "max_tokens": most}
    reply = post("/chat/completions", body)
    try:
        said = reply["choices"][0]["message"]["content"] or ""
    except (KeyError, IndexError, TypeError):
        address = os.environ.get("OPENAI_BASE_URL", "the model server")
        raise InvalidInput(f"{address} gave no answer of the form choices[0].message.content") from None
    usage = reply.get("usage") or {}
    return str(said).strip(), int(usage.get("prompt_tokens") or tokens(system) + tokens(text))


def _results(rows: Sequence[Json]) -> tuple[KindResult, ...]:
    kinds = sorted({row["kind"] for row in rows})
    groups = [(kind, [row for row in rows if row["kind"] == kind]) for kind in kinds]
    return tuple(_result(kind, group) for kind, group in (*groups, ("all", list(rows))))


def _result(kind: str, rows: Sequence[Json]) -> KindResult:
    judged = [row["right"] for row in rows if row["right"] is not None]
    return KindResult(
        kind=kind,
        questions=len(rows),
        right=sum(judged),
        unjudged=len(rows) - len(judged),
        accuracy=round(sum(judged) / len(judged), 4) if judged else None,
        context_tokens=round(mean(row["context_tokens"] for row in rows), 1),
        prompt_tokens=round(mean(row["prompt_tokens"] for row in rows), 1),
        recall_ms=round(1_000 * median(row["recall_s"] for row in rows), 1),
        answer_s=round(median(row["answer_s"] for row in rows), 2),
    )
