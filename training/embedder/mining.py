"""Memories near a question that do not answer it: what a search would bring up, and a model must learn to pass over."""

from __future__ import annotations

import torch
from corpus import ROLE, Corpus
from layout import memories, questions
from model import Embedder, Rows, encode
from torch import Tensor


def plain_vectors(model: Embedder, corpus: Corpus) -> tuple[Tensor, Tensor]:
    """Vectors of all questions and of all texts, told plainly and with the same two names for everyone."""
    asked, texts = (torch.arange(len(rows), device=corpus.device) for rows in (corpus.questions, corpus.docs))
    found: tuple[list[Tensor], list[Tensor]] = ([], [])
    with torch.no_grad(), torch.autocast(corpus.device.type, torch.bfloat16, enabled=corpus.docs.is_cuda):
        for part in asked.split(16384):
            none = torch.full_like(part, -1)
            ids = questions(corpus, part, 0 * none[:, None].expand(-1, 2), none > 0, none, none > 0)
            found[0].append(encode(model, Rows(ids)).float())
        for part in texts.split(16384):
            none = torch.full_like(part, -1)
            ids = memories(corpus, part, 0 * none[:, None].expand(-1, 2), 0 * none + ROLE, none, 128)
            found[1].append(encode(model, Rows(ids)).float())
    return torch.cat(found[0]), torch.cat(found[1])


def near_misses(corpus: Corpus, asked: Tensor, texts: Tensor, first: int, last: int, under: float) -> Tensor:
    """For each question the texts ranked `first` to `last`, -1 for those not clearly `under` its own memory's score."""
    found = []
    low = texts.half()
    for part in torch.arange(len(asked), device=corpus.device).split(2048):
        gold = corpus.gold[part]
        near = asked[part].half() @ low.T
        answer = near.gather(1, gold[:, None])
        near[corpus.conversation[None, :] == corpus.conversation[gold][:, None]] = -1.0
        score, docs = near.topk(min(last, near.shape[1]), dim=1)
        docs[score > under * answer] = -1
        found.append(docs[:, first:])
    return torch.cat(found)
