"""What a recall is asked for, as one value. It is checked here and nowhere else."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone, tzinfo
from typing import Annotated, TypedDict

from fivefold.errors import InvalidInput
from fivefold.retrieval.recipe import Recipe
from fivefold.retrieval.recipe_file import checked_effort, known_recipes, load_recipe
from fivefold.settings import Settings
from fivefold.values.fields import About, Count, Items, Name, RecentTurns, Share, Text, VisibleText, fields_of
from fivefold.values.filter_language import FilterInput, filter_of
from fivefold.values.filters import EVERYTHING, Filter
from fivefold.values.recall_trace import Effort
from fivefold.values.serialize import hidden
from fivefold.values.times import as_utc, offset_of
from fivefold.values.validate import MAX_K, checked_history, checked_text

RecipeChoice = str | os.PathLike[str] | Recipe
"""A recipe by its name, by the path of its TOML file, or as a value."""

UNSET_ZONE = Settings().timezone


@dataclass(frozen=True, slots=True)
class RecallRequest:
    """A question and how to answer it. `recent_turns` of None leaves the number to the namespace's settings."""

    question: Annotated[VisibleText, About("The question in plain words, as a person would ask it")]
    k: Annotated[Count, About("How many memories at most")]
    recipe: Annotated[Recipe, About("The recipe that ranks the memories")]
    now: Annotated[datetime, About("Answer as of this time, ISO 8601", left_out="now")]
    history: Annotated[
        tuple[Text, ...], Items(MAX_K), About("Earlier turns, oldest first; they explain words such as “she”")
    ] = ()
    effort: Annotated[Effort, About("How much work a recall may do: low answers fastest, high searches deepest")] = (
        "normal"
    )
    recent_turns: Annotated[
        RecentTurns | None, About("How many of the last turns come along", left_out="the namespace's setting")
    ] = None
    session_id: Annotated[
        Name | None,
        About(
            "The running conversation: its last turns come along, and “since we last talked” means the one before",
            left_out="the one that spoke last",
        ),
    ] = None
    min_chance: Annotated[
        Share | None, About("The least chance that a memory answers, for it to be returned", left_out="none")
    ] = None
    filter: Annotated[
        Filter,
        About("Which memories may answer, as in: speaker:ana tag:work,home meta.price>=10 since:2024-01-01", "all"),
    ] = EVERYTHING
    utc_offset: timedelta | None = hidden(default=None)  # noqa: RUF009
    """How far the clock of `now` is ahead of UTC, where it says so."""

    def zone(self, settings: Settings) -> tzinfo:
        """The zone of the question's days: the namespace's, or the clock of `now` where that has none of its own."""
        if self.utc_offset is None or settings.timezone != UNSET_ZONE:
            return settings.zone
        return timezone(self.utc_offset)


REQUEST = fields_of(RecallRequest)


class RecallOptions(TypedDict, total=False):
    """The keywords of a recall, for methods that hand them on."""

    recipe: RecipeChoice
    now: datetime | str | None
    history: Sequence[str]
    overrides: Mapping[str, object] | None
    effort: Effort
    recent_turns: int | None
    session_id: str | None
    min_chance: float | None
    filter: FilterInput | None


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
    min_chance: float | None = None,
    filter: FilterInput | None = None,
) -> RecallRequest:
    """The request, or an error that names the first argument that is wrong."""
    request = RecallRequest(
        question=checked_text(question, "the question"),
        k=REQUEST["k"].check(k),
        recipe=load_recipe(recipe, overrides),
        now=as_utc(now, "now")[0],
        history=checked_history(history),
        effort=checked_effort(effort),
        recent_turns=REQUEST["recent_turns"].check(recent_turns),
        session_id=REQUEST["session_id"].check(session_id),
        utc_offset=offset_of(now),
        min_chance=REQUEST["min_chance"].check(min_chance),
        filter=filter_of(filter),
    )
    if request.min_chance is not None and not _gives_chances(request.recipe, request.effort):
        able = [name for name in known_recipes() if _gives_chances(load_recipe(name), request.effort)]
        reason = f"needs a recipe with the stage 'chance', which {request.recipe.name!r} does not have"
        raise InvalidInput(f"{reason}; use {' or '.join(map(repr, able))}", field="min_chance")
    return request


def _gives_chances(recipe: Recipe, effort: Effort) -> bool:
    return any(stage.name == "chance" and stage.runs_at(effort) for stage in recipe.select)
