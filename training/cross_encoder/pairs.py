"""Question and memory in one row: `[CLS] question [SEP] Mia (7 May 2023): text [SEP] end of the turn before [SEP]`.

The memory is told as the engine tells it. Of the turn before, only its end is read: there stands what it asked.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "embedder"))

import numpy as np
import torch
from batches import Scene
from corpus import CLS, SEP, Corpus
from layout import compact, ending, given_names, heading, squeezed
from model import Rows
from tokenizers import Tokenizer
from torch import Tensor

QUESTION, TEXT, BEFORE = 40, 96, 16
"""Word pieces read of each: the first of question and text, the last of the turn before."""


MASK = 103
LONGEST = 12
"""Characters a word piece may have here; what lies beyond is not worth tokenising."""


def parts_of(ids: Tensor) -> Tensor:
    """0 for the question, 1 for the memory."""
    closing = (ids == SEP).long()
    return ((closing.cumsum(1) - closing) > 0).long() * (ids != 0)


def told_pairs(corpus: Corpus, told: Scene, with_before: Tensor) -> Rows:
    """Rows for every memory of every question of a scene; `with_before` says for which the turn before is read."""
    each = told.docs.shape[1]
    docs, people = told.docs.flatten(), told.people.flatten(0, 1)
    body = corpus.docs[told.beside.clamp(min=0)].long() * (told.beside >= 0)[:, :, None]
    body = given_names(corpus, body.flatten(1), people)
    body = squeezed(
        torch.cat([heading(corpus, docs, people, told.manner.flatten(), told.day.flatten()), body], 1), TEXT
    )
    asked = told.questions[:, 1:].clone()
    asked[asked == SEP] = 0
    asked = squeezed(asked, QUESTION).repeat_interleave(each, 0)
    shown = (docs > corpus.begin[docs]) & ~told.joined.flatten() & with_before.repeat_interleave(each)
    before = given_names(corpus, ending(corpus.docs[(docs - 1).clamp(min=0)].long(), BEFORE), people) * shown[:, None]
    edge = torch.full_like(docs, SEP)[:, None]
    ids = torch.cat([torch.full_like(edge, CLS), asked, edge, body, edge, before, edge * shown[:, None]], 1)
    ids = compact(ids, QUESTION + TEXT + BEFORE + 4)
    return Rows(ids, parts_of(ids))


def masked(rows: Rows, share: float, dice: torch.Generator) -> Rows:
    """A share of the pieces hidden, so that no single shared word decides."""
    hidden = torch.rand(rows.ids.shape, device=rows.ids.device, generator=dice) < share
    usual = (rows.ids != 0) & (rows.ids != CLS) & (rows.ids != SEP)
    return Rows(torch.where(hidden & usual, MASK, rows.ids), rows.parts)


def written_pairs(
    tokenizer: Tokenizer, question: str, memories: Sequence[tuple[str, str]], text: int = TEXT, before: int = BEFORE
) -> tuple[np.ndarray, np.ndarray]:
    """Padded ids and parts for one question and its memories, each told and with what was said before it."""
    asked = tokenizer.encode(question, add_special_tokens=False).ids[:QUESTION]
    told = [item.ids[:text] for item in tokenizer.encode_batch([memory[0][: LONGEST * text] for memory in memories])]
    said = [
        item.ids[-before:] if before else []
        for item in tokenizer.encode_batch([memory[1][-LONGEST * before :] for memory in memories])
    ]
    rows = [[CLS, *asked, SEP, *body, SEP, *([*end, SEP] if end else [])] for body, end in zip(told, said, strict=True)]
    ids = np.zeros((len(rows), max(map(len, rows))), dtype=np.int64)
    parts = np.zeros_like(ids)
    for number, row in enumerate(rows):
        ids[number, : len(row)] = row
        parts[number, len(asked) + 2 : len(row)] = 1
    return ids, parts
