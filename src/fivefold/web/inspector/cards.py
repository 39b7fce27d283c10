"""The cards of an answer: each hit with its bars, read off its evidence. No score is computed here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fivefold.values.recall import Hit, Recall
from fivefold.values.recall_trace import Candidate, Evidence


@dataclass(frozen=True, slots=True)
class Share:
    """One route's part of a hit: the length of its bar, and which part of the sum it is."""

    evidence: Evidence
    kind: str
    bar: float
    part: float


@dataclass(frozen=True, slots=True)
class Card:
    """A hit with its bars."""

    hit: Hit
    shares: tuple[Share, ...]
    whole: float
    """The length of the bar of the sum: that of the best hit has the full width."""
    made_of: tuple[tuple[str, float], ...]
    """The bar of the score: what routes and later steps made of it. In one answer, equal bars are equal scores."""
    start: float
    """Where that bar begins: not at 0 if a hit of the answer has a score below 0."""

    @property
    def paths(self) -> list[Evidence]:
        """The evidence with a note on how the route reached the memory, such as a path through the graph."""
        met = self.hit.passage and self.hit.passage.describe()
        return [share.evidence for share in self.shares if share.evidence.note not in (None, "", met)]

    def stack(self) -> list[tuple[str, float]]:
        return [(share.kind, share.part * self.whole) for share in self.shares]


def make_cards(answer: Recall) -> list[Card]:
    """The hits, their bars to one scale: the longest is the largest contribution, sum, or score of the answer."""
    kinds = answer.plan.kinds()
    best = max((item.contribution for hit in answer for item in hit.candidate.evidence), default=0.0) or 1.0
    most = max((hit.candidate.fused for hit in answer), default=0.0) or 1.0
    least = min((hit.score for hit in answer if hit.score < 0), default=0.0)
    span = max((hit.score for hit in answer if hit.score > 0), default=0.0) - least or 1.0
    return [
        Card(
            hit,
            _shares(hit, kinds, best),
            hit.candidate.fused / most,
            tuple((kinds.get(name, "other"), abs(amount) / span) for name, amount in score_parts(hit.candidate)),
            (min(hit.score, 0.0) - least) / span,
        )
        for hit in answer
    ]


def score_parts(candidate: Candidate) -> list[tuple[str, float]]:
    """What routes and later steps made of the score; the parts add up to it.

    A step that raises a score adds a part, one that lowers it makes all parts before it smaller.
    """
    parts = [(item.route, item.contribution) for item in candidate.evidence]
    for step in candidate.steps:
        if step.before <= 0 or step.after < 0:
            parts = [(step.stage, step.after)]
        elif step.after > step.before:
            parts.append((step.stage, step.after - step.before))
        else:
            parts = [(name, amount * step.after / step.before) for name, amount in parts]
    return parts


def make_legend(answers: Sequence[Recall]) -> list[tuple[str, str]]:
    """Every route that has a bar in one of the answers, and its kind; all later steps that raise a score are one."""
    legend: dict[str, str] = {}
    for answer in answers:
        kinds = answer.plan.kinds()
        legend |= {item.route: kinds[item.route] for hit in answer for item in hit.candidate.evidence}
    if any(step.after > step.before for answer in answers for hit in answer for step in hit.candidate.steps):
        legend["later steps"] = "other"
    return list(legend.items())


def _shares(hit: Hit, kinds: dict[str, str], best: float) -> tuple[Share, ...]:
    fused = hit.candidate.fused
    return tuple(
        Share(item, kinds[item.route], item.contribution / best, item.contribution / fused if fused else 0.0)
        for item in hit.candidate.evidence
    )
