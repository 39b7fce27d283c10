"""What a run leaves behind: a fixed schema, whole files, and a folder that is never mixed with anything else."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import ir_measures
import pytest

from fivefold.errors import InvalidInput, StoreError
from fivefold.values.serialize import Json
from fivefold_bench import plots
from fivefold_bench.diff import diff
from fivefold_bench.results import COMPARISON_FILES, ScoredRun, check_folder, collect_results, score_run, write_folder
from fivefold_bench.run import Answer, Run
from fivefold_bench.scores import LISTED, Scores, means, metric_names
from fivefold_bench.tables import markdown, overall

pytestmark = pytest.mark.slow

Scored = Mapping[str, Scores]


@pytest.fixture(scope="module")
def results(run: Run, scored: Scored) -> Json:
    return collect_results(run, scored, ks=(5, 10, 20), seed=None)


@pytest.fixture(scope="module")
def folder(run: Run, results: Json, scored: Scored, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Written once, to be read."""
    place = tmp_path_factory.mktemp("run") / "new" / "out"
    write_folder(place, ScoredRun(run, scored, results))
    return place


def test_the_schema_is_as_others_read_it(results: Json) -> None:
    assert list(results)[:4] == ["dataset", "unit", "embedder", "recipes"]
    assert (results["dataset"], results["unit"]) == ("lines", "turn")
    assert list(results["recipes"]) == ["dense", "bm25", "recipe:dense", "default"]
    for each in results["recipes"].values():
        assert list(each) == ["n", "overall", "by_category", "latency_ms"]
        assert each["n"] == 6
        assert tuple(each["overall"]) == LISTED
        assert all(tuple(values) == LISTED for values in each["by_category"].values())
        assert set(each["by_category"]) == {"1", "2", "4"}
        assert list(each["latency_ms"]) == ["encode", "recall"]
        for times in each["latency_ms"].values():
            assert list(times) == ["p50", "p95", "p99"]
            assert times["p50"] <= times["p95"] <= times["p99"]
    assert results["categories"] == {"1": 1, "2": 1, "4": 4}
    assert json.loads(json.dumps(results)) == results


def test_overall_is_the_mean_of_all_questions(results: Json, run: Run, scored: Scored) -> None:
    for name, each in results["recipes"].items():
        assert each["overall"] == pytest.approx(means(scored[name], run.dataset.questions), abs=1e-6)
        weighed = sum(each["by_category"][kind]["recall@5"] * n for kind, n in results["categories"].items()) / 6
        assert weighed == pytest.approx(each["overall"]["recall@5"], abs=1e-5)


def test_what_encodes_nothing_takes_no_time_to_encode(results: Json) -> None:
    encode = {name: each["latency_ms"]["encode"]["p50"] for name, each in results["recipes"].items()}
    assert encode["bm25"] == 0
    assert encode["dense"] == encode["default"] > 0


def test_recipes_are_kept_as_data(results: Json) -> None:
    assert results["definitions"]["bm25"] is None
    assert results["definitions"]["recipe:dense"]["unit"] == "turn"


def test_another_depth_adds_its_metrics(run: Run) -> None:
    made = collect_results(run, score_run(run, metric_names((3,))), ks=(3,), seed=None)
    assert tuple(made["recipes"]["default"]["overall"]) == (
        *LISTED,
        "recall@3",
        "all@3",
        "hit@3",
        "precision@3",
        "ndcg@3",
    )
    assert "recall@3" in overall(made)[0]


def test_processes_side_by_side_are_noted(run: Run, scored: Scored) -> None:
    made = collect_results(replace(run, jobs=3), scored, ks=(5, 10, 20), seed=None, notes=("a note",))
    assert made["notes"] == ["a note", "times were measured with 3 processes side by side"]


def test_the_folder_holds_everything_and_nothing_unfinished(folder: Path, results: Json) -> None:
    there = {path.relative_to(folder).as_posix() for path in folder.parent.rglob("*.*")}
    assert there == COMPARISON_FILES | {f"runs/{name}.trec" for name in ("dense", "bm25", "recipe_dense", "default")}
    assert json.loads((folder / "results.json").read_text("utf-8")) == results


def test_trec_files_give_the_same_scores(folder: Path, results: Json) -> None:
    qrels = list(ir_measures.read_trec_qrels(str(folder / "qrels.trec")))  # type: ignore[no-untyped-call]
    for name, file in (("default", "default"), ("recipe:dense", "recipe_dense"), ("bm25", "bm25")):
        path = folder / "runs" / f"{file}.trec"
        run = list(ir_measures.read_trec_run(str(path)))  # type: ignore[no-untyped-call]
        found = ir_measures.calc_aggregate([ir_measures.R @ 5, ir_measures.nDCG @ 10], qrels, run)
        told = results["recipes"][name]["overall"]
        assert found[ir_measures.R @ 5] == pytest.approx(told["recall@5"], abs=1e-6)
        assert found[ir_measures.nDCG @ 10] == pytest.approx(told["ndcg@10"], abs=1e-6)


