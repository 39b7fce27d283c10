"""Haystack: a retriever for pipelines, which can be saved to YAML and loaded again."""

from __future__ import annotations

from typing import Any

from fivefold.adapters.hits import hit_metadata, hit_text
from fivefold.engine import Engine
from fivefold.engine import open as open_engine
from fivefold.engine.async_engine import AsyncEngine
from fivefold.errors import InvalidInput, MissingExtra
from fivefold.values.recall import Recall
from fivefold.values.recall_trace import Effort
from fivefold.values.serialize import Json

try:
    from haystack import Document, component, default_from_dict, default_to_dict
except ImportError as error:
    raise MissingExtra("the Haystack adapter", "haystack") from error


@component
class FivefoldRetriever:
    """The memories that answer a query, as documents.

    As a dictionary it names its store and namespace, and `from_dict` opens them. It never contains a password: set
    PGPASSWORD or use ~/.pgpass.
    """

    def __init__(self, engine: Engine, top_k: int = 10, recipe: str = "default", effort: Effort = "normal") -> None:
        self.engine = engine
        self.top_k = top_k
        self.recipe = recipe
        self.effort = effort

    @component.output_types(documents=list[Document])
    def run(self, query: str, top_k: int | None = None) -> dict[str, list[Document]]:
        """`top_k` overrides the retriever's own for this call."""
        count = self.top_k if top_k is None else top_k
        return _output(self.engine.recall(query, count, recipe=self.recipe, effort=self.effort))

    @component.output_types(documents=list[Document])
    async def run_async(self, query: str, top_k: int | None = None) -> dict[str, list[Document]]:
        count = self.top_k if top_k is None else top_k
        return _output(await AsyncEngine(self.engine).recall(query, count, recipe=self.recipe, effort=self.effort))

    def to_dict(self) -> dict[str, Any]:
        location = self.engine.location
        if location == ":memory:":
            raise InvalidInput("a store in memory ends with its process and cannot be saved; open a file instead")
        engine = {"store": location, "namespace": self.engine.namespace}
        return default_to_dict(self, engine=engine, top_k=self.top_k, recipe=self.recipe, effort=self.effort)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> FivefoldRetriever:
        parameters = dict(data["init_parameters"])
        location = parameters["engine"]
        parameters["engine"] = open_engine(location["store"], namespace=location["namespace"])
        return default_from_dict(cls, {**data, "init_parameters": parameters})


def _output(answer: Recall) -> dict[str, list[Document]]:
    documents = [
        Document(id=hit.memory.id, content=hit_text(hit), score=hit.score, meta=_meta(hit_metadata(answer, hit)))
        for hit in answer
    ]
    return {"documents": documents}


def _meta(metadata: Json) -> Json:
    """Haystack has fields of its own for the id and the score."""
    return {name: value for name, value in metadata.items() if name not in ("id", "score")}
