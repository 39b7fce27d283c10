"""One client of a load: reads and writes at random for a while, and records what was confirmed."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from multiprocessing.synchronize import Barrier
from time import perf_counter
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from fivefold import sample
from fivefold.engine import Engine
from fivefold.errors import FivefoldError, InvalidInput, NotFound
from fivefold.retrieval.plan import RecallOptions
from fivefold.values.recall_trace import Effort
from fivefold_bench.measures import records

# Two ways to the same operations: over HTTP to a server, or straight into an engine.

Record = Mapping[str, Any]
TIMEOUT_S = 120


class OperationFailure(Exception):
    """An operation that did not succeed; `sure` tells whether it surely changed nothing."""

    def __init__(self, message: str, sure: bool) -> None:
        super().__init__(message)
        self.sure = sure


class Gone(OperationFailure):
    """The memory or recall does not exist."""


class EngineApi:
    """Straight into an engine."""

    def __init__(self, engine: Engine, recipe: str = "default", effort: Effort = "normal") -> None:
        self._engine = engine
        self._options: RecallOptions = {"recipe": recipe, "effort": effort}

    def recall(self, question: str) -> tuple[str, list[str]]:
        answer = self._engine.recall(question, **self._options)
        return answer.id, [hit.memory.id for hit in answer]

    def context(self, question: str) -> None:
        self._engine.context(question, **self._options)

    def used(self, recall: str, ids: Sequence[str]) -> None:
        self._engine.feedback(recall, used=ids)

    def add(self, record: Record) -> Sequence[str]:
        return self._engine.remember(**record).stored

    def batch(self, records: Sequence[Record]) -> Sequence[str]:
        return self._engine.remember_many(records).stored

    def get(self, id: str) -> None:
        self._engine.get(id)

    def page(self, cursor: str | None = None, limit: int = 20) -> tuple[list[str], str | None]:
        page = self._engine.memories(cursor=cursor, limit=limit)
        return [memory.id for memory in page], page.cursor

    def forget(self, id: str) -> None:
        self._engine.forget(id)


class HttpApi:
    """To a server, over one connection that stays open."""

    def __init__(
        self, url: str, namespace: str, key: str | None = None, recipe: str = "default", effort: Effort = "normal"
    ) -> None:
        parts = urlsplit(url)
        kind: Callable[..., HTTPConnection] = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        self._connection = kind(parts.hostname or "", parts.port, timeout=TIMEOUT_S)
        self._space = f"{parts.path.rstrip('/')}/v1/namespaces/{quote(namespace, safe='')}"
        self._options = {"recipe": recipe, "effort": effort}
        self._headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})

    def recall(self, question: str) -> tuple[str, list[str]]:
        answer = self._request("POST", "/recall", {"question": question, **self._options})
        return answer["id"], [hit["memory"]["id"] for hit in answer["hits"]]

    def context(self, question: str) -> None:
        self._request("POST", "/context", {"question": question, **self._options})

    def used(self, recall: str, ids: Sequence[str]) -> None:
        self._request("POST", "/feedback", {"recall_id": recall, "used": [*ids]})

    def add(self, record: Record) -> Sequence[str]:
        return list(self._request("POST", "/memories", record)["stored"])

    def batch(self, records: Sequence[Record]) -> Sequence[str]:
        return list(self._request("POST", "/memories/batch", {"records": [*records]})["stored"])

    def get(self, id: str) -> None:
        self._request("GET", f"/memories/{quote(id, safe='')}")

    def page(self, cursor: str | None = None, limit: int = 20) -> tuple[list[str], str | None]:
        query = {"limit": limit} | ({"cursor": cursor} if cursor else {})
        page = self._request("GET", f"/memories?{urlencode(query)}")
        return [item["id"] for item in page["items"]], page["cursor"]

    def forget(self, id: str) -> None:
        self._request("DELETE", f"/memories/{quote(id, safe='')}")

    def close(self) -> None:
        self._connection.close()

    def _request(self, method: str, path: str, body: object = None) -> Any:
        payload = None if body is None else json.dumps(body).encode()
        try:
            self._connection.request(method, self._space + path, payload, self._headers)
            answer = self._connection.getresponse()
            content = answer.read()
        except (OSError, HTTPException) as error:
            self._connection.close()
            raise OperationFailure(f"{method}: {type(error).__name__}: {error}", sure=False) from None
        if answer.status >= 400:
            message = content.decode("utf-8", "replace")[:300]
            kind = Gone if answer.status == 404 else OperationFailure
            raise kind(f"{method}: {answer.status} {message}", sure=answer.status < 500)
        try:
            return json.loads(content) if content else None
        except ValueError:
            raise OperationFailure(f"{method}: the answer is not JSON", sure=False) from None


LoadApi = EngineApi | HttpApi
"""The operations of a load, as an agent would use them."""

BATCH = 10
MEET_S = 300
MIX = {"recall": 50, "context": 5, "used": 5, "add": 25, "batch": 3, "get": 5, "list": 5, "forget": 2}
"""Number of each operation, in parts of all: an agent reads before it answers, and then writes the turn."""


@dataclass(slots=True)
class Account:
    """A client's record: milliseconds of each operation, failures, and the memories that must be there now."""

    times: dict[str, list[float]] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    written: set[str] = field(default_factory=set)
    forgotten: set[str] = field(default_factory=set)
    unsure: set[str] = field(default_factory=set)
    """Ids of writes without an answer, which may have happened or not."""
    too_late: int = 0
    """Feedback on a recall that had returned a memory which was forgotten meanwhile, and the recall with it."""

    def add(self, other: Account) -> None:
        for operation, times in other.times.items():
            self.times.setdefault(operation, []).extend(times)
        self.failures += other.failures
        self.written |= other.written
        self.forgotten |= other.forgotten
        self.unsure |= other.unsure
        self.too_late += other.too_late

    @property
    def requests(self) -> int:
        return sum(map(len, self.times.values())) + len(self.failures) + self.too_late


