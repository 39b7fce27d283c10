"""The asynchronous engine inside a FastAPI application: one store, a namespace for each user, many requests at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest
from fastapi import FastAPI, Request
from starlette.responses import StreamingResponse

import fivefold
from fivefold.engine.async_engine import AsyncEngine
from tests.support.toy_engine import Toy

pytestmark = pytest.mark.slow

USERS = 20
EACH = 10


def application(path: str) -> FastAPI:
    @asynccontextmanager
    async def opened(app: FastAPI) -> AsyncIterator[None]:
        async with await fivefold.astore(path, embedder=Toy()) as store:
            app.state.store = store
            yield

    app = FastAPI(lifespan=opened)

    def memory(request: Request) -> AsyncEngine:
        store: fivefold.AsyncStore = request.app.state.store
        return store.namespace(request.path_params["user"])

    @app.post("/{user}/messages")
    async def add(request: Request) -> dict[str, str | None]:
        report = await memory(request).remember((await request.body()).decode())
        return {"id": report.id}

    @app.get("/{user}/answer")
    async def answer(request: Request) -> list[str]:
        recalled = await memory(request).recall(request.query_params["q"], 3, recipe="lexical")
        return [hit.memory.content for hit in recalled]

    @app.get("/{user}/export")
    async def export(request: Request) -> StreamingResponse:
        return StreamingResponse(line + "\n" async for line in memory(request).export_lines())

    return app


def test_requests_of_many_users_at_once(store_path: str) -> None:
    app = application(store_path)

    async def chat(client: httpx.AsyncClient, user: int, number: int) -> None:
        text = f"My code number {number} is U{user}N{number}"
        stored = await client.post(f"/user{user}/messages", content=text)
        assert stored.status_code == 200
        found = await client.get(f"/user{user}/answer", params={"q": f"U{user}N{number}"})
        assert found.json()[0] == text

    async def main() -> None:
        transport = httpx.ASGITransport(app=app)
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=transport, base_url="http://memory") as client,
        ):
            await asyncio.gather(*(chat(client, user, number) for user in range(USERS) for number in range(EACH)))
            for user in range(USERS):
                lines = (await client.get(f"/user{user}/export")).text.splitlines()
                assert len(lines) == EACH
                assert all(f"U{user}N" in line for line in lines)

    asyncio.run(main())
    with fivefold.store(store_path, embedder=Toy()) as store:
        assert len(store.namespaces()) == USERS
