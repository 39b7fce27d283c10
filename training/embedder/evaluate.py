"""Dense retrieval on LoCoMo and LongMemEval with the published, the tuned or the exported model."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch
from benchmarks import Namespace, averages, locomo, longmemeval, measures
from corpus import folder
from vectors import Vectors, onnx_vectors, torch_vectors, tuned


def dense(vectors: Vectors, spaces: list[Namespace], dated: bool) -> dict[str, float]:
    """Averages over all questions of all namespaces, by cosine alone."""
    rows = []
    for space in spaces:
        memory = vectors([turn.told(dated) for turn in space.turns])
        scores = vectors([asked.text for asked in space.asked]) @ memory.T
        for asked, row in zip(space.asked, scores, strict=True):
            ranked = [space.turns[i].key for i in np.argsort(-row, kind="stable")]
            rows.append(measures(ranked, asked.gold))
    return averages(rows)


def report(vectors: Vectors, benchmarks: Path) -> dict[str, dict[str, float]]:
    """All four tables, printed as they come."""
    found = {}
    sets = {
        "LoCoMo": locomo(benchmarks / "locomo-dev.json"),
        "LongMemEval": longmemeval(benchmarks / "longmemeval-oracle-dev.json"),
    }
    for name, spaces in sets.items():
        for dated in (False, True):
            label = f"{name}, {'dated' if dated else 'undated'}"
            found[label] = dense(vectors, spaces, dated)
            print(f"{label:22s} " + "  ".join(f"{key} {value:.4f}" for key, value in found[label].items()), flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("weights", type=Path, help="model.safetensors of all-MiniLM-L6-v2")
    parser.add_argument("benchmarks", type=Path, help="folder with locomo-dev.json and longmemeval-oracle-dev.json")
    parser.add_argument("--tuned", type=Path, help="tuned.safetensors of a training run")
    parser.add_argument("--onnx", type=Path, help="the exported graph, instead of PyTorch weights")
    parser.add_argument(
        "--vocabulary", type=Path, default=folder().parents[1] / "src/fivefold/models/data/bert-uncased-vocab.txt"
    )
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    given = parser.parse_args()
    if given.onnx:
        report(onnx_vectors(given.onnx, given.vocabulary), given.benchmarks)
    else:
        model = tuned(given.weights, given.tuned).to(given.device)
        report(torch_vectors(model, given.vocabulary, given.device), given.benchmarks)


if __name__ == "__main__":
    main()
