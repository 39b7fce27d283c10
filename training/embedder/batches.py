"""Questions with the memory that answers each, others of the same talk and mined ones that mislead, laid out afresh."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from corpus import NAMED, ROLE, Corpus
from layout import memories, neighbours, questions, with_before
from model import Rows
from torch import Tensor


@dataclass(frozen=True)
class Mixture:
    """How many memories a question gets, and how often a text is laid out in which way.

    A `mistaken` question names the other of the two: people do mix up who said what, and still mean that memory.
    """

    same_talk: int = 3
    before: float = 0.3
    after: float = 0.0
    mined: int = 0
    people: int = 16
    own: float = 0.3
    dated: float = 0.6
    asked_by_date: float = 0.1
    mistaken: float = 0.0
    joined_own: float = 0.5
    joined_prose: float = 0.3
    alike: float = 0.8
    width: int = 192


@dataclass(frozen=True)
class Scene:
    """One telling: a row a question, a column a memory, the answering one first; `valid` says which memories count."""

    asked: Tensor
    questions: Tensor
    docs: Tensor
    valid: Tensor
    people: Tensor
    manner: Tensor
    day: Tensor
    joined: Tensor
    beside: Tensor
    who: Tensor


@dataclass(frozen=True)
class Batch:
    """Each question's memories stand together, the answering one first; `open` says which pairs count.

    `memories` are read with the turn before, `plain` without it, as the models that teach read them.
    """

    questions: Rows
    memories: Rows
    plain: Rows
    open: Tensor
    who: Tensor


def scene(corpus: Corpus, asked: Tensor, mined: Tensor | None, mix: Mixture, dice: torch.Generator) -> Scene:
    """Names, dates, persons and other memories drawn for the questions `asked`."""
    count, gold = len(asked), corpus.gold[asked]
    chat = corpus.speaker[gold] > 0
    own = chat & _chance(count, mix.own, dice)
    joined = torch.where(chat, own & _chance(count, mix.joined_own, dice), _chance(count, mix.joined_prose, dice))
    people = _named(corpus, count, mix.people, dice)
    others, valid = _others(corpus, gold, asked, mined, joined, mix, dice)
    docs = torch.cat([gold[:, None], others], 1)
    same_talk = corpus.conversation[docs] == corpus.conversation[gold][:, None]
    swapped = _chance(docs.numel(), 0.5, dice).view_as(docs) & ~same_talk
    day = torch.randint(len(corpus.days), docs.shape, device=corpus.device, generator=dice)
    day = torch.where(_chance(count, mix.dated, dice)[:, None], torch.where(same_talk, day[:, :1], day), -1)
    when = torch.where(_chance(count, mix.asked_by_date, dice), day[:, 0], -1)
    asked_of = torch.where(_chance(count, mix.mistaken, dice)[:, None], people.flip(1), people)
    speaker = people.gather(1, (corpus.speaker[gold] - 1).clamp(min=0)[:, None])[:, 0]
    return Scene(
        asked,
        questions(corpus, asked, asked_of, own, when, _chance(count, 0.5, dice)),
        docs,
        torch.cat([torch.ones_like(valid[:, :1]), valid], 1),
        torch.where(swapped[:, :, None], people.flip(1)[:, None], people[:, None]),
        torch.where(own, ROLE, NAMED)[:, None].expand_as(docs),
        day,
        joined[:, None].expand_as(docs),
        _joined(corpus, docs.flatten(), joined[:, None].expand_as(docs).flatten(), dice),
        torch.where(own, -1, torch.where(chat, speaker, -2)),
    )


def draw_before(corpus: Corpus, asked: Tensor, share: float, echo: float, dice: torch.Generator) -> Tensor:
    """For which questions the turn before is read: by the share `echo` where it is the question in other words."""
    echoes = corpus.source[asked] == (corpus.sources.index("spc_ask") if "spc_ask" in corpus.sources else -1)
    return torch.rand(len(asked), device=corpus.device, generator=dice) < torch.where(echoes, echo, share)


def batch(corpus: Corpus, told: Scene, alike: Tensor, mix: Mixture, shown: Tensor) -> Batch:
    """The scene as token ids. `alike` has vectors of all questions, by which near-twins are known.

    `shown` says for which questions the turn before is read; joined texts and the first turns have none.
    """
    docs, people = told.docs.flatten(), told.people.flatten(0, 1)
    ids = memories(corpus, docs, people, told.manner.flatten(), told.day.flatten(), mix.width, told.beside)
    shown = shown.repeat_interleave(told.docs.shape[1]) & (docs > corpus.begin[docs]) & ~told.joined.flatten()
    return Batch(
        Rows(told.questions),
        with_before(corpus, docs, people, ids, shown),
        Rows(ids),
        _open(corpus, told, alike[told.asked], mix.alike),
        told.who,
    )


def _chance(count: int, share: float, dice: torch.Generator) -> Tensor:
    return torch.rand(count, device=dice.device, generator=dice) < share


def _named(corpus: Corpus, count: int, pairs: int, dice: torch.Generator) -> Tensor:
    """Names for each question's two people. A batch knows few pairs, so that a name alone does not tell the answer."""
    known = torch.randperm(len(corpus.names), device=dice.device, generator=dice)[: 2 * pairs].view(pairs, 2)
    people = known[torch.randint(pairs, (count,), device=dice.device, generator=dice)]
    return torch.where(_chance(count, 0.5, dice)[:, None], people, people.flip(1))


