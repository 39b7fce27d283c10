"""Writes the trained embedder as ONNX and says how near its vectors are to PyTorch's."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
import torch
from corpus import joined_files
from graph import Graph, calmed, encoder, mean, unit
from loudness import loudness
from model import TokenEmbedder
from vectors import onnx_heads, token_rows, torch_heads, trained

from fivefold.models.bert import MAX_TOKENS
from fivefold.models.embedders.fivefold_minilm import BEFORE_TOKENS, PassageTokenizer
from fivefold.values.vectors import Passage

SAMPLE = (
    Passage("When did Priya move to Lisbon?"),
    Passage("Priya (7 May 2023): I finally moved to Lisbon last week, it is tiny!", "Where do you live now?"),
    Passage("7 May 2023 I've been meaning to ask: which of the two running shoes did I say were too narrow?"),
    Passage("What is the name of my sister's dog?"),
    Passage("The committee met in 1987, and its report changed how rivers are dammed.", "Who looked into the floods?"),
)


def real_passages(data: Sequence[Path], count: int = 400) -> list[Passage]:
    """Texts of the training data with the turn before, and questions without one, half and half."""
    docs, questions = joined_files(data)
    step = max(1, 2 * len(docs) // count)
    texts = [Passage(f"Ana (3 June 2021): {docs[i][3]}", docs[i - 1][3]) for i in range(1, len(docs), step)]
    asked = [Passage(question[1]) for question in questions[:: max(1, 2 * len(questions) // count)]]
    return [Passage(with_names(passage.text), with_names(passage.before)) for passage in texts + asked]


def with_names(text: str) -> str:
    return text.replace("{A}", "Ana").replace("{B}", "Paul")


def written(model: TokenEmbedder, texts: torch.Tensor | None) -> onnx.ModelProto:
    """Ids, mask and own tokens in; vector, tokens and weights out. int8 measured over `texts`, or float32 without."""
    weights = {name: value.numpy() for name, value in model.encoder.state_dict().items()}
    if texts is not None:
        weights = calmed(weights, loudness(model.encoder, texts))
    graph = Graph(texts is not None)
    hidden = encoder(graph, weights, len(model.encoder.layers))
    unit(graph, mean(graph, hidden, "own"), 1, "vector")
    head = {name: value.numpy() for name, value in model.state_dict().items() if not name.startswith("encoder.")}
    unit(graph, graph.add("MatMul", hidden, graph.constant("head", head["head.weight"].T)), 2, "tokens")
    weighed = graph.add("MatMul", hidden, graph.constant("weigh", head["weigh.weight"].T))
    weighed = graph.add("Add", weighed, graph.constant("weigh.bias", head["weigh.bias"]))
    graph.add("Squeeze", graph.add("Softplus", weighed), graph.integers(2), name="weights")
    width, dimension = model.encoder.words.weight.shape[1], len(head["head.weight"])
    about = {
        "model": "fivefold-minilm",
        "version": "3",
        "base": "all-MiniLM-L6-v2 (Apache-2.0)",
        "max_tokens": str(MAX_TOKENS),
        "before_tokens": str(BEFORE_TOKENS),
    }
    results = {"vector": ("rows", width), "tokens": ("rows", "length", dimension), "weights": ("rows", "length")}
    return graph.model(["input_ids", "attention_mask", "own"], results, about)


def nearness(model: TokenEmbedder, path: Path) -> dict[str, float]:
    """The least cosine of vectors and tokens to PyTorch's over the sample, and the largest difference of weights."""
    ids, own = token_rows(PassageTokenizer(), SAMPLE)
    exact, found = torch_heads(model)(ids, own), onnx_heads(path)(ids, own)
    return {
        "vector": float((exact[0] * found[0]).sum(-1).min()),
        "tokens": float((exact[1] * found[1]).sum(-1)[ids != 0].min()),
        "weights": float(np.abs(exact[2] - found[2]).max()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("weights", type=Path, help="model.safetensors of all-MiniLM-L6-v2")
    parser.add_argument("trained", type=Path, help="trained.safetensors of a training run")
    parser.add_argument("output", type=Path, help="the ONNX file to write")
    parser.add_argument("data", type=Path, nargs="+", help="files of texts and questions, which int8 is measured over")
    parser.add_argument("--float32", action="store_true", help="without int8, to compare with")
    given = parser.parse_args()
    torch.set_num_threads(1)
    model = trained(given.weights, given.trained)
    texts = None
    if not given.float32:
        texts = torch.from_numpy(token_rows(PassageTokenizer(), real_passages(given.data))[0])
    onnx.save(written(model, texts), given.output)
    print(f"{given.output}: {given.output.stat().st_size / 1e6:.1f} MB")
    near = nearness(model, given.output)
    print(
        "cosine to PyTorch at least {vector:.4f}, of tokens {tokens:.4f}; weights off by {weights:.4f}".format(**near)
    )


if __name__ == "__main__":
    main()
