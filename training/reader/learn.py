"""One model learns both tasks at once: token rows on the device, batches of like length, a rate that falls."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from training.reader.lessons import UNKNOWN, Lesson

from fivefold.models.bert import WordPieces
from fivefold.models.reader import SaidPair, token_rows

MASK = 103
"""BERT's word piece that stands for a hidden one."""

ANSWERS = 1.5
"""How much a question counts against a relation."""

RIGHT = 2.0
"""How much an answer counts against a memory that is none, where no teacher judges."""

OWN = 0.15
"""How much the labels count, next to a teacher."""

SMOOTH = 0.05
SURE = 0.96
"""How far labels are softened: of relations, and of answers from .02 to .98."""

WARM_UP = 0.08


class Rows(NamedTuple):
    """Padded token rows; 0 is padding. `newer` says where the second text begins."""

    ids: Tensor
    newer: Tensor
    lengths: Tensor

    def batch(self, chosen: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Ids, mask and parts of some rows, as wide as the longest of them."""
        longest = int(self.lengths[chosen].max())
        ids, at = self.ids[chosen, :longest].long(), torch.arange(longest, device=self.ids.device)[None]
        mask = (at < self.lengths[chosen, None]).long()
        return ids, mask, (at >= self.newer[chosen, None]).long() * mask


class Goals(NamedTuple):
    """What is known of each row, and the logits of a teacher where there is one."""

    asks: Tensor
    label: Tensor
    taught: Tensor | None = None

    def batch(self, chosen: Tensor) -> Goals:
        taught = None if self.taught is None else self.taught[chosen]
        return Goals(self.asks[chosen], self.label[chosen], taught)


@dataclass(frozen=True)
class Course:
    """How a model learns."""

    rate: float
    steps: int
    batch: int
    seconds: float
    masked: float = 0.0
    """The share of word pieces that is hidden, so that no single one decides."""


def rows_of(said: Sequence[SaidPair], pieces: WordPieces, device: str) -> Rows:
    rows = [row for start in range(0, len(said), 20_000) for row in token_rows(pieces, said[start : start + 20_000])]
    lengths = torch.tensor([len(row) for row, _ in rows])
    ids = torch.zeros(len(rows), int(lengths.max()), dtype=torch.int32)
    for at, (row, _) in enumerate(rows):
        ids[at, : len(row)] = torch.tensor(row, dtype=torch.int32)
    newer = torch.tensor([start for _, start in rows])
    return Rows(ids.to(device), newer.to(device), lengths.to(device))


def goals_of(lessons: Sequence[Lesson], device: str, taught: Tensor | None = None) -> Goals:
    asks = torch.tensor([lesson.asks for lesson in lessons], device=device)
    return Goals(asks, torch.tensor([lesson.label for lesson in lessons], device=device), taught)


def learn(model: nn.Module, rows: Rows, goals: Goals, course: Course, name: str) -> None:
    """Train in place; the rate follows the steps or the seconds, whichever are further."""
    parameters = list(model.parameters())
    optimiser = torch.optim.AdamW(parameters, lr=course.rate, weight_decay=0.01)
    began, losses = time.monotonic(), list[Tensor]()
    model.train()
    for step, chosen in enumerate(_order(rows, course)):
        done = max(step / course.steps, (time.monotonic() - began) / course.seconds)
        if done >= 1:
            break
        for group in optimiser.param_groups:
            group["lr"] = course.rate * min((done + 1e-3) / WARM_UP, (1 - done) / (1 - WARM_UP))
        loss = loss_of(_logits(model, hide(rows.batch(chosen), course.masked)), goals.batch(chosen))
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimiser.step()
        losses.append(loss.detach())
    end = torch.stack(losses[-50:]).mean()
    print(f"{name}: loss {end:.3f} after {len(losses)} of {course.steps} steps", flush=True)
    model.eval()


def hide(batch: tuple[Tensor, Tensor, Tensor], share: float) -> tuple[Tensor, Tensor, Tensor]:
    """The batch with a share of its word pieces hidden."""
    ids, mask, parts = batch
    if not share:
        return batch
    chosen = (torch.rand(ids.shape, device=ids.device) < share) & (ids > MASK)
    return ids.masked_fill(chosen, MASK), mask, parts


def loss_of(logits: Tensor, goals: Goals) -> Tensor:
    """The mean of both tasks over a batch: by the labels alone, or by a teacher's chances and a share of the labels."""
    asks, known, taught = goals.asks, goals.label != UNKNOWN, goals.taught
    related, asked = ~asks & known, asks & known
    relations = F.cross_entropy(logits[related, :3], goals.label[related], label_smoothing=SMOOTH, reduction="sum")
    answers = F.binary_cross_entropy_with_logits(
        logits[asked, 3],
        goals.label[asked] * SURE + (1 - SURE) / 2,
        pos_weight=None if taught is not None else torch.tensor(RIGHT, device=logits.device),
        reduction="sum",
    )
    if taught is None:
        return (relations + ANSWERS * answers) / len(logits)
    told, chances = F.log_softmax(logits[~asks, :3], -1), F.softmax(taught[~asks, :3], -1)
    judged = F.binary_cross_entropy_with_logits(logits[asks, 3], taught[asks, 3].sigmoid(), reduction="sum")
    from_teacher = F.kl_div(told, chances, reduction="sum") + ANSWERS * judged
    return (from_teacher + OWN * (relations + answers)) / len(logits)


@torch.no_grad()
def logits_of(model: nn.Module, rows: Rows, chunk: int = 1024) -> Tensor:
    """Logits of all rows, read in chunks of like length."""
    model.eval()
    order = rows.lengths.argsort()
    return torch.cat([_logits(model, rows.batch(part)) for part in order.split(chunk)])[order.argsort()]


def _logits(model: nn.Module, batch: tuple[Tensor, Tensor, Tensor]) -> Tensor:
    with torch.autocast(batch[0].device.type, torch.bfloat16, enabled=batch[0].is_cuda):
        return model(*batch).float()


def _order(rows: Rows, course: Course) -> list[Tensor]:
    """Batches of like length over all rows, again and again, each time mixed."""
    found: list[Tensor] = []
    while len(found) < course.steps:
        for part in torch.randperm(len(rows.lengths), device=rows.ids.device).split(course.batch * 24):
            batches = part[rows.lengths[part].argsort(stable=True)].split(course.batch)
            found += [batches[i] for i in torch.randperm(len(batches)).tolist() if len(batches[i]) > 1]
    return found[: course.steps]
