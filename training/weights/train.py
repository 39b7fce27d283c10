"""Train the retrieval weights for one embedder, from generated queries to the shipped file, in one command.

python -m training.weights.train --embedder minilm
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch
from training.weights.evaluate import Figures, figures, print_table
from training.weights.examples import OUT, examples
from training.weights.export import rounded, to_binary, to_onnx
from training.weights.generate import generate, save, split_of
from training.weights.network import EPOCHS, predicted, trained

from fivefold.models.embedders import DEFAULT, embedder
from fivefold.models.weights.features import COUNT
from fivefold.text.progress import bar

SHIPPED = Path("src/fivefold/models/data/weights.bin")
NAME = "weights-1"
SEED = 5


def train(choice: str, path: Path, *, seed: int = SEED, epochs: int = EPOCHS, show: bool = True) -> Figures:
    """Generate, embed, train on the training families, export; the figures are those of the held-out families."""
    rows = generate(seed)
    save(rows, OUT / "queries.jsonl")
    whole = examples(rows, choice, show=show)
    sides = np.array([split_of(row.family) for row in rows])
    with bar("training", epochs, show=show) as advance:
        network = trained(whole[np.flatnonzero(sides == "train")], seed, epochs, lambda epoch, loss: advance(1))
    network = rounded(network)
    model = embedder(choice)
    graph = to_onnx(network, model.dimension, COUNT, OUT / "weights.onnx")
    to_binary(graph, NAME, model.pin, model.dimension, path)
    unseen = np.flatnonzero(sides == "test")
    return figures([rows[i] for i in unseen], predicted(network, whole[unseen]))


def main() -> None:
    """Read the options, train, and print what the held-out families say."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--embedder", default=DEFAULT, help="whose vectors the model will read")
    options.add_argument("--out", type=Path, default=SHIPPED, help="where the binary goes")
    options.add_argument("--seed", type=int, default=SEED)
    options.add_argument("--threads", type=int, default=2)
    chosen = options.parse_args()
    torch.set_num_threads(chosen.threads)
    found = train(chosen.embedder, chosen.out, seed=chosen.seed)
    print_table({"held-out families": found})
    print(f"written: {chosen.out} ({chosen.out.stat().st_size:,} bytes)")


if __name__ == "__main__":
    main()