def test_ids_with_blanks_stay_one_column(run: Run, results: Json, scored: Scored, tmp_path: Path) -> None:
    spaced = [Answer("q 0", ("a b", "50%"), 1.0), *run.answers["bm25"][1:]]
    write_folder(tmp_path, ScoredRun(replace(run, answers={**run.answers, "bm25": spaced}), scored, results))
    lines = (tmp_path / "runs" / "bm25.trec").read_text("utf-8").splitlines()
    assert lines[:2] == ["q%200 Q0 a%20b 1 2 bm25", "q%200 Q0 50%25 2 1 bm25"]


def test_each_answer_is_a_line(folder: Path) -> None:
    with gzip.open(folder / "questions.jsonl.gz", "rt", encoding="utf-8") as lines:
        read = [json.loads(line) for line in lines]
    assert len(read) == 4 * 6
    first = next(line for line in read if line["recipe"] == "default")
    assert first["text"] == "What happened to the plum trees?"
    assert first["relevant"] == ["D2:2", "D1:1"]
    assert tuple(first["scores"]) == LISTED
    assert set(first["explained"]) >= set(first["ranking"][:3])


def test_equal_runs_give_equal_bytes(run: Run, results: Json, scored: Scored, folder: Path, tmp_path: Path) -> None:
    files = write_folder(tmp_path, ScoredRun(run, scored, results))
    for path in files:
        assert path.read_bytes() == (folder / path.relative_to(tmp_path)).read_bytes()
    assert len(files) == len(COMPARISON_FILES) + 4


def test_a_later_race_replaces_an_earlier_one(run: Run, folder: Path, scored: Scored, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    (tmp_path / ".unfinished-killed").mkdir()
    fewer = replace(run, contestants=run.contestants[:2])
    write_folder(tmp_path, ScoredRun(fewer, scored, collect_results(fewer, scored, ks=(5, 10, 20), seed=1)))
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == ["bm25.trec", "dense.trec"]
    assert not (tmp_path / ".unfinished-killed").exists()
    assert json.loads((tmp_path / "results.json").read_text("utf-8"))["seed"] == 1


def test_what_is_scored_by_session_has_a_folder_of_its_own(
    run: Run, results: Json, scored: Scored, tmp_path: Path
) -> None:
    whole = ScoredRun(run, scored, {**results, "by_session": results})
    files = write_folder(tmp_path, whole, whole)
    inside = {path.relative_to(tmp_path).as_posix() for path in files}
    assert {f"by_session/{name}" for name in COMPARISON_FILES} <= inside
    assert (tmp_path / "table.md").read_text("utf-8").count("## Recall@10 by category") == 2
    assert diff(tmp_path / "by_session" / "results.json", tmp_path / "results.json", "default").worse == 0
    check_folder(tmp_path)
    write_folder(tmp_path, ScoredRun(run, scored, results))
    assert not (tmp_path / "by_session").exists()


def test_a_folder_with_other_things_is_left_alone(run: Run, results: Json, scored: Scored, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("x", "utf-8")
    with pytest.raises(InvalidInput, match=r"holds other things \(thesis.tex\)"):
        write_folder(tmp_path, ScoredRun(run, scored, results))
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize("strange", ["runs/notes.txt", "results.json/inner", "plot.png", "by_session/mine.png"])
def test_names_that_only_look_like_ours_are_refused(strange: str, tmp_path: Path) -> None:
    (tmp_path / strange).parent.mkdir(exist_ok=True)
    (tmp_path / strange).write_text("x", "utf-8")
    with pytest.raises(InvalidInput, match="holds other things"):
        check_folder(tmp_path)


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("x", "utf-8")
    with pytest.raises(InvalidInput, match="is a file"):
        check_folder(tmp_path / "out")
    with pytest.raises(InvalidInput, match="cannot be written"):
        check_folder(tmp_path / "out" / "below")


def test_a_disk_that_fills_up_leaves_the_earlier_results(
    run: Run, results: Json, scored: Scored, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(plots, "draw", full)
    with pytest.raises(StoreError, match="No space left"):
        write_folder(tmp_path, ScoredRun(run, scored, results))
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_markdown_marks_the_best_and_tells_the_notes(results: Json) -> None:
    page = markdown({**results, "notes": ["five strings repaired"]})
    head, rule, *rows = [line for line in page.splitlines() if line.startswith("|")]
    assert head.startswith("| recipe | recall@5 | recall@10 |")
    assert head.count("|") == rule.count("|") == rows[0].count("|")
    assert any("**" in row for row in rows)
    assert "## Recall@10 by category" in page
    assert "- five strings repaired" in page
