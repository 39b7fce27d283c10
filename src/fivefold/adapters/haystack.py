"""Haystack: a retriever for pipelines, which can be saved to YAML and loaded again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_type_hints

from fivefold.adapters.hits import CallOptions, hit_metadata, hit_text, recall, recall_async, store_location
from fivefold.engine import Engine
from fivefold.engine import open as open_engine
from fivefold.errors import MissingExtra
from fivefold.retrieval.plan import RecipeChoice
from fivefold.values.filters import Filter, FilterInput
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
        self.engine = engine
        self.top_k = top_k if k is None else k
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
