"""Evidence in the block: how often the memories that answer a question are in the text that a prompt gets.

`fivefold` is the block of `Engine.context` with default arguments, `facts` the one in that style. The others pack
memories as plain lines: by cosine, by BM25, or as whole sessions, the one with the nearest turn first.
"""

from __future__ import annotations

import tempfile
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from fivefold.engine import Engine
from fivefold.errors import InvalidInput
from fivefold.evaluation import Question
from fivefold.models.embedders import Embedder
from fivefold.models.embedders import embedder as load_embedder
from fivefold.retrieval.plan import RecallOptions
from fivefold.retrieval.prompt import BlockStyle
from fivefold.retrieval.recipe import Recipe
from fivefold.retrieval.recipe_file import load_recipe
from fivefold.stores import open_store
from fivefold.stores.interface import Store
from fivefold.text.display import bar
from fivefold.text.passages import tokens
from fivefold.values.memory import Record
from fivefold.values.serialize import Value
from fivefold.values.validate import MAX_K, MAX_TOKENS
from fivefold.version import VERSION
from fivefold_bench import contestants as baselines
from fivefold_bench.benchmark import Options, check_options
from fivefold_bench.cache import cached
from fivefold_bench.contestants import select_questions
from fivefold_bench.data import Dataset, sessions_of
from fivefold_bench.plots import INK, looks_of, save, style
from fivefold_bench.results import BLOCK_PLOTS, TABLE, fill_folder
from fivefold_bench.run import stored_groups, timed_questions
from fivefold_bench.tables import Row, markdown_table, share

# What a run over blocks comes to: a row for each dataset, budget and contestant, as tables and as a plot.

FIVEFOLD, FACTS = "fivefold", "facts"
BASELINES = ("dense", "bm25", "sessions")
"""Contestants that pack plain lines, without the engine."""

COLUMNS = ("budget", "any", "all", "share", "tokens")
PANEL_WIDTH = 4.2
"""Inches of a dataset's panel in the plot."""


@dataclass(frozen=True, slots=True)
class BlockRow(Value):
    """The blocks of one contestant with one budget, over all questions of a dataset."""

    dataset: str
    recipe: str
    budget: int
    questions: int
    any: float
    """The share of questions with at least one of their gold memories in the block."""
    all: float
    """The share of questions with every one of them in it."""
    share: float
    """The mean share of a question's gold memories that is in the block."""
    tokens: float
    """Tokens that a block takes, on average."""

    @property
    def shares(self) -> tuple[float, float, float]:
        return self.any, self.all, self.share

    @classmethod
    def of(cls, dataset: str, recipe: str, budget: int, blocks: Sequence[tuple[float, int]]) -> BlockRow:
        """`blocks` are pairs of the share of the gold in a block and its tokens."""
        count = len(blocks)
        return cls(
            dataset,
            recipe,
            budget,
            count,
            any=round(sum(part > 0 for part, _ in blocks) / count, 6),
            all=round(sum(part == 1 for part, _ in blocks) / count, 6),
            share=round(sum(part for part, _ in blocks) / count, 6),
            tokens=round(sum(used for _, used in blocks) / count, 1),
        )


@dataclass(frozen=True, slots=True)
class BlockReport(Value):
    """All rows of a run, by dataset, budget and contestant."""

    embedder: str
    fivefold: str
    budgets: tuple[int, ...]
    rows: tuple[BlockRow, ...]
    notes: tuple[str, ...]

    def by_dataset(self) -> dict[str, list[BlockRow]]:
        found: dict[str, list[BlockRow]] = {}
        for row in self.rows:
            found.setdefault(row.dataset, []).append(row)
        return found


def title(rows: Sequence[BlockRow]) -> str:
    """A dataset and its number of questions."""
    count = rows[0].questions
    return f"{rows[0].dataset}, {count:,} {'question' if count == 1 else 'questions'}"


def table_rows(rows: Sequence[BlockRow]) -> list[Row]:
    """The rows of a dataset as text; the best shares of each budget are marked."""
    return [
        Row(
            row.recipe,
            (f"{row.budget:,}", *map(share, row.shares), f"{row.tokens:,.0f}"),
            frozenset(
                place
                for place, values in enumerate(zip(*(other.shares for other in level), strict=True), 1)
                if len(level) > 1 and row.shares[place - 1] >= max(values)
            ),
            row.recipe in BASELINES,
        )
        for row in rows
        if (level := [other for other in rows if other.budget == row.budget])
    ]


