"""Models share the cores: no more runs at once than there are, whatever asks for them."""

from __future__ import annotations

import os
import threading
from typing import Any

import pytest

from fivefold.models.bert import THREADS, Session


class Counting:
    """Stands for a model; knows how many runs were under way at once."""

    def __init__(self) -> None:
        self.most = 0
        self._now = 0
        self._lock = threading.Lock()
        self._go_on = threading.Event()

    def run(self, outputs: object, inputs: object) -> list[Any]:
        with self._lock:
            self._now += 1
            self.most = max(self.most, self._now)
        self._go_on.wait(0.02)
        with self._lock:
            self._now -= 1
        return ["done"]


def test_no_more_runs_at_once_than_cores() -> None:
    model = Counting()
    session = Session(model)
    found: list[list[str]] = []
    threads = [
        threading.Thread(target=lambda: found.append(session.run([], {}))) for _ in range(3 * (os.cpu_count() or 1))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [["done"]] * len(threads)
    assert 1 <= model.most <= (os.cpu_count() or 1)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a fork")
def test_a_fork_during_a_run_leaves_the_child_its_cores() -> None:
    with THREADS.running:
        child = os.fork()
        if child == 0:
            got = [THREADS.running.acquire(timeout=5) for _ in range(os.cpu_count() or 1)]
            os._exit(0 if all(got) else 1)
        assert os.waitpid(child, 0)[1] == 0
