"""The five-stage pipeline on one SQLite file (F1–F7)."""

from __future__ import annotations

from statistics import fmean

from fivefold.models.embedders import DEFAULT, embedder
from fivefold.retrieval.recipe_file import load_recipe
from fivefold.values.recall import Recall

from .golden import Golden
from .store import UNREAD, GoldenStore, factor_of


def _answer(store: GoldenStore) -> Recall:
    return store.engine("apples").recall("apple crate", 5, recipe="five-stage", overrides=UNREAD)


def _found(store: GoldenStore, route: str) -> int:
    return next(run.found for run in _answer(store).routes if run.route == route)


def _left(store: GoldenStore, id: str, **changes: float) -> float:
    """What age leaves; `changes` are of the curve."""
    overrides = UNREAD | {f"boosts.decay.all.{name}": value for name, value in changes.items()}
    answer = store.engine("mill").recall("mill", recipe="five-stage", now="2025-06-01T12:00:00Z", overrides=overrides)
    return factor_of(answer, id, "decay")


def _judged(store: GoldenStore) -> int:
    """How many of the answer have a score in 0..1 of the model."""
    answer = store.engine("apples").recall("apple crate", 10, recipe="five-stage")
    steps = [step for hit in answer for step in hit.candidate.steps if step.stage == "cross-encoder"]
    return sum(0 <= step.after <= 1 and "that it answers" in step.why for step in steps)


def _files(store: GoldenStore) -> int:
    store.engine("apples")
    return sum(path.suffix == ".db" for path in store.folder.iterdir())


def _pair(store: GoldenStore) -> str:
    engine = store.engine("talk")
    engine.remember("Which paint? Oil.", id="pair", user_text="Which paint?", assistant_text="Oil.", session_id=None)
    return " ".join(filter(None, (engine.get("pair").user_text, engine.get("pair").assistant_text)))


def _constant(name: str) -> float:
    return float(getattr(load_recipe("five-stage").rerank[0].constants, name))


def _first_share(store: GoldenStore) -> float:
    return next(item.contribution for hit in _answer(store) for item in hit.candidate.evidence if item.rank == 1)


ASKED = range(10)
"""Ten questions, each a number that one of ten notes has. The built-in vectors read letters only: to them all notes are
equally near, and the five that come first are the same for every question."""


def _quality(store: GoldenStore, recipe: str) -> str:
    """Recall and precision of the first five."""
    overrides = UNREAD if recipe == "five-stage" else {}
    answers = [store.engine("pears").recall(str(i), 5, recipe=recipe, overrides=overrides) for i in ASKED]
    found = sum(f"p{i}" in {hit.memory.id for hit in answer} for i, answer in zip(ASKED, answers, strict=True))
    return f"{found / len(ASKED):g}/{found / (5 * len(ASKED)):g}"


def _relevance_gained(store: GoldenStore) -> float:
    """The mean relevance of the first five of five-stage less that of cosine alone, as the cross-encoder judges."""
    question = "Which of the pear crates is number 7?"
    judged = store.engine("pears").recall(question, 10, recipe="five-stage")
    relevance = {hit.memory.id: hit.score for hit in judged}
    nearest = store.engine("pears").recall(question, 5, recipe="dense")
    return fmean(hit.score for hit in judged.hits[:5]) - fmean(relevance[hit.memory.id] for hit in nearest)


GOLDEN = (
    Golden("F1", "nearest vectors", 50, lambda store: _found(store, "dense")),
    Golden("F2", "best by BM25", 50, lambda store: _found(store, "lexical")),
    Golden("F3", "candidates that go on", 25, lambda store: len(_answer(store).hits) + len(_answer(store).dropped)),
    Golden("F3", "share of a first place: 1 / (60 + 1)", 1 / 61, _first_share),
    Golden("F4", "left of a score after a year", 0.8, lambda store: _left(store, "year")),
    Golden("F4", "left after 90 days without the floor", 0.5, lambda store: _left(store, "quarter", floor=0.0)),
    Golden("F4", "left of a new one", 1.0, lambda store: _left(store, "new")),
    Golden("F5", "memories that the cross-encoder scores in 0..1", 10, _judged),
    Golden("F5", "how many it reads", 10.0, lambda _: _constant("depth")),
    Golden("F6", "files of the store", 1, _files),
    Golden("F6", "dimension of the shipped vectors", 384, lambda _: embedder(DEFAULT).dimension),
    Golden("F6", "a record with its question and its answer", "Which paint? Oil.", _pair),
    Golden("F7", "recall and precision of five hits, cosine alone", "0.5/0.1", lambda s: _quality(s, "dense")),
    Golden("F7", "the same, five-stage", "1/0.2", lambda s: _quality(s, "five-stage")),
    Golden("F7", "what five-stage adds to the mean relevance of cosine alone", 0.0, _relevance_gained, "at least"),
)
