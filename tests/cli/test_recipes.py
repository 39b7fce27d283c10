"""`fivefold recipes`, and `--set`: what a recipe is made of can be seen, saved, edited and changed."""

from __future__ import annotations

import dataclasses
import re
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from fivefold.cli.recipe_view import constants, route_constants, to_toml
from fivefold.cli.recipes import overrides_of
from fivefold.retrieval.recipe import Recipe
from fivefold.retrieval.recipe_file import known_recipes, load_recipe, parse_recipe
from tests.support.shell import Command, Small, process

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("warm")]
SESSIONS = [route.name for route in load_recipe("memsense").routes if route.name.endswith("_session")]
BESIDE = [part for name in SESSIONS for part in ("--set", f"routes.{name}.on=false")]
"""Memsense where no session memory is found: the path on which neighbours come along."""


def test_list_names_every_recipe_with_what_it_is_made_of(command: Command) -> None:
    out = command("recipes", "list").out
    assert re.findall(r"^(\S+)$", out, re.MULTILINE) == list(known_recipes())
    assert "routes  vec_full, vec_user, vec_asst, vec_next_user, lexical, facet_personal_info" in out
    assert "fusion  composite\n  stages  0\n" in out
    assert "stages  4: memory_score, session_first, mmr, neighbours" in out


def test_list_as_json_counts_the_stages(command: Command) -> None:
    found = {item["name"]: item for item in command("recipes", "list", "--json").json}
    assert found["memsense"]["stages"] == 4
    assert found["ditto"]["routes"] == ["similarity", "recency", "frequency"]


@pytest.mark.parametrize("name", known_recipes())
def test_show_draws_every_part_with_every_constant_that_does_something(name: str, command: Command) -> None:
    recipe = load_recipe(name)
    out = command("recipes", "show", name).out
    flat = " ".join(re.sub(r"[│├┘┬─▷]", " ", out).split())
    stages = (*recipe.boosts, *recipe.rerank, *recipe.select)
    given = [*map(route_constants, recipe.routes), *(constants(stage.constants) for stage in stages)]
    wanted = {
        key for each in given for key, value in each.items() if value and not (key == "weight" and "alone" in each)
    }
    for key in wanted - {"name", "search", "ids", "by_intent"}:
        assert re.search(rf"\b{key} \S", flat), key
    order = ["question", "understand", "plan", *(route.name for route in recipe.routes), "fuse"]
    order += [stage.name for stage in stages] + ["answer"]
    drawn = re.findall(r"^[ │├┘┬─▷]+(\w+)", out.split("\n\n", 1)[1], re.MULTILINE)
    assert [word for word in drawn if word in order and drawn.count(word) == 1] == [
        word for word in order if drawn.count(word) == 1
    ]
    parts = [part.ids for part in recipe.routes] + [part.ids for part in stages]
    for id in (id for ids in (recipe.fusion.ids, *parts) for id in ids):
        assert re.search(rf" {id}\b", out), id


def test_show_has_the_weights_by_intent_and_a_legend(command: Command) -> None:
    out = command("recipes", "show", "engram").out
    assert "by_intent why × 1.5, when × 0.8, who × 1.8" in out
    assert "requirements of the source systems: E Engram" in out
    assert "D Ditto, M Memsense" not in out


def test_R8_show_says_what_yesterday_means(command: Command) -> None:
    assert "yesterday 24 hours" in command("recipes", "show", "recall").out
    assert "yesterday day" in command("recipes", "show", "default").out


@pytest.mark.parametrize(
    ("name", "letter"), [("ditto", "D"), ("memsense", "M"), ("five-stage", "F"), ("engram", "E"), ("recall", "R")]
)
def test_show_cites_only_the_document_of_the_recipe(name: str, letter: str, command: Command) -> None:
    drawn = command("recipes", "show", name).out.partition("Ids on the right")[0]
    assert {id[0] for id in re.findall(r"\b[DMFER]\d{1,2}\b", drawn)} == {letter}


def test_show_says_whether_a_cross_encoder_replaces_the_score_or_adds_to_it(command: Command) -> None:
    shown = {
        name: " ".join(command("recipes", "show", name).out.replace("│", " ").split()) for name in ("engram", "default")
    }
    assert "Its score in 0..1 replaces the fused one of the best" in shown["engram"]
    assert "+ weight · log-odds that it answers" in shown["default"]
    assert "+ weight · log-odds" not in shown["engram"]
    assert "weight 0.15" not in shown["engram"]
    assert "weight 0.15" in shown["default"]


def test_show_folds_what_is_off(command: Command) -> None:
    out = command("recipes", "show", "engram").out
    flat = " ".join(re.sub(r"[│├┘┬─▷]", " ", out).split())
    assert re.search(r"dense dense, field full, of memories, depth 20, weight 1, (E1 E8 )?3 off", flat)
    assert "typed" not in out


