"""The built-in store of the golden numbers: a few namespaces of a few memories, made when they are first asked for."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType

import numpy as np

from fivefold.engine import Engine
from fivefold.engine import open as open_store
from fivefold.models.embedders import Embedder
from fivefold.values.recall import Hit, Recall
from fivefold.values.times import content_hash
from fivefold.values.vectors import Matrix

from .figures import EXCHANGE, PURCHASES, REPEATED, TALK

NOW = "2025-06-01T12:00:00Z"

UNREAD = {"rerank.cross_encoder.on": False}
"""Without the cross-encoder, whose scores no hand computes."""


class WordVectors:
    """A text is the sum of its words, each a direction of its own: nearness is the share of words in common.

    Digits say nothing, so that only lexical search finds a number; one place is the same for all, so that a text
    without words has a vector too.
    """

    pin = "golden-words@1"
    dimension = 256

    def embed(self, texts: Sequence[str], progress: object = None) -> Matrix:
        rows = np.zeros((len(texts), self.dimension), np.float32)
        rows[:, 0] = 1.0
        for i, text in enumerate(texts):
            for word in re.findall(r"[a-z]+", text.lower()):
                chance = np.random.default_rng(int.from_bytes(content_hash("word", word)[:8]))
                rows[i] += chance.standard_normal(self.dimension).astype(np.float32)
        return rows


class GoldenStore:
    """One SQLite file; each namespace is filled by the function of the same name in `FILLED`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._open = ExitStack()
        self._engines: dict[str, Engine] = {}

    def __enter__(self) -> GoldenStore:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()

    def engine(self, name: str) -> Engine:
        """The namespace of that name, filled when it is asked for first."""
        if name not in self._engines:
            embedder: str | Embedder | None = None if name in READ else WordVectors()
            opened = open_store(str(self.folder / "golden.db"), namespace=name, embedder=embedder)
            self._engines[name] = self._open.enter_context(opened)
            FILLED[name](self._engines[name])
        return self._engines[name]

    def reopen(self, name: str, embedder: Embedder) -> None:
        """Open the namespace a second time, with another embedder."""
        self.engine(name)
        open_store(str(self.folder / "golden.db"), namespace=name, embedder=embedder).close()

    def ask(self, name: str, question: str, recipe: str, k: int = 10, **changes: object) -> Recall:
        """A recall at noon of the same day; `changes` are overrides with `__` for a dot.

        The weight model knows no vectors but those of the shipped embedder, so elsewhere the weights are fixed.
        """
        overrides = {path.replace("__", "."): value for path, value in changes.items()}
        if recipe == "ditto" and name != "weights":
            overrides["fusion.weights"] = "fixed"
        return self.engine(name).recall(question, k, recipe=recipe, now=NOW, overrides=overrides)


def hit_of(answer: Recall, id: str) -> Hit:
    return next(hit for hit in answer if hit.memory.id == id)


def factor_of(answer: Recall, id: str, stage: str) -> float:
    """What a stage multiplied the score of a hit by."""
    step = next(step for step in hit_of(answer, id).candidate.steps if step.stage == stage)
    return step.after / step.before


def _apples(engine: Engine) -> None:
    """Seventy notes of one day that differ in one word."""
    engine.remember_many(
        {"content": f"apple crate number {i}", "id": f"a{i}", "event_at": NOW, "type": "fact"} for i in range(70)
    )


def _pears(engine: Engine) -> None:
    """Ten notes of one day that differ in a number alone."""
    engine.remember_many(
        {"content": f"pear crate number {i}", "id": f"p{i}", "event_at": NOW, "type": "fact"} for i in range(10)
    )


def _mill(engine: Engine) -> None:
    """Facts and events of known age."""
    days = (("new", "2025-06-01"), ("month", "2025-05-02"), ("quarter", "2025-03-03"), ("year", "2024-06-01"))
    engine.remember_many(
        {"content": f"mill wheel {name}", "id": name, "event_at": f"{day}T12:00:00Z", "type": "event"}
        for name, day in days
    )
    engine.remember("mill stone", id="fact", event_at="2024-06-01T12:00:00Z", type="fact", memory_score=1.0)
    first = engine.recall("mill", recipe="lexical", now=NOW)
    engine.feedback(first, used=["month"])


def _talk(engine: Engine) -> None:
    """A conversation of four turns."""
    engine.remember_many(TALK)


