"""Weights that learn from use: a small correction to the global ones for each namespace (D12).

A shown list and the memories used of it are one observation of a Plackett–Luce model: a memory is picked with odds
`exp(steepness · score) / rank^POSITION`, where `score` is the composite one (D1). The gradient moves three log-offsets,
which multiply the global weights. The offsets stay within a bound and fade with time. They count only as far as they
predicted the use of hits, before learning from it, better than the global weights did.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from math import exp, isfinite, log
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from fivefold.errors import InvalidInput, NotFound
from fivefold.learning.reranker import pack_features
from fivefold.models.weights.features import MAX_READ_CHARACTERS, cues, past
from fivefold.namespace import Namespace
from fivefold.stores.records import LoggedRecall, ReturnedHit
from fivefold.text.time_grammar import EARLIEST
from fivefold.values.query import Curve, Decay, Query, Weights, Window, age_in_days
from fivefold.values.recall import Recall
from fivefold.values.serialize import Value
from fivefold.values.times import as_utc
from fivefold.values.validate import checked_name

SEARCHES = ("dense", "recency", "frequency")
"""The kinds of route whose scores are the three signals, in the order of the weights."""


@dataclass(frozen=True, slots=True)
class ShownHit(Value):
    """One hit of a shown list: its three signals, each in 0..1, and whether it was used."""

    similarity: float
    recency: float
    frequency: float
    used: bool


def shown_hits(recall: Recall, used: Collection[str]) -> tuple[ShownHit, ...]:
    """The hits of a recall with their signals; () if the recipe weighs neither recency nor frequency."""
    kinds = {part.route: part.search for part in recall.plan.routes if part.run}
    if not {"recency", "frequency"} & set(kinds.values()):
        return ()
    hits = []
    for hit in recall.hits:
        scores = {kinds[item.route]: item.score for item in hit.candidate.evidence if item.route in kinds}
        similarity, recency, frequency = (min(1.0, max(0.0, scores.get(search, 0.0))) for search in SEARCHES)
        hits.append(ShownHit(similarity, recency, frequency, hit.memory.id in used))
    return tuple(hits)


def weight_signals(recall: Recall) -> dict[str, Any] | None:
    """The log entry's weights: the global weights and each hit's signals; None without predicted weights."""
    weights, signals = recall.query.weights, shown_hits(recall, ())
    if weights is None or not signals:
        return None
    before = weights.before or (weights.similarity, weights.recency, weights.frequency)
    hits = [
        [hit.memory.id, item.similarity, item.recency, item.frequency]
        for hit, item in zip(recall, signals, strict=True)
    ]
    return {"weights": list(before), "hits": hits}


Array: TypeAlias = npt.NDArray[np.float64]
Triple: TypeAlias = tuple[float, float, float]

MAX_OFFSET_SPREAD = log(3)
"""Maximum distance between two offsets: no weight becomes more than three times, or less than a third, of the
global."""

POSITION_EXPONENT = 0.5
"""Propensity: the odds of a look at rank r are r^−0.5, so that using the first hit says less than using the fifth."""

FADE = Decay("exponential", 90.0)
"""Fading of the offsets and of their gain without feedback; their product, which is what counts, halves in 45 days."""

STEP_SIZE = 0.16
"""Distance that one feedback moves the offsets along their gradient."""

OFFSETS_KEPT = 0.997
"""Share of the offsets kept after each feedback: without confirmation they return to the global weights."""

GAIN_KEPT = 0.98
"""Share of the earlier gain kept after each feedback: about the last fifty count."""

MAX_GAIN = 4.0
"""The gain, in nats, at which the correction counts in full; it grows no further, so that a new taste shows soon."""

MAX_SURPRISE = 1.0
"""The most that a single feedback says, in nats, for or against the correction."""

STEEPNESS = (0.5, 6.0, 30.0)
"""Lowest, initial and highest steepness, which says how closely users follow the score. Random picks lower it and
shorten steps."""


@dataclass(frozen=True, slots=True)
class Adaptation(Value):
    """The offsets learned for a namespace, which add up to 0; `gain` is how much better they predicted, in nats."""

    offsets: Triple = (0.0, 0.0, 0.0)
    steepness: float = STEEPNESS[1]
    gain: float = 0.0
    count: int = 0
    updated_at: datetime | None = None

    @property
    def trust(self) -> float:
        """The share of the correction that counts, 0..1: nothing before it has predicted better."""
        return max(0.0, min(1.0, self.gain / MAX_GAIN))


NONE = Adaptation()
"""Before the first feedback, and after a reset."""


def adapt(weights: Weights, adaptation: Adaptation, now: datetime) -> Weights:
    """The global weights, corrected; the source shows both. Without a correction they stay unchanged."""
    aged = fade(adaptation, now)
    offsets = aged.trust * np.array(aged.offsets)
    normalized = _normalize(weights)
    if not offsets.any() or normalized is None:
        return weights
    before, after = _triple(normalized), _triple(_correct(normalized, offsets))
    shown = ("/".join(f"{weight:.3f}" for weight in each) for each in (before, after))
    change = f"global {next(shown)} → adapted {next(shown)}, feedbacks {aged.count}"
    return Weights(*after, source=f"{weights.source}; {change}", before=before)


def learn(adaptation: Adaptation, weights: Weights, hits: Sequence[ShownHit], now: datetime) -> Adaptation:
    """The adaptation after a list shown best first, of which some hits were used; all or none used says nothing."""
    signals = np.array([[hit.similarity, hit.recency, hit.frequency] for hit in hits], dtype=np.float64).reshape(-1, 3)
    if not ((signals >= -1e-9) & (signals <= 1 + 1e-9)).all():
        raise InvalidInput("similarity, recency and frequency of a shown hit lie in 0..1; give them as the recall did")
    normalized = _normalize(weights)
    used = np.array([hit.used for hit in hits], dtype=bool)
    if normalized is None or not used.any() or used.all():
        return adaptation
    before = fade(adaptation, now)
    offsets = np.array(before.offsets)
    without = likelihood(signals, used, normalized, before.steepness)
    corrected = likelihood(signals, used, _correct(normalized, offsets), before.steepness)
    foresight = max(-MAX_SURPRISE, min(MAX_SURPRISE, corrected.log - without.log))
    least, _, most = STEEPNESS
    steepness = before.steepness * exp(STEP_SIZE * max(-MAX_SURPRISE, min(MAX_SURPRISE, corrected.by_steepness)))
    return replace(
        before,
        offsets=_bound(OFFSETS_KEPT * offsets + STEP_SIZE * corrected.by_offset),
        steepness=max(least, min(most, steepness)),
        gain=max(-MAX_GAIN, min(MAX_GAIN, GAIN_KEPT * before.gain + foresight)),
        count=before.count + 1,
        updated_at=max(now, before.updated_at or now),
    )


def fade(adaptation: Adaptation, now: datetime) -> Adaptation:
    """The adaptation after the time that has passed since the last feedback."""
    if adaptation.updated_at is None:
        return adaptation
    left = FADE.left(age_in_days(adaptation.updated_at, now))
    return replace(adaptation, offsets=_triple(left * np.array(adaptation.offsets)), gain=left * adaptation.gain)


def load_adaptation(data: Mapping[str, Any] | None) -> Adaptation:
    """The adaptation that `to_dict` wrote; data that cannot be read does not fail, learning starts again."""
    if data is None:
        return NONE
    try:
        first, second, third = (float(offset) for offset in data["offsets"])
        steepness, gain, count = float(data["steepness"]), float(data["gain"]), int(data["count"])
        at = None if data["updated_at"] is None else as_utc(data["updated_at"], "updated_at")[0]
    except (KeyError, TypeError, ValueError, OverflowError):
        return NONE
    if not all(map(isfinite, (first, second, third, steepness, gain))) or count < 0:
        return NONE
    least, _, most = STEEPNESS
    offsets = _bound(np.array([first, second, third]))
    return Adaptation(offsets, max(least, min(most, steepness)), gain, count, at)


@dataclass(frozen=True, slots=True)
class Likelihood:
    """The log-likelihood of what was used, and its gradient."""

    log: float
    by_offset: Array
    by_steepness: float


def likelihood(signals: Array, used: npt.NDArray[np.bool_], weights: Array, steepness: float) -> Likelihood:
    """Mean over the used hits; each was picked before all that were not used."""
    scores = signals @ weights
    slopes = weights * (signals - scores[:, None])  # of a score by the offsets
    odds = steepness * scores - POSITION_EXPONENT * np.log(np.arange(1, len(scores) + 1))
    logs, by_offset, by_steepness = [], [], []
    for pick in np.flatnonzero(used):
        rivals = np.append(np.flatnonzero(~used), pick)
        raised = np.exp(odds[rivals] - odds[rivals].max())
        chances = raised / raised.sum()
        logs.append(float(np.log(max(chances[-1], 1e-12))))
        by_offset.append(steepness * (slopes[pick] - chances @ slopes[rivals]))
        by_steepness.append(steepness * float(scores[pick] - chances @ scores[rivals]))
    return Likelihood(float(np.mean(logs)), np.mean(by_offset, axis=0), float(np.mean(by_steepness)))


def _correct(weights: Array, offsets: Array) -> Array:
    """w · exp(offset), scaled to add up to 1."""
    raised = weights * np.exp(offsets)
    return np.asarray(raised / raised.sum())


def _bound(offsets: Array) -> Triple:
    """Centres the offsets on 0, and scales them to the bound if they spread too far."""
    centred = offsets - offsets.mean()
    spread = float(np.ptp(centred))
    return _triple(centred * (MAX_OFFSET_SPREAD / spread) if spread > MAX_OFFSET_SPREAD else centred)


def _normalize(weights: Weights) -> Array | None:
    """The weights as numbers that add up to 1; None if there is nothing to weigh by."""
    values = np.array([weights.similarity, weights.recency, weights.frequency], dtype=np.float64)
    usable = bool(np.isfinite(values).all() and (values >= 0).all() and values.sum() > 0)
    return values / values.sum() if usable else None


def _triple(values: Array) -> Triple:
    first, second, third = values.tolist()
    return first, second, third


MIN_HALF_LIFE_DAYS = 1 / 24
"""The shortest half-life, in days."""
SHORT_DAYS = 3.0
"""A time that begins no longer ago than this is followed hour by hour: exponential."""
NEAR_DAYS = 62.0
"""A time that begins within two months is near: what is newer is nearer to it, even when it has ended."""
LONG_DAYS = 400.0
"""Up to about a year a bell fits a time that lasts until now; beyond it, a straight line."""
MOMENT_DAYS = 6 * MIN_HALF_LIFE_DAYS
"""The half-life of "just now" and "where were we"."""
NEWS_DAYS = (1.0, 14.0, 45.0)
"""The half-life of "what's new": least, unknown, most. Between least and most, a share of how far memory reaches."""
NEWS_SHARE = 1 / 24
MAX_DAYS = 1e5

NO_DECAY = Decay("none", 1.0)
"""All ages alike. The half-life says that ages are not taken relative to the candidates, and is not used."""
OVER_CANDIDATES = Decay("linear", None)
"""From the newest candidate down to the oldest, as D2 has it."""

_MOMENT = re.compile(
    r"\b(?:just now|(?:an?|one|few|couple of) (?:moments?|minutes?|mins?|seconds?) ago|earlier today"
    r"|(?:i|we|you|he|she|they) (?:literally |only )?just (?:said|say|told|tell|asked|ask|wrote|write|mentioned|did)"
    r"|did (?:i|we|you|he|she|they) just|where (?:were|was|are) (?:we|i)\b(?! \w)|le(?:ft|ave) off"
    r"|(?:^|let['’]?s |please |can we )(?:carry on|keep going|go on)|pick(?:ing)? up where"
    r"|before (?:the break|i left|we stopped)"
    r"|w(?:as|ere) (?:i|we|you) (?:just )?(?:saying|doing|talking|working))\b"
)
_NEWEST = re.compile(
    r"\b(?:latest|newest|most recent(?:ly)?|last time|(?:did|have|has|i|we) (?:\w+ )?last \w+|current(?:ly)?|right now"
    r"|at the moment|at present|as of (?:now|today)|up[- ]to[- ]date|now|still|any ?more|these days|nowadays)\b"
)
_NEWS = re.compile(
    r"\b(?:lately|of late|recent(?:ly)?|the other day|what(?:['’]s| is) new|anything new|any (?:news|updates?)"
    r"|catch me up|fill me in|been up to)\b"
)
_ALL_TIME = re.compile(
    r"\b(?:over the (?:years|months|decades)|through(?:out)? the years|through the ages|all (?:my|our) li(?:fe|ves)"
    r"|of all time|all[- ]time|in total|altogether|ever|since (?:the )?(?:beginning|start)|from the (?:beginning|start)"
    r"|history of|timeline)\b"
)
_WHEN = re.compile(
    r"^(?:\w+,? )?when (?:did|do|does|was|were|is|are|has|have|had|will)\b"
    r"|\bwhat (?:date|day|month|year)\b|\bhow long ago\b"
)


@dataclass(frozen=True, slots=True)
class QueryDecay(Value):
    """The decay chosen for a question, and why, for the trace."""

    decay: Decay
    reason: str


def decay_for(query: Query, span_days: float, newest_days: float = 0.0) -> QueryDecay:
    """The decay for a question over memories of `span_days`; the newest, `newest_days` old, keeps at least half."""
    choice = _by_window(query.window, query.now) if query.window is not None else None
    choice = choice or _by_words(query, span_days)
    half_life = choice.decay.half_life_days
    if choice.decay.curve == "none" or half_life is None:
        return choice
    quiet = newest_days if isfinite(newest_days) else 0.0
    stretched = Decay(choice.decay.curve, min(MAX_DAYS, max(MIN_HALF_LIFE_DAYS, half_life, quiet)))
    why = f", and nothing is newer than {_days(quiet)}" if quiet > half_life else ""
    return QueryDecay(stretched, choice.reason + why)


def _by_window(window: Window, now: datetime) -> QueryDecay | None:
    """The decay for the time that the question asks about; None if that has no beginning and the words say more."""
    if window.start > now:
        return QueryDecay(NO_DECAY, f"{window.text!r} is yet to come")
    if window.start <= EARLIEST:
        return None
    reach = age_in_days(window.start, now)
    if reach <= SHORT_DAYS:
        return _until("exponential", reach, window)
    if reach <= NEAR_DAYS:
        return _until("gaussian", reach, window)
    if age_in_days(window.end, now) > 1:
        return QueryDecay(NO_DECAY, f"{window.text!r} is long over: newer memories are not nearer to it")
    return _until("gaussian" if reach <= LONG_DAYS else "linear", reach, window)


def _until(curve: Curve, reach: float, window: Window) -> QueryDecay:
    return QueryDecay(
        Decay(curve, max(MIN_HALF_LIFE_DAYS, reach)), f"{window.text!r} begins {_days(reach)} ago; half is left there"
    )


def _by_words(query: Query, span_days: float) -> QueryDecay:
    """By the words that say how new the answer should be, then by the intent."""
    text = query.text[:MAX_READ_CHARACTERS].lower()
    if hit := _MOMENT.search(text):
        return QueryDecay(Decay("exponential", MOMENT_DAYS), f"{hit[0]!r} asks for the last hours")
    if hit := _NEWS.search(text):
        low, unknown, high = NEWS_DAYS  # news are a day old in a week of notes and a month old in two years of them
        known = isfinite(span_days) and span_days > 0
        half_life = max(low, min(high, span_days * NEWS_SHARE)) if known else unknown
        return QueryDecay(Decay("exponential", half_life), f"{hit[0]!r} is taken as half gone after {_days(half_life)}")
    if hit := _NEWEST.search(text):
        return QueryDecay(OVER_CANDIDATES, f"{hit[0]!r} asks for the newest of its kind, however old")
    if query.window is not None:
        return QueryDecay(NO_DECAY, f"{query.window.text!r} has no beginning: newer memories are not nearer to it")
    if hit := _ALL_TIME.search(text) or past().search(text):
        return QueryDecay(NO_DECAY, f"{hit[0]!r} asks for what is old as well as for what is new")
    habit = next((match for match in cues("frequency").finditer(text) if match[1]), None)
    if habit is not None:
        return QueryDecay(NO_DECAY, f"{habit[0]!r} asks for a habit, and all times count alike")
    if any(cue.kind == "recent" for cue in query.cues):
        return QueryDecay(OVER_CANDIDATES, "it asks for what is new, but not since when")
    if query.intent == "when" and _WHEN.search(text):
        return QueryDecay(NO_DECAY, "it asks for the time itself, which may be any")
    return QueryDecay(OVER_CANDIDATES, "it names no time: newness over the candidates' own span")


def _days(days: float) -> str:
    return f"{days:.1f} d" if days >= 1 else f"{days * 24:.1f} h"


def log_entry(recall: Recall) -> LoggedRecall:
    """The entry that the log stores for a recall."""
    judged = {} if recall.chance is None else {"found": recall.found}
    signals = {**judged, "ms": round(sum(timing.ms for timing in recall.timings), 1), **(weight_signals(recall) or {})}
    return LoggedRecall(
        id=recall.id,
        namespace=recall.namespace,
        at=recall.query.now,
        recipe=recall.plan.recipe,
        question=recall.query.text,
        returned=[ReturnedHit(hit.memory.id, hit.rank, round(hit.score, 6)) for hit in recall.hits],
        features=pack_features(recall),
        signals=json.dumps(signals, ensure_ascii=False, separators=(",", ":")),
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
            hits = [ShownHit(alike, recent, often, id in used) for id, alike, recent, often in signals["hits"]]
            adapted = learn(before, Weights(*signals["weights"]), hits, namespace.clock())
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
    """The ids that the recall returned; None if the log has no such recall."""
    if isinstance(recall, Recall):
        if recall.namespace != namespace.name:
            raise InvalidInput(f"recall {recall.id} was made in namespace {recall.namespace!r}, not here")
        return tuple(hit.memory.id for hit in recall)
    try:
        return namespace.reader.feedback.returned_ids(checked_name(recall, "a recall's id"))
    except InvalidInput:
        return None
