"""Scenes: slices of invented people's memories with questions, some of which nothing in the scene answers."""

from __future__ import annotations

import json
import lzma
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from training.reader.pairs import DATA

from fivefold.models.reader import Remark

FILE = DATA / "scenes.jsonl.xz"

FIRST, KEPT, DRAW = 472, 40, 4
"""Among how many of the first scenes those are drawn that are kept from training, how many, and the seed."""


@dataclass(frozen=True)
class Asked:
    """A question and the places of the memories that answer it; none where nothing in the scene does."""

    text: str
    answers: tuple[int, ...]


@dataclass(frozen=True)
class Scene:
    """The memories in their order, and the questions about them."""

    name: str
    memories: tuple[Remark, ...]
    questions: tuple[Asked, ...]


def read_scenes(path: Path = FILE) -> list[Scene]:
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        return [_scene(line) for line in lines]


def _scene(line: str) -> Scene:
    found = json.loads(line)
    place = {memory["id"]: i for i, memory in enumerate(found["memories"])}
    return Scene(
        found["scene"],
        tuple(Remark(memory["text"], memory["speaker"]) for memory in found["memories"]),
        tuple(Asked(item["q"], tuple(place[id] for id in item["answers"])) for item in found["questions"]),
    )


def split(scenes: Sequence[Scene]) -> tuple[list[Scene], list[Scene]]:
    """Those to train on, and those kept from training."""
    mixed = list(scenes[:FIRST])
    random.Random(DRAW).shuffle(mixed)
    return [*mixed[KEPT:], *scenes[FIRST:]], mixed[:KEPT]