def _exchange(engine: Engine) -> None:
    """Turns by role, and a note of the same."""
    engine.remember_many({**turn, "session_id": "s", "event_at": NOW} for turn in EXCHANGE)
    engine.remember("The kettle shop closes at six", event_at=NOW)


def _people(engine: Engine) -> None:
    """Relations, a replaced statement, identifiers, and events."""
    engine.remember_many(
        [
            {"content": "Sarah Chen works at Northwind", "id": "work", "event_at": "2025-01-10T12:00:00Z"},
            {"content": "Northwind is based in Oslo", "id": "oslo", "event_at": "2025-01-11T12:00:00Z"},
            {"content": "Ticket JIRA-9921 is about the lathe", "id": "ticket", "event_at": "2025-02-01T12:00:00Z"},
            {"content": "I visited the harbour", "id": "visit", "type": "event", "event_at": "2025-05-31T15:00:00Z"},
            {"content": "I live in Lisbon", "id": "lisbon", "event_at": "2025-01-05T12:00:00Z"},
        ]
    )
    engine.remember("I now live in Porto", id="porto", event_at="2025-04-05T12:00:00Z")


def _weights(engine: Engine) -> None:
    """For the shipped embedder, whose questions the weight model reads."""
    engine.remember("The kiln is hot", id="kiln", event_at="2025-05-01T12:00:00Z")
    engine.remember("The kiln is cold", id="cold", event_at="2025-05-30T12:00:00Z")


def _workshop(engine: Engine) -> None:
    """Ten preferences about tea, and ten facts, two of which are about Kestrel; their words are counted."""
    engine.configure(find_changes=False, find_repeats=False)
    engine.remember_many(
        {"content": f"I prefer tea number {i}", "event_at": NOW, "type": "preference"} for i in range(10)
    )
    facts = [f"tea was bought on day {i}" for i in range(8)] + [f"the kestrel timeout is {i}" for i in (30, 40)]
    engine.remember_many({"content": fact, "event_at": NOW, "type": "fact"} for fact in facts)
    engine.check_drift()


def _badges(engine: Engine) -> None:
    """A word in the predicate of one memory and in the content of another of the same length."""
    engine.remember("lamp shade", predicate="badge", id="predicate", event_at=NOW)
    engine.remember("badge lamp shade", id="content", event_at=NOW)
    engine.remember_many({"content": f"lamp number {i}", "event_at": NOW} for i in range(6))


def _names(engine: Engine) -> None:
    """Two people of one name, one of whom three questions were about."""
    engine.remember("Sam Whitfield climbs rocks", id="rocks", event_at=NOW)
    engine.remember("Sam Osei sells valves", id="valves", event_at=NOW)
    for _ in range(3):
        engine.recall("which valves does Sam sell?", recipe="lexical", now=NOW)


def _trees(engine: Engine) -> None:
    """A word and the three of its date when the vocabulary was checked first, four words more at the second check."""
    engine.remember("oak", event_at=NOW)
    engine.check_drift()
    engine.remember("ash yew elm fir", event_at=NOW)
    engine.check_drift()


def _purchases(engine: Engine) -> None:
    """Ten sessions with a purchase each, and one that repeats the words of a question about them."""
    talk = ("How was the rest of your day?", "Mostly meetings, then I cooked lentil soup.", "That sounds cosy.")
    sessions = {f"2025-{month:02}-12": (bought, *talk) for month, bought in enumerate(PURCHASES, 1)}
    engine.remember_many(
        {
            "content": line,
            "speaker": ("user", "assistant")[place % 2],
            "session_id": day,
            "event_at": f"{day}T10:{place:02}:00Z",
            "tags": ["bought"] if line in PURCHASES else [],
        }
        for day, lines in {**sessions, "2025-11-20": REPEATED}.items()
        for place, line in enumerate(lines)
    )


READ = ("weights", "purchases")
"""The namespaces that the shipped models read."""

FILLED: Mapping[str, Callable[[Engine], None]] = {
    "apples": _apples,
    "pears": _pears,
    "mill": _mill,
    "talk": _talk,
    "exchange": _exchange,
    "people": _people,
    "weights": _weights,
    "workshop": _workshop,
    "badges": _badges,
    "names": _names,
    "trees": _trees,
    "purchases": _purchases,
}
