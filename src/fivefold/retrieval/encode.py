"""The question as the model reads it. The model begins while the question is still being understood."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor

from fivefold.errors import EmbedderError, FivefoldError
from fivefold.models.embedders import Embedder, gives_tokens, read_question
from fivefold.namespace import Namespace
from fivefold.retrieval.request import RecallRequest
from fivefold.retrieval.route_line import RouteLine
from fivefold.retrieval.routes import ROUTES
from fivefold.stores.protocol import VectorSpace
from fivefold.values.query import Query
from fivefold.values.reading import QuestionReading
from fivefold.values.recall_trace import Plan

Outcome = QuestionReading | FivefoldError
"""A failing model fails the routes that need it, not the recall."""


class Encoding:
    """A question that a thread reads. The same thread then runs the routes that wait for the reading."""

    def __init__(self) -> None:
        self.reading: Future[Outcome] = Future()
        self.routes = RouteLine()

    def run(self, model: Embedder, text: str) -> None:
        if self.reading.set_running_or_notify_cancel():
            self.reading.set_result(_read(model, text))
            self.routes.work()


def begin_encoding(
    request: RecallRequest, namespace: Namespace, space: VectorSpace | None, threads: ThreadPoolExecutor
) -> Encoding | None:
    """Read the question as it was asked, which is mostly how it is meant; None where that is better left for later.

    Only a model with token vectors begins: another may be a server's, which is asked once.
    """
    if request.history or not any(ROUTES[spec.search].encodes for spec in request.recipe.routes):
        return None
    try:
        model, encoding = namespace.embedder_of(space), Encoding()
        if not gives_tokens(model):
            return None
        threads.submit(encoding.run, model, request.question)
    except (FivefoldError, RuntimeError):  # the engine was closed, or the routes that need the model will say
        return None
    return encoding


def encode_question(
    query: Query, planned: Plan, namespace: Namespace, space: VectorSpace | None, begun: Encoding | None = None
) -> Outcome | None:
    """The question as the model reads it, if a route needs that."""
    needed = any(part.run and ROUTES[part.search].encodes for part in planned.routes)
    if needed and begun is not None and query.to_read == query.text:
        return begun.reading.result()
    if begun is not None:
        begun.reading.cancel()
    if not needed:
        return None
    try:
        return _read(namespace.embedder_of(space), query.to_read)
    except FivefoldError as error:
        return error
    except Exception as error:
        return _failed(error)


def _read(model: Embedder, text: str) -> Outcome:
    try:
        return read_question(model, text)
    except FivefoldError as error:
        return error
    except Exception as error:
        return _failed(error)


def _failed(error: Exception) -> EmbedderError:
    return EmbedderError(f"the question could not be encoded: {type(error).__name__}: {error}")
