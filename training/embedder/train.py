"""Trains fivefold-minilm: all-MiniLM-L6-v2 tuned to find what was said by the question asked about it.

Several trials may run in one go; the best on held-out conversations is trained with each seed, and its weights averaged
where that helps. The benchmarks play no part in the choice.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import time
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import torch
import torch.nn.functional as F
from batches import Batch, Mixture, batch, scene
from corpus import Corpus, folder, read_corpus
from heldout import Space, reciprocal_ranks, spaces
from mining import near_misses, plain_vectors
from model import Embedder, Rows, encode, published
from torch import Tensor
from vectors import keep

MINED = (4, 40, 0.95)
"""Ranks between which misleading memories are mined, and the share of the answer's own score they must stay under."""

SHARES = (0.9, 0.75, 0.6)
"""Shares of the tuned weights in mixtures with the published ones, which often carry over better than either."""


@dataclass(frozen=True)
class Settings:
    """What a training run depends on, beside data, weights and seed."""

    epochs: float = 2.0
    batch: int = 1024
    rate: float = 1e-4
    warm_up: float = 0.06
    decay: float = 0.01
    temperature: float = 0.05
    anchor: float = 1.0
    leave_out: tuple[str, ...] = ("rough",)
    mixture: Mixture = field(default_factory=Mixture)


def loss_of(model: Embedder, origin: Embedder, given: Batch, settings: Settings) -> tuple[Tensor, Tensor]:
    """Contrast over all open memories of the batch, and how far the vectors have moved from the original model's."""
    asked, told = encode(model, given.questions), encode(model, given.memories)
    each = len(told) // len(asked)
    with torch.no_grad():
        before = torch.cat([encode(origin, given.questions), encode(origin, Rows(given.memories.ids[::each]))])
    scores = asked.float() @ told.float().T / settings.temperature
    scores = scores.masked_fill(~given.open, -1e4)
    answer = torch.arange(len(asked), device=asked.device) * each
    moved = 1.0 - (torch.cat([asked, told[::each]]).float() * before.float()).sum(1)
    return F.cross_entropy(scores, answer), moved.mean()


def shuffled(corpus: Corpus, settings: Settings, dice: torch.Generator) -> Iterator[Tensor]:
    """Questions for training, epoch after epoch, in batches."""
    wanted = torch.tensor([name not in settings.leave_out for name in corpus.sources], device=corpus.device)
    usable = (~corpus.held_out & wanted[corpus.source]).nonzero()[:, 0]
    steps = max(1, int(settings.epochs * len(usable) / settings.batch))
    order = torch.empty(0, dtype=torch.long, device=corpus.device)
    for _ in range(steps):
        if len(order) < settings.batch:
            order = usable[torch.randperm(len(usable), device=corpus.device, generator=dice)]
        yield order[: settings.batch]
        order = order[settings.batch :]


