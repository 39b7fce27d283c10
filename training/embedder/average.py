"""The mean of two trained models, weight by weight, for runs that began from the same weights and heads.

The first may be a shipped graph: its int8 weights are read back. A mean keeps what each of the two has learned.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from safetensors.torch import load_file, save_file
from torch import Tensor

HEADS = {"head.weight": "head", "weigh.weight": "weigh", "weigh.bias": "weigh.bias"}


def weights_of_graph(path: Path, like: dict[str, Tensor]) -> dict[str, Tensor]:
    """The weights of a graph that `export.py` wrote, by their names in training."""
    stored = {item.name: numpy_helper.to_array(item) for item in onnx.load(str(path)).graph.initializer}
    part = like["encoder.parts.weight"].float()
    found = {"encoder.parts.weight": part, "encoder.places.weight": torch.tensor(stored["places"]) - part[0]}
    for name in like.keys() - found.keys():
        own = HEADS.get(name, name.removeprefix("encoder."))
        value = stored[own] if own in stored else matrix(stored, own.removesuffix(".weight"))
        found[name] = torch.tensor(np.ascontiguousarray(value.T if name.startswith(tuple(HEADS)) else value)).float()
    return found


def matrix(stored: dict[str, np.ndarray], name: str) -> np.ndarray:
    """One int8 matrix as numbers, without the calming of its inputs."""
    return (stored[name] * stored[f"{name}.scale"] * stored[f"{name}.calm"][:, None]).T  # type: ignore[no-any-return]


def turned(head: Tensor, towards: Tensor) -> Tensor:
    """A token head in the axes that bring it nearest to another; its products with itself stay as they are."""
    left, _, right = torch.linalg.svd(towards @ head.T)
    return left @ right @ head


def average(first: dict[str, Tensor], second: dict[str, Tensor], share: float) -> dict[str, Tensor]:
    """`share` of the second and the rest of the first."""
    other = second | {"head.weight": turned(second["head.weight"].float(), first["head.weight"].float())}
    return {name: ((1 - share) * value.float() + share * other[name].float()).half() for name, value in first.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("first", type=Path, help="a shipped graph, or trained.safetensors of a training run")
    parser.add_argument("second", type=Path, help="trained.safetensors of another run")
    parser.add_argument("share", type=float, help="how much of the second is in the mean, between 0 and 1")
    parser.add_argument("output", type=Path, help="the safetensors file to write")
    given = parser.parse_args()
    second = {name: value for name, value in load_file(given.second).items() if name != "encoder.words.weight"}
    first = weights_of_graph(given.first, second) if given.first.suffix == ".onnx" else load_file(given.first)
    save_file({name: value.contiguous() for name, value in average(first, second, given.share).items()}, given.output)


if __name__ == "__main__":
    main()
