"""Questions with known answers, asked of a recipe: measures what it finds, what it refuses, and whether its chances are
true."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from fivefold.engine import open as open_engine
from fivefold.errors import InvalidInput
from fivefold.retrieval.recipe import Recipe
from fivefold.retrieval.recipe_file import load_recipe
from fivefold.text.display import bar
from fivefold.values.json_files import PACKED, Fields, document, lines
from fivefold.values.memory import RECORD_FIELDS, Record, record_of
from fivefold.values.recall import Hit, Recall
from fivefold.values.serialize import Value
from fivefold.values.times import as_utc
from fivefold.values.validate import checked_history, checked_name

NEVER = "never"
"""The kind of a question that nothing in the life answers."""

OTHER = "other"
"""The kind of a question that has an answer and names no kind."""

KINDS = (
    *("current", "past", "window", "event_date", "recency", "list", "count", "multihop", "negation", "preference"),
    *("identifier", "typo", "followup", "foreign", "paraphrase", OTHER, NEVER),
)
"""The kinds of question, in the order of the tables."""

OTHER_NAMES = {"never-said": NEVER, "pronoun": "followup", "multi-hop": "multihop"}
"""Other spellings of a kind that files may have."""

UNREAD = "kind"
"""In a life this word labels a memory for its author; it is not the kind of a record."""

K = 10
"""Memories asked for with each question."""

DEPTHS = (1, 3, 5, 10)
HITS = tuple(f"hit@{depth}" for depth in DEPTHS)
COVER = "cover@10"

COMPLETE = frozenset({"window", "list", "count", "event_date", "negation"})
"""Kinds of question whose answer is several memories, all of which should be found."""

NO_RANK = 1_000_000_000
"""The place of what is not found: beyond every depth."""

BINS = 10
JUDGED_HITS = 5
"""First hits of each question whose chances are compared with the truth."""


# A life: one person's memories, and questions about them.


@dataclass(frozen=True, slots=True)
class Question(Value):
    """A question and the ids, of memories or of sessions, that answer it; `stale` answered it before a change."""

    id: str
    namespace: str
    text: str
    relevant: tuple[str, ...]
    category: str = "all"
    now: datetime | None = None
    history: tuple[str, ...] = ()
    stale: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Life:
    """One person's memories and questions. `unread` names fields of its memories that a record does not have."""

    name: str
    memories: tuple[Record, ...]
    questions: tuple[Question, ...]
    unread: frozenset[str]


def read_life(path: Path) -> Life:
    """One file: an object with `now`, `memories` and `questions`, or one memory or question a line (.jsonl).

    It may be packed. A fault is reported with its place.
    """
    plain = path.name.removesuffix(path.suffix) if path.suffix in PACKED else path.name
    name = checked_name(plain.removesuffix(".json").removesuffix(".jsonl"), "life")
    if not plain.endswith(".jsonl"):
        return life_of(name, Fields.of(path.name, document(path)))
    every = list(lines(path))
    entries, asked = ([each for each in every if ("q" in each.data) is is_asked] for is_asked in (False, True))
    return _life(name, Fields(path.name, {}), entries, asked, None)


def life_of(name: str, life: Fields) -> Life:
    """The life that an object with `now`, `memories` and `questions` tells."""
    now = life.checked("now", as_utc, life.value("now"), "now")[0]
    entries, asked = (
        [Fields.of(f"{life.where} {one} {number}", each) for number, each in enumerate(life.entries(many), 1)]
        for one, many in (("memory", "memories"), ("question", "questions"))
    )
    return _life(name, life, entries, asked, now)


def _life(name: str, life: Fields, entries: Sequence[Fields], asked: Sequence[Fields], now: datetime | None) -> Life:
    memories: dict[str, Record] = {}
    for entry in entries:
        id = entry.name("id")
        if id in memories:
            raise entry.fault("id", f"{id!r} is already the id of an earlier memory")
        try:
            memories[id] = record_of({field: value for field, value in entry.data.items() if _is_read(field)})
        except InvalidInput as error:
            raise entry.fault(error.field or "content", error) from None
    if not memories:
        raise life.fault("memories", "is empty; there is nothing to recall")
    if not asked:
        raise life.fault("questions", "is empty; there is nothing to ask")
    last = now or max((record.event_at for record in memories.values() if record.event_at), default=None)
    questions = tuple(_question(entry, name, number, last, memories.keys()) for number, entry in enumerate(asked, 1))
    unread = frozenset(field for entry in entries for field in entry.data if not _is_read(field))
    return Life(name, tuple(memories.values()), questions, unread)


def _is_read(field: str) -> bool:
    return field in RECORD_FIELDS and field != UNREAD


