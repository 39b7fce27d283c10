"""Trains fivefold-minilm: all-MiniLM-L6-v2 with a vector for a text and a small one for each token.

Several trials may run in one go; the best on sources and conversations that training never sees is kept. The
benchmarks play no part in that.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import time
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

import torch
from batches import Batch, Mixture, batch, draw_before, scene
from corpus import Corpus, read_corpus, vocabulary_file
from heldout import reciprocal_ranks, spaces
from late import StoredPieces, stored_pieces
from mining import near_misses, plain_vectors
from model import Embedder, TokenEmbedder, published
from objective import Losses, Matching, Models, SceneLosses, Shares, Temperatures, Trust, losses, scene_losses
from people import Drawer, SceneSpace, read_scenes
from teachers import Teachers, general_model
from torch import Tensor
from vectors import save

MINED = (4, 40, 0.95)
"""Ranks between which misleading memories are mined, and the share of the answer's own score they must stay under."""


@dataclass(frozen=True)
class Settings:
    """What a run depends on, apart from data, weights and seed."""

    dimension: int = 64
    epochs: float = 3.2
    batch: int = 256
    rate: float = 1e-4
    warm_up: float = 0.06
    decay: float = 0.01
    before: float = 0.75
    before_echo: float = 0.3
    own_only: float = 0.35
    coarse_from: float = 0.4
    leave_out: tuple[str, ...] = ("rough",)
    scenes: int = 12
    """Scenes of people's lives that each step reads besides the questions."""
    taught: tuple[float, ...] = (0.12, 0.3, 0.2)
    """How much a unit of each teacher's cosine counts."""
    mixture: Mixture = field(default_factory=lambda: Mixture(mined=2, mistaken=0.05))
    temperatures: Temperatures = field(default_factory=Temperatures)
    trust: Trust = field(default_factory=Trust)
    shares: Shares = field(default_factory=Shares)


@dataclass(frozen=True)
class Lessons:
    """The data of a run: the corpus, memories that mislead, vectors of questions, stored pieces, and scenes."""

    corpus: Corpus
    mined: Tensor | None
    alike: Tensor
    pieces: StoredPieces
    scenes: Drawer | None = None


def question_batches(corpus: Corpus, settings: Settings, dice: torch.Generator) -> Iterator[tuple[int, int, Tensor]]:
    """The number of the step, of all steps, and the questions of this one; every epoch in another order."""
    wanted = torch.tensor([name not in settings.leave_out for name in corpus.sources], device=corpus.device)
    usable = (~corpus.held_out & wanted[corpus.source]).nonzero()[:, 0]
    steps = max(1, int(settings.epochs * len(usable) / settings.batch))
    order = torch.empty(0, dtype=torch.long, device=corpus.device)
    for step in range(steps):
        if len(order) < settings.batch:
            order = usable[torch.randperm(len(usable), device=corpus.device, generator=dice)]
        yield step, steps, order[: settings.batch]
        order = order[settings.batch :]


def draw_batch(lessons: Lessons, asked: Tensor, settings: Settings, dice: torch.Generator) -> Batch:
    """The questions with their memories, in fresh names and dates."""
    drawn = scene(lessons.corpus, asked, lessons.mined, settings.mixture, dice)
    shown = draw_before(lessons.corpus, asked, settings.before, settings.before_echo, dice)
    return batch(lessons.corpus, drawn, lessons.alike, settings.mixture, shown)


def pace(done: float, warm_up: float) -> float:
    """The share of the rate: up during the warm-up, then down to nothing."""
    return min(done / warm_up, max(0.0, 1.0 - done) / (1.0 - warm_up))


def train(lessons: Lessons, models: Models, settings: Settings, seed: int, seconds: float = 1e9) -> TokenEmbedder:
    """One run over all steps, or as many as fit into the seconds; the word table stays as it is."""
    corpus, model = lessons.corpus, models.pupil
    dice = torch.Generator(corpus.device).manual_seed(seed)
    model.encoder.words.requires_grad_(False)
    parameters = [value for value in model.parameters() if value.requires_grad]
    optimiser = torch.optim.AdamW(parameters, lr=settings.rate, weight_decay=settings.decay)
    began = time.monotonic()
    for step, steps, asked in question_batches(corpus, settings, dice):
        given = draw_batch(lessons, asked, settings, dice)
        done = max(step / steps, (time.monotonic() - began) / seconds)
        if done >= 1:
            break
        own_only = bool(torch.rand((), device=corpus.device, generator=dice) < settings.own_only)
        matching = Matching(lessons.pieces, own_only, done > settings.coarse_from)
        for group in optimiser.param_groups:
            group["lr"] = settings.rate * pace(done + 1 / steps, settings.warm_up)
        optimiser.zero_grad(set_to_none=True)
        with torch.autocast(corpus.device.type, torch.bfloat16, enabled=corpus.docs.is_cuda):
            parts = losses(models, given, matching, settings.temperatures, settings.trust)
        parts.total(settings.shares).backward()
        lived = None
        if lessons.scenes is not None and settings.scenes:
            with torch.autocast(corpus.device.type, torch.bfloat16, enabled=corpus.docs.is_cuda):
                lived = scene_losses(models, lessons.scenes.batch(settings.scenes), matching, settings.temperatures)
            lived.total(settings.shares).backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimiser.step()
        if step % 100 == 0:
            shown = described(parts) + (f"  {described(lived)}" if lived else "")
            print(f"  {step}/{steps} {shown} {time.monotonic() - began:.0f} s", flush=True)
    return model.eval()


