"""The results of a run as data, and as files."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fivefold.bench.ablate import Ablation
from fivefold.bench.contestants import Contestant
from fivefold.bench.data import Question
from fivefold.bench.judged import CHOICE
from fivefold.bench.result_folder import BY_SESSION, QRELS, QUESTIONS, RUNS, TABLE, fill_folder, write_results
from fivefold.bench.run import Run
from fivefold.bench.runner import Answer
from fivefold.bench.scores import Scores, by_category, gains, means, score
from fivefold.bench.significance import Comparison
from fivefold.values.serialize import Json
from fivefold.version import VERSION

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
    return {
        "dataset": run.dataset.name,
        "unit": run.dataset.unit,
        "embedder": run.embedder,
        "recipes": {
            contestant.name: _result(run, contestant, scored[contestant.name]) for contestant in run.contestants
        },
        "fivefold": VERSION,
        "k": list(ks),
        "measures": [*run.dataset.measures, *([CHOICE] if run.dataset.choices else [])],
        "seed": seed,
        "jobs": run.jobs,
        "categories": {kind: sum(question.category == kind for question in questions) for kind in kinds},
        "notes": [*run.dataset.notes, *notes, *run.notes, *_time_notes(run)],
        "definitions": {
            contestant.name: contestant.recipe.to_dict() if contestant.recipe else None
            for contestant in run.contestants
        },
        "significance": [item.to_dict() for item in significance],
        "ablation": ablation.to_dict() if ablation else None,
        "by_session": by_session,
    }


def _result(run: Run, contestant: Contestant, scores: Scores) -> Json:
    answers = run.answers[contestant.name]
    encoded = any(answer.encoded for answer in answers)
    kinds = by_category(scores, run.dataset.questions)
    return {
        "n": len(answers),
        "overall": rounded(means(scores, run.dataset.questions)),
        "by_category": {kind: rounded(values) for kind, values in kinds.items()},
        "latency_ms": {
            "encode": spread(run.encode_ms if encoded else (0.0,)),
            "recall": spread([answer.ms for answer in answers]),
        },
    }


def _time_notes(run: Run) -> Iterator[str]:
    if run.jobs > 1:
        yield f"times were measured with {run.jobs} processes side by side"


def rounded(values: Mapping[str, float]) -> dict[str, float]:
    """Figures as a file has them."""
    return {name: round(value, 6) for name, value in values.items()}


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
    from fivefold.bench.plots import draw
    from fivefold.bench.tables import markdown

    run = part.run
    (folder / RUNS).mkdir(parents=True)
    write_questions(folder / QUESTIONS, run, part.scored)
    (folder / TABLE).write_text(markdown(part.results), "utf-8")
    (folder / QRELS).write_text("".join(_qrels(run.dataset.questions)), "utf-8")
    for contestant in run.contestants:
        text = "".join(_run_lines(contestant.name, run.answers[contestant.name]))
        (folder / RUNS / f"{file_name(contestant.name)}.trec").write_text(text, "utf-8")
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


def _qrels(questions: Sequence[Question]) -> Iterator[str]:
    for question in questions:
        for id in question.relevant:
            yield f"{_word(question.id)} 0 {_word(id)} 1\n"


def _run_lines(name: str, answers: Sequence[Answer]) -> Iterator[str]:
    """TREC's six columns. Scores fall by one a rank, so that a scorer that sorts keeps the recipe's order."""
    for answer in answers:
        for rank, (id, gain) in enumerate(gains(answer.ranking).items(), 1):
            yield f"{_word(answer.question)} Q0 {_word(id)} {rank} {gain:g} {_word(name)}\n"


def _word(text: str) -> str:
    """TREC files separate columns by blanks; a blank in an id becomes %20."""
    return re.sub(r"[\s%]", lambda match: "".join(f"%{byte:02X}" for byte in match[0].encode()), text)


def file_name(name: str) -> str:
    return re.sub(r"[^\w.-]+", "_", name)
