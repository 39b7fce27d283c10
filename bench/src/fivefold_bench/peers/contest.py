"""The run: every engine in processes of its own, one that writes and one that asks, with the same files."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from fivefold.errors import FivefoldError, InvalidInput
from fivefold.models.embedders import DEFAULT, embedder
from fivefold.text.display import bar
from fivefold.version import VERSION
from fivefold_bench.data import Dataset
from fivefold_bench.locomo import load
from fivefold_bench.peers.report import PeerReport, PeerRow, compare, draw_times, markdown
from fivefold_bench.peers.work import Work, prepare, sample_dataset, write_pool, write_talks
from fivefold_bench.results import TABLE, check_folder, fill_folder

# Who runs: fivefold with some of its recipes, and engines that others make, each in a pinned version.


@dataclass(frozen=True, slots=True)
class Entrant:
    """An engine with its driver. Without requirements it runs in this environment; `store` names what it writes."""

    name: str
    driver: str
    search: str
    """The search of a question: hybrid (vectors and words), vectors or words."""
    store: str
    requirements: tuple[str, ...] = ()
    option: str = ""
    note: str = ""

    @property
    def own(self) -> bool:
        return not self.requirements


FIVEFOLD = (
    Entrant("fivefold default", "peer_fivefold.py", "hybrid", "fivefold", option="default:normal"),
    Entrant("fivefold default, low effort", "peer_fivefold.py", "hybrid", "fivefold", option="default:low"),
    Entrant("fivefold dense", "peer_fivefold.py", "vectors", "fivefold", option="dense:normal"),
    Entrant("fivefold lexical", "peer_fivefold.py", "words", "fivefold", option="lexical:normal"),
)

PEERS = (
    Entrant("LanceDB", "peer_lancedb.py", "hybrid", "lancedb", ("lancedb==0.40.0",)),
    Entrant(
        "Chroma",
        "peer_chroma.py",
        "vectors",
        "chroma",
        ("chromadb==1.5.9",),
        note="vectors alone: hybrid search is a part of its cloud",
    ),
    Entrant(
        "txtai",
        "peer_txtai.py",
        "hybrid",
        "txtai",
        ("txtai==9.14.0", "torch==2.13.0"),
        note="takes vectors by a function, which looks them up",
    ),
    Entrant(
        "mem0",
        "peer_mem0.py",
        "hybrid",
        "mem0",
        ("mem0ai==2.2.1", "fastembed==0.9.1"),
        note="without a language model; takes vectors by an embedder, which looks them up",
    ),
    Entrant(
        "Haystack",
        "peer_haystack.py",
        "hybrid",
        "haystack",
        ("haystack-ai==3.4.0",),
        note="its store in memory; on disk it is a file of JSON",
    ),
)


def entrants_for(choice: str) -> list[Entrant]:
    """fivefold and the chosen engines: all, none, or names separated by commas."""
    if choice.strip() in {"all", "none"}:
        return [*FIVEFOLD, *(PEERS if choice.strip() == "all" else ())]
    names = {part.strip().casefold() for part in choice.split(",") if part.strip()}
    known = {entrant.store: entrant for entrant in PEERS}
    unknown = sorted(names - set(known))
    if unknown or not names:
        raise InvalidInput(
            f"{', '.join(unknown) or 'nothing'} is not among {', '.join(known)}, all, none", field="peers"
        )
    return [*FIVEFOLD, *(entrant for name, entrant in known.items() if name in names)]


# Environments for other engines: each has its own, so that no package of theirs meets one of ours.

DONE = "installed.txt"
"""List of an environment's packages; written last, so that an interrupted one is made again."""

LIMIT_S = 1_800

QUIET = {
    "ANONYMIZED_TELEMETRY": "False",
    "MEM0_TELEMETRY": "False",
    "HAYSTACK_TELEMETRY_ENABLED": "False",
    "HF_HUB_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "RUST_LOG": "error",
    "PYTHONNOUSERSITE": "1",
}
"""Engines send nothing and fetch nothing while they are measured."""