def mix_of(text: str) -> dict[str, int]:
    """A mix such as recall=6,add=3."""
    mix = {}
    for part in text.split(","):
        name, _, share = part.strip().partition("=")
        if name not in MIX or not share.isdecimal():
            raise InvalidInput(
                f"takes shares such as recall=6,add=3 of {', '.join(MIX)}; not {part.strip()!r}", field="mix"
            )
        mix[name] = int(share)
    if not any(mix.values()):
        raise InvalidInput("names no operation with a share above 0", field="mix")
    return mix


class Client:
    """Draws operations by their share, each with what it needs at hand."""

    def __init__(self, api: LoadApi, name: str, mix: Mapping[str, int], seed: int) -> None:
        self.account = Account()
        self._api = api
        self._mix = mix
        self._chance = random.Random(seed)
        self._questions = [question.query for question in sample.questions()]
        self._records = (  # with ids that tell whose they are
            {**record, "event_at": record["event_at"].isoformat(), "id": f"{name}-{number}"}
            for number, record in enumerate(records(10**9, seed))
        )
        self._mine: list[str] = []
        self._last: tuple[str, list[str]] | None = None

    def work(self, begin: float, end: float) -> Account:
        time.sleep(max(0.0, begin - time.time()))
        names, shares = [*self._mix], [*self._mix.values()]
        while time.time() < end:
            self.once(self._chance.choices(names, shares)[0])
        return self.account

    def once(self, operation: str) -> None:
        operation, act = self._ready(operation)
        start = perf_counter()
        try:
            act()
        except (OperationFailure, FivefoldError) as error:
            if operation == "used" and isinstance(error, Gone | NotFound):
                self.account.too_late += 1
            else:
                self.account.failures.append(f"{operation}: {error}")
        else:
            self.account.times.setdefault(operation, []).append((perf_counter() - start) * 1000)

    def _ready(self, operation: str) -> tuple[str, Callable[[], object]]:
        """An operation with all it needs; one that needs a memory or a recall of this client's makes that first."""
        question = self._chance.choice(self._questions)
        if operation in ("get", "forget") and not self._mine:
            operation = "add"
        if operation == "used" and (self._last is None or not self._last[1]):
            operation = "recall"
        acts: dict[str, Callable[[], object]] = {
            "recall": lambda: setattr(self, "_last", self._api.recall(question)),
            "context": lambda: self._api.context(question),
            "used": self._used,
            "add": lambda: self._write([next(self._records)]),
            "batch": lambda: self._write([next(self._records) for _ in range(BATCH)]),
            "get": lambda: self._api.get(self._chance.choice(self._mine)),
            "list": self._api.page,
            "forget": self._forget,
        }
        return operation, acts[operation]

    def _used(self) -> None:
        assert self._last is not None
        recall, ids = self._last
        self._last = None
        self._api.used(recall, ids[:1])

    def _write(self, records: list[dict[str, Any]]) -> None:
        try:
            stored = self._api.add(records[0]) if len(records) == 1 else self._api.batch(records)
        except OperationFailure as error:
            self.account.unsure.update(() if error.sure else [record["id"] for record in records])
            raise
        self.account.written.update(stored)
        self._mine += stored

    def _forget(self) -> None:
        id = self._mine.pop(self._chance.randrange(len(self._mine)))
        try:
            self._api.forget(id)
        except OperationFailure as error:
            if not error.sure:
                self.account.unsure.add(id)
            raise
        self.account.forgotten.add(id)


_meeting: list[Barrier] = []


def meet_at(barrier: Barrier) -> None:
    """Makes the clients' processes wait for each other."""
    _meeting.append(barrier)


def meet() -> None:
    """Wait until every client's process is up."""
    _meeting[0].wait(MEET_S)


def run_client(
    api: Callable[[], HttpApi], name: str, mix: Mapping[str, int], seed: int, begin: float, end: float
) -> Account:
    """One client of a server, in whatever process this is."""
    with closing(api()) as asked:
        return Client(asked, name, mix, seed).work(begin, end)
