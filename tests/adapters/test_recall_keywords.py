"""Every adapter that recalls takes the keywords that keep memories apart, and refuses those it does not know."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from haystack import Pipeline
from haystack.core.errors import PipelineRuntimeError
from llama_index.core.base.llms.types import ChatMessage

import fivefold
from fivefold import Filter
from fivefold.adapters import haystack, langchain, llama_index, openai_agents
from fivefold.engine import Engine
from fivefold.errors import InvalidInput
from fivefold.values.filters import filter_of

pytestmark = pytest.mark.slow

ASKED = "how does Ana take her tea?"
KEYWORDS: dict[str, Any] = {
    "filter": "speaker:ana",
    "min_chance": 0.0,
    "k": 4,
    "effort": "low",
    "session_id": "now",
    "recipe": "default",
}

Recall = Callable[..., str]
"""The texts that an adapter finds: `make` gives the adapter's own keywords, further ones go with the call."""


def by_langchain(engine: Engine, make: dict[str, Any], **call: Any) -> str:
    retriever = copy.deepcopy(langchain.FivefoldRetriever(engine=engine, **make))
    return str(retriever.invoke(ASKED, **call)) + str(asyncio.run(retriever.ainvoke(ASKED, **call)))


def by_haystack(engine: Engine, make: dict[str, Any], **call: Any) -> str:
    retriever = copy.deepcopy(haystack.FivefoldRetriever(engine, **make))
    pipeline = Pipeline()
    pipeline.add_component("memory", retriever)
    given = {"memory": {"query": ASKED, **call}}
    return str(pipeline.run(given)) + str(asyncio.run(pipeline.run_async(given)))


def by_llama_index(engine: Engine, make: dict[str, Any], **call: Any) -> str:
    """A retriever of LlamaIndex has no keywords of a call."""
    retriever = copy.deepcopy(llama_index.FivefoldRetriever(engine, **make, **call))
    return str(retriever.retrieve(ASKED)) + str(asyncio.run(retriever.aretrieve(ASKED)))


def by_block(engine: Engine, make: dict[str, Any], **call: Any) -> str:
    block = llama_index.FivefoldMemoryBlock(engine=engine, **make).model_copy(deep=True)
    return asyncio.run(block.aget([ChatMessage(role="user", content=ASKED)], **call))


def by_memory(engine: Engine, make: dict[str, Any], **call: Any) -> str:
    memory = llama_index.FivefoldMemory(engine=engine, **{"session_id": "now", **make}).model_copy(deep=True)
    return str(memory.get(ASKED, **call)) + str(asyncio.run(memory.aget(ASKED, **call)))


ADAPTERS = pytest.mark.parametrize("recall", [by_langchain, by_haystack, by_llama_index, by_block, by_memory])


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """A namespace with memories of two people."""
    path: Path = tmp_path_factory.mktemp("shared") / "memory.db"
    with fivefold.open(path, embedder="wordllama") as opened:
        opened.remember("Ana takes her tea black", speaker="ana")
        opened.remember("Bo takes his tea with milk", speaker="bo")
        yield opened


@ADAPTERS
@pytest.mark.parametrize("keep", ["speaker:ana", {"speaker": "ana"}, Filter(speakers=("ana",))])
def test_a_filter_keeps_other_people_out(recall: Recall, keep: object, shared: Engine) -> None:
    assert "with milk" in recall(shared, {})
    found = recall(shared, {"filter": keep})
    assert "tea black" in found
    assert "with milk" not in found
    assert "with milk" not in recall(shared, {}, filter=keep)
    other = recall(shared, {}, filter="speaker:bo")
    assert "with milk" in other
    assert "tea black" not in other


@ADAPTERS
def test_every_keyword_is_taken(recall: Recall, shared: Engine) -> None:
    assert "tea black" in recall(shared, KEYWORDS)
    assert "tea black" in recall(shared, {}, **KEYWORDS)
    assert "tea" not in recall(shared, {"min_chance": 1.0}).replace(ASKED, "")
    assert "with milk" not in recall(shared, {"k": 1})
    with pytest.raises((InvalidInput, PipelineRuntimeError), match="unknown recipe 'no such recipe'"):
        recall(shared, {"recipe": "no such recipe"})
    with pytest.raises((InvalidInput, PipelineRuntimeError), match="effort"):
        recall(shared, {}, effort="none")


@ADAPTERS
def test_an_unknown_keyword_is_refused(recall: Recall, shared: Engine) -> None:
    for make, call in (({"filtre": "speaker:ana"}, {}), ({}, {"filtre": "speaker:ana"})):
        with pytest.raises((ValueError, TypeError), match="filtre"):
            recall(shared, make, **call)


def test_a_filter_survives_a_saved_pipeline(shared: Engine) -> None:
    for keep in ("speaker:ana meta.price>=10", Filter(speakers=("ana",), superseded=False), {"speaker": ["ana"]}):
        pipeline = Pipeline()
        pipeline.add_component("memory", haystack.FivefoldRetriever(shared, k=3, min_chance=0.1, filter=keep))
        again: Any = Pipeline.loads(pipeline.dumps(), allowed_modules=["fivefold.adapters.haystack"])
        retriever = again.get_component("memory")
        try:
            assert filter_of(retriever.filter) == filter_of(keep)
            assert (retriever.k, retriever.min_chance) == (3, 0.1)
        finally:
            retriever.engine.close()


@pytest.mark.parametrize(
    "make",
    [
        lambda store: langchain.FivefoldChatHistory(store, "now"),
        haystack.FivefoldRetriever,
        llama_index.FivefoldRetriever,
        lambda store: openai_agents.FivefoldSession(store, "now"),
    ],
)
def test_a_store_in_the_place_of_an_engine_is_refused_at_once(make: Callable[[Any], Any], tmp_path: Path) -> None:
    with fivefold.store(tmp_path / "m.db") as store, pytest.raises(InvalidInput, match=r"fivefold\.open"):
        make(store)
