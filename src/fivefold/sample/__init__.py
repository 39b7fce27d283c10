"""A year of one person's conversations, written for fivefold, with 40 questions and the memories that answer them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib import resources
from typing import Any


@dataclass(frozen=True, slots=True)
class Question:
    """A question, the ids of the memories that answer it, and the time it is asked."""

    id: str
    query: str
    relevant: tuple[str, ...]
    category: str
    now: str


def memories() -> list[dict[str, Any]]:
    """The records, ready for `remember_many`."""
    return _lines("memories.jsonl")


def questions() -> list[Question]:
    return [Question(**{**item, "relevant": tuple(item["relevant"])}) for item in _lines("questions.jsonl")]


def _lines(name: str) -> list[dict[str, Any]]:
    text = resources.files("fivefold.sample").joinpath(name).read_text("utf-8")
    return [json.loads(line) for line in text.splitlines() if line.strip()]
