"""What the retrievers of all libraries say of a memory they bring."""

from __future__ import annotations

from fivefold.retrieval.prompt import INDENT
from fivefold.values.memory import Memory
from fivefold.values.recall import Hit, Recall
from fivefold.values.serialize import Json
from fivefold.values.times import iso, spoken_date


def details(recall: Recall, hit: Hit) -> Json:
    """Plain JSON beside the text. With `recall_id` and `id`, `engine.feedback` can say what was used."""
    memory = hit.memory
    return {
        "id": memory.id,
        "score": hit.score,
        "rank": hit.rank,
        "routes": dict(hit.routes),
        "recall_id": recall.id,
        "speaker": memory.speaker,
        "event_at": iso(memory.event_at),
        "session_id": memory.session_id,
        "kind": memory.kind,
        "type": memory.type,
        "tags": list(memory.tags),
        "superseded": bool(memory.superseded_by),
    }


def listed(recall: Recall, leaving: frozenset[str] = frozenset()) -> list[str]:
    """A line a memory, best first, with who said it and on which day; without those that are shown elsewhere.

    Further lines of a memory stand in, so that nothing it says can look like another.
    """
    return [_line(hit.memory) for hit in recall if hit.memory.id not in leaving]


def _line(memory: Memory) -> str:
    told = INDENT.join(memory.content.splitlines())
    return f"- {memory.speaker or 'note'}, {spoken_date(memory.event_at)}: {told}"