def train(
    corpus: Corpus, weights: Path, mined: Tensor | None, alike: Tensor, settings: Settings, seed: int
) -> Embedder:
    """One run from the published weights; the word table stays as it is."""
    torch.manual_seed(seed)
    dice = torch.Generator(corpus.device).manual_seed(seed)
    model, origin = (Embedder(published(weights)).to(corpus.device) for _ in range(2))
    model.encoder.words.requires_grad_(False)
    parameters = [value for value in model.parameters() if value.requires_grad]
    optimiser = torch.optim.AdamW(parameters, lr=settings.rate, weight_decay=settings.decay)
    batches = list(shuffled(corpus, settings, dice))
    warm = max(1, int(settings.warm_up * len(batches)))
    pace = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda step: min((step + 1) / warm, (len(batches) - step) / max(1, len(batches) - warm))
    )
    began = time.monotonic()
    for step, asked in enumerate(batches):
        with torch.autocast(corpus.device.type, torch.bfloat16, enabled=corpus.device.type == "cuda"):
            told = scene(corpus, asked, mined, settings.mixture, dice)
            contrast, moved = loss_of(model, origin, batch(corpus, told, alike, settings.mixture), settings)
        optimiser.zero_grad(set_to_none=True)
        (contrast + settings.anchor * moved).backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimiser.step()
        pace.step()
        if step % max(1, len(batches) // 6) == 0 or step == len(batches) - 1:
            seconds = time.monotonic() - began
            print(f"  step {step + 1}/{len(batches)} loss {contrast:.3f} moved {moved:.3f} {seconds:.0f} s", flush=True)
    return model.eval()


def averaged(models: list[Embedder], shares: list[float] | None = None) -> Embedder:
    """A model whose weights are the mean of theirs, each by its share."""
    shares = shares or [1.0 / len(models)] * len(models)
    states = [model.state_dict() for model in models]
    mean = {
        name: torch.stack([share * state[name].float() for share, state in zip(shares, states, strict=True)]).sum(0)
        for name in states[0]
    }
    model = Embedder(type(models[0].encoder)(len(models[0].encoder.layers))).to(next(models[0].parameters()).device)
    model.load_state_dict(mean)
    return model.eval()


def shown(label: str, found: dict[str, float]) -> None:
    print(f"{label:28s} " + "  ".join(f"{name} {value:.4f}" for name, value in found.items()), flush=True)


def changed(base: Settings, table: dict[str, object]) -> Settings:
    """Settings with those of a trial's table put in; the mixture's own may be named just the same."""
    names = {item.name for item in dataclasses.fields(Mixture)}
    mixture = dataclasses.replace(base.mixture, **{k: v for k, v in table.items() if k in names})  # type: ignore[arg-type]
    return dataclasses.replace(base, mixture=mixture, **{k: v for k, v in table.items() if k not in names})  # type: ignore[arg-type]


def chosen(
    corpus: Corpus, weights: Path, trials: dict[str, Settings], seeds: list[int], tests: list[Space], minutes: float
) -> tuple[str, dict[str, Embedder], dict[str, dict[str, float]]]:
    """Every trial with the first seed, then the best with each seed, alone and averaged; the best of all is kept.

    After `minutes` no further run is begun.
    """
    until = time.monotonic() + 60 * minutes
    origin = Embedder(published(weights)).to(corpus.device).eval()
    results = {"published": reciprocal_ranks(origin, tests)}
    shown("published", results["published"])
    alike, texts = plain_vectors(origin, corpus)
    mined = near_misses(corpus, alike, texts, *MINED)
    models: dict[str, Embedder] = {}
    for name, settings in trials.items():
        if models and time.monotonic() > until:
            break
        models[name] = train(corpus, weights, mined, alike, settings, seeds[0])
        results[name] = reciprocal_ranks(models[name], tests)
        shown(name, results[name])
    best = max(models, key=lambda name: results[name]["mean"])
    runs = [models[best]]
    for seed in seeds[1:]:
        if time.monotonic() < until:
            runs.append(train(corpus, weights, mined, alike, trials[best], seed))
            models[f"{best}, seed {seed}"] = runs[-1]
    for label, some in (("seeds", runs), ("all", list(models.values()))):
        mean = averaged(some)
        models[f"mean of {label}"] = mean
        models |= {f"mean of {label}, {share:.0%}": averaged([mean, origin], [share, 1 - share]) for share in SHARES}
    for name in [name for name in models if name not in results]:
        results[name] = reciprocal_ranks(models[name], tests)
        shown(name, results[name])
    best = max(models, key=lambda name: results[name]["mean"])
    return best, models, results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="memory-qa.json.xz: texts and questions, see README.md")
    parser.add_argument("weights", type=Path, help="model.safetensors of all-MiniLM-L6-v2")
    parser.add_argument("output", type=Path, help="folder for the tuned weights and the results")
    parser.add_argument(
        "--vocabulary", type=Path, default=folder().parents[1] / "src/fivefold/models/data/bert-uncased-vocab.txt"
    )
    parser.add_argument("--trials", type=Path, help="TOML file, a table of changed settings for each trial")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--keep-all", action="store_true", help="save every model, not the chosen alone")
    parser.add_argument("--minutes", type=float, default=600.0, help="begin no further run after so long")
    parser.add_argument("--limit", type=int, default=0, help="use so many questions only, for a quick try")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    given = parser.parse_args()
    corpus = read_corpus(given.data, given.vocabulary, given.device, given.limit)
    tests = spaces(corpus)
    print(
        f"{len(corpus.docs)} texts, {len(corpus.questions)} questions, {int(corpus.held_out.sum())} held out",
        flush=True,
    )
    tables = tomllib.loads(given.trials.read_text()) if given.trials else {"default": {}}
    trials = {name: changed(Settings(), table) for name, table in tables.items()}
    name, models, results = chosen(corpus, given.weights, trials, given.seeds, tests, given.minutes)
    given.output.mkdir(parents=True, exist_ok=True)
    keep(models[name], given.output / "tuned.safetensors")
    if given.keep_all:
        for other, model in models.items():
            keep(model, given.output / f"{other.replace(' ', '-').replace(',', '')}.safetensors")
    report = {
        "chosen": name,
        "results": results,
        "trials": {key: dataclasses.asdict(value) for key, value in trials.items()},
    }
    (given.output / "results.json").write_text(json.dumps(report, indent=1))
    print(f"kept: {name}")


if __name__ == "__main__":
    main()