_OFFLINE = ("NewConnectionError", "Temporary failure in name resolution", "Network is unreachable", "ProxyError")


class NotInstalled(FivefoldError):
    """An engine could not be installed."""


def install(requirements: Sequence[str], folder: Path) -> Path:
    """The Python of an environment with these packages; one of an earlier run is used again."""
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    wanted = "\n".join(requirements)
    done = folder / DONE
    if done.exists() and done.read_text("utf-8") == wanted and python.exists():
        return python
    shutil.rmtree(folder, ignore_errors=True)
    pip = find_spec("pip") is not None  # without a pip of ours the environment gets its own, which takes seconds
    _run([sys.executable, "-m", "venv", *(["--without-pip"] if pip else []), str(folder)])
    command = [sys.executable, "-m", "pip", "--python", str(python)] if pip else [str(python), "-m", "pip"]
    quiet = ["--quiet", "--no-input", "--disable-pip-version-check", "--retries", "1"]
    _run([*command, "install", *quiet, *requirements])
    done.write_text(wanted, "utf-8")
    return python


def _run(command: Sequence[str]) -> None:
    try:
        options: dict[str, Any] = {"timeout": LIMIT_S, "stdin": subprocess.DEVNULL, "errors": "replace"}
        done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    except subprocess.TimeoutExpired:
        raise NotInstalled(f"it took longer than {LIMIT_S // 60} minutes") from None
    except OSError as error:
        raise NotInstalled(str(error)) from None
    if done.returncode:
        raise NotInstalled(_why(done.stderr + done.stdout))


def _why(output: str) -> str:
    """The error that pip ends with, in one line."""
    if any(sign in output for sign in _OFFLINE):
        return "the package index cannot be reached"
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    return (errors or lines or ["pip gave no reason"])[-1][:200]


def quiet_environment(home: Path, own: bool) -> Mapping[str, str]:
    """The variables of an engine's process: other engines see no path of ours, and a home folder of their own."""
    inherited = {name: value for name, value in os.environ.items() if own or not name.startswith("PYTHON")}
    return {**inherited, **QUIET} if own else {**inherited, **QUIET, "HOME": str(home), "MEM0_DIR": str(home / "mem0")}


HERE = Path(__file__).parent
GRACE_S = 120
"""Time allowed to a process beyond its time for starting, and for a step that cannot be cut short."""


@dataclass(frozen=True, slots=True)
class Contest:
    """The plan of a run: sizes, questions for each size, and the seconds that each engine has to write and to ask."""

    sizes: tuple[int, ...]
    questions: int = 200
    seconds: float = 120.0
    environments: Path | None = None
    """Folder in which environments stay for the next run; without one they are deleted at the end."""


@dataclass(slots=True)
class Outcome:
    """The lines of one process, added up."""

    written: int = 0
    seconds: float = 0.0
    opened: list[float] = field(default_factory=list)
    found: dict[str, list[str]] = field(default_factory=dict)
    ms: list[float] = field(default_factory=list)
    cpu_ms: list[float] = field(default_factory=list)
    memory_mb: float = 0.0
    late: bool = False
    failure: str = ""


def run_contest(contest: Contest, entrants: Sequence[Entrant], dataset: Dataset, progress: bool = False) -> PeerReport:
    """Install, prepare, and run every engine on every work, the smallest first. Nothing is left behind."""
    busy = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    with tempfile.TemporaryDirectory(prefix="fivefold-peers-") as name:
        folder = Path(name)
        place = contest.environments or folder / "environments"
        pythons: dict[str, Path | NotInstalled] = {}
        for entrant in (each for each in entrants if not each.own):
            with bar(f"Installing {entrant.name}", 1, show=progress) as advance:
                try:
                    pythons[entrant.store] = install(entrant.requirements, place / entrant.store)
                except NotInstalled as error:
                    pythons[entrant.store] = error
                advance(1)
        material = prepare(dataset, progress)
        rows: list[PeerRow] = []
        for size in (None, *sorted(contest.sizes)):  # the conversations as they are, then a collection of each size
            if size is None:
                work = write_talks(material, folder / "work-conversations", contest.questions)
            else:
                work = write_pool(material, folder / f"work-{size}", size, contest.questions)
            rows += _run_work(work, entrants, pythons, contest, progress)
            shutil.rmtree(work.folder)
    pin = embedder(DEFAULT).pin
    return PeerReport(dataset.name, pin, os.cpu_count() or 1, round(busy, 1), tuple(rows), tuple(compare(rows)))


