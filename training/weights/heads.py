"""The heads of the weight network in PyTorch: the decay of a question and the weights of each result (D12)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from training.weights.lists import Lists
from training.weights.network import WeightNetwork

from fivefold.models.shipped import Contents, pack
from fivefold.models.weights import CANDIDATE_INPUTS, CURVES, HEAD_WIDTH, MAX_LOG_LIFE, TIME_INPUTS, WIDTHS

SHARE = 0.02
"""What the lists count next to the loss of the weights."""

BATCH = 64

STEEPNESS = 20.0
"""How much a difference of scores says about what is wanted."""


class Heads(nn.Module):
    """Read the 32 hidden numbers of the weight network. Parameters are named as in the shipped file."""

    def __init__(self) -> None:
        super().__init__()
        self.decay = nn.ModuleDict(
            {"1": nn.Linear(WIDTHS[2] + TIME_INPUTS, HEAD_WIDTH), "2": nn.Linear(HEAD_WIDTH, len(CURVES) + 1)}
        )
        self.token = nn.Linear(WIDTHS[2] + CANDIDATE_INPUTS, HEAD_WIDTH)
        self.query, self.key, self.value = (nn.Linear(HEAD_WIDTH, HEAD_WIDTH, bias=False) for _ in range(3))
        self.descriptors = nn.Parameter(torch.zeros(3, HEAD_WIDTH))

    def curves(self, hidden: Tensor, times: Tensor) -> tuple[Tensor, Tensor]:
        """The chance of each curve, and the logarithm of the half-life in the question's unit."""
        raw = self.decay["2"](torch.relu(self.decay["1"](torch.cat([hidden, times], dim=1))))
        return torch.softmax(raw[:, : len(CURVES)], dim=1), raw[:, -1].clamp(-MAX_LOG_LIFE, MAX_LOG_LIFE)

    def weights(self, hidden: Tensor, weights: Tensor, signals: Tensor, mask: Tensor) -> Tensor:
        """The weights of each candidate: attention over the candidates, then over the signals' descriptors."""
        shown = mask.unsqueeze(2)
        mean = (signals * shown).sum(1, keepdim=True) / shown.sum(1, keepdim=True)
        state = hidden.unsqueeze(1).expand(-1, signals.shape[1], -1)
        tokens = torch.relu(self.token(torch.cat([state, signals, signals - mean], dim=2)))
        looks = self.query(tokens) @ self.key(tokens).transpose(1, 2) / HEAD_WIDTH**0.5
        looks = looks.masked_fill(mask.unsqueeze(1) == 0, -1e9)
        tokens = tokens + torch.softmax(looks, dim=2) @ self.value(tokens)
        logits = tokens @ self.descriptors.T / HEAD_WIDTH**0.5 + torch.log(weights.clamp_min(1e-9)).unsqueeze(1)
        return torch.softmax(logits, dim=2)


def newness(ages: Tensor, mask: Tensor) -> Tensor:
    """From 0 for the oldest candidate to 1 for the newest (D2)."""
    oldest = ages.masked_fill(mask == 0, -1e9).amax(1, keepdim=True)
    newest = ages.masked_fill(mask == 0, 1e9).amin(1, keepdim=True)
    span = oldest - newest
    return torch.where(span > 0, (oldest - ages) / span.clamp_min(1e-6), torch.ones_like(ages))


def faded(ages: Tensor, mask: Tensor, chances: Tensor, log_lives: Tensor, units: Tensor) -> Tensor:
    """Recency by all curves at once, each by its chance; in use the likeliest alone counts."""
    lives = ages / (units * torch.exp(log_lives)).clamp_min(1 / 24).unsqueeze(1)
    curves = [newness(ages, mask), torch.exp2(-lives), torch.exp2(-(lives.clamp_max(30) ** 2)), torch.ones_like(ages)]
    return (torch.stack(curves, dim=2) * chances.unsqueeze(1)).sum(2)


def listwise(scores: Tensor, mask: Tensor, wanted: Tensor) -> Tensor:
    """How surprising it is that the wanted memories are wanted, where odds grow with the score (Plackett–Luce)."""
    logs = torch.log_softmax((STEEPNESS * scores).masked_fill(mask == 0, -1e9), dim=1)
    return -(wanted * logs.clamp_min(-50)).sum(1).mean()


class HeadLessons(nn.Module):
    """The heads and the lists they learn from; each step of the weight network takes a batch of lists along."""

    def __init__(self, lists: Lists) -> None:
        super().__init__()
        self.heads = Heads()
        self.given = [torch.from_numpy(part) for part in lists.arrays()]

    def loss(self, network: WeightNetwork) -> Tensor:
        """Of the order by the predicted decay, and of the order by each result's weights."""
        rows = torch.randint(len(self.given[0]), (BATCH,))
        vectors, features, times, units, signals, mask, wanted = (part[rows] for part in self.given)
        hidden = network.hidden(vectors, features)
        weights = network.read(hidden).detach()  # what they should be is known; the lists do not move them
        recency = faded(signals[:, :, 1], mask, *self.heads.curves(hidden, times), units)
        by_decay = (_with_recency(signals, recency) * weights.unsqueeze(1)).sum(2)
        plain = _with_recency(signals, newness(signals[:, :, 1], mask))
        by_result = (plain * self.heads.weights(hidden, weights, plain, mask)).sum(2)
        return SHARE * (listwise(by_decay, mask, wanted) + listwise(by_result, mask, wanted))


def _with_recency(signals: Tensor, recency: Tensor) -> Tensor:
    return torch.stack([signals[:, :, 0], recency, signals[:, :, 2]], dim=2)


def save_heads(heads: Heads, name: str, network: str, path: Path) -> Path:
    """The heads in the format that plain NumPy reads; the pin names the weight network they belong to."""
    tensors = {key: np.asarray(value.detach().numpy(), np.float32) for key, value in heads.named_parameters()}
    path.write_bytes(pack(Contents(name, network, 0, tensors)))
    return path
