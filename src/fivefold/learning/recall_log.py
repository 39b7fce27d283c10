"""A recall as the store logs it, with what learning later reads from the log."""

from __future__ import annotations

import json

from fivefold.learning.features import pack_features
from fivefold.learning.weight_signals import weight_signals
from fivefold.stores.protocol import LoggedRecall, ReturnedHit
from fivefold.values.recall import Recall


def log_entry(recall: Recall) -> LoggedRecall:
    """What the log stores of a recall."""
    signals = weight_signals(recall)
    return LoggedRecall(
        id=recall.id,
        namespace=recall.namespace,
        at=recall.query.now,
        recipe=recall.plan.recipe,
        question=recall.query.text,
        returned=[ReturnedHit(hit.memory.id, hit.rank, round(hit.score, 6)) for hit in recall.hits],
        features=pack_features(recall),
        signals=None if signals is None else json.dumps(signals, ensure_ascii=False, separators=(",", ":")),
    )
