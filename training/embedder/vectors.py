"""Texts into vectors, by PyTorch or by the exported graph, tokenised as the engine does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from corpus import CLS, SEP, word_pieces
from model import Embedder, Rows, encode, published
from safetensors.torch import load_file, save_file

MAX_TOKENS = 256
Vectors = Callable[[list[str]], np.ndarray]


def token_rows(vocabulary: Path, texts: list[str], width: int = MAX_TOKENS) -> np.ndarray:
    """Padded token ids with their end marks."""
    found = [item.ids[: width - 2] for item in word_pieces(vocabulary).encode_batch(texts)]
    rows = np.zeros((len(found), max(map(len, found)) + 2), dtype=np.int64)
    for row, ids in zip(rows, found, strict=True):
        row[: len(ids) + 2] = [CLS, *ids, SEP]
    return rows


def torch_vectors(model: Embedder, vocabulary: Path, device: str) -> Vectors:
    def vectors(texts: list[str]) -> np.ndarray:
        ids = torch.from_numpy(token_rows(vocabulary, texts)).to(device)
        with torch.no_grad():
            return encode(model, Rows(ids), 256).cpu().numpy()

    return vectors


def onnx_vectors(path: Path, vocabulary: Path, threads: int = 1) -> Vectors:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])

    def vectors(texts: list[str]) -> np.ndarray:
        ids = token_rows(vocabulary, texts)
        lengths = (ids != 0).sum(1)
        order = np.argsort(lengths)
        found = np.empty((len(ids), 384), dtype=np.float32)
        for part in np.array_split(order, max(1, len(order) // 32)):
            rows = ids[part, : lengths[part].max()]
            (found[part],) = session.run(None, {"input_ids": rows, "attention_mask": (rows != 0).astype(np.int64)})
        return found

    return vectors


def tuned(weights: Path, changed: Path | None) -> Embedder:
    """The published model, with the tuned weights put over it."""
    encoder = published(weights)
    if changed:
        state = {name: value.float() for name, value in load_file(changed).items()}
        encoder.load_state_dict(state | {"words.weight": encoder.words.weight.data})
    return Embedder(encoder).eval()


def keep(model: Embedder, path: Path) -> None:
    """The weights in half precision, without the word table, which is the published one."""
    state = model.encoder.state_dict()
    save_file({name: value.half().cpu().contiguous() for name, value in state.items() if name != "words.weight"}, path)
