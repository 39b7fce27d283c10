"""Texts with those most like them, for the teachers to judge."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

import torch
import torch.nn.functional as F
from model import Encoder, mean_of
from torch import Tensor
from training.reader.lessons import UNKNOWN, Lesson, answer_lesson

from fivefold.models.bert import word_pieces
from fivefold.models.reader import Remark, SaidPair

LENGTH = 96
"""Word pieces of a text that count for its likeness."""

SAME = 0.98
"""From which likeness on two texts say the same."""


def like_lessons(texts: Sequence[Remark], encoder: Encoder, near: int, dice: random.Random) -> Iterator[Lesson]:
    """Each text as the older one, with some of the most like ones; the relation is not known."""
    vectors = unit_vectors(texts, encoder)
    for start in range(0, len(texts), 4096):
        likeness = vectors[start : start + 4096] @ vectors.T
        values, places = likeness.topk(min(3 * near + 1, len(texts)), dim=1)
        for row, (shares, others) in enumerate(zip(values.tolist(), places.tolist(), strict=True), start):
            usable = [at for share, at in zip(shares, others, strict=True) if at != row and share < SAME]
            for at in dice.sample(usable, min(near, len(usable))):
                yield Lesson(SaidPair(texts[row], texts[at]), UNKNOWN)


def near_lessons(questions: Sequence[str], texts: Sequence[Remark], encoder: Encoder, near: int) -> Iterator[Lesson]:
    """Each question with the texts most like it, as a search brings them; whether they answer is not known."""
    asked = unit_vectors([Remark(question) for question in questions], encoder)
    vectors = unit_vectors(texts, encoder)
    for start in range(0, len(questions), 4096):
        places = (asked[start : start + 4096] @ vectors.T).topk(min(near, len(texts)), dim=1).indices
        for question, others in zip(questions[start : start + 4096], places.tolist(), strict=True):
            yield from (answer_lesson(question, texts[at], UNKNOWN) for at in others)


@torch.no_grad()
def unit_vectors(texts: Sequence[Remark], encoder: Encoder) -> Tensor:
    """The mean of the token vectors of each text without its speaker, at unit length."""
    device = encoder.words.weight.device
    pieces = word_pieces()
    encoded = [[pieces.cls, *pieces.ids(said.text)[: LENGTH - 2], pieces.sep] for said in texts]
    found = []
    for start in range(0, len(texts), 512):
        part = encoded[start : start + 512]
        width = max(map(len, part))
        ids = torch.tensor([row + [0] * (width - len(row)) for row in part], device=device)
        found.append(F.normalize(mean_of(encoder(ids, ids != 0), ids != 0), dim=-1))
    return torch.cat(found)
