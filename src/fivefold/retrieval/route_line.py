"""Routes in a line: one thread runs them while the model reads the question, more once it has read it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait

from fivefold.values.recall_trace import RouteRun

Run = Callable[[], RouteRun]


class RouteLine:
    """Runs of routes that have begun, by name. Threads that run Python side by side only wait for each other."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[Future[RouteRun], Run]] = deque()
        self._runs: dict[str, Future[RouteRun]] = {}

    def add(self, route: str, run: Run) -> None:
        self._runs[route] = future = Future[RouteRun]()
        self._waiting.append((future, run))

    def get(self, route: str) -> Future[RouteRun] | None:
        """The run of a route, if it is in the line."""
        return self._runs.get(route)

    def begin(self, threads: ThreadPoolExecutor) -> None:
        """One thread works off the line."""
        if self._waiting:
            threads.submit(self.work)

    def hurry(self, threads: ThreadPoolExecutor, patience_s: float = 0.0) -> None:
        """What still waits after that time gets a thread each: a route that takes long keeps no other waiting."""
        if self._waiting and patience_s:
            wait(list(self._runs.values())[-1:], timeout=patience_s)
        for _ in range(len(self._waiting)):
            threads.submit(self.work)

    def work(self) -> None:
        """Run what waits, one after the other."""
        while self._waiting:
            try:
                future, run = self._waiting.popleft()
            except IndexError:  # another thread was faster
                return
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(run())
                except BaseException as error:
                    future.set_exception(error)