@pytest.mark.parametrize("name", known_recipes())
def test_N5_show_warns_where_no_stage_lowers_what_was_replaced(name: str, command: Command) -> None:
    warned = "A memory that was replaced counts as one that holds" in command("recipes", "show", name).out
    assert warned is (name not in {"recall", "default"})


def test_reranking_is_drawn_listed_and_saved_between_boosts_and_selection(command: Command, tmp_path: Path) -> None:
    given = {
        "routes": [{"name": "lexical"}],
        "boosts": [{"name": "scale"}],
        "rerank": [{"name": "cross_encoder", "weight": 0.4, "ids": ["F5"]}, {"name": "learned"}],
        "select": [{"name": "neighbours"}],
    }
    recipe = parse_recipe("judged", given)
    (tmp_path / "judged.toml").write_text(to_toml(recipe), "utf-8")
    assert load_recipe("judged.toml") == recipe
    out = command("recipes", "show", "judged.toml").out
    drawn = re.findall(r"^  (?:├▷ )?(boost|scale|rerank|cross_encoder|learned|select|neighbours)\b", out, re.MULTILINE)
    assert drawn == ["boost", "scale", "rerank", "cross_encoder", "learned", "select", "neighbours"]
    assert re.search(r"cross_encoder +model local, depth 20, weight 0\.4, .* F5$", out, re.MULTILINE)
    off = command("recipes", "show", "judged.toml", "--set", "rerank.cross_encoder.on=false").out
    assert "cross_encoder" not in off


def test_weights_are_drawn_where_they_count(command: Command) -> None:
    assert "weights learned" in command("recipes", "show", "ditto").out
    assert "weights fixed" in command("recipes", "show", "ditto", "--set", "fusion.weights=fixed").out
    assert "weights fixed" not in command("recipes", "show", "lexical").out


def test_show_draws_what_a_change_makes_of_it(command: Command) -> None:
    out = command("recipes", "show", "engram", "--set", "fusion.k=7", "--set", "select.noise.on=false").out
    assert "method rrf, k 7," in out
    assert "sigma" not in out


@pytest.mark.parametrize("width", [30, 60, 80, 120])
@pytest.mark.parametrize("name", ["memsense", "engram"])
def test_a_drawing_fits_its_terminal_and_has_no_style_in_a_pipe(name: str, width: int, tmp_path: Path) -> None:
    ran = process("recipes", "show", name, folder=str(tmp_path), COLUMNS=str(width))
    assert ran.code == 0, ran.err
    assert max(map(cell_len, ran.out.splitlines())) <= width
    assert "\x1b" not in ran.out
    assert not [line for line in ran.out.splitlines() if line != line.rstrip()]


def test_a_piped_drawing_is_as_wide_as_a_common_terminal(command: Command) -> None:
    assert max(map(cell_len, command("recipes", "show", "memsense").out.split("\n\n", 1)[1].splitlines()[:-1])) <= 80


def test_names_that_are_long_or_would_be_obeyed_are_tamed(tmp_path: Path) -> None:
    name = "routes.dense.name=" + "n" * 199
    ran = process(
        "recipes",
        "show",
        "dense",
        "--set",
        'routes.dense.ids=["\\u001b[31m' + "x" * 99 + '"]',
        "--set",
        name,
        folder=str(tmp_path),
        COLUMNS="80",
    )
    assert ran.code == 0, ran.err
    assert "\x1b" not in ran.out
    assert max(map(cell_len, ran.out.splitlines())) <= 80


