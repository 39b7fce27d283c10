"""An encoder written out as an ONNX graph, by hand: int8 matrix products (`MatMulInteger`), or float32 to compare with.

Weights are int8 with one scale a column, in seven bits so that no CPU's 16-bit sums overflow; activations are measured
as they come. Before that, channels that run high are calmed and their weights raised (as SmoothQuant does), since one
loud channel costs all others their precision. The word table is int8 with one scale a word.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

HEADS = 12
EPSILON = 1e-12
RANGE = 63
CALM = 0.75
"""How much of a channel's loudness moves into the weights."""

OPSET, IR = 20, 9
Weights = Mapping[str, np.ndarray]
Shape = Sequence[str | int]


@dataclass
class Graph:
    """Nodes and constants as they are added; each `add` gives the name of its result."""

    int8: bool = True
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    constants: dict[str, onnx.TensorProto] = field(default_factory=dict)
    measured: dict[str, tuple[str, str, str]] = field(default_factory=dict)

    def add(self, kind: str, *inputs: str, outputs: int = 1, name: str = "", **attributes: Any) -> str:
        names = [name] if name else [f"{kind.lower()}_{len(self.nodes)}{'abc'[i]}" for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, list(inputs), names, **attributes))
        return names[0]

    def constant(self, name: str, value: np.ndarray) -> str:
        self.constants.setdefault(name, numpy_helper.from_array(np.asarray(value, order="C"), name))
        return name

    def integers(self, *values: int) -> str:
        return self.constant("int_" + "_".join(map(str, values)), np.array(values, dtype=np.int64))

    def number(self, value: float) -> str:
        return self.constant(f"float_{value}", np.array(value, dtype=np.float32))

    def linear(self, x: str, name: str, weights: Weights) -> str:
        """x · Wᵀ + b. Products of one input share its measured scale."""
        matrix, bias = weights[f"{name}.weight"].T, self.constant(f"{name}.bias", weights[f"{name}.bias"])
        if not self.int8:
            return self.add("Add", self.add("MatMul", x, self.constant(name, matrix)), bias)
        if (calm := weights.get(f"{name}.calm")) is not None:
            x = self.add("Mul", x, self.constant(f"{name}.calm", (1 / calm).astype(np.float32)))
            matrix = matrix * calm[:, None]
        scale = np.abs(matrix).max(axis=0) / RANGE + 1e-12
        packed = self.constant(name, np.rint(matrix / scale).astype(np.int8))
        zeros = self.constant(f"zero_{matrix.shape[1]}", np.zeros(matrix.shape[1], dtype=np.int8))
        if x not in self.measured:
            first = self.add("DynamicQuantizeLinear", x, outputs=3)
            self.measured[x] = (first, f"{first[:-1]}b", f"{first[:-1]}c")
        codes, step, zero = self.measured[x]
        product = self.add("Cast", self.add("MatMulInteger", codes, packed, zero, zeros), to=TensorProto.FLOAT)
        scales = self.add("Mul", step, self.constant(f"{name}.scale", scale.astype(np.float32)))
        return self.add("Add", self.add("Mul", product, scales), bias)

    def norm(self, x: str, name: str, weights: Weights) -> str:
        scale, bias = (self.constant(f"{name}.{kind}", weights[f"{name}.{kind}"]) for kind in ("weight", "bias"))
        return self.add("LayerNormalization", x, scale, bias, axis=-1, epsilon=EPSILON)

    def model(self, inputs: Sequence[str], results: Mapping[str, Shape], about: Mapping[str, str]) -> onnx.ModelProto:
        """The finished model; `results` are names of nodes' outputs with their shapes."""
        graph = helper.make_graph(
            self.nodes,
            "encoder",
            [helper.make_tensor_value_info(name, TensorProto.INT64, ["rows", "length"]) for name in inputs],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, list(shape)) for name, shape in results.items()],
            list(self.constants.values()),
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR)
        helper.set_model_props(model, dict(about))
        onnx.checker.check_model(model)
        return model


