"""Recipes as data: the built-in ones, files of one's own, and a clear word for every mistake."""

from __future__ import annotations

import tempfile
import tomllib
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import fivefold
from fivefold.engine import Engine
from fivefold.errors import InvalidInput, UnknownRecipe
from fivefold.retrieval.recipe import METHODS, RACED, recipe_data
from fivefold.retrieval.recipe_file import at_effort, known_recipes, load_recipe, override, parse_recipe, without_part
from fivefold.retrieval.retrieve import FUSIONS
from fivefold.retrieval.routes import ROUTES
from fivefold.retrieval.stages import STAGES
from fivefold.retrieval.stages.reading import RERANKED
from fivefold.values.recall_trace import EFFORTS
from tests.conformance.vectors import WordVectors
from tests.retrieval.test_pipeline import lawful
from tests.support.fuzzing import value_or_none

PLAIN = """
[[routes]]
name = "dense"
[[routes]]
name = "lexical"
"""


def parsed(text: str) -> fivefold.Recipe:
    return parse_recipe("own", tomllib.loads(text))


# the built-in recipes


@pytest.mark.parametrize("name", known_recipes())
def test_every_built_in_recipe_is_what_its_data_says(name: str) -> None:
    recipe = load_recipe(name)
    assert recipe.name == name
    assert recipe.summary
    assert parse_recipe(name, recipe_data(recipe)) == recipe
    assert recipe.to_dict()["name"] == name


def test_every_raced_recipe_is_built_in() -> None:
    assert set(RACED) <= set(known_recipes())
    assert set(FUSIONS) == set(METHODS)


@pytest.mark.parametrize("name", known_recipes())
def test_every_part_can_be_taken_out_or_its_absence_is_explained(name: str) -> None:
    recipe = load_recipe(name)
    for part in recipe.parts():
        if part == f"routes.{recipe.routes[0].name}" and (name == "ditto" or len(recipe.routes) == 1):
            with pytest.raises(InvalidInput, match=r"exactly one dense route|routes is empty"):
                without_part(recipe, part)
            continue
        without = without_part(recipe, part)
        assert part not in without.parts()
        assert len(without.parts()) == len(recipe.parts()) - 1


def test_the_parts_of_a_recipe_are_named_by_group() -> None:
    assert load_recipe("five-stage").parts() == (
        "routes.dense",
        "routes.lexical",
        "boosts.decay",
        "rerank.cross_encoder",
    )
    assert load_recipe("engram").parts()[-2:] == ("select.noise", "select.threshold")


