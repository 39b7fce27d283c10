"""The question, understood."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import exp, log
from typing import Annotated, Literal, get_args

from fivefold.values.fields import About, Between
from fivefold.values.memory import Type
from fivefold.values.serialize import Value
from fivefold.values.times import in_zone
from fivefold.values.validate import one_line, shown_name

# What a question demands of its answer: a time, a state, an order, completeness.

DemandKind = Literal[
    "window",
    "current",
    "past",
    "first",
    "last",
    "next",
    "just now",
    "last time",
    "last note",
    "list",
    "count",
    "negation",
    "suggestion",
    "request",
]
"""The kinds of demand that a question may make:

- `window`: memories of a time, by the day they were said or by a date they name
- `current`, `past`: what holds now, what held before
- `first`, `last`, `next`: the earliest, the latest, the nearest ahead of what answers
- `just now`, `last time`, `last note`: the turns of the running conversation, of the one before, the latest notes,
  or the latest words of somebody or about something
- `list`, `count`: everything that answers, not variants of one thing
- `negation`: what is not so, or not wanted
- `suggestion`: tastes, allergies and dislikes that matter to an advice
- `request`: the assistant is asked to do something, so that the user's instructions and preferences apply
"""

DEMAND_KINDS: tuple[DemandKind, ...] = get_args(DemandKind)

TURNS: tuple[DemandKind, ...] = ("just now", "last time", "last note")
"""Demands for what was said itself, by its place in time."""


@dataclass(frozen=True, slots=True)
class Demand(Value):
    """One demand, the words of the question that make it, and whether it decides alone.

    If a demand decides alone, memories that do not meet it stand behind all that do. `text` is empty if the tense of
    the whole question makes the demand.
    """

    kind: DemandKind
    text: str
    start: int
    decides: bool
    about: str
    """The demand in words, for people."""
    speaker: str = ""
    """The speaker whose words are asked for: the user, the assistant or one by name; empty for anybody."""


NamePrior = Literal["memories", "questions"]
"""The counts that say how often a name means each of its entities: memories that mention it, or past questions (R7)."""

Yesterday = Literal["day", "24 hours"]
"""The meaning of "yesterday" and "last week": the calendar day and week, or the 24 hours and 7 days before now (R8)."""


@dataclass(frozen=True, slots=True)
class Window(Value):
    """A closed stretch of time a question asks about; the end is exclusive."""

    start: datetime
    end: datetime
    text: str


@dataclass(frozen=True, slots=True)
class Meaning(Value):
    """An entity a name may mean, and how likely it does."""

    id: int
    name: str
    confidence: float
    asked: float | None = None
    """Share of the past questions in which the name meant it, if these were counted (R7)."""

    def describe(self) -> str:
        """Its name and confidence, and how often it was asked about."""
        asked = "" if self.asked is None else f", meant in {self.asked:g} past question{'' if self.asked == 1 else 's'}"
        return f"{shown_name(self.name)} ({self.confidence:.2f}{asked})"


@dataclass(frozen=True, slots=True)
class EntityRef(Value):
    """A stretch of the question that names an entity of the namespace, its likeliest meaning first (R7)."""

    text: str
    start: int
    meanings: tuple[Meaning, ...]
    via: str = "name"

    @property
    def name(self) -> str:
        return self.meanings[0].name

    @property
    def confidence(self) -> float:
        return self.meanings[0].confidence


@dataclass(frozen=True, slots=True)
class Cue(Value):
    """Words of the question that say what kind of answer it wants."""

    kind: Literal["intent", "type", "many hops", "recent"]
    value: str
    text: str
    start: int


def whole_percents(shares: tuple[float, float, float]) -> list[int]:
    """Shares of 1 in whole percents that add up to what the shares do: the largest remainders are rounded up (D10)."""
    percents = [int(share * 100) for share in shares]
    by_rest = sorted(range(len(shares)), key=lambda i: percents[i] - shares[i] * 100)
    for i in by_rest[: round(sum(shares) * 100) - sum(percents)]:
        percents[i] += 1
    return percents


@dataclass(frozen=True, slots=True)
class Weights(Value):
    """The weights of similarity, recency and frequency (D1); they add up to 1."""

    similarity: float
    recency: float
    frequency: float
    source: str = "fixed"
    before: tuple[float, float, float] | None = None
    """The model's weights, if use has corrected them (D12)."""
    intent: str = ""
    """The intent of training that these weights are nearest to; empty if no model predicts them (D10)."""

    def describe(self) -> str:
        """The weights in percent, with their source, and the corrections from use (D10)."""
        parts = whole_percents((self.similarity, self.recency, self.frequency))
        shares = "similarity {}%, recency {}%, frequency {}%".format(*parts)
        corrected = ""
        if self.before is not None:
            corrected = ", before use corrected them " + ", ".join(f"{part}%" for part in whole_percents(self.before))
        return f"{shares}{corrected} ({self.source})"


