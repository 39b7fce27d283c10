"""What is learned, seen from a recall: predicted weights, their correction by use, decay by question, training."""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import fivefold
from fivefold.engine import Engine
from fivefold.learning.adaptation import MAX_OFFSET_SPREAD, NONE, load_adaptation
from fivefold.learning.reranker import learned_reranker
from fivefold.learning.training import MIN_RECALLS as LEAST
from fivefold.models.shipped import Contents, pack
from fivefold.models.weights import FALLBACK, WeightModel, is_fallback, load, shipped
from fivefold.stores.sqlite.connection import connect
from fivefold.stores.sqlite.schema import migrations
from fivefold.stores.sqlite.store import SqliteStore
from fivefold.values.query import Weights
from fivefold.values.recall import Recall
from tests.models.test_weights import tensors
from tests.retrieval.test_pipeline import lawful
from tests.stores.test_named_times import BEFORE as BEFORE_TIMES
from tests.support.dial import Dial
from tests.support.synthetic_users import after_the_preferred, furnished, talk

pytestmark = pytest.mark.slow

NOW = datetime(2025, 6, 1, tzinfo=UTC)


def weighed(answer: Recall) -> Weights:
    assert answer.query.weights is not None
    return answer.query.weights


# Predicted weights


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> WeightModel:
    """A weight model for the dial that says a half, a quarter and a quarter of everything."""
    parts = tensors()
    parts["1.linear.weight"] = parts["1.linear.weight"].repeat(2, axis=1)
    path = tmp_path / "tiny.bin"
    path.write_bytes(pack(Contents("tiny", Dial.pin, Dial.dimension, parts)))
    model = load(path)
    monkeypatch.setattr("fivefold.models.weights.shipped", lambda: model)
    return model


def year(path: str, namespace: str = "default") -> Engine:
    """Forty notes, alike or not, new or old; a day apart from each other."""
    engine = Engine(SqliteStore(path), namespace, Dial(), clock=lambda: NOW)
    engine.remember_many(
        {
            "id": f"note-{i:02}",
            "content": f"note {i} @{0.5 + (i * 7 % 40) / 100:.2f}",
            "event_at": NOW - timedelta(days=9 * i + 1),
        }
        for i in range(40)
    )
    return engine


def test_predicted_weights_are_in_the_trace_and_add_up(store_path: str, tiny: WeightModel) -> None:
    with year(store_path) as engine:
        answer = engine.recall("what?", recipe="ditto", now=NOW)
    found = weighed(answer)
    assert (found.similarity, found.recency, found.frequency) == pytest.approx((0.5, 0.25, 0.25), abs=1e-3)
    assert found.similarity + found.recency + found.frequency == pytest.approx(1)
    assert found.source == "model tiny"
    assert "similarity 50%, recency 25%, frequency 25% (model tiny)" in answer.explain()
    by_route = {part.route: part.weight for part in answer.plan.routes}
    assert by_route == {"similarity": found.similarity, "recency": found.recency, "frequency": found.frequency}
    assert all(f"{part.weight:.3f}" in part.reason for part in answer.plan.routes)
    assert "weigh" in {timing.stage for timing in answer.timings}
    lawful(answer)


def test_D10_the_predicted_intent_is_shown_with_the_weights_in_percent(store_path: str, tiny: WeightModel) -> None:
    with year(store_path) as engine:
        answer = engine.recall("what?", recipe="ditto", now=NOW)
        fixed = engine.recall("what?", recipe="ditto", overrides={"fusion.weights": "fixed"}, now=NOW)
    assert answer.query.intent == "what"
    assert answer.to_dict()["query"]["weights"]["intent"] == "mixed"
    assert ", intent mixed\n" in answer.explain()
    assert ", intent what\n" in fixed.explain()


def test_the_score_is_the_weighed_sum(store_path: str, tiny: WeightModel) -> None:
    with year(store_path) as engine:
        answer = engine.recall("what?", recipe="ditto", now=NOW)
    found = weighed(answer)
    share = {"similarity": found.similarity, "recency": found.recency, "frequency": found.frequency}
    for hit in answer:
        by_hand = math.fsum(share[item.route] * item.score for item in hit.candidate.evidence)
        assert hit.score == pytest.approx(by_hand, abs=1e-6)
        assert all(item.weight == share[item.route] for item in hit.candidate.evidence)


