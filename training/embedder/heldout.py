"""What settings are chosen by: retrieval over conversations of the training sources that training never saw."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from corpus import NAMED, ROLE, UNSEEN, Corpus
from late import StoredPieces, four_bits, gather_tokens, late_scores
from layout import memories, neighbours, questions, with_before
from model import Reading, Rows, TokenEmbedder, read
from torch import Tensor

TALKS = 28
"""Conversations given to the same two people, so that a space is as large as months of real talk."""

POOL = 200
TALK = ("dated", "undated", "own", "molweni")
"""What counts half of the mean; prose and passages are the other half."""

MEASURES = ("dense", "late, own tokens", "late")

MADE = ("keywords", "rule", "rough", "spc_stmt")
"""Questions made by rule from the answer's own words: too easy to choose by."""


@dataclass(frozen=True)
class Space:
    """Memories of one namespace, what groups them (itself or its session), and the questions asked of it."""

    kind: str
    memories: Rows
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
    found = []
    for kind, when in (("dated", day), ("undated", torch.full_like(day, -1))):
        ids = memories(corpus, docs, pair, manner, when, width)
        rows = with_before(corpus, docs, pair, ids, docs > corpus.begin[docs])
        found.append(Space(kind, rows, group, asking, gold))
    return found


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
        Rows(ids),
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
        Space(name, Rows(single), torch.arange(len(docs), device=corpus.device), asking, gold),
        Space(f"{name}+", Rows(joined), torch.arange(len(heads), device=corpus.device), asking, passage[gold]),
    ]


@torch.no_grad()
def reciprocal_ranks(
    model: TokenEmbedder, all_spaces: list[Space], pieces: StoredPieces
) -> dict[str, dict[str, float]]:
    """For each measure the mean of one over the rank of the answer, by kind of space; settings are chosen by `mean`."""
    hits: dict[str, dict[str, list[Tensor]]] = {measure: {} for measure in MEASURES}
    for space in all_spaces:
        for measure, scores in zip(MEASURES, _scores(model, space, pieces), strict=True):
            hits[measure].setdefault(space.kind, []).append(1.0 / (1.0 + _ranks(space, scores).float()))
    found = {
        measure: {kind: float(torch.cat(values).mean()) for kind, values in kinds.items()}
        for measure, kinds in hits.items()
    }
    return {measure: kinds | {"mean": _mean(kinds)} for measure, kinds in found.items()}


def _scores(model: TokenEmbedder, space: Space, pieces: StoredPieces) -> list[Tensor]:
    """By the vectors, by the memories' own tokens, and by all; tokens at four bits."""
    rows = space.memories
    with torch.autocast(rows.ids.device.type, torch.bfloat16, enabled=rows.ids.is_cuda):
        memory, asking = read(model, rows), read(model, Rows(space.questions))
        stored = pieces.of(rows.ids)
        late = [_late(asking, memory.tokens, mask & stored) for mask in (rows.own_mask, rows.ids != 0)]
    return [asking.vectors.float() @ memory.vectors.float().T, *late]


def _late(asking: Reading, tokens: Tensor, chosen: Tensor, chunk: int = 256) -> Tensor:
    parts = []
    for some, mask in zip(tokens.split(chunk), chosen.split(chunk), strict=True):
        near, present = gather_tokens(some, mask)
        parts.append(late_scores(asking, four_bits(near), present, chunk=16))
    return torch.cat(parts, 1).float()


def _ranks(space: Space, scores: Tensor) -> Tensor:
    """How many groups come before the one that answers."""
    groups, place = space.group.unique(return_inverse=True)
    best = torch.full((len(scores), len(groups)), -2.0, device=scores.device)
    best.scatter_reduce_(1, place.expand(len(scores), -1), scores, "amax")
    gold = torch.searchsorted(groups, space.gold)
    return (best > best.gather(1, gold[:, None])).sum(1)


def _mean(kinds: dict[str, float]) -> float:
    halves = [[value for kind, value in kinds.items() if (kind in TALK) is talk] for talk in (True, False)]
    return sum(sum(half) / max(1, len(half)) for half in halves) / 2
