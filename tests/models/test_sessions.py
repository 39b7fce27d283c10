"""Models share the cores: no more runs at once than there are, whatever asks for them."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from fivefold.models.bert import CORES, Ids, Inputs, Session, rounds


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


class Sums:
    """Stands for a model that adds up each row."""

    def run(self, outputs: object, inputs: Inputs) -> list[Any]:
        return [inputs["ones"].sum(axis=1)]


def ones(lengths: Sequence[int]) -> dict[str, Ids]:
    return {"ones": np.array([[1] * length + [0] * (max(lengths) - length) for length in lengths])}


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
    with CORES.running:
        child = os.fork()
        if child == 0:
            got = [CORES.running.acquire(timeout=5) for _ in range(os.cpu_count() or 1)]
            os._exit(0 if all(got) else 1)
        assert os.waitpid(child, 0)[1] == 0


def test_rows_are_shared_out_and_come_back_in_their_place() -> None:
    lengths = [9, 2, 7, 4, 30]
    for most in (8, 30, 1_000):
        found = np.zeros(len(lengths), dtype=np.int64)
        for batch in Session(Sums()).run_rows(["sum"], lengths, lengths, most, ones):
            (found[batch.rows],) = batch.found
        assert found.tolist() == lengths


def test_few_rows_make_as_many_batches_as_run_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CORES, "parts", 2)
    assert list(rounds([3, 1, 2], 100)) == [[[0], [1, 2]]]
    assert list(rounds([3], 100)) == [[[0]]]
    assert list(rounds([50, 50, 50], 50)) == [[[0], [1]], [[2]]]
    monkeypatch.setattr(CORES, "parts", 1)
    assert list(rounds([3, 1, 2], 100)) == [[[1, 2, 0]]]


def test_rows_that_fit_into_one_round_are_shared_out_by_their_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fourteen memories of about seventy tokens are a little too long for one batch; two runs then take half each."""
    monkeypatch.setattr(CORES, "parts", 2)
    lengths = [67, 68, 83, 64, 41, 73, 65, 70, 71, 28, 69, 48, 62, 76]
    ((first, second),) = rounds(lengths, 1_024)
    assert sorted(first + second) == list(range(14))
    costs = sorted(len(batch) * max(lengths[i] for i in batch) for batch in (first, second))
    assert costs[1] <= 1.1 * costs[0]


def test_a_long_row_among_many_short_ones_makes_no_batch_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CORES, "parts", 4)
    lengths = [3] * 680 + [256]
    found = [batch for batches in rounds(lengths, 2_048) for batch in batches]
    assert sorted(i for batch in found for i in batch) == list(range(681))
    assert max(len(batch) * max(lengths[i] for i in batch) for batch in found) <= 2_048


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a fork")
def test_a_forked_process_has_helpers_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CORES, "parts", 2)
    assert len(list(Session(Sums()).run_rows(["sum"], [1, 2], [1, 2], 1, ones))) == 2
    child = os.fork()
    if child == 0:
        read = list(Session(Sums()).run_rows(["sum"], [1, 2], [1, 2], 1, ones))
        os._exit(0 if len(read) == 2 else 1)
    assert os.waitpid(child, 0)[1] == 0
