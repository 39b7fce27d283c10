"""What a recall is asked for, as one value. It is checked here and nowhere else."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from fivefold.retrieval.effort import checked_effort
from fivefold.retrieval.recipe import Recipe
from fivefold.retrieval.recipe_file import load_recipe
from fivefold.values.limits import MAX_RECENT
from fivefold.values.times import as_utc
from fivefold.values.trace import Effort
from fivefold.values.validate import checked_count, checked_history, checked_k, checked_name, checked_text

RecipeChoice = str | os.PathLike[str] | Recipe
"""A recipe by its name, by the path of its TOML file, or as a value."""


@dataclass(frozen=True, slots=True)
class RecallRequest:
    """A question and how to answer it. `recent_turns` of None leaves the number to the namespace's settings."""

    question: str
    k: int
    recipe: Recipe
    now: datetime
    history: tuple[str, ...] = ()
    effort: Effort = "normal"
    recent_turns: int | None = None
    session_id: str | None = None


def checked_request(
    question: str,
    k: int = 10,
    *,
    recipe: RecipeChoice = "default",
    overrides: Mapping[str, object] | None = None,
    now: datetime | str,
    history: Sequence[str] = (),
    effort: Effort = "normal",
    recent_turns: int | None = None,
    session_id: str | None = None,
) -> RecallRequest:
    """The request, or an error that names the first argument that is wrong."""
    return RecallRequest(
        question=checked_text(question, "the question"),
        k=checked_k(k),
        recipe=load_recipe(recipe, overrides),
        now=as_utc(now, "now")[0],
        history=checked_history(history),
        effort=checked_effort(effort),
        recent_turns=None if recent_turns is None else checked_count(recent_turns, "recent_turns", 0, MAX_RECENT),
        session_id=None if session_id is None else checked_name(session_id, "session_id"),
    )