def test_the_shipped_model_weighs_by_the_question(store_path: str) -> None:
    """It is asked with the embedder it was made for, whichever that is."""
    pin = shipped().pin
    with fivefold.open(store_path, embedder=pin.rpartition("@")[0]) as engine:
        engine.remember_many(["We talked about the boat", "Python projects: a parser", "The boat is painted"])
        recent, topical, frequent = (
            weighed(engine.recall(question, recipe="ditto"))
            for question in (
                "What did we discuss yesterday?",
                "Tell me about my Python projects",
                "What topic keeps coming up?",
            )
        )
    assert recent.recency > max(recent.similarity, recent.frequency)
    assert topical.similarity > max(topical.recency, topical.frequency)
    assert frequent.frequency > max(frequent.similarity, frequent.recency)
    assert all(found.source == f"model {shipped().name}" for found in (recent, topical, frequent))


def test_a_fallback_is_named_in_the_trace(store_path: str) -> None:
    with year(store_path) as engine:
        answer = engine.recall("what?", recipe="ditto", now=NOW)
    found = weighed(answer)
    assert (found.similarity, found.recency, found.frequency) == FALLBACK
    assert is_fallback(found)
    assert found.source.endswith(f"was made for {shipped().pin}, not for dial@1")
    assert "(fallback: " in answer.explain()
    assert answer.to_dict()["query"]["weights"]["source"] == found.source
    assert not answer.degraded
    lawful(answer)


