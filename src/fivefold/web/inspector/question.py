"""Ask, and the form and the cards that it shares with Why and Compare.

The address contains all fields of the form, so that a view can be shared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import Response

from fivefold.engine import Engine
from fivefold.errors import FivefoldError, InvalidInput
from fivefold.retrieval.recipe import Recipe
from fivefold.retrieval.recipe_file import known_recipes
from fivefold.service.limits import Limits
from fivefold.service.problems import problem_of
from fivefold.service.session import Session, recipe_named
from fivefold.values.access import Refused
from fivefold.values.recall import Hit, Recall
from fivefold.values.recall_trace import EFFORTS, Candidate, Evidence
from fivefold.values.times import as_utc
from fivefold.web.inspector.memories import neighbours_of
from fivefold.web.inspector.rendering import PageSession, address, page, push_address

Text = Annotated[str, Query()]

CHOICES = {
    "recipe": "recipe {}",
    "k": "the best {}",
    "effort": "effort {}",
    "recent": "{} recent turns",
    "session": "session {}",
    "now": "as of {}",
    "filter": "filter {}",
}
"""The page's text for an option that is not the default."""


@dataclass(slots=True)
class Question:
    """The form as a person fills it in, every field as text."""

    q: Text = ""
    recipe: Text = "default"
    k: Text = "10"
    effort: Text = "normal"
    now: Text = ""
    recent: Text = ""
    session: Text = ""
    filter: Text = ""

    def __post_init__(self) -> None:
        self.k = self.k.strip() or "10"
        for name in ("q", "now", "recent", "session", "filter"):
            setattr(self, name, getattr(self, name).strip())

    def state(self) -> dict[str, object]:
        """The fields that differ from an empty form: the part of the address that says what the page shows."""
        empty = Question()
        return {name: value for name in self.__slots__ if (value := getattr(self, name)) != getattr(empty, name)}

    def choices(self) -> list[str]:
        """The options that differ from an empty form, in words, shown while their controls are folded away."""
        chosen = self.state() | ({"now": self.moment()[:16].replace("T", " ")} if self.moment() else {})
        return [CHOICES[name].format(value) for name, value in chosen.items() if name in CHOICES]

    def moment(self) -> str:
        """`now` as an input for times takes it; empty if it is not a time."""
        try:
            return f"{as_utc(self.now, 'now')[0]:%Y-%m-%dT%H:%M:%S}" if self.now else ""
        except InvalidInput:
            return ""

    def recall(self, engine: Engine, limits: Limits, recipe: Recipe) -> Recall:
        limits.check_question(self.q, field="the question")
        k = _integer(self.k, "k")
        limits.check_k(k)
        if self.effort not in EFFORTS:
            raise InvalidInput(f"effort is one of {', '.join(EFFORTS)}, not {self.effort!r}")
        return engine.recall(
            self.q,
            k=k,
            recipe=recipe,
            now=as_utc(self.now, "now")[0] if self.now else None,
            effort=self.effort,
            recent_turns=_integer(self.recent, "recent turns") if self.recent else None,
            session_id=self.session or None,
            filter=self.filter or None,
        )


@dataclass(frozen=True, slots=True)
class Answer:
    """The result: a recall, or an error message."""

    recall: Recall | None = None
    error: str = ""
    status: int = 200


PageQuestion = Annotated[Question, Depends()]
"""The parameter by which an endpoint of a page gets its question."""


def answer_question(question: Question, session: Session, action: str, noise: bool = True) -> Answer:
    """The recall, on request without noise. The form shows an error and keeps what the person typed."""
    try:
        with session.act(action, audit_success=bool(question.q)) as act:
            if not question.q:
                return Answer()
            recipe = recipe_named(question.recipe, still=not noise)
            return Answer(question.recall(act.engine, session.service.limits, recipe))
    except Refused:
        raise
    except FivefoldError as error:
        problem = problem_of(error)
        return Answer(error=problem.detail, status=problem.status)


def _integer(text: str, name: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise InvalidInput(f"{name} is a whole number, not {text!r}") from None


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
    """The length of the bar of the sum; the best hit's has the full width."""
    made_of: tuple[tuple[str, float], ...]
    """The bar of the score: what routes and later steps made of it. In one answer, equal bars are equal scores."""
    start: float
    """Beginning of that bar: not at 0 if a hit of the answer has a score below 0."""

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
            tuple(
                Share(item, kinds[item.route], item.contribution / best, item.contribution / (hit.candidate.fused or 1))
                for item in hit.candidate.evidence
            ),
            hit.candidate.fused / most,
            tuple((kinds.get(name, "other"), abs(amount) / span) for name, amount in score_parts(hit.candidate)),
            (min(hit.score, 0.0) - least) / span,
        )
        for hit in answer
    ]


def score_parts(candidate: Candidate) -> list[tuple[str, float]]:
    """The parts of a score: a step that raises it adds one, a step that lowers it makes all before it smaller."""
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


router: APIRouter = APIRouter()


@router.get("/ask")
def ask(request: Request, session: PageSession, question: PageQuestion) -> Response:
    answer = answer_question(question, session, "recall")
    recall, here, stats = answer.recall, address("/ask", session.namespace, question.state()), None
    if not question.q:
        with session.act("stats") as act:
            stats = session.service.stats(session.caller, act.engine)
    response = page(
        request,
        "ask.html",
        answer.status,
        question=question,
        recall=recall,
        error=answer.error,
        cards=[] if recall is None else make_cards(recall),
        legend=[] if recall is None else make_legend([recall]),
        settings=session.engine().settings,
        stats=stats,
        recipes=known_recipes(),
        efforts=EFFORTS,
        state=question.state(),
        back=here,
    )
    return push_address(request, response, here)


@router.get("/ask/context")
def context(request: Request, session: PageSession, id: Annotated[str, Query()]) -> Response:
    """The turns before and after a memory in its session."""
    with session.act("get", subject=id) as act:
        turns = neighbours_of(act.engine, act.engine.get(id))
    return page(request, "ask_context.html", turns=[turn for turn in turns if turn is not None])
