"""Repairing what is derived, and moving to another embedder, also after a kill."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import fivefold
from fivefold import sample
from fivefold.engine import Engine
from fivefold.stores import open_store
from fivefold.stores.records import VOCABULARY
from fivefold.stores.sqlite.connection import connect
from fivefold.values.recall import Recall
from fivefold.values.reports import Drift
from fivefold.writing import rebuild
from tests.conformance.recipes import steady
from tests.conformance.vectors import WordVectors

TEXTS = ["The kettle is blue", "Bertil wants rye flour", "Sarah sits in Berlin", "Nightjar came on 8 May 2025"]


def failing(engine: Engine) -> set[str]:
    return {finding.check for finding in engine.doctor() if not finding.ok}


@pytest.mark.slow
def test_a_sound_store_has_no_findings(sample_engine: Engine) -> None:
    assert failing(sample_engine) == set()


@pytest.mark.slow
def test_a_new_namespace_has_no_findings(engine: Engine) -> None:
    assert failing(engine) == set()
    assert all(finding.ok for finding in engine.doctor(repair=True))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("damage", "check"),
    [
        ("DELETE FROM lexemes WHERE memory = 2", "lexical index"),
        ("INSERT INTO lexemes VALUES (1, 0, 99, 1, '', 'rye')", "lexical index"),
        ("DELETE FROM vectors WHERE memory = 2", "vectors"),
        ("DELETE FROM vec_384 WHERE rowid = 1", "vectors"),
        ("DELETE FROM links WHERE memory = 3", "entity links"),
        ("UPDATE entities SET links = links + 5", "entity links"),
        ("UPDATE sessions SET turns = 9", "session log"),
        ("DELETE FROM memory_times", "named times"),
        ("INSERT INTO memory_times VALUES (1, 2, 5, 6)", "named times"),
        ("DELETE FROM memory_labels", "labels"),
        ("INSERT INTO memory_labels VALUES (1, 2, 'tag', 'todd')", "labels"),
    ],
)
def test_the_doctor_finds_damage_and_repairs_it(store_path: str, damage: str, check: str) -> None:
    with fivefold.open(store_path) as engine:
        engine.remember_many([{"content": text, "session_id": "s", "tags": ["farm"]} for text in TEXTS])
        healthy = {hit.memory.id: hit.score for hit in engine.recall("rye flour for Bertil")}
    connection = connect(store_path)
    connection.execute(damage)
    connection.close()
    with fivefold.open(store_path) as engine:
        assert check in failing(engine)
        assert all(finding.ok for finding in engine.doctor(repair=True))
        repaired = {hit.memory.id: hit.score for hit in engine.recall("rye flour for Bertil")}
    assert list(repaired) == list(healthy)
    # Texts embedded in another company differ a little: int8 takes its scale from the whole batch.
    assert repaired == pytest.approx(healthy, abs=5e-2)


@pytest.mark.slow
def test_a_repair_changes_no_answer(sample_path: str, tmp_path: Path) -> None:
    with fivefold.open(sample_path) as source:
        source.export_jsonl(tmp_path / "x.jsonl")
    with fivefold.open(tmp_path / "copy.db") as engine:
        engine.import_jsonl(tmp_path / "x.jsonl")
        questions = ["what's my badge ID?", "where do I live now?", "Bertil"]
        whole = {"rerank.cross_encoder.budget_ms": 0}

        def answers() -> list[list[tuple[str, float]]]:
            """To the full depth, whatever it takes; vectors differ a little with the batch they were made in."""
            return [
                [(hit.memory.id, round(hit.score, 1)) for hit in engine.recall(question, k=3, overrides=whole)]
                for question in questions
            ]

        before = answers()
        entities = engine.stats().entities
        engine.doctor(repair=True)
        assert answers() == before
        assert engine.stats().entities == entities


@pytest.mark.slow
def test_another_embedder_is_an_error_that_names_both(store_path: str) -> None:
    with fivefold.open(store_path) as engine:
        engine.remember(TEXTS[0])
    with pytest.raises(
        fivefold.EmbedderMismatch, match=r"'fivefold-minilm@3', not of 'wordllama@.*reembed\(embedder='wordllama'\)"
    ):
        fivefold.open(store_path, embedder="wordllama")


@pytest.mark.slow
def test_a_pinned_namespace_needs_no_name(store_path: str) -> None:
    with fivefold.open(store_path, embedder="wordllama") as engine:
        engine.remember_many(TEXTS)
    with fivefold.open(store_path) as engine:
        answer = engine.recall("kettle colour")
        assert answer.embedder.startswith("wordllama@")
        assert answer[0].memory.content == TEXTS[0]


@pytest.mark.slow
def test_two_namespaces_of_one_file_may_have_different_models(store_path: str) -> None:
    with (
        fivefold.open(store_path, namespace="a") as one,
        fivefold.open(store_path, namespace="b", embedder="wordllama") as two,
    ):
        one.remember_many(TEXTS)
        two.remember_many(TEXTS)
        assert (one.recall("rye").embedder, two.recall("rye").embedder[:9]) == ("fivefold-minilm@3", "wordllama")


@pytest.mark.slow
def test_reembedding_moves_a_namespace(store_path: str) -> None:
    with fivefold.open(store_path) as engine:
        engine.remember_many([{"content": text, "session_id": "s", "speaker": "user"} for text in TEXTS])
        held = engine.stats().vectors
        assert engine.reembed("wordllama").startswith("wordllama@")
        assert engine.stats().vectors == held
        assert failing(engine) == set()
        assert engine.recall("rye flour")[0].memory.content == TEXTS[1]
        engine.remember("One more after the move")
        assert engine.reembed("minilm") == "minilm@1.0.0"
        assert failing(engine) == set()


@pytest.mark.slow
def test_reembedding_an_empty_namespace_says_what_to_do(engine: Engine) -> None:
    with pytest.raises(fivefold.NotFound, match="open it with embedder='wordllama'"):
        engine.reembed("wordllama")


@pytest.mark.slow
def test_a_killed_reembedding_goes_on_where_it_stopped(store_path: str) -> None:
    """The child stops after its first batch and is killed; the old vectors serve until a second run finishes."""
    texts = [f"{TEXTS[i % 4]} number {i}" for i in range(300)]
    with fivefold.open(store_path) as engine:
        engine.remember_many(texts)
    child = textwrap.dedent(f"""
        import time
        import fivefold, fivefold.writing.rebuild as care
        fill = care.read_texts
        def slow(texts, model, calls=[]):
            calls.append(1)
            if len(calls) == 2:
                print("halfway", flush=True)
                time.sleep(60)
            return fill(texts, model)
        care.read_texts = slow
        fivefold.open({store_path!r}).reembed("wordllama")
    """)
    with subprocess.Popen([sys.executable, "-c", child], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "halfway\n"
        process.send_signal(signal.SIGKILL)
    with fivefold.open(store_path) as engine:
        assert engine.stats().embedder == "fivefold-minilm@3"
        assert engine.recall("rye flour number 1")[0].memory.content == texts[1]
        connection = connect(store_path)
        done = connection.execute(
            "SELECT count(*) FROM vectors v JOIN spaces s ON s.key = v.space WHERE s.state = 'building'"
        ).fetchall()[0][0]
        connection.close()
        assert done == 128
        engine.reembed("wordllama")
        assert str(engine.stats().embedder).startswith("wordllama@")
        assert engine.stats().vectors == 300
        assert failing(engine) == set()


@pytest.mark.slow
def test_writes_during_a_reembedding_are_not_lost(store_path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from fivefold.writing import draft as indexing
    from fivefold.writing import rebuild as care

    with fivefold.open(store_path) as engine:
        engine.remember_many([f"{TEXTS[i % 4]} number {i}" for i in range(10)])
        fill = indexing.read_texts
        written: list[str] = []

        def interrupted(texts: object, model: object) -> object:
            if not written:
                written.append(engine.remember("Written while the vectors were being made").id)
            return fill(texts, model)  # type: ignore[arg-type]

        monkeypatch.setattr(care, "read_texts", interrupted)
        engine.reembed("wordllama")
        assert engine.stats().vectors == 11
        assert engine.recall("written while vectors were made")[0].memory.id == written[0]


# Vocabulary drift: noticed when a namespace comes to talk of other things, and put right with every answer kept.

NOW = datetime(2026, 3, 1, tzinfo=UTC)

KITCHEN = [
    "Bake the rye bread at 220 degrees until the crust is dark",
    "Bertil wants sourdough with caraway for the weekend market",
    "The oven thermostat sticks, so open the door a crack",
    "Knead the dough twice and let it rest under a damp towel",
    "Order flour, yeast and coarse salt from the mill in Falun",
    "Butter goes into the brioche only once the gluten holds",
]
SKY = [
    "Saturn stands high tonight and the rings are wide open",
    "The telescope mount drifts; polar alignment is off by a degree",
    "Clouds ruined the lunar eclipse above the observatory",
    "A comet of magnitude six passes Cassiopeia next month",
    "Collimate the mirror before photographing the Orion nebula",
    "Dark frames remove the amplifier glow of the camera sensor",
]


@pytest.fixture
def kitchen(store_path: str) -> Engine:
    engine = Engine(open_store(store_path), embedder=WordVectors(), clock=lambda: NOW)
    engine.remember_many(KITCHEN)
    return engine


def told(answer: Recall) -> list[tuple[str, float]]:
    return [(hit.memory.id, hit.score) for hit in answer]


def test_the_first_look_has_nothing_to_compare_with(kitchen: Engine) -> None:
    assert kitchen.stats().drift is None
    first = kitchen.check_drift()
    assert first == Drift(NOW, len(kitchen.store.reader("default").search.vocabulary(5_000)), None, reindexed=False)
    assert kitchen.stats().drift == first


def test_talk_that_stays_is_not_indexed_anew(kitchen: Engine) -> None:
    kitchen.check_drift()
    kitchen.remember("Bake the rye bread again tomorrow, and order flour from the mill")
    found = kitchen.check_drift()
    assert found.jaccard is not None
    assert rebuild.MIN_JACCARD <= found.jaccard < 1
    assert not found.reindexed


def test_talk_that_changes_wholly_is_indexed_anew(kitchen: Engine) -> None:
    stored = [memory.id for memory, _ in kitchen.store.reader("default").memories.scan()]
    kitchen.check_drift()
    kitchen.remember_many(SKY)
    for id in stored:
        kitchen.forget(id)
    found = kitchen.check_drift()
    assert found.reindexed
    assert found.jaccard is not None
    assert found.jaccard < 0.1
    assert kitchen.stats().drift == found
    again = kitchen.check_drift()
    assert (again.jaccard, again.reindexed) == (1.0, False)


@pytest.mark.slow
def test_indexing_anew_changes_no_answer(store_path: str) -> None:
    engine = Engine(open_store(store_path), embedder=WordVectors(), clock=lambda: NOW)
    engine.remember_many(KITCHEN)
    engine.check_drift()
    engine.remember_many(sample.memories())
    recipes = [steady("lexical"), steady("default")]
    asked = [question.query for question in sample.questions()][:25]
    before = [told(engine.recall(text, recipe=recipe)) for text in asked for recipe in recipes]
    words = engine.store.reader("default").search.vocabulary(5_000)
    assert engine.check_drift().reindexed
    assert [told(engine.recall(text, recipe=recipe)) for text in asked for recipe in recipes] == before
    assert engine.store.reader("default").search.vocabulary(5_000) == words
    assert all(finding.ok for finding in engine.doctor())


def test_lexemes_come_by_how_many_memories_hold_them_then_by_themselves(store_path: str) -> None:
    engine = Engine(open_store(store_path), embedder=WordVectors())
    dated = {"event_at": "2025-01-06T09:00:00Z"}
    texts = ["zebra apple", "zebra apple apple", "zebra mango", "kiwi"]
    engine.remember_many([{"content": text, "session_id": "s", **dated} for text in texts])
    fruit = [word for word in engine.store.reader("default").search.vocabulary(100) if word in " ".join(texts)]
    assert fruit == ["zebra", "appl", "kiwi", "mango"]
    assert (
        engine.store.reader("default").search.vocabulary(2) == engine.store.reader("default").search.vocabulary(100)[:2]
    )


def test_what_is_kept_of_a_look_holds_no_word(kitchen: Engine) -> None:
    kitchen.check_drift()
    kept = kitchen.store.reader("default").admin.learned_value(VOCABULARY)
    assert kept is not None
    words = kitchen.store.reader("default").search.vocabulary(5_000)
    assert len(words) > 30
    assert not [word for word in words if len(word) > 4 and word in str(kept)]


def test_a_namespace_that_is_not_there_is_not_made(store_path: str) -> None:
    engine = Engine(open_store(store_path), clock=lambda: NOW)
    assert engine.check_drift() == Drift(NOW, 0, None, reindexed=False)
    assert engine.store.namespaces() == ()


def test_an_empty_namespace_stays_as_it_is(kitchen: Engine) -> None:
    for memory, _ in kitchen.store.reader("default").memories.scan():
        kitchen.forget(memory.id)
    assert [kitchen.check_drift().jaccard for _ in range(2)] == [None, 1.0]


def test_a_look_is_dated_by_the_clock(store_path: str) -> None:
    moments = iter(NOW + timedelta(days=day) for day in range(100))
    engine = Engine(open_store(store_path), embedder=WordVectors(), clock=lambda: next(moments))
    engine.remember("tea")
    first, second = engine.check_drift(), engine.check_drift()
    assert NOW < first.checked_at < second.checked_at
    shown = engine.stats().to_dict()["drift"]
    assert shown == {
        "checked_at": second.to_dict()["checked_at"],
        "lexemes": second.lexemes,
        "jaccard": 1.0,
        "reindexed": False,
    }


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [("", "", 1.0), ("a", "", 0.0), ("ab", "bc", 1 / 3), ("abc", "abc", 1.0), ("abcdefg", "abcdefghij", 0.7)],
)
def test_jaccard_by_hand(one: str, other: str, alike: float) -> None:
    assert rebuild.jaccard({c.encode() for c in one}, {c.encode() for c in other}) == pytest.approx(alike)
