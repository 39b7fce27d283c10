"""The network by hand, and its file: whole, or refused with a reason."""

from __future__ import annotations

import io
import json
import logging
import math
import os
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from math import log1p
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fivefold
from fivefold.errors import ReadOnly, StoreError
from fivefold.learning.reranker import (
    FEATURES_VERSION,
    HIDDEN_UNITS,
    NAMES,
    NEVER,
    Figures,
    FileRerankerStore,
    LearnedReranker,
    Ranker,
    Verdict,
    base_score,
    dump_reranker,
    feature_rows,
    load_reranker,
    min_max,
    model_path,
    pack_features,
    relative_scores,
    reranker_store,
    retention,
    search_kinds,
    unpack_features,
)
from fivefold.learning.training import read_lessons
from fivefold.models.shipped import BadModel
from fivefold.retrieval.protocols import Pool, best_first
from fivefold.retrieval.stages.reading import LearnedConstants, learned
from fivefold.settings import Settings
from fivefold.stores.sqlite.connection import connect
from fivefold.stores.sqlite.schema import migrate, migrations
from fivefold.values.recall_trace import Candidate, Evidence, Plan, RoutePlan
from tests.support.stage_pool import NOW, Namespace, aged, of, search
from tests.support.synthetic_users import Seeing, furnished
from tests.support.toy_engine import toy

FIGURES = Figures(held_out=40, before=0.5, after=0.6, least_gain=0.02, position_bias=0.8)
VERDICT = Verdict(True, "+0.100 nDCG", "learned-1.abc", datetime(2025, 6, 1, tzinfo=UTC), 101, 100, FIGURES)


def ranker(trust: float = 1.0, **changes: object) -> Ranker:
    """A network that says nothing of its own unless told to."""
    tensors = {
        "mean": np.zeros(len(NAMES)),
        "spread": np.ones(len(NAMES)),
        "inner": np.zeros((len(NAMES), HIDDEN_UNITS)),
        "bias": np.zeros(HIDDEN_UNITS),
        "outer": np.zeros(HIDDEN_UNITS),
        "trust": np.asarray(trust),
    }
    return Ranker({**tensors, **{name: np.asarray(value, dtype=float) for name, value in changes.items()}})


def liking(feature: str, strength: float = 3.0, trust: float = 1.0) -> Ranker:
    """A network that likes whatever has this feature."""
    inner = np.zeros((len(NAMES), HIDDEN_UNITS))
    inner[NAMES.index(feature), 0] = 1.0
    outer = np.zeros(HIDDEN_UNITS)
    outer[0] = strength
    return ranker(trust, inner=inner, outer=outer)


def rows(*cosines: float) -> np.ndarray:
    features = np.zeros((len(cosines), len(NAMES)), np.float32)
    features[:, 0] = cosines
    return features


def test_the_forward_pass_by_hand() -> None:
    """1 · standing + 3 · tanh(cosine)."""
    scores = liking("cosine").scores(np.array([2.0, 1.0], np.float32), rows(0.0, 0.5))
    assert scores.tolist() == pytest.approx([0.0, -0.5 + 3 * math.tanh(0.5)])


def test_features_are_scaled_and_what_is_unknown_is_average() -> None:
    mean, spread = np.zeros(len(NAMES)), np.ones(len(NAMES))
    mean[0], spread[0] = 0.4, 0.2
    known = Ranker({**liking("cosine", trust=0.0).tensors, "mean": mean, "spread": spread})
    scores = known.scores(np.ones(3, np.float32), rows(0.6, math.nan, 0.4))
    assert scores.tolist() == pytest.approx([3 * math.tanh(1.0), 0.0, 0.0], abs=1e-6)


def test_standing_is_the_distance_to_the_best() -> None:
    assert relative_scores([4.0, 3.0, 1.0]).tolist() == [0.0, -0.25, -0.75]
    assert relative_scores([-1.0, -2.0]).tolist() == [0.0, -1.0]
    assert relative_scores([0.0, 0.0]).tolist() == [0.0, 0.0]


