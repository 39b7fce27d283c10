"""Writes the tuned embedder as ONNX and says how near its vectors are to PyTorch's."""

from __future__ import annotations

import argparse
import json
import lzma
from pathlib import Path

import numpy as np
import onnx
import torch
from corpus import folder
from graph import Graph, calmed, encoder, mean
from loudness import loudness
from model import Embedder
from vectors import onnx_vectors, token_rows, torch_vectors, tuned

SAMPLE = [
    "When did Priya move to Lisbon?",
    "Priya (7 May 2023): I finally moved to Lisbon last week, the flat is tiny but the view is worth it!",
    "7 May 2023 I've been meaning to ask: which of the two running shoes did I say were too narrow?",
    "What is the name of my sister's dog?",
    "The committee met in 1987, and its report, published two years later, changed how rivers are dammed.",
]


def real_texts(data: Path, vocabulary: Path, count: int = 256) -> torch.Tensor:
    """Token ids of some texts and questions of the training data."""
    with lzma.open(data) as file:
        held = json.load(file)
    texts = [f"Ana (3 June 2021): {doc[3]}" for doc in held["docs"]] + [question[1] for question in held["q"]]
    some = [text.replace("{A}", "Ana").replace("{B}", "Paul") for text in texts[:: len(texts) // count]]
    return torch.from_numpy(token_rows(vocabulary, some))


def written(model: Embedder, texts: torch.Tensor | None) -> onnx.ModelProto:
    """Token ids and mask in, one unit vector a row out; int8 measured over `texts`, or float32 without any."""
    weights = {name: value.numpy() for name, value in model.encoder.state_dict().items()}
    if int8 := texts is not None:
        weights = calmed(weights, loudness(model.encoder, texts))
    graph = Graph(int8)
    vector = mean(graph, encoder(graph, weights, len(model.encoder.layers)))
    length = graph.add("ReduceL2", vector, graph.integers(1), keepdims=1)
    graph.add("Div", vector, length, name="vector")
    about = {"model": "fivefold-minilm", "base": "all-MiniLM-L6-v2 (Apache-2.0)", "max_tokens": "256"}
    shape = ("rows", model.encoder.words.weight.shape[1])
    return graph.model(["input_ids", "attention_mask"], {"vector": shape}, about)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("weights", type=Path, help="model.safetensors of all-MiniLM-L6-v2")
    parser.add_argument("tuned", type=Path, help="tuned.safetensors of a training run")
    parser.add_argument("data", type=Path, help="memory-qa.json.xz, whose texts int8 is measured over")
    parser.add_argument("output", type=Path, help="the ONNX file to write")
    parser.add_argument("--float32", action="store_true", help="without int8, to compare with")
    parser.add_argument(
        "--vocabulary", type=Path, default=folder().parents[1] / "src/fivefold/models/data/bert-uncased-vocab.txt"
    )
    given = parser.parse_args()
    torch.set_num_threads(1)
    model = tuned(given.weights, given.tuned)
    onnx.save(written(model, None if given.float32 else real_texts(given.data, given.vocabulary)), given.output)
    near = np.sum(
        onnx_vectors(given.output, given.vocabulary)(SAMPLE) * torch_vectors(model, given.vocabulary, "cpu")(SAMPLE),
        axis=1,
    )
    print(f"{given.output}: {given.output.stat().st_size / 1e6:.1f} MB, cosine to PyTorch at least {near.min():.5f}")


if __name__ == "__main__":
    main()
