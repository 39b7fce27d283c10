"""Measure every recipe on every benchmark and write the tables into docs/benchmarks.md.

    python docs/make_benchmark_tables.py OUT --locomo FILE --longmemeval FILE --longmemeval-s FILE --beam FOLDER

The everyday lives are shipped. A run lies in a folder of its own below OUT, and one that is there already is not
repeated; a benchmark without a run and without data keeps its tables.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from fivefold.values.serialize import Json
from fivefold_bench.block import BlockReport, BlockRow, table_rows, title
from fivefold_bench.everyday_report import sections
from fivefold_bench.results import RESULTS
from fivefold_bench.tables import Row, categories, markdown_table, overall

PAGE = Path(__file__).with_name("benchmarks.md")
COMMANDS = {"locomo": "locomo", "longmemeval": "longmemeval", "longmemeval-s": "longmemeval", "beam": "beam"}
"""By the name of a table, the benchmark that measures it."""

COLUMNS = ("recall@5", "recall@10", "recall@20", "all@10", "hit@5", "ndcg@10", "mrr")
BUDGETS = "300,500,600,1200,2500"


def run(out: Path, data: Mapping[str, Path]) -> None:
    """Every benchmark that has data and no run yet."""
    measure(out / "everyday", "everyday")
    for name, command in COMMANDS.items():
        if name in data:
            measure(out / name, command, str(data[name]), "--recipes", "all", "--no-relevance")
    places = {"--locomo": "locomo", "--longmemeval": "longmemeval-s", "--beam": "beam"}
    given = [part for option, name in places.items() if name in data for part in (option, str(data[name]))]
    measure(out / "block", "block", "--lives", "report", "--budgets", BUDGETS, *given)


def measure(folder: Path, command: str, *arguments: str) -> None:
    if not (folder / RESULTS).exists():
        print(f"fivefold bench {command}", flush=True)
        call = [sys.executable, "-m", "fivefold", "bench", command, *arguments, "--out", str(folder)]
        subprocess.run(call, check=True)


def tables(name: str, results: Json) -> list[str]:
    """The Markdown of one run."""
    if name == "everyday":
        return [
            "\n".join((f"{each.title}:", "", *markdown_table((each.first, *each.columns), each.rows)))
            for each in sections(results)
        ]
    if name == "block":
        return list(_blocks(results))
    runs = [("By turn" if results["by_session"] else "", results), ("By session", results["by_session"])]
    return [table for heading, part in runs if part for table in _quality(heading, part)]


def _quality(heading: str, results: Json) -> Iterator[str]:
    """Quality without times, which the page on speed has, and recall@10 for each category."""
    columns, rows = overall(results)
    places = [columns.index(column) for column in COLUMNS]
    narrow = [
        Row(row.name, tuple(row.cells[i] for i in places), frozenset(places.index(i) for i in row.best if i in places))
        for row in rows
    ]
    yield f"{heading or 'All questions'}:"
    yield "\n".join(markdown_table(["recipe", *COLUMNS], narrow))
    names, rows = categories(results)
    yield f"Recall@10 by category{', ' + heading.lower() if heading else ''}:"
    yield "\n".join(markdown_table(["recipe", *names], rows))


def _blocks(results: Json) -> Iterator[str]:
    rows = tuple(BlockRow(**row) for row in results["rows"])
    report = BlockReport(results["embedder"], results["fivefold"], tuple(results["budgets"]), rows, ())
    for level in report.by_dataset().values():
        yield f"{title(level)}:"
        yield "\n".join(markdown_table(["recipe", "budget", "any", "all", "share", "tokens"], table_rows(level)))


def rewritten(page: str, name: str, results: Json) -> str:
    """`page` with the tables of this run between its two marks."""
    text = "\n\n".join((f"<!-- {name} -->", *tables(name, results), f"<!-- /{name} -->"))
    return re.sub(rf"<!-- {name} -->\n.*?<!-- /{name} -->", lambda _: text, page, flags=re.DOTALL)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, help="the folder of the runs")
    for name in COMMANDS:
        parser.add_argument(f"--{name}", type=Path, help="its data")
    given = vars(parser.parse_args(arguments))
    out = given.pop("out")
    run(out, {name: data for name in COMMANDS if (data := given[name.replace("-", "_")])})
    page = PAGE.read_text("utf-8")
    for name in ("everyday", *COMMANDS, "block"):
        if (found := out / name / RESULTS).exists():
            page = rewritten(page, name, json.loads(found.read_text("utf-8")))
    PAGE.write_text(page, "utf-8")


if __name__ == "__main__":
    main()
