"""Whether chances are what they say: of hits given .8, eight in ten should be right."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal, get_args

from fivefold.errors import InvalidInput
from fivefold.values.memory import RECORD_FIELDS, Record, record_of
from fivefold.values.serialize import Value
from fivefold.values.times import as_utc
from fivefold.values.validate import checked_history, checked_name
from fivefold_bench.data import Dataset, Question
from fivefold_bench.jsonl import plain_texts
from fivefold_bench.reading import PACKED, Fields, document
from fivefold_bench.run import Answer

# The lives that are shipped and lives of one's own: read, checked, and made ready to be stored and asked.

Part = Literal["choose", "report", "all"]
"""Lives that may be looked at to choose and fit, lives that only report, or both."""

PARTS: tuple[Part, ...] = get_args(Part)

NEVER = "never"
"""The kind of a question that nothing in the life answers."""

KINDS = (
    *("current", "past", "window", "event_date", "recency", "list", "count", "multihop", "negation", "preference"),
    *("identifier", "typo", "followup", "foreign", "paraphrase", NEVER),
)
"""The kinds of question, in the order of the tables."""

OTHER_NAMES = {"never-said": NEVER, "pronoun": "followup", "multi-hop": "multihop"}
"""Other spellings of a kind that files may have."""

LIVES = Path(__file__).with_name("everyday_data") / "lives"
INDEX = "index.json"
"""Which of the shipped lives are for choosing and which only report."""

UNREAD = "kind"
"""In a life this word labels a memory for its author; it is not the kind of a record."""


@dataclass(frozen=True, slots=True)
class Life:
    """One person's memories and questions. `unread` names fields of its memories that a record does not have."""

    name: str
    memories: tuple[Record, ...]
    questions: tuple[Question, ...]
    unread: frozenset[str]


def shipped_lives(part: Part) -> list[Path]:
    """The files of the shipped lives of one part, or of both."""
    index = Fields.of(INDEX, document(LIVES / INDEX))
    names = [name for each in PARTS[:2] if part in (each, "all") for name in index.entries(each)]
    if not names:
        raise InvalidInput(f"no shipped life is for {part!r}; take one of {', '.join(PARTS)}", field="lives")
    return [LIVES / f"{name}.json.xz" for name in names]


def load_lives(paths: Sequence[Path]) -> Dataset:
    """A namespace for each life, with all of its questions, also those that nothing answers."""
    lives: dict[str, Life] = {}
    for path in paths:
        life = read_life(path)
        if life.name in lives:
            raise InvalidInput(f"two files are of a life called {life.name!r}; rename one of them")
        lives[life.name] = life
    unread = sorted({name for life in lives.values() for name in life.unread})
    return Dataset(
        name="everyday",
        unit="turn",
        memories={name: life.memories for name, life in lives.items()},
        questions=tuple(question for life in lives.values() for question in life.questions),
        plain={name: list(plain_texts(life.memories, "turn")) for name, life in lives.items()},
        notes=(f"fields of memories that are not stored: {', '.join(unread)}",) if unread else (),
    )


def read_life(path: Path) -> Life:
    """One file; a fault is reported with its place."""
    name = life_name(path)
    life = Fields.of(path.name, document(path))
    now = life.checked("now", as_utc, life.value("now"), "now")[0]
    entries = [Fields.of(f"{path.name} memory {n}", each) for n, each in enumerate(life.entries("memories"), 1)]
    memories: dict[str, Record] = {}
    for entry in entries:
        id = entry.name("id")
        if id in memories:
            raise entry.fault("id", f"{id!r} is already the id of an earlier memory")
        memories[id] = _record(entry)
    if not memories:
        raise life.fault("memories", "is empty; there is nothing to recall")
    questions = tuple(
        _question(Fields.of(f"{path.name} question {number}", each), name, number, now, memories.keys())
        for number, each in enumerate(life.entries("questions"), 1)
    )
    if not questions:
        raise life.fault("questions", "is empty; there is nothing to ask")
    unread = frozenset(field for entry in entries for field in entry.data if not _is_read(field))
    return Life(name, tuple(memories.values()), questions, unread)


