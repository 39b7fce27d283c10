"""Recall: questions about time, people and relations (R1–R12)."""

from __future__ import annotations

from math import sqrt

from fivefold.errors import EmbedderMismatch
from fivefold.retrieval.stages.reading import RERANKED
from fivefold.stores.records import TYPE_VOCABULARY, Walk
from fivefold.values.query import Query
from fivefold.values.times import as_utc
from fivefold.writing import rebuild as drift
from fivefold.writing.type_vocabulary import load_type_vocabulary

from .golden import Golden
from .store import NOW, GoldenStore, WordVectors


class OtherVectors(WordVectors):
    """The same vectors by another name."""

    pin = "other-words@1"


def _query(store: GoldenStore, question: str, history: tuple[str, ...] = ()) -> Query:
    return store.engine("people").understand(question, now=NOW, history=history)


def _she(store: GoldenStore) -> str:
    return " ".join(ref.name for ref in _query(store, "where does she work?", ("I met Sarah Chen",)).entities)


def _skipped(store: GoldenStore, question: str) -> str:
    parts = store.engine("people").plan(question, recipe="recall", now=NOW).routes
    return " ".join(part.route for part in parts if not part.run)


def _density(store: GoldenStore) -> str:
    """The share of the preferences and of the others that have a word."""
    reader = store.engine("workshop").store.reader("workshop")
    vocabulary = load_type_vocabulary("workshop", reader.admin.learned_value(TYPE_VOCABULARY))
    (found,) = vocabulary.densities("preference", ["kestrel"]) if vocabulary else ()
    return f"{found.own:g}/{found.others:g}"


def _types(store: GoldenStore, question: str) -> str:
    hints = store.engine("workshop").plan(question, recipe="recall", now=NOW).type_hints
    return " ".join(f"{hint.type} {'kept' if hint.kept else 'dropped'}" for hint in hints)


def _widened(store: GoldenStore) -> int:
    """Hits of another type, where fewer than five of the implied one are found."""
    answer = store.ask("workshop", "my kestrel setting", "recall", type_density=0)
    runs = [run for run in answer.routes if run.reason.endswith("so all types were searched")]
    return sum(hit.memory.type == "fact" for hit in answer.hits[:2] if runs)


def _days(store: GoldenStore, words: str) -> float:
    window = _query(store, f"what happened {words}?").window
    return -1.0 if window is None else (window.end - window.start).total_seconds() / 86_400


def _drift(store: GoldenStore) -> str:
    found = store.engine("trees").stats().drift
    return "unchecked" if found is None else f"{found.jaccard:g}{', rebuilt' if found.reindexed else ''}"


def _meanings(store: GoldenStore) -> str:
    """Whom a name may mean, with in how many past questions it did."""
    (ref,) = store.ask("names", "what about Sam?", "recall").query.entities
    return ", ".join(f"{meaning.name} {meaning.asked:g} {meaning.confidence:.4f}" for meaning in ref.meanings)


def _refusal(store: GoldenStore) -> str:
    try:
        store.reopen("people", OtherVectors())
    except EmbedderMismatch as error:
        return type(error).__name__
    return "opened"


def _ticket(store: GoldenStore) -> str:
    return store.ask("people", "JIRA-9921", "lexical")[0].memory.id


def _times_in_predicate(store: GoldenStore) -> float:
    """The BM25 of a word in the predicate, as a multiple of that of the same word in the content."""
    (run,) = (run for run in store.ask("badges", "badge", "recall").routes if run.route == "lexical")
    scores = {store.engine("badges").get(id).row: id for id in ("predicate", "content")}
    found = {scores[hit.row]: hit.score for hit in run.hits if hit.row in scores}
    return found["predicate"] / found["content"]


def _graph_score(store: GoldenStore, id: str) -> float:
    run = next(run for run in store.ask("people", "Sarah Chen", "recall").routes if run.route == "graph")
    row = store.engine("people").get(id).row
    return next((hit.score for hit in run.hits if hit.row == row), 0.0)


