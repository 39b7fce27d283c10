"""Everyday lives asked by real recipes."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import pytest

from fivefold.errors import InvalidInput
from fivefold.evaluation import evaluate
from fivefold.values.serialize import Json
from fivefold_bench.benchmark import Options
from fivefold_bench.diff import diff
from fivefold_bench.everyday import reference_of, run_everyday
from fivefold_bench.everyday_report import by_kind, draw, kinds_by_recipe, markdown, overall, reliability
from tests.support.everyday_life import write_life

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory, cache_folder: Path) -> tuple[Json, list[Path]]:
    folder = tmp_path_factory.mktemp("lives")
    lives = [write_life(folder), write_life(folder, "ines")]
    options = Options(recipes="dense,recipe:dense,default", embedder="wordllama", out=folder / "out")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FIVEFOLD_CACHE", str(cache_folder))
        return run_everyday(lives, "report", options)


def test_every_recipe_answers_every_question(ran: tuple[Json, list[Path]]) -> None:
    results, _ = ran
    assert list(results["recipes"]) == ["dense", "recipe:dense", "default"]
    assert results["categories"] == {"current": 2, "list": 2, "identifier": 2, "never": 2}
    assert results["lives"] == {"part": None, "names": ["nuno", "ines"]}
    for each in results["recipes"].values():
        assert each["n"] == 8
        assert each["by_category"]["identifier"]["hit@1"] == 1
        assert each["overall"]["window"] is None
    assert [item["against"] for item in results["differences"]] == ["dense", "recipe:dense"]


def test_a_recipe_that_judges_its_hits_is_judged_itself(ran: tuple[Json, list[Path]]) -> None:
    recipes = ran[0]["recipes"]
    assert recipes["dense"]["calibration"] is recipes["dense"]["overall"]["never"] is None
    found = recipes["default"]["calibration"]
    assert found["hits"] == sum(each["n"] for each in found["bins"]) == 8 * 5
    assert recipes["default"]["overall"]["error"] == pytest.approx(found["error"], abs=1e-6)
    assert recipes["default"]["overall"]["never"] in (0, 1)


def test_files_are_written_and_can_be_compared(ran: tuple[Json, list[Path]]) -> None:
    results, files = ran
    assert {"results.json", "table.md", "questions.jsonl.gz", "hits_by_kind.png"} <= {path.name for path in files}
    path = next(path for path in files if path.name == "results.json")
    assert json.loads(path.read_text("utf-8")) == results
    assert diff(path, path, "dense,default", "hit@1").questions == 8


def test_tables_have_a_row_for_each_recipe_and_kind(ran: tuple[Json, list[Path]]) -> None:
    results, _ = ran
    assert [row.name for row in overall(results)[1]] == ["dense", "recipe:dense", "default"]
    assert [row.name for row in by_kind(results, "default")[1]] == ["current", "list", "identifier"]
    names, rows = kinds_by_recipe(results)
    assert names == ["dense", "recipe:dense", "default"]
    assert rows[2].cells == ("1.000", "1.000", "1.000")
    assert "## default by kind" in markdown(results)


def test_chances_become_a_table_and_a_plot(ran: tuple[Json, list[Path]], tmp_path: Path) -> None:
    results = json.loads(json.dumps(ran[0]))
    bins = [{"start": 0.7, "end": 0.8, "n": 4, "chance": 0.75, "right": 0.5}]
    results["recipes"]["default"]["calibration"] = {"error": 0.25, "hits": 4, "bins": bins}
    assert reliability(results, "default") == [(".700–.800", "4", ".750", ".500")]
    draw(tmp_path, results)
    assert {path.name for path in tmp_path.iterdir()} == {"hits_by_kind.png", "reliability.png"}


def test_parts_are_worth_what_a_recipe_loses_without_them(tmp_path: Path) -> None:
    options = Options(embedder="wordllama", ablate="recipe:lexical")
    results, _ = run_everyday([write_life(tmp_path)], "report", options)
    assert list(results["recipes"]) == ["recipe:lexical"]
    assert results["ablation"]["recipe"] == "recipe:lexical"
    assert "What each part of recipe:lexical is worth" in markdown(results)


def test_mistakes_are_found_before_the_run(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="unknown recipe 'defualt'"):
        run_everyday([], "choose", Options(recipes="defualt"))
    with pytest.raises(InvalidInput, match="does not exist"):
        run_everyday([tmp_path / "none.json"], "report", Options(recipes="bm25"))


def test_the_reference_is_default_or_the_first_recipe() -> None:
    assert reference_of(["dense", "bm25", "ditto", "default"]) == "default"
    assert reference_of(["dense", "recipe:dense", "mine", "ditto"]) == "mine"
    assert reference_of(["bm25", "dense"]) == "bm25"


def test_the_page_takes_the_tables_of_a_run(ran: tuple[Json, list[Path]]) -> None:
    script = runpy.run_path(str(ROOT / "docs" / "make_benchmark_tables.py"))
    page = script["PAGE"].read_text("utf-8")
    written = script["rewritten"](page, "everyday", ran[0])
    assert "\nhit@1 by kind:\n\n| kind | dense | recipe:dense | default |\n" in written
    assert script["rewritten"](written, "everyday", ran[0]) == written
    for name in ("everyday", *script["COMMANDS"], "block"):
        assert page.count(f"<!-- {name} -->") == page.count(f"<!-- /{name} -->") == 1


def test_a_file_of_ones_own_is_judged_as_in_the_core(tmp_path: Path) -> None:
    path = write_life(tmp_path)
    alone = evaluate(path, embedder="wordllama").to_dict()
    raced, _ = run_everyday([path], "report", Options(recipes="default", embedder="wordllama"))
    found = raced["recipes"]["default"]
    for name in ("hit@1", "hit@5", "cover", "fresh", "never", "refused"):
        assert alone["overall"][name] == pytest.approx(found["overall"][name], abs=1e-6)
    assert alone["by_kind"].keys() == found["by_category"].keys()
