"""The weights of e5-small from its ONNX graph, under their published names.

The graph names biases and tables but not the matrices; each matrix is found by the bias that is added after it.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper
from safetensors.numpy import save_file

PARTS = ("embeddings.", "encoder.")


def published_weights(graph: onnx.GraphProto) -> dict[str, np.ndarray]:
    """Every weight of the encoder by its published name, in float32."""
    constants = {item.name: numpy_helper.to_array(item) for item in graph.initializer}
    products = {node.output[0]: node for node in graph.node if node.op_type == "MatMul"}
    found = {name: value for name, value in constants.items() if name.startswith(PARTS) and value.dtype == np.float32}
    for node in graph.node:
        bias = next((name for name in node.input if name in found and name.endswith(".bias")), "")
        product = next((products[name] for name in node.input if name in products), None)
        if node.op_type == "Add" and bias and product:
            matrix = next(constants[name] for name in product.input if name in constants)
            found[bias.removesuffix("bias") + "weight"] = matrix.T
    return {name: np.ascontiguousarray(value) for name, value in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph", type=Path, help="e5-small.onnx; a file with its data lies in the same folder")
    parser.add_argument("output", type=Path, help="the safetensors file to write")
    given = parser.parse_args()
    weights = published_weights(onnx.load(str(given.graph)).graph)
    save_file(weights, given.output)
    print(f"{given.output}: {len(weights)} weights")


if __name__ == "__main__":
    main()
