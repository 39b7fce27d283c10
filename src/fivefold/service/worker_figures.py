"""Figures of several processes that serve one store: each counts for itself, and any of them shows the sums."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from prometheus_client import CollectorRegistry, ProcessCollector, values
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

SUMS = frozenset({"process_resident_memory_bytes", "process_cpu_seconds_total", "process_open_fds"})
"""Figures of a process that are added up; of the others the least is shown."""


def count_in(folder: Path, number: int) -> None:
    """From now on figures of this process are in files of the folder, under its number.

    A process that takes the place of another with that number goes on from its figures.
    """
    folder.mkdir(exist_ok=True)
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(folder)
    values.ValueClass = values.MultiProcessValue(lambda: number)  # type: ignore[no-untyped-call]
    folder.joinpath(f"{number}.pid").write_text(str(os.getpid()))


def sums_of(folder: Path) -> CollectorRegistry:
    """The figures of all processes whose files are in the folder."""
    registry = CollectorRegistry()
    MultiProcessCollector(registry, str(folder))  # type: ignore[no-untyped-call]
    registry.register(WorkerProcesses(folder))
    return registry


class WorkerProcesses(Collector):
    """Memory, processor time and open files of the workers and of their parent; shared memory counts once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def collect(self) -> Iterable[Metric]:
        found: dict[str, list[float]] = defaultdict(list)
        about: dict[str, Metric] = {}
        for pid in (os.getppid(), *self._pids()):
            for metric in ProcessCollector(pid=partial(int, pid), registry=None).collect():
                for sample in metric.samples:
                    about[sample.name] = metric
                    memory = _own_memory(pid) if sample.name == "process_resident_memory_bytes" else None
                    found[sample.name].append(sample.value if memory is None else memory)
        for name, numbers in found.items():
            kind = CounterMetricFamily if about[name].type == "counter" else GaugeMetricFamily
            yield kind(name, about[name].documentation, value=sum(numbers) if name in SUMS else min(numbers))

    def _pids(self) -> list[int]:
        return [int(file.read_text() or 0) for file in self._folder.glob("*.pid")]


def _own_memory(pid: int) -> float | None:
    """The resident bytes of a process, of shared pages its share; None where the system does not say."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return None
    return next((float(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), None)
