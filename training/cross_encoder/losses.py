"""What is learned from: lists with one answer, and a teacher's scores."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

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
