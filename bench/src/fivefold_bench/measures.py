"""Parts that every measurement of speed shares: a figure, a corpus written, a call timed."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cache, partial
from itertools import islice
from time import perf_counter, process_time
from typing import Any
from zlib import crc32

import numpy as np

from fivefold import sample
from fivefold.engine import Engine
from fivefold.models.embedders import DEFAULT, Matrix, Progress, embedder, read_passages, read_question, unit
from fivefold.retrieval.plan import RecipeChoice
from fivefold.retrieval.recipe_file import load_recipe
from fivefold.text.display import bar
from fivefold.values.recall_trace import Effort
from fivefold.values.serialize import Value
from fivefold.values.vectors import Passage, QuestionReading, Reading, Span

# Memories in any number for speed measurements: the sample's words and vectors, varied, with a fixed seed.

Readings = tuple[Matrix, list[bytes]]
"""Vectors, and the token vectors of each as they are stored."""

WORDS = 30
SESSION = 20
"""Words of a turn and turns of a session for writing with the model."""

PARTS = 100
"""A filter on `metadata.part` leaves one in so many notes."""

START = datetime(2015, 1, 1, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def records(count: int, seed: int = 5) -> Iterator[dict[str, Any]]:
    """Notes that read like the sample's turns with a third of the words changed, so that no two are equal."""
    for number, (_, text) in enumerate(varied_texts(count, seed)):
        yield {
            "content": f"{text} {number}",
            "speaker": "user",
            "event_at": START + 7 * number * MINUTE,
            "metadata": {"part": number % PARTS},
        }


