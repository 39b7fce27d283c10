"""What the embedder learns from: answers, its start, general models' likenesses, and people's lives."""

from __future__ import annotations

from dataclasses import dataclass, fields

import torch
import torch.nn.functional as F
from batches import Batch
from late import StoredPieces, four_bits, gather_tokens, late_scores
from model import Embedder, Reading, Rows, TokenEmbedder, encode, read
from people import SceneBatch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

AWAY = -1e4


@dataclass(frozen=True)
class Temperatures:
    dense: float = 0.05
    late: float = 0.03
    teacher: float = 0.012


@dataclass(frozen=True)
class Trust:
    """How much the teacher's similarities count, by what is asked about: it knows prose, and no speakers."""

    prose: float = 1.0
    own: float = 0.6
    named: float = 0.15

    def of(self, who: Tensor) -> Tensor:
        return torch.where(who == -2, self.prose, torch.where(who == -1, self.own, self.named))


@dataclass(frozen=True)
class Shares:
    """How much each part of the loss counts."""

    dense: float = 1.0
    late: float = 1.0
    anchor: float = 0.5
    teacher: float = 1.0
    late_teacher: float = 0.05
    scene: float = 1.0
    scene_late: float = 0.5
    scene_teacher: float = 1.0


@dataclass(frozen=True)
class Losses:
    """The parts of the loss, by the names of their shares."""

    dense: Tensor
    late: Tensor
    anchor: Tensor
    teacher: Tensor
    late_teacher: Tensor

    def total(self, shares: Shares) -> Tensor:
        return total(self, shares)


@dataclass(frozen=True)
class SceneLosses:
    """The parts of the loss for scenes of people's lives, by the names of their shares."""

    scene: Tensor
    scene_late: Tensor
    scene_teacher: Tensor

    def total(self, shares: Shares) -> Tensor:
        return total(self, shares)


def total(parts: Losses | SceneLosses, shares: Shares) -> Tensor:
    return torch.stack([getattr(shares, part.name) * getattr(parts, part.name) for part in fields(parts)]).sum()


@dataclass(frozen=True)
class Models:
    """The model that learns, the published one it starts from, and the general ones that teach."""

    pupil: TokenEmbedder
    origin: Embedder
    teacher: nn.Module


@dataclass(frozen=True)
class Matching:
    """Which tokens of memories take part: the memory's own or all, exact or at four bits."""

    pieces: StoredPieces
    own_only: bool = False
    coarse: bool = True


def losses(models: Models, given: Batch, matching: Matching, temperatures: Temperatures, trust: Trust) -> Losses:
    """All parts for one batch; every one is a mean over its questions."""
    asked, told = read(models.pupil, given.questions), read(models.pupil, given.memories)
    each = len(told.vectors) // len(asked.vectors)
    answer = torch.arange(len(asked.vectors), device=told.vectors.device) * each
    dense = _open_scores(asked.vectors.float() @ told.vectors.float().T, given, temperatures.dense)
    late = _open_scores(_late(asked, told, given.memories, matching), given, temperatures.late)
    with torch.no_grad():
        similar = encode(models.teacher, given.questions).float() @ encode(models.teacher, given.plain).float().T
        taught = F.log_softmax(_open_scores(similar, given, temperatures.teacher), 1)
        start = torch.cat([encode(models.origin, rows) for rows in (given.questions, Rows(given.plain.ids[::each]))])
    now, weights = torch.cat([asked.vectors, told.vectors[::each]]), trust.of(given.who)
    return Losses(
        F.cross_entropy(dense, answer),
        F.cross_entropy(late, answer),
        (1.0 - (now.float() * start.float()).sum(1)).mean(),
        _apart(dense, taught, weights),
        _apart(late, taught, weights),
    )


def scene_losses(models: Models, given: SceneBatch, matching: Matching, temperatures: Temperatures) -> SceneLosses:
    """The parts for a batch of scenes; a question that nothing answers learns from the teacher alone."""
    asked, told = read(models.pupil, given.questions), read(models.pupil, given.memories)
    dense = asked.vectors.float() @ told.vectors.float().T / temperatures.dense
    among = told.vectors.float() @ told.vectors.float().T / temperatures.dense
    late = _late(asked, told, given.memories, matching).float() / temperatures.late
    with torch.no_grad():
        memories = encode(models.teacher, given.plain).float()
        questions = encode(models.teacher, given.questions).float()
        taught, alike = (vectors @ memories.T / temperatures.teacher for vectors in (questions, memories))
    same = torch.eye(len(among), dtype=torch.bool, device=among.device)
    among, alike = among.masked_fill(same, AWAY), alike.masked_fill(same, AWAY)
    return SceneLosses(
        _any_right(dense, given.right),
        _any_right(late, given.right),
        _apart(dense, F.log_softmax(taught, 1)) + _apart(among, F.log_softmax(alike, 1)),
    )


def _any_right(scores: Tensor, right: Tensor) -> Tensor:
    """Cross entropy of the questions that something answers: all their answers together against everything."""
    answered = right.any(1)
    scores, right = scores[answered], right[answered]
    return (scores.logsumexp(1) - scores.masked_fill(~right, AWAY).logsumexp(1)).mean()


def _open_scores(similar: Tensor, given: Batch, temperature: float) -> Tensor:
    return (similar.float() / temperature).masked_fill(~given.open, AWAY)


def _late(asked: Reading, told: Reading, rows: Rows, matching: Matching) -> Tensor:
    """Computed again in the backward pass: the similarities of all pairs of tokens do not fit into memory."""
    mask = rows.own_mask if matching.own_only else rows.ids != 0
    tokens, present = gather_tokens(told.tokens, mask & matching.pieces.of(rows.ids))
    if matching.coarse:
        tokens = four_bits(tokens)
    found: Tensor = checkpoint(late_scores, asked, tokens, present, use_reentrant=False)
    return found


def _apart(scores: Tensor, taught: Tensor, weights: Tensor | None = None) -> Tensor:
    """Kullback-Leibler divergence to the teacher's distribution, a mean over the rows, weighted if need be."""
    rows = F.kl_div(F.log_softmax(scores, 1), taught, reduction="none", log_target=True).sum(1)
    return rows.mean() if weights is None else (rows * weights).sum() / weights.sum()
