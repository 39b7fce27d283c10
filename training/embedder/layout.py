"""Texts laid out as the engine lays out memories, and questions in the third or first person, all on the device."""

from __future__ import annotations

import torch
from corpus import CLS, NAMED, SEP, WORDS, Corpus
from model import Rows
from torch import Tensor

from fivefold.models.embedders.fivefold_minilm import BEFORE_TOKENS


def packed_left(present: Tensor) -> Tensor:
    """For each row the places where something is present, in order, before all others."""
    return (~present).to(torch.uint8).argsort(dim=1, stable=True)


def squeezed(ids: Tensor, width: int) -> Tensor:
    """The pieces of each row moved together, padding last, cut to `width` and to what is needed."""
    present = ids != 0
    ids = ids.gather(1, packed_left(present))
    longest = int(present.sum(1).max()) if len(ids) else 0
    return ids[:, : max(1, min(width, longest))].contiguous()


def compact(ids: Tensor, width: int) -> Tensor:
    """As `squeezed`, with the closing mark kept where a row was cut."""
    ids = squeezed(ids, width)
    if ids.shape[1] == width:
        ids[ids[:, -1] != 0, -1] = SEP
    return ids


def given_names(corpus: Corpus, ids: Tensor, people: Tensor) -> Tensor:
    """Slots filled with the pieces of the names of the two people, `people` being a pair of names a row."""
    pieces = corpus.names[people].flatten(1).long()
    slot = (ids - WORDS).clamp(min=0).flatten(1)
    return torch.where(ids >= WORDS, pieces.gather(1, slot).view_as(ids), ids)


def heading(corpus: Corpus, doc: Tensor, people: Tensor, manner: Tensor, day: Tensor) -> Tensor:
    """Who said it and when: "Mia (7 May 2023):", "Mia:", "7 May 2023" or nothing; a day under 0 is left out."""
    speaker = corpus.speaker[doc]
    named, dated = (speaker > 0) & (manner == NAMED), day >= 0
    name = corpus.names[people.gather(1, (speaker - 1).clamp(min=0)[:, None]).squeeze(1)].long()
    both = named & dated
    return torch.cat(
        [
            name * named[:, None],
            (both * corpus.marks["("])[:, None],
            corpus.days[day.clamp(min=0)].long() * dated[:, None],
            (both * corpus.marks[")"])[:, None],
            (named * corpus.marks[":"])[:, None],
        ],
        1,
    )


def memories(
    corpus: Corpus, doc: Tensor, people: Tensor, manner: Tensor, day: Tensor, width: int, beside: Tensor | None = None
) -> Tensor:
    """Token ids of memories; `beside` names for each the texts joined to it in order, -1 for none (itself included)."""
    texts = doc[:, None] if beside is None else beside
    body = corpus.docs[texts.clamp(min=0)].long() * (texts >= 0)[:, :, None]
    body = given_names(corpus, body.flatten(1), people)
    edge = torch.full_like(doc, CLS)[:, None]
    return compact(
        torch.cat([edge, heading(corpus, doc, people, manner, day), body, torch.full_like(edge, SEP)], 1), width
    )


def with_before(corpus: Corpus, doc: Tensor, people: Tensor, ids: Tensor, shown: Tensor) -> Rows:
    """Memories followed, where `shown`, by the end of the turn before: `[CLS] text [SEP] before [SEP]`."""
    before = ending(corpus.docs[(doc - 1).clamp(min=0)].long(), BEFORE_TOKENS)
    before = squeezed(given_names(corpus, before, people) * shown[:, None], BEFORE_TOKENS)
    closing = (torch.full_like(doc, SEP) * shown)[:, None]
    whole = torch.cat([ids, before, closing], 1)
    own = torch.zeros_like(whole, dtype=torch.bool)
    own[:, : ids.shape[1]] = ids != 0
    present = whole != 0
    order, width = packed_left(present), int(present.sum(1).max())
    return Rows(whole.gather(1, order)[:, :width], own=own.gather(1, order)[:, :width])


def ending(ids: Tensor, count: int) -> Tensor:
    """The last `count` pieces of each row."""
    start = ((ids != 0).sum(1) - count).clamp(min=0)
    return ids.gather(1, (start[:, None] + torch.arange(count, device=ids.device)).clamp(max=ids.shape[1] - 1))


def questions(corpus: Corpus, asked: Tensor, people: Tensor, own: Tensor, when: Tensor, whole_day: Tensor) -> Tensor:
    """Token ids of questions, asked by their subject where `own`, opened by "In May 2023," where `when` is a day."""
    body = torch.where(own[:, None], corpus.first[asked], corpus.questions[asked]).long()
    body = given_names(corpus, body, people)
    dated = (when >= 0)[:, None]
    day = corpus.days[when.clamp(min=0)].long()
    day[:, 0] *= whole_day
    opening = torch.where(whole_day, corpus.marks["on"], corpus.marks["in"])[:, None]
    comma = torch.full_like(opening, corpus.marks[","])
    edge = torch.full_like(asked, CLS)[:, None]
    return compact(
        torch.cat([edge, torch.cat([opening, day, comma], 1) * dated, body, torch.full_like(edge, SEP)], 1), 64
    )


def neighbours(corpus: Corpus, doc: Tensor, reach: int, step: Tensor, left: Tensor, right: Tensor) -> Tensor:
    """Each text with some that stand before and after it in its conversation, in order; -1 where there is none."""
    offsets = torch.arange(-reach, reach + 1, device=doc.device)
    around = doc[:, None] + offsets * step[:, None]
    inside = (around >= corpus.begin[doc][:, None]) & (around < corpus.end[doc][:, None])
    chosen = (offsets >= -left[:, None]) & (offsets <= right[:, None])
    return torch.where(inside & chosen, around, -1)
