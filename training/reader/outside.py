"""Texts from elsewhere: questions of the embedder's data with their answers, and talk that nobody has labelled."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from corpus import joined_files
from training.reader.lessons import Lesson, answer_lesson
from training.reader.pairs import given_names

from fivefold.evaluation import read_life
from fivefold.models.reader import Remark
from fivefold_bench.everyday import shipped_lives

QUESTIONS = {"squad": 9_000, "qamr": 2_500, "selqa": 1_200, "nq": 1_500, "spc_ask": 7_000}
"""How many questions of each source are used at most."""

NEAR, WRONG = 4, 3
"""How many of the nearest texts of a talk are looked at, and how many of them are shown as no answer."""

LONGEST = 400
"""Characters of a text that are kept."""

STATED = re.compile(r"\b(I|my|My|I'm|I've|we|We)\b")
TALK, SHORT, LONG = 34_000, 5, 28
"""How many statements of talk are used at most, and how many words one has at least and at most."""


class Text(NamedTuple):
    """A text of the embedder's data; `{A}` and `{B}` stand for the two people of a talk."""

    source: str
    talk: int
    speaker: str
    text: str


class Question(NamedTuple):
    """A question of the embedder's data, and the place of the text that answers it."""

    source: str
    text: str
    answer: int


def read_data(paths: Sequence[Path]) -> tuple[list[Text], list[Question]]:
    """The texts and questions of files such as `memory-qa.json.xz`; nothing without files."""
    texts, questions = joined_files(paths)
    return [Text(*each) for each in texts], [Question(*each) for each in questions]


def outside_lessons(
    texts: Sequence[Text], questions: Sequence[Question], count: int, dice: random.Random
) -> list[Lesson]:
    """Questions with their answer and with texts near it that are none, mixed; `count` lessons at most."""
    talks: dict[tuple[str, int], list[int]] = defaultdict(list)
    for place, text in enumerate(texts):
        talks[text[:2]].append(place)
    names, found = given_names(), list[Lesson]()
    for question in _chosen(questions, dice):
        people = dict(zip("AB", dice.sample(names, 2), strict=True))
        others = [place for place in talks[texts[question.answer][:2]] if place != question.answer]
        near = sorted(others, key=lambda place: abs(place - question.answer))[:NEAR]
        asked = _named(question.text, people)
        found.append(answer_lesson(asked, _said(texts[question.answer], people), 1))
        for place in dice.sample(near, min(WRONG, len(near))):
            found.append(answer_lesson(asked, _said(texts[place], people), 0))
    dice.shuffle(found)
    return found[:count]


def talk(texts: Sequence[Text], dice: random.Random) -> list[Remark]:
    """Statements in the first person from chats, and the memories of the lives to choose by, mixed."""
    lines = [text for text in texts if text.source.startswith("spc") and _is_statement(text.text)]
    dice.shuffle(lines)
    people = {"A": "Anna", "B": "Ben"}
    unique = {said.text.lower(): said for said in (Remark(_named(line.text, people), "user") for line in lines)}
    found = list(unique.values())[:TALK]
    for path in shipped_lives("choose"):
        found += [Remark(memory.content, memory.speaker or "user") for memory in read_life(path).memories]
    dice.shuffle(found)
    return found


def _chosen(questions: Sequence[Question], dice: random.Random) -> Iterator[Question]:
    for source, most in QUESTIONS.items():
        of_source = [question for question in questions if question.source == source]
        yield from dice.sample(of_source, min(most, len(of_source)))


def _is_statement(text: str) -> bool:
    return SHORT <= len(text.split()) <= LONG and "?" not in text and STATED.search(text) is not None


def _said(text: Text, people: dict[str, str]) -> Remark:
    return Remark(_named(text.text, people)[:LONGEST], people.get(text.speaker, text.speaker))


def _named(text: str, people: dict[str, str]) -> str:
    """The text with names for its two people."""
    for mark, name in people.items():
        text = text.replace(f"{{{mark}}}", name)
    return text