def _run_work(
    work: Work,
    entrants: Sequence[Entrant],
    pythons: Mapping[str, Path | NotInstalled],
    contest: Contest,
    progress: bool,
) -> Iterator[PeerRow]:
    with tempfile.TemporaryDirectory(prefix="fivefold-peers-") as name:
        stores: dict[str, PeerRow] = {}
        for entrant in entrants:
            version = VERSION if entrant.own else entrant.requirements[0].partition("==")[2]
            about: dict[str, Any] = {"note": entrant.note, "own": entrant.own}
            row = PeerRow(entrant.name, entrant.search, version, work.name, work.memories, **about)
            python = Path(sys.executable) if entrant.own else pythons[entrant.store]
            if isinstance(python, NotInstalled):
                yield replace(row, note=f"not installed: {python}")
                continue
            task = Task(entrant, python, work, Path(name) / entrant.store, contest.seconds, progress)
            if entrant.store not in stores:
                stores[entrant.store] = task.write(row)
            wrote = stores[entrant.store]
            row = replace(row, write_per_s=wrote.write_per_s, disk_mb=wrote.disk_mb, note=wrote.note)
            yield task.ask(row) if wrote.disk_mb is not None else row


@dataclass(frozen=True, slots=True)
class Task:
    """One engine on one work."""

    entrant: Entrant
    python: Path
    work: Work
    store: Path
    seconds: float
    progress: bool

    def write(self, row: PeerRow) -> PeerRow:
        """The row with rate and room on disk. Without room on disk the writing did not end, and nobody can ask."""
        self.store.mkdir(parents=True)
        outcome = self._run("write", self.work.memories)
        rate = outcome.written / outcome.seconds if outcome.seconds else None
        if outcome.failure:
            return replace(row, note=f"failed: {outcome.failure}")
        if outcome.late:
            note = f"stopped after {self.seconds:g} s, {outcome.written:,} of {self.work.memories:,} memories written"
            return replace(row, write_per_s=rate, note=note)
        size = sum(path.stat().st_size for path in self.store.rglob("*") if path.is_file())
        return replace(row, write_per_s=rate, disk_mb=size / 1e6)

    def ask(self, row: PeerRow) -> PeerRow:
        """The row with times, recall and memory, over the questions that were answered in time."""
        outcome = self._run("ask", len(self.work.relevant))
        if outcome.failure or not outcome.ms:
            return replace(row, note=f"failed: {outcome.failure or f'no answer within {self.seconds:g} s'}")
        cut = len(outcome.ms) < len(self.work.relevant)
        note = f"{len(outcome.ms)} of {len(self.work.relevant)} questions in {self.seconds:g} s" if cut else ""
        return replace(
            row,
            questions=len(outcome.ms),
            p50_ms=float(np.percentile(outcome.ms, 50)),
            p99_ms=float(np.percentile(outcome.ms, 99)),
            cpu_ms=float(np.percentile(outcome.cpu_ms, 50)),
            recall_at_10=recall(self.work.relevant, outcome.found),
            first_s=float(np.mean(outcome.opened)),
            memory_mb=outcome.memory_mb,
            note="; ".join(part for part in (row.note, note) if part),
        )

    def _run(self, phase: str, total: int) -> Outcome:
        title = f"{self.entrant.name}, {self.work.name}: {'writing' if phase == 'write' else 'asking'}"
        outcome = Outcome()
        with bar(title, total, show=self.progress) as advance, self._process(phase) as lines:
            for line in lines:
                _take(json.loads(line), outcome, advance)
        return outcome

    @contextmanager
    def _process(self, phase: str) -> Iterator[Iterator[str]]:
        """The lines of the engine's process; it is killed if it does not end by itself."""
        files = [HERE / "drive.py", HERE / self.entrant.driver]
        places = [str(self.work.folder), str(self.store), str(self.seconds), self.entrant.option]
        command = [str(self.python), "-P", str(files[0]), str(files[1]), phase, *places]
        home = self.store.with_name(f"{self.store.name}-home")
        home.mkdir(exist_ok=True)
        variables = quiet_environment(home, self.entrant.own)
        with tempfile.TemporaryFile("w+", errors="replace") as errors:
            streams: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": errors}
            process = subprocess.Popen(command, text=True, env=variables, cwd=home, **streams)
            timer = threading.Timer(self.seconds + GRACE_S, process.kill)
            timer.start()
            assert process.stdout is not None
            try:
                yield _whole(process, errors)
            finally:
                timer.cancel()
                process.kill()
                process.wait()
                process.stdout.close()


