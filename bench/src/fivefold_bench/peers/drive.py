"""Runs one engine: writes memories into it, or asks it, and prints a line of JSON for each step.

This file runs in the environment of the engine, which does not have fivefold: standard library and NumPy alone. `python
drive.py DRIVER PHASE DATA FOLDER SECONDS OPTION`, the phase `write` or `ask`. Each folder of DATA is a collection:
`memories.jsonl`, `vectors.npy`, `questions.jsonl`, `question_vectors.npy`. The engine's store is in FOLDER.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import module_from_spec, spec_from_file_location
from itertools import islice
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np

BATCH = 1_000
K = 10

Say = Callable[..., None]


class TimeUp(Exception):
    """The time for this phase is over."""


class Clock:
    """The time that an engine takes; what is needed to read its input does not count."""

    def __init__(self, limit: float) -> None:
        self.limit, self.seconds, self._since = limit, 0.0, perf_counter()

    def start(self) -> None:
        self._since = perf_counter()

    def stop(self) -> None:
        self.seconds += perf_counter() - self._since

    def check(self) -> None:
        if self.seconds > self.limit:
            raise TimeUp


def main() -> None:
    driver, phase, data, folder, seconds, option = sys.argv[1:]
    say = _output()
    make = _load(driver).open_peer
    run = write if phase == "write" else ask
    clock = Clock(float(seconds))
    try:
        for space in sorted(path for path in Path(data).iterdir() if path.is_dir()):
            place = Path(folder) / space.name
            place.mkdir(parents=True, exist_ok=True)
            run(partial(make, place, space, option), space, clock, say)
    except TimeUp:
        say("late")
    except Exception as error:  # whatever an engine raises is a line of the table, not the end of the run
        say("failed", why=f"{type(error).__name__}: {error}"[:300])
        raise
    say("end")


def write(make: Callable[[], Any], space: Path, clock: Clock, say: Say) -> None:
    """All memories of a collection; it ends when they can be searched and are on disk."""
    clock.start()
    peer = make()
    peer.write(_batches(space, clock, say))
    peer.close()
    clock.stop()
    say("stored", seconds=clock.seconds)


def ask(make: Callable[[], Any], space: Path, clock: Clock, say: Say) -> None:
    """All questions of a collection; those that warm up have no id and are not counted."""
    begin = perf_counter()
    peer = make()
    opening = perf_counter() - begin
    questions = [json.loads(line) for line in (space / "questions.jsonl").read_text("utf-8").splitlines()]
    vectors = np.load(space / "question_vectors.npy")
    for number, (question, vector) in enumerate(zip(questions, vectors, strict=True)):
        begin, cpu = perf_counter(), process_time()
        found = peer.ask(question["text"], vector, K)
        end, cpu = perf_counter(), process_time() - cpu
        if number == 0:
            say("opened", seconds=opening + end - begin)
        if question["id"]:
            say("answer", question=question["id"], ids=list(found), ms=(end - begin) * 1000, cpu_ms=cpu * 1000)
        clock.seconds += end - begin
        clock.check()
    say("asked", mb=resident_mb())
    peer.close()


def _batches(space: Path, clock: Clock, say: Say) -> Iterator[tuple[list[str], list[str], Any]]:
    """Ids, texts and vectors, some at a time; the clock stands still while they are read."""
    clock.stop()
    vectors = np.load(space / "vectors.npy", mmap_mode="r")
    done = 0
    with (space / "memories.jsonl").open(encoding="utf-8") as lines:
        while part := [json.loads(line) for line in islice(lines, BATCH)]:
            rows = np.array(vectors[done : done + len(part)])
            clock.start()
            yield [item["id"] for item in part], [item["text"] for item in part], rows
            clock.stop()
            done += len(part)
            say("written", count=len(part), seconds=clock.seconds)
            clock.check()
    clock.start()


def resident_mb() -> float:
    """The memory of this process now, or its peak if the system does not say."""
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1024
    except OSError:
        pass
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1024 * 1024 if sys.platform == "darwin" else 1024)


def _output() -> Say:
    """Lines go to the real output; whatever an engine prints itself goes to standard error."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def say(event: str, **values: Any) -> None:
        out.write(json.dumps({"event": event, **values}) + "\n")
        out.flush()

    return say


def _load(path: str) -> Any:
    spec = spec_from_file_location(Path(path).stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    main()
