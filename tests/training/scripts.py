"""The training scripts as modules. They import each other by bare names, and two folders share some of these."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import SimpleNamespace

TRAINING = Path(__file__).parents[2] / "training"
VOCABULARY = TRAINING.parent / "src/fivefold/models/data/bert-uncased-vocab.txt"


def scripts(*folders: str) -> SimpleNamespace:
    """The modules of these folders by name, the first folder's before the others'; nothing is left behind."""
    places = [TRAINING / folder for folder in folders]
    names = {path.stem: None for place in places for path in place.glob("*.py")}
    before, path = {name: sys.modules.pop(name) for name in names if name in sys.modules}, list(sys.path)
    sys.path[:0] = [str(place) for place in places]
    try:
        return SimpleNamespace(**{name: importlib.import_module(name) for name in names})
    finally:
        sys.path[:] = path
        for name in names:
            sys.modules.pop(name, None)
        sys.modules.update(before)
