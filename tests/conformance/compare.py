"""Two recalls side by side: what a store must give alike, and how near counts as alike.

Scores and what they are made of agree within `NEAR`. Order is the same, except that hits whose scores lie within `TIE`
and are not equal may change places: whether 0.30000000000000004 comes before 0.3 is no matter of retrieval, but which
of two equals comes first is settled.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from fivefold.engine import Engine
from fivefold.values.query import Query
from fivefold.values.recall import Hit, Recall
from fivefold.values.recall_trace import Candidate, RouteRun
from fivefold.values.serialize import Json, plain
from fivefold.values.validate import shorten

NEAR = 1e-4
TIE = 1e-6

MADE_ID = 36
"""Characters of a random id."""

_NUMBER = re.compile(r"[-−]?\d+\.\d+(?:e[-+]?\d+)?|\d+(?:\.\d+)?e[-+]?\d+")
_MADE_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")
_FIRST_READS = re.compile(r"\d+ of them for the first time")


def differences(reference: Json, other: Json) -> list[str]:
    """Where two traces say different things, in words; nothing where they agree."""
    reasons = [*unlike(reference["query"], other["query"], "query"), *unlike(reference["plan"], other["plan"], "plan")]
    swapped = False
    for mine, theirs in zip(reference["routes"], other["routes"], strict=False):
        hits, moved = _aligned(mine["hits"], theirs["hits"])
        swapped = swapped or moved
        reasons += unlike(mine, {**theirs, "hits": hits}, f"route {mine['route']}")
    if swapped:  # what a rank adds to a score then belongs to the other of two equals
        return reasons
    for part in ("hits", "dropped"):
        reasons += unlike(reference[part], _aligned(reference[part], other[part])[0], part)
    for part in ("reasons", "notes", "degraded", "embedder", "recent"):
        reasons += unlike(reference[part], other[part], part)
    return reasons


def trace(recall: Recall, engine: Engine, names: Mapping[str, str]) -> Json:
    """All that a recall says but clocks, rows, its own id and that it was the first to search facets."""
    rows = [hit.row for run in recall.routes for hit in run.hits]
    ids = {
        row: memory.id
        for row, memory in engine.store.reader(engine.namespace).memories.fetch(sorted(set(rows))).items()
    }
    content: Json = {
        "query": _query(recall.query),
        "plan": recall.plan.to_dict(),
        "routes": [_route(run, ids) for run in recall.routes],
        "hits": [_hit(hit) for hit in recall.hits],
        "dropped": [{"id": item.id, "score": item.score, "stage": item.stage} for item in recall.dropped],
        "reasons": [item.reason for item in recall.dropped],
        "notes": [note.to_dict() for note in recall.notes if note.stage != "facets"],
        "degraded": list(recall.degraded),
        "embedder": recall.embedder,
        "recent": [memory.id for memory in recall.recent],
    }
    result: Json = renamed(content, names)
    return result


def session_names(engine: Engine) -> dict[str, str]:
    """The random ids of session memories, and the names that replace them."""
    return {item.memory_id: f"session {item.id}" for item in engine.sessions(100_000) if item.memory_id}


def renamed(value: Any, names: Mapping[str, str]) -> Any:
    """The value with every random id replaced by its name."""
    if isinstance(value, str):
        if len(value) < MADE_ID and " of them " not in value:
            return value
        return _FIRST_READS.sub(
            "some of them for the first time", _MADE_ID.sub(lambda match: names.get(match[0], match[0]), value)
        )
    if isinstance(value, list):
        return [renamed(item, names) for item in value]
    if isinstance(value, dict):
        return {renamed(key, names): renamed(item, names) for key, item in value.items()}
    return value


def unlike(mine: Any, theirs: Any, where: str) -> Iterator[str]:
    """Each place where two plain values differ by more than rounding."""
    if isinstance(mine, dict) and isinstance(theirs, dict):
        for key in [*mine, *(key for key in theirs if key not in mine)]:
            if key in mine and key in theirs:
                yield from unlike(mine[key], theirs[key], f"{where}.{key}")
            else:
                yield f"{where}.{key} is only {'in the reference' if key in mine else 'in the store'}"
    elif isinstance(mine, list) and isinstance(theirs, list):
        if len(mine) != len(theirs):
            yield f"{where}: {len(mine)} expected, {len(theirs)} found: {_short(mine)} and {_short(theirs)}"
        for place, (one, other) in enumerate(zip(mine, theirs, strict=False)):
            yield from unlike(one, other, f"{where}[{place}]")
    elif not _alike(mine, theirs):
        yield f"{where}: {_short(mine)} expected, {_short(theirs)} found"


def _alike(mine: object, theirs: object) -> bool:
    if isinstance(mine, str) and isinstance(theirs, str):
        return mine == theirs or _same_words(mine, theirs)
    if isinstance(mine, bool) or isinstance(theirs, bool) or not _numbers(mine, theirs):
        return type(mine) is type(theirs) and mine == theirs
    return mine == theirs or abs(mine - theirs) <= NEAR  # type: ignore[operator]


def _numbers(mine: object, theirs: object) -> bool:
    """Two numbers of which one at least was measured; two that were counted must be the same."""
    both = isinstance(mine, int | float) and isinstance(theirs, int | float)
    return both and not (isinstance(mine, int) and isinstance(theirs, int))


def _same_words(mine: str, theirs: str) -> bool:
    """The same words around numbers that differ by rounding, the last digit's own included."""
    if _NUMBER.sub("0", mine) != _NUMBER.sub("0", theirs):
        return False
    pairs = zip(_NUMBER.findall(mine), _NUMBER.findall(theirs), strict=True)
    return all(abs(_number(one) - _number(other)) <= NEAR + _last_digit(one) for one, other in pairs)