def _question(entry: Fields, life: str, number: int, now: datetime | None, ids: Iterable[str]) -> Question:
    def named(field: str) -> tuple[str, ...]:
        found = entry.entries(field) if field in entry.data else []
        unknown = next((id for id in found if id not in ids), None)
        if unknown is not None:
            raise entry.fault(field, f"{unknown!r} is not a memory of this life")
        return tuple(dict.fromkeys(found))

    expected = named("expected_ids" if "expected_ids" in entry.data else "expected")
    stale = named("stale")
    kind = entry.name("kind") if "kind" in entry.data else OTHER if expected else NEVER
    kind = OTHER_NAMES.get(kind, kind)
    if kind not in KINDS:
        raise entry.fault("kind", f"{kind!r} is unknown; known are {', '.join(KINDS)}")
    if (kind == NEVER) != (not expected):
        raise entry.fault("expected", f"a question of kind {NEVER} names no memory, and every other one names some")
    both = [id for id in stale if id in expected]
    if both:
        raise entry.fault("stale", f"{both[0]!r} is expected as well; name it once")
    own = entry.data.get("now")
    return Question(
        id=f"{life}:{number}",
        namespace=life,
        text=entry.text("q"),
        relevant=expected,
        category=kind,
        now=now if own is None else entry.checked("now", as_utc, own, "now")[0],
        history=entry.checked("context", checked_history, entry.data.get("context", ())),
        stale=stale,
    )


# What became of each question, and the figures over many of them.


@dataclass(frozen=True, slots=True)
class Outcome:
    """One answered question.

    `rank` is the place of the first expected memory, `cover` the share of them among ten, `fresh` whether one stands
    above every stale memory, `found` whether the recall says that something answers. `right` says of each hit whether
    it is expected.
    """

    question: str
    life: str
    kind: str
    rank: int
    cover: float
    fresh: bool | None
    found: bool | None
    right: tuple[bool, ...]
    chances: tuple[float, ...]

    def scores(self) -> dict[str, float]:
        """The figures of this one question."""
        hits = {f"hit@{depth}": float(self.rank <= depth) for depth in DEPTHS}
        return {**hits, COVER: self.cover, "found": float(self.found is not False)}


Figures = Mapping[str, float | None]
"""Figures by name; None if there is no question to measure it by, or the recipe does not say."""


def outcome(question: Question, ranking: Sequence[str], found: bool | None, chances: Sequence[float]) -> Outcome:
    """Measures the answer to a question."""
    ids = ranking[:K]
    rank, stale = place_of(ids, question.relevant), place_of(ids, question.stale)
    expected = frozenset(question.relevant)
    return Outcome(
        question=question.id,
        life=question.namespace,
        kind=question.category,
        rank=rank,
        cover=len(expected & set(ids)) / len(expected) if expected else 0.0,
        fresh=rank < stale if question.stale else None,
        found=found,
        right=tuple(id in expected for id in ids),
        chances=tuple(chances[:K]),
    )


def place_of(ranking: Sequence[str], wanted: Iterable[str]) -> int:
    """The place of the first that is wanted, from 1; `hit@k` is whether it is at most k."""
    return min((ranking.index(id) + 1 for id in wanted if id in ranking), default=NO_RANK)


def chances_of(hits: Iterable[Hit]) -> tuple[float, ...]:
    """The chance of each hit; empty if a recipe gives none."""
    chances = [hit.chance for hit in hits]
    return tuple(chance for chance in chances if chance is not None) if None not in chances else ()


def overall_figures(outcomes: Sequence[Outcome]) -> Figures:
    """Hits over all that can be answered, freshness, completeness, and the share of "no" answers that are right.

    `never` is the share of questions never answered that are recognised, `refused` that of the others wrongly refused.
    """
    answerable = [each for each in outcomes if each.kind != NEVER]
    never = [each for each in outcomes if each.kind == NEVER and each.found is not None]
    saying = [each for each in answerable if each.found is not None]
    return {
        **_hits(answerable),
        "cover": _mean((each for each in answerable if each.kind in COMPLETE), lambda each: each.cover),
        "fresh": _mean((each for each in answerable if each.fresh is not None), lambda each: bool(each.fresh)),
        "window": _mean((each for each in answerable if each.kind == "window"), lambda each: each.cover),
        "list": _mean((each for each in answerable if each.kind == "list"), lambda each: each.cover),
        "never": _mean(never, lambda each: each.found is False),
        "refused": _mean(saying, lambda each: each.found is False),
    }


def figures_by_kind(outcomes: Sequence[Outcome]) -> dict[str, Figures]:
    """Hits and coverage of each kind of question that was asked."""
    by_kind = {kind: [each for each in outcomes if each.kind == kind] for kind in KINDS}
    return {
        kind: {"n": len(each), **_hits(each), COVER: _mean(each, lambda one: one.cover)}
        for kind, each in by_kind.items()
        if each
    }


def _hits(outcomes: Sequence[Outcome]) -> Figures:
    scores = [each.scores() for each in outcomes]
    return {name: sum(each[name] for each in scores) / len(scores) if scores else None for name in HITS}


