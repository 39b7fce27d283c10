"""What none of the five has (N1–N10)."""

from __future__ import annotations

from collections.abc import Callable

from fivefold.retrieval.recipe import RACED
from fivefold.values.recall import Recall
from fivefold.values.recall_trace import Candidate

from .figures import LISTS
from .golden import Golden
from .store import NOW, GoldenStore


def _untraced(store: GoldenStore) -> int:
    """Memories that a route brought and the trace does not have."""
    missing = 0
    for name in RACED:
        answer = store.ask("apples", "apple crate number 7", name, 3)
        supports = {part.route for part in answer.plan.routes if part.supports}
        brought = {hit.row for run in answer.routes if run.route not in supports for hit in run.hits}
        traced = {answer.fused.ids[row] for row in brought} - {one.id for one in answer.candidates}
        missing += len(traced)
    return missing


def _unexplained(store: GoldenStore) -> int:
    """Hits whose parts do not add up to their score."""
    return sum(not _adds_up(hit.candidate) for name in RACED for hit in store.ask("mill", "mill wheel", name))


def _adds_up(candidate: Candidate) -> bool:
    score = candidate.fused
    if abs(sum(item.contribution for item in candidate.evidence) - score) > 1e-9:
        return False
    for step in candidate.steps:
        if step.before != score:
            return False
        score = step.after
    return score == candidate.score


def _listed(store: GoldenStore) -> int:
    return len(store.ask("apples", "list all apple crates", "default", 70))


def _bought(question: str) -> Callable[[GoldenStore], int]:
    def find(store: GoldenStore) -> int:
        answer = store.engine("purchases").recall(question, 12, now="2025-12-01T12:00:00Z")
        return sum("bought" in hit.memory.tags for hit in answer)

    return find


def _off(store: GoldenStore) -> str:
    answer = store.ask("mill", "mill wheel", "engram")
    return next(note.status for note in answer.notes if note.stage == "learned")


def _home(store: GoldenStore) -> Recall:
    return store.ask("people", "where do I live?", "default", 3)


def _history(store: GoldenStore) -> str:
    return str(store.engine("people").get("lisbon").superseded_by)


def _demand(store: GoldenStore) -> str:
    query = store.engine("people").understand("where do I live now?", now=NOW)
    return " ".join(demand.kind for demand in query.demands)


def _chances(store: GoldenStore) -> bool:
    answer = _home(store)
    return answer.chance is not None and all(hit.chance is not None and 0 <= hit.chance <= 1 for hit in answer)


def _origin(store: GoldenStore) -> str:
    return str(store.engine("people").get("work").origin)


def _words_met(store: GoldenStore) -> int:
    answer = store.ask("weights", "hot kiln", "default", 1)
    passage = answer[0].passage
    return 0 if passage is None else len(passage.words)


GOLDEN = (
    Golden("N1", "memories that a route brought and the trace has not", 0, _untraced),
    Golden("N1", "hits whose parts do not add up", 0, _unexplained),
    Golden(
        "N2",
        "recipes that answer on the same store",
        6,
        lambda s: sum(bool(len(s.ask("mill", "mill", r))) for r in RACED),
    ),
    Golden("N3", "apple crates listed of 70", 70, _listed),
    *(
        Golden("N3", f"of ten purchases in ten sessions, in the first twelve for {question!r}", 10, _bought(question))
        for question in LISTS
    ),
    Golden("N4", "a learned stage without feedback", "idle", _off),
    Golden("N5", "what replaced “I live in Lisbon”", "porto", _history),
    Golden("N5", "what comes first for “where do I live?”", "porto", lambda s: _home(s)[0].memory.id),
    Golden("N6", "demands of “where do I live now?”", "current", _demand),
    Golden("N7", "every hit and the recall have a chance", True, _chances),
    Golden("N8", "statements replaced in plain words", 1, lambda s: s.engine("people").stats().superseded),
    Golden("N9", "words of the question that met one of the memory", 2, _words_met),
    Golden("N10", "where a memory comes from", "user", _origin),
)
