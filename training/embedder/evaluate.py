"""Dense retrieval and late interaction on LoCoMo and LongMemEval, with PyTorch weights or the exported graph."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from benchmarks import Namespace, averages, locomo, longmemeval, measures
from vectors import Heads, Memory, Question, onnx_heads, read_memories, read_questions, torch_heads, trained

from fivefold.models.embedders import best_matches
from fivefold.values.vectors import Passage


def all_scores(question: Question, memories: list[Memory]) -> Iterator[tuple[str, np.ndarray]]:
    """By the vector; by the memories' own tokens; by these and those of the turn before."""
    yield "dense", np.stack([memory.vector for memory in memories]) @ question.vector
    for name, tokens in (
        ("late, own tokens", [memory.own_tokens for memory in memories]),
        ("late", [memory.tokens for memory in memories]),
    ):
        yield name, best_matches(question.tokens, tokens) @ question.weights


def results(heads: Heads, spaces: list[Namespace]) -> dict[str, dict[str, float]]:
    """Averages over all questions of all namespaces, for each way to score."""
    rows: dict[str, list[dict[str, float]]] = {}
    for space in spaces:
        memories = read_memories(heads, [Passage(turn.told(), turn.before) for turn in space.turns])
        questions = read_questions(heads, [asked.text for asked in space.asked])
        for asked, question in zip(space.asked, questions, strict=True):
            for name, scores in all_scores(question, memories):
                ranked = [space.turns[i].key for i in np.argsort(-scores, kind="stable")]
                rows.setdefault(name, []).append(measures(ranked, asked.gold))
    return {name: averages(found) for name, found in rows.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("benchmarks", type=Path, help="folder with locomo-dev.json and longmemeval-oracle-dev.json")
    parser.add_argument("model", type=Path, help="the exported graph, or trained.safetensors of a training run")
    parser.add_argument("--weights", type=Path, help="model.safetensors of all-MiniLM-L6-v2, for a training run")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    given = parser.parse_args()
    if given.model.suffix == ".onnx":
        heads = onnx_heads(given.model)
    else:
        heads = torch_heads(trained(given.weights, given.model).to(given.device), given.device)
    sets = {
        "LoCoMo": locomo(given.benchmarks / "locomo-dev.json"),
        "LongMemEval": longmemeval(given.benchmarks / "longmemeval-oracle-dev.json"),
    }
    for benchmark, spaces in sets.items():
        for name, found in results(heads, spaces).items():
            figures = "  ".join(f"{measure} {value:.4f}" for measure, value in found.items())
            print(f"{benchmark:12s} {name:17s} {figures}", flush=True)


if __name__ == "__main__":
    main()
