"""The weight network in PyTorch (D3), its loss and its training loop (D6)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from fivefold.models.weights.features import FEATURE_COUNT

Array = npt.NDArray[np.float32]

EPOCHS = 25
BATCH = 128
RATE = 1e-3
DECAY = 0.01
ENTROPY_WEIGHT = 0.1
ENTROPY_FLOOR = 0.5
NOISE = 0.5
"""Length of the random vector added to each unit vector in training, so that a wording is not learned by heart."""

HIDDEN = 0.2
"""Share of the rows whose cue words are hidden in training. The words were chosen by looking at the training families,
where they are nearly always there; in other wordings a quarter has none, and the vector alone must do."""


class Layer(nn.Module):
    """Linear, LayerNorm, ReLU."""

    def __init__(self, taken: int, width: int) -> None:
        super().__init__()
        self.linear = nn.Linear(taken, width)
        self.norm = nn.LayerNorm(width)

    def forward(self, given: Tensor) -> Tensor:
        return torch.relu(self.norm(self.linear(given)))


class Last(nn.Module):
    """Linear alone; the softmax follows where probabilities are wanted."""

    def __init__(self, taken: int, width: int) -> None:
        super().__init__()
        self.linear = nn.Linear(taken, width)

    def forward(self, given: Tensor) -> Tensor:
        logits: Tensor = self.linear(given)
        return logits


class WeightNetwork(nn.Module):
    """Embedding → 256 → 64, joined by six features → 32 → 3. Layers are named 1 to 4, as in the shipped file."""

    def __init__(self, dimension: int) -> None:
        super().__init__()
        self.add_module("1", Layer(dimension, 256))
        self.add_module("2", Layer(256, 64))
        self.add_module("3", Layer(64 + FEATURE_COUNT, 32))
        self.add_module("4", Last(32, 3))

    def forward(self, vectors: Tensor, features: Tensor) -> Tensor:
        return self.read(self.hidden(vectors, features))

    def hidden(self, vectors: Tensor, features: Tensor) -> Tensor:
        """The 32 numbers that the last layer reads, and the heads of the decay and of each result's weights."""
        one, two, three, _ = self.children()
        hidden: Tensor = three(torch.cat([two(one(vectors)), features], dim=1))
        return hidden

    def read(self, hidden: Tensor) -> Tensor:
        """The weights that the hidden numbers say."""
        *_, four = self.children()
        return torch.softmax(four(hidden), dim=1)


class Lessons(Protocol):
    """What else is learned in the same run: its own parameters, and a loss that each step adds."""

    def parameters(self) -> Iterator[nn.Parameter]: ...

    def loss(self, network: WeightNetwork) -> Tensor: ...


@dataclass(frozen=True, slots=True)
class Examples:
    """Rows as the network takes them: unit vectors, features, and the weights wanted."""

    vectors: Array
    features: Array
    targets: Array

    def __getitem__(self, rows: npt.NDArray[np.int64]) -> Examples:
        return Examples(self.vectors[rows], self.features[rows], self.targets[rows])


def loss_of(predicted: Tensor, wanted: Tensor) -> Tensor:
    """KL(w*‖w) + 0.1·max(0, 0.5 − H(w)): match the weights, and never put all of it on one signal (D6)."""
    logs = torch.log(predicted.clamp_min(1e-9))
    divergence = (wanted * (torch.log(wanted) - logs)).sum(dim=1)
    entropy = -(predicted * logs).sum(dim=1)
    return (divergence + ENTROPY_WEIGHT * torch.relu(ENTROPY_FLOOR - entropy)).mean()


def blurred(vectors: Tensor) -> Tensor:
    """The vectors, each moved a little and back to unit length."""
    moved = vectors + NOISE / vectors.shape[1] ** 0.5 * torch.randn_like(vectors)
    return nn.functional.normalize(moved, dim=1)


def hidden_cues(features: Tensor) -> Tensor:
    """The features, without words of time and repetition in some rows."""
    shown = (torch.rand(len(features), 1) >= HIDDEN).float()
    return torch.cat([features[:, :1], features[:, 1:5] * shown, features[:, 5:]], dim=1)


def trained(
    examples: Examples,
    seed: int,
    epochs: int = EPOCHS,
    done: Callable[[int, float], None] = lambda epoch, loss: None,
    further: Lessons | None = None,
) -> WeightNetwork:
    """A network trained from scratch; the same seed gives the same network on the same machine."""
    torch.manual_seed(seed)
    network = WeightNetwork(examples.vectors.shape[1])
    learned = [*network.parameters(), *(further.parameters() if further else ())]
    optimizer = torch.optim.AdamW(learned, lr=RATE, weight_decay=DECAY)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=epochs)
    given = [torch.from_numpy(part) for part in (examples.vectors, examples.features, examples.targets)]
    for epoch in range(1, epochs + 1):
        total = 0.0
        order = torch.randperm(len(given[0]))
        for start in range(0, len(order), BATCH):
            rows = order[start : start + BATCH]
            vectors, features, targets = (part[rows] for part in given)
            loss = loss_of(network(blurred(vectors), hidden_cues(features)), targets)
            optimizer.zero_grad()
            (loss if further is None else loss + further.loss(network)).backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            total += float(loss.detach()) * len(rows)
        schedule.step()
        done(epoch, total / len(given[0]))
    return network.eval()


def predicted(network: WeightNetwork, examples: Examples) -> Array:
    """The network's weights for each row."""
    with torch.no_grad():
        out: Tensor = network(torch.from_numpy(examples.vectors), torch.from_numpy(examples.features))
    return np.asarray(out.numpy(), dtype=np.float32)