def test_a_damaged_model_is_named_in_the_trace(
    store_path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = tmp_path / "bad.bin"
    bad.write_bytes(b"no model")
    monkeypatch.setattr("fivefold.models.weights.shipped", lambda: load(bad))
    with year(store_path) as engine:
        found = weighed(engine.recall("what?", recipe="ditto", now=NOW))
    assert found.source == "fallback: the weight model's file is not a weight model"


def test_an_empty_namespace_falls_back_as_well(store_path: str) -> None:
    with fivefold.open(store_path) as engine:
        found = weighed(engine.recall("what?", recipe="ditto"))
    assert found.source == "fallback: the question has no vector"


def test_fixed_weights_are_those_of_the_recipe(store_path: str, tiny: WeightModel) -> None:
    with year(store_path) as engine:
        answer = engine.recall("what?", recipe="ditto", now=NOW, overrides={"fusion.weights": "fixed"})
    assert answer.query.weights is None
    assert [part.weight for part in answer.plan.routes] == [0.6, 0.25, 0.15]
    assert "weigh" not in {timing.stage for timing in answer.timings}


# Their correction by use


def newest(answer: Recall) -> str:
    return max(answer, key=lambda hit: hit.memory.event_at).memory.id


def used_newest(engine: Engine, times: int, by_id: bool = False) -> None:
    """A user to whom only the newest of a list is of use."""
    for i in range(times):
        answer = engine.recall(f"what? {i}", recipe="ditto", now=NOW)
        engine.feedback(answer.id if by_id else answer, used=[newest(answer)])


@pytest.fixture
def engine(store_path: str, tiny: WeightModel) -> Iterator[Engine]:
    with year(store_path) as made:
        yield made


@pytest.mark.parametrize("by_id", [False, True])
def test_use_adapts_the_weights(engine: Engine, by_id: bool) -> None:
    before = weighed(engine.recall("what?", recipe="ditto", now=NOW))
    used_newest(engine, 40, by_id)
    answer = engine.recall("what?", recipe="ditto", now=NOW)
    found = weighed(answer)
    assert found.source.startswith("model tiny; global 0.500/0.250/0.250 → adapted ")
    assert found.source.endswith(", feedbacks 40")
    assert found.before == pytest.approx((0.5, 0.25, 0.25), abs=1e-3)
    assert found.recency > before.recency + 0.05
    assert found.similarity + found.recency + found.frequency == pytest.approx(1)
    assert {part.route: part.weight for part in answer.plan.routes}["recency"] == found.recency
    assert found.source in answer.explain()
    lawful(answer)


def test_feedback_by_recall_and_by_id_teach_the_same(tmp_path: Path, tiny: WeightModel) -> None:
    taught = []
    for by_id in (False, True):
        with year(str(tmp_path / f"{by_id}.db")) as engine:
            used_newest(engine, 12, by_id)
            taught.append(load_adaptation(engine.store.reader("default").admin.learned_value("weights")))
    assert taught[0].offsets == pytest.approx(taught[1].offsets)
    assert (taught[0].count, taught[1].count) == (12, 12)


def test_feedback_by_id_still_teaches_after_the_engine_was_closed(store_path: str, tiny: WeightModel) -> None:
    with year(store_path) as engine:
        answer = engine.recall("what?", recipe="ditto", now=NOW)
    with Engine(SqliteStore(store_path), embedder=Dial(), clock=lambda: NOW) as engine:
        engine.feedback(answer.id, used=[newest(answer)])
        assert load_adaptation(engine.store.reader("default").admin.learned_value("weights")).count == 1


def test_the_correction_stays_within_its_bound(engine: Engine) -> None:
    used_newest(engine, 80)
    found = weighed(engine.recall("what?", recipe="ditto", now=NOW))
    assert found.before is not None
    ratios = [
        after / before
        for after, before in zip((found.similarity, found.recency, found.frequency), found.before, strict=True)
    ]
    assert max(ratios) / min(ratios) <= math.exp(MAX_OFFSET_SPREAD) + 1e-6


def test_saying_it_twice_counts_once(engine: Engine) -> None:
    answer = engine.recall("what?", recipe="ditto", now=NOW)
    engine.feedback(answer, used=[newest(answer)])
    once = engine.store.reader("default").admin.learned_value("weights")
    engine.feedback(answer, used=[newest(answer)])
    engine.feedback(answer.id, used=[newest(answer)])
    assert engine.store.reader("default").admin.learned_value("weights") == once
    assert load_adaptation(once).count == 1
    assert engine.get(newest(answer)).access_count == 1


def test_nothing_is_taught_by_a_recipe_without_weights_or_by_using_nothing(engine: Engine) -> None:
    answer = engine.recall("what?", recipe="dense", now=NOW)
    engine.feedback(answer, used=[answer[0].memory.id])
    engine.feedback(engine.recall("what?", recipe="ditto", now=NOW), used=[])
    assert load_adaptation(engine.store.reader("default").admin.learned_value("weights")).offsets == NONE.offsets


def test_unlearning_brings_the_global_weights_back(engine: Engine) -> None:
    used_newest(engine, 40)
    assert "→ adapted" in weighed(engine.recall("what?", recipe="ditto", now=NOW)).source
    engine.unlearn()
    found = weighed(engine.recall("what?", recipe="ditto", now=NOW))
    assert (found.source, found.before) == ("model tiny", None)
    assert engine.store.reader("default").admin.learned_value("weights") is None
    assert engine.store.reader("default").feedback.count() == 40


def test_what_is_learned_fades_with_time(engine: Engine) -> None:
    used_newest(engine, 40)
    soon, late = (
        weighed(engine.recall("what?", recipe="ditto", now=NOW + timedelta(days=days))).recency for days in (1, 2_000)
    )
    assert soon > late == pytest.approx(0.25, abs=1e-3)


def test_namespaces_never_share_what_they_learned(engine: Engine, store_path: str) -> None:
    with year(store_path, "other") as other:
        used_newest(engine, 40)
        found = weighed(other.recall("what?", recipe="ditto", now=NOW))
        assert found.source == "model tiny"
        assert other.store.reader("other").admin.learned_value("weights") is None
        other.unlearn()
        assert "→ adapted" in weighed(engine.recall("what?", recipe="ditto", now=NOW)).source
        answer = engine.recall("what?", recipe="ditto", now=NOW)
        with pytest.raises(fivefold.NotFound):
            other.feedback(answer.id, used=[answer[0].memory.id])


# Decay by question


def recency(answer: Recall) -> dict[str, float]:
    return {hit.memory.id: item.score for hit in answer for item in hit.candidate.evidence if item.route == "recency"}


def test_the_decay_fits_the_question(engine: Engine) -> None:
    """Ages are 1, 10, 19, … days: all alike for a year long gone, and worlds apart for what was just said."""
    changes = {"routes.recency.per_query": True, "fusion.weights": "fixed"}
    asked = {
        question: recency(engine.recall(question, k=40, recipe="ditto", now=NOW, overrides=changes))
        for question in ("what did I do in 2019?", "what did we just say?", "tea")
    }
    assert set(asked["what did I do in 2019?"].values()) == {1.0}
    just = asked["what did we just say?"]
    assert just["note-00"] >= 0.5**4  # a half-life of six hours, or longer where nothing is newer
    assert just["note-01"] < just["note-00"] / 100
    fixed = {"fusion.weights": "fixed"}
    assert asked["tea"] == recency(engine.recall("tea", k=40, recipe="ditto", now=NOW, overrides=fixed))


def test_decay_by_question_keeps_the_law(engine: Engine) -> None:
    for question in ("what's new?", "last month", "what did we just say?", "when did I move?", "my usual tea"):
        lawful(engine.recall(question, recipe="ditto", now=NOW, overrides={"routes.recency.per_query": True}))


# Training by itself


def test_enough_feedback_trains_the_reranker_in_the_background(store_path: str) -> None:
    with furnished(store_path, notes=60) as engine:
        engine.configure(learn_after=LEAST)
        talk(engine, after_the_preferred, LEAST - 1)
        engine._training.wait()
        assert learned_reranker(engine._namespace).verdict is None
        talk(engine, after_the_preferred, 1)
        engine._training.wait()
        verdict = learned_reranker(engine._namespace).verdict
        assert verdict is not None
        assert verdict.noted == LEAST
        assert len(engine.recall("harbour")) == 10


def test_nothing_trains_by_itself_unless_asked_to(store_path: str) -> None:
    with furnished(store_path, notes=60) as engine:
        talk(engine, after_the_preferred, LEAST + 5)
        engine._training.wait()
        assert learned_reranker(engine._namespace).verdict is None


def test_unlearning_takes_the_reranker_away(store_path: str) -> None:
    with furnished(store_path, notes=60) as engine:
        talk(engine, after_the_preferred, LEAST)
        assert engine.train_reranker().feedbacks == LEAST
        engine.unlearn()
        assert learned_reranker(engine._namespace).verdict is None
        assert engine.train_reranker().feedbacks == LEAST


# A store of the schema before


def test_a_store_of_the_schema_before_opens_and_learns(store_path: str, tiny: WeightModel) -> None:
    """Its log has neither features nor signals: old recalls teach nothing, and nothing breaks on them."""
    with year(store_path) as engine:
        old = engine.recall("what?", recipe="ditto", now=NOW)
    _taken_back(store_path)
    kept = f"{store_path}.kept"
    shutil.copy(store_path, kept)
    with Engine(SqliteStore(store_path), embedder=Dial(), clock=lambda: NOW) as engine:
        assert engine.stats().memories == 40
        engine.feedback(old.id, used=[newest(old)])
        assert engine.store.reader("default").admin.learned_value("weights") is None
        assert engine.get(newest(old)).access_count == 1
        used_newest(engine, 3)
        assert load_adaptation(engine.store.reader("default").admin.learned_value("weights")).count == 3
        assert engine.train_reranker().feedbacks == 3
        assert [finding for finding in engine.doctor() if not finding.ok] == []
    backup = connect(f"{store_path}.v1.bak")
    assert backup.pragma("user_version") == 1
    backup.close()


def _taken_back(path: str) -> None:
    """The file as version 1 of the schema had it."""
    connection = connect(path)
    connection.execute("DELETE FROM memory_links WHERE relation IN ('likely', 'repeats')")  # that version knew none
    connection.execute(BEFORE_TIMES)
    for name in ("features", "signals"):
        connection.execute(f"ALTER TABLE recalls DROP COLUMN {name}")
    for name in ("learned", "api_keys", "audit", "answers"):
        connection.execute(f"DROP TABLE {name}")
    connection.execute("DROP INDEX memories_latest")
    connection.execute("DROP TABLE tokens")
    connection.execute("DROP INDEX vectors_memory")
    connection.execute("ALTER TABLE spaces DROP COLUMN tokens")
    connection.execute("ALTER TABLE vectors DROP COLUMN part")
    connection.execute("CREATE UNIQUE INDEX vectors_memory ON vectors (memory, space, field)")
    connection.execute("ALTER TABLE feedback DROP COLUMN used")
    for name in ("links", "edge_memories"):
        connection.execute(f"ALTER TABLE {name} DROP COLUMN namespace")
    connection.execute("DROP INDEX edges_pair")
    connection.execute("CREATE UNIQUE INDEX edges_pair ON edges (source, target, relation)")
    connection.execute("PRAGMA user_version = 1")
    fresh = connect(":memory:")
    fresh.execute(migrations()[0][1])
    for table in ("recalls", "feedback", "memories", "memory_links", "links", "edge_memories", "spaces", "vectors"):
        columns = [[row[1] for row in db.execute(f"PRAGMA table_info({table})")] for db in (connection, fresh)]
        assert columns[0] == columns[1]
    connection.close()
    fresh.close()
