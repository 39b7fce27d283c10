"""Noise and threshold of E6."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fivefold
from fivefold import sample
from fivefold.designs import engram as noise
from fivefold.designs.engram import SETTLED_COSINE, AssociativeOptions, Threshold, attend, threshold
from fivefold.engine import Engine
from fivefold.errors import RerankerError
from fivefold.models.embedders import Matrix, unit
from fivefold.models.rerankers import Reranker
from fivefold.retrieval.protocols import Pool, SearchContext
from fivefold.retrieval.recipe_file import load_recipe
from fivefold.retrieval.routes import ROUTES
from fivefold.retrieval.stages.reading import RERANKED
from fivefold.settings import Settings
from fivefold.stores.interface import Reader
from fivefold.stores.records import VectorSpace
from fivefold.stores.sql.scope import ALL
from fivefold.stores.sqlite.vector_cache import CachedVectors
from fivefold.values.filters import Filter
from fivefold.values.query import Query
from fivefold.values.recall_trace import Candidate, RouteHit, StageNote
from fivefold.values.vectors import Vector, VectorField
from tests.support.readings import read_as
from tests.support.stage_pool import NOW, of, scores, search, stage

# The associative route (E7): it settles, it reads a bounded number of patterns, and it finds what dense misses.

BREAD = [
    "The sourdough starter bubbled over the jar again",
    "I fed the starter rye flour this morning",
    "The loaf came out dense because the dough was cold",
    "Shaped two boules and left them to prove overnight",
    "Scored the crust with a razor before baking",
    "The oven needs the cast iron pot for a good crust",
    "Kneading for ten minutes made the dough smooth",
    "Bulk fermentation took six hours in the warm kitchen",
    "Dusted the banneton with rice flour so nothing sticks",
    "Baked the bread at 240 degrees with steam",
    "The crumb was open and the crust crackled",
    "Swapped half the wheat flour for spelt",
]
REST = [
    "The tram to the office was late again",
    "Quarterly invoices are due on Friday",
    "I renewed my passport at the town hall",
    "The printer on the third floor jams",
    "Sarah reports to Tom in the sales team",
    "We watched a film about whales",
    "My bike has a flat rear tyre",
    "The landlord fixed the boiler",
    "Signed up for the Tuesday chess club",
    "The dentist moved my appointment to noon",
    "Booked train tickets to Lisbon",
    "The cat sleeps on the router",
    "Ran eight kilometres along the river",
    "The meeting about the budget was cancelled",
    "Planted tomatoes on the balcony",
    "Lost my umbrella in the library",
    "The new phone takes better pictures at night",
    "Grandma called about the garden",
    "The wifi password changed last week",
    "Bought blue paint for the hallway",
    "A fox crossed the street at dawn",
    "Practised the violin for an hour",
    "The museum is closed on Mondays",
    "Returned the rented van with a full tank",
]


@pytest.fixture(scope="module")
def kitchen(tmp_path_factory: pytest.TempPathFactory) -> Any:
    import fivefold

    with fivefold.open(tmp_path_factory.mktemp("kitchen") / "m.db") as engine:
        engine.remember_many([{"content": text, "event_at": "2025-05-14T09:00:00Z"} for text in BREAD + REST])
        yield engine


def top(engine: Engine, question: str, route: str, k: int) -> list[str]:
    """The first hits of one route of recipe engram."""
    answer = engine.recall(question, recipe="engram", k=k)
    hits = next(run.hits for run in answer.routes if run.route == route)[:k]
    memories = engine.store.reader("default").memories.fetch([hit.row for hit in hits])
    return [memories[hit.row].content for hit in hits]


@pytest.mark.parametrize(
    ("question", "k"), [("What do I do with a razor?", 5), ("what takes six hours?", 10), ("what bubbled over?", 10)]
)
def test_e7_it_completes_a_cue_to_what_belongs_with_it_where_dense_does_not(
    kitchen: Engine, question: str, k: int
) -> None:
    """The question touches one memory of baking; what is near that memory comes along, though not near the question."""
    dense, associated = (set(top(kitchen, question, route, k)) for route in ("dense", "associative"))
    assert len(associated & set(BREAD)) >= len(dense & set(BREAD)) + 2
    assert (associated - dense) & set(BREAD)


def test_e7_a_cue_that_fits_one_memory_stays_with_it(kitchen: Engine) -> None:
    question = "where did I renew my passport?"
    assert top(kitchen, question, "associative", 1) == ["I renewed my passport at the town hall"]


def test_e7_one_step_of_attention_over_everything_moves_the_ranking() -> None:
    """Two patterns at right angles to a third near the cue: after the update their order follows the third."""
    patterns = unit(np.array([[1.0, 0.0, 0.0], [0.8, 0.6, 0.0], [0.0, 0.1, 1.0]], dtype=np.float32))
    cue = unit(np.array([[0.9, -0.2, 0.38]], dtype=np.float32))[0]
    before, after = patterns @ cue, patterns @ attend(patterns, cue, 16.0)
    assert float(after[1] - before[1]) > 0.2
    assert float(after[2]) < float(before[2])


def test_e7_one_pattern_is_returned_as_it_is() -> None:
    pattern = unit(np.array([[3.0, 4.0]], dtype=np.float32))
    cue = unit(np.array([[1.0, 0.1]], dtype=np.float32))[0]
    assert attend(pattern, cue, 16.0).tolist() == pytest.approx([0.6, 0.8])


def test_e7_an_update_by_hand() -> None:
    """Patterns at right angles, the cue on the first, sharpness ln 3: weights ¾ and ¼, so (3, 1) at unit length."""
    patterns = np.eye(2, dtype=np.float32)
    moved = attend(patterns, np.array([1.0, 0.0], dtype=np.float32), float(np.log(3)))
    assert moved.tolist() == pytest.approx([3 / 10**0.5, 1 / 10**0.5])


@given(seed=st.integers(0, 10_000), sharpness=st.floats(0.1, 1_000), size=st.integers(1, 40))
def test_e7_the_state_stays_at_unit_length_and_energy_falls(seed: int, sharpness: float, size: int) -> None:
    """Whatever the sharpness: no overflow, and a sharp state converges to where an update leaves it."""
    chance = np.random.default_rng(seed)
    patterns = unit(chance.standard_normal((size, 16)).astype(np.float32))
    state = patterns[0]
    for _ in range(20):
        state = attend(patterns, state, sharpness)
        assert float(np.linalg.norm(state)) == pytest.approx(1.0, abs=1e-5)
    if sharpness >= 64:
        assert float(state @ attend(patterns, state, sharpness)) > 1 - 1e-3


class Recording:
    """A reader of one cached field that counts how much each step reads."""

    def __init__(self, matrix: Matrix) -> None:
        self.held = CachedVectors(matrix.shape[1])
        self.held.arrays = self.held.arrays.grown(0, len(matrix))
        rows = np.arange(len(matrix))
        self.held.arrays.put(0, rows, rows, rows * 0, matrix, rows * 0)
        self.held.size = len(matrix)
        self.read: list[int] = []
        self.searched = 0
        self.search = self

    def patterns(self, space: VectorSpace, where: VectorField, vector: Vector, size: int, keep: Filter) -> Matrix:
        found = self.held.patterns(vector, size, ALL)
        self.read.append(len(found))
        return found

    def dense(self, space: VectorSpace, where: VectorField, vector: Vector, depth: int, keep: Filter) -> list[RouteHit]:
        self.searched += 1
        return self.held.search(vector, depth, ALL)


def associate(reader: Recording, cue: Vector, depth: int = 10, **options: Any) -> list[RouteHit]:
    space = VectorSpace(1, "made@1", len(cue))
    search = SearchContext(Query("?", NOW, ()), cast(Reader, reader), Settings(), space, read_as(cue))
    return ROUTES["associative"].search(search, depth, Filter(), AssociativeOptions(**options))


@pytest.fixture(scope="module")
def large() -> Matrix:
    chance = np.random.default_rng(7)
    centres = chance.standard_normal((40, 64))
    return unit((centres[chance.integers(40, size=20_000)] + chance.standard_normal((20_000, 64))).astype(np.float32))


@pytest.mark.parametrize(("patterns", "steps"), [(256, 3), (16, 5), (2, 1)])
def test_e7_among_20_000_vectors_each_step_reads_at_most_its_patterns(large: Matrix, patterns: int, steps: int) -> None:
    reader = Recording(large)
    hits = associate(reader, large[3], patterns=patterns, steps=steps)
    assert 1 <= len(reader.read) <= steps
    assert max(reader.read) <= patterns
    assert reader.searched == 1
    assert len(hits) == 10
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_e7_it_stops_where_it_has_settled(large: Matrix) -> None:
    """A sharp state holds on to the nearest pattern at once and looks no further."""
    reader = Recording(large)
    hits = associate(reader, large[3], sharpness=1_000.0, steps=20)
    assert len(reader.read) < 20
    assert hits[0].row == 3
    assert hits[0].score > SETTLED_COSINE


def test_e7_made_vectors_a_chain_reaches_past_the_cue() -> None:
    """A cluster lies 40° from the cue at its near end and 75° at its far end; a stranger at 60° lies on the other side.

    Dense puts the stranger before the far end. Association settles in the cluster and finds its far end first.
    """
    degrees = [40, 45, 50, 55, 60, 65, 70, 75, -60]
    turned = np.radians(degrees)
    matrix = np.stack([np.cos(turned), np.sin(turned)], axis=1).astype(np.float32)
    cue = np.array([1.0, 0.0], dtype=np.float32)
    reader = Recording(matrix)
    dense = [hit.row for hit in reader.held.search(cue, 6, ALL)]
    associated = [hit.row for hit in associate(reader, cue, depth=8)]
    assert 8 in dense
    assert 7 not in dense
    assert 7 in associated
    assert 8 not in associated


def test_e7_an_empty_namespace_and_one_without_vectors_give_nothing() -> None:
    assert associate(Recording(np.empty((0, 8), np.float32)), np.eye(1, 8, dtype=np.float32)[0]) == []
    search = SearchContext(Query("?", NOW, ()), cast(Reader, None), Settings(), None, None)
    assert ROUTES["associative"].search(search, 5, Filter(), AssociativeOptions()) == []


MANY = [of(row, 0.5) for row in range(400)]


def test_e6_noise_is_the_same_for_the_same_recall() -> None:
    one, again = (scores(stage("noise", MANY, search(recall_id="r1"))) for _ in range(2))
    assert one == again
    assert one != scores(stage("noise", MANY, search(recall_id="r2")))


def test_e6_noise_of_a_memory_does_not_depend_on_the_others() -> None:
    assert scores(stage("noise", MANY[7:9]))[7] == scores(stage("noise", MANY))[7]


def test_e6_noise_has_the_width_it_says() -> None:
    drawn = np.array(list(scores(stage("noise", MANY, sigma=0.02)).values())) - 0.5
    assert abs(float(drawn.mean())) < 0.004
    assert float(drawn.std()) == pytest.approx(0.02, rel=0.15)
    assert len(set(drawn.tolist())) == len(MANY)


def test_e6_no_width_no_noise() -> None:
    quiet = stage("noise", MANY, sigma=0.0)
    assert all(candidate.steps == () for candidate in quiet.candidates)


def test_e6_with_a_seed_only_the_question_matters() -> None:
    def drawn(recall: str, question: str, seed: int) -> dict[int, float]:
        return scores(stage("noise", MANY[:5], search(recall_id=recall, text=question), seed=seed))

    assert drawn("r1", "where?", 3) == drawn("r2", "where?", 3)
    assert drawn("r1", "where?", 3) != drawn("r1", "who?", 3)
    assert drawn("r1", "where?", 3) != drawn("r1", "where?", 4)


def test_e6_noise_tells_what_it_did() -> None:
    step = stage("noise", MANY[:1]).candidates[0].steps[0]
    assert step.why == f"{step.after - step.before:+.4f}, drawn for this recall"


def read(*scores: float) -> list[Candidate]:
    """Candidates with these scores of a cross-encoder."""
    return [of(row, 0.9).with_step(RERANKED, score, "read") for row, score in enumerate(scores)]


def gated(candidates: list[Candidate], judge: str = "local", **constants: float) -> Pool:
    pool = Pool(candidates, judge=judge)
    return threshold(pool, search(lexemes=("xyzzy",)), Threshold(**constants))


def test_E6_the_best_of_what_was_read_decides_whether_anything_is_returned() -> None:
    candidates = [*read(0.2, 0.5), of(9, 0.1)]
    assert gated(candidates, least=0.5).candidates == candidates
    nothing = gated(candidates, least=0.51)
    assert not nothing.candidates
    assert {item.reason for item in nothing.dropped} == {
        "the best memory read has 0.5000, below the minimum score of 0.51"
    }


def test_E6_fused_scores_are_never_compared() -> None:
    candidates = [of(1, 0.001), of(2, 0.002)]
    assert gated(candidates, least=1.0, strange=1_000).candidates == candidates
    assert gated(read(0.1), judge="", least=1.0).candidates


def test_E6_the_threshold_is_of_what_the_cross_encoder_said_and_not_of_noise() -> None:
    raised = read(0.05)[0].with_step("noise", 0.09, "+0.0400")
    lowered = read(0.08)[0].with_step("noise", 0.04, "-0.0400")
    assert not gated([raised], least=0.07).candidates
    assert gated([lowered], least=0.07).candidates == [lowered]


def test_E6_a_cross_encoder_that_fails_at_the_gate_lets_all_through_and_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def away(choice: str) -> Reranker:
        raise RerankerError("the model is away")

    monkeypatch.setattr(noise, "reranker", away)
    monkeypatch.setattr(noise, "search_kinds", lambda plan: {"words": "lexical"})
    pool = gated(read(0.05), strange=2.0)
    assert [candidate.score for candidate in pool.candidates] == [0.05]
    assert pool.notes == (StageNote("threshold", "failed", "RerankerError: the model is away", "local"),)


STORED = ("My badge ID is E-47821", "Freja's birthday is on 3 May", "The boiler was serviced in March")


@pytest.mark.parametrize("question", ["xyzzy plugh frobnicate", "qwerty asdf zxcv", "blorft snargle wibble?"])
def test_E6_a_nonsense_question_gets_nothing_where_the_cross_encoder_judges(tmp_path: Path, question: str) -> None:
    with fivefold.open(tmp_path / "memory.db") as engine:
        engine.remember_many(STORED)
        assert engine.recall("what's my badge ID?", recipe="engram")[0].memory.content == STORED[0]
        nonsense = engine.recall(question, recipe="engram")
    assert not nonsense
    assert not nonsense.found
    assert {item.stage for item in nonsense.dropped} == {"threshold"}


@pytest.mark.parametrize("question", ["Wann hat Freja Geburtstag?", "when did they look after the heating?"])
def test_E6_a_question_without_a_stored_word_is_answered_if_the_best_answers_it(tmp_path: Path, question: str) -> None:
    with fivefold.open(tmp_path / "memory.db") as engine:
        engine.remember_many(STORED)
        assert engine.recall(question, recipe="engram").found


@pytest.mark.slow
def test_E6_the_gate_takes_few_answers_away(sample_engine: Engine) -> None:
    """The questions about the sample year that an answer is expected for."""
    asked = [item for item in sample.questions() if item.relevant]
    empty = [item.query for item in asked if not sample_engine.recall(item.query, recipe="engram", now=item.now).found]
    assert len(empty) <= len(asked) / 20


def test_e6_engram_scales_before_it_adds_noise() -> None:
    recipe = load_recipe("engram")
    names = [spec.name for spec in recipe.rerank]
    assert names.index("cross_encoder") < names.index("episodic") < names.index("scale")
    assert [(spec.name, spec.ids) for spec in recipe.select] == [("noise", ("E6",)), ("threshold", ("E6",))]
    assert recipe.select[0].constants.sigma == 0.02
