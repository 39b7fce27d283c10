"""Feedback on a recall: which of the returned memories were used, and which were of no use."""

from __future__ import annotations

import json
from collections.abc import Sequence

from fivefold.errors import InvalidInput, NotFound
from fivefold.learning.adaptation import learn_from_log, load_adaptation, weight_signals
from fivefold.learning.reranker import pack_features
from fivefold.namespace import Namespace
from fivefold.stores.interface import LoggedRecall, ReturnedHit
from fivefold.values.recall import Recall
from fivefold.values.validate import checked_name

# A recall as the store logs it, with what learning later reads from the log.


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


def give_feedback(namespace: Namespace, recall: Recall | str, used: Sequence[str], not_used: Sequence[str]) -> None:
    """Store the feedback; the first one on a recall also corrects the predicted weights (D12)."""
    _check(namespace, recall, used, not_used)
    logged = recall if isinstance(recall, str) else log_entry(recall)
    signals = weight_signals(recall) if isinstance(recall, Recall) else namespace.reader.feedback.signals(recall)
    with namespace.transaction() as txn:
        rows, refused = (
            [memory.row for memory in map(txn.memories.get, dict.fromkeys(ids)) if memory is not None]
            for ids in (used, not_used)
        )
        if txn.feedback.mark_used(logged, rows, namespace.clock(), refused) and signals is not None:
            before = load_adaptation(txn.admin.learned_value("weights"))
            adapted = learn_from_log(before, signals, set(used), namespace.clock())
            txn.admin.save_learned_value("weights", adapted.to_dict())


def _check(namespace: Namespace, recall: Recall | str, used: Sequence[str], not_used: Sequence[str]) -> None:
    """The recall is one of this namespace, and it returned all that the feedback names."""
    if not isinstance(recall, Recall | str) or any(
        isinstance(ids, str) or not isinstance(ids, Sequence) for ids in (used, not_used)
    ):
        raise InvalidInput("feedback takes a Recall or its id, and lists of the ids that were used and not used")
    both = next((id for id in used if id in not_used), None)
    if both is not None:
        raise InvalidInput(f"{both!r} cannot be both used and of no use; name it once")
    recall_id = recall if isinstance(recall, str) else recall.id
    returned = _returned_ids(namespace, recall)
    if returned is None:
        raise NotFound(f"namespace {namespace.name!r} has no recall {recall_id!r} in its log")
    stray = next((id for id in (*used, *not_used) if id not in returned), None)
    if stray is not None:
        raise InvalidInput(f"{stray!r} was not returned by recall {recall_id}")


def _returned_ids(namespace: Namespace, recall: Recall | str) -> tuple[str, ...] | None:
    """The ids that the recall returned; None where the log has no such recall."""
    if isinstance(recall, Recall):
        if recall.namespace != namespace.name:
            raise InvalidInput(f"recall {recall.id} was made in namespace {recall.namespace!r}, not here")
        return tuple(hit.memory.id for hit in recall)
    try:
        return namespace.reader.feedback.returned_ids(checked_name(recall, "a recall's id"))
    except InvalidInput:
        return None
