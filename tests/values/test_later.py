"""Fields that are worked out when they are read look like any other field."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, replace

import pytest

from fivefold.values.recall_trace import later, read_later
from fivefold.values.serialize import Value


@read_later("why")
@dataclass(frozen=True, slots=True)
class Reason(Value):
    score: float
    why: str = "unknown"


def test_a_field_is_made_once_and_only_when_it_is_read() -> None:
    made: list[int] = []

    def make() -> str:
        made.append(1)
        return "because"

    reason = Reason(0.5, later(make))
    assert (reason.score, made) == (0.5, [])
    assert (reason.why, reason.why, made) == ("because", "because", [1])


@pytest.mark.parametrize("view", [repr, hash, Value.to_dict, lambda one: replace(one, score=1.0), list])
def test_nobody_sees_the_difference(view: object) -> None:
    def see(one: Reason) -> object:
        return [one] if view is list else view(one)  # type: ignore[operator]

    assert see(Reason(0.5, later(lambda: "because"))) == see(Reason(0.5, "because"))


def test_it_has_its_default_and_survives_pickling() -> None:
    assert Reason(0.5).why == "unknown"
    assert pickle.loads(pickle.dumps(Reason(0.5, later(str, 7)))) == Reason(0.5, "7")