def _whole(process: subprocess.Popen[str], errors: Any) -> Iterator[str]:
    """All lines, and one that says why if the process ends without a last line."""
    assert process.stdout is not None
    last = ""
    for last in process.stdout:
        yield last
    if '"event": "end"' in last or '"event": "failed"' in last:
        return
    code = process.wait()
    errors.seek(0)
    lines = [line.strip() for line in errors.read().splitlines() if line.strip()]
    why = (
        "it took too long and was killed" if code < 0 else f"it ended with code {code}: {(lines or ['no reason'])[-1]}"
    )
    yield json.dumps({"event": "failed", "why": why[:300]})


def _take(line: Mapping[str, Any], outcome: Outcome, advance: Callable[[int], None]) -> None:
    match line["event"]:
        case "written":
            outcome.written += line["count"]
            outcome.seconds = line["seconds"]
            advance(line["count"])
        case "stored":
            outcome.seconds = line["seconds"]
        case "opened":
            outcome.opened.append(line["seconds"])
        case "answer":
            outcome.found[line["question"]] = line["ids"]
            outcome.ms.append(line["ms"])
            outcome.cpu_ms.append(line["cpu_ms"])
            advance(1)
        case "late":
            outcome.late = True
        case "failed":
            outcome.failure = line["why"]
        case "asked":
            outcome.memory_mb = max(outcome.memory_mb, line["mb"])


def recall(relevant: Mapping[str, frozenset[str]], found: Mapping[str, Sequence[str]]) -> float:
    """The mean share of a question's gold among what was found, over the questions that were answered."""
    return float(np.mean([len(relevant[id] & set(ids)) / len(relevant[id]) for id, ids in found.items()]))


# A whole run: the data, the engines, the report, and its files.


def run_peers(
    locomo: Path | None,
    sizes: tuple[int, ...],
    peers: str = "all",
    questions: int = 200,
    seconds: float = 120.0,
    environments: Path | None = None,
    out: Path | None = None,
    progress: bool = False,
) -> PeerReport:
    """Compare on LoCoMo's file, or on the sample without one; what is wrong is said before anything is installed."""
    entrants = entrants_for(peers)
    if out is not None:
        check_folder(out)
    dataset = sample_dataset() if locomo is None else load(locomo)
    place = environments.absolute() if environments else None
    report = run_contest(Contest(sizes, questions, seconds, place), entrants, dataset, progress)

    def write(folder: Path) -> None:
        (folder / TABLE).write_text(markdown(report), "utf-8")
        draw_times(report, folder)

    if out is not None:
        fill_folder(out, write, report.to_dict())
    return report
