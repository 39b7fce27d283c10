"""BM25 over word pieces on the device, to mine memories that share words with a question and yet do not answer it."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "embedder"))

import torch
from corpus import WORDS, Corpus
from torch import Tensor

K1, B = 1.2, 0.75
COMMON = 0.02
"""Pieces in more than this share of the texts tell nothing and are left out."""


def weighted(corpus: Corpus) -> Tensor:
    """A sparse matrix of BM25 weights, a row a text, a column a word piece."""
    rows, columns = (corpus.docs != 0).nonzero(as_tuple=True)
    pieces = corpus.docs[rows, columns].long()
    keep = pieces < WORDS
    keys, counts = (rows[keep] * WORDS + pieces[keep]).unique(return_counts=True)
    rows, pieces = keys // WORDS, keys % WORDS
    total = len(corpus.docs)
    held = torch.bincount(pieces, minlength=WORDS).float()
    rare = torch.log1p((total - held + 0.5) / (held + 0.5)) * (held < COMMON * total)
    length = (corpus.docs != 0).sum(1).float()
    scale = K1 * (1 - B + B * length[rows] / length.mean())
    weight = rare[pieces] * counts * (K1 + 1) / (counts + scale)
    return torch.sparse_coo_tensor(torch.stack([rows, pieces]), weight, (total, WORDS)).coalesce().to_sparse_csr()


def lexical_misses(corpus: Corpus, asked: Tensor, texts: Tensor, last: int, under: float, chunk: int = 512) -> Tensor:
    """For each question the texts best by BM25, -1 for those whose vectors are not clearly `under` the answer's."""
    table = weighted(corpus)
    found = []
    for part in torch.arange(len(corpus.questions), device=corpus.device).split(chunk):
        gold, words = corpus.gold[part], corpus.questions[part].long()
        query = torch.zeros(len(part), WORDS, device=corpus.device)
        query.scatter_(1, words.where(words < WORDS, 0), 1.0)
        query[:, 0] = 0
        score = (table @ query.T).T
        score[corpus.conversation[None, :] == corpus.conversation[gold][:, None]] = 0
        best, docs = score.topk(min(last, score.shape[1]), dim=1)
        near = torch.einsum("qd,qkd->qk", asked[part], texts[docs])
        answer = (asked[part] * texts[gold]).sum(1, keepdim=True)
        docs[(near > under * answer) | (best <= 0)] = -1
        found.append(docs)
    return torch.cat(found)
