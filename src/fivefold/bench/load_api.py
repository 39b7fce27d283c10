"""Two ways to the same operations: over HTTP to a server, or straight into an engine."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any, Protocol
from urllib.parse import quote, urlencode, urlsplit

from fivefold.engine import Engine

Record = Mapping[str, Any]
TIMEOUT_S = 120


class Failed(Exception):
    """An operation that did not succeed; `sure` tells whether it surely changed nothing."""

    def __init__(self, message: str, sure: bool) -> None:
        super().__init__(message)
        self.sure = sure


class Gone(Failed):
    """The memory or recall does not exist."""


class LoadApi(Protocol):
    """The operations of a load, as an agent would use them."""

    def recall(self, question: str) -> tuple[str, list[str]]:
        """The recall's id, and those of the memories it returned."""

    def context(self, question: str) -> None: ...

    def used(self, recall: str, ids: Sequence[str]) -> None: ...

    def add(self, record: Record) -> Sequence[str]:
        """The id it was stored under, if it was new."""

    def batch(self, records: Sequence[Record]) -> Sequence[str]: ...

    def get(self, id: str) -> None: ...

    def page(self, cursor: str | None = None, limit: int = 20) -> tuple[list[str], str | None]:
        """Ids, and where the next page begins."""

    def forget(self, id: str) -> None: ...


class EngineApi:
    """Straight into an engine."""

    def __init__(self, engine: Engine, recipe: str = "default") -> None:
        self._engine = engine
        self._recipe = recipe

    def recall(self, question: str) -> tuple[str, list[str]]:
        answer = self._engine.recall(question, recipe=self._recipe)
        return answer.id, [hit.memory.id for hit in answer]

    def context(self, question: str) -> None:
        self._engine.context(question, recipe=self._recipe)

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

    def __init__(self, url: str, namespace: str, key: str | None = None, recipe: str = "default") -> None:
        parts = urlsplit(url)
        kind: Callable[..., HTTPConnection] = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        self._connection = kind(parts.hostname or "", parts.port, timeout=TIMEOUT_S)
        self._space = f"{parts.path.rstrip('/')}/v1/namespaces/{quote(namespace, safe='')}"
        self._recipe = recipe
        self._headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})

    def recall(self, question: str) -> tuple[str, list[str]]:
        answer = self._request("POST", "/recall", {"question": question, "recipe": self._recipe})
        return answer["id"], [hit["memory"]["id"] for hit in answer["hits"]]

    def context(self, question: str) -> None:
        self._request("POST", "/context", {"question": question, "recipe": self._recipe})

    def used(self, recall: str, ids: Sequence[str]) -> None:
        self._request("POST", "/feedback", {"recall_id": recall, "used": [*ids]})

    def add(self, record: Record) -> Sequence[str]:
        return _stored_ids(self._request("POST", "/memories", record))

    def batch(self, records: Sequence[Record]) -> Sequence[str]:
        return _stored_ids(self._request("POST", "/memories/batch", {"records": [*records]}))

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
            raise Failed(f"{method}: {type(error).__name__}: {error}", sure=False) from None
        if answer.status >= 400:
            message = content.decode("utf-8", "replace")[:300]
            kind = Gone if answer.status == 404 else Failed
            raise kind(f"{method}: {answer.status} {message}", sure=answer.status < 500)
        try:
            return json.loads(content) if content else None
        except ValueError:
            raise Failed(f"{method}: the answer is not JSON", sure=False) from None


def _stored_ids(report: Mapping[str, Any]) -> list[str]:
    return [str(id) for id in report["stored"]]
