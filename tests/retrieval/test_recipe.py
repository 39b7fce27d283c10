"""Recipes as data: the built-in ones, files of one's own, and a clear word for every mistake."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

import fivefold
from fivefold.engine import Engine
from fivefold.errors import InvalidInput, UnknownRecipe
from fivefold.retrieval.fuse import FORMULAS
from fivefold.retrieval.recipe import METHODS, RACED, recipe_data
from fivefold.retrieval.recipe_file import known_recipes, load_recipe, parse_recipe, without_part
from tests.retrieval.test_pipeline import lawful

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
    assert set(FORMULAS) == set(METHODS)


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
        ('[[routes]]\nname = "sparse"', ": routes[0].name 'sparse' is no route; known are dense, lexical,"),
        ('[[routes]]\nname = "a"\nsearch = "b"', ": routes[0].search 'b' is no route; known are dense,"),
        ("[[routes]]\ndepth = 3", ": routes[0].name None is no route"),
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
    with pytest.raises(InvalidInput, match=r"own\.toml' is no TOML"):
        load_recipe(path)


@pytest.mark.parametrize("path", ["a\x00b.toml", "\ud800.toml"])
def test_a_path_that_is_none_is_a_clear_error(path: str) -> None:
    with pytest.raises(InvalidInput):
        load_recipe(path)
