"""What is taken down of a hit, number by number, and how the log keeps it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from math import log1p
from pathlib import Path

import numpy as np
import pytest

import fivefold
from fivefold.learning.reranker import (
    NAMES,
    VERSION,
    base_score,
    feature_rows,
    pack_features,
    retention,
    search_kinds,
    unpack_features,
)
from fivefold.learning.training import read_lessons
from fivefold.stores.sqlite.connection import connect
from fivefold.stores.sqlite.schema import migrate, migrations
from fivefold.values.recall_trace import Candidate, Evidence, Plan, RoutePlan
from tests.support.stage_pool import NOW, aged, of
from tests.support.synthetic_users import furnished
from tests.support.toy_engine import toy


def found(*evidence: tuple[str, float, float]) -> Candidate:
    """A candidate with these routes, scores and contributions."""
    parts = tuple(Evidence(route, 1, score, 1.0, share, "") for route, score, share in evidence)
    return replace(of(1, sum(share for *_, share in evidence)), evidence=parts)


def named(candidate: Candidate, kinds: dict[str, str] | None = None) -> dict[str, float]:
    row = feature_rows([candidate], NOW, kinds or {})[0]
    return dict(zip(("score", *NAMES), row.tolist(), strict=True))


def test_E5_has_ten_features() -> None:
    assert NAMES == (
        "cosine",
        "importance",
        "access count",
        "age",
        "retention",
        "fact",
        "preference",
        "event",
        "entity",
        "procedure",
    )


def test_a_row_by_hand() -> None:
    candidate = found(("dense", 0.62, 0.3), ("lexical", 7.5, 0.1))
    candidate = replace(
        candidate, memory=replace(candidate.memory, type="event", importance=0.8, access_count=2, event_at=aged(90))
    )
    row = named(candidate)
    wanted = {
        "score": 0.4,
        "cosine": 0.62,
        "importance": 0.8,
        "access count": log1p(2),
        "age": log1p(90),
        "retention": 0.5,
        "event": 1.0,
        "fact": 0.0,
    }
    assert {name: row[name] for name in wanted} == pytest.approx(wanted)


def test_a_route_counts_by_its_kind_of_search() -> None:
    plan = Plan(
        "p", 5, tuple(RoutePlan(name, True, 10, 1.0, "", search="dense") for name in ("vec_a", "vec_b")), "", ()
    )
    row = named(found(("vec_a", 0.4, 0.1), ("vec_b", 0.7, 0.1)), search_kinds(plan))
    assert row["cosine"] == pytest.approx(0.7)


def test_a_cosine_nobody_took_is_no_number() -> None:
    assert np.isnan(named(found(("lexical", 3.0, 0.2)))["cosine"])


def test_retention_halves_in_a_month_and_lasts_longer_with_use() -> None:
    memory = of(1, event_at=aged(30)).memory
    assert retention(memory, NOW) == pytest.approx(0.5)
    assert retention(replace(memory, access_count=1), NOW) == pytest.approx(0.5**0.5)
    assert retention(replace(memory, last_accessed_at=aged(0)), NOW) == 1.0
    assert retention(memory, NOW - timedelta(days=60)) == 1.0


def test_the_score_is_that_without_the_reranker() -> None:
    moved = of(1, 0.5).with_step("decay", 0.4, "").with_step("learned", 0.9, "").with_step("noise", 0.91, "")
    assert base_score(moved) == 0.4
    assert base_score(of(1, 0.5)) == 0.5


def test_a_recall_is_packed_and_unpacked() -> None:
    with furnished(":memory:", notes=30) as engine:
        answer = engine.recall("harbour garden")
        rows = unpack_features(pack_features(answer))
        assert rows is not None
        wanted = feature_rows([hit.candidate for hit in answer], answer.query.now, search_kinds(answer.plan))
        np.testing.assert_array_equal(rows, wanted)
        assert rows[:, 0] == pytest.approx([hit.score for hit in answer])
        nothing = unpack_features(pack_features(replace(answer, hits=())))
        assert nothing is not None
        assert nothing.shape == (0, 1 + len(NAMES))


def test_E5_a_log_of_the_first_version_gives_its_ten_features() -> None:
    """It ended in four shares of routes, which no feature is made of any more."""
    numbers = np.arange(2 * 15, dtype="<f4")
    rows = unpack_features(bytes([1]) + numbers.tobytes())
    assert rows is not None
    np.testing.assert_array_equal(rows, numbers.reshape(2, 15)[:, :11])


def test_another_version_or_a_broken_row_is_left_alone() -> None:
    whole = bytes([VERSION]) + bytes(4 * (1 + len(NAMES)))
    assert unpack_features(whole) is not None
    assert unpack_features(bytes([VERSION + 1]) + whole[1:]) is None
    assert unpack_features(whole[:-1]) is None
    assert unpack_features(b"") is None
    assert unpack_features(None) is None


def test_feedback_by_a_recall_s_id_is_learned_from_too(store_path: str) -> None:
    """Also while the recall still waits to be written."""
    with toy(store_path) as engine:
        ids = engine.remember_many(["the first harbour", "the second harbour"]).stored
        engine.feedback(engine.recall("harbour").id, used=[ids[0]])
        reader = engine.store.reader("default")
        assert len(read_lessons(reader)) == 1
        assert reader.feedback.count() == 1
        engine.forget(ids[1])
        assert read_lessons(reader) == []


def test_a_file_of_the_first_version_opens_with_its_log(store_path: str) -> None:
    """Its recalls have no features: they stay, and teach nothing."""
    connection = connect(store_path, create=True)
    migrate(connection, store_path, migrations()[:1])
    connection.execute(
        "INSERT INTO namespaces (key, name, created_at) VALUES (1, 'default', 0);"
        "INSERT INTO recalls VALUES (1, 'r1', 0, 'default', 'where?', '[[\"m1\",1,0.5]]')"
    )
    connection.close()
    with fivefold.open(store_path) as engine:
        reader = engine.store.reader("default")
        assert reader.feedback.returned_ids("r1") == ("m1",)
        assert read_lessons(reader) == []
    assert Path(f"{store_path}.v1.bak").exists()