def varied_texts(count: int, seed: int = 5) -> Iterator[tuple[int, str]]:
    """Texts of the sample's turns with a third of the words changed, each with the place of its turn in the sample."""
    chance = random.Random(seed)
    texts = [item["content"] for item in sample.memories()]
    words = [word for text in texts for word in text.split()]
    for _ in range(count):
        place = chance.randrange(len(texts))
        spoken_words = texts[place].split()[:40]
        for _ in range(len(spoken_words) // 3):
            spoken_words[chance.randrange(len(spoken_words))] = chance.choice(words)
        yield place, " ".join(spoken_words)


def turns(count: int, seed: int = 7) -> Iterator[dict[str, Any]]:
    """Turns of 30 words in sessions of 20, user and assistant in turn, made of the sample's words."""
    chance = random.Random(seed)
    words = [word for item in sample.memories() for word in item["content"].split()]
    for number in range(count):
        session, place = divmod(number, SESSION)
        yield {
            "content": f"{' '.join(chance.choice(words) for _ in range(WORDS - 1))} {number}",
            "speaker": "assistant" if place % 2 else "user",
            "session_id": f"session {session}",
            "turn_index": place,
            "event_at": START + (60 * session + place) * MINUTE,
        }


def new_questions(count: int, seed: int = 11) -> list[str]:
    """The sample's questions, each with a word of its own at the end, so that no two are equal."""
    chance = random.Random(seed)
    queries = [question.query for question in sample.questions()]
    words = [word for item in sample.memories() for word in item["content"].split()]
    return [f"{chance.choice(queries)} {chance.choice(words)} {number}" for number in range(count)]


FIRST = (
    "Ada Bo Cleo Dara Edo Fay Gus Hana Ida Jon Kim Lou Mae Ned Ola Pia Quin Rosa Sol Tia Uma Vik Wyn Yan Zoe".split()
)
LAST = (
    "Adeyo Brandt Castel Dunmore Eskola Farrow Gantz Holm Ibarra Jensen Kovac Lindt Moreau Novak Okoye Prasad".split()
)
FACTS = (
    ("{} lives in Leeds, above the bakery.", "Where does {} live?"),
    ("{} plays the cello in an orchestra.", "Which instrument does {} play?"),
    ("{} is allergic to peanuts.", "What is {} allergic to?"),
    ("{} works as a nurse at the harbour clinic.", "What does {} do for a living?"),
    ("{} drives an old red tractor.", "What does {} drive?"),
    ("{} was born in Tromsø.", "Where was {} born?"),
)
"""Facts about a person, and the question that each answers."""


def facts(count: int, *, known: bool) -> list[tuple[str, str]]:
    """Statements and their questions, each once: of people whose statements are stored, or of those nobody tells of."""
    people = [f"{first} {last}" for last in LAST[not known :: 2] for first in FIRST[not known :: 2]]
    pairs = ((text.format(who), question.format(who)) for text, question in FACTS for who in people)
    return list(islice(pairs, count))


class VariedSample:
    """Readings without a model's cost: a real one of the sample, moved a little. Questions are really read.

    For timing only: what a memory holds, vector and token vectors, has its real size, and a recall its real work. While
    `exact` is set, what is written is really read too.
    """

    pin = "bench-varied-sample@2"
    dimension = 384

    def __init__(self, real: Readings | None = None) -> None:
        """`real` are the sample's readings if they are at hand; else they are made once."""
        self._given = real
        self.exact = False

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> Matrix:
        vectors, _ = self._varied(texts)
        return vectors

    def read(self, passages: Sequence[Passage], progress: Progress | None = None) -> list[Reading]:
        if self.exact:
            return read_passages(embedder(DEFAULT), passages)
        vectors, tokens = self._varied([passage.text for passage in passages])
        return [Reading(vector, packed) for vector, packed in zip(vectors, tokens, strict=True)]

    def read_question(self, question: str) -> QuestionReading:
        return read_question(embedder(DEFAULT), question)

    def spans(self, passage: Passage) -> list[tuple[Span, bool]]:
        """A reading here is another text's, so that no token has characters of its own."""
        return []

    def _varied(self, texts: Sequence[str]) -> Readings:
        chance = np.random.default_rng(crc32("\n".join(texts).encode()))  # no two batches get equal vectors
        vectors, tokens = real_readings() if self._given is None else self._given
        chosen = chance.integers(len(vectors), size=len(texts))
        moved = vectors[chosen] + 0.04 * chance.standard_normal((len(texts), self.dimension), dtype=np.float32)
        return unit(moved), [tokens[place] for place in chosen]


@cache
def real_readings() -> Readings:
    """By the default embedder, which the plain install has."""
    readings = read_passages(embedder(DEFAULT), [Passage(item["content"]) for item in sample.memories()])
    return np.stack([reading.vector for reading in readings]), [reading.tokens for reading in readings]


BATCH = 2_000

WARM = 5
"""Calls that are made first and not counted."""

PUBLISHED_P99 = 50
"""Milliseconds of the whole of `recall`, the best fifty read again, as its document reports them (R11)."""

PUBLISHED_MEMORIES = 10_000_000
"""The memories among which its document reports them (R11)."""

MAX_READINGS = 100
"""Recalls measured in which a model reads fifty texts each time."""


WHOLE, WHOLE_LOW = "recall default, encoding and ranking included", "recall default, low effort, all included"
READ_AGAIN = "recall recall, the best 50 read, all included"
ANSWERED, UNANSWERED = "recall default, a memory answers", "recall default, no memory answers"


@dataclass(frozen=True, slots=True)
class Fit(Value):
    """The basis of an extrapolated figure: the sizes of the fit, its slopes, and those between the last two sizes."""

    sizes: tuple[int, ...]
    slope_p50: float
    slope_p99: float
    last_slope_p50: float
    last_slope_p99: float


@dataclass(frozen=True, slots=True)
class Measure(Value):
    """One figure, its limit, and whether it meets the limit. Only times have a tail; only extrapolated ones a fit.

    `cpu` is the middle of the processor time of a call in milliseconds, all threads together, if it is measured.
    """

    what: str
    memories: int
    p50: float
    p95: float | None
    p99: float | None
    unit: str
    bar: str
    ok: bool | None
    fit: Fit | None = None
    cpu: float | None = None


def figure(what: str, memories: int, value: float, unit: str, bar: str = "", ok: bool | None = None) -> Measure:
    """A rate or a size."""
    return Measure(what, memories, value, None, None, unit, bar, ok)


def times(
    what: str, memories: int, ms: Sequence[float], limit: float | None = None, limit_p99: float | None = None
) -> Measure:
    """The middle and the tail of some calls; a limit is for the middle, another may be for the tail."""
    p50, p95, p99 = (float(value) for value in np.percentile(ms, (50, 95, 99)))
    limits = [(p50, limit), (p99, limit_p99)]
    bar = " / ".join(f"≤ {most:g}" for _, most in limits if most is not None)
    if limit is None and bar:
        bar = f"p99 {bar}"
    ok = all(value <= most for value, most in limits if most is not None) if bar else None
    return Measure(what, memories, p50, p95, p99, "ms", bar, ok)


def milliseconds(call: Callable[..., object], *arguments: Any, **options: Any) -> float:
    """The time of one call."""
    start = perf_counter()
    call(*arguments, **options)
    return (perf_counter() - start) * 1000


def write_rate(engine: Engine, size: int, progress: bool) -> float:
    """Write the corpus; gives memories a second."""
    source = records(size)
    seconds = 0.0
    with bar(f"Writing {size:,} memories", size, show=progress) as advance:
        while batch := list(islice(source, BATCH)):
            start = perf_counter()
            engine.remember_many(batch)
            seconds += perf_counter() - start
            advance(len(batch))
    return size / seconds


def timed_recall(engine: Engine, recipe: str, question: str, keep: str = "", least: int = 0) -> float:
    """Milliseconds of a recall without those of the two models, which are measured by themselves.

    With a filter, as many memories as it leaves must come back, up to ten.
    """
    start = perf_counter()
    answer = engine.recall(question, recipe=recipe, filter=keep)
    whole = (perf_counter() - start) * 1000
    assert len(answer) >= least, f"{len(answer)} memories where {least} pass the filter"
    return whole - sum(timing.ms for timing in answer.timings if timing.stage in {"encode", "rerank"})


def filtered_recall(engine: Engine, size: int, rounds: int, limit: float | None) -> Measure:
    """A recall among the hundredth part of the notes that a filter on their metadata leaves."""
    once = partial(timed_recall, engine, "default", keep=f"meta.part:{PARTS // 2}", least=min(10, size // PARTS))
    return times("recall default, a filter leaves 1 %", size, ask_rounds(once, rounds), limit)


def read_again(engine: Engine, size: int, rounds: int) -> Measure:
    """Recipe `recall` with its fifty best read by the cross-encoder, new questions, all included (R11)."""
    recipe = load_recipe("recall", {"rerank.cross_encoder.effort": "normal"})
    ms = ask_new(partial(whole_recall, engine, recipe), min(rounds, MAX_READINGS))
    return times(READ_AGAIN, size, ms, limit_p99=PUBLISHED_P99)


def whole_recalls(
    engine: Engine, size: int, rounds: int, limits: tuple[float | None, float | None] = (None, None)
) -> Iterator[Measure]:
    """Recipe `default` from call to answer, new questions, at normal and at low effort; the limits are of the first."""
    yield times(WHOLE, size, ask_new(partial(whole_recall, engine, "default"), rounds), *limits)
    yield times(WHOLE_LOW, size, ask_new(partial(whole_recall, engine, "default", effort="low"), rounds))


def answered_recalls(engine: Engine, model: VariedSample, size: int, rounds: int) -> Iterator[Measure]:
    """Recipe `default` asked what a memory answers, and the same of people nobody tells of; all new, all included."""
    model.exact = True
    engine.remember_many([text for text, _ in facts(rounds + WARM, known=True)])
    model.exact = False
    for what, known in ((ANSWERED, True), (UNANSWERED, False)):
        ms, cpu, right = [], [], 0
        for _, question in facts(rounds + WARM, known=known):
            start, worked = perf_counter(), process_time()
            answer = engine.recall(question)
            ms.append((perf_counter() - start) * 1000)
            cpu.append((process_time() - worked) * 1000)
            right += answer.found == known
        yield replace(times(what, size, ms[WARM:]), cpu=float(np.median(cpu[WARM:])))
        yield figure(f"{what}: judged rightly", size, 100 * right / len(ms), "%")


def whole_recall(engine: Engine, recipe: RecipeChoice, question: str, effort: Effort = "normal") -> float:
    """Milliseconds of a recall from call to answer, with encoding and ranking."""
    return milliseconds(engine.recall, question, recipe=recipe, effort=effort)


def ask_rounds(once: Callable[[str], float], rounds: int) -> list[float]:
    """The figures of `once` for the sample's questions, after a few to warm up."""
    questions = [question.query for question in sample.questions()]
    for question in questions[:WARM]:
        once(question)
    return [once(questions[i % len(questions)]) for i in range(rounds)]


def ask_new(once: Callable[[str], float], rounds: int) -> list[float]:
    """The figures of `once` for questions that were never asked before, so that no cached reading or score helps."""
    asked = [once(question) for question in new_questions(WARM + rounds)]
    return asked[WARM:]


# What a recall would take at ten million memories, by a fit to the sizes that were measured.

RECALLS = ("recall default", WHOLE, WHOLE_LOW, "recall recall", READ_AGAIN)
"""The measures that are extrapolated and drawn, on every store."""

LABEL = "extrapolated, not measured"

MIN_SIZES, MIN_RATIO = 3, 100
"""Minimum number of sizes for a fit, and minimum ratio of the largest to the smallest: two decades."""

MIN_MS = 0.001
"""A time of zero has no logarithm."""


def extrapolate(found: Sequence[Measure]) -> list[Measure]:
    """A figure at ten million memories for each kind of recall that was measured at enough sizes below it."""
    rows = (_row(what, curve(found, what)) for what in RECALLS)
    return [row for row in rows if row is not None]


def curve(found: Sequence[Measure], what: str) -> list[Measure]:
    """The measured figures of one kind of recall, one for each size, smallest first."""
    sizes = {item.memories: item for item in found if item.what == what and item.fit is None}
    return [sizes[size] for size in sorted(sizes)]


def _row(what: str, measured: Sequence[Measure]) -> Measure | None:
    counts = range(MIN_SIZES, len(measured) + 1)
    wide = (count for count in counts if measured[-1].memories >= MIN_RATIO * measured[-count].memories)
    count = next(wide, 0)  # as few of the largest sizes as are enough: below them fixed costs hide how the time grows
    if not count or measured[-1].memories >= PUBLISHED_MEMORIES:
        return None
    items = measured[-count:]
    sizes = [item.memories for item in items]
    tails = [item.p99 if item.p99 is not None else item.p50 for item in items]
    p50, slope_p50, last_p50 = fit_times(sizes, [item.p50 for item in items])
    p99, slope_p99, last_p99 = fit_times(sizes, tails)
    fit = Fit(tuple(sizes), slope_p50, slope_p99, last_p50, last_p99)
    return Measure(f"{what}, {LABEL}", PUBLISHED_MEMORIES, p50, None, p99, "ms", "", None, fit)


def fit_times(sizes: Sequence[int], ms: Sequence[float]) -> tuple[float, float, float]:
    """The time at ten million, the slope of the fit, and the slope between the last two sizes.

    The fit is a line by least squares through the logarithms. The time is at least that of the largest size.
    """
    x, y = np.log10(sizes), np.log10(np.maximum(ms, MIN_MS))
    slope, start = (float(value) for value in np.polyfit(x, y, 1))
    last = float((y[-1] - y[-2]) / (x[-1] - x[-2]))
    at = float(10 ** (start + slope * np.log10(PUBLISHED_MEMORIES)))
    return max(at, ms[-1]), slope, last
