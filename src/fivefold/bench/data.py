"""What a benchmark is made of: memories to store, questions to ask, and what each should find."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, get_args

from fivefold.values.memory import Record
from fivefold.values.serialize import Value

Unit = Literal["turn", "session"]
UNITS: tuple[Unit, ...] = get_args(Unit)


@dataclass(frozen=True, slots=True)
class Question(Value):
    """A question and the ids, of memories or of sessions, that answer it; `stale` answered it before a change."""

    id: str
    namespace: str
    text: str
    relevant: tuple[str, ...]
    category: str = "all"
    now: datetime | None = None
    history: tuple[str, ...] = ()
    stale: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Choice:
    """The answers that a question offers, and the place of the right one."""

    options: tuple[str, ...]
    right: int


@dataclass(frozen=True, slots=True)
class Dataset:
    """A benchmark, ready to be stored and asked.

    `unit` says what `Question.relevant` names: memories (turn) or sessions. `plain` holds for each namespace what the
    plain baselines search: pairs of the id they are counted by and the text, without dates. `measures` are those that
    the benchmark's authors report, `choices` the answers offered to a question.
    """

    name: str
    unit: Unit
    memories: Mapping[str, Sequence[Record]]
    questions: Sequence[Question]
    plain: Mapping[str, Sequence[tuple[str, str]]]
    notes: tuple[str, ...] = ()
    measures: tuple[str, ...] = ()
    choices: Mapping[str, Choice] = field(default_factory=dict)
