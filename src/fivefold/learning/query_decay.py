"""The decay that fits a question's own time (D12): hours for "just now", weeks for "last month", none for 2019.

A curve looks back from the moment of the question. A time within its reach keeps at least half of the score. For a time
long ago, a habit or a question for a date it does not matter how new a memory is, and nothing decays.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from math import isfinite

from fivefold.models.weights.cue_words import FREQUENCY, PAST
from fivefold.models.weights.features import READ
from fivefold.text.time_grammar import EARLIEST
from fivefold.values.decay import Curve, Decay, age_in_days
from fivefold.values.query import Query, Window
from fivefold.values.serialize import Value

HOUR = 1 / 24
"""The shortest half-life, in days."""
SHORT_DAYS = 3.0
"""A time that begins no longer ago than this is followed hour by hour: exponential."""
NEAR_DAYS = 62.0
"""A time that begins within two months is near: what is newer is nearer to it, even when it has ended."""
LONG_DAYS = 400.0
"""Up to about a year a bell fits a time that lasts until now; beyond it, a straight line."""
MOMENT_DAYS = 6 * HOUR
"""The half-life of "just now" and "where were we"."""
NEWS_DAYS = (1.0, 14.0, 45.0)
"""The half-life of "what's new": least, unknown, most. Between least and most, a share of how far memory reaches."""
NEWS_SHARE = 1 / 24
LONGEST_DAYS = 1e5

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


def choose_decay(query: Query, span_days: float, newest_days: float = 0.0) -> Decay:
    """The decay for a question over memories that reach `span_days` back, the newest of them `newest_days` old."""
    return decay_for(query, span_days, newest_days).decay


def decay_for(query: Query, span_days: float, newest_days: float = 0.0) -> QueryDecay:
    """The same with its reason. The newest memory keeps at least half, however old it is."""
    choice = _by_window(query.window, query.now) if query.window is not None else None
    choice = choice or _by_words(query, span_days)
    half_life = choice.decay.half_life_days
    if choice.decay.curve == "none" or half_life is None:
        return choice
    quiet = newest_days if isfinite(newest_days) else 0.0
    stretched = Decay(choice.decay.curve, min(LONGEST_DAYS, max(HOUR, half_life, quiet)))
    why = f", and nothing is newer than {_days(quiet)}" if quiet > half_life else ""
    return QueryDecay(stretched, choice.reason + why)


def _by_window(window: Window, now: datetime) -> QueryDecay | None:
    """By the time that the question asks about; None where it has no beginning and the words say more."""
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
        return QueryDecay(NO_DECAY, f"{window.text!r} is long over: what is newer is no nearer to it")
    return _until("gaussian" if reach <= LONG_DAYS else "linear", reach, window)


def _until(curve: Curve, reach: float, window: Window) -> QueryDecay:
    return QueryDecay(Decay(curve, max(HOUR, reach)), f"{window.text!r} begins {_days(reach)} ago; half is left there")


def _by_words(query: Query, span_days: float) -> QueryDecay:
    """By the words that say how new the answer should be, then by the intent."""
    text = query.text[:READ].lower()
    if hit := _MOMENT.search(text):
        return QueryDecay(Decay("exponential", MOMENT_DAYS), f"{hit[0]!r} asks for the last hours")
    if hit := _NEWS.search(text):
        half_life = _news(span_days)
        return QueryDecay(Decay("exponential", half_life), f"{hit[0]!r} is taken as half gone after {_days(half_life)}")
    if hit := _NEWEST.search(text):
        return QueryDecay(OVER_CANDIDATES, f"{hit[0]!r} asks for the newest of its kind, however old")
    if query.window is not None:
        return QueryDecay(NO_DECAY, f"{query.window.text!r} has no beginning: what is newer is no nearer to it")
    if hit := _ALL_TIME.search(text) or PAST.search(text):
        return QueryDecay(NO_DECAY, f"{hit[0]!r} asks for what is old as well as for what is new")
    habit = next((match for match in FREQUENCY.finditer(text) if match[1]), None)
    if habit is not None:
        return QueryDecay(NO_DECAY, f"{habit[0]!r} asks for a habit, and all times count alike")
    if any(cue.kind == "recent" for cue in query.cues):
        return QueryDecay(OVER_CANDIDATES, "it asks for what is new, but not since when")
    if query.intent == "when" and _WHEN.search(text):
        return QueryDecay(NO_DECAY, "it asks for the time itself, which may be any")
    return QueryDecay(OVER_CANDIDATES, "it names no time: newness over the candidates' own span")


def _news(span_days: float) -> float:
    """A share of how far memory reaches: news are a day old in a week of notes and a month old in two years of them."""
    least, unknown, most = NEWS_DAYS
    known = isfinite(span_days) and span_days > 0
    return max(least, min(most, span_days * NEWS_SHARE)) if known else unknown


def _days(days: float) -> str:
    if days >= 1:
        return f"{days:.1f} d"
    return f"{days * 24:.1f} h"
