"""Shows measurements in a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from fivefold.cli import terminal
from fivefold.cli.output import say
from fivefold.cli.terminal import counted, hang, line
from fivefold.text.display import visible
from fivefold.values.serialize import Json
from fivefold_bench import everyday_report, tables

if TYPE_CHECKING:
    from fivefold_bench.async_tasks import AsyncReport
    from fivefold_bench.block import BlockReport
    from fivefold_bench.diff import Diff
    from fivefold_bench.faults.run import FaultReport
    from fivefold_bench.golden import Checked
    from fivefold_bench.load import LoadReport
    from fivefold_bench.measures import Measure
    from fivefold_bench.peers.report import PeerReport
    from fivefold_bench.profile import ProfileReport
    from fivefold_bench.qa import QaReport

WIDE = 120
"""From here on headings stand on one line."""

FULL = 100
"""From here on all figures are shown; --json and --out always have all."""

MIDDLE = 80
"""Below this width only the main figures are shown."""

SPARED_FIRST = frozenset({"precision@5", "relevance"})
SPARED = frozenset({"recall@20", "all@10", "hit@5", "mrr", "p95 ms", *SPARED_FIRST})


def show_results(results: Json, out: Path | None, files: Sequence[Path]) -> None:
    """Shows all tables, then the notes on them, then the paths of the files."""
    if results["by_session"]:
        line("by turn", "bold")
    _show_sections(tables.sections(results))
    for part in results["ablation"]["parts"] if results["ablation"] else ():
        if part["kept"]:
            hang("", f"{part['part']} cannot go: {part['kept']}", "dim")
    if results["by_session"]:
        _title("by session, each at the place of its first turn")
        _show_sections(tables.sections(results["by_session"]))
    _end([*tables.notes(results)], f"{counted(len(files), 'file', 'files')} in {out}" if out else "")


def show_everyday(results: Json, out: Path | None, files: Sequence[Path]) -> None:
    _show_sections(everyday_report.sections(results))
    _end([*everyday_report.notes(results)], f"{counted(len(files), 'file', 'files')} in {out}" if out else "")


def _show_sections(found: Iterable[tables.Section]) -> None:
    for section in found:
        if section.heading:
            _title(section.heading)
        if section.left is None:
            figure_table(section.first, section.columns, section.rows, spared=frozenset() if section.narrow else None)
        else:
            columns = (section.first, *section.columns)
            right = section.columns[section.left :]
            terminal.table(columns, [(row.name, *row.cells) for row in section.rows], right=right)


def show_blocks(report: BlockReport, out: Path | None) -> None:
    """A table for each dataset, then what to know about them."""
    from fivefold_bench.block import COLUMNS, table_rows, title

    for place, rows in enumerate(report.by_dataset().values()):
        if place:
            line("")
        line(title(rows), "bold")
        figure_table("recipe", COLUMNS, table_rows(rows), spared=frozenset())
    _end([f"embedder {report.embedder}", *report.notes], f"results, table and plot in {out}" if out else "")


def show_profiles(report: ProfileReport) -> None:
    """A row for each life, then the facts by section."""
    _title(f"What is known, profiles of {report.budget:,} tokens")
    columns = ("life", "facts", "found", "lines", "stale", "wrong", "agenda", "cancelled", "history", "lines/value")
    rows = [
        (
            *(item.name, f"{item.facts:,}", tables.share(item.found / max(1, item.facts)), f"{item.lines:,}"),
            *(tables.share(item.stale / max(1, item.lines)), tables.share(item.wrong / max(1, item.lines))),
            *(f"{item.dated_found}/{item.dated}", f"{item.cancelled_shown}/{item.cancelled}"),
            *(tables.share(item.in_order / max(1, item.values)), f"{item.history_lines / max(1, item.values):.1f}"),
        )
        for item in (*report.lives, report.overall)
    ]
    terminal.table(columns, rows, right=columns[1:])
    line("")
    sections = [(item.section, f"{item.facts:,}", tables.share(item.share)) for item in report.sections]
    terminal.table(("section", "facts", "found"), sections, right=("facts", "found"))
    _end([f"embedder {report.embedder}"], "")


def show_qa(report: QaReport, out: Path) -> None:
    """Accuracy, tokens and times by kind of question."""
    _title(f"{report.data}: answers of {report.model}, judged by {report.judge}, blocks of {report.budget:,} tokens")
    columns = ("kind", "questions", "right", "accuracy", "context tokens", "prompt tokens", "recall ms", "answer s")
    rows = [
        (
            *(item.kind, f"{item.questions:,}", f"{item.right:,}"),
            "–" if item.accuracy is None else f"{item.accuracy:.1%}",
            *(f"{item.context_tokens:,.0f}", f"{item.prompt_tokens:,.0f}", f"{item.recall_ms:.0f}", item.answer_s),
        )
        for item in report.results
    ]
    terminal.table(columns, rows, right=columns[1:])
    unjudged = report.results[-1].unjudged
    notes = [
        *report.notes,
        *(
            [f"answers whose judge said neither RIGHT nor WRONG, left out of the accuracy: {unjudged}"]
            if unjudged
            else []
        ),
    ]
    _end(notes, f"every answer is in {out / 'answers.jsonl'}")


def _title(text: str) -> None:
    line("")
    line(text, "bold")


def _end(notes: Sequence[str], files: str) -> None:
    line("")
    for note in notes:
        hang("", note, "dim")
    if files:
        line(files)


def figure_table(
    first: str, columns: Sequence[str], rows: Sequence[tables.Row], spared: frozenset[str] | None = None
) -> None:
    """Figures to the right, the best of each column bold, baselines dimmed. No figure is ever broken."""
    grid = Table(header_style="bold", box=None, pad_edge=False, padding=(0, 1))
    grid.add_column(first, no_wrap=True)
    width = terminal.console.width
    if spared is None:
        spared = frozenset[str]() if width >= FULL else SPARED_FIRST if width >= MIDDLE else SPARED
    places = [place for place, column in enumerate(columns) if column not in spared]
    for place in places:
        heading = columns[place] if width >= WIDE else columns[place].replace("@", "\n@").replace(" ", "\n")
        grid.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        base = "dim" if row.baseline else ""
        cells = [Text(row.cells[place], style="bold" if place in row.best else base) for place in places]
        grid.add_row(Text(visible(row.name), style=base), *cells)
    terminal.console.print(grid)


def show_diff(diff: Diff, limit: int) -> None:
    """The tally, then each changed question with both sides."""
    hang("A  ", diff.a)
    hang("B  ", diff.b)
    line(
        f"{diff.metric}: {counted(diff.questions, 'question', 'questions')}, {diff.better:,} better, "
        f"{diff.worse:,} worse, {diff.same:,} the same, mean {tables.signed(diff.mean)}"
    )
    for change in diff.changes[:limit]:
        line("")
        hang("? ", change.text, "bold cyan")
        scores = f"{tables.share(change.a.score)} → {tables.share(change.b.score)}"
        line(f"  {change.question} · {change.category} · {scores}", "green" if change.change > 0 else "red")
        for name, side in (("A", change.a), ("B", change.b)):
            gold = ", ".join(f"{id} {f'#{place}' if place else 'not found'}" for id, place in side.gold.items())
            hang("  ", f"{name}: gold {gold}", "bold")
            for text in side.explained:
                first, *rest = text.split("\n")
                hang("     ", first, "green" if first.startswith("gold ") else "")
                for further in rest:
                    hang("       ", further.strip() if further.startswith("#") else further, "dim", further=11)
    if len(diff.changes) > limit:
        line("")
        line(f"… and {len(diff.changes) - limit:,} more; --limit shows them", "dim")


def show_measures(found: list[Measure]) -> None:
    """Rates and sizes have one value; times have a middle and a tail. Figures that no size measured have a separate
    table."""

    def row(item: Measure, *cells: str, last: str | None = None) -> tuple[str, ...]:
        mark = "" if item.ok is None or not item.bar else _mark(item.ok)
        ends = (item.bar, mark) if last is None else (last,)
        return (item.what, f"{item.memories:,}" if item.memories else "", *cells, item.unit, *ends)

    right = ("memories", "value", "p50", "p95", "p99", "CPU", "slope", "last slope")
    values = [item for item in found if item.p95 is None and item.fit is None]
    columns: tuple[str, ...] = ("measure", "memories", "value", "", "bar", "")
    terminal.table(columns, [row(item, f"{item.p50:,.2f}") for item in values], right)
    line("")
    columns = ("measure", "memories", "p50", "p95", "p99", "CPU", "", "bar", "")
    spreads = [
        row(item, *("" if value is None else f"{value:,.2f}" for value in (item.p50, item.p95, item.p99, item.cpu)))
        for item in found
        if item.p95 is not None
    ]
    terminal.table(columns, spreads, right)
    fitted = [
        row(
            item,
            *(f"{item.p50:,.2f}", f"{fit.slope_p50:.2f}", f"{fit.last_slope_p50:.2f}"),
            *(f"{item.p99:,.2f}", f"{fit.slope_p99:.2f}", f"{fit.last_slope_p99:.2f}"),
            last=", ".join(f"{size:,}" for size in fit.sizes),
        )
        for item in found
        if (fit := item.fit) is not None
    ]
    if fitted:
        line("")
        columns = ("measure", "memories", "p50", "slope", "last slope", "p99", "slope", "last slope", "", "fitted to")
        terminal.table(columns, fitted, right)
        hang("", "slope: of log time by log size, a line by least squares; last slope: between the last two sizes")


def _mark(ok: bool) -> str:
    return "✓" if ok else "✗"


def show_faults(result: FaultReport) -> None:
    numbers = ("kills", "failures", "acknowledged", "cut off", "lost", "half-written", "doctor clean")
    total = result.total
    rows = [
        (row.operation, *(f"{count:,}" for count in row.counts), _mark(row.ok)) for row in (*result.operations, total)
    ]
    terminal.table(("operation", *numbers, ""), rows, right=numbers)
    line("")
    say(f"{total.kills:,} kills and {total.failures:,} failures in {result.seconds:,.0f} s, seed {result.seed}")
    _complain(total.problems)


def show_load(result: LoadReport) -> None:
    numbers = ("count", "/s", "p50", "p95", "p99", "most")
    rows = [
        (
            *(item.who, item.operation, f"{item.count:,}"),
            *(f"{n:,.1f}" for n in (item.per_second, item.p50_ms, item.p95_ms, item.p99_ms, item.most_ms)),
            "ms",
        )
        for item in result.figures
    ]
    terminal.table(("asked by", "operation", *numbers, ""), rows, right=numbers)
    line("")
    say(f"{result.requests:,} requests in {result.seconds:g} s, {result.per_second:,.1f} a second")
    say(f"{_mark(not result.errors)} {result.errors} errors")
    say(f"{_mark(not result.lost)} {result.written:,} memories confirmed and kept, {result.lost} of them lost")
    say(f"{_mark(not result.returned)} {result.returned} forgotten memories came back")
    if result.too_late:
        say(f"  {result.too_late} refused as too late: feedback on a recall of a memory that was forgotten since")
    if result.memory_before_mb is not None and result.memory_after_mb is not None:
        grown = result.memory_after_mb - result.memory_before_mb
        say(f"  the server holds {result.memory_after_mb:,.0f} MB, {grown:+,.0f} MB since the load began")
    _complain(result.failures)


def show_async(result: AsyncReport) -> None:
    from fivefold_bench.async_tasks import ALLOWED_MS

    numbers = ("count", "/s", "p50", "p95", "most")
    rows = [
        (
            *(item.call, f"{item.count:,}"),
            *(f"{number:,.1f}" for number in (item.per_second, item.p50_ms, item.p95_ms, item.most_ms)),
            "ms",
        )
        for item in result.figures
    ]
    terminal.table(("call", *numbers, ""), rows, right=numbers)
    line("")
    say(f"{_mark(not result.errors)} {result.tasks} tasks for {result.seconds:g} s, {result.errors} errors")
    say(f"{_mark(not result.lost)} {result.written:,} memories confirmed, {result.lost} of them lost")
    say(
        f"{_mark(result.blocked_most_ms <= ALLOWED_MS)} the event loop was blocked for at most "
        f"{result.blocked_most_ms:,.1f} ms (≤ {ALLOWED_MS:g}), {result.blocked_p99_ms:,.1f} ms at the 99th percentile"
    )
    say(f"  before the tasks began, this machine let the loop wait for up to {result.idle_most_ms:,.1f} ms")
    _complain(result.failures)


def _complain(problems: Sequence[str]) -> None:
    for problem in problems:
        sys.stderr.write(f"✗ {problem}\n")


def show_peers(report: PeerReport, out: Path | None) -> None:
    from fivefold_bench.peers.report import COLUMNS, NUMBERS, cells, remarks, sentence

    terminal.table(COLUMNS, [cells(row) for row in report.rows], right=NUMBERS)
    line("")
    for note in remarks(report.rows):
        hang("", note, further=2)
    for item in report.comparisons:
        say(f"{' ' if item.ok is None else _mark(item.ok)} {sentence(item)}")
    say(f"{report.cores} cores; {report.busy:g} processes wanted one when the run began")
    if out is not None:
        say(f"results, table and plot in {out}")


def show_golden(checked: Checked) -> None:
    """The id, whether it holds, what it is, what is expected and what is found."""

    def figure(value: float | int | str | bool) -> str:
        if isinstance(value, bool):
            return "yes" if value else "no"
        return f"{value:.6g}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else value

    mark = Text(_mark(checked.ok), style="green" if checked.ok else "bold red")
    found = f"{figure(checked.expected)} expected, {figure(checked.found)} found"
    hang(f"{checked.id:<4}", Text.assemble(mark, " ", checked.what, ": ", (found, "bold")), further=6)


def show_verified(rows: Sequence[Checked]) -> None:
    """The number of requirements and numbers, and those that fail."""
    ids = dict.fromkeys(checked.id for checked in rows)
    wrong = dict.fromkeys(checked.id for checked in rows if not checked.ok)
    ends = f"not as they should be: {', '.join(wrong)}" if wrong else "all as they should be"
    text = f"{counted(len(rows), 'number', 'numbers')} of {len(ids)} requirements, {ends}"
    hang("", text, "red" if wrong else "green")
