"""The lines that an engine's process prints, by an engine of a few lines."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fivefold_bench.peers.drive import BATCH, Clock, TimeUp, ask, resident_mb, write


class Plain:
    """Nearest vectors, in memory."""

    def __init__(self) -> None:
        self.ids: list[str] = []
        self.rows: list[Any] = []
        self.closed = 0

    def write(self, batches: Iterable[tuple[list[str], list[str], Any]]) -> None:
        for ids, texts, vectors in batches:
            assert texts == [f"text {id}" for id in ids]
            self.ids += ids
            self.rows += list(vectors)

    def ask(self, text: str, vector: Any, k: int) -> list[str]:
        return [self.ids[place] for place in np.argsort(-(np.stack(self.rows) @ vector))[:k]]

    def close(self) -> None:
        self.closed += 1


class Lines:
    """What was printed."""

    def __init__(self) -> None:
        self.all: list[dict[str, Any]] = []

    def __call__(self, event: str, **values: Any) -> None:
        self.all.append({"event": event, **values})

    @property
    def events(self) -> list[str]:
        return [line["event"] for line in self.all]


@pytest.fixture
def space(tmp_path: Path) -> Path:
    """One memory more than a batch, and two questions, of which the first warms up."""
    count = BATCH + 1
    (tmp_path / "memories.jsonl").write_text(
        "".join(json.dumps({"id": f"m{n}", "text": f"text m{n}"}) + "\n" for n in range(count))
    )
    turned = np.linspace(0, 1, count, dtype=np.float32)
    np.save(tmp_path / "vectors.npy", np.stack([np.cos(turned), np.sin(turned)], axis=1))
    (tmp_path / "questions.jsonl").write_text('{"id": "", "text": "warm"}\n{"id": "q", "text": "which"}\n')
    np.save(tmp_path / "question_vectors.npy", np.array([[1, 0], [1, 0]], dtype=np.float32))
    return tmp_path


def test_writing_says_how_far_it_is_and_asking_what_was_found(space: Path) -> None:
    engine, lines = Plain(), Lines()
    write(lambda: engine, space, Clock(60), lines)
    assert lines.events == ["written", "written", "stored"]
    assert [line["count"] for line in lines.all[:2]] == [BATCH, 1]
    assert lines.all[-1]["seconds"] >= lines.all[0]["seconds"] > 0
    lines = Lines()
    ask(lambda: engine, space, Clock(60), lines)
    assert lines.events == ["opened", "answer", "asked"]
    assert lines.all[1]["question"] == "q"
    assert lines.all[1]["ids"] == [f"m{n}" for n in range(10)]
    assert {"ms", "cpu_ms"} <= set(lines.all[1])
    assert engine.closed == 2


def test_writing_and_asking_end_when_the_time_is_over(space: Path) -> None:
    engine, lines = Plain(), Lines()
    with pytest.raises(TimeUp):
        write(lambda: engine, space, Clock(0), lines)
    assert lines.events == ["written"]
    assert len(engine.ids) == BATCH
    with pytest.raises(TimeUp):
        ask(lambda: engine, space, Clock(0), lines)
    assert lines.events == ["written", "opened"]


def test_the_memory_of_this_process_is_known() -> None:
    assert resident_mb() > 10
