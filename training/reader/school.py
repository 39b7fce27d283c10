"""What a training run works with, and how its models are tested."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from training.reader.figures import answer_figures, asked_pairs, relation_figures
from training.reader.learn import Rows, logits_of, rows_of
from training.reader.pairs import Pair, read_pairs
from training.reader.scenes import Scene, read_scenes, split

from fivefold.models.bert import WordPieces


@dataclass(frozen=True)
class School:
    """The data, the device, how much of everything is used, and how long each model may learn."""

    train: list[Pair]
    unseen: dict[str, list[Pair]]
    scenes: list[Scene]
    kept: list[Scene]
    device: str
    size: float
    seconds: float
    began: float = field(default_factory=time.monotonic)

    @classmethod
    def open(cls, device: str, size: float, seconds: float) -> School:
        """All pairs and scenes, or about a share `size` of those to train on."""
        train, (scenes, kept) = read_pairs("train"), split(read_scenes())
        train, scenes = train[:: max(1, round(1 / size))], scenes[:: max(1, round(1 / size))]
        return cls(
            train, {part: read_pairs(part) for part in ("choose", "report")}, scenes, kept, device, size, seconds
        )

    def some(self, count: int) -> int:
        """As many of `count` as the run uses."""
        return max(1, int(count * self.size))

    def say(self, what: str) -> None:
        print(f"[{time.monotonic() - self.began:.0f} s] {what}", flush=True)

    def test(self, name: str, models: Sequence[nn.Module], pieces: WordPieces) -> None:
        """Print what models together make of families and scenes that they have not seen."""
        for part, pairs in self.unseen.items():
            found = mean_logits(models, rows_of([pair.said for pair in pairs], pieces, self.device))
            self.say(f"{name} {part}: {relation_figures(found[:, :3].cpu().numpy(), pairs)}")
        found = mean_logits(models, rows_of(asked_pairs(self.kept), pieces, self.device))
        self.say(f"{name} scenes: {answer_figures(found[:, 3].cpu().numpy(), self.kept)}")


def mean_logits(models: Sequence[nn.Module], rows: Rows) -> Tensor:
    return torch.stack([logits_of(model, rows) for model in models]).mean(0)
