"""From PyTorch over ONNX to the binary that is shipped (D8)."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TypeVar

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from torch import nn
from training.weights.network import WeightNetwork

from fivefold.errors import InvalidInput
from fivefold.models.shipped import Contents, pack

Network = TypeVar("Network", bound=nn.Module)


def rounded(network: Network) -> Network:
    """The network with every number rounded to float16, as shipped, so that all its forms agree."""
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.copy_(parameter.half().float())
    return network


def to_onnx(network: WeightNetwork, dimension: int, features: int, path: Path) -> Path:
    """The network as an ONNX graph for any number of rows."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = torch.export.Dim("rows")
    given = (torch.zeros(2, dimension), torch.zeros(2, features))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the exporter warns about its own insides, and that both inputs share a name
        torch.onnx.export(
            network,
            given,
            path,
            input_names=["vectors", "features"],
            output_names=["weights"],
            dynamic_shapes=({0: rows}, {0: rows}),
            external_data=False,
            verbose=False,
        )
    return path


def to_binary(graph: Path, name: str, pin: str, dimension: int, path: Path) -> Path:
    """The tensors of an ONNX graph in the compact format that plain NumPy reads."""
    held = {tensor.name: numpy_helper.to_array(tensor) for tensor in onnx.load(graph).graph.initializer}
    wanted = [parameter for parameter, _ in WeightNetwork(dimension).named_parameters()]
    missing = [parameter for parameter in wanted if parameter not in held]
    if missing:
        raise InvalidInput(f"{graph.name} holds no tensor named {missing[0]}; export it with this version's to_onnx()")
    tensors = {parameter: np.asarray(held[parameter], dtype=np.float32) for parameter in wanted}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(pack(Contents(name, pin, dimension, tensors)))
    return path