def life_name(path: Path) -> str:
    """The name of a file without its endings."""
    name = path.name.removesuffix(path.suffix) if path.suffix in PACKED else path.name
    return checked_name(name.removesuffix(".json"), "life")


def _is_read(field: str) -> bool:
    return field in RECORD_FIELDS and field != UNREAD


def _record(entry: Fields) -> Record:
    try:
        return record_of({field: value for field, value in entry.data.items() if _is_read(field)})
    except InvalidInput as error:
        raise entry.fault(error.field or "content", error) from None


def _question(entry: Fields, life: str, number: int, now: datetime, ids: Iterable[str]) -> Question:
    kind = entry.name("kind")
    kind = OTHER_NAMES.get(kind, kind)
    if kind not in KINDS:
        raise entry.fault("kind", f"{kind!r} is unknown; known are {', '.join(KINDS)}")
    expected = _ids(entry, "expected_ids" if "expected_ids" in entry.data else "expected", ids)
    stale = _ids(entry, "stale", ids)
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


def _ids(entry: Fields, field: str, known: Iterable[str]) -> tuple[str, ...]:
    ids = entry.entries(field) if field in entry.data else []
    unknown = next((id for id in ids if id not in known), None)
    if unknown is not None:
        raise entry.fault(field, f"{unknown!r} is no memory of this life")
    return tuple(dict.fromkeys(ids))


# What became of each question, and the figures over many of them.

K = 10
"""Memories asked for with each question."""

DEPTHS = (1, 3, 5, 10)
HITS = tuple(f"hit@{depth}" for depth in DEPTHS)
COVER = "cover@10"

COMPLETE = frozenset({"window", "list", "count", "event_date", "negation"})
"""Kinds of question whose answer is several memories, all of which should be found."""

NOWHERE = 99
"""The place of what is not among the first ten."""


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
"""Figures by name; None where there is no question to measure it by, or the recipe does not say."""


def outcome(question: Question, answer: Answer) -> Outcome:
    """How a question was answered."""
    ids = answer.ranking[:K]
    rank, stale = _place(ids, question.relevant), _place(ids, question.stale)
    expected = frozenset(question.relevant)
    return Outcome(
        question=question.id,
        life=question.namespace,
        kind=question.category,
        rank=rank,
        cover=len(expected & set(ids)) / len(expected) if expected else 0.0,
        fresh=rank < stale if question.stale else None,
        found=answer.found,
        right=tuple(id in expected for id in ids),
        chances=answer.chances[:K],
    )


def _place(ids: Sequence[str], wanted: Iterable[str]) -> int:
    return min((ids.index(id) + 1 for id in wanted if id in ids), default=NOWHERE)


def overall_figures(outcomes: Sequence[Outcome]) -> Figures:
    """Hits over all that can be answered, freshness, completeness, and whether the word "no" is said where it should.

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


BINS = 10
FIRST = 5
"""First hits of each question that are counted."""


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
    """Over the first five hits of every question; None where no hit has a chance."""
    pairs = [pair for each in outcomes for pair in list(zip(each.chances, each.right, strict=False))[:FIRST]]
    if not pairs:
        return None
    bins = [each for number in range(BINS) if (each := _bin(number, pairs)) is not None]
    error = sum(each.n * abs(each.chance - each.right) for each in bins) / len(pairs)
    return Calibration(error, len(pairs), tuple(bins))


def _bin(number: int, pairs: Sequence[tuple[float, bool]]) -> Bin | None:
    inside = [(chance, right) for chance, right in pairs if min(int(chance * BINS), BINS - 1) == number]
    if not inside:
        return None
    count = len(inside)
    chance, right = sum(chance for chance, _ in inside) / count, sum(right for _, right in inside) / count
    return Bin(number / BINS, (number + 1) / BINS, count, chance, right)
