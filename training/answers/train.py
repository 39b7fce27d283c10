"""Train the answer model over an embedder that stays as it is.

python -m training.answers.train WEIGHTS TRAINED OUT DATA [DATA …]
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch
import torch.nn.functional as F
from batches import Batch
from corpus import vocabulary_file
from late import stored_pieces
from torch import Tensor
from train import Lessons, Settings, draw_batch, question_batches, read_lessons
from training.answers.export import write
from training.answers.head import AnswerHead
from training.answers.pairs import Lesson, Reader, corpus_lesson, scene_lesson
from training.answers.scenes import Scene, read_scenes, split
from vectors import trained

from fivefold.models.answers import AWAY


@dataclass(frozen=True)
class Course:
    """What a run depends on, apart from data and seed."""

    width: int = 64
    seconds: float = 120.0
    steps: int = 1_000_000
    scenes: int = 16
    questions: int = 96
    corpus: float = 0.5
    rate: float = 1e-3
    decay: float = 0.02
    warm_up: float = 0.05
    listwise: float = 0.3
    never: float = 0.2


def scene_loss(found: Tensor, lesson: Lesson, course: Course) -> Tensor:
    """Each pair by itself; the answering memories among those of the scene; the best where nothing answers."""
    count, width = int(lesson.question.max()) + 1, int(lesson.memory.max()) + 1
    place = (lesson.question, lesson.memory)
    table = torch.full((count, width), float(AWAY), device=found.device).index_put(place, found)
    right = torch.zeros(count, width, dtype=torch.bool, device=found.device).index_put(place, lesson.answers)
    has = right.any(1)
    whole, some = table[has].logsumexp(1), table[has].masked_fill(~right[has], float(AWAY)).logsumexp(1)
    best = F.binary_cross_entropy_with_logits(table.amax(1), has.float(), weight=torch.where(has, 1.0, 2.0))
    return pair_loss(found, lesson) + course.listwise * (whole - some).mean() + course.never * best


def pair_loss(found: Tensor, lesson: Lesson) -> Tensor:
    """Cross entropy, in which a pair that answers counts twice."""
    right = lesson.answers.float()
    return F.binary_cross_entropy_with_logits(found, right, weight=1 + right)


def train(reader: Reader, lessons: Lessons, scenes: Sequence[Scene], course: Course, seed: int = 1) -> AnswerHead:
    """One run for as long as the course says."""
    torch.manual_seed(seed)
    head = AnswerHead(course.width).to(reader.device)
    optimiser = torch.optim.AdamW(head.parameters(), lr=course.rate, weight_decay=course.decay)
    dice, began = random.Random(seed), time.monotonic()
    batches = _batches(lessons, course, torch.Generator(reader.device).manual_seed(seed))
    for step in range(course.steps):
        done = max(step / course.steps, (time.monotonic() - began) / course.seconds)
        if done >= 1:
            break
        for group in optimiser.param_groups:
            group["lr"] = course.rate * min(done / course.warm_up + 0.01, 1 - done)
        lesson = scene_lesson(reader, dice.sample(list(scenes), min(course.scenes, len(scenes))), dice)
        loss = scene_loss(head(lesson.pairs), lesson, course)
        if course.corpus:
            lesson = corpus_lesson(reader, next(batches))
            loss = loss + course.corpus * pair_loss(head(lesson.pairs), lesson)
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(head.parameters(), 1.0)
        optimiser.step()
        if step % 200 == 0:
            print(f"  {step} loss {loss.item():.3f} {time.monotonic() - began:.0f} s", flush=True)
    return head.eval()


def _batches(lessons: Lessons, course: Course, dice: torch.Generator) -> Iterator[Batch]:
    """Batches of the corpus without end."""
    settings = Settings(batch=course.questions)
    while True:
        for _, _, asked in question_batches(lessons.corpus, settings, dice):
            yield draw_batch(lessons, asked, settings, dice)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weights", type=Path, help="model.safetensors of all-MiniLM-L6-v2")
    parser.add_argument("trained", type=Path, help="trained weights of the embedder, from training/embedder/train.py")
    parser.add_argument("output", type=Path, help="where the binary goes")
    parser.add_argument("data", type=Path, nargs="+", help="the corpus, see training/embedder/README.md")
    parser.add_argument("--vocabulary", type=Path, default=vocabulary_file())
    parser.add_argument("--width", type=int, default=Course.width)
    parser.add_argument("--corpus", type=float, default=Course.corpus, help="share of the corpus in the loss")
    parser.add_argument("--seconds", type=float, default=Course.seconds)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=int, default=0, help="use this many questions of the corpus, for a quick try")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    return parser.parse_args()


def main() -> None:
    given = arguments()
    device = torch.device(given.device)
    lessons = read_lessons(given)
    reader = Reader(trained(given.weights, given.trained).to(device), stored_pieces(device), device)
    course = replace(Course(), width=given.width, corpus=given.corpus, seconds=given.seconds)
    use, _ = split(read_scenes())
    write(train(reader, lessons, use, course, given.seed), given.output)
    print(f"written: {given.output} ({given.output.stat().st_size:,} bytes)")


if __name__ == "__main__":
    main()
