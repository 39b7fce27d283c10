"""Writes the model of change as an int8 ONNX graph whose chances are calibrated on the choosing families.

python -m training.reader.export OUT/four.safetensors WORDS fivefold-reader.onnx
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "embedder"))

import numpy as np
import onnx
import torch
from graph import Graph, calmed, encoder, mean
from loudness import loudness
from training.reader.learn import Rows, labels_of, logits_of, rows_of
from training.reader.pair_reader import PairReader, load
from training.reader.pairs import RELATIONS, read_pairs

from fivefold.models.bert import tokenizer
from fivefold.models.reader.layout import LONGEST

PLACES = 2 * LONGEST + 3
"""The tokens of a row at most: two texts and three marks."""


def calibration(logits: torch.Tensor, labels: torch.Tensor) -> tuple[float, np.ndarray]:
    """The scale and the shifts of the logits that make the labels most likely."""
    scale, shifts = torch.ones(1, requires_grad=True), torch.zeros(3, requires_grad=True)
    optimiser = torch.optim.LBFGS([scale, shifts], max_iter=200)

    def loss() -> torch.Tensor:
        optimiser.zero_grad()
        found = torch.nn.functional.cross_entropy(logits * scale + shifts, labels) + 1e-3 * (shifts**2).sum()
        found.backward()
        return found

    optimiser.step(loss)
    return float(scale.detach()), shifts.detach().numpy()


def written(model: PairReader, rows: Rows | None, scale: float, shifts: np.ndarray) -> onnx.ModelProto:
    """Ids, mask and parts in; logits and calibrated chances out. int8 measured over `rows`, float32 without any."""
    weights = {name: value.numpy() for name, value in model.encoder.state_dict().items()}
    if rows is not None:
        ids, _, parts = rows.batch(torch.arange(len(rows.lengths)))
        weights = calmed(weights, loudness(model.encoder, ids, parts))
    weights["places.weight"] = weights["places.weight"][:PLACES]
    graph = Graph(rows is not None)
    hidden = encoder(graph, weights, len(model.encoder.layers), "token_type_ids")
    first = graph.add("Gather", hidden, graph.constant("first", np.array(0, dtype=np.int64)), axis=1)
    both = graph.add("Concat", first, mean(graph, hidden), axis=1)
    state = {name: value.numpy() for name, value in model.state_dict().items()}
    mixed = graph.add("Tanh", graph.linear(both, "mix", state))
    product = graph.add("MatMul", mixed, graph.constant("head", state["head.weight"].T))
    logits = graph.add("Add", product, graph.constant("head.bias", state["head.bias"]), name="logits")
    shifted = graph.add("Mul", logits, graph.number(scale))
    shifted = graph.add("Add", shifted, graph.constant("shifts", shifts.astype(np.float32)))
    graph.add("Softmax", shifted, axis=-1, name="chances")
    about = {"base": "all-MiniLM-L6-v2 (Apache-2.0)", "relations": " ".join(RELATIONS), "longest": str(LONGEST)}
    inputs = ["input_ids", "attention_mask", "token_type_ids"]
    return graph.model(inputs, {"logits": ("rows", 3), "chances": ("rows", 3)}, about)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trained", type=Path, help="weights of a training run")
    parser.add_argument("words", type=Path, help="the word pieces that the model knows, one a line")
    parser.add_argument("output", type=Path, help="the ONNX file to write")
    parser.add_argument("--float32", action="store_true", help="without int8, to compare with")
    given = parser.parse_args()
    torch.set_num_threads(1)
    model = load(given.trained)
    pieces = tokenizer(512, {word: at for at, word in enumerate(given.words.read_text("utf-8").split("\n"))})
    pairs = read_pairs("choose")
    rows = rows_of(pairs, pieces, "cpu")
    scale, shifts = calibration(logits_of(model, rows, 64), labels_of(pairs, "cpu"))
    onnx.save(
        written(model, None if given.float32 else rows_of(pairs[::3], pieces, "cpu"), scale, shifts), given.output
    )
    print(f"{given.output}: {given.output.stat().st_size / 1e6:.1f} MB, scale {scale:.2f}, shifts {shifts.round(2)}")


if __name__ == "__main__":
    main()
