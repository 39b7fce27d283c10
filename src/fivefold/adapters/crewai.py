"""CrewAI: a memory for crews and agents that recalls by itself and asks no model to store or to search."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from typing import Any, ClassVar, Literal
from uuid import uuid4

from fivefold.adapters.hits import all_memories, hit_text, remember_each
from fivefold.engine import Engine
from fivefold.engine.async_engine import threads_of
from fivefold.errors import InvalidInput, MissingExtra, NotFound
from fivefold.retrieval.plan import RecipeChoice
from fivefold.values.filters import Filter, FilterInput, MetadataTest, filter_of, narrowed
from fivefold.values.memory import Memory as StoredMemory
from fivefold.values.recall_trace import Effort
from fivefold.values.serialize import Json
from fivefold.values.validate import MAX_K

try:
    from crewai.memory.storage.backend import StorageBackend
    from crewai.memory.types import MemoryMatch, MemoryRecord, ScopeInfo
    from crewai.memory.unified_memory import Memory
    from crewai.memory.utils import join_scope_paths, normalize_scope_path
    from pydantic import ConfigDict, Field, SkipValidation
except ImportError as _error:
    raise MissingExtra("the CrewAI adapter", "crewai") from _error

LIBRARY = "crewai"
_question: ContextVar[str] = ContextVar("question")


class FivefoldMemory(Memory):
    """`Crew(…, memory=FivefoldMemory(engine=…))`: scopes, categories and events are CrewAI's, recall is fivefold's.

    Ranking is left to the recall: CrewAI's own weights for age and importance are 0 unless they are given.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    engine: Engine = Field(exclude=True)
    recipe: SkipValidation[RecipeChoice] = "default"
    effort: Effort = "normal"
    min_chance: float | None = None
    filter: SkipValidation[FilterInput | None] = None
    storage: Any = Field(default=None, exclude=True)
    embedder: Any = Field(default=None, exclude=True)
    semantic_weight: float = 1.0
    recency_weight: float = 0.0
    importance_weight: float = 0.0

    def model_post_init(self, context: Any) -> None:
        if self.storage is not None or self.embedder is not None:
            raise InvalidInput("FivefoldMemory has a storage and an embedder of its own; give it an engine only")
        self.storage, self.embedder = FivefoldStorage(self), _no_vectors
        super().model_post_init(context)

    def recall(
        self,
        query: str,
        scope: str | None = None,
        categories: list[str] | None = None,
        limit: int = 10,
        depth: Literal["shallow", "deep"] = "deep",
        source: str | None = None,
        include_private: bool = False,
    ) -> list[MemoryMatch]:
        """Recalls once for either `depth`, which chooses how often a model is asked; here none is."""
        token = _question.set(query)
        try:
            return super().recall(query, scope, categories, limit, "shallow", source, include_private)
        finally:
            _question.reset(token)

    def extract_memories(self, content: str) -> list[str]:
        """The text as a whole, unless an `llm` was given that takes it apart."""
        if "llm" in self.model_fields_set:
            return super().extract_memories(content)
        return [content] if content.strip() else []

    def _encode_batch(
        self,
        contents: list[str],
        scope: str | None = None,
        categories: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        importance: float | None = None,
        source: str | None = None,
        private: bool = False,
        root_scope: str | None = None,
    ) -> list[MemoryRecord]:
        """Store texts as they are, in CrewAI's background thread; what a scope has already is not stored again."""
        path = join_scope_paths(root_scope, scope)
        records = []
        for content in contents:
            record = {
                **_stored(path, categories or [], metadata or {}, source, private),
                "content": content,
                "id": str(uuid4()),
                "origin": "assistant",
                "importance": importance,
            }
            report = self.engine.remember_many([record])
            known = None if report.stored else self.engine.get(report.merged[0].id)
            if known is None or _scope(known) != path:
                if known is not None:
                    remember_each(self.engine, [record])
                known = self.engine.get(str(record["id"]))
            records.append(_record(known))
        return records


