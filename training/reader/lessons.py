"""What a model learns from: two texts, and the relation of two memories or whether a memory answers a question."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

from training.reader.pairs import RELATIONS, Pair, drawn, given_names, swap_letters
from training.reader.scenes import Scene
from training.reader.wordings import read_wordings, worded

from fivefold.models.reader import QUESTION, Remark, SaidPair

UNKNOWN = -1
"""The label where only a teacher judges."""

LOWER, MISSPELT = 0.15, 0.06
"""The shares of questions that are asked in lower case, and with two letters in the wrong order."""


class Lesson(NamedTuple):
    """Two texts; the label is the number of a relation, or for a question whether the memory answers."""

    said: SaidPair
    label: int

    @property
    def asks(self) -> bool:
        return self.said.older.speaker == QUESTION


def relation_lesson(pair: Pair) -> Lesson:
    return Lesson(pair.said, RELATIONS.index(pair.relation) if pair.relation in RELATIONS else UNKNOWN)


def answer_lesson(question: str, memory: Remark, label: int) -> Lesson:
    return Lesson(SaidPair(Remark(question, QUESTION), memory), label)


def relation_lessons(pairs: Sequence[Pair], count: int, by_hand: float, seed: int) -> list[Lesson]:
    """Pairs of two kinds: a share drawn from those written by hand, the others made from wordings."""
    dice, names = random.Random(seed), given_names()
    hand, made = drawn(pairs, names, dice), worded(*read_wordings(), names, dice)
    return [relation_lesson(next(hand if dice.random() < by_hand else made)) for _ in range(count)]


def scene_lessons(scenes: Sequence[Scene], dice: random.Random) -> Iterator[Lesson]:
    """Every question with every memory of its scene and one of another, each time with a wording of its own."""
    for number, scene in enumerate(scenes):
        for asked in scene.questions:
            for place, memory in enumerate(scene.memories):
                yield answer_lesson(varied(asked.text, dice), memory, int(place in asked.answers))
            if len(scenes) > 1:
                other = scenes[(number + dice.randrange(1, len(scenes))) % len(scenes)]
                yield answer_lesson(varied(asked.text, dice), dice.choice(other.memories), 0)


def scene_pairs(scenes: Sequence[Scene]) -> Iterator[Lesson]:
    """Every two memories of a scene in their order, for the teachers to judge."""
    for scene in scenes:
        for older, newer in combinations(scene.memories, 2):
            yield Lesson(SaidPair(older, newer), UNKNOWN)


def varied(question: str, dice: random.Random) -> str:
    """A question as people type it."""
    if dice.random() < LOWER:
        question = question.lower().rstrip("?")
    return swap_letters(question, dice) if dice.random() < MISSPELT else question
