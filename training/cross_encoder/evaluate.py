"""Reranks the first stage's lists and says what it gains, by depth and by share of the fused score in the blend."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "embedder"))

import numpy as np
import torch
from benchmarks import averages, measures
from corpus import vocabulary_file, word_pieces
from model import Rows, published
from pairs import BEFORE, TEXT, written_pairs
from scorer import load, scores

DEPTHS = (50, 20, 10)
SHARES = (0.3, 0.4, 0.5, 0.6)
Lists = list[dict[str, Any]]
Score = Callable[[np.ndarray, np.ndarray], np.ndarray]


def scaled(values: np.ndarray) -> np.ndarray:
    low, high = values.min(), values.max()
    return (values - low) / (high - low) if high > low else np.zeros_like(values)


def torch_score(weights: Path, words: torch.Tensor, device: str) -> Score:
    model = load(weights, words).to(device)

    def score(ids: np.ndarray, parts: np.ndarray) -> np.ndarray:
        rows = Rows(torch.from_numpy(ids).to(device), torch.from_numpy(parts).to(device))
        with torch.no_grad(), torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
            return scores(model, rows).cpu().numpy()

    return score


def onnx_score(path: Path, threads: int = 1) -> Score:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])

    def score(ids: np.ndarray, parts: np.ndarray) -> np.ndarray:
        lengths = (ids != 0).sum(1)
        found = np.empty(len(ids), dtype=np.float32)
        for rows in np.array_split(np.argsort(lengths), max(1, len(ids) // 10)):
            width = lengths[rows].max()
            given = {"input_ids": ids[rows, :width], "token_type_ids": parts[rows, :width]}
            found[rows] = session.run(
                ["logit"], given | {"attention_mask": (given["input_ids"] != 0).astype(np.int64)}
            )[0]
        return found

    return score


def scored(lists: Lists, score: Score, vocabulary: Path, text: int, before: int, at_once: int = 40) -> list[np.ndarray]:
    """The score of every memory of every list."""
    tokenizer, found = word_pieces(vocabulary), []
    for start in range(0, len(lists), at_once):
        pairs = [
            written_pairs(tokenizer, item["question"], item["memories"], text, before)
            for item in lists[start : start + at_once]
        ]
        width = max(ids.shape[1] for ids, _ in pairs)
        ids, parts = (
            np.concatenate([np.pad(x[i], ((0, 0), (0, width - x[i].shape[1]))) for x in pairs]) for i in (0, 1)
        )
        found += np.split(score(ids, parts), np.cumsum([len(x) for x, _ in pairs])[:-1])
    return found


def reranked(item: dict[str, Any], logits: np.ndarray, depth: int, share: float) -> list[str]:
    """Keys in the order of the blend: the first `depth` by fused and cross-encoder score, the rest as they were."""
    fused = scaled(np.array(item["fused"][:depth]))
    blend = share * fused + (1 - share) * scaled(logits[:depth])
    order = np.argsort(-blend, kind="stable")
    return [*(item["keys"][i] for i in order), *item["keys"][depth:], *item["rest"]]


def table(lists: Lists, logits: list[np.ndarray]) -> dict[str, dict[str, float]]:
    """Measures without reranking, and for each depth and share."""
    found = {"none": averages([measures([*item["keys"], *item["rest"]], item["gold"]) for item in lists])}
    for depth in DEPTHS:
        for share in SHARES:
            rows = [
                measures(reranked(item, one, depth, share), item["gold"])
                for item, one in zip(lists, logits, strict=True)
            ]
            found[f"{depth} deep, {share:.1f} fused"] = averages(rows)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("weights", type=Path, help="model.safetensors of all-MiniLM-L6-v2, for its word table")
    parser.add_argument("lists", type=Path, help="folder with locomo.json and longmemeval.json from first_stage.py")
    parser.add_argument("models", type=Path, nargs="+", help="saved weights or exported graphs")
    parser.add_argument("--scores", type=Path, help="an .npz file to keep all scores in")
    parser.add_argument("--text", type=int, default=TEXT)
    parser.add_argument("--before", type=int, default=BEFORE)
    parser.add_argument("--vocabulary", type=Path, default=vocabulary_file())
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    given = parser.parse_args()
    words, kept = published(given.weights).words.weight.data, {}
    for path in given.models:
        score = onnx_score(path) if path.suffix == ".onnx" else torch_score(path, words, given.device)
        for name in ("locomo", "longmemeval"):
            lists = json.loads((given.lists / f"{name}.json").read_text())
            logits = scored(lists, score, given.vocabulary, given.text, given.before)
            kept[f"{path.stem} {name} {given.text} {given.before}"] = np.stack(
                [np.pad(x, (0, 50 - len(x))) for x in logits]
            )
            for label, row in table(lists, logits).items():
                print(
                    f"{path.stem:18s} {name:12s} {label:20s} " + "  ".join(f"{k} {v:.4f}" for k, v in row.items()),
                    flush=True,
                )
    if given.scores:
        np.savez_compressed(given.scores, **kept)  # type: ignore[arg-type]


if __name__ == "__main__":
    main()
