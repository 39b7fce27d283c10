"""Pairs to learn from: all questions and memories of some scenes, and questions of the corpus with theirs.

The embedder reads both and stays as it is; memories are at four bits, as they are stored.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from batches import Batch
from late import NO_MATCH, StoredPieces, four_bits, gather_tokens
from model import Reading, Rows, TokenEmbedder, read
from torch import Tensor
from training.answers.head import Pairs
from training.answers.scenes import Scene, draw_day
from vectors import token_rows

from fivefold.models.embedders.passage_tokens import PassageTokenizer
from fivefold.values.reading import Passage

CHUNK = 2_048
"""Pairs whose tokens are compared at once."""


@dataclass(frozen=True)
class Lesson:
    """Pairs with whether the memory answers, and the numbers of each pair's question and memory."""

    pairs: Pairs
    answers: Tensor
    question: Tensor
    memory: Tensor


@dataclass(frozen=True)
class Reader:
    """The embedder as it is, and which word pieces it stores."""

    model: TokenEmbedder
    pieces: StoredPieces
    device: torch.device

    def rows(self, texts: Sequence[str]) -> Rows:
        ids, own = token_rows(PassageTokenizer(), [Passage(text) for text in texts])
        return Rows(torch.from_numpy(ids).to(self.device), own=torch.from_numpy(own > 0).to(self.device))

    @torch.no_grad()
    def read(self, rows: Rows) -> Reading:
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.device.type == "cuda"):
            found = read(self.model, rows)
        return Reading(*(part.float() for part in found))

    def stored(self, found: Reading, rows: Rows) -> tuple[Tensor, Tensor]:
        """The tokens that have a vector in the store, at four bits, and which places are filled."""
        tokens, present = gather_tokens(found.tokens, (rows.ids != 0) & self.pieces.of(rows.ids))
        return four_bits(tokens), present


def scene_lesson(reader: Reader, scenes: Sequence[Scene], dice: random.Random) -> Lesson:
    """Every question of each scene with every memory of it, the scene moved in time."""
    told, asked, right = list[str](), list[str](), list[tuple[int, int]]()
    question, memory = list[int](), list[int]()
    for scene in scenes:
        first, moved = len(told), draw_day(dice)
        told += [item.laid_out(moved) for item in scene.memories]
        for item in scene.questions:
            right += [(len(asked), first + place) for place in item.answers]
            question += [len(asked)] * len(scene.memories)
            memory += range(first, len(told))
            asked.append(item.text)
    target = torch.zeros(len(asked), len(told), dtype=torch.bool)
    for place in right:
        target[place] = True
    of, which = (torch.tensor(numbers, device=reader.device) for numbers in (question, memory))
    return _lesson(reader, reader.rows(asked), reader.rows(told), of, which, target.to(reader.device)[of, which])


def corpus_lesson(reader: Reader, given: Batch) -> Lesson:
    """Each question of a batch with its own memories, of which the first answers."""
    count = len(given.questions.ids)
    each = len(given.memories.ids) // count
    memory = torch.arange(count * each, device=reader.device)
    question = memory // each
    chosen = given.open[question, memory]
    question, memory = question[chosen], memory[chosen]
    return _lesson(reader, given.questions, given.memories, question, memory, memory % each == 0)


def _lesson(reader: Reader, asked: Rows, told: Rows, question: Tensor, memory: Tensor, answers: Tensor) -> Lesson:
    read_asked, read_told = reader.read(asked), reader.read(told)
    tokens, present = reader.stored(read_told, told)
    late = _late(read_asked, tokens, present, question, memory)
    dense = (read_asked.vectors[question] * read_told.vectors[memory]).sum(-1)
    length = present[memory].sum(1).clamp(min=1).float().log() - 3
    pairs = Pairs(
        read_asked.tokens[question],
        read_asked.weights[question],
        (asked.ids != 0)[question],
        tokens[memory],
        present[memory],
        torch.stack([5 * late, 5 * dense, length], -1),
    )
    return Lesson(pairs, answers, question, memory)


def _late(
    asked: Reading, tokens: Tensor, present: Tensor, question: Tensor, memory: Tensor, chunk: int = 2048
) -> Tensor:
    """Late interaction of each pair."""
    weights = asked.weights / asked.weights.sum(1, keepdim=True).clamp(min=1e-6)
    found = []
    for some, others in zip(question.split(CHUNK), memory.split(CHUNK), strict=True):
        near = torch.einsum("pad,pbd->pab", asked.tokens[some], tokens[others])
        best = near.masked_fill(~present[others][:, None, :], NO_MATCH).amax(-1)
        found.append((best * weights[some]).sum(-1))
    return torch.cat(found)
