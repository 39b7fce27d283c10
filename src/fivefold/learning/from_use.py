"""What a namespace has learned from use, as one value: its reranker and the correction of its weights."""

from __future__ import annotations

from dataclasses import dataclass

from fivefold.learning.adaptation import Adaptation, fade, load_adaptation
from fivefold.learning.reranker import Verdict
from fivefold.learning.training import forget_reranker, learned_reranker
from fivefold.namespace import Namespace
from fivefold.values.serialize import Value


@dataclass(frozen=True, slots=True)
class LearnedFromUse(Value):
    """What feedback has taught a namespace: the verdict on its reranker, and the correction of predicted weights."""

    reranker: Verdict | None
    reason: str
    """Why the reranker is on or off."""
    weights: Adaptation
    """As it counts now: it fades with time."""


def learned_from_use(namespace: Namespace) -> LearnedFromUse:
    reranker, weights = learned_reranker(namespace), load_adaptation(namespace.reader.admin.learned_value("weights"))
    return LearnedFromUse(reranker.verdict, reranker.reason, fade(weights, namespace.clock()))


def unlearn(namespace: Namespace) -> None:
    """Forget the reranker and the correction of the weights; the feedback stays."""
    forget_reranker(namespace)
    with namespace.transaction() as txn:
        txn.admin.save_learned_value("weights", None)
