"""Generated recipes: each is a recipe that gives its own data again, or an error in plain words."""

from __future__ import annotations

import tempfile
from copy import deepcopy
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from fivefold.errors import InvalidInput
from fivefold.retrieval.recipe import recipe_data
from fivefold.retrieval.recipe_file import known_recipes, load_recipe, override, parse_recipe
from tests.support.fuzzing import value_or_none

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
