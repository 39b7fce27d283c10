"""Weights that a model predicts from the question, for recipes that ask for them (D1, D3)."""

from __future__ import annotations

from dataclasses import replace

from fivefold.errors import FivefoldError
from fivefold.learning.adaptation import adapt, load_adaptation
from fivefold.stores.protocol import Reader, VectorSpace
from fivefold.values.query import Query, Weights
from fivefold.values.reading import QuestionReading
from fivefold.values.recall_trace import Plan


def predict_weights(
    query: Query, question: QuestionReading | FivefoldError | None, space: VectorSpace | None, reader: Reader
) -> Weights:
    """The weights a model reads out of the question, corrected by the namespace's feedback (D3, D10, D12)."""
    from fivefold.models.weights import intent, is_fallback, predict, without

    if space is None or not isinstance(question, QuestionReading):
        return without("the question has no vector")
    weights = adapt(
        predict(query.to_read, question.vector, space.embedder),
        load_adaptation(reader.admin.learned_value("weights")),
        query.now,
    )
    return weights if is_fallback(weights) else replace(weights, intent=intent(weights))


def apply_weights(plan: Plan, weights: Weights) -> Plan:
    """The plan with the weights predicted for this question (D1)."""
    by_search = {"dense": weights.similarity, "recency": weights.recency, "frequency": weights.frequency}
    return replace(
        plan,
        routes=tuple(
            replace(part, weight=by_search[part.search], reason=f"{part.reason}: {by_search[part.search]:.3f}")
            for part in plan.routes
        ),
    )
