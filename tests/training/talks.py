"""Made-up talks with a question about each turn, in the form of the training data, and a small encoder to train."""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch

from tests.training.scripts import VOCABULARY

THINGS = (
    "kettle boat piano bicycle lantern garden letter cello kitchen camera ladder blanket telescope violin carpet "
    "window mirror basket candle hammer"
).split()
DEEDS = ("painted", "sold", "mended", "bought", "lost", "cleaned")


def written(path: Path, talks: int = 40) -> Path:
    """Talks of six turns; who did what with which thing is asked of each."""
    docs: list[tuple[str, int, str, str]] = []
    questions: list[tuple[str, str, int]] = []
    for talk in range(talks):
        for turn, deed in enumerate(DEEDS):
            who, thing = "AB"[turn % 2], THINGS[(talk * 7 + turn * 3) % len(THINGS)]
            questions.append(("spc_ask", f"Which thing has {{{who}}} {deed}, the {thing}?", len(docs)))
            docs.append(("spc_ask", talk, who, f"I {deed} the old {thing} yesterday."))
    with lzma.open(path, "wt") as file:
        json.dump({"docs": docs, "q": questions}, file)
    return path


def corpus(modules: SimpleNamespace, folder: Path) -> Any:
    return modules.corpus.read_corpus([written(folder / "talks.json.xz")], VOCABULARY, "cpu", made=0.0)


def encoder(modules: SimpleNamespace, layers: int = 2, width: int = 384) -> Any:
    """A shallow encoder with random weights, always the same."""
    with torch.random.fork_rng():
        torch.manual_seed(3)
        return modules.model.Encoder(layers, width, inner=128)