def calmed(weights: Weights, peaks: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The weights with a divisor for each input channel of each product whose `peaks` are known."""
    calm = {}
    for name, peak in peaks.items():
        strength = np.abs(weights[f"{name}.weight"]).max(axis=0)
        calm[f"{name}.calm"] = np.maximum(peak, 1e-5) ** CALM / np.maximum(strength, 1e-5) ** (1 - CALM)
    return dict(weights) | calm


def word_vectors(graph: Graph, ids: str, table: np.ndarray) -> str:
    """Rows of the word table, from one byte a number."""
    if not graph.int8:
        return graph.add("Gather", graph.constant("words", table), ids)
    scale = np.abs(table).max(axis=1, keepdims=True) / 127 + 1e-12
    codes = graph.constant("words", np.rint(table / scale).astype(np.int8))
    found = graph.add("Cast", graph.add("Gather", codes, ids), to=TensorProto.FLOAT)
    return graph.add("Mul", found, graph.add("Gather", graph.constant("words.scale", scale.astype(np.float32)), ids))


def encoder(graph: Graph, weights: Weights, layers: int, parts: str | None = None) -> str:
    """Token vectors of the last layer."""
    length = graph.add("Shape", "input_ids", start=1, end=2)
    places = weights["places.weight"] + (0 if parts else weights["parts.weight"][0])
    place = graph.add("Slice", graph.constant("places", places), graph.integers(0), length, graph.integers(0))
    x = graph.add("Add", word_vectors(graph, "input_ids", weights["words.weight"]), place)
    if parts:
        x = graph.add("Add", x, graph.add("Gather", graph.constant("parts", weights["parts.weight"]), parts))
    x = graph.norm(x, "start", weights)
    seen = graph.add("Cast", "attention_mask", to=TensorProto.FLOAT)
    away = graph.add("Mul", graph.add("Sub", graph.number(1.0), seen), graph.number(-1e4))
    bias = graph.add("Unsqueeze", away, graph.integers(1, 2))
    for number in range(layers):
        x = layer(graph, x, bias, f"layers.{number}", weights)
    return x


def layer(graph: Graph, x: str, bias: str, name: str, weights: Weights) -> str:
    """One transformer layer; the same steps as `model.Layer`."""
    width = weights[f"{name}.out.bias"].shape[0]
    size = width // HEADS
    heads = graph.add("Reshape", graph.linear(x, f"{name}.qkv", weights), graph.integers(0, 0, 3 * HEADS, size))
    heads = graph.add("Transpose", heads, perm=[0, 2, 1, 3])
    q, k, v = (
        graph.add("Slice", heads, graph.integers(i * HEADS), graph.integers((i + 1) * HEADS), graph.integers(1))
        for i in range(3)
    )
    scores = graph.add(
        "MatMul", graph.add("Mul", q, graph.number(size**-0.5)), graph.add("Transpose", k, perm=[0, 1, 3, 2])
    )
    mixed = graph.add("MatMul", graph.add("Softmax", graph.add("Add", scores, bias), axis=-1), v)
    mixed = graph.add("Reshape", graph.add("Transpose", mixed, perm=[0, 2, 1, 3]), graph.integers(0, 0, width))
    x = graph.norm(graph.add("Add", x, graph.linear(mixed, f"{name}.out", weights)), f"{name}.attended", weights)
    inner = graph.add("Gelu", graph.linear(x, f"{name}.up", weights))
    return graph.norm(graph.add("Add", x, graph.linear(inner, f"{name}.down", weights)), f"{name}.settled", weights)


def mean(graph: Graph, hidden: str, mask: str = "attention_mask") -> str:
    """The mean of the token vectors that the mask names."""
    seen = graph.add("Unsqueeze", graph.add("Cast", mask, to=TensorProto.FLOAT), graph.integers(2))
    total = graph.add("ReduceSum", graph.add("Mul", hidden, seen), graph.integers(1), keepdims=0)
    return graph.add("Div", total, graph.add("ReduceSum", seen, graph.integers(1), keepdims=0))


def unit(graph: Graph, x: str, axis: int, name: str) -> str:
    """Vectors along `axis` at length one, as the result `name`."""
    return graph.add("Div", x, graph.add("ReduceL2", x, graph.integers(axis), keepdims=1), name=name)
