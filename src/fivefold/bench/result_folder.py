"""The folder of a run's results: its files are written elsewhere first and then moved into place."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from fivefold.errors import InvalidInput, StoreError
from fivefold.stores.atomic_files import move_into_place
from fivefold.values.serialize import Json

RESULTS = "results.json"
QUESTIONS = "questions.jsonl.gz"
TABLE = "table.md"
QRELS = "qrels.trec"
RUNS = "runs"
BY_SESSION = "by_session"
"""The folder inside with the same files for a run by turn that was scored by session as well."""

PLOTS = ("recall_at_k.png", "recall_by_category.png", "quality_latency.png")
EVERYDAY_PLOTS = ("hits_by_kind.png", "reliability.png")
PEER_PLOTS = ("recall_times.png",)
BLOCK_PLOTS = ("evidence_by_tokens.png",)
COMPARISON_FILES = frozenset({RESULTS, QUESTIONS, TABLE, QRELS, *PLOTS})
OWN = COMPARISON_FILES | {*EVERYDAY_PLOTS, *PEER_PLOTS, *BLOCK_PLOTS}
"""Files that some run writes; a folder with others is refused."""

UNFINISHED = ".unfinished-"
"""How the folder begins in which the files are made; one that a killed run left behind is removed by the next."""


def check_folder(folder: Path) -> None:
    """Refuse before the run a folder that cannot take its files, or holds what is not a run's."""
    if folder.exists() and not folder.is_dir():
        raise InvalidInput(f"{str(folder)!r} is a file; name a folder", field="out")
    strange = sorted(_strange(folder)) if folder.is_dir() else []
    if strange:
        raise InvalidInput(
            f"{str(folder)!r} holds other things ({', '.join(strange[:3])}{', …' if strange[3:] else ''}); "
            "name a new or empty folder, or one of an earlier run",
            field="out",
        )
    there = next(place for place in (folder.absolute(), *folder.absolute().parents) if place.exists())
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        raise InvalidInput(
            f"{str(folder)!r} cannot be written: {str(there)!r} is no folder you may write to", field="out"
        )


def _strange(folder: Path) -> Iterator[str]:
    """What in the folder is not from an earlier run."""
    for entry in folder.iterdir():
        if entry.name == RUNS and entry.is_dir():
            yield from (f"{RUNS}/{inner.name}" for inner in entry.iterdir() if inner.suffix != ".trec")
        elif entry.name == BY_SESSION and entry.is_dir():
            yield from (f"{BY_SESSION}/{inner}" for inner in _strange(entry))
        elif not entry.name.startswith(UNFINISHED) and (entry.name not in OWN or not entry.is_file()):
            yield entry.name


def fill_folder(folder: Path, write: Callable[[Path], None], results: Json) -> list[Path]:
    """What `write` puts into a new folder, each file whole or not there; results.json comes last."""
    check_folder(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=UNFINISHED, dir=folder) as name:
            new = Path(name)
            write(new)
            write_results(new, results)
            return _move(new, folder)
    except OSError as error:
        raise StoreError(f"the results could not be written to {str(folder)!r}: {error.strerror or error}") from None


def write_results(folder: Path, results: Json) -> None:
    (folder / RESULTS).write_text(json.dumps(results, ensure_ascii=False, indent=2) + "\n", "utf-8")


def _move(new: Path, folder: Path) -> list[Path]:
    files = sorted((path for path in new.rglob("*") if path.is_file()), key=lambda path: (path.name == RESULTS, path))
    targets = [folder / path.relative_to(new) for path in files]
    (folder / RESULTS).unlink(missing_ok=True)
    for path, target in zip(files, targets, strict=True):
        target.parent.mkdir(parents=True, exist_ok=True)
        move_into_place(path, target, replace=True)
    for old in sorted(folder.rglob("*"), reverse=True):  # what is in a folder comes before the folder
        if old.is_file() and old not in targets:
            old.unlink()
        elif old.is_dir() and old != new and not any(old.iterdir()):
            old.rmdir()
    return targets
