"""Trains the cross-encoder: a teacher of six layers, then students of fewer that learn its scores.

One question is read with the memory that answers it and with seven that do not: found by words, by vectors, or in the
same talk. The teacher learns to tell them apart; the students learn its scores, all in one pass.
"""

from __future__ import annotations

import argparse
import copy
import dataclasses
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "embedder"))

import numpy as np
import torch
from batches import Mixture, Scene, draw_before, scene
from corpus import Corpus, read_corpus, vocabulary_file
from lexical import lexical_misses
from losses import distilled, listwise
from mining import near_misses, plain_vectors
from model import Embedder, published
from pairs import masked, told_pairs
from scorer import Scorer, cut, save, scores
from torch import Tensor
from vectors import trained

STUDENTS = {"student-3": ((0, 3, 5), 1536), "student-3-narrow": ((0, 3, 5), 768), "student-2": ((0, 5), 1536)}
"""Layers each student takes from the teacher, and how wide their inner part stays."""


@dataclass(frozen=True)
class Plan:
    """How long a run takes at most."""

    epochs: float
    seconds: float = float("inf")


@dataclass(frozen=True)
class Settings:
    """What the runs depend on, beside data, weights and seed."""

    batch: int = 128
    teacher: Plan = Plan(2.0)
    students: Plan = Plan(1.6)
    teacher_rate: float = 1e-4
    student_rate: float = 2.5e-4
    warm_up: float = 0.05
    decay: float = 0.01
    single: float = 0.2
    match: float = 0.1
    answer: float = 0.2
    masked: float = 0.1
    with_before: float = 0.6
    leave_out: tuple[str, ...] = ("rough", "keywords")
    mixture: Mixture = field(
        default_factory=lambda: Mixture(same_talk=3, mined=4, own=0.25, before=0.5, after=0.5, mistaken=0.3)
    )


def mined_for(embedder: Embedder, corpus: Corpus) -> Tensor:
    """Misleading memories for every question, by vectors and by words."""
    asked, texts = plain_vectors(embedder, corpus)
    by_vectors = near_misses(corpus, asked, texts, 1, 25, 0.95)
    return torch.cat([by_vectors, lexical_misses(corpus, asked, texts, 24, 0.95)], 1)


def order_of(corpus: Corpus, size: int, epochs: float, dice: torch.Generator) -> list[Tensor]:
    """Questions for training in batches, shuffled anew each epoch."""
    usable = (~corpus.held_out).nonzero()[:, 0]
    steps = max(1, int(epochs * len(usable) / size))
    rows = [usable[torch.randperm(len(usable), device=corpus.device, generator=dice)] for _ in range(int(epochs) + 2)]
    return list(torch.cat(rows).split(size))[:steps]


def read_scenes(
    corpus: Corpus, mined: Tensor, settings: Settings, plan: Plan, label: str, dice: torch.Generator
) -> Iterator[tuple[float, Scene, Tensor]]:
    """The share of training behind, the scene, and for which questions the turn before is shown.

    Ends when the epochs are done or the time is up, whichever comes first; the share behind counts the nearer end.
    """
    batches, began = order_of(corpus, settings.batch, plan.epochs, dice), time.monotonic()
    for step, asked in enumerate(batches):
        seconds = time.monotonic() - began
        done = max(step / len(batches), seconds / plan.seconds)
        if done >= 1.0:
            break
        if step % max(1, len(batches) // 12) == 0:
            print(f"  {label} {step}/{len(batches)} {seconds:.0f} s", flush=True)
        shown = draw_before(corpus, asked, settings.with_before, settings.with_before / 2, dice)
        yield done, scene(corpus, asked, mined, settings.mixture, dice), shown


class Pace:
    """An optimiser with warm-up and linear decay for one model, its word table left as it is."""

    def __init__(self, model: Scorer, rate: float, settings: Settings) -> None:
        model.encoder.words.requires_grad_(False)
        self.parameters = [value for value in model.parameters() if value.requires_grad]
        self.optimiser = torch.optim.AdamW(self.parameters, lr=rate, weight_decay=settings.decay)
        self.rate, self.warm_up = rate, settings.warm_up

    def step(self, loss: Tensor, done: float) -> None:
        """One step at `done`, the share of training behind it."""
        for group in self.optimiser.param_groups:
            group["lr"] = self.rate * min((done + 1e-3) / self.warm_up, (1.0 - done) / (1.0 - self.warm_up))
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.parameters, 1.0)
        self.optimiser.step()


def precision(corpus: Corpus) -> torch.autocast:
    return torch.autocast(corpus.device.type, torch.bfloat16, enabled=corpus.docs.is_cuda)


def teach(corpus: Corpus, start: Embedder, mined: Tensor, settings: Settings, seed: int) -> Scorer:
    """The teacher, from the tuned embedder's weights."""
    torch.manual_seed(seed)
    dice = torch.Generator(corpus.device).manual_seed(seed)
    model = Scorer(copy.deepcopy(start.encoder)).to(corpus.device)
    pace, losses = Pace(model, settings.teacher_rate, settings), []
    for done, told, shown in read_scenes(corpus, mined, settings, settings.teacher, "teacher", dice):
        rows = masked(told_pairs(corpus, told, shown), settings.masked, dice)
        with precision(corpus):
            found = scores(model, rows).view_as(told.docs)
            loss = listwise(found, told.valid, settings.single)
        pace.step(loss, done)
        losses.append(loss.detach())
    print(f"teacher: loss {losses[0]:.3f}, in the end {torch.stack(losses[-50:]).mean():.3f}", flush=True)
    return model.eval()


