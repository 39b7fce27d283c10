"""The form of Ask, Why and Compare. The address contains all of its fields, so that a view can be shared."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from fastapi import Depends, Query

from fivefold.engine import Engine
from fivefold.errors import FivefoldError, InvalidInput
from fivefold.retrieval.recipe import Recipe
from fivefold.service.limits import Limits
from fivefold.service.problems import problem_of
from fivefold.service.recipes import recipe_named
from fivefold.service.session import Session
from fivefold.values.access import Refused
from fivefold.values.recall import Recall
from fivefold.values.recall_trace import EFFORTS
from fivefold.values.times import as_utc

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
"""How the page names an option that is not the default."""


@dataclass(frozen=True, slots=True)
class Question:
    """The form as a person fills it in, every field as text."""

    q: str = ""
    recipe: str = "default"
    k: str = "10"
    effort: str = "normal"
    now: str = ""
    recent: str = ""
    session: str = ""
    filter: str = ""

    def state(self) -> dict[str, object]:
        """The fields that differ from an empty form: the part of the address that says what the page shows."""
        empty = Question()
        return {name: value for name in self.__slots__ if (value := getattr(self, name)) != getattr(empty, name)}

    def choices(self) -> list[str]:
        """The options that differ from an empty form, in words, for where their controls are folded away."""
        chosen = self.state() | ({"now": self.moment()[:16].replace("T", " ")} if self.moment() else {})
        return [CHOICES[name].format(value) for name, value in chosen.items() if name in CHOICES]

    def moment(self) -> str:
        """`now` as an input for times takes it; empty if it is no time."""
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
            now=self.time(),
            effort=self.effort,
            recent_turns=_integer(self.recent, "recent turns") if self.recent else None,
            session_id=self.session or None,
            filter=self.filter or None,
        )

    def time(self) -> datetime | None:
        return as_utc(self.now, "now")[0] if self.now else None


@dataclass(frozen=True, slots=True)
class Answer:
    """The result: a recall, or an error message."""

    recall: Recall | None = None
    error: str = ""
    status: int = 200


def question_of(
    q: Text = "",
    recipe: Text = "default",
    k: Text = "10",
    effort: Text = "normal",
    now: Text = "",
    recent: Text = "",
    session: Text = "",
    filter: Text = "",
) -> Question:
    return Question(
        q.strip(), recipe, k.strip() or "10", effort, now.strip(), recent.strip(), session.strip(), filter.strip()
    )


PageQuestion = Annotated[Question, Depends(question_of)]
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
