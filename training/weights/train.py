"""Train the retrieval weights for one embedder, from generated queries to the shipped file, in one command.

python -m training.weights.train --embedder minilm
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from training.weights.evaluate import RANDOM, SMALL, Figures, figures, held_out, print_table
from training.weights.examples import OUT, examples, vectors
from training.weights.export import rounded, to_binary, to_onnx
from training.weights.generate import Row, generate, save, split_of
from training.weights.heads import HeadLessons, save_heads
from training.weights.lists import Lists, join, lists_of, scene_lists, simulated
from training.weights.network import EPOCHS, Examples, predicted, trained

from fivefold.models.embedders import DEFAULT, embedder
from fivefold.models.weights import FILE
from fivefold.models.weights.features import FEATURE_COUNT
from fivefold.text.display import bar

SHIPPED = Path("src/fivefold/models/data/weights.bin")
NAME = "weights-2"
HEADS = "signals-1"
SEED = 5
DRAWS = 5
"""How often a small random split is drawn, for 200 queries alone say little."""

FEW_SCENES = 2
"""Groups of scenes that a short training takes along."""


def train(choice: str, path: Path, *, seed: int = SEED, epochs: int = EPOCHS, show: bool = True) -> dict[str, Figures]:
    """Generate, embed, train weights and heads on the training families, export; the figures of every split (D7)."""
    rows = generate(seed)
    save(rows, OUT / "queries.jsonl")
    whole = examples(rows, choice, show=show)
    seen = np.flatnonzero([split_of(row.family) == "train" for row in rows])
    scenes = scene_lists(choice, None if epochs >= EPOCHS else FEW_SCENES, show=show)
    torch.manual_seed(seed)
    further = HeadLessons(join([simulated_lists([rows[i] for i in seen], choice, seed, show=show), scenes]))
    with bar("training", epochs, show=show) as advance:
        network = trained(whole[seen], seed, epochs, lambda epoch, loss: advance(1), further)
    network = rounded(network)
    model = embedder(choice)
    graph = to_onnx(network, model.dimension, FEATURE_COUNT, OUT / "weights.onnx")
    to_binary(graph, NAME, model.pin, model.dimension, path)
    save_heads(further.heads, HEADS, NAME, path.with_name(FILE))
    return {
        SMALL: random_split(rows, whole, seed, epochs, DRAWS, 1_000, 200),
        RANDOM: random_split(rows, whole, seed, epochs, 1, len(rows), len(rows) // 10),
        **{
            name: figures([rows[i] for i in unseen], predicted(network, whole[np.array(unseen)]))
            for name, unseen in held_out(rows).items()
        },
    }


def random_split(
    rows: Sequence[Row], whole: Examples, seed: int, epochs: int, draws: int, size: int, unseen: int
) -> Figures:
    """Networks of their own, each trained on a random share of `size` queries and measured on the `unseen` others.

    That is the split of the published figures. The wordings of the test queries are seen in training.
    """
    asked: list[Row] = []
    told = []
    for draw in range(draws):
        order = np.random.default_rng([seed, draw]).permutation(len(rows))[:size]
        network = trained(whole[order[unseen:]], seed + draw, epochs)
        asked += [rows[i] for i in order[:unseen]]
        told.append(predicted(network, whole[order[:unseen]]))
    return figures(asked, np.concatenate(told))


def simulated_lists(rows: Sequence[Row], choice: str, seed: int, *, show: bool = True) -> Lists:
    """A simulated list of candidates for each query."""
    listed = list(simulated(rows, seed))
    return lists_of(listed, vectors([one.text for one in listed], choice, show=show))


def main() -> None:
    """Read the options, train, and print the figures of every split."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--embedder", default=DEFAULT, help="whose vectors the model will read")
    options.add_argument("--out", type=Path, default=SHIPPED, help="where the binary goes")
    options.add_argument("--seed", type=int, default=SEED)
    options.add_argument("--epochs", type=int, default=EPOCHS, help="rounds over the queries")
    options.add_argument("--threads", type=int, default=2)
    chosen = options.parse_args()
    torch.set_num_threads(chosen.threads)
    found = train(chosen.embedder, chosen.out, seed=chosen.seed, epochs=chosen.epochs)
    print_table(found)
    print(f"written: {chosen.out} ({chosen.out.stat().st_size:,} bytes)")


if __name__ == "__main__":
    main()