def test_stretching_and_blending() -> None:
    assert min_max(np.array([1.0, 3.0, 2.0])).tolist() == [0.0, 1.0, 0.5]
    assert min_max(np.array([2.0, 2.0])).tolist() == [1.0, 1.0]
    base = np.array([3.0, 2.0, 1.0], np.float32)
    mixed, judged, given = liking("cosine", trust=0.0).blend(base, rows(0, 0, 1), 0.5)
    assert (judged.tolist(), given.tolist(), mixed.tolist()) == ([0, 0, 1], [1, 0.5, 0], [0.5, 0.25, 0.5])


def test_the_same_numbers_have_the_same_name() -> None:
    assert ranker().name == ranker().name
    assert ranker().name != ranker(trust=1.1).name
    assert ranker().name.startswith("learned-2.")


def test_a_file_brings_back_what_was_saved() -> None:
    before = liking("event")
    after, verdict = load_reranker(dump_reranker(before, VERDICT, "home"), "home")
    assert verdict == VERDICT
    assert after is not None
    assert after.name == before.name
    assert load_reranker(dump_reranker(None, replace(VERDICT, on=False, figures=None), "home"), "home")[0] is None


def test_a_verdict_is_told_in_a_line() -> None:
    assert VERDICT.describe() == "on, learned-1.abc: nDCG 0.500 → 0.600 on the newest 40 of 100 recalls; +0.100 nDCG"
    assert FIGURES.gain == pytest.approx(0.1)
    assert VERDICT.to_dict()["figures"]["after"] == 0.6


def changed(**header: object) -> bytes:
    """A sound file but for its header."""
    with np.load(io.BytesIO(dump_reranker(ranker(), VERDICT, "home"))) as held:
        tensors = {name: held[name] for name in held.files}
    tensors["header"] = np.array(json.dumps(json.loads(str(tensors["header"])) | header))
    out = io.BytesIO()
    np.savez(out, **tensors)
    return out.getvalue()


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "damaged"),
        (b"no model at all", "damaged"),
        (dump_reranker(ranker(), VERDICT, "home")[:-40], "damaged"),
        (changed(format=2), "format 2, this fivefold reads 1"),
        (changed(version=1), "other features"),
        (changed(features=["cosine"]), "other features"),
        (changed(verdict={}), "damaged"),
        (changed(namespace="away"), "belongs to namespace 'away'"),
        (dump_reranker(ranker(outer=np.zeros(3)), VERDICT, "home"), "tensors for 'outer'"),
        (dump_reranker(ranker(trust=math.nan), VERDICT, "home"), "tensors for 'trust'"),
        (dump_reranker(Ranker({"trust": np.asarray(1.0)}), VERDICT, "home"), "tensors for 'mean'"),
    ],
)
def test_a_file_that_cannot_be_used_says_why(data: bytes, reason: str) -> None:
    with pytest.raises(BadModel, match=reason):
        load_reranker(data, "home")


def test_a_flipped_byte_is_noticed() -> None:
    """A checksum guards every array; no flip gives another model in silence."""
    whole = dump_reranker(liking("event"), VERDICT, "home")
    name = liking("event").name
    for place in range(0, len(whole), 97):
        broken = whole[:place] + bytes([whole[place] ^ 0x10]) + whole[place + 1 :]
        try:
            found, verdict = load_reranker(broken, "home")
        except BadModel:
            continue
        assert found is not None
        assert (found.name, verdict) == (name, VERDICT)


# What is taken down of a hit, number by number, and how the log keeps it.


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
    whole = bytes([FEATURES_VERSION]) + bytes(4 * (1 + len(NAMES)))
    assert unpack_features(whole) is not None
    assert unpack_features(bytes([FEATURES_VERSION + 1]) + whole[1:]) is None
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


# The stage: what it does to scores, what it says, and when it keeps still.

