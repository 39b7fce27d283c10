"""Trains the reader: two large teachers learn relations and answers, and a small student learns from them.

    python -m training.reader.train MPNET MINILM OUT [DATA …]

MPNET is the folder of all-mpnet-base-v2, MINILM the weights of MiniLM under their published names. DATA are files such
as `memory-qa.json.xz` of the embedder, with questions and talk; without them there are pairs, scenes and lives.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from model import Encoder, published
from torch import Tensor
from training.reader.learn import Course, goals_of, learn, rows_of
from training.reader.lessons import Lesson, relation_lessons, scene_lessons, scene_pairs
from training.reader.like import like_lessons, near_lessons
from training.reader.outside import Question, Text, outside_lessons, read_data, talk
from training.reader.pair_reader import PairReader, cut, save, student_words
from training.reader.school import School, mean_logits
from training.reader.teacher import Teacher, load_teacher

from fivefold.models.bert import WordPieces, word_pieces
from fivefold.models.reader import Remark

LAYERS, INNER = (0, 1, 3, 5), 1536
"""The layers of MiniLM that the student takes, and how wide their inner part stays."""

TEACHERS = 2
TIMES, OUTSIDE = 2, 40_000
"""How often each question of a scene is asked, and how many lessons come from DATA at most."""

PAIRS, BY_HAND = 64_000, 0.6
"""Pairs that the teachers learn, and the share drawn from those written by hand."""

MORE_PAIRS, MORE_BY_HAND = 100_000, 0.5
"""The same of further pairs, for the student."""

LIKE, LIKE_IN_TALK = 12, 2
"""With how many like texts the teachers judge each text of a pair and of talk."""

NEAR, NEAR_IN_TALK = 10, 3
"""With how many memories of the scenes, and texts of talk, the teachers judge each question."""


@dataclass(frozen=True)
class Outside:
    """What DATA has."""

    texts: list[Text]
    questions: list[Question]


def answer_lessons(school: School, outside: Outside) -> list[Lesson]:
    """The questions of the scenes, each time worded a little differently, and those of DATA."""
    dice = random.Random(4)
    found = [lesson for _ in range(TIMES) for lesson in scene_lessons(school.scenes, dice)]
    return found + outside_lessons(outside.texts, outside.questions, school.some(OUTSIDE), dice)


def teach(school: School, answers: Sequence[Lesson], folder: Path) -> list[Teacher]:
    """The teachers, each with its own seed."""
    whole = word_pieces()
    lessons = [*relation_lessons(school.train, school.some(PAIRS), BY_HAND, 1), *answers]
    rows, goals = rows_of([lesson.said for lesson in lessons], whole, school.device), goals_of(lessons, school.device)
    course = Course(4e-5, max(1, len(lessons) // 96), 96, school.seconds, masked=0.08)
    teachers = []
    for seed in range(TEACHERS):
        teacher = load_teacher(folder, seed).to(school.device)
        learn(teacher, rows, goals, course, f"teacher {seed}")
        school.test(f"teacher {seed}", [teacher], whole)
        teachers.append(teacher)
    school.test("teachers", teachers, whole)
    return teachers


def pool(school: School, answers: Sequence[Lesson], outside: Outside, base: Encoder) -> list[Lesson]:
    """What the teachers judge for the student: lessons of all kinds, like texts, and questions with what is near."""
    dice = random.Random(5)
    by_hand = [said for pair in school.train for said in (pair.said.older, pair.said.newer)]
    heard: list[Remark] = talk(outside.texts, dice)
    heard = heard[: school.some(len(heard))]
    questions = [asked.text for scene in school.scenes for asked in scene.questions]
    memories = [memory for scene in school.scenes for memory in scene.memories]
    return [
        *relation_lessons(school.train, school.some(MORE_PAIRS), MORE_BY_HAND, 3),
        *like_lessons(by_hand, base, LIKE, dice),
        *like_lessons(heard, base, LIKE_IN_TALK, dice),
        *answers,
        *scene_pairs(school.scenes),
        *near_lessons(questions, memories, base, NEAR),
        *near_lessons(questions, heard, base, NEAR_IN_TALK),
    ]


def study(school: School, base: Encoder, words: Sequence[str], lessons: Sequence[Lesson], taught: Tensor) -> PairReader:
    """The student learns the mean of the teachers' chances."""
    few, whole = WordPieces({word: at for at, word in enumerate(words)}), word_pieces().vocabulary
    rows = rows_of([lesson.said for lesson in lessons], few, school.device)
    torch.manual_seed(7)
    student = cut(base.cpu(), [whole[word] for word in words], LAYERS, INNER).to(school.device)
    course = Course(3e-4, max(1, 12 * len(lessons) // 256), 256, school.seconds)
    learn(student, rows, goals_of(lessons, school.device, taught), course, "student")
    school.test("student", [student], few)
    return student


def run(school: School, folder: Path, minilm: Encoder, outside: Outside) -> PairReader:
    answers = answer_lessons(school, outside)
    school.say(f"{len(school.train)} pairs, {len(school.scenes)} scenes, {len(answers)} lessons with a question")
    teachers = teach(school, answers, folder)
    base = minilm.to(school.device).eval()
    lessons = pool(school, answers, outside, base)
    rows = rows_of([lesson.said for lesson in lessons], word_pieces(), school.device)
    taught = mean_logits(teachers, rows)
    school.say(f"{len(lessons)} lessons judged by the teachers")
    return study(school, base, student_words(), lessons, taught)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("mpnet", "minilm", "output"):
        parser.add_argument(name, type=Path)
    parser.add_argument("data", type=Path, nargs="*")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--size", type=float, default=1.0, help="share of the data that is used, for a trial")
    parser.add_argument("--seconds", type=float, default=1e9, help="how long each model may learn")
    given = parser.parse_args()
    school = School.open(given.device, given.size, given.seconds)
    student = run(school, given.mpnet, published(given.minilm), Outside(*read_data(given.data)))
    given.output.mkdir(parents=True, exist_ok=True)
    save(student, given.output / "reader.safetensors")


if __name__ == "__main__":
    main()
