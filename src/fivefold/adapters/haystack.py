"""Haystack: a retriever, a memory store and a writer for it, which are saved to YAML with their pipeline."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import Any, Unpack, get_type_hints

from fivefold.adapters.hits import (
    CallOptions,
    all_memories,
    checked_engine,
    checked_options,
    checked_store,
    digest,
    hit_metadata,
    hit_text,
    namespace_name,
    recall,
    recall_async,
    storable,
    store_location,
)
from fivefold.engine import Engine, SharedStore
from fivefold.engine import open as open_engine
from fivefold.engine import store as open_store
from fivefold.engine.async_engine import threads_of
from fivefold.errors import MissingExtra, NotFound
from fivefold.retrieval.plan import RecipeChoice
from fivefold.text.display import harmless
from fivefold.values.filters import Filter, FilterInput
from fivefold.values.recall import Recall
from fivefold.values.recall_trace import Effort
from fivefold.values.serialize import Json
from fivefold.values.validate import MAX_K, visible

try:
    from haystack import Document, component, default_from_dict, default_to_dict
    from haystack.dataclasses import ChatMessage
    from haystack.utils.filters import document_matches_filter
except ImportError as _error:
    raise MissingExtra("the Haystack adapter", "haystack") from _error


@component
class FivefoldRetriever:
    """The memories that answer a query, as documents.

    As a dictionary it names its store and namespace, and `from_dict` opens them. It never contains a password: set
    PGPASSWORD or use ~/.pgpass.
    """

    def __init__(
        self,
        engine: Engine,
        top_k: int = 10,
        recipe: str = "default",
        effort: Effort = "normal",
        session_id: str | None = None,
        min_chance: float | None = None,
        filter: FilterInput | None = None,
        k: int | None = None,
    ) -> None:
        """`k` is the other adapters' name for `top_k`; if both are given, `k` is used."""
        self.engine = checked_engine(engine)
        self.top_k: int = top_k if k is None else k
        self.recipe: RecipeChoice = recipe
        self.effort = effort
        self.session_id = session_id
        self.min_chance = min_chance
        self.filter = filter
        for name, kind in get_type_hints(CallOptions).items():
            component.set_input_type(self, name, kind | None, default=None)

    @property
    def k(self) -> int:
        """The other adapters' name for `top_k`."""
        return self.top_k

    @component.output_types(documents=list[Document])
    def run(self, query: str, top_k: int | None = None, **options: Any) -> dict[str, list[Document]]:
        """`top_k` and the keywords of `Engine.recall` override the retriever's own for this call."""
        return _output(recall(self, query, **_call(top_k, options)))

    @component.output_types(documents=list[Document])
    async def run_async(self, query: str, top_k: int | None = None, **options: Any) -> dict[str, list[Document]]:
        return _output(await recall_async(self, query, **_call(top_k, options)))

    def to_dict(self) -> dict[str, Any]:
        return default_to_dict(
            self,
            engine=store_location(self.engine),
            top_k=self.top_k,
            recipe=self.recipe,
            effort=self.effort,
            session_id=self.session_id,
            min_chance=self.min_chance,
            filter=self.filter.to_dict() if isinstance(self.filter, Filter) else self.filter,
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> FivefoldRetriever:
        parameters = dict(data["init_parameters"])
        location = parameters["engine"]
        parameters["engine"] = open_engine(location["store"], namespace=location["namespace"])
        return default_from_dict(cls, {**data, "init_parameters": parameters})


class FivefoldMemoryStore:
    """Messages as memories, each user in a namespace, with the methods of Haystack's experimental `MemoryStore`."""

    def __init__(self, store: SharedStore, **options: Unpack[CallOptions]) -> None:
        """`options` are keywords of `Engine.recall`; a search may override them."""
        self.store: SharedStore = checked_store(store)
        self.options: dict[str, Any] = checked_options(options)

    def add_memories(
        self, *, messages: list[ChatMessage], user_id: str | None = None, session_id: str | None = None
    ) -> list[str]:
        """The ids of the new memories. Of a session that has grown, only what is new is stored."""
        records, seen = [], Counter[str]()
        for message in messages:
            if not visible(text := storable(message.text or "")):
                continue
            role = message.role.value
            record = {"content": text, "speaker": message.name or role, "metadata": message.meta}
            if session_id is not None:
                said = "\n".join((session_id, role, text))
                seen[said] += 1
                record |= {"session_id": session_id, "id": digest(f"{seen[said]}\n{said}")}
            records.append({**record, "origin": role if role in ("user", "assistant", "tool") else None})
        return list(self.engine(user_id).remember_many(records).stored)

    def search_memories(
        self,
        *,
        query: str | None = None,
        filters: Mapping[str, Any] | None = None,
        top_k: int = 5,
        user_id: str | None = None,
        **options: Any,
    ) -> list[ChatMessage]:
        """The memories that a query recalls, or the latest. `filters` are Haystack's, over the `meta` of the
        messages."""
        call, engine = {**self.options, **checked_options(options)}, self.engine(user_id)
        if query:
            answer = engine.recall(query, **{**call, "k": MAX_K if filters else top_k})
            found = [(hit_text(hit), {**hit.memory.metadata, **hit_metadata(answer, hit)}) for hit in answer]
        else:
            memories = all_memories(engine, call.get("filter"))
            latest = memories if filters else islice(memories, top_k)
            found = [(harmless(memory.content), {**memory.metadata, "id": memory.id}) for memory in latest]
        fit = (
            (text, meta)
            for text, meta in found
            if not filters or document_matches_filter(dict(filters), Document(content=text, meta=meta))
        )
        return [ChatMessage.from_system(text, meta=meta) for text, meta in islice(fit, top_k)]

    def delete_memory(self, memory_id: str, *, user_id: str | None = None) -> None:
        self.engine(user_id).forget(memory_id)

    def delete_all_memories(self, *, user_id: str | None = None) -> None:
        """Forget all memories of a user; without a user, the memories of nobody in particular."""
        engine = self.engine(user_id)
        for memory in list(all_memories(engine)):
            with suppress(NotFound):
                engine.forget(memory.id)

    def engine(self, user_id: str | None) -> Engine:
        """The namespace of a user, `default` without one."""
        return self.store.namespace(namespace_name((user_id,)) if user_id else "default")

    def to_dict(self) -> dict[str, Any]:
        location = store_location(self.engine(None))["store"]
        return default_to_dict(self, store=location, **self.options)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> FivefoldMemoryStore:
        parameters = dict(data["init_parameters"])
        return cls(open_store(parameters.pop("store")), **parameters)


@component
class FivefoldMemoryWriter:
    """Writes the messages of a pipeline to a memory store."""

    def __init__(self, memory_store: FivefoldMemoryStore) -> None:
        self.memory_store = memory_store

    @component.output_types(memories_written=int)
    def run(
        self, messages: list[ChatMessage], user_id: str | None = None, session_id: str | None = None
    ) -> dict[str, int]:
        written = self.memory_store.add_memories(messages=messages, user_id=user_id, session_id=session_id)
        return {"memories_written": len(written)}

    @component.output_types(memories_written=int)
    async def run_async(
        self, messages: list[ChatMessage], user_id: str | None = None, session_id: str | None = None
    ) -> dict[str, int]:
        threads = threads_of(self.memory_store.store.store)
        return await threads.run("write", partial(self.run, messages, user_id, session_id))

    def to_dict(self) -> dict[str, Any]:
        return default_to_dict(self, memory_store=self.memory_store.to_dict())

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> FivefoldMemoryWriter:
        return cls(FivefoldMemoryStore.from_dict(data["init_parameters"]["memory_store"]))


def _call(top_k: int | None, options: Mapping[str, Any]) -> dict[str, Any]:
    k = options.get("k")
    return {**options, "k": top_k if k is None else k}


def _output(answer: Recall) -> dict[str, list[Document]]:
    documents = [
        Document(id=hit.memory.id, content=hit_text(hit), score=hit.score, meta=_meta(hit_metadata(answer, hit)))
        for hit in answer
    ]
    return {"documents": documents}


def _meta(metadata: Json) -> Json:
    """Haystack has fields of its own for the id and the score."""
    return {name: value for name, value in metadata.items() if name not in ("id", "score")}
