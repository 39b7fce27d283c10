"""The form of Ask and Why: what is asked, and how. All of it stands in the address, so that a view can be shared."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from fastapi import Depends, Query

from fivefold.engine import Engine
from fivefold.errors import FivefoldError, InvalidInput
from fivefold.retrieval.recipe import Recipe
from fivefold.service.limits import Limits
from fivefold.service.recipes import recipe_named
from fivefold.service.session import Session
from fivefold.values.access import Refused
from fivefold.values.recall import EFFORTS, Recall
from fivefold.values.times import as_utc
from fivefold.web.inspector.acting import acting
from fivefold.web.problems import problem_of

Field = Annotated[str, Query()]


@dataclass(frozen=True, slots=True)
class Posed:
    """The form as it was filled in, every field as text."""

    q: str = ""
    recipe: str = "default"
    k: str = "10"
    effort: str = "normal"
    now: str = ""
    recent: str = ""
    session: str = ""

    def state(self) -> dict[str, object]:
        """What differs from an empty form: the part of the address that says what is shown."""
        plain = Posed()
        return {name: value for name in self.__slots__ if (value := getattr(self, name)) != getattr(plain, name)}

    def moment(self) -> str:
        """The time as a field for times takes it; empty where it is none."""
        try:
            return f"{as_utc(self.now, 'now')[0]:%Y-%m-%dT%H:%M:%S}" if self.now else ""
        except InvalidInput:
            return ""

    def recalled(self, engine: Engine, limits: Limits, recipe: Recipe) -> Recall:
        limits.check_text(self.q, "the question")
        k = _whole(self.k, "k")
        limits.check_k(k)
        if self.effort not in EFFORTS:
            raise InvalidInput(f"effort is one of {', '.join(EFFORTS)}, not {self.effort!r}")
        return engine.recall(
            self.q,
            k=k,
            recipe=recipe,
            now=self.at(),
            effort=self.effort,
            recent_turns=_whole(self.recent, "recent turns") if self.recent else None,
            session_id=self.session or None,
        )

    def at(self) -> datetime | None:
        return as_utc(self.now, "now")[0] if self.now else None


@dataclass(frozen=True, slots=True)
class Answered:
    """What came of it: a recall, or in plain words why there is none."""

    recall: Recall | None = None
    wrong: str = ""
    status: int = 200


def posed_of(
    q: Field = "",
    recipe: Field = "default",
    k: Field = "10",
    effort: Field = "normal",
    now: Field = "",
    recent: Field = "",
    session: Field = "",
) -> Posed:
    return Posed(q.strip(), recipe, k.strip() or "10", effort, now.strip(), recent.strip(), session.strip())


AskedBy = Annotated[Posed, Depends(posed_of)]


def answered(posed: Posed, visit: Session, action: str, still: bool = False) -> Answered:
    """The recall, without noise if `still`. What cannot be used is told at the form, and what was typed stays."""
    try:
        with acting(visit, action, noted=bool(posed.q)) as engine:
            if not posed.q:
                return Answered()
            return Answered(posed.recalled(engine, visit.service.limits, recipe_named(posed.recipe, still=still)))
    except Refused:
        raise
    except FivefoldError as error:
        found = problem_of(error)[0]
        return Answered(wrong=found.detail, status=found.status)


def _whole(text: str, name: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise InvalidInput(f"{name} is a whole number, not {text!r}") from None