def described(parts: Losses | SceneLosses) -> str:
    return "  ".join(
        f"{part.name} {float(getattr(parts, part.name).detach()):.3f}" for part in dataclasses.fields(parts)
    )


def changed(base: Settings, table: dict[str, Any]) -> Settings:
    """Settings with a trial's changes; a table inside changes the part of that name."""
    changes = {
        name: dataclasses.replace(getattr(base, name), **value) if isinstance(value, dict) else value
        for name, value in table.items()
    }
    return dataclasses.replace(base, **changes)


def start(weights: Path, teachers: Sequence[Path], settings: Settings, seed: int, device: str) -> Models:
    """A pupil with the published weights and fresh heads, and the models that stay as they are."""
    torch.manual_seed(seed)
    pupil = TokenEmbedder(published(weights), settings.dimension).to(device)
    taught = Teachers([general_model(path) for path in teachers], settings.taught[: len(teachers)])
    return Models(pupil, Embedder(published(weights)).to(device).eval(), taught.to(device).eval())


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weights", type=Path, help="model.safetensors of all-MiniLM-L6-v2")
    parser.add_argument("output", type=Path, help="folder for the trained weights and the results")
    parser.add_argument("data", type=Path, nargs="+", help="files of texts and questions, see README.md")
    parser.add_argument(
        "--teachers",
        type=Path,
        nargs="+",
        required=True,
        help="the folder of all-mpnet-base-v2, and weights of e5-small and gte-small from e5_weights.py",
    )
    parser.add_argument("--vocabulary", type=Path, default=vocabulary_file())
    parser.add_argument("--trials", type=Path, help="TOML file, a table of changed settings for each trial")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=int, default=0, help="use this many questions only, for a quick try")
    parser.add_argument("--seconds", type=float, default=1e9, help="how long each trial may learn")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    return parser.parse_args()


def read_lessons(given: argparse.Namespace) -> Lessons:
    """The data on the device, with misleading memories by the published model's vectors."""
    corpus = read_corpus(given.data, given.vocabulary, given.device, given.limit)
    alike, texts = plain_vectors(Embedder(published(given.weights)).to(given.device).eval(), corpus)
    scenes = Drawer(read_scenes()[0], given.device, given.seed)
    found = Lessons(corpus, near_misses(corpus, alike, texts, *MINED), alike, stored_pieces(corpus.device), scenes)
    counts = len(corpus.docs), len(corpus.questions), int(corpus.held_out.sum())
    print("{} texts, {} questions, {} kept from training".format(*counts), flush=True)
    return found


def main() -> None:
    given = arguments()
    lessons = read_lessons(given)
    tests, lives = spaces(lessons.corpus), SceneSpace(read_scenes()[1], given.device)
    tables = tomllib.loads(given.trials.read_text()) if given.trials else {"shipped": {}}
    given.output.mkdir(parents=True, exist_ok=True)
    report: dict[str, object] = {}
    best = 0.0
    for name, table in tables.items():
        settings = changed(Settings(), table)
        models = start(given.weights, given.teachers, settings, given.seed, given.device)
        model = train(lessons, models, settings, given.seed, given.seconds)
        save(model, given.output / f"{name}.safetensors")
        ranks = reciprocal_ranks(model, tests, lessons.pieces)
        means = {measure: kinds["mean"] for measure, kinds in ranks.items()}
        means["scenes"] = lives.hits(model)
        print(f"{name}: " + "  ".join(f"{measure} {value:.4f}" for measure, value in means.items()), flush=True)
        report[name] = {"settings": dataclasses.asdict(settings), "reciprocal ranks": ranks}
        (given.output / "results.json").write_text(json.dumps(report, indent=1))
        if fmean(means.values()) > best:
            best = fmean(means.values())
            save(model, given.output / "trained.safetensors")


if __name__ == "__main__":
    main()
