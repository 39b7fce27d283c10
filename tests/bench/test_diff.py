"""Two runs beside each other: the tally, the order, both explanations, and plain words where files are amiss."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from fivefold.errors import InvalidInput
from fivefold_bench.diff import diff
from fivefold_bench.results import QUESTIONS, RESULTS, collect_results, score_run, write_questions
from fivefold_bench.run import Answer, Run
from fivefold_bench.scores import LISTED, Scores

Written = Callable[[str, Run], Path]


@pytest.fixture
def written(tmp_path: Path) -> Written:
    def write(name: str, run: Run) -> Path:
        folder, scored = tmp_path / name, score_run(run, LISTED)
        folder.mkdir()
        (folder / RESULTS).write_text(json.dumps(collect_results(run, scored, ks=(5, 10, 20), seed=None)), "utf-8")
        write_questions(folder / QUESTIONS, run, scored)
        return folder / RESULTS

    return write


def with_rankings(run: Run, name: str, **rankings: tuple[str, ...]) -> Run:
    """The run as if `name` had found these."""
    given = [
        Answer(answer.question, rankings.get(answer.question, answer.ranking), 1.0, explained=answer.explained)
        for answer in run.answers[name]
    ]
    return replace(run, answers={**run.answers, name: given})


def test_losses_come_first_and_the_worst_at_the_top(run: Run, written: Written) -> None:
    before = written("a", with_rankings(run, "default", q0=("D2:2",), q1=("D1:2",), q2=()))
    after = written("b", with_rankings(run, "default", q0=(), q1=(), q2=("D1:3",)))
    found = diff(before, after)
    assert [(change.question, change.change) for change in found.changes] == [("q1", -1), ("q0", -0.5), ("q2", 1)]
    assert (found.questions, found.better, found.worse, found.same) == (6, 1, 2, 3)
    assert found.mean == pytest.approx(-0.5 / 6, abs=1e-6)
    assert (found.a, found.b) == (f"{before}: default", f"{after}: default")


def test_both_sides_are_explained(run: Run, written: Written) -> None:
    ranking = run.rankings("default")["q4"]
    moved = (*(id for id in ranking if id != "D2:3"), "D2:3")
    path, other = written("a", run), written("b", with_rankings(run, "default", q4=moved))
    (change,) = diff(path, other, metric="mrr").changes
    assert change.text == "What is Olaf's badge number?"
    assert change.a.gold == {"D2:3": 1}
    assert change.b.gold == {"D2:3": len(ranking)}
    assert change.a.explained[0].startswith("gold D2:3\n#1")
    assert "fused" in change.a.explained[0]
    assert any(text.startswith("gold D2:3") for text in change.b.explained)


def test_two_recipes_of_one_run(run: Run, written: Written) -> None:
    path = written("a", with_rankings(run, "default", q3=()))
    found = diff(path, path, "bm25,default")
    assert (found.a, found.b) == ("bm25", "default")
    change = found.changes[0]
    assert change.question == "q3"
    assert change.a.explained[0] == "gold D2:1\n#1  a baseline, nothing but its rank"
    assert change.b.gold == {"D2:1": None}


def test_equal_runs_differ_in_nothing(run: Run, written: Written) -> None:
    found = diff(written("a", run), written("b", run))
    assert (found.changes, found.same, found.mean) == ((), 6, 0)


def test_without_default_the_recipe_both_have_is_taken(run: Run, written: Written) -> None:
    only = replace(run, contestants=run.contestants[1:2])
    assert diff(written("a", only), written("b", run)).a.endswith(": bm25")


def test_json_has_both_sides(run: Run, written: Written) -> None:
    shown = diff(written("a", run), written("b", with_rankings(run, "default", q0=()))).to_dict()
    assert set(shown["changes"][0]) == {"question", "text", "category", "change", "a", "b"}
    assert set(shown["changes"][0]["a"]) == {"score", "gold", "explained"}
    json.dumps(shown)


@pytest.mark.parametrize(
    ("recipes", "metric", "told"),
    [
        (None, "recall@10", r"the run has dense, bm25, recipe:dense, default; name two with recipes='X,Y'"),
        ("bm25,nonsense", "recall@10", "has no recipe 'nonsense'; there are dense"),
        ("a,b,c", "recall@10", "takes one name, or two"),
        (",", "recall@10", "takes one name, or two"),
        ("bm25,default", "recall@7", "metric 'recall@7' is not in both runs; there are all@10"),
    ],
)
def test_what_cannot_be_compared_is_said(
    recipes: str | None, metric: str, told: str, run: Run, written: Written
) -> None:
    path = written("a", run)
    with pytest.raises(InvalidInput, match=told):
        diff(path, path, recipes, metric)


def test_other_questions_cannot_be_compared(run: Run, written: Written) -> None:
    questions = [replace(question, id=f"other {question.id}") for question in run.dataset.questions]
    answers: Mapping[str, list[Answer]] = {
        name: [replace(answer, question=f"other {answer.question}") for answer in given]
        for name, given in run.answers.items()
    }
    other = replace(run, dataset=replace(run.dataset, questions=questions), answers=answers)
    with pytest.raises(InvalidInput, match="no question in common"):
        diff(written("a", run), written("b", other))


def test_a_missing_sibling_is_named(run: Run, scored: Mapping[str, Scores], written: Written) -> None:
    path = written("a", run)
    path.with_name("questions.jsonl.gz").unlink()
    with pytest.raises(InvalidInput, match=r"questions.jsonl.gz is missing next to .*results.json"):
        diff(path, path, "bm25,default")


@pytest.mark.parametrize(
    "data",
    [
        b"rubbish",
        gzip.compress(b"not json\n", mtime=0),
        gzip.compress(b"[]\n", mtime=0),
        gzip.compress(b'{"recipe": 1}\n', mtime=0)[:-6],
        b"\x1f\x8b",
    ],
)
def test_a_damaged_sibling_is_said(data: bytes, run: Run, written: Written) -> None:
    path = written("a", run)
    path.with_name("questions.jsonl.gz").write_bytes(data)
    with pytest.raises(InvalidInput, match="is damaged"):
        diff(path, path, "bm25,default")


def test_a_sibling_of_another_run_is_said(run: Run, written: Written) -> None:
    path = written("a", run)
    path.with_name("questions.jsonl.gz").write_bytes(gzip.compress(b"", mtime=0))
    with pytest.raises(InvalidInput, match="not of the same run"):
        diff(path, path, "bm25,default")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (None, "does not exist"),
        ("rubbish", "is not JSON"),
        ("[]", "holds no recipes"),
        ('{"recipes": {}}', "holds no recipes"),
        ("[" * 100_000, "is not JSON"),
    ],
)
def test_what_is_no_results_file_is_said(text: str | None, told: str, tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    if text is not None:
        path.write_text(text, "utf-8")
    with pytest.raises(InvalidInput, match=told):
        diff(path, path, "a,b")


def test_a_folder_is_no_results_file(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="could not be read"):
        diff(tmp_path, tmp_path, "a,b")
