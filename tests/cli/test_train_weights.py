"""`fivefold train weights`, for real but short: another embedder, one round, a file of its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fivefold.models.weights import load
from tests.cli.test_commands import documented_keys
from tests.support.shell import NEEDS_TORCH, Command, Small, process


@pytest.mark.parametrize("name", sorted(NEEDS_TORCH))
def test_training_writes_a_model_and_tells_its_figures(name: str, small: Small) -> None:
    """In a process of its own, as PyTorch leaves much behind in the one it runs in."""
    ran = process(*small.args(name), "--json", folder=small.folder)
    assert (ran.code, ran.err) == (0, "")
    shown = json.loads(ran.out)
    assert set(shown) == documented_keys(name)
    assert Path(shown["path"]) == Path(small.folder) / "weights.bin"
    model = load(Path(shown["path"]))
    assert (model.name, model.pin) == (shown["model"], shown["embedder"])
    assert shown["dominant"] > 0.7
    assert shown["queries"] > 1_000
    assert not (Path(small.folder) / "out").exists()


def test_an_unknown_embedder_is_said_before_anything_is_done(command: Command) -> None:
    ran = command("train", "weights", "--embedder", "best")
    assert ran.code == 1
    assert ran.err.startswith("fivefold: unknown embedder 'best'; known are ")