ON = LearnedReranker(liking("event", trust=0.0), "it wins", "learned-1.abc")


def seeing(known: LearnedReranker | None) -> Seeing:
    plain = search(Namespace())
    return Seeing(plain.query, plain.reader, Settings(), plain.space, None, learned=known)


def run(candidates: list[Candidate], known: LearnedReranker | None = ON, **constants: float) -> list[Candidate]:
    pool = learned(Pool(candidates), seeing(known), LearnedConstants(**constants))  # type: ignore[arg-type]
    assert {item.memory.id for item in pool.candidates} == {item.memory.id for item in candidates}
    assert pool.dropped == ()
    return best_first(pool.candidates)


def test_what_use_has_taught_moves_the_order() -> None:
    """0.2 + 0.8 · (0.5 · model + 0.5 · order): the event gains, the best keeps what its score is worth."""
    ranked = run([of(1, 1.0), of(2, 0.6), of(3, 0.2, type="event")], blend=0.5)
    assert [(item.memory.row, round(item.score, 4)) for item in ranked] == [(1, 0.6), (3, 0.6), (2, 0.4)]
    assert ranked[1].steps[-1].why == "0.2000 + 0.8000 · (0.5 · 1.0000 by learned-1.abc + 0.5 · 0.0000)"


def test_alone_the_model_decides_and_with_no_weight_nothing_moves() -> None:
    three = [of(1, 1.0), of(2, 0.6), of(3, 0.2, type="event")]
    assert run(three, blend=1.0)[0].memory.row == 3
    still = run(three, blend=0.0)
    assert [item.memory.row for item in still] == [1, 2, 3]
    assert [item.score for item in still] == pytest.approx([1.0, 0.6, 0.2])


def test_only_the_best_are_looked_at_and_stay_the_best() -> None:
    ranked = run([*(of(row, 1 - row / 10) for row in range(1, 5)), of(5, 0.4, type="event")], top=3, blend=1.0)
    assert [item.memory.row for item in ranked[3:]] == [4, 5]
    assert [len(item.steps) for item in ranked] == [1, 1, 1, 0, 0]


def test_of_equals_the_liked_comes_first() -> None:
    assert run([of(1, 0.5), of(2, 0.5, type="event")])[0].memory.row == 2


@pytest.mark.parametrize("known", [None, LearnedReranker(None, NEVER)])
def test_without_a_model_nothing_happens(known: LearnedReranker | None) -> None:
    two = [of(1, 1.0), of(2, 0.5, type="event")]
    assert run(two, known) == two


def test_an_empty_or_single_list_is_left_alone() -> None:
    assert run([]) == []
    assert run([of(1, 1.0)])[0].steps == ()


@given(
    st.lists(st.tuples(st.floats(-5, 5), st.sampled_from(["fact", "event"])), min_size=2, max_size=12),
    st.integers(1, 12),
    st.floats(0, 1),
)
def test_the_law_of_the_trace(made: list[tuple[float, str]], top: int, blend: float) -> None:
    """Steps start where the score stood, scores are finite, and those looked at stay within what they spanned."""
    before = [of(row, score, type=kind) for row, (score, kind) in enumerate(made)]
    span = sorted((item.score for item in before), reverse=True)[:top]
    for item in run(before, top=top, blend=blend):
        for step in item.steps:
            assert step.before == item.fused
            assert math.isfinite(step.after)
            assert span[-1] - 1e-9 <= step.after <= max(span[0], span[-1] + 1) + 1e-9
        assert item.score == (item.steps[-1].after if item.steps else item.fused)


# Where models are kept: one a namespace, noticed when new, named once when unusable.


@pytest.fixture
def location(store_path: str) -> str:
    toy(store_path).close()
    return store_path


def test_a_namespace_has_a_file_of_its_own(location: str) -> None:
    names = ["default", "Default", "a/b", "a_b", "..", "工作", "x" * 200]
    paths = [model_path(location, name) for name in names]
    assert len({str(path).lower() for path in paths}) == len(names)
    assert {path.parent for path in paths} == {Path(f"{location}.learned")}
    assert model_path(location, "default").name.startswith("default-")


