"""Scenes: slices of invented people's memories with questions, some of which nothing in the scene answers."""

from __future__ import annotations

import json
import lzma
import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

from fivefold.values.memory import ROLES

FILE = Path(__file__).parent / "scenes.jsonl.xz"

HELD_OUT_IN = 12
"""One scene in so many is kept from training."""

EARLIER, LATER = 900, 300
"""Days by which a scene is moved in time at most, so that no date becomes a fact."""


@dataclass(frozen=True)
class Told:
    """A memory of a scene: who said it, on which day, and what."""

    speaker: str
    day: date
    text: str

    def laid_out(self, moved: timedelta = timedelta()) -> str:
        """As the engine lays out a memory: "Mia (7 May 2023): …", or "7 May 2023 …" for a part in the talk."""
        day = self.day + moved
        when = f"{day.day} {day:%B} {day.year}"
        return f"{when} {self.text}" if self.speaker.casefold() in ROLES else f"{self.speaker} ({when}): {self.text}"


@dataclass(frozen=True)
class Asked:
    """A question and the places of the memories that answer it; none where nothing in the scene does."""

    text: str
    answers: tuple[int, ...]


@dataclass(frozen=True)
class Scene:
    """The memories in their order, and the questions about them."""

    name: str
    memories: tuple[Told, ...]
    questions: tuple[Asked, ...]


def read_scenes(path: Path = FILE) -> list[Scene]:
    """The scenes of a file of JSON lines."""
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        return [_scene(line) for line in lines]


def _scene(line: str) -> Scene:
    found = json.loads(line)
    place = {memory["id"]: i for i, memory in enumerate(found["memories"])}
    return Scene(
        found["scene"],
        tuple(Told(m["speaker"], date.fromisoformat(m["when"][:10]), m["text"]) for m in found["memories"]),
        tuple(Asked(q["q"], tuple(place[id] for id in q["answers"])) for q in found["questions"]),
    )


def split(scenes: Sequence[Scene]) -> tuple[list[Scene], list[Scene]]:
    """Those to train on, and those kept from training."""
    kept = [scene for i, scene in enumerate(scenes) if i % HELD_OUT_IN == 0]
    return [scene for i, scene in enumerate(scenes) if i % HELD_OUT_IN], kept


def draw_day(dice: random.Random) -> timedelta:
    return timedelta(days=dice.randint(-EARLIER, LATER))