def school(corpus: Corpus, teacher: Scorer, mined: Tensor, settings: Settings, seed: int) -> dict[str, Scorer]:
    """All students at once, so that the teacher reads each pair only once."""
    dice = torch.Generator(corpus.device).manual_seed(seed + 1)
    students = {name: cut(teacher, *shape) for name, shape in STUDENTS.items()}
    paces = {name: Pace(student, settings.student_rate, settings) for name, student in students.items()}
    losses: dict[str, list[Tensor]] = {name: [] for name in students}
    for done, told, shown in read_scenes(corpus, mined, settings, settings.students, "students", dice):
        rows = told_pairs(corpus, told, shown)
        with torch.no_grad(), precision(corpus):
            taught = scores(teacher, rows).view_as(told.docs)
        for name, student in students.items():
            with precision(corpus):
                found = scores(student, rows).view_as(told.docs)
                loss = distilled(found, taught, told.valid, settings.match)
                loss = loss + settings.answer * listwise(found, told.valid, settings.single)
            paces[name].step(loss, done)
            losses[name].append(loss.detach())
    for name, seen in losses.items():
        print(f"{name}: loss {seen[0]:.3f}, in the end {torch.stack(seen[-50:]).mean():.3f}", flush=True)
    return {name: student.eval() for name, student in students.items()}


@torch.no_grad()
def judged(corpus: Corpus, models: dict[str, Scorer], mined: Tensor, settings: Settings) -> dict[str, np.ndarray]:
    """Scores of held-out pairs by every model, and which of them answer, to calibrate by."""
    dice = torch.Generator(corpus.device).manual_seed(11)
    asked = corpus.held_out.nonzero()[:, 0]
    asked = asked[torch.randperm(len(asked), device=corpus.device, generator=dice)[:6000]]
    mix = dataclasses.replace(settings.mixture, mined=12, same_talk=4)
    found: dict[str, list[Tensor]] = {name: [] for name in (*models, "answers", "valid", "source")}
    for part in asked.split(settings.batch):
        shown = draw_before(corpus, part, settings.with_before, settings.with_before / 2, dice)
        told = scene(corpus, part, mined, mix, dice)
        rows = told_pairs(corpus, told, shown)
        for name, model in models.items():
            with precision(corpus):
                found[name].append(scores(model, rows).view_as(told.docs))
        answers = torch.zeros_like(told.valid)
        answers[:, 0] = True
        found["answers"].append(answers)
        found["valid"].append(told.valid)
        found["source"].append(corpus.source[part])
    return {name: torch.cat(values).float().cpu().numpy() for name, values in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="memory-qa.json.xz: texts and questions, see README.md")
    parser.add_argument("weights", type=Path, help="model.safetensors of all-MiniLM-L6-v2")
    parser.add_argument("output", type=Path, help="folder for the weights")
    parser.add_argument("--trained", type=Path, help="trained.safetensors of the embedder, to start and to mine with")
    parser.add_argument("--vocabulary", type=Path, default=vocabulary_file())
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--batch", type=int, default=Settings.batch)
    for name in ("teacher", "students"):
        plan = getattr(Settings, name)
        parser.add_argument(
            f"--{name}", type=float, nargs=2, default=(plan.epochs, plan.seconds), metavar=("EPOCHS", "SECONDS")
        )
    parser.add_argument("--mistaken", type=float, default=0.3, help="share of questions that name the wrong person")
    parser.add_argument("--masked", type=float, default=Settings.masked, help="share of pieces hidden from the teacher")
    parser.add_argument("--limit", type=int, default=0, help="use so many questions only, for a quick try")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    given = parser.parse_args()
    settings = Settings(given.batch, Plan(*given.teacher), Plan(*given.students))
    mixture = dataclasses.replace(settings.mixture, mistaken=given.mistaken)
    settings = dataclasses.replace(settings, masked=given.masked, mixture=mixture)
    corpus = read_corpus([given.data], given.vocabulary, given.device, given.limit, leave_out=settings.leave_out)
    encoder = trained(given.weights, given.trained).encoder if given.trained else published(given.weights)
    start = Embedder(encoder).to(given.device).eval()
    began, mined = time.monotonic(), mined_for(start, corpus)
    each, seconds = float((mined >= 0).sum(1).float().mean()), time.monotonic() - began
    print(f"{len(corpus.questions)} questions, {each:.1f} misleading memories each, {seconds:.0f} s", flush=True)
    given.output.mkdir(parents=True, exist_ok=True)
    (given.output / "settings.json").write_text(json.dumps(dataclasses.asdict(settings), indent=1))
    teacher = teach(corpus, start, mined, settings, given.seed)
    save(teacher, given.output / "teacher.safetensors")
    models = {"teacher": teacher} | school(corpus, teacher, mined, settings, given.seed)
    for name in STUDENTS:
        save(models[name], given.output / f"{name}.safetensors")
    np.savez_compressed(given.output / "judged.npz", **judged(corpus, models, mined, settings))  # type: ignore[arg-type]


if __name__ == "__main__":
    main()
