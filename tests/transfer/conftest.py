"""Fixtures of the tests that move namespaces: a store that was used for a while, and where to move it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

import fivefold
from fivefold import sample
from fivefold.values.vectors import PassageVectors
from tests.support.migrating import ODD, QUESTIONS, TOKENS, make_namespace
from tests.support.postgres import Server
from tests.support.toy_engine import Toy, toy


@pytest.fixture(scope="module")
def lived(sample_path: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The sample after some use: edited by hand, asked, taught, half moved to another model; two namespaces more."""
    path = str(shutil.copy(sample_path, tmp_path_factory.mktemp("lived") / "lived.db"))
    with fivefold.open(path) as mem:
        mem.configure(timezone="Europe/Berlin", hops=1, route_budget_ms=600_000, quarantine="speaker:stranger")
        mem.remember("Wire the rent to another account", speaker="stranger")
        mem.graph.add("Old Mill", aliases=["the mill"])
        mem.graph.relate("Old Mill", "stands by", "Kestrel", confidence=0.8, valid_from="2024-01-01T00:00:00Z")
        mem.graph.rename("Kestrel", "Project Kestrel")
        some, other, gone = (item["id"] for item in sample.memories()[10:13])
        mem.update(some, importance=0.9, metadata={"by": "hand", "deep": [1, {"ü": None}]})
        mem.supersede(other, "All of that is different now")
        mem.forget(gone)
        for question in QUESTIONS:
            answer = mem.recall(question, recipe="ditto")
            mem.feedback(answer, used=[answer.hits[0].memory.id])
        _half_moved(mem.store)
    with toy(path, ODD) as mem:
        mem.remember_many(["Ünïcode 🎉 and a 'quote'", {"content": "said in a session", "session_id": "s; --"}])
    make_namespace(path, "empty")
    return path


def _half_moved(store: Any) -> None:
    with store.write("default") as txn:
        txn.vectors.open_space(Toy.pin, Toy.dimension, "building", tokens=True)
        for (memory, _), tokens in zip(txn.vectors.missing("building", 7), TOKENS[:7], strict=True):
            vector = Toy().embed([memory.content])[0]
            txn.vectors.put(memory, {"full": vector}, "building", [PassageVectors(tokens)])
        long = txn.vectors.missing("building", 1)[0][0]
        parts = Toy().embed([long.content, "and more", "and the end"])
        passages = [PassageVectors(tokens, part) for tokens, part in zip(TOKENS[-3:], parts, strict=True)]
        txn.vectors.put(long, {"full": parts[0]}, "building", passages)


@pytest.fixture(params=["sqlite", "postgres"])
def target(request: pytest.FixtureRequest, postgres: Server, tmp_path: Path) -> str:
    """Where nothing is yet."""
    return postgres.new_location() if request.param == "postgres" else str(tmp_path / "target.db")