def _others(
    corpus: Corpus,
    gold: Tensor,
    asked: Tensor,
    mined: Tensor | None,
    joined: Tensor,
    mix: Mixture,
    dice: torch.Generator,
) -> tuple[Tensor, Tensor]:
    """Memories that do not answer, and which count. A joined text may hold its neighbours, so it gets strangers."""
    count, device = len(gold), corpus.device
    begin, size = corpus.begin[gold], corpus.end[gold] - corpus.begin[gold]
    near = begin[:, None] + (torch.rand(count, mix.same_talk, device=device, generator=dice) * size[:, None]).long()
    before = (gold > begin) & _chance(count, mix.before, dice)
    near[:, 0] = torch.where(before, gold - 1, near[:, 0])
    after = (gold + 1 < corpus.end[gold]) & _chance(count, mix.after, dice)
    near[:, -1] = torch.where(after, gold + 1, near[:, -1])
    far = torch.randint(len(corpus.docs), (count, mix.same_talk), device=device, generator=dice)
    others = torch.where(joined[:, None], far, near)
    if mined is not None and mix.mined:
        column = torch.randint(mined.shape[1], (count, mix.mined), device=device, generator=dice)
        others = torch.cat([others, mined[asked].gather(1, column)], 1)
    valid = (others >= 0) & (others != gold[:, None])
    others = others.clamp(min=0)
    valid &= ~joined[:, None] | (corpus.conversation[others] != corpus.conversation[gold][:, None])
    return others, valid


def _joined(corpus: Corpus, docs: Tensor, wide: Tensor, dice: torch.Generator) -> Tensor:
    """The texts told in one with each: more of what its speaker said, or more of the same prose."""
    chat = corpus.speaker[docs] > 0
    reach = torch.where(chat, 2, 4)
    left, right = (
        (torch.rand(len(docs), device=docs.device, generator=dice) * (reach + 1)).long() * wide for _ in "lr"
    )
    return neighbours(corpus, docs, 4, torch.where(chat, 2, 1), left, right)


def _open(corpus: Corpus, told: Scene, alike: Tensor, limit: float) -> Tensor:
    """Which memory may count against which question: of the same talk only its own, and none that answers a twin."""
    count, each = told.docs.shape
    talk = corpus.conversation[told.docs]
    stranger = talk.view(1, -1) != talk[:, :1]
    twin = (alike @ alike.T > limit) & (told.who[:, None] == told.who[None, :])
    allowed = (stranger.view(count, count, each) & told.valid[None]).clone()
    allowed[:, :, 0] &= ~twin
    mine = torch.arange(count, device=talk.device)
    allowed[mine, mine] = told.valid
    return allowed.view(count, count * each)