# mistakes in a file


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('routs = 1\n[[routes]]\nname = "dense"', ": unknown field 'routs'; known are boosts, fusion,"),
        ('[[routes]]\nname = "dense"\ndeep = 3', ": routes[0]: unknown field 'deep'; known are by_intent,"),
        ('[[routes]]\nname = "dense"\ndepth = "far"', ": routes[0].depth must be a whole number from 1 to 4096"),
        ('[[routes]]\nname = "dense"\ndepth = 0', ": routes[0].depth must be a whole number from 1 to 4096, not 0"),
        ('[[routes]]\nname = "dense"\nweight = nan', ": routes[0].weight must be a number from 0 to 1000, not nan"),
        ('[[routes]]\nname = "dense"\nweight = inf', ": routes[0].weight must be a number from 0 to 1000, not inf"),
        ('[[routes]]\nname = "dense"\nweight = -1', ": routes[0].weight must be a number from 0 to 1000, not -1"),
        ('[[routes]]\nname = "dense"\nfield = "ful"', ": routes[0].field 'ful' is unknown; it is one of full,"),
        ('[[routes]]\nname = "sparse"', ": routes[0].name 'sparse' is not a route; known are dense, lexical,"),
        ('[[routes]]\nname = "a"\nsearch = "b"', ": routes[0].search 'b' is not a route; known are dense,"),
        ("[[routes]]\ndepth = 3", ": routes[0].name None is not a route"),
        ('[[routes]]\nsearch = "dense"', ": routes[0].name is missing"),
        ('[[routes]]\nname = "dense"\non = 3', ": routes[0].on must be true or false, not 3"),
        ('[[routes]]\nname = "dense"\nby_intent = { why = "much" }', ": routes[0].by_intent.why must be a number"),
        ('[[routes]]\nname = "dense"\n[[routes]]\nname = "dense"', ": routes has 'dense' twice"),
        ('routes = "dense"', ": routes must be a list of tables, each beginning with [[routes]]"),
        ('[routes]\nname = "dense"', ": routes must be a list of tables, each beginning with [[routes]]"),
        ("routes = []", ": routes is empty; name at least one of dense, lexical,"),
        ('summary = "nothing"', ": routes is empty; name at least one of dense, lexical,"),
        ('[[routes]]\nname = "dense"\non = false', ": routes is empty"),
        (f'unit = "page"\n{PLAIN}', ": unit 'page' is unknown; it is one of memory, turn, session"),
        (f'optimize = "yes"\n{PLAIN}', ": optimize must be true or false, not 'yes'"),
        (f"summary = 3\n{PLAIN}", ": summary must be text, not 3"),
        (f"fusion = 3\n{PLAIN}", ": fusion must be a table, not 3"),
        (f'{PLAIN}[fusion]\nmethod = "sum"', ": fusion.method 'sum' is unknown; it is one of rrf, score-rrf,"),
        (f"{PLAIN}[fusion]\nk = -1", ": fusion.k must be a number from 0 to 10000, not -1"),
        (f"{PLAIN}[fusion]\npool = 5000", ": fusion.pool must be a whole number from 1 to 4096, not 5000"),
        (f"{PLAIN}[fusion]\nkk = 3", ": fusion: unknown field 'kk'; known are ids, k, method,"),
        (f"{PLAIN}[fusion]\nstore = true", ": fusion.store needs a fusion.method that a store can compute: rrf"),
        (f'boosts = ["decay"]\n{PLAIN}', ": boosts must be a list of tables, each beginning with [[boosts]]"),
        (f'{PLAIN}[[boosts]]\nname = "louder"', ": boosts[0].name 'louder' is unknown; it is one of superseded,"),
        (f'{PLAIN}[[boosts]]\nname = "mmr"', ": boosts[0].name 'mmr' is unknown"),
        (f"{PLAIN}[[boosts]]\nfactor = 1", ": boosts[0].name None is unknown"),
        (f'{PLAIN}[[boosts]]\nname = "access"\nshare = 1', ": boosts[0]: unknown field 'share'; known are weight"),
        (
            f'{PLAIN}[[boosts]]\nname = "decay"\nall = {{ curve = "round" }}',
            ": boosts[0].all.curve 'round' is unknown; it is one of none, linear, exponential, gaussian, step",
        ),
        (
            f'{PLAIN}[[boosts]]\nname = "decay"\ntypes = {{ talk = {{ curve = "none" }} }}',
            ": boosts[0].types 'talk' is unknown; it is one of fact,",
        ),
        (
            f'{PLAIN}[[boosts]]\nname = "decay"\ntypes = {{ fact = {{ half_life_days = 0 }} }}',
            ": boosts[0].types.fact.half_life_days must be a number from 1e-06 to 1000000, not 0",
        ),
        (f'{PLAIN}[[boosts]]\nname = "scale"\n[[boosts]]\nname = "scale"', ": boosts has 'scale' twice"),
        (f'{PLAIN}[[select]]\nname = "mmr"\nlam = 2', ": select[0].lam must be a number from 0 to 1, not 2"),
        (f'{PLAIN}[[select]]\nname = "noise"\nids = "E6"', ": select[0].ids must be a list of texts"),
        (
            '[[routes]]\nname = "dense"\n[[routes]]\nname = "recency"',
            ": routes[1] 'recency' needs fusion.method = \"composite\"",
        ),
        (
            '[[routes]]\nname = "lexical"\n[fusion]\nmethod = "composite"\nstore = true',
            ": fusion.method composite scores the candidates of exactly one dense route",
        ),
        (
            '[[routes]]\nname = "recency"\n[fusion]\nmethod = "composite"\nstore = true',
            ": fusion.method composite scores the candidates of exactly one dense route",
        ),
        (
            '[[routes]]\nname = "dense"\n[fusion]\nmethod = "composite"',
            ": fusion.store must be true: a composite is scored in the store",
        ),
        (
            '[[routes]]\nname = "graph"\n[fusion]\nmethod = "rrf"\nstore = true',
            ": routes[0] does not fit: fusion.store takes untyped dense and lexical routes",
        ),
        (
            '[[routes]]\nname = "dense"\ntyped = true\n[fusion]\nmethod = "rrf"\nstore = true',
            ": routes[0] does not fit: fusion.store takes untyped dense and lexical routes",
        ),
    ],
)
def test_a_mistake_names_recipe_part_and_field(text: str, told: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parsed(text)
    assert str(caught.value).startswith(f"recipe 'own'{told}")


def test_a_mistake_is_named_by_its_place_in_the_file_also_after_a_part_that_is_off() -> None:
    text = '[[routes]]\nname = "dense"\non = false\n[[routes]]\nname = "lexical"\n[[routes]]\nname = "recency"'
    with pytest.raises(InvalidInput, match=r"routes\[2\]"):
        parsed(text)


@pytest.mark.parametrize("field", ["name", "search"])
def test_a_route_named_by_a_list_is_a_clear_error(field: str) -> None:
    with pytest.raises(InvalidInput, match=r"recipe 'own': routes\[0\]"):
        parsed(f'[[routes]]\n{field} = ["dense"]')


def test_a_weight_by_intent_is_a_finite_share() -> None:
    for wrong in ("inf", "-1.0"):
        with pytest.raises(InvalidInput, match=r"routes\[0\].by_intent"):
            parsed(f'[[routes]]\nname = "dense"\nby_intent = {{ why = {wrong} }}')


# files


def test_a_recipe_of_ones_own_by_its_path(sample_engine: Engine, tmp_path: Path) -> None:
    path = tmp_path / "words first.toml"
    path.write_text(f'summary = "mine"\n{PLAIN}[[routes]]\nname = "twice"\nsearch = "lexical"\nweight = 2\n')
    for choice in (path, str(path)):
        answer = sample_engine.recall("what's my badge ID?", recipe=choice, k=3)
        assert answer.plan.recipe == "words first"
        assert [run.route for run in answer.routes] == ["dense", "lexical", "twice"]
        assert len(answer) == 3
        lawful(answer)
    assert sample_engine.plan("badge", recipe=path).routes[2].weight == 2.0


def test_a_relative_path_needs_no_ending(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.txt").write_text(PLAIN)
    monkeypatch.chdir(tmp_path)
    assert load_recipe("./mine.txt").name == "mine"


def test_a_missing_file_a_folder_and_an_unknown_name(tmp_path: Path) -> None:
    with pytest.raises(UnknownRecipe, match=r"gone\.toml' cannot be read: No such file"):
        load_recipe(tmp_path / "gone.toml")
    with pytest.raises(UnknownRecipe, match="cannot be read: Is a directory"):
        load_recipe(tmp_path)
    with pytest.raises(
        UnknownRecipe, match=r"unknown recipe 'ditto2'; known are default, dense, ditto, .* or give the path"
    ):
        load_recipe("ditto2")
    with pytest.raises(UnknownRecipe, match="unknown recipe 5"):
        load_recipe(5)  # type: ignore[arg-type]


@pytest.mark.parametrize("content", [b"[[routes]", b"\xff\xfe\x00", b'summary = "\xe9"'])
def test_a_file_that_is_no_toml(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "own.toml"
    path.write_bytes(content)
    with pytest.raises(InvalidInput, match=r"own\.toml' is not valid TOML"):
        load_recipe(path)


@pytest.mark.parametrize("path", ["a\x00b.toml", "\ud800.toml"])
def test_a_path_that_is_none_is_a_clear_error(path: str) -> None:
    with pytest.raises(InvalidInput):
        load_recipe(path)


# Changes of a recipe from Python: what they change, what they leave, and that no value breaks anything.


def test_changes_from_python(sample_engine: Engine) -> None:
    recipe = load_recipe("memsense", {"fusion.k": 30, "routes.lexical.weight": 0.5, "boosts.session_first.on": False})
    assert recipe.fusion.k == 30.0
    assert next(route.weight for route in recipe.routes if route.name == "lexical") == 0.5
    assert "boosts.session_first" not in recipe.parts()
    assert load_recipe("memsense").fusion.k == 15.0
    plain = {"fusion.k": 30, "boosts.decay.on": False, "rerank.cross_encoder.on": False}
    answer = sample_engine.recall("badge", recipe="five-stage", overrides=plain)
    assert answer[0].score == pytest.approx(sum(1 / (30 + rank) for rank in answer[0].routes.values()))


def test_changes_of_nested_constants() -> None:
    recipe = load_recipe("five-stage", {"boosts.decay.types.procedure.curve": "none", "unit": "turn"})
    assert recipe.unit == "turn"
    by = recipe.boosts[0].constants
    assert by.types["procedure"].curve == "none"
    assert (by.all.curve, by.all.half_life_days) == ("exponential", 90.0)
    louder = load_recipe("engram", {"routes.graph.by_intent.who": 3})
    graph = next(route for route in louder.routes if route.name == "graph")
    assert (graph.by_intent["who"], graph.by_intent["why"]) == (3.0, 1.5)


def test_a_change_of_one_constant_leaves_the_others_beside_it() -> None:
    by = load_recipe("five-stage", {"boosts.decay.all.curve": "gaussian"}).boosts[0].constants
    assert (by.all.curve, by.all.half_life_days) == ("gaussian", 90.0)


def test_a_change_of_a_changed_recipe_keeps_the_first() -> None:
    recipe = override(load_recipe("dense", {"fusion.pool": 7}), {"routes.dense.depth": 9})
    assert (recipe.fusion.pool, recipe.routes[0].depth) == (7, 9)


@pytest.mark.parametrize(
    ("path", "told"),
    [
        (
            "routes.sparse.weight",
            "'routes.sparse.weight' changes nothing in recipe 'dense'; its parts are routes.dense",
        ),
        ("routes.dense", "'routes.dense' changes nothing in recipe 'dense'"),
        ("routes", "'routes' changes nothing in recipe 'dense'"),
        ("boosts.decay.on", "'boosts.decay.on' changes nothing in recipe 'dense'"),
        ("fusion", "'fusion' changes nothing; a change begins with routes.NAME, fusion, boosts.NAME"),
        ("name", "'name' changes nothing"),
        ("unit.of", "'unit.of' changes nothing"),
        ("", "'' changes nothing"),
        ("fusion.depth", "recipe 'dense': fusion: unknown field 'depth'"),
        ("fusion.method.of", "'fusion.method.of': 'method' is not a table"),
        ("routes.dense.ids.first", "recipe 'dense': routes[0].ids must be a list of texts"),
    ],
)
def test_a_path_that_changes_nothing_says_so(path: str, told: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        load_recipe("dense", {path: 1})
    assert str(caught.value).startswith(told)


@pytest.mark.parametrize(
    ("path", "value", "told"),
    [
        ("fusion.weights", "learned", 'learned needs fusion.method = "composite"'),
        ("routes.dense.name", "a\nb", "holds a line break"),
        ("routes.dense.name", "x\ud800", "half a surrogate pair"),
        ("routes.dense.name", "x" * 300, "300 characters"),
        ("routes.dense.name", "", "is empty"),
        ("routes.dense.name", "a.b", "must be a name without dots"),
    ],
)
def test_a_change_that_no_recall_could_follow_is_refused(path: str, value: str, told: str) -> None:
    with pytest.raises(InvalidInput, match=told):
        load_recipe("dense", {path: value})


def test_without_a_part_that_is_not_there() -> None:
    with pytest.raises(InvalidInput, match=r"'boosts\.decay\.on' changes nothing in recipe 'dense'"):
        without_part(load_recipe("dense"), "boosts.decay")


values = (
    st.none()
    | st.booleans()
    | st.integers(-5, 200)
    | st.sampled_from([10**30, -(10**400)])
    | st.floats(allow_nan=True, allow_infinity=True)
    | st.text(max_size=4)
    | st.sampled_from([*ROUTES, *STAGES, *METHODS, "turn", "session", "linear", "sessions", "full"])
    | st.lists(st.integers() | st.text(max_size=3), max_size=2)
    | st.dictionaries(st.text(max_size=3), st.integers(), max_size=2)
)


FIELDS = (
    "on weight depth typed search name ids field of curve half_life_days by_intent.why by_intent all.curve all "
    "types.fact.floor lam pool sigma reach x.y"
).split()
OTHERS = "fusion.k fusion.method fusion.store fusion.pool fusion.ids unit optimize summary x".split()


def _paths(recipe: fivefold.Recipe) -> list[str]:
    """Every place of a recipe that a change may name, and some that it may not."""
    return [*(f"{part}.{name}" for part in recipe.parts() for name in FIELDS), *OTHERS]


@pytest.mark.slow
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(name=st.sampled_from(known_recipes()), chance=st.data())
def test_a_change_gives_a_recipe_or_a_clear_error(name: str, chance: st.DataObject) -> None:
    changes: dict[str, Any] = chance.draw(
        st.dictionaries(st.sampled_from(_paths(load_recipe(name))), values, min_size=1, max_size=3)
    )
    try:
        recipe = load_recipe(name, changes)
    except InvalidInput:
        return
    assert parse_recipe(name, recipe_data(recipe)) == recipe


@pytest.mark.slow
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    name=st.sampled_from(known_recipes()),
    unit=st.sampled_from(["memory", "turn", "session"]),
    k=st.integers(1, 20),
    depth=st.integers(1, 300),
    weight=st.floats(0, 5),
    pool=st.integers(1, 200),
)
def test_any_valid_change_answers_by_the_law(
    sample_engine: Engine, name: str, unit: str, k: int, depth: int, weight: float, pool: int
) -> None:
    first = load_recipe(name).routes[0].name
    changes = {f"routes.{first}.depth": depth, f"routes.{first}.weight": weight, "fusion.pool": pool, "unit": unit}
    answer = sample_engine.recall("Who works with Sarah on the Kestrel?", k=k, recipe=name, overrides=changes)
    assert not answer.degraded
    assert len(answer) <= k
    lawful(answer)


# Effort is a change of the recipe that the plan shows.

QUESTION = "what is my resting heart rate?"


@pytest.mark.parametrize("name", known_recipes())
def test_efforts_differ_in_depth_and_in_what_a_model_reads(name: str) -> None:
    low, normal, high = (at_effort(load_recipe(name), effort)[0] for effort in EFFORTS)
    assert normal == load_recipe(name)
    for shallow, usual, deep in zip(low.routes, normal.routes, high.routes, strict=True):
        if ROUTES[usual.search].of_candidates:
            assert shallow.depth == usual.depth == deep.depth
        else:
            assert shallow.depth <= usual.depth <= deep.depth
            assert deep.depth > usual.depth or usual.depth == 4096
    for stage, usual_stage, deep_stage in zip(low.rerank, normal.rerank, high.rerank, strict=True):
        if usual_stage.name == "cross_encoder":
            assert not stage.runs_at("low")
            assert deep_stage.runs_at("high")
            assert deep_stage.constants.depth == 3 * usual_stage.constants.depth
            assert deep_stage.constants.budget_ms == 0


def test_the_plan_and_the_trace_show_it(sample_engine: Engine) -> None:
    plan = sample_engine.plan(QUESTION, effort="low")
    assert (plan.effort, plan.stages) == (
        "low",
        ("additive", "learned", "ended", "standing", "chance", "repeats", "coverage"),
    )
    assert plan.by_effort["routes.dense.depth"] == 40
    answer = sample_engine.recall(QUESTION, effort="low")
    assert answer.plan == plan
    assert "convex over 100, low effort" in answer.explain()
    assert RERANKED not in [note.stage for note in answer.notes]
    usual = sample_engine.plan(QUESTION)
    assert (usual.effort, usual.by_effort) == ("normal", {})
    assert "cross_encoder" not in usual.stages
    assert "cross_encoder" in sample_engine.plan(QUESTION, effort="high").stages
    assert "normal effort" not in sample_engine.recall(QUESTION).explain()


def test_high_effort_has_more_candidates_read(sample_engine: Engine) -> None:
    answer = sample_engine.recall(QUESTION, effort="high", recipe="five-stage")
    note = next(note for note in answer.notes if note.stage == RERANKED)
    assert note.why.startswith("read the best ")
    assert int(note.why.split()[3].rstrip(",")) > load_recipe("five-stage").rerank[0].constants.depth


def test_what_was_changed_for_a_recall_is_what_effort_starts_from(sample_engine: Engine) -> None:
    plan = sample_engine.plan(QUESTION, recipe="lexical", overrides={"routes.lexical.depth": 200}, effort="low")
    assert plan.routes[0].depth == 50


@pytest.mark.parametrize("effort", ["", "LOW", "huge", None, 3])
def test_another_effort_is_refused(effort: object, sample_engine: Engine) -> None:
    with pytest.raises(InvalidInput, match=r"effort .* is unknown; it is one of low, normal, high"):
        sample_engine.recall(QUESTION, effort=effort)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="effort"):
        fivefold.Engine.plan(sample_engine, QUESTION, effort=effort)  # type: ignore[arg-type]


# Generated recipes: each is a recipe that gives its own data again, or an error in plain words.

ODD: st.SearchStrategy[Any] = st.sampled_from(
    [None, True, -1, 10**400, float("nan"), float("inf"), "", "x\x00", [], [1], {}, {"name": {}}]
)
PLACES = ["routes", "fusion", "boosts", "rerank", "select", "unit", "optimize", "summary", "other"]


@given(st.sampled_from(known_recipes()), st.sampled_from(PLACES), st.integers(0, 20), ODD, st.text(max_size=8))
def test_a_spoilt_table_is_a_recipe_or_a_plain_error(name: str, place: str, at: int, value: Any, field: str) -> None:
    table = deepcopy(recipe_data(load_recipe(name)))
    part = table.get(place)
    if isinstance(part, list) and part:
        item = part[at % len(part)]
        item[sorted(item)[at % len(item)] if at % 2 else field] = value
    elif isinstance(part, dict) and at % 2:
        part[sorted(part)[at % len(part)]] = value
    else:
        table[place] = value
    recipe = value_or_none(parse_recipe, "spoilt", table, refusal=InvalidInput)
    assert recipe is None or parse_recipe("spoilt", recipe_data(recipe)) == recipe


@given(st.text(max_size=30) | st.sampled_from(load_recipe("default").parts()).map(lambda part: f"{part}.depth"), ODD)
def test_an_override_is_a_recipe_or_a_plain_error(path: str, value: Any) -> None:
    changed = value_or_none(override, load_recipe("default"), {path: value}, refusal=InvalidInput)
    assert changed is None or changed.routes


@given(st.binary(max_size=80))
def test_a_file_of_any_bytes_is_a_recipe_or_a_plain_error(raw: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mine.toml"
        path.write_bytes(raw)
        recipe = value_or_none(load_recipe, path, refusal=InvalidInput)
        assert recipe is None or recipe.routes


# What a recall may be asked for: the chances of its hits, and the least one that a hit must have.

TEXTS = ("My badge ID is 4471", "I live in Leeds", "I take my tea without milk", "Sarah likes tea with lemon")
RECORDS = [
    {"id": text.split()[-1], "content": text, "event_at": f"2025-01-{day:02}T09:00Z"}
    for day, text in enumerate(TEXTS, 6)
]
"""Each has a day of its own: of two that were said at one time, the one written later counts as the newer."""
ASKED = "what is my badge ID?"
NOW = "2025-02-01T00:00Z"


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with fivefold.open(":memory:") as engine:
        engine.remember_many(RECORDS)
        yield engine


@pytest.mark.parametrize("question", [ASKED, "how do I take my tea?", "what colour is the moon?", "?"])
def test_every_hit_and_the_recall_have_a_chance(engine: Engine, question: str) -> None:
    answer = engine.recall(question, now=NOW)
    assert answer.chance is not None
    chances = [answer.chance, *(hit.chance for hit in answer)]
    assert all(chance is not None and 0 <= chance <= 1 for chance in chances)
    again = engine.recall(question, now=NOW)
    assert [again.chance, *(hit.chance for hit in again)] == chances


def test_the_order_of_writing_changes_no_chance(engine: Engine) -> None:
    with fivefold.open(":memory:") as other:
        other.remember_many(RECORDS[::-1])
        there = {hit.memory.id: hit.chance for hit in other.recall(ASKED, now=NOW)}
    assert there == pytest.approx({hit.memory.id: hit.chance for hit in engine.recall(ASKED, now=NOW)}, abs=1e-5)


def test_in_an_empty_store_nothing_is_found() -> None:
    with fivefold.open(":memory:") as engine:
        answer = engine.recall(ASKED)
    assert (answer.found, answer.chance, len(answer)) == (False, 0.0, 0)
    assert "nothing stored seems to answer: 0 %" in answer.explain()


def test_json_and_the_explanation_have_the_chances(engine: Engine) -> None:
    answer = engine.recall(ASKED, overrides={"select.chance.found": 1.0})
    data = answer.to_dict()
    assert (data["chance"], data["found"]) == (answer.chance, False)
    assert [hit["chance"] for hit in data["hits"]] == [hit.chance for hit in answer]
    assert answer.chance is not None
    assert f"nothing stored seems to answer: {min(99, round(100 * answer.chance))} %" in answer.explain()
    assert all("% that it answers" in hit.explain() for hit in answer)


def test_hits_below_the_least_chance_are_dropped_with_the_reason(engine: Engine) -> None:
    every = engine.recall(ASKED, now=NOW)
    most = max(hit.chance or 0 for hit in every)
    answer = engine.recall(ASKED, min_chance=most, now=NOW)
    assert [hit.chance for hit in answer] == [most]
    assert {item.id: item.stage for item in answer.dropped} == {
        hit.memory.id: "min_chance" for hit in every if hit.memory.id != answer[0].memory.id
    }
    assert len(engine.recall(ASKED, min_chance=0)) == len(every)
    none = engine.recall(ASKED, min_chance=1)
    assert (len(none), none.found) == (0, False)
    assert engine.context(ASKED, min_chance=1).sources == ()


def test_a_least_chance_works_with_any_embedder() -> None:
    with fivefold.open(":memory:", embedder=WordVectors()) as engine:
        engine.remember("My badge ID is 4471")
        assert len(engine.recall(ASKED, min_chance=0)) == 1
        assert len(engine.recall(ASKED, min_chance=1)) == 0


@pytest.mark.parametrize("recipe", [name for name in known_recipes() if name != "default"])
def test_other_recipes_give_no_chances_and_refuse_a_least_one(engine: Engine, recipe: str) -> None:
    answer = engine.recall(ASKED, recipe=recipe)
    assert (answer.chance, answer.found) == (None, bool(answer.hits))
    assert {hit.chance for hit in answer} <= {None}
    assert "seems to answer" not in answer.explain()
    with pytest.raises(InvalidInput, match=f"min_chance needs a recipe .* {recipe!r} does not have; use 'default'"):
        engine.recall(ASKED, recipe=recipe, min_chance=0.5)


@pytest.mark.parametrize("wrong", [-0.1, 1.1, True, "0.5", float("nan")])
def test_a_least_chance_is_a_share(engine: Engine, wrong: object) -> None:
    with pytest.raises(InvalidInput, match="min_chance must be"):
        engine.recall(ASKED, min_chance=wrong)  # type: ignore[arg-type]


def test_without_its_stage_the_default_recipe_gives_no_chance(engine: Engine) -> None:
    assert engine.recall(ASKED, overrides={"select.chance.on": False}).chance is None
    with pytest.raises(InvalidInput, match="stage 'chance'"):
        engine.recall(ASKED, overrides={"select.chance.on": False}, min_chance=0.5)
