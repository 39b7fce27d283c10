"""Texts through the model, by PyTorch or by the exported graph: split, stored and matched as the engine does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from model import Rows, TokenEmbedder, published, read
from safetensors.torch import load_file, save_file

from fivefold.models.bert import session
from fivefold.models.embedders import pack
from fivefold.models.embedders.fivefold_minilm import PassageTokenizer
from fivefold.values.vectors import Passage

BATCH_TOKENS = 8_192
Arrays = tuple[np.ndarray, np.ndarray, np.ndarray]
Heads = Callable[[np.ndarray, np.ndarray], Arrays]
"""Token ids and which are a text's own, into vectors, tokens and weights."""


@dataclass(frozen=True)
class Memory:
    """A memory's vector, and its stored tokens: all, and its own without those of the turn before."""

    vector: np.ndarray
    tokens: bytes
    own_tokens: bytes


@dataclass(frozen=True)
class Question:
    """A question's vector, and its tokens with weights that add up to one."""

    vector: np.ndarray
    tokens: np.ndarray
    weights: np.ndarray


def torch_heads(model: TokenEmbedder, device: str = "cpu") -> Heads:
    def heads(ids: np.ndarray, own: np.ndarray) -> Arrays:
        rows = Rows(torch.from_numpy(ids).to(device), own=torch.from_numpy(own > 0).to(device))
        with torch.no_grad():
            vectors, tokens, weights = (part.cpu().numpy() for part in read(model, rows))
        return vectors, tokens, weights

    return heads


def onnx_heads(path: Path) -> Heads:
    graph = session(path)

    def heads(ids: np.ndarray, own: np.ndarray) -> Arrays:
        mask = (ids != 0).astype(np.int64)
        given = {"input_ids": ids, "attention_mask": mask, "own": own}
        vectors, tokens, weights = graph.run(["vector", "tokens", "weights"], given)
        return vectors, tokens * mask[:, :, None], weights * mask

    return heads


def token_rows(pieces: PassageTokenizer, passages: Sequence[Passage]) -> tuple[np.ndarray, np.ndarray]:
    """Padded token ids, and which are the passages' own."""
    rows = pieces.rows(passages)
    width = max(len(row.ids) for row in rows)
    ids, own = (np.zeros((len(rows), width), dtype=np.int64) for _ in range(2))
    for number, row in enumerate(rows):
        ids[number, : len(row.ids)] = row.ids
        own[number, : row.own] = 1
    return ids, own


def read_memories(heads: Heads, passages: Sequence[Passage]) -> list[Memory]:
    """Each passage's vector and its stored tokens, at four bits."""
    pieces = PassageTokenizer()
    found: dict[int, Memory] = {}
    for chosen, ids, own in _batches(pieces, passages):
        vectors, tokens, _ = heads(ids, own)
        stored = pieces.stored(ids, (ids != 0).astype(np.int64))
        for number, vector, token, keep, mine in zip(chosen, vectors, tokens, stored, own > 0, strict=True):
            found[number] = Memory(vector, pack(token[keep]), pack(token[keep & mine]))
    return [found[number] for number in range(len(passages))]


def read_questions(heads: Heads, texts: Sequence[str]) -> list[Question]:
    found: dict[int, Question] = {}
    for chosen, ids, own in _batches(PassageTokenizer(), [Passage(text) for text in texts]):
        for number, length, vector, tokens, weights in zip(chosen, own.sum(1), *heads(ids, own), strict=True):
            found[number] = Question(vector, tokens[:length], weights[:length] / weights[:length].sum())
    return [found[number] for number in range(len(texts))]


def _batches(
    pieces: PassageTokenizer, passages: Sequence[Passage]
) -> Iterator[tuple[list[int], np.ndarray, np.ndarray]]:
    """Passages of like length together."""
    lengths = [len(row.ids) for row in pieces.rows(passages)]
    grouped: list[list[int]] = []
    for place in sorted(range(len(lengths)), key=lengths.__getitem__):
        if not grouped or (len(grouped[-1]) + 1) * lengths[place] > BATCH_TOKENS:
            grouped.append([])
        grouped[-1].append(place)
    for chosen in grouped:
        yield chosen, *token_rows(pieces, [passages[number] for number in chosen])


def trained(weights: Path, changes: Path) -> TokenEmbedder:
    """The published model's word table with the trained weights."""
    encoder = published(weights)
    state = {name: value.float() for name, value in load_file(changes).items()}
    model = TokenEmbedder(encoder, len(state["head.weight"]))
    model.load_state_dict(state | {"encoder.words.weight": encoder.words.weight.data})
    return model.eval()


def save(model: TokenEmbedder, path: Path) -> None:
    """The weights in half precision, without the word table, which is the published one."""
    state = {name: value for name, value in model.state_dict().items() if name != "encoder.words.weight"}
    save_file({name: value.half().cpu().contiguous() for name, value in state.items()}, path)
