"""Scenes of people's own lives as token rows: memories as the engine lays them out, and questions as people type them.

The scenes are those of the reader (`training/reader/data`). A question may have several answers, or none.
"""

from __future__ import annotations

import json
import lzma
import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple

import torch
from corpus import CLS, SEP, folder, given_names
from model import Rows, TokenEmbedder, read
from torch import Tensor

from fivefold.models.bert import word_pieces
from fivefold.models.embedders.fivefold_minilm import BEFORE_TOKENS

FILE = folder().parent / "reader/data/scenes.jsonl.xz"
FIRST, KEPT, DRAW = 472, 40, 4
"""Among how many of the first scenes those are drawn that are kept from training, how many, and the seed."""

WIDTH = 96
DATED, BEFORE, SPOKEN = 0.65, 0.25, 0.12
"""How often a memory shows its day and the end of the memory before, and how often the user is called by a name."""

PLAIN, MISSPELT = 0.25, 0.06
"""How often a question loses its last mark, and has two letters in the wrong order."""


@dataclass(frozen=True)
class Asked:
    """A question with the places of the memories that answer it."""

    text: str
    answers: tuple[int, ...]


@dataclass(frozen=True)
class Scene:
    """Memories with their days in words, and the questions about them."""

    memories: tuple[tuple[str, str], ...]
    questions: tuple[Asked, ...]


class SceneBatch(NamedTuple):
    """Questions and the memories of several scenes; `right` says which memory answers which question."""

    questions: Rows
    memories: Rows
    plain: Rows
    right: Tensor


def read_scenes() -> tuple[list[Scene], list[Scene]]:
    """Scenes to train on, and those that the reader keeps from training too."""
    with lzma.open(FILE, "rt", encoding="utf-8") as lines:
        scenes = [_scene(json.loads(line)) for line in lines]
    mixed = list(scenes[:FIRST])
    random.Random(DRAW).shuffle(mixed)
    return [*mixed[KEPT:], *scenes[FIRST:]], mixed[:KEPT]


def _scene(found: dict) -> Scene:  # type: ignore[type-arg]
    place = {memory["id"]: number for number, memory in enumerate(found["memories"])}
    return Scene(
        tuple((_day(memory["when"]), memory["text"]) for memory in found["memories"]),
        tuple(Asked(item["q"], tuple(place[id] for id in item["answers"])) for item in found["questions"]),
    )


def _day(when: str) -> str:
    day = date.fromisoformat(when[:10])
    return f"{day.day} {day:%B} {day.year}"


class Drawer:
    """Draws batches of scenes, each time told a little differently."""

    def __init__(self, scenes: Sequence[Scene], device: str | torch.device, seed: int) -> None:
        self._scenes, self._names, self._device = list(scenes), given_names(), device
        self._dice, self._order = random.Random(seed), list[Scene]()
        self._pieces = word_pieces()

    def batch(self, count: int) -> SceneBatch:
        """The next `count` scenes; all come once before any comes again."""
        while len(self._order) < count:
            self._order += self._dice.sample(self._scenes, len(self._scenes))
        chosen, self._order = self._order[:count], self._order[count:]
        questions: list[list[int]] = []
        memories: list[list[int]] = []
        plain: list[list[int]] = []
        own: list[int] = []
        right: list[list[int]] = []
        for scene in chosen:
            first, name = len(memories), self._dice.choice(self._names) if self._dice.random() < SPOKEN else ""
            dated = self._dice.random() < DATED
            for number, (day, text) in enumerate(scene.memories):
                before = scene.memories[number - 1][1] if number and self._dice.random() < BEFORE else ""
                told = self._told(day, text, name, dated)
                whole, end = self._row(told, before)
                memories.append(whole)
                own.append(end)
                plain.append(whole[:end])
            for asked in scene.questions:
                questions.append(self._row(self._typed(asked.text))[0])
                right.append([first + place for place in asked.answers])
        table = torch.zeros(len(questions), len(memories), dtype=torch.bool)
        for row, places in enumerate(right):
            table[row, places] = True
        rows = padded_rows(memories)
        mine = torch.arange(rows.shape[1])[None] < torch.tensor(own)[:, None]
        return SceneBatch(
            Rows(padded_rows(questions).to(self._device)),
            Rows(rows.to(self._device), own=mine.to(self._device)),
            Rows(padded_rows(plain).to(self._device)),
            table.to(self._device),
        )

    def _told(self, day: str, text: str, name: str, dated: bool) -> str:
        if name:
            return f"{name} ({day}): {text}" if dated else f"{name}: {text}"
        return f"{day} {text}" if dated else text

    def _typed(self, text: str) -> str:
        if self._dice.random() < PLAIN:
            text = text.rstrip("?.! ")
        if self._dice.random() < MISSPELT and len(text) > 12:
            at = self._dice.randrange(1, len(text) - 2)
            text = text[:at] + text[at + 1] + text[at] + text[at + 2 :]
        return text

    def _row(self, text: str, before: str = "") -> tuple[list[int], int]:
        """A row as the engine reads it, and how many of its pieces are the text's own."""
        own = [CLS, *self._pieces.ids(text)[: WIDTH - 2], SEP]
        end = self._pieces.ids(before)[-BEFORE_TOKENS:] if before else []
        return ([*own, *end, SEP] if end else own), len(own)


def padded_rows(rows: Sequence[Sequence[int]]) -> Tensor:
    found = torch.zeros(len(rows), max(map(len, rows)), dtype=torch.long)
    for place, row in enumerate(rows):
        found[place, : len(row)] = torch.tensor(row)
    return found


class SceneSpace:
    """Scenes that are kept from training, each question asked within its own."""

    def __init__(self, scenes: Sequence[Scene], device: str | torch.device) -> None:
        pieces, self._scenes, self._device = word_pieces(), scenes, device
        told = [f"{day} {text}" for scene in scenes for day, text in scene.memories]
        asked = [asked.text for scene in scenes for asked in scene.questions]
        self._rows = [
            Rows(padded_rows([[CLS, *pieces.ids(text)[: WIDTH - 2], SEP] for text in texts]).to(device))
            for texts in (told, asked)
        ]

    @torch.no_grad()
    def hits(self, model: TokenEmbedder) -> float:
        """The share of answered questions whose nearest memory answers, by the vectors."""
        told, asked = (read(model, rows).vectors.float() for rows in self._rows)
        hits, memory, question = list[bool](), 0, 0
        for scene in self._scenes:
            mine = told[memory : memory + len(scene.memories)]
            for item in scene.questions:
                if item.answers:
                    hits.append(int((mine @ asked[question]).argmax()) in item.answers)
                question += 1
            memory += len(scene.memories)
        return sum(hits) / max(1, len(hits))