@pytest.mark.parametrize("name", known_recipes())
def test_the_printed_file_is_the_same_recipe(name: str, command: Command, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(command("recipes", "show", name, "--toml").out, "utf-8")
    assert dataclasses.replace(load_recipe("./mine.toml"), name=name) == load_recipe(name)


@given(
    summary=st.text(),
    name=st.text(st.characters(exclude_categories=["C", "Z"], exclude_characters="."), min_size=1, max_size=200),
    id=st.text(),
    intent=st.sampled_from(["why", "when", "who", "how", "what"]),
    weight=st.floats(0, 100),
)
def test_any_text_comes_back_from_the_file(summary: str, name: str, id: str, intent: str, weight: float) -> None:
    dense = {"name": name, "search": "dense", "weight": weight, "ids": [id], "by_intent": {intent: weight}}
    recipe = parse_recipe("mine", {"summary": summary, "routes": [dense]})
    written = to_toml(recipe)
    assert all(line.isprintable() for line in written.split("\n"))
    assert parse_recipe("mine", tomllib.loads(written)) == recipe


def test_constants_left_unset_stay_so_in_the_file() -> None:
    text = to_toml(load_recipe("engram"))
    assert "# seed is not set\n" in text
    assert tomllib.loads(text)["select"][0] == {"name": "noise", "sigma": 0.02, "ids": ["E6"]}


def test_toml_and_json_exclude_each_other(command: Command) -> None:
    ran = command("recipes", "show", "dense", "--toml", "--json")
    assert ran.code == 2
    assert "Choose either --toml or --json." in ran.err


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("fusion.k=30", 30),
        (" fusion.k = 0.5 ", 0.5),
        ("optimize=true", True),
        ("fusion.method=rrf", "rrf"),
        ('summary="with = in it"', "with = in it"),
        ("a.types=['event']", ["event"]),
        ("a.all={floor=1}", {"floor": 1}),
        ("summary=two words", "two words"),
        ("summary=2024-01-01", "2024-01-01"),
        ("summary=1\nk=2", "1\nk=2"),
        ("summary=" + "[" * 5000, "[" * 5000),
        ("fusion.k=" + "9" * 5000, "9" * 5000),
    ],
    ids=lambda text: str(text)[:24],
)
def test_values_are_read_as_toml_else_as_text(text: str, value: object) -> None:
    (read,) = overrides_of([text]).values()
    assert read == value
    assert type(read) is type(value)


def test_the_last_of_two_changes_to_the_same_counts() -> None:
    assert overrides_of(["fusion.k=1", "fusion.k=2"]) == {"fusion.k": 2}
    assert overrides_of(None) == {}


def test_recall_and_plan_take_changes_and_paths(small: Small, command: Command, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(to_toml(load_recipe("lexical")), "utf-8")
    told = ("badge", "--store", small.path, "--recipe", "mine.toml", "--set", "routes.lexical.weight=0.25", "--json")
    answer = command("recall", *told, "--trace").json
    assert answer["plan"]["recipe"] == "mine"
    assert answer["hits"][0]["evidence"][0]["weight"] == 0.25
    assert command("plan", *told).json["routes"][0]["weight"] == 0.25


def stages(answer: dict[str, list[dict[str, list[dict[str, str]]]]]) -> set[str]:
    return {step["stage"] for hit in answer["hits"] for step in hit["steps"]}


def test_explain_leaves_noise_out_unless_asked_for_it(small: Small, command: Command) -> None:
    asked = ("badge", "--store", small.path, "--recipe", "engram", "--now", "2025-02-01")
    assert "noise" in stages(command("recall", *asked, "--json", "--trace").json)
    assert "noise" not in stages(command("explain", *asked, "--json").json)
    scores = [[hit["score"] for hit in command("explain", *asked, "--json").json["hits"]] for _ in range(2)]
    assert scores[0] == scores[1]
    again = command("explain", *asked, "--set", "select.noise.sigma=0.5", "--json").json
    assert "noise" in stages(again)
    assert "noise is left out" in command("explain", *asked).out
    assert "noise is left out" not in command("explain", *asked, "--set", "select.noise.on=false").out


def test_a_hit_shows_the_turns_beside_it(small: Small, command: Command) -> None:
    asked = ("badge", "--store", small.path, "-k", "1", "--recipe", "memsense", *BESIDE)
    assert "    nearby  assistant: Noted, the badge is E-47821.\n" in command("recall", *asked, "-v").out
    assert re.search(r"^    beside +Noted, the badge is E-47821\.$", command("explain", *asked).out, re.MULTILINE)


def test_a_session_shows_what_speaks_for_it(small: Small, command: Command) -> None:
    out = command("recall", "badge", "--store", small.path, "-k", "1", "-v", "--recipe", "memsense").out
    assert re.search(r"^    6 Jan 2025 · session monday · ", out, re.MULTILINE)
    assert re.search(r"^    2 turns speak for it, the best is vec_full #\d, ", out, re.MULTILINE)


def test_long_route_names_keep_their_columns(small: Small) -> None:
    ran = process(
        "recall",
        "badge",
        "--store",
        small.path,
        "-v",
        "--recipe",
        "memsense",
        *BESIDE,
        folder=small.folder,
        COLUMNS="80",
    )
    assert max(map(cell_len, ran.out.splitlines())) <= 80
    ranks = [line.index("#") for line in ran.out.split("6 Jan 2025")[1].splitlines() if " #" in line]
    assert len(ranks) > 2
    assert len(set(ranks)) == 1


def test_a_recipe_of_the_library_is_what_show_prints(command: Command) -> None:
    shown = command("recipes", "show", "recall", "--json").json
    assert shown == load_recipe("recall").to_dict()
    assert isinstance(load_recipe("recall"), Recipe)