def _share_error(store: GoldenStore) -> float:
    """The largest difference between a semantic share and √score / (60 + rank)."""
    found = [
        item
        for hit in store.ask("people", "Sarah Chen works at Northwind", "recall")
        for item in hit.candidate.evidence
        if item.route == "dense"
    ]
    differences = [item.contribution - sqrt(min(1.0, max(0.0, item.score))) / (60 + item.rank) for item in found]
    return round(max(map(abs, differences)), 9)


def _read_again(store: GoldenStore) -> str:
    """What the cross-encoder did of 70 candidates, where it runs."""
    answer = store.ask("apples", "apple crate", "recall", rerank__cross_encoder__effort="normal")
    return next(note.why.partition(",")[0] for note in answer.notes if note.stage == RERANKED)


def _elsewhere(store: GoldenStore) -> int:
    found = store.ask("talk", "Sarah Chen JIRA-9921 Northwind", "recall", 50)
    return sum(hit.memory.id in {"work", "oslo", "ticket"} for hit in found)


WALK = Walk(as_utc(NOW)[0])

GOLDEN = (
    Golden("R1", "who “she” is after “I met Sarah Chen”", "Sarah Chen", _she),
    Golden("R2", "routes skipped without a name or a time", "graph temporal", lambda s: _skipped(s, "the lathe")),
    Golden("R2", "share of the preferences and of the others that have a word", "0/0.2", _density),
    Golden("R2", "a type with the words that are asked", "preference kept", lambda s: _types(s, "which tea I prefer")),
    Golden("R2", "one without", "preference dropped", lambda s: _types(s, "my setting for the kestrel timeout")),
    Golden("R3", "opening with another embedder", "EmbedderMismatch", _refusal),
    Golden("R4", "the memory that has an identifier", "ticket", _ticket),
    Golden("R4", "score of a word in the predicate, in that of the same word in the content", 4.0, _times_in_predicate),
    Golden("R5", "lexemes that a check compares", 5_000, lambda _: drift.MAX_LEXEMES),
    Golden("R5", "Jaccard index below which the index is rebuilt", 0.7, lambda _: drift.MIN_JACCARD),
    Golden("R5", "Jaccard index of four lexemes and these with four more: 4 / 8", "0.5, rebuilt", _drift),
    Golden("R5", "days between two checks", 7, lambda s: s.engine("trees").settings.check_days),
    Golden("R6", "scores of the hops", "1/0.6/0.35/0.15", lambda _: "/".join(f"{one:g}" for one in WALK.hop_scores)),
    Golden("R6", "priors", "1/0.9/0.3", lambda _: "/".join(f"{one:g}" for one in WALK.priors.values())),
    Golden("R6", "freshness of a relation that is past", 0.3, lambda _: WALK.expired),
    Golden(
        "R7", "confidence from which on a name has one meaning", 0.7, lambda s: s.engine("people").settings.sure_entity
    ),
    Golden(
        "R7",
        "a name with its past questions, and 0.9 · (0.5 · (asked + 1/2) / 4 + 0.3) / 1.1",
        "Sam Osei 3 0.6034, Sam Whitfield 0 0.2966",
        _meanings,
    ),
    Golden("R8", "days of “last week”", 7.0, lambda s: _days(s, "last week")),
    Golden("R8", "days of “recently”", 30.0, lambda s: _days(s, "recently")),
    Golden("R8", "days of “a few months ago”: 90 to 30 days back", 60.0, lambda s: _days(s, "a few months ago")),
    Golden(
        "R9", "results below which the type filter is dropped", 5, lambda s: s.engine("people").settings.widen_below
    ),
    Golden("R9", "facts among the best two, where too few preferences are found", 2, _widened),
    Golden("R10", "largest difference between a share and √score / (60 + rank)", 0.0, _share_error),
    Golden("R10", "weight of a hit that is hops away", 0.8, lambda _: WALK.far),
    Golden(
        "R11",
        "routes of a recall that were late or failed",
        0,
        lambda s: len(s.ask("people", "Sarah Chen", "recall").degraded),
    ),
    Golden("R11", "what is read again, where that is asked for", "read the best 50", _read_again),
    Golden("R11", "routes skipped for a simple question", "lexical graph", lambda s: _skipped(s, "yesterday")),
    Golden("R12", "memories of another namespace that are found", 0, _elsewhere),
)
