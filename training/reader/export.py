"""Writes the reader as an int8 ONNX graph whose chances of relations are calibrated on the choosing families.

python -m training.reader.export OUT/reader.safetensors fivefold-reader.onnx
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import onnx
import torch
from graph import Graph, calmed, encoder, mean
from loudness import loudness
from training.reader.learn import Rows, logits_of, rows_of
from training.reader.pair_reader import PairReader, load, student_words
from training.reader.pairs import RELATIONS, read_pairs

from fivefold.models.bert import WordPieces
from fivefold.models.reader import MAX_TEXT_TOKENS

PLACES = 2 * MAX_TEXT_TOKENS + 3
"""The tokens of a row at most: two texts and three marks."""


class Calibration(NamedTuple):
    """By what the logits of relations are multiplied, and what is added to each."""

    scale: float
    shifts: npt.NDArray[np.float32]


def calibrate(logits: torch.Tensor, labels: torch.Tensor) -> Calibration:
    """The scale and the shifts that make the labels most likely."""
    scale, shifts = torch.ones(1, requires_grad=True), torch.zeros(3, requires_grad=True)
    optimiser = torch.optim.LBFGS([scale, shifts], max_iter=200)

    def loss() -> torch.Tensor:
        optimiser.zero_grad()
        found = torch.nn.functional.cross_entropy(logits * scale + shifts, labels) + 1e-3 * (shifts**2).sum()
        found.backward()
        return found

    optimiser.step(loss)
    return Calibration(float(scale.detach()), shifts.detach().numpy())


def graph_of(model: PairReader, rows: Rows | None, by: Calibration) -> onnx.ModelProto:
    """Ids, mask and parts in; logits, chances and answers out. int8 measured over `rows`, float32 without any."""
    weights = {name: value.numpy() for name, value in model.encoder.state_dict().items()}
    if rows is not None:
        ids, _, parts = rows.batch(torch.arange(len(rows.lengths)))
        weights = calmed(weights, loudness(model.encoder, ids, parts))
    weights["places.weight"] = weights["places.weight"][:PLACES]
    graph = Graph(rows is not None)
    hidden = encoder(graph, weights, len(model.encoder.layers), "token_type_ids")
    first = graph.add("Gather", hidden, graph.constant("first", np.array(0, dtype=np.int64)), axis=1)
    both = graph.add("Concat", first, mean(graph, hidden), axis=1)
    add_heads(graph, both, {name: value.numpy() for name, value in model.state_dict().items()}, by)
    about = {"base": "all-MiniLM-L6-v2 (Apache-2.0)", "relations": " ".join(RELATIONS), "longest": str(MAX_TEXT_TOKENS)}
    outputs = {"logits": ("rows", 3), "chances": ("rows", 3), "answers": ("rows", 1)}
    return graph.model(["input_ids", "attention_mask", "token_type_ids"], outputs, about)


def add_heads(graph: Graph, both: str, state: dict[str, npt.NDArray[np.float32]], by: Calibration) -> None:
    """The outputs: of relations their logits and calibrated chances, of answers the log-odds."""
    mixed, weight, bias = graph.add("Tanh", graph.linear(both, "mix", state)), state["head.weight"], state["head.bias"]
    product = graph.add("MatMul", mixed, graph.constant("head", weight[:3].T))
    logits = graph.add("Add", product, graph.constant("head.bias", bias[:3]), name="logits")
    product = graph.add("MatMul", mixed, graph.constant("answer", weight[3:].T))
    graph.add("Add", product, graph.constant("answer.bias", bias[3:]), name="answers")
    scaled = graph.add("Mul", logits, graph.number(by.scale))
    shifted = graph.add("Add", scaled, graph.constant("shifts", by.shifts.astype(np.float32)))
    graph.add("Softmax", shifted, axis=-1, name="chances")


def write(model: PairReader, pieces: WordPieces, output: Path, int8: bool = True) -> Calibration:
    """Calibrated on the choosing families; every third of these pairs shows the range of values for int8."""
    pairs = read_pairs("choose")
    said = [pair.said for pair in pairs]
    labels = torch.tensor([RELATIONS.index(pair.relation) for pair in pairs])
    by = calibrate(logits_of(model, rows_of(said, pieces, "cpu"), 64)[:, :3], labels)
    onnx.save(graph_of(model, rows_of(said[::3], pieces, "cpu") if int8 else None, by), output)
    return by


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trained", type=Path, help="weights of a training run")
    parser.add_argument("output", type=Path, help="the ONNX file to write")
    parser.add_argument("--float32", action="store_true", help="without int8, to compare with")
    given = parser.parse_args()
    torch.set_num_threads(1)
    pieces = WordPieces({word: at for at, word in enumerate(student_words())})
    by = write(load(given.trained), pieces, given.output, int8=not given.float32)
    size = given.output.stat().st_size / 1e6
    print(f"{given.output}: {size:.1f} MB, scale {by.scale:.2f}, shifts {by.shifts.round(2)}")


if __name__ == "__main__":
    main()
