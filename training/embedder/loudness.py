"""How loud each channel of an encoder runs over real texts, by which int8 keeps its precision."""

from __future__ import annotations

import numpy as np
import torch
from model import Encoder
from torch import nn
from torch.utils.hooks import RemovableHandle


def loudness(encoder: Encoder, ids: torch.Tensor, parts: torch.Tensor | None = None) -> dict[str, np.ndarray]:
    """The largest value each input channel of each product takes over some real texts."""
    found: dict[str, np.ndarray] = {}

    def listen(name: str) -> RemovableHandle:
        def note(_: nn.Module, inputs: tuple[torch.Tensor, ...]) -> None:
            found[name] = inputs[0][ids != 0].abs().amax(0).numpy()

        return encoder.get_submodule(name).register_forward_pre_hook(note)

    heard = [listen(name) for name, part in encoder.named_modules() if isinstance(part, nn.Linear)]
    with torch.no_grad():
        encoder(ids, ids != 0, parts)
    for hook in heard:
        hook.remove()
    return found
