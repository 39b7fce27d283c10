"""Routes in a line: one thread works it off, and a route that takes long keeps no other waiting."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from fivefold.retrieval.retrieve import RouteLine
from fivefold.values.recall_trace import RouteRun


def run_of(route: str) -> RouteRun:
    return RouteRun(route, "hits", threading.current_thread().name, 0, 0.0)


def test_one_thread_works_off_the_line() -> None:
    line = RouteLine()
    for route in "abc":
        line.add(route, lambda route=route: run_of(route))  # type: ignore[misc]
    with ThreadPoolExecutor(4) as threads:
        line.begin(threads)
        runs = [future.result(10) for route in "abc" if (future := line.get(route))]
    assert [run.route for run in runs] == ["a", "b", "c"]
    assert len({run.reason for run in runs}) == 1
    assert line.get("d") is None


def test_a_slow_route_keeps_no_other_waiting() -> None:
    line, done = RouteLine(), threading.Event()

    def slow() -> RouteRun:
        assert done.wait(10)
        return run_of("slow")

    line.add("slow", slow)
    line.add("quick", lambda: run_of("quick"))
    with ThreadPoolExecutor(4) as threads:
        line.begin(threads)
        line.hurry(threads)
        first, second = line.get("slow"), line.get("quick")
        assert first
        assert second
        assert second.result(10).route == "quick"
        done.set()
        assert first.result(10).route == "slow"


def test_an_error_reaches_whoever_waits() -> None:
    line = RouteLine()
    line.add("broken", lambda: 1 / 0)  # type: ignore[arg-type, return-value]
    with ThreadPoolExecutor(1) as threads:
        line.begin(threads)
        future = line.get("broken")
        assert future
        with pytest.raises(ZeroDivisionError):
            future.result(10)