def test_what_is_put_is_learned_and_others_see_it(location: str) -> None:
    mine, theirs = FileRerankerStore(location, "home"), FileRerankerStore(location, "home")
    assert theirs.load().reason == NEVER
    mine.save(liking("event"), VERDICT)
    for rerankers in (mine, theirs):
        known = rerankers.load()
        assert known.ranker is not None
        assert (known.name, known.verdict) == (VERDICT.model, VERDICT)
    mine.save(liking("event"), replace(VERDICT, on=False))
    assert theirs.load().ranker is None
    assert theirs.load().verdict == replace(VERDICT, on=False)
    mine.remove()
    mine.remove()
    assert theirs.load() == mine.load()
    assert [file.name for file in Path(f"{location}.learned").iterdir()] == []


def test_a_model_is_read_once(location: str) -> None:
    rerankers = FileRerankerStore(location, "home")
    rerankers.save(liking("event"), VERDICT)
    assert rerankers.load() is rerankers.load()


def test_a_broken_file_is_off_and_named_once(location: str, caplog: pytest.LogCaptureFixture) -> None:
    rerankers = FileRerankerStore(location, "home")
    rerankers.save(liking("event"), VERDICT)
    assert rerankers.path is not None
    rerankers.path.write_bytes(b"torn")
    with caplog.at_level(logging.WARNING, "fivefold"):
        for _ in range(5):
            assert rerankers.load().ranker is None
    assert "damaged" in rerankers.load().reason
    assert len(caplog.records) == 1
    assert rerankers.path.name in caplog.text
    rerankers.save(liking("event"), VERDICT)
    assert rerankers.load().ranker is not None


def test_a_folder_in_the_file_s_place_is_off(location: str) -> None:
    rerankers = FileRerankerStore(location, "home")
    assert rerankers.path is not None
    rerankers.path.mkdir(parents=True)
    assert "cannot be opened" in rerankers.load().reason
    with pytest.raises(StoreError, match="cannot be written"):
        rerankers.save(liking("event"), VERDICT)
    assert list(rerankers.path.parent.iterdir()) == [rerankers.path]


def test_a_file_of_another_namespace_is_refused(location: str) -> None:
    mine, theirs = FileRerankerStore(location, "mine"), FileRerankerStore(location, "theirs")
    mine.save(liking("event"), VERDICT)
    assert mine.path is not None
    assert theirs.path is not None
    os.rename(mine.path, theirs.path)
    assert "belongs to namespace 'mine', not 'theirs'" in theirs.load().reason
    assert mine.load().reason == NEVER


def test_no_model_is_no_warning(location: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "fivefold"):
        rerankers = FileRerankerStore(location, "home")
        rerankers.load()
        rerankers.load()
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("INFO", f"no learned reranker in namespace 'home': {NEVER}")
    ]


def test_a_store_in_memory_keeps_its_models_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with fivefold.open(":memory:") as one, fivefold.open(":memory:") as other:
        reranker_store(one.store, "default").save(liking("event"), VERDICT)
        assert reranker_store(one.store, "default").load().ranker is not None
        assert reranker_store(one.store, "elsewhere").load().ranker is None
        assert reranker_store(other.store, "default").load().ranker is None
    assert list(tmp_path.iterdir()) == []


def test_a_store_that_can_only_be_read_keeps_no_model(location: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rerankers = FileRerankerStore(location, "home")
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(ReadOnly, match="read-only"):
        rerankers.save(liking("event"), VERDICT)


def test_files_are_as_private_as_memories(location: str) -> None:
    rerankers = FileRerankerStore(location, "home")
    rerankers.save(liking("event"), VERDICT)
    assert rerankers.path is not None
    assert rerankers.path.stat().st_mode & 0o077 == 0
