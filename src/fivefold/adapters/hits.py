"""How the retrievers of all libraries describe a memory that they return."""

from __future__ import annotations

from fivefold.retrieval.prompt import INDENT
from fivefold.values.memory import Memory
from fivefold.values.recall import Hit, Recall
from fivefold.values.serialize import Json
from fivefold.values.times import iso, spoken_date


def hit_metadata(recall: Recall, hit: Hit) -> Json:
    """Plain JSON metadata of a hit. `recall_id` and `id` are what `engine.feedback` needs."""
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


def hit_lines(recall: Recall, excluded: frozenset[str] = frozenset()) -> list[str]:
    """One line for each memory, best first, with speaker and day; `excluded` memories are left out.

    Further lines of a memory are indented, so that its text cannot look like another memory.
    """
    return [_line(hit.memory) for hit in recall if hit.memory.id not in excluded]


def _line(memory: Memory) -> str:
    text = INDENT.join(memory.content.splitlines())
    return f"- {memory.speaker or 'note'}, {spoken_date(memory.event_at)}: {text}"
