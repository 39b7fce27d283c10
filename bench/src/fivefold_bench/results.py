"""The results of a run as data, and as files."""

from __future__ import annotations

import gzip
import json
import os
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fivefold.errors import InvalidInput, StoreError
from fivefold.stores.atomic_files import move_into_place
from fivefold.values.serialize import Json
from fivefold.version import VERSION
from fivefold_bench.run import Answer, Run
from fivefold_bench.scores import CHOICE, Ablation, Comparison, Scores, by_category, gains, means, score

# The folder of a run's results: its files are written elsewhere first and then moved into place.

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
"""Beginning of the name of the folder in which the files are made; one that a killed run left behind is removed by the
next."""


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
            f"{str(folder)!r} cannot be written: {str(there)!r} is not a folder you may write to", field="out"
        )


def _strange(folder: Path) -> Iterator[str]:
    """Files in the folder that are not from an earlier run."""
    for entry in folder.iterdir():
        if entry.name == RUNS and entry.is_dir():
            yield from (f"{RUNS}/{inner.name}" for inner in entry.iterdir() if inner.suffix != ".trec")
        elif entry.name == BY_SESSION and entry.is_dir():
            yield from (f"{BY_SESSION}/{inner}" for inner in _strange(entry))
        elif not entry.name.startswith(UNFINISHED) and (entry.name not in OWN or not entry.is_file()):
            yield entry.name


def fill_folder(folder: Path, write: Callable[[Path], None], results: Json) -> list[Path]:
    """The files that `write` puts into a new folder, each whole or not there; results.json comes last."""
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


PERCENTILES = (50, 95, 99)


@dataclass(frozen=True, slots=True)
class ScoredRun:
    """A run, every contestant's metrics of every question, and both as data."""

    run: Run
    scored: Mapping[str, Scores]
    results: Json


def score_run(run: Run, names: Sequence[str]) -> dict[str, Scores]:
    """Every contestant's metrics of every question."""
    return {
        contestant.name: score(run.dataset.questions, run.rankings(contestant.name), names)
        for contestant in run.contestants
    }


def collect_results(
    run: Run,
    scored: Mapping[str, Scores],
    *,
    ks: Sequence[int],
    seed: int | None,
    notes: Sequence[str] = (),
    significance: Sequence[Comparison] = (),
    ablation: Ablation | None = None,
    by_session: Json | None = None,
) -> Json:
    """The whole result as data: the schema other programs read first, then how it was made."""
    questions = run.dataset.questions
    kinds = sorted({question.category for question in questions})
    side_by_side = [f"times were measured with {run.jobs} processes side by side"] if run.jobs > 1 else []

    def result(answers: Sequence[Answer], scores: Scores) -> Json:
        encoded = any(answer.encoded for answer in answers)
        return {
            "n": len(answers),
            "overall": rounded(means(scores, questions)),
            "by_category": {kind: rounded(values) for kind, values in by_category(scores, questions).items()},
            "latency_ms": {
                "encode": spread(run.encode_ms if encoded else (0.0,)),
                "recall": spread([answer.ms for answer in answers]),
            },
        }

    return {
        "dataset": run.dataset.name,
        "unit": run.dataset.unit,
        "embedder": run.embedder,
        "recipes": {each.name: result(run.answers[each.name], scored[each.name]) for each in run.contestants},
        "fivefold": VERSION,
        "k": list(ks),
        "measures": [*run.dataset.measures, *([CHOICE] if run.dataset.choices else [])],
        "seed": seed,
        "jobs": run.jobs,
        "categories": {kind: sum(question.category == kind for question in questions) for kind in kinds},
        "notes": [*run.dataset.notes, *notes, *run.notes, *side_by_side],
        "definitions": {each.name: each.recipe.to_dict() if each.recipe else None for each in run.contestants},
        "significance": [item.to_dict() for item in significance],
        "ablation": ablation.to_dict() if ablation else None,
        "by_session": by_session,
    }


def rounded(values: Mapping[str, float | None]) -> dict[str, float | None]:
    """Figures as a file has them."""
    return {name: None if value is None else round(value, 6) for name, value in values.items()}


def spread(times: Sequence[float]) -> dict[str, float]:
    """The middle and the tail of some times."""
    return {f"p{share}": round(float(np.percentile(times, share)), 3) for share in PERCENTILES}


def write_folder(folder: Path, ran: ScoredRun, by_session: ScoredRun | None = None) -> list[Path]:
    """Every file of the run, those by session in a folder of their own; what an earlier run left goes."""

    def write(new: Path) -> None:
        _write_run(new, ran)
        if by_session is not None:
            _write_run(new / BY_SESSION, by_session)
            write_results(new / BY_SESSION, by_session.results)

    return fill_folder(folder, write, ran.results)


def _write_run(folder: Path, part: ScoredRun) -> None:
    from fivefold_bench.plots import draw
    from fivefold_bench.tables import markdown

    run = part.run
    (folder / RUNS).mkdir(parents=True)
    write_questions(folder / QUESTIONS, run, part.scored)
    (folder / TABLE).write_text(markdown(part.results), "utf-8")
    gold = ((question, id) for question in run.dataset.questions for id in question.relevant)
    qrels = (f"{_word(question.id)} 0 {_word(id)} 1\n" for question, id in gold)
    (folder / QRELS).write_text("".join(qrels), "utf-8")
    for name in (contestant.name for contestant in run.contestants):
        text = "".join(  # scores fall by one a rank, so that a scorer that sorts keeps the recipe's order
            f"{_word(answer.question)} Q0 {_word(id)} {rank} {gain:g} {_word(name)}\n"
            for answer in run.answers[name]
            for rank, (id, gain) in enumerate(gains(answer.ranking).items(), 1)
        )
        (folder / RUNS / f"{file_name(name)}.trec").write_text(text, "utf-8")
    draw(folder, run, part.results)


def write_questions(path: Path, run: Run, scored: Mapping[str, Scores]) -> None:
    """One line for each recipe and question, packed; without a time inside, so that equal runs give equal bytes."""
    with path.open("wb") as raw, gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as packed:
        for contestant in run.contestants:
            for question, answer in zip(run.dataset.questions, run.answers[contestant.name], strict=True):
                line = {
                    "recipe": contestant.name,
                    "question": question.id,
                    "namespace": question.namespace,
                    "text": question.text,
                    "category": question.category,
                    "relevant": list(question.relevant),
                    "ranking": list(answer.ranking),
                    "scores": rounded(scored[contestant.name][question.id]),
                    "explained": dict(answer.explained),
                }
                packed.write((json.dumps(line, ensure_ascii=False) + "\n").encode())


def _word(text: str) -> str:
    """TREC files separate columns by blanks; a blank in an id becomes %20."""
    return re.sub(r"[\s%]", lambda match: "".join(f"%{byte:02X}" for byte in match[0].encode()), text)


def file_name(name: str) -> str:
    return re.sub(r"[^\w.-]+", "_", name)
