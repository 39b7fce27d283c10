"""`fivefold train weights`, for real but short: another embedder, one round, a file of its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from training.weights.evaluate import HELD_OUT, NEVER_LOOKED_AT, RANDOM, SMALL

from fivefold.models.weights import load
from tests.cli.test_commands import documented_keys
from tests.support.shell import NEEDS_TORCH, Command, Small, process

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", sorted(NEEDS_TORCH))
def test_D7_training_writes_a_model_and_tells_the_figures_of_every_split(name: str, small: Small) -> None:
    """In a process of its own, as PyTorch leaves much behind in the one it runs in."""
    ran = process(*small.args(name), "--json", folder=small.folder)
    assert (ran.code, ran.err) == (0, "")
    shown = json.loads(ran.out)
    assert set(shown) == documented_keys(name)
    assert Path(shown["path"]) == Path(small.folder) / "weights.bin"
    model = load(Path(shown["path"]))
    assert (model.name, model.pin) == (shown["model"], shown["embedder"])
    splits = shown["splits"]
    small_share, random_share, held_out, never_looked_at = splits.values()
    assert list(splits) == [SMALL, RANDOM, HELD_OUT, NEVER_LOOKED_AT], "D7: from the easiest wordings to the hardest"
    assert small_share["queries"] == 5 * 200
    assert min(random_share["queries"], held_out["queries"]) > never_looked_at["queries"] > 1_000
    assert min(held_out["dominant"], random_share["dominant"]) > 0.7
    assert not (Path(small.folder) / "out").exists()


def test_an_unknown_embedder_is_said_before_anything_is_done(command: Command) -> None:
    ran = command("train", "weights", "--embedder", "best")
    assert ran.code == 1
    assert ran.err.startswith("fivefold: unknown embedder 'best'; known are ")
