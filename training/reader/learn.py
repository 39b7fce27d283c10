"""One model learns the relations of pairs: token rows on the device, batches of like length, a rate that falls."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
import torch.nn.functional as F
from tokenizers import Tokenizer
from torch import Tensor, nn
from training.reader.pairs import RELATIONS, Pair

from fivefold.models.reader.layout import Said, SaidPair, token_rows

UNKNOWN = -1
"""The label of a pair whose relation only the teacher says."""


MASK = 103
"""BERT's word piece that stands for a hidden one."""


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


@dataclass(frozen=True)
class Course:
    """How a model learns."""

    rate: float
    steps: int
    batch: int
    seconds: float
    own: float = 1.0
    """How much the labels count, beside the teacher's chances."""
    smooth: float = 0.05
    masked: float = 0.0
    """The share of word pieces that is hidden, so that no single one decides."""
    decay: float = 0.01


def rows_of(pairs: Sequence[Pair], pieces: Tokenizer, device: str) -> Rows:
    said = [SaidPair(Said(pair.older, pair.older_speaker), Said(pair.newer, pair.newer_speaker)) for pair in pairs]
    rows = token_rows(pieces, said)
    lengths = torch.tensor([len(row) for row, _ in rows])
    ids = torch.zeros(len(rows), int(lengths.max()), dtype=torch.int32)
    for at, (row, _) in enumerate(rows):
        ids[at, : len(row)] = torch.tensor(row, dtype=torch.int32)
    newer = torch.tensor([start for _, start in rows])
    return Rows(ids.to(device), newer.to(device), lengths.to(device))


def labels_of(pairs: Sequence[Pair], device: str) -> Tensor:
    known = {relation: at for at, relation in enumerate(RELATIONS)}
    return torch.tensor([known.get(pair.relation, UNKNOWN) for pair in pairs], device=device)


def learn(model: nn.Module, rows: Rows, labels: Tensor, taught: Tensor | None, course: Course, name: str) -> None:
    """Train in place. `taught` are a teacher's logits; rows come in their order at first, shuffled within windows."""
    parameters = [value for value in model.parameters() if value.requires_grad]
    optimiser = torch.optim.AdamW(parameters, lr=course.rate, weight_decay=course.decay)
    began, order, losses = time.monotonic(), _order(rows, course), []
    model.train()
    for step in range(course.steps):
        done = max(step / course.steps, (time.monotonic() - began) / course.seconds)
        if done >= 1:
            break
        for group in optimiser.param_groups:
            group["lr"] = course.rate * min((done + 1e-3) / 0.08, (1 - done) / 0.92)
        chosen = order[step % len(order)]
        with torch.autocast(rows.ids.device.type, torch.bfloat16, enabled=rows.ids.is_cuda):
            logits = model(*_hidden(rows.batch(chosen), course.masked)).float()
        loss = _loss(logits, labels[chosen], None if taught is None else taught[chosen], course)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimiser.step()
        losses.append(loss.detach())
        if step % max(1, course.steps // 6) == 0:
            print(f"  {name} {step}/{course.steps} loss {loss:.3f} {time.monotonic() - began:.0f} s", flush=True)
    print(f"{name}: in the end {torch.stack(losses[-50:]).mean():.3f} after {len(losses)} steps", flush=True)
    model.eval()


def _hidden(batch: tuple[Tensor, Tensor, Tensor], share: float) -> tuple[Tensor, Tensor, Tensor]:
    """The batch with a share of its word pieces hidden."""
    ids, mask, parts = batch
    if not share:
        return batch
    chosen = (torch.rand(ids.shape, device=ids.device) < share) & (ids > MASK)
    return ids.masked_fill(chosen, MASK), mask, parts


def _order(rows: Rows, course: Course) -> list[Tensor]:
    """Batches that go through the rows from first to last, again and again, shuffled within wide windows."""
    found: list[Tensor] = []
    window = max(course.batch * 24, 1)
    while len(found) < course.steps:
        for part in torch.arange(len(rows.lengths), device=rows.ids.device).split(window):
            shuffled = part[torch.randperm(len(part), device=part.device)]
            sorted_part = shuffled[rows.lengths[shuffled].argsort(stable=True)]
            batches = [batch for batch in sorted_part.split(course.batch) if len(batch) > 1]
            found += [batches[i] for i in torch.randperm(len(batches)).tolist()]
    return found[: course.steps]


def _loss(logits: Tensor, labels: Tensor, taught: Tensor | None, course: Course) -> Tensor:
    known = labels != UNKNOWN
    own = (
        F.cross_entropy(logits[known], labels[known], label_smoothing=course.smooth)
        if known.any()
        else logits.sum() * 0
    )
    if taught is None:
        return own
    share = F.kl_div(F.log_softmax(logits, -1), F.softmax(taught, -1), reduction="batchmean")
    return share + course.own * own


@torch.no_grad()
def logits_of(model: nn.Module, rows: Rows, chunk: int = 1024) -> Tensor:
    """Logits of all rows, read in chunks of like length."""
    model.eval()
    order = rows.lengths.argsort()
    found = []
    for part in order.split(chunk):
        with torch.autocast(rows.ids.device.type, torch.bfloat16, enabled=rows.ids.is_cuda):
            found.append(model(*rows.batch(part)).float())
    return torch.cat(found)[order.argsort()]