def markdown(report: BlockReport) -> str:
    """A table for each dataset as one page."""
    lines = ["# Evidence in the block", ""]
    for rows in report.by_dataset().values():
        lines += [f"## {title(rows)}", "", *markdown_table(("recipe", *COLUMNS), table_rows(rows)), ""]
    return "\n".join([*lines, *(f"- {note}" for note in (f"embedder {report.embedder}", *report.notes))]) + "\n"


def draw_evidence(report: BlockReport, path: Path) -> None:
    """A panel for each dataset, a line for each contestant: questions with all of their evidence, by budget."""
    from matplotlib.figure import Figure

    panels = report.by_dataset()
    figure = Figure(figsize=(max(6.4, PANEL_WIDTH * len(panels)), 4.6), layout="constrained")
    drawn = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for axes, rows in zip(drawn, panels.values(), strict=True):
        style(axes, title(rows))
        for name, look in looks_of(list(dict.fromkeys(row.recipe for row in rows))).items():
            points = [row.all for row in rows if row.recipe == name]
            axes.plot(report.budgets, points, label=name, markersize=5, **look)
        axes.set_xscale("log")
        axes.set_xticks(report.budgets, [f"{budget:,}" for budget in report.budgets])
        axes.minorticks_off()
        axes.set_xlabel("tokens of the block", color=INK)
        axes.set_ylim(0, 1)
    drawn[0].set_ylabel("questions with all of their evidence in the block", color=INK)
    handles, labels = drawn[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    save(figure, path)


BUDGETS = (300, 600, 1_200, 2_500)

MIN_CUT_CHARS = 40
"""Characters of a memory that must fit for a shortened one to count."""


@dataclass(frozen=True, slots=True)
class Block:
    """The memories that a block holds, and its tokens."""

    ids: frozenset[str]
    tokens: int


Fill = Callable[[Question, int], Block]
"""Fills a block of so many tokens for a question."""


def run_blocks(
    loads: Sequence[Callable[[], Dataset]],
    budgets: Sequence[int] = BUDGETS,
    options: Options | None = None,
    progress: bool = False,
) -> BlockReport:
    """Measure the blocks on each dataset; mistakes in the options are reported before anything is loaded."""
    options = options or Options()
    recipes = _recipes("all" if options.recipes is None else options.recipes)
    check_options(replace(options, recipes="dense"))
    if not budgets or not all(1 <= budget <= MAX_TOKENS for budget in budgets):
        raise InvalidInput(f"takes whole numbers from 1 to {MAX_TOKENS:,}", field="budgets")
    model = cached(load_embedder(options.embedder))
    rows: list[BlockRow] = []
    notes: list[str] = []
    for load in loads:
        dataset = select_questions(load(), "turn", options.limit, options.seed)
        notes += [f"{dataset.name}: {note}" for note in dataset.notes]
        rows += _measure(dataset, recipes, budgets, model, progress)
    report = BlockReport(model.pin, VERSION, tuple(budgets), tuple(rows), tuple(notes))

    def write(folder: Path) -> None:
        (folder / TABLE).write_text(markdown(report), "utf-8")
        draw_evidence(report, folder / BLOCK_PLOTS[0])

    if options.out is not None:
        fill_folder(options.out, write, report.to_dict())
    return report


def _recipes(choice: str) -> dict[str, Recipe | None]:
    """The contestants by name; what packs plain lines, and the default of `Engine.context`, have no recipe."""
    own = (FIVEFOLD, FACTS, *BASELINES)
    names = own if choice.strip() == "all" else [part.strip() for part in choice.split(",") if part.strip()]
    if not names:
        raise InvalidInput("is empty; name some, separated by commas, or all", field="recipes")
    return {name: None if name in own else load_recipe(name.removeprefix("recipe:")) for name in names}


def _measure(
    dataset: Dataset, recipes: Mapping[str, Recipe | None], budgets: Sequence[int], model: Embedder, progress: bool
) -> Iterator[BlockRow]:
    """A row for each budget and contestant."""
    found: dict[tuple[int, str], list[tuple[float, int]]] = {(b, name): [] for b in budgets for name in recipes}
    with tempfile.TemporaryDirectory() as folder:
        for part, location, title in stored_groups(dataset, Path(folder), model, progress):
            with closing(open_store(location)) as store:
                group = _Group(part, store, model, title, progress)
                for name, recipe in recipes.items():
                    for question, budget, block in group.blocks(name, recipe, budgets):
                        there = sum(id in block.ids for id in question.relevant)
                        found[budget, name].append((there / len(question.relevant), block.tokens))
    for (budget, name), blocks in found.items():
        yield BlockRow.of(dataset.name, name, budget, blocks)


class _Group:
    """Some namespaces in one store, and the rankings of the plain baselines over them."""

    def __init__(self, dataset: Dataset, store: Store, model: Embedder, title: str, progress: bool) -> None:
        self._dataset, self._store, self._model = dataset, store, model
        self._title, self._progress = title, progress
        self._engines: dict[str, Engine] = {}
        self._records: dict[str, dict[str, Record]] = {}

    def blocks(self, name: str, recipe: Recipe | None, budgets: Sequence[int]) -> Iterator[tuple[Question, int, Block]]:
        """The blocks of one contestant for every question, one for each budget."""
        fill = self._contestant(name, recipe)
        with bar(f"Asking {name}{self._title}", len(self._dataset.questions), show=self._progress) as advance:
            for item in timed_questions(self._dataset):
                yield from ((item, budget, fill(item, budget)) for budget in budgets)
                advance(1)

    def _contestant(self, name: str, recipe: Recipe | None) -> Fill:
        if name not in BASELINES:
            style: BlockStyle = "facts" if name == FACTS else "quotes"
            return lambda item, budget: self._context(item, budget, recipe, style)
        hits = (self._bm25 if name == "bm25" else self._dense).hits
        ordered = self._whole_sessions if name == "sessions" else self._memories
        return lambda item, budget: pack(ordered(item.namespace, hits[item.id]), budget)

    def _context(self, question: Question, budget: int, recipe: Recipe | None, style: BlockStyle) -> Block:
        if question.namespace not in self._engines:
            self._engines[question.namespace] = Engine(self._store, question.namespace, self._model)
        options: RecallOptions = {"now": question.now, "history": question.history}
        if recipe is not None:
            options["recipe"] = recipe
        engine = self._engines[question.namespace]
        context = engine.context(question.text, token_budget=budget, style=style, **options)
        return Block(frozenset(source.id for source in context.sources), context.tokens)

    def _memories(self, namespace: str, hits: baselines.Hits) -> Iterator[Record]:
        records = self._of(namespace)
        return (records[id] for id, _ in hits)

    def _whole_sessions(self, namespace: str, hits: baselines.Hits) -> Iterator[Record]:
        """The turns of each session in order, the session with the best hit first."""
        records = self._of(namespace)
        session_of = sessions_of(list(records.values()))
        ranked = dict.fromkeys(session_of[id] for id, _ in hits)
        return (records[id] for session in ranked for id in records if session_of[id] == session)

    def _of(self, namespace: str) -> dict[str, Record]:
        if namespace not in self._records:
            self._records[namespace] = {record.id or "": record for record in self._dataset.memories[namespace]}
        return self._records[namespace]

    @cached_property
    def _dense(self) -> baselines.Ranking:
        spaces = {question.namespace for question in self._dataset.questions}
        texts = len(self._dataset.questions) + sum(len(self._dataset.plain[space]) for space in spaces)
        with bar(f"Ranking by plain vectors{self._title}", texts, show=self._progress) as advance:
            return baselines.dense(self._dataset, self._model, MAX_K, advance)

    @cached_property
    def _bm25(self) -> baselines.Ranking:
        return baselines.bm25(self._dataset, MAX_K)


def pack(records: Iterable[Record], budget: int) -> Block:
    """Memories as plain lines until the budget is full; the first that does not fit is cut to what does."""
    ids: list[str] = []
    used = 0
    for number, record in enumerate(records, 1):
        about = [f"{record.event_at:%Y-%m-%d}" if record.event_at else "", record.speaker or ""]
        lead = ("\n" if ids else "") + f"[{number}] {', '.join(filter(None, about))}: "
        text, room = record.content, budget - used
        if tokens(lead + text) > room:
            text = text[: bisect_right(range(1, len(text)), room, key=lambda end: tokens(lead + record.content[:end]))]
        whole = text == record.content
        if whole or len(text) >= MIN_CUT_CHARS:
            ids.append(record.id or "")
            used += tokens(lead + text)
        if not whole:
            break
    return Block(frozenset(ids), used)
