"""Writes a cross-encoder as ONNX with its calibration, and says how near its scores are to PyTorch's."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "embedder"))

import numpy as np
import onnx
import torch
from batches import scene
from calibrate import Calibration, calibrated
from corpus import Corpus, read_corpus, vocabulary_file
from evaluate import onnx_score
from graph import Graph, calmed, encoder, mean
from loudness import loudness
from model import Rows, published
from pairs import BEFORE, QUESTION, TEXT, told_pairs
from scorer import Scorer, load, scores
from train import Settings


def real_pairs(corpus: Corpus) -> Rows:
    """Some pairs of the training data, laid out as in training."""
    dice = torch.Generator().manual_seed(5)
    asked = torch.arange(len(corpus.questions))
    told = scene(corpus, asked, None, Settings().mixture, dice)
    return told_pairs(corpus, told, asked % 2 == 0)


def written(model: Scorer, calibration: Calibration, pairs: Rows | None) -> onnx.ModelProto:
    """Ids, mask and parts in; logit and calibrated score out. int8 measured over `pairs`, or float32 without any."""
    weights = {name: value.numpy() for name, value in model.encoder.state_dict().items()}
    if pairs is not None:
        weights = calmed(weights, loudness(model.encoder, pairs.ids, pairs.parts))
    graph = Graph(pairs is not None)
    hidden = encoder(graph, weights, len(model.encoder.layers), "token_type_ids")
    first = graph.add("Gather", hidden, graph.constant("first", np.array(0, dtype=np.int64)), axis=1)
    both = graph.add("Concat", first, mean(graph, hidden), axis=1)
    head = {name: value.numpy() for name, value in model.head.state_dict().items()}
    product = graph.add("MatMul", both, graph.constant("head", head["weight"][0]))
    logit = graph.add("Add", product, graph.number(float(head["bias"][0])), name="logit")
    raised = graph.add("Mul", logit, graph.number(calibration.scale))
    graph.add("Sigmoid", graph.add("Add", raised, graph.number(calibration.shift)), name="score")
    about = {
        "base": "all-MiniLM-L6-v2 (Apache-2.0)",
        "question": str(QUESTION),
        "text": str(TEXT),
        "before": str(BEFORE),
    }
    inputs = ["input_ids", "attention_mask", "token_type_ids"]
    return graph.model(inputs, {"logit": ("rows",), "score": ("rows",)}, about)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("weights", type=Path, help="model.safetensors of all-MiniLM-L6-v2, for its word table")
    parser.add_argument("trained", type=Path, help="weights of a training run; judged.npz stands beside them")
    parser.add_argument("data", type=Path, help="memory-qa.json.xz, over whose texts int8 is measured")
    parser.add_argument("output", type=Path, help="the ONNX file to write")
    parser.add_argument("--float32", action="store_true", help="without int8, to compare with")
    parser.add_argument("--vocabulary", type=Path, default=vocabulary_file())
    given = parser.parse_args()
    torch.set_num_threads(1)
    model = load(given.trained, published(given.weights).words.weight.data)
    calibration, before, after = calibrated(given.trained.parent / "judged.npz", given.trained.stem)
    pairs = real_pairs(read_corpus([given.data], given.vocabulary, "cpu", limit=60))
    onnx.save(written(model, calibration, None if given.float32 else pairs), given.output)
    assert pairs.parts is not None
    with torch.no_grad():
        exact = scores(model, pairs).numpy()
    found = onnx_score(given.output)(pairs.ids.numpy(), pairs.parts.numpy())
    alike, gap = np.corrcoef(exact, found)[0, 1], np.abs(exact - found).max()
    print(f"{given.output}: {given.output.stat().st_size / 1e6:.1f} MB")
    print(f"logits correlate {alike:.5f} with PyTorch's, largest gap {gap:.4f}")
    print(
        f"calibration: scale {calibration.scale:.3f}, shift {calibration.shift:.3f}, error {before:.4f} -> {after:.4f}"
    )


if __name__ == "__main__":
    main()
