"""The settings of a namespace as the fields of a form."""

from __future__ import annotations

from collections.abc import Mapping

from fivefold.errors import InvalidInput
from fivefold.settings import Settings

DEFAULTS = Settings().to_dict()

GROUPS: Mapping[str, Mapping[str, str]] = {
    "Short-term memory": {
        "recent_turns": "How many of the last turns of the talk every recall brings along; 0 for none"
    },
    "How times are read": {
        "timezone": "The zone of days, months and years",
        "day_first": "Whether 03/04/2025 is 3 April",
        "recent_days": "How many days back “recently” and “lately” go",
        "around_days": "How many days “around” adds on both sides",
        "few_days": "“A few days ago”: from and to, in days",
        "few_weeks": "“A few weeks ago”: from and to, in days",
        "few_months": "“A few months ago”: from and to, in days",
        "few_years": "“A few years ago”: from and to, in years",
        "summer_months": "First and last month of summer; the other seasons follow",
    },
    "How memories are searched": {
        "dense_weight": "What similarity counts in this namespace, instead of what the recipe says",
        "lexical_weight": "What the words themselves count",
        "graph_weight": "What the entity graph counts",
        "temporal_weight": "What the time asked for counts",
        "widen_below": "With fewer hits of the type a question implies, all types are searched",
        "hops": "How far the entity graph is walked",
        "hops_asked": "How far when a question asks for more",
        "fan_out": "How many edges are followed from each entity",
        "sure_entity": "From which confidence on a name has one meaning, 0 to 1",
        "route_budget_ms": "How many milliseconds an answer waits for a route",
    },
    "How it learns": {
        "learn_after": "After how many new recalls with feedback the reranker is trained by itself; 0 for never"
    },
}
"""What each setting means, the one people change first at the top."""

MEANINGS = {name: meaning for group in GROUPS.values() for name, meaning in group.items()}


def text_of(value: object) -> str:
    """A value of a setting as text: pairs with a comma, yes or no."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def value_of(name: str, text: str) -> object:
    """The value of a setting from the text in its field; None, for the default, where it is empty."""
    given, default = text.strip(), DEFAULTS[name]
    if not given or name == "timezone":
        return given or None
    if isinstance(default, bool):
        if given not in ("yes", "no"):
            raise InvalidInput(f"{name} must be yes or no, not {text!r}")
        return given == "yes"
    if isinstance(default, list):
        return [_number(name, part) for part in given.split(",")]
    return _number(name, given)


def _number(name: str, text: str) -> float | int:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        raise InvalidInput(f"{name} must be a number, not {text!r}") from None
