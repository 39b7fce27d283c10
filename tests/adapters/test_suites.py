"""What frameworks publish to test or use an adapter with, and `make test-adapters` installs."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from agents import TResponseInputItem
from agents.extensions.memory import EncryptedSession
from langchain_tests.integration_tests import RetrieversIntegrationTests

from fivefold.adapters.langchain import FivefoldRetriever
from fivefold.adapters.openai_agents import FivefoldSession
from fivefold.engine import Engine

pytestmark = pytest.mark.slow


class TestFivefoldRetriever(RetrieversIntegrationTests):
    """The suite of LangChain for retrievers."""

    @pytest.fixture(autouse=True)
    def _engine(self, facts: Engine) -> None:
        self.engine = facts

    @property
    def retriever_constructor(self) -> type[FivefoldRetriever]:
        return FivefoldRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"engine": self.engine}

    @property
    def retriever_query_example(self) -> str:
        return "what is my badge ID?"


def test_a_session_of_the_openai_agents_sdk_can_be_wrapped(mem: Engine) -> None:
    items: list[TResponseInputItem] = [{"role": "user", "content": "My PIN is 2580"}]

    async def talk() -> list[TResponseInputItem]:
        session = EncryptedSession("s", FivefoldSession(mem, "s"), "a key")
        await session.add_items(items)
        return await session.get_items()

    assert asyncio.run(talk()) == items
    assert "2580" not in str([memory.to_dict() for memory in mem.memories()])