@dataclass(frozen=True, slots=True)
class Query(Value):
    """The question, understood. Parts that nothing filled are empty."""

    text: str
    now: datetime
    """Time of the question, by the clock of the namespace: memories dated on that day are known."""
    lexemes: tuple[str, ...]
    history: tuple[str, ...] = ()
    window: Window | None = None
    entities: tuple[EntityRef, ...] = ()
    intent: str = "what"
    type_hints: tuple[Type, ...] = ()
    """The types of memory that narrow the search; the optimizer fills them in (R1, R2)."""
    cues: tuple[Cue, ...] = ()
    weights: Weights | None = None
    demands: tuple[Demand, ...] = ()
    reading: str = ""
    """The question as the models read it, if that is not its text: typing errors mended, pronouns replaced, another
    language in English words."""
    parts: tuple[str, ...] = ()
    """The parts that a question puts side by side, to be searched one by one; empty if it has one part."""

    @property
    def to_read(self) -> str:
        return self.reading or self.text

    @property
    def shown_intent(self) -> str:
        """The intent for the weights: the predicted one (D10), or else the intent of the words."""
        return (self.weights.intent if self.weights is not None else "") or self.intent

    def describe_weights(self) -> list[str]:
        """The intent and the weights predicted for the question, in a line; none if nothing predicts them (D10)."""
        return [] if self.weights is None else [f"intent {self.shown_intent} · {self.weights.describe()}"]

    def demand(self, *kinds: DemandKind) -> Demand | None:
        """The first demand of one of these kinds."""
        return next((demand for demand in self.demands if demand.kind in kinds), None)

    def spans(self) -> list[tuple[int, int, str]]:
        """The parts of the question that were recognised, in reading order: start, end, meaning."""
        spans = [(ref.start, ref.start + len(ref.text), shown_name(ref.name)) for ref in self.entities]
        if self.window is not None and self.window.text in self.text:
            start = self.text.index(self.window.text)
            spans.append(
                (start, start + len(self.window.text), f"{self.window.start:%Y-%m-%d}…{self.window.end:%Y-%m-%d}")
            )
        spans += [
            (demand.start, demand.start + len(demand.text), demand.kind)
            for demand in self.demands
            if demand.text and demand.kind != "window"
        ]
        spans += [(cue.start, cue.start + len(cue.text), f"{cue.kind}: {cue.value}") for cue in self.cues]
        return sorted(spans)

    def marked(self) -> str:
        """The question on one line, with each recognised part and its meaning in brackets."""
        out, position = [], 0
        for start, end, what in self.spans():
            if start >= position:
                out += [self.text[position:start], f"[{self.text[start:end]} = {what}]"]
                position = end
        return one_line("".join((*out, self.text[position:])))

    def describe(self) -> list[str]:
        """Everything read out of the question, a line each."""
        lines = [f"  asked {in_zone(self.now, UTC):%Y-%m-%d %H:%M} UTC, intent {self.shown_intent}"]
        lines += [
            f"  {ref.text!r} may mean "
            + ", ".join(meaning.describe() for meaning in ref.meanings)
            + ("" if ref.via == "name" else f", {ref.via}")
            for ref in self.entities
        ]
        if self.window is not None:
            lines.append(
                f"  {self.window.text!r} is {self.window.start:%Y-%m-%d %H:%M} to {self.window.end:%Y-%m-%d %H:%M} UTC"
            )
        lines += [f"  demands {demand.about}" for demand in self.demands]
        if self.reading:
            lines.append(f"  read as {self.reading!r}")
        if self.parts:
            lines.append("  searched in parts: " + ", ".join(map(repr, self.parts)))
        return lines


# Decay curves: what age leaves of a score (F4, D12). Each halves it at its half-life, in its own way.

Curve = Literal["none", "linear", "exponential", "gaussian", "step"]
CURVES: tuple[Curve, ...] = get_args(Curve)

_LEFT: dict[Curve, Callable[[float], float]] = {
    "none": lambda lives: 1.0,
    "linear": lambda lives: max(0.0, 1.0 - lives / 2),
    "exponential": lambda lives: exp(-log(2) * lives),
    "gaussian": lambda lives: exp(-log(2) * lives * lives),
    "step": lambda lives: 1.0 if lives < 1 else 0.0,
}
"""The share that is left by the age in half-lives; a step keeps all until then and nothing after."""


@dataclass(frozen=True, slots=True)
class Decay(Value):
    """A curve, its half-life, and the share that never goes."""

    curve: Annotated[Curve, About("Effect of age if there is a half-life")] = "linear"
    half_life_days: Annotated[
        float | None,
        Between(1e-6, 1e6),
        About("Days after which half is left; without it, from 0 for the oldest candidate to 1 for the newest"),
    ] = None
    floor: Annotated[float, Between(0, 1), About("The share that age always leaves")] = 0.0

    def left(self, age_days: float) -> float:
        """The share left of a memory of this age; a memory of the future counts as new."""
        if self.half_life_days is None:
            return 1.0
        return max(self.floor, _LEFT[self.curve](max(0.0, age_days) / self.half_life_days))

    def describe(self) -> str:
        if self.curve == "none":
            return "no decay"
        if self.half_life_days is None:
            return "from the oldest candidate to the newest"
        floor = f", at least {self.floor:g}" if self.floor else ""
        return f"{self.curve}, half-life {self.half_life_days:g} d{floor}"


def age_in_days(at: datetime, now: datetime) -> float:
    return (now - at) / timedelta(days=1)