class FivefoldStorage(StorageBackend):
    """Records as memories of the engine's namespace; memories from elsewhere lie in the scope /."""

    def __init__(self, memory: FivefoldMemory) -> None:
        self._memory = memory
        self._engine = memory.engine

    def save(self, records: list[MemoryRecord]) -> None:
        remember_each(self._engine, [{"id": each.id, "content": each.content, **_fields(each)} for each in records])

    def search(
        self,
        query_embedding: list[float],
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        metadata_filter: dict[str, Any] | None = None,
        limit: int = 10,
        min_score: float = 0.0,
    ) -> list[tuple[MemoryRecord, float]]:
        """The hits for the question of the running `recall`; a vector alone cannot be searched for."""
        question = _question.get("")
        if not question:
            raise InvalidInput("FivefoldStorage searches for a question, not for a vector; use FivefoldMemory.recall")
        memory = self._memory
        answer = self._engine.recall(
            question,
            min(limit, MAX_K),
            recipe=memory.recipe,
            effort=memory.effort,
            min_chance=memory.min_chance,
            filter=_filter(memory.filter, scope_prefix, categories, metadata_filter),
        )
        scored = [(hit, hit.score if hit.chance is None else hit.chance) for hit in answer]
        return [
            (_record(hit.memory).model_copy(update={"content": hit_text(hit)}), score)
            for hit, score in scored
            if score >= min_score
        ]

    def delete(
        self,
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        record_ids: list[str] | None = None,
        older_than: datetime | None = None,
        metadata_filter: dict[str, Any] | None = None,
    ) -> int:
        keep = _filter(None, scope_prefix, categories, metadata_filter)
        if older_than is not None:
            keep = narrowed(keep, until=older_than if older_than.tzinfo else older_than.replace(tzinfo=UTC))
        found = [each.id for each in all_memories(self._engine, keep) if record_ids is None or each.id in record_ids]
        count = 0
        for id in found:
            with suppress(NotFound):
                self._engine.forget(id)
                count += 1
        return count

    def update(self, record: MemoryRecord) -> None:
        self._engine.update(record.id, content=record.content, **_fields(record))

    def get_record(self, record_id: str) -> MemoryRecord | None:
        try:
            return _record(self._engine.get(record_id))
        except NotFound:
            return None

    def list_records(self, scope_prefix: str | None = None, limit: int = 200, offset: int = 0) -> list[MemoryRecord]:
        return list(islice(self._records(scope_prefix), offset, offset + limit))

    def get_scope_info(self, scope: str) -> ScopeInfo:
        records = list(self._records(scope))
        times = [record.created_at for record in records]
        return ScopeInfo(
            path=normalize_scope_path(scope),
            record_count=len(records),
            categories=sorted({category for record in records for category in record.categories}),
            oldest_record=min(times, default=None),
            newest_record=max(times, default=None),
            child_scopes=self.list_scopes(scope),
        )

    def list_scopes(self, parent: str = "/") -> list[str]:
        depth = len(_prefixes(parent))
        paths = (_prefixes(record.scope) for record in self._records(parent))
        return sorted({path[depth] for path in paths if len(path) > depth})

    def list_categories(self, scope_prefix: str | None = None) -> dict[str, int]:
        counts: dict[str, int] = {}
        for record in self._records(scope_prefix):
            for category in record.categories:
                counts[category] = counts.get(category, 0) + 1
        return counts

    def count(self, scope_prefix: str | None = None) -> int:
        return sum(1 for _ in self._records(scope_prefix))

    def reset(self, scope_prefix: str | None = None) -> None:
        self.delete(scope_prefix)

    async def asave(self, records: list[MemoryRecord]) -> None:
        await threads_of(self._engine.store).run("write", partial(self.save, records))

    async def asearch(self, *given: Any, **named: Any) -> list[tuple[MemoryRecord, float]]:
        return await threads_of(self._engine.store).run("read", partial(self.search, *given, **named))

    async def adelete(self, *given: Any, **named: Any) -> int:
        return await threads_of(self._engine.store).run("write", partial(self.delete, *given, **named))

    def _records(self, scope: str | None) -> Iterator[MemoryRecord]:
        """The records of a scope and those below it, latest first."""
        return map(_record, all_memories(self._engine, _filter(None, scope)))


def _no_vectors(texts: Sequence[str]) -> list[list[float]]:
    """One number for each text: CrewAI wants a vector before it searches, and the engine makes its own."""
    return [[1.0] for _ in texts]


def _filter(
    own: FilterInput | None,
    scope: str | None,
    categories: Sequence[str] | None = None,
    metadata: dict[str, Any] | None = None,
) -> Filter:
    tests = [MetadataTest(key=key, any_of=(value,)) for key, value in (metadata or {}).items()]
    if scope is not None and (path := normalize_scope_path(scope)) != "/":
        tests.append(MetadataTest(key=f"{LIBRARY}.scopes", any_of=(path,)))
    given = filter_of(own)
    return narrowed(replace(given, metadata=(*given.metadata, *tests)), tags=tuple(categories or ()))


def _prefixes(scope: str) -> list[str]:
    """The scopes that one lies in, itself last: /a and /a/b; none for /."""
    names = normalize_scope_path(scope).strip("/").split("/")
    return ["/" + "/".join(names[: level + 1]) for level in range(len(names)) if names[0]]


def _stored(scope: str, categories: Sequence[str], metadata: dict[str, Any], source: str | None, private: bool) -> Json:
    return {
        "speaker": source,
        "tags": list(categories),
        "metadata": {**metadata, LIBRARY: {"scopes": _prefixes(scope), "private": private}},
    }


def _fields(record: MemoryRecord) -> Json:
    fields = _stored(record.scope, record.categories, record.metadata, record.source, record.private)
    return {**fields, "importance": record.importance, "event_at": record.created_at.replace(tzinfo=UTC)}


def _scope(memory: StoredMemory) -> str:
    scopes = (memory.metadata.get(LIBRARY) or {}).get("scopes") or ["/"]
    return str(scopes[-1])


def _record(memory: StoredMemory) -> MemoryRecord:
    """CrewAI's times have no zone and are UTC."""
    return MemoryRecord(
        id=memory.id,
        content=memory.content,
        scope=_scope(memory),
        categories=list(memory.tags),
        metadata={name: value for name, value in memory.metadata.items() if name != LIBRARY},
        importance=memory.importance,
        created_at=memory.event_at.replace(tzinfo=None),
        last_accessed=(memory.last_accessed_at or memory.event_at).replace(tzinfo=None),
        source=memory.speaker,
        private=bool((memory.metadata.get(LIBRARY) or {}).get("private", False)),
    )