def _number(text: str) -> float:
    return float(text.replace("−", "-"))


def _last_digit(text: str) -> float:
    mantissa, _, exponent = text.partition("e")
    return float(10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2])))


def _aligned(mine: Sequence[Json], theirs: Sequence[Json]) -> tuple[list[Json], bool]:
    """`theirs` with those that only rounding orders put into the order of `mine`, and whether any had to move."""
    out = list(theirs)
    starts = [0, *(i for i, (one, other) in enumerate(pairwise(mine), 1) if abs(one["score"] - other["score"]) > TIE)]
    for start, end in pairwise([*starts, len(mine)]):
        order, group = [item["id"] for item in mine[start:end]], {item["id"]: item for item in out[start:end]}
        settled = all(len({item["score"] for item in side[start:end]}) <= 1 for side in (mine, theirs))
        if not settled and set(order) == set(group):
            out[start:end] = [group[id] for id in order]
    return out, [item["id"] for item in out] != [item["id"] for item in theirs]


def _query(query: Query) -> Json:
    """Without the entities' numbers, which each store hands out as it likes."""
    content = query.to_dict()
    for ref in content["entities"]:
        for meaning in ref["meanings"]:
            del meaning["id"]
    return content


def _route(run: RouteRun, ids: Mapping[int, str]) -> Json:
    hits = [{"id": ids.get(hit.row), "score": hit.score, "note": hit.note, "factor": hit.factor} for hit in run.hits]
    return {"route": run.route, "status": run.status, "reason": run.reason, "found": run.found, "hits": hits}


def _hit(hit: Hit) -> Json:
    candidate: Candidate = hit.candidate
    memory = hit.memory.to_dict()
    del memory["namespace"]
    return {
        "id": hit.memory.id,
        "score": hit.score,
        "fused": candidate.fused,
        "evidence": plain(candidate.evidence),
        "steps": plain(candidate.steps),
        "support": plain(candidate.support),
        "memory": memory,
        "neighbours": [neighbour.id for neighbour in candidate.neighbours],
    }


def _short(value: object) -> str:
    return shorten(repr(value), 300)
