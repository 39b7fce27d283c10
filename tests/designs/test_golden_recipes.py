"""Requirements that hold for the store and the face of a recall, each by its id."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

import fivefold
from fivefold.engine import Engine
from fivefold.models.embedders import DEFAULT, embedder
from fivefold.models.rerankers import reranker
from fivefold.retrieval.recipe_file import load_recipe
from fivefold.retrieval.stages.reading import RERANKED
from fivefold.values.serialize import Json
from fivefold.values.times import content_hash
from tests.golden.figures import CHANNELS, DEPTHS, ROUTES, TALK
from tests.support.toy_engine import Toy, toy

# What each source recipe asks for, requirement by requirement, end to end on a store.

UNREAD = {"rerank.cross_encoder.on": False}
"""Without the cross-encoder, whose scores no hand computes; its stage has tests of its own."""

AT: Json = {"event_at": "2025-05-14T09:00:00Z"}


class Words:
    """A text is the sum of its words, each a direction of its own: nearness is the share of words in common."""

    pin = "words@1"
    dimension = 256

    def embed(self, texts: Sequence[str], progress: object = None) -> npt.NDArray[np.float32]:
        rows = np.zeros((len(texts), self.dimension), np.float32)
        for i, text in enumerate(texts):
            for word in re.findall(r"[a-z]+", text.lower()):
                chance = np.random.default_rng(int.from_bytes(content_hash("word", word)[:8]))
                rows[i] += chance.standard_normal(self.dimension).astype(np.float32)
        return rows


@pytest.fixture
def words(store_path: str) -> Iterator[Engine]:
    with fivefold.open(store_path, embedder=Words()) as engine:
        yield engine


def first_of(answer: fivefold.Recall) -> dict[str, list[str]]:
    return {run.route: [top.id for top in run.top] for run in answer.routes}


# Memsense

RAILS = "Rails rust in rain and sleet. " * 9
M1 = [
    ("vec_full", [{"content": "zebra crossing zebra", "id": "it"}]),
    ("vec_user", [{"content": "plain talk", "user_text": "a zebra crossing zebra", "id": "it"}]),
    ("vec_asst", [{"content": "plain talk", "assistant_text": "a zebra crossing zebra", "id": "it"}]),
    (
        "vec_next_user",
        [
            {"content": "plain talk", "speaker": "assistant", "session_id": "s", "id": "it"},
            {"content": "zebra crossing zebra", "speaker": "user", "session_id": "s", "id": "next"},
        ],
    ),
    ("lexical", [{"content": "plain talk", "task_tag": "zebra", "id": "it"}]),
    ("facet_personal_info", [{"content": "My name is zebra crossing zebra. " + RAILS, "id": "it"}]),
    ("facet_preferences", [{"content": "I prefer a zebra crossing zebra. " + RAILS, "id": "it"}]),
    ("facet_events", [{"content": "I visited a zebra crossing zebra. " + RAILS, "id": "it"}]),
]


@pytest.mark.parametrize(("route", "told"), M1, ids=[route for route, _ in M1])
def test_m1_each_route_finds_what_only_its_field_says(words: Engine, route: str, told: list[dict[str, str]]) -> None:
    words.remember_many([{**item, **AT} for item in told])
    words.remember_many([{"content": f"filler {name} of no kind", **AT} for name in ("one", "two", "three", "four")])
    answer = words.recall("zebra crossing", recipe="memsense", overrides={"boosts.session_first.on": False})
    runs = {run.route: {hit.row: hit.score for hit in run.hits} for run in answer.routes}
    row = words.get("it").row
    assert first_of(answer)[route][0] == "it"
    own = "vec_full" if route == "lexical" else route
    others = [name for name in ROUTES if name != route and name.startswith("vec_") and row in runs[name]]
    if route == "lexical":
        assert runs["vec_full"][row] < 0.3
    else:
        assert all(runs[own][row] > runs[name][row] + 0.1 for name in others), runs


def test_m1_there_are_eight_routes_and_again_eight_over_sessions() -> None:
    names = [route.name for route in load_recipe("memsense").routes]
    assert names == [*ROUTES, *(f"{name}_session" for name in ROUTES)]


@pytest.mark.parametrize(("route", "told"), M1, ids=[route for route, _ in M1])
def test_M5_a_session_is_ranked_by_its_sides_and_facets_too(
    words: Engine, route: str, told: list[dict[str, str]]
) -> None:
    words.remember_many([{"session_id": "s", **item, **AT} for item in told])
    words.remember_many([{"content": f"filler {name}", "session_id": name, **AT} for name in ("one", "two")])
    for store in True, False:
        answer = words.recall("zebra crossing", recipe="memsense", overrides={"fusion.store": store})
        hit = next(hit for hit in answer if hit.memory.session_id == "s")
        assert hit.routes[f"{route}_session"] == 1
        if route not in ("vec_full", "lexical"):
            best = {run.route: (run.hits[0].row, run.hits[0].score) for run in answer.routes if run.hits}
            assert best[f"{route}_session"] == (hit.memory.row, best[route][1])


def test_m1_the_next_user_turn_is_put_on_the_one_before_when_it_arrives(words: Engine) -> None:
    words.remember("plain talk", speaker="assistant", session_id="s", id="before", **AT)
    off = {"boosts.session_first.on": False}
    assert not next(run for run in words.recall("zebra", recipe="memsense").routes if run.route == "vec_next_user").hits
    words.remember("zebra crossing", speaker="user", session_id="s", event_at="2025-05-14T09:01:00Z")
    assert first_of(words.recall("zebra", recipe="memsense", overrides=off))["vec_next_user"] == ["before"]


@pytest.mark.parametrize(("k", "depth"), DEPTHS)
def test_m2_each_route_brings_max_max_4k_32_2_40(sample_engine: Engine, k: int, depth: int) -> None:
    assert depth == max(max(4 * k, 32) * 2, 40)
    plan = sample_engine.plan("Kestrel", k=k, recipe="memsense")
    assert {part.depth for part in plan.routes if part.run} == {depth}


def test_m3_every_contribution_is_1_over_15_plus_rank(sample_engine: Engine) -> None:
    answer = sample_engine.recall("what's my badge ID?", recipe="memsense")
    evidence = [item for hit in answer for item in hit.candidate.evidence]
    assert evidence
    assert all(item.contribution == 1 / (15 + item.rank) for item in evidence)
    assert answer.plan.fusion == "rrf k=15 in one statement"


def test_m4_the_stored_quality_adds_a_tenth(words: Engine) -> None:
    words.remember("zebra crossing", id="good", memory_score=1.0, **AT)
    words.remember("zebra crossing too", id="poor", memory_score=0.2, **AT)
    for hit in words.recall("zebra", recipe="memsense"):
        assert hit.final_score == pytest.approx(hit.rrf_score + 0.1 * hit.memory.memory_score)


@pytest.fixture
def talk(words: Engine) -> Engine:
    words.remember_many(TALK)
    return words


def test_m5_m8_sessions_answer_and_carry_their_support(talk: Engine) -> None:
    answer = talk.recall("zebra crossing", recipe="memsense")
    assert [hit.memory.kind for hit in answer] == ["session"]
    hit = answer[0]
    turns = talk.recall("zebra crossing", recipe="memsense", overrides={"unit": "turn"})
    best = max(turns, key=lambda turn: turn.rrf_score)
    assert hit.support is not None
    assert hit.support.session_rrf_score == hit.rrf_score
    assert hit.support.turn_support == pytest.approx(min(0.12, 0.6 * best.rrf_score))
    assert hit.support.supporting_turn_count == 4
    assert hit.support.best_turn_routes == best.routes
    assert hit.final_score == pytest.approx(hit.rrf_score + 0.1 * hit.memory.memory_score + hit.support.turn_support)


def test_m5_m7_without_session_memories_turns_are_ranked_with_their_neighbours(talk: Engine) -> None:
    answer = talk.recall("zebra crossing", recipe="memsense", overrides={"unit": "turn"})
    assert {hit.memory.kind for hit in answer} == {"turn"}
    beside = {hit.memory.id: [memory.id for memory in hit.neighbours] for hit in answer}
    assert beside == {"t0": ["t1"], "t1": ["t0", "t2"], "t2": ["t1", "t3"], "t3": ["t2"]}
    assert "beside" in answer[0].explain()
    skipped = {run.route: run.reason for run in answer.routes if run.status == "skipped"}
    assert skipped["vec_full_session"] == "it finds sessions, but the recipe returns turns only"


def test_M5_M7_a_namespace_may_answer_with_turns_and_their_neighbours(talk: Engine) -> None:
    talk.configure(answer_with="turns")
    answer = talk.recall("zebra crossing", recipe="memsense")
    assert {hit.memory.kind for hit in answer} == {"turn"}
    beside = {hit.memory.id: [memory.id for memory in hit.neighbours] for hit in answer}
    assert beside["t1"] == ["t0", "t2"]
    assert "this namespace answers with turns" in {item.reason for item in answer.dropped}


def test_M5_a_note_is_found_beside_sessions(talk: Engine) -> None:
    talk.remember("zebra crossing", id="note", **AT)
    answer = talk.recall("zebra crossing", recipe="memsense")
    assert {hit.memory.kind for hit in answer} == {"session", "note"}


def test_m8_every_hit_carries_scores_routes_and_the_explanation(talk: Engine) -> None:
    for unit in ("memory", "turn"):
        for hit in talk.recall("zebra crossing", recipe="memsense", overrides={"unit": unit}):
            shown = hit.to_dict()
            assert shown["rrf_score"] == pytest.approx(sum(1 / (15 + rank) for rank in shown["routes"].values()))
            assert shown["final_score"] == hit.final_score
            assert shown["explain"] == hit.explain()
            session = shown["memory"]["kind"] == "session"
            assert (shown["support"] is not None) is session
            if session:
                assert set(shown["support"]) == {
                    "session_rrf_score",
                    "turn_support",
                    "supporting_turn_count",
                    "best_turn_routes",
                }


# the five-stage pipeline


@pytest.fixture
def many(store_path: str) -> Iterator[Engine]:
    with toy(store_path) as engine:
        engine.remember_many([{"content": f"apple number {i}", **AT} for i in range(70)])
        yield engine


def test_f1_f2_fifty_by_vector_and_fifty_by_words(many: Engine) -> None:
    answer = many.recall("apple", k=5, recipe="five-stage")
    assert {run.route: run.found for run in answer.routes} == {"dense": 50, "lexical": 50}


def test_f3_ranks_fused_with_k_60_and_25_go_on(many: Engine) -> None:
    answer = many.recall("apple", k=5, recipe="five-stage")
    assert len(answer.hits) + len(answer.dropped) == 25
    for hit in answer:
        assert hit.rrf_score == pytest.approx(sum(1 / (60 + rank) for rank in hit.routes.values()))


def test_f4_age_fades_the_fused_score(store_path: str) -> None:
    with toy(store_path) as engine:
        engine.remember("apple pie", id="old", event_at="2025-01-01T00:00:00Z")
        engine.remember("apple tart", id="new", event_at="2025-04-01T00:00:00Z")
        answer = engine.recall("apple", recipe="five-stage", now="2025-04-01T00:00:00Z", overrides=UNREAD)
    left = {hit.memory.id: hit.score / hit.rrf_score for hit in answer}
    assert left == pytest.approx({"old": 0.8, "new": 1.0})


# Engram


@pytest.mark.parametrize(("question", "intent", "weights"), CHANNELS)
def test_e1_channel_weights_by_intent(
    sample_engine: Engine, question: str, intent: str, weights: tuple[float, float, float]
) -> None:
    plan = sample_engine.plan(question, recipe="engram")
    found = {part.route: part.weight for part in plan.routes}
    assert sample_engine.understand(question).intent == intent
    assert (found["dense"], found["lexical"], found["graph"]) == pytest.approx(weights)
    assert found["associative"] == 0.5


def test_e2_weighted_ranks_with_k_60(sample_engine: Engine) -> None:
    """w/(60 + rank + 1) with ranks from 0."""
    answer = sample_engine.recall("why does Sarah work on the Kestrel?", recipe="engram", overrides=UNREAD)
    weights = {"dense": 1.0, "lexical": 0.8, "graph": 1.5, "associative": 0.5}
    evidence = [item for hit in answer for item in hit.candidate.evidence]
    assert {item.route for item in evidence} == set(weights)
    for item in evidence:
        assert item.contribution == pytest.approx(weights[item.route] / (60 + (item.rank - 1) + 1))


def test_e3_the_boosts_of_engram_follow_each_other(store_path: str) -> None:
    with toy(store_path) as engine:
        engine.remember("I visited the mill", id="it", type="event", event_at="2025-06-10T12:00:00Z")
        engine.remember("The mill is old", id="fact", type="fact", event_at="2025-01-10T12:00:00Z")
        first = engine.recall("mill", recipe="engram", now="2025-06-11T12:00:00Z", overrides=UNREAD)
        engine.feedback(first, used=["it"])
        answer = engine.recall("the mill yesterday", recipe="engram", now="2025-06-11T12:00:00Z", overrides=UNREAD)
    half_life = next(spec for spec in load_recipe("engram").rerank if spec.name == "episodic").constants.half_life_days
    steps = {step.stage: step for hit in answer if hit.memory.id == "it" for step in hit.candidate.steps}
    assert list(steps) == ["date match", "episodic", "access", "scale", "noise"]
    assert steps["date match"].after == pytest.approx(2 * steps["date match"].before)
    assert steps["episodic"].after == pytest.approx(steps["episodic"].before * 0.5 ** (1 / half_life))
    assert steps["access"].after == pytest.approx(steps["access"].before * (1 + 0.1 * np.log(2)))
    assert steps["scale"].after == 1.0


def test_E3_a_date_that_the_text_names_matches_too(store_path: str) -> None:
    with toy(store_path) as engine:
        engine.remember("the mill opens on 7 May 2023", id="named", type="fact", event_at="2023-01-20T09:00:00Z")
        engine.remember("the mill is closed", id="week", type="fact", event_at="2023-04-30T00:00:00Z")
        engine.remember("the mill is old", id="far", type="fact", event_at="2022-01-20T09:00:00Z")
        answer = engine.recall("mill on 7 May 2023", recipe="engram", now="2023-06-01T12:00:00Z", overrides=UNREAD)
    found = {hit.memory.id: {step.stage: step for step in hit.candidate.steps} for hit in answer}
    factors = {
        id: steps["date match"].after / steps["date match"].before
        for id, steps in found.items()
        if "date match" in steps
    }
    assert factors == pytest.approx({"named": 2.0, "week": 1.5})
    assert found["named"]["date match"].why == "× 2, within '7 May 2023', by its text"


def test_e6_noise_differs_between_recalls_and_can_be_seeded_or_switched_off(sample_engine: Engine) -> None:
    def drawn(**changes: object) -> list[float]:
        answer = sample_engine.recall(
            "Kestrel",
            recipe="engram",
            now="2025-12-01T00:00:00Z",
            overrides={f"select.noise.{name}": value for name, value in changes.items()},
        )
        return [hit.score for hit in answer]

    assert drawn(sigma=0.02) != drawn(sigma=0.02)
    assert drawn(seed=5) == drawn(seed=5)
    assert drawn(on=False) == drawn(sigma=0) == drawn(on=False)


def test_e6_without_a_cross_encoder_the_threshold_drops_nothing(sample_engine: Engine) -> None:
    answer = sample_engine.recall("Kestrel", recipe="engram", overrides={**UNREAD, "select.threshold.least": 1.0})
    assert len(answer) == 10
    assert all(item.stage != "threshold" for item in answer.dropped)


NOTED_AT: Json = {"event_at": "2025-05-14T09:00:00Z"}


@pytest.fixture
def engine(store_path: str) -> Iterator[Engine]:
    with toy(store_path) as opened:
        yield opened


def test_D11_one_number_brings_the_last_turns_along(engine: Engine) -> None:
    engine.remember_many(
        {"content": f"turn {i}", "session_id": "s", "id": f"t{i}", "event_at": f"2025-05-14T09:0{i}:00Z"}
        for i in range(5)
    )
    now = "2025-05-15T00:00:00Z"
    assert [turn.id for turn in engine.recall("lathe", recent_turns=2, now=now).recent] == ["t3", "t4"]
    assert engine.recall("lathe", now=now).recent == ()
    engine.configure(recent_turns=3)
    assert [turn.id for turn in engine.recall("lathe", now=now).recent] == ["t2", "t3", "t4"]


def test_F6_one_file_has_records_with_question_answer_time_tags_and_indexes(tmp_path: Path) -> None:
    with toy(str(tmp_path / "one.db")) as opened:
        opened.remember(
            "Which paint? Oil.", user_text="Which paint?", assistant_text="Oil.", tags=["art"], id="it", **NOTED_AT
        )
    assert [path.name for path in tmp_path.iterdir()] == ["one.db"]
    with toy(str(tmp_path / "one.db")) as opened:
        memory = opened.get("it")
        assert (memory.user_text, memory.assistant_text, memory.tags) == ("Which paint?", "Oil.", ("art",))
        found = {run.route: run.found for run in opened.recall("paint", recipe="five-stage").routes}
    assert found == {"dense": 1, "lexical": 1}
    assert embedder(DEFAULT).dimension == 384


def test_E4_the_cross_encoder_reads_the_best_twenty_by_any_of_the_models(engine: Engine) -> None:
    engine.remember_many({"content": f"apple crate {i}", **NOTED_AT} for i in range(30))
    by = next(stage.constants for stage in load_recipe("engram").rerank if stage.name == "cross_encoder")
    assert (by.model, by.depth) == ("local", 20)
    answer = engine.recall("apple", 30, recipe="engram", overrides={"select.threshold.on": False})
    note = next(note for note in answer.notes if note.stage == RERANKED)
    assert (note.status, note.why.startswith("read the best 20,")) == ("done", True)
    for name in ("voyage:rerank-2.5", "cohere:rerank-v3.5", "jina:jina-reranker-v2-base-multilingual"):
        assert reranker(name).pin == name


def test_E8_the_index_of_the_dense_route_finds_the_nearest_vectors(engine: Engine) -> None:
    engine.configure(find_changes=False, find_repeats=False)
    texts = [f"{'ab' * (i % 7)} crate {chr(97 + i % 26)} {i}" for i in range(120)]
    engine.remember_many({"content": text, "id": f"m{i}", **NOTED_AT} for i, text in enumerate(texts))
    run = engine.recall("crate b", recipe="engram", overrides={"rerank.cross_encoder.on": False}).routes[0]
    space = engine.store.reader(engine.namespace).search.vector_space()
    assert space is not None
    rows = [engine.get(f"m{i}").row for i in range(120)]
    stored = engine.store.reader(engine.namespace).search.vectors(space, rows)
    asked = Toy().embed(["crate b"])[0]
    exact = sorted((float(vector @ asked) for vector in stored.values()), reverse=True)
    assert [hit.score for hit in run.hits] == pytest.approx(exact[:20], abs=1e-5)


def test_R3_vectors_have_unit_length_and_a_namespace_one_model(store_path: str, engine: Engine) -> None:
    engine.remember("apple", id="it", **NOTED_AT)
    search = engine.store.reader(engine.namespace).search
    space = search.vector_space()
    assert space is not None
    vector = search.vectors(space, [engine.get("it").row])[engine.get("it").row]
    assert float(np.linalg.norm(vector)) == pytest.approx(1.0, abs=1e-5)

    class Other(Toy):
        pin = "other@1"

    with pytest.raises(fivefold.EmbedderMismatch, match=r"'toy@1', not of 'other@1'") as error:
        fivefold.open(store_path, embedder=Other())
    assert "reembed" in str(error.value)


def test_R11_the_best_fifty_are_read_again_where_that_is_asked_for(engine: Engine) -> None:
    engine.configure(find_changes=False, find_repeats=False)
    engine.remember_many({"content": f"apple crate {i}", "id": f"a{i}", **NOTED_AT} for i in range(60))
    asked = {"rerank.cross_encoder.effort": "normal"}
    assert "cross_encoder" not in engine.plan("apple crate", recipe="recall").stages
    answer = engine.recall("apple crate", 60, recipe="recall", overrides=asked)
    note = next(note for note in answer.notes if note.stage == RERANKED)
    assert (note.status, note.why.partition(",")[0]) == ("done", "read the best 50")
    judged = [hit for hit in answer if any(step.stage == RERANKED for step in hit.candidate.steps)]
    assert len(judged) == 60, "those that are not read keep their place below, by a step of their own"


def test_R11_a_simple_question_runs_half_of_the_routes(engine: Engine) -> None:
    engine.remember("apple", **NOTED_AT)
    runs = {part.route: part.run for part in engine.plan("yesterday", recipe="recall").routes}
    assert runs == {"dense": True, "lexical": False, "graph": False, "temporal": True}


@pytest.mark.parametrize(
    "word", ["JIRA-9921", "E-47821", "snake_case_name", "ann@example.org", "/etc/hosts.d/x", "Über", "東京"]
)
def test_R4_an_identifier_is_found_whole(engine: Engine, word: str) -> None:
    engine.remember_many({"content": f"note {i} of nothing", **NOTED_AT} for i in range(5))
    engine.remember(f"It is about {word} today", id="it", **NOTED_AT)
    answer = engine.recall(word, 1, recipe="lexical")
    assert [hit.memory.id for hit in answer] == ["it"]
    assert answer.routes[0].found == 1


def test_R4_a_hit_in_the_predicate_weighs_four_times_one_in_the_content(engine: Engine) -> None:
    """Both are of mean length, where BM25 is idf · f · 2.2 / (f + 1.2): once counts as f 4, once as f 1."""
    engine.remember("oak elm fir", predicate="lathe", id="predicate", **NOTED_AT)
    engine.remember("oak elm fir lathe", id="content", **NOTED_AT)
    scores = {one.id: one.places[0].score for one in engine.recall("lathe", recipe="lexical").candidates}
    assert scores["predicate"] / scores["content"] == pytest.approx((4 * 2.2 / 5.2) / (2.2 / 2.2))


def test_R12_nothing_of_another_namespace_is_found(store_path: str) -> None:
    with toy(store_path, "one") as one, toy(store_path, "two") as two:
        one.remember("Sarah keeps the JIRA-9921 lathe", id="secret", session_id="s", speaker="Ann", **NOTED_AT)
        two.remember("a plain note", id="note", **NOTED_AT)
        for name in ("ditto", "memsense", "five-stage", "engram", "recall", "default"):
            answer = two.recall("Sarah JIRA-9921 lathe", 50, recipe=name)
            assert {candidate.id for candidate in answer.candidates} <= {"note"}
        assert two.understand("Sarah").entities == ()
        with pytest.raises(fivefold.NotFound):
            two.get("secret")


@pytest.mark.parametrize("name", ["ditto", "memsense", "five-stage", "engram", "recall", "default"])
def test_N5_what_each_recipe_does_with_what_was_replaced(engine: Engine, name: str) -> None:
    """Only two of them lower it; the docs and `recipes show` say so."""
    engine.remember("The gate code is four", id="old", **NOTED_AT)
    engine.supersede("old", {"content": "The gate code is nine", "id": "new", "event_at": "2025-05-20T09:00:00Z"})
    answer = engine.recall("gate code", recipe=name, now="2025-05-21T09:00:00Z")
    steps = {step.stage for hit in answer if hit.memory.id == "old" for step in hit.candidate.steps}
    assert next(hit for hit in answer if hit.memory.id == "old").memory.superseded_by == "new"
    assert ("superseded" in steps) is (name in {"recall", "default"})


def test_R6_R10_every_constant_of_the_walk_is_in_the_recipe(engine: Engine) -> None:
    engine.remember("Sarah Chen works at Northwind", id="work", **NOTED_AT)
    engine.remember("Northwind is based in Oslo", id="oslo", **NOTED_AT)

    def found(**changes: float) -> dict[str, tuple[float, float]]:
        overrides = {f"routes.graph.{name}": value for name, value in changes.items()}
        answer = engine.recall("Sarah Chen", recipe="recall", overrides=overrides)
        evidence = {hit.memory.id: hit.candidate.evidence for hit in answer}
        graph = {id: [item for item in items if item.route == "graph"] for id, items in evidence.items()}
        return {id: (items[0].score, items[0].weight) for id, items in graph.items() if items}

    assert found()["work"] == pytest.approx((1.0, 1.0))
    plain, halved = found()["oslo"], found(one_hop=0.3)["oslo"]
    assert plain[1] == 0.8
    assert halved[0] == pytest.approx(plain[0] / 2)
    assert found(structural=0.5)["oslo"][0] == pytest.approx(plain[0] / 2)
    assert found(far=0.4)["oslo"][1] == 0.4
