"""The cards of an answer: each hit with its bars, read off its evidence. No score is computed here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fivefold.retrieval.routes import ROUTES
from fivefold.values.recall import Hit, Recall
from fivefold.values.recall_trace import Evidence, Plan


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

    @property
    def paths(self) -> list[Evidence]:
        """The evidence with a note on how the route reached the memory, such as a path through the graph."""
        met = self.hit.passage and self.hit.passage.describe()
        return [share.evidence for share in self.shares if share.evidence.note not in (None, "", met)]

    def stack(self) -> list[tuple[str, float]]:
        return [(share.kind, share.part * self.whole) for share in self.shares]


def make_cards(answer: Recall) -> list[Card]:
    """The hits, their bars to one scale: the longest is the largest contribution, or sum, of the answer."""
    kinds = kinds_of(answer.plan)
    best = max((item.contribution for hit in answer for item in hit.candidate.evidence), default=0.0) or 1.0
    most = max((hit.candidate.fused for hit in answer), default=0.0) or 1.0
    return [Card(hit, _shares(hit, kinds, best), hit.candidate.fused / most) for hit in answer]


def kinds_of(plan: Plan) -> dict[str, str]:
    """The kind of search of each route and of stages with evidence of their own, which gives it its colour (D10)."""
    stages = {name: name if name in ROUTES else "other" for name in plan.stages}
    return stages | {part.route: part.search if part.search in ROUTES else "other" for part in plan.routes}


def make_legend(answers: Sequence[Recall]) -> list[tuple[str, str]]:
    """Every route that has a bar in one of the answers, and its kind."""
    legend: dict[str, str] = {}
    for answer in answers:
        kinds = kinds_of(answer.plan)
        legend |= {item.route: kinds[item.route] for hit in answer for item in hit.candidate.evidence}
    return list(legend.items())


def _shares(hit: Hit, kinds: dict[str, str], best: float) -> tuple[Share, ...]:
    fused = hit.candidate.fused
    return tuple(
        Share(item, kinds[item.route], item.contribution / best, item.contribution / fused if fused else 0.0)
        for item in hit.candidate.evidence
    )
