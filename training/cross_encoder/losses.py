"""What is learned from: lists with one answer, a teacher's scores, and for the embedder both beside its anchor."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "embedder"))

import torch
import torch.nn.functional as F
from batches import Batch
from model import Embedder, Rows, encode
from torch import Tensor

TEMPERATURE = 0.05
AWAY = -1e4


def listwise(found: Tensor, valid: Tensor, single: float) -> Tensor:
    """Softmax over each list, the answer first, and a little of each pair judged alone, which fixes the scale."""
    first = torch.zeros(len(found), dtype=torch.long, device=found.device)
    lists = F.cross_entropy(found.masked_fill(~valid, AWAY), first)
    wanted = torch.zeros_like(found)
    wanted[:, 0] = 1.0
    alone = F.binary_cross_entropy_with_logits(found, wanted, reduction="none")
    return lists + single * (alone * valid).sum() / valid.sum()


def distilled(found: Tensor, taught: Tensor, valid: Tensor, match: float) -> Tensor:
    """How far a student's lists and scores are from the teacher's."""
    mine, theirs = (F.log_softmax(scores.masked_fill(~valid, AWAY), 1) for scores in (found, taught))
    apart = F.kl_div(mine, theirs, reduction="batchmean", log_target=True)
    return apart + match * ((found - taught).square() * valid).sum() / valid.sum()


def embedder_loss(pupil: Embedder, start: Embedder, given: Batch, taught: Tensor, valid: Tensor) -> Tensor:
    """Contrast over the batch, distance to the teacher's lists, and distance to where it started."""
    asked, told = encode(pupil, given.questions).float(), encode(pupil, given.memories).float()
    count, each = valid.shape
    with torch.no_grad():
        before = torch.cat([encode(start, given.questions), encode(start, Rows(given.memories.ids[::each]))]).float()
    near = asked @ told.T / TEMPERATURE
    answer = torch.arange(count, device=asked.device) * each
    contrast = F.cross_entropy(near.masked_fill(~given.open, AWAY), answer)
    lists = (asked[:, None] * told.view(count, each, -1)).sum(-1) / TEMPERATURE
    moved = 1.0 - (torch.cat([asked, told[::each]]) * before).sum(1).mean()
    return contrast + distilled(lists, taught, valid, 0.0) + moved
