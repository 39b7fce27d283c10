"""In the prompts of other libraries, memories stay inside their fence."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from haystack.components.builders import PromptBuilder
from langchain_core.documents import Document
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.schema import MetadataMode

import fivefold
from fivefold.adapters import haystack, langchain, llama_index
from fivefold.adapters.hits import OPENING
from fivefold.engine import Engine
from tests.support.hostile import HOSTILE, SPEAKER, assert_harmless, quotes_of

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def guests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    path: Path = tmp_path_factory.mktemp("guests") / "memory.db"
    with fivefold.open(path, embedder="wordllama") as opened:
        opened.remember_many({"content": text, "speaker": SPEAKER} for text in HOSTILE)
        yield opened


def test_a_langchain_document_has_nothing_that_is_obeyed(guests: Engine) -> None:
    found: list[Document] = langchain.FivefoldRetriever(engine=guests, k=20).invoke("tea")
    assert len(found) >= len(HOSTILE) - 2
    for document in found:
        assert_harmless(f"{document.page_content} {document.metadata['speaker']}")


def test_a_haystack_prompt_has_nothing_that_is_obeyed(guests: Engine) -> None:
    documents = haystack.FivefoldRetriever(guests, top_k=20).run("tea")["documents"]
    builder = PromptBuilder(
        "{% for each in documents %}- {{ each.content }}\n{% endfor %}", required_variables=["documents"]
    )
    assert_harmless(builder.run(documents=documents)["prompt"])


def test_a_llama_index_node_has_nothing_that_is_obeyed_with_its_metadata(guests: Engine) -> None:
    for node in llama_index.FivefoldRetriever(guests, k=20).retrieve("tea"):
        assert_harmless(node.node.get_content(metadata_mode=MetadataMode.LLM))


@pytest.mark.parametrize("cut", [0, 40, 200])
def test_a_llama_index_block_is_fenced_also_when_it_is_cut(guests: Engine, cut: int) -> None:
    block = llama_index.FivefoldMemoryBlock(engine=guests, k=20)

    async def shown() -> str | None:
        whole = await block.aget([ChatMessage(role="user", content="tea")])
        return await block.atruncate(whole, cut) if cut else whole

    text = asyncio.run(shown())
    assert text is not None
    assert text.startswith(f"{OPENING}\n")
    inside = quotes_of(text)
    assert all(line.startswith(("- ", "    ")) for line in inside.split("\n"))


def test_a_llama_index_memory_quotes_inside_its_fence(guests: Engine) -> None:
    memory = llama_index.FivefoldMemory(engine=guests, session_id="today", k=20)
    recalled, *_ = memory.get(input="tea")
    quotes_of(str(recalled.content))
