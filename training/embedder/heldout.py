"""What settings are chosen by: retrieval over conversations of the training sources that training never saw."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from corpus import NAMED, ROLE, UNSEEN, Corpus
from layout import memories, neighbours, questions
from model import Embedder, Rows, encode
from torch import Tensor

TALKS = 28
"""Conversations told by the same two people, so that a space is as large as months of real talk."""

POOL = 200
TALK = ("dated", "undated", "own", "molweni")
"""What counts half of the mean, prose being the other half."""

MADE = ("keywords", "rule", "rough", "spc_stmt")
"""Questions made by rule from the answer's own words: too easy to choose by."""


@dataclass(frozen=True)
class Space:
    """Memories of one namespace, what groups them (itself or its session), and the questions asked of it."""

    kind: str
    memories: Tensor
    group: Tensor
    questions: Tensor
    gold: Tensor


def spaces(corpus: Corpus, width: int = 192) -> list[Space]:
    """All held-out namespaces: two people's talk, one user's own statements, prose by sentence and by passage."""
    dice = torch.Generator(corpus.device).manual_seed(7)
    asked = corpus.held_out.nonzero()[:, 0]
    natural = torch.tensor([name not in MADE for name in corpus.sources], device=corpus.device)
    asked = asked[natural[corpus.source[asked]]]
    chat = corpus.speaker[corpus.gold[asked]] > 0
    found = []
    for talks in corpus.conversation[corpus.gold[asked[chat]]].unique().split(TALKS):
        found += _talk(corpus, talks, asked[chat], dice, width)
    for talks in corpus.conversation[corpus.gold[asked[chat]]].unique().split(POOL):
        found.append(_own(corpus, talks, asked[chat], dice, width))
    for name in (*UNSEEN, "squad"):
        number = corpus.sources.index(name) if name in corpus.sources else -1
        if (mine := asked[corpus.source[asked] == number]).numel():
            found += _prose(corpus, mine, name, width)
    return [space for space in found if len(space.questions)]


def _inside(corpus: Corpus, talks: Tensor, asked: Tensor) -> tuple[Tensor, Tensor]:
    docs = torch.isin(corpus.conversation, talks).nonzero()[:, 0]
    return docs, asked[torch.isin(corpus.conversation[corpus.gold[asked]], talks)]


def _asked(corpus: Corpus, asked: Tensor, people: Tensor, own: bool) -> Tensor:
    none = torch.full_like(asked, -1)
    pair = people.expand(len(asked), 2)
    return questions(corpus, asked, pair, torch.full_like(asked, own, dtype=torch.bool), none, none > 0)


def _talk(corpus: Corpus, talks: Tensor, asked: Tensor, dice: torch.Generator, width: int) -> list[Space]:
    docs, mine = _inside(corpus, talks, asked)
    people = torch.randperm(len(corpus.names), device=corpus.device, generator=dice)[:2]
    first = torch.randint(3000, (1,), device=corpus.device, generator=dice)
    day = first + 9 * torch.searchsorted(talks, corpus.conversation[docs])
    asking, manner, group = _asked(corpus, mine, people, False), torch.full_like(docs, NAMED), torch.arange(len(docs))
    group = group.to(corpus.device)
    gold = torch.searchsorted(docs, corpus.gold[mine])
    pair = people.expand(len(docs), 2)
    told = {"dated": day, "undated": torch.full_like(day, -1)}
    return [
        Space(kind, memories(corpus, docs, pair, manner, when, width), group, asking, gold)
        for kind, when in told.items()
    ]


def _own(corpus: Corpus, talks: Tensor, asked: Tensor, dice: torch.Generator, width: int) -> Space:
    docs, mine = _inside(corpus, talks, asked)
    docs, mine = docs[corpus.speaker[docs] == 1], mine[corpus.speaker[corpus.gold[mine]] == 1]
    people = torch.randperm(len(corpus.names), device=corpus.device, generator=dice)[:2]
    one = torch.ones_like(docs)
    beside = neighbours(corpus, docs, 4, 2 * one, one, one)
    day = torch.randint(3000, (len(talks),), device=corpus.device, generator=dice)[
        torch.searchsorted(talks, corpus.conversation[docs])
    ]
    ids = memories(corpus, docs, people.expand(len(docs), 2), one * ROLE, day, width, beside)
    return Space(
        "own",
        ids,
        corpus.conversation[docs],
        _asked(corpus, mine, people, True),
        corpus.conversation[corpus.gold[mine]],
    )


def _prose(corpus: Corpus, asked: Tensor, name: str, width: int) -> list[Space]:
    talks = corpus.conversation[corpus.gold[asked]].unique()
    docs, _ = _inside(corpus, talks, asked)
    people = torch.zeros(2, dtype=torch.long, device=corpus.device)
    asking, gold = _asked(corpus, asked, people, False), torch.searchsorted(docs, corpus.gold[asked])
    none, one = torch.full_like(docs, -1), torch.ones_like(docs)
    single = memories(corpus, docs, people.expand(len(docs), 2), one * ROLE, none, width)
    place = docs - corpus.begin[docs]
    start = docs - place % 6
    heads, passage = start.unique(return_inverse=True)
    run = torch.ones_like(heads)
    beside = neighbours(corpus, heads, 5, run, 0 * run, 5 * run)
    joined = memories(corpus, heads, people.expand(len(heads), 2), run * ROLE, -run, width, beside)
    return [
        Space(name, single, torch.arange(len(docs), device=corpus.device), asking, gold),
        Space(f"{name}+", joined, torch.arange(len(heads), device=corpus.device), asking, passage[gold]),
    ]


@torch.no_grad()
def reciprocal_ranks(model: Embedder, all_spaces: list[Space]) -> dict[str, float]:
    """Mean of one over the rank of the answering memory or session; `mean` is what settings are chosen by."""
    hits: dict[str, list[Tensor]] = {}
    for space in all_spaces:
        with torch.autocast(space.memories.device.type, torch.bfloat16, enabled=space.memories.is_cuda):
            memory, asking = encode(model, Rows(space.memories)).float(), encode(model, Rows(space.questions)).float()
        groups, place = space.group.unique(return_inverse=True)
        best = torch.full((len(asking), len(groups)), -2.0, device=asking.device)
        best.scatter_reduce_(1, place.expand(len(asking), -1), asking @ memory.T, "amax")
        gold = torch.searchsorted(groups, space.gold)
        rank = (best > best.gather(1, gold[:, None])).sum(1)
        hits.setdefault(space.kind, []).append(1.0 / (1.0 + rank.float()))
    found = {kind: float(torch.cat(values).mean()) for kind, values in hits.items()}
    halves = [[value for kind, value in found.items() if (kind in TALK) is talk] for talk in (True, False)]
    return found | {"mean": sum(sum(half) / max(1, len(half)) for half in halves) / 2}
