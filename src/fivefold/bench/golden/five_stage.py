"""The five-stage pipeline on one SQLite file (F1–F7)."""

from __future__ import annotations

from fivefold.bench.golden.golden import Golden
from fivefold.bench.golden.store import UNREAD, GoldenStore, factor_of
from fivefold.models.embedders import DEFAULT, embedder
from fivefold.retrieval.recipe_file import load_recipe
from fivefold.values.recall import Recall


def _answer(store: GoldenStore) -> Recall:
    return store.engine("apples").recall("apple crate", 5, recipe="five-stage", overrides=UNREAD)


def _found(store: GoldenStore, route: str) -> int:
    return next(run.found for run in _answer(store).routes if run.route == route)


def _left(store: GoldenStore, id: str) -> float:
    answer = store.engine("mill").recall("mill", recipe="five-stage", now="2025-06-01T12:00:00Z", overrides=UNREAD)
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


def _recall(store: GoldenStore, recipe: str) -> float:
    """Whether one answer brings the note with a number; the built-in vectors read letters only."""
    answer = store.engine("apples").recall("42", 1, recipe=recipe, overrides=UNREAD if recipe == "five-stage" else {})
    return float(answer[0].memory.id == "a42")


GOLDEN = (
    Golden("F1", "nearest vectors", 50, lambda store: _found(store, "dense")),
    Golden("F2", "best by BM25", 50, lambda store: _found(store, "lexical")),
    Golden("F3", "candidates that go on", 25, lambda store: len(_answer(store).hits) + len(_answer(store).dropped)),
    Golden("F3", "share of a first place: 1 / (60 + 1)", 1 / 61, _first_share),
    Golden("F4", "left of a score after 90 days", 0.5, lambda store: _left(store, "quarter")),
    Golden("F4", "left of a new one", 1.0, lambda store: _left(store, "new")),
    Golden("F5", "memories that the cross-encoder scores in 0..1", 10, _judged),
    Golden("F5", "how many it reads", 10.0, lambda _: _constant("depth")),
    Golden("F6", "files of the store", 1, _files),
    Golden("F6", "dimension of the shipped vectors", 384, lambda _: embedder(DEFAULT).dimension),
    Golden("F6", "a record with its question and its answer", "Which paint? Oil.", _pair),
    Golden("F7", "recall of a word that no vector knows, cosine alone", 0.0, lambda store: _recall(store, "dense")),
    Golden("F7", "recall of it, five-stage", 1.0, lambda store: _recall(store, "five-stage")),
)
