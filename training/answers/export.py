"""The trained network as the binary that is shipped."""

from __future__ import annotations

from pathlib import Path

import torch
from training.answers.head import TOKEN, AnswerHead

from fivefold.models.binary import Contents, pack
from fivefold.models.embedders import DEFAULT, embedder

NAME = "answers-1"


def rounded(head: AnswerHead) -> AnswerHead:
    """The network with every number rounded to float16, as shipped."""
    with torch.no_grad():
        for parameter in head.parameters():
            parameter.copy_(parameter.half().float())
    return head


def write(head: AnswerHead, path: Path, name: str = NAME) -> Path:
    """The tensors under the names of the network, for token vectors of the shipped embedder."""
    tensors = {key: head.state_dict()[key].cpu().numpy() for key in sorted(head.state_dict())}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(pack(Contents(name, embedder(DEFAULT).pin, TOKEN, tensors)))
    return path
