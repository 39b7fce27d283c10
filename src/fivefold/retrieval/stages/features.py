"""What is known about each candidate, as numbers that a additive model adds up.

Scores of searches count by their distance to the best of the question, so that questions can be compared.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import log

import numpy as np

from fivefold.retrieval.routes import SearchContext
from fivefold.retrieval.stages.base import Pool, scores_of
from fivefold.retrieval.stages.demand_features import DEMAND_FEATURES, demand_columns
from fivefold.values.memory import ROLES, Memory
from fivefold.values.recall_trace import Candidate
from fivefold.values.vectors import Matrix, Vector

GATED = (
    "late",
    "late_peak",
    "dense",
    "dense_peak",
    "lexical",
    "lexical_some",
    "dense_before",
    "dense_after",
    "session_words",
    "session_best",
    "asks",
    "length",
    "time",
    "number",
)
"""Features that count in another way where a user talks with an assistant than where people talk with each other."""

FEATURES = (
    "late",
    "late_peak",
    "dense",
    "dense_peak",
    "lexical",
    "lexical_some",
    "dense_before",
    "dense_after",
    "late_before",
    "late_after",
    "session_words",
    "session_best",
    "general_session_words",
    "general_session_best",
    "named",
    "user",
    "user_mine",
    "assistant_yours",
    "asks",
    "length",
    "time",
    "number",
    *(f"chat_{name}" for name in GATED),
    *DEMAND_FEATURES,
)
"""The names of the features, in their order."""

_PLACES = {name: place for place, name in enumerate(FEATURES)}

SHARPNESS = 8.0
"""How fast a peak falls off: a cosine of 0.1 less is less than half of it."""

SCALE = 10.0
"""Cosines differ by tenths where other features differ by ones."""

MANY_WORDS, SOME_WORDS = 10.0, 6.0
"""BM25 of a memory that shares the rare words of a question, and of one that shares some of its words."""

READ = 2_000
"""Characters of a memory that are searched for times and numbers."""

_TIME = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|last|next|ago|weeks?|weekend|months?|years?|morning|evening|(?:mon|tues|wednes"
    r"|thurs|fri|satur|sun)day|january|february|march|april|may|june|july|august|september|october|november|december"
    r"|\d{4})\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\d|\b(?:two|three|four|five|six|seven|eight|nine|ten|dozen|twice|once)\b", re.IGNORECASE)
_WHEN = re.compile(r"\s*(?:when|(?:what|which) (?:date|day|year|month))\b", re.IGNORECASE)
_HOW_MANY = re.compile(r"\bhow (?:many|much|long|old|often|far)\b", re.IGNORECASE)
_GENERAL = re.compile(r"\b(?:would|could|might|likely|probably|does|do|has|have|is|are)\b", re.IGNORECASE)
_PAST = re.compile(r"\b(?:did|was|were|had)\b", re.IGNORECASE)
_MINE = re.compile(r"\b(?:i|my|me|mine|i'm|i've|i’m|i’ve|we|our|us)\b", re.IGNORECASE)
_YOURS = re.compile(r"\byour?s?\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Question:
    """What the wording of a question says about the memory that answers it."""

    when: bool
    how_many: bool
    general: bool
    mine: bool
    yours: bool

    @classmethod
    def of(cls, text: str) -> Question:
        mine, yours = bool(_MINE.search(text)), bool(_YOURS.search(text))
        return cls(
            when=bool(_WHEN.match(text)),
            how_many=bool(_HOW_MANY.search(text)),
            general=bool(_GENERAL.search(text)) and not _PAST.search(text),
            mine=mine and not yours,
            yours=yours and not mine,
        )


def feature_table(pool: Pool, context: SearchContext) -> Matrix:
    """One row for each candidate, one column for each of `FEATURES`."""
    candidates = pool.candidates
    memories = [candidate.memory for candidate in candidates]
    question = Question.of(context.query.to_read)
    dense, late = _scores(candidates, "dense"), _scores(candidates, "late")
    bm25 = _scores(candidates, "lexical", missing=0.0)
    lexical = _share(bm25)
    columns = {
        "late": SCALE * (late - late.max()),
        "late_peak": np.exp(SHARPNESS * (late - late.max())),
        "dense": SCALE * (dense - dense.max()),
        "dense_peak": np.exp(SHARPNESS * (dense - dense.max())),
        "lexical": bm25 / MANY_WORDS,
        "lexical_some": np.minimum(bm25 / SOME_WORDS, 1.0),
        **_neighbour_columns(memories, _stretched(dense), _stretched(late)),
        **_session_columns(pool, context, lexical),
        **_speaker_columns(memories, context, question),
        **_text_columns(memories, question),
        **demand_columns(candidates, context, late, _likeness(late, dense, lexical)),
    }
    if _is_chat(memories):
        columns |= {f"chat_{name}": columns[name] for name in GATED if name in columns}
    if question.general:
        columns |= {f"general_{name}": columns[name] for name in ("session_words", "session_best")}
    table = np.zeros((len(candidates), len(FEATURES)), dtype=np.float32)
    for name, column in columns.items():
        table[:, _PLACES[name]] = column
    return table


def _scores(candidates: Sequence[Candidate], search: str, missing: float | None = None) -> Vector:
    """The score of each candidate in a search; one that is not on its list has the lowest of it."""
    found = scores_of(candidates, search)
    known = [score for score in found if score is not None]
    floor = missing if missing is not None else min(known, default=0.0)
    return np.array([floor if score is None else score for score in found], dtype=np.float32)


def _likeness(late: Vector, dense: Vector, lexical: Vector) -> Vector:
    """What the searches together say of each candidate, by its distance to the best."""
    together = SCALE * (late + dense) / 2 + lexical
    return np.asarray(together - together.max())


def _share(scores: Vector) -> Vector:
    """Each score as a share of the best."""
    best = float(scores.max())
    return scores / np.float32(best) if best > 0 else scores


def _stretched(scores: Vector) -> Vector:
    """0 for the worst to 1 for the best."""
    low, high = scores.min(), scores.max()
    return (scores - low) / (high - low) if high > low else np.zeros_like(scores)


def _neighbour_columns(memories: Sequence[Memory], dense: Vector, late: Vector) -> dict[str, Vector]:
    """How well the turn before and the turn after answer, where they are candidates too."""
    place = {(memory.session_id, memory.turn_index): i for i, memory in enumerate(memories)}
    columns: dict[str, Vector] = {}
    if all(memory.turn_index is None for memory in memories):
        return columns
    for name, step in (("before", -1), ("after", 1)):
        next_to = [
            place.get((memory.session_id, memory.turn_index + step)) if memory.turn_index is not None else None
            for memory in memories
        ]
        for search, scores in (("dense", dense), ("late", late)):
            columns[f"{search}_{name}"] = np.array([0.0 if i is None else scores[i] for i in next_to])
    return columns


def _session_columns(pool: Pool, context: SearchContext, lexical: Vector) -> dict[str, Vector]:
    """How well the session answers by its words, and how well its best turn does; a note is a session of its own."""
    scores: dict[str, float] = {}
    for candidate in pool.candidates:
        if session := candidate.memory.session_id:
            scores[session] = max(scores.get(session, 0.0), candidate.score)
    rows = context.reader.sessions.memory_rows(list(scores)) if pool.supporting else {}
    said = {session: pool.supporting.get(row, 0.0) for session, row in rows.items()}
    words, best = [], []
    for candidate, share in zip(pool.candidates, lexical.tolist(), strict=True):
        session = candidate.memory.session_id
        words.append(said.get(session, 0.0) if session else share)
        best.append(2 * (scores[session] if session else candidate.score))
    return {"session_words": np.array(words), "session_best": np.array(best)}


def _speaker_columns(memories: Sequence[Memory], context: SearchContext, question: Question) -> dict[str, Vector]:
    """Whether the speaker is whom the question names, or has the role it asks of."""
    words = {word.casefold() for word in re.findall(r"\w+", context.query.to_read)}
    speakers = {memory.speaker or "" for memory in memories}
    people = {speaker for speaker in speakers if speaker.strip() and speaker.casefold() not in ROLES}
    named = {speaker for speaker in people if speaker.casefold().split()[0] in words}
    other = -1.0 if len(named) == 1 else 0.0
    value = {
        speaker: 0.0 if not named or speaker not in people else 1.0 if speaker in named else other
        for speaker in speakers
    }
    role = np.array(
        [{"user": 1.0, "assistant": -1.0}.get((memory.speaker or "").casefold(), 0.0) for memory in memories]
    )
    return {
        "named": np.array([value[memory.speaker or ""] for memory in memories]),
        "user": role,
        "user_mine": role * question.mine,
        "assistant_yours": -role * question.yours,
    }


def _text_columns(memories: Sequence[Memory], question: Question) -> dict[str, Vector]:
    """What the text itself looks like: a question, long, with times or numbers where those are asked for."""
    none = np.zeros(len(memories))
    return {
        "asks": np.array([float(memory.content.rstrip().endswith("?")) for memory in memories]),
        "length": np.array([log(len(memory.content) + 1) - 5 for memory in memories]),
        "time": np.array([float(bool(_TIME.search(memory.content[:READ]))) for memory in memories])
        if question.when
        else none,
        "number": np.array([float(bool(_NUMBER.search(memory.content[:READ]))) for memory in memories])
        if question.how_many
        else none,
    }


def _is_chat(memories: Sequence[Memory]) -> bool:
    """Whether most of it is a talk between a user and an assistant, not one between people."""
    roles = sum((memory.speaker or "").casefold() in ROLES for memory in memories)
    return roles * 2 > len(memories)