def _mean(outcomes: Iterable[Outcome], value: Callable[[Outcome], float]) -> float | None:
    values = [float(value(each)) for each in outcomes]
    return sum(values) / len(values) if values else None


# Whether chances are what they say: of hits given .8, eight in ten should be right.


@dataclass(frozen=True, slots=True)
class Bin(Value):
    """Hits whose chance lies between two bounds: how many, their mean chance, and the share that is right."""

    start: float
    end: float
    n: int
    chance: float
    right: float


@dataclass(frozen=True, slots=True)
class Calibration(Value):
    """The expected calibration error: the mean gap between chance and truth over the bins, weighted by their hits."""

    error: float
    hits: int
    bins: tuple[Bin, ...]


def calibrate(outcomes: Iterable[Outcome]) -> Calibration | None:
    """Calibration over the first five hits of every question; None if no hit has a chance."""
    pairs = [pair for each in outcomes for pair in list(zip(each.chances, each.right, strict=False))[:JUDGED_HITS]]
    if not pairs:
        return None
    bins = []
    for number in range(BINS):
        inside = [(chance, right) for chance, right in pairs if min(int(chance * BINS), BINS - 1) == number]
        if inside:
            count = len(inside)
            chance, right = sum(chance for chance, _ in inside) / count, sum(right for _, right in inside) / count
            bins.append(Bin(number / BINS, (number + 1) / BINS, count, chance, right))
    error = sum(each.n * abs(each.chance - each.right) for each in bins) / len(pairs)
    return Calibration(error, len(pairs), tuple(bins))


# One recipe on a file of one's own.


@dataclass(frozen=True, slots=True)
class Miss(Value):
    """A question that was not answered as expected: what is wrong, what was expected by its id, and what came first."""

    question: str
    kind: str
    why: str
    expected: Mapping[str, str]
    first: str | None
    chance: float | None


@dataclass(frozen=True, slots=True)
class Evaluation(Value):
    """The measured answers of one recipe to the questions of a file; `misses` are all of them, the worst first."""

    life: str
    recipe: str
    embedder: str
    questions: int
    overall: Figures
    by_kind: Mapping[str, Figures]
    calibration: Calibration | None
    misses: tuple[Miss, ...]
    notes: tuple[str, ...]


def evaluate(
    path: Path, recipe: str | Recipe = "default", embedder: str | None = None, progress: bool = False
) -> Evaluation:
    """The memories of the file go into a store of their own, which is asked every question and then deleted."""
    life, loaded = read_life(path), load_recipe(recipe)
    found: list[tuple[Question, Outcome, Recall]] = []
    with (
        tempfile.TemporaryDirectory(prefix="fivefold-evaluate-") as folder,
        open_engine(Path(folder) / "life.db", namespace=life.name, embedder=embedder) as engine,
    ):
        engine.remember_many(life.memories, progress=progress)
        with bar(f"Asking {loaded.name}", len(life.questions), show=progress) as advance:
            for question in life.questions:
                answer = engine.recall(question.text, K, recipe=loaded, now=question.now, history=question.history)
                ids = [hit.memory.id for hit in answer]
                found.append((question, outcome(question, ids, answer.found, chances_of(answer)), answer))
                advance(1)
        pin = engine.stats().embedder
    outcomes = [each for _, each, _ in found]
    texts = {record.id: record.content for record in life.memories}
    wrong = [(each, miss) for question, each, answer in found if (miss := _miss(question, each, answer, texts))]
    wrong.sort(key=lambda item: (-item[0].rank, -(item[1].chance or 0.0)))
    unread = f"fields of memories that are not stored: {', '.join(sorted(life.unread))}"
    return Evaluation(
        life=life.name,
        recipe=loaded.name,
        embedder=pin or "",
        questions=len(outcomes),
        overall=overall_figures(outcomes),
        by_kind=figures_by_kind(outcomes),
        calibration=calibrate(outcomes),
        misses=tuple(miss for _, miss in wrong),
        notes=(unread,) if life.unread else (),
    )


def _miss(question: Question, outcome: Outcome, answer: Recall, texts: Mapping[str | None, str]) -> Miss | None:
    """The gravest fault of an answer; None if it is as expected."""
    if outcome.kind == NEVER:
        why = "nothing answers it, and the answer does not say so" if outcome.found is not False else ""
    elif outcome.rank == NO_RANK:
        why = f"not among the first {K}"
    elif outcome.found is False:
        why = f"at place {outcome.rank}, and refused as if nothing answered"
    elif outcome.fresh is False:
        why = f"at place {outcome.rank}, below what is out of date"
    else:
        why = f"at place {outcome.rank}" if outcome.rank > 1 else ""
    if not why:
        return None
    expected = {id: texts[id] for id in question.relevant}
    first, chance = next(((hit.memory.content, hit.chance) for hit in answer), (None, None))
    return Miss(question.text, outcome.kind, why, expected, first, chance)
