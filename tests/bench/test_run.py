"""The run: who runs, what is asked, and that nothing but the recipe decides what is found."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from fivefold.errors import InvalidInput, UnknownRecipe
from fivefold.retrieval.recipe import RACED
from fivefold.retrieval.recipe_file import load_recipe
from fivefold_bench import run as run_module
from fivefold_bench.contestants import Contestant, contestants_for, select_questions
from fivefold_bench.data import Dataset, by_session
from fivefold_bench.run import Run, groups, run_by_session, run_contestants

RECIPES = "dense,bm25,recipe:dense,recipe:lexical,default"
DEPTH = 20


def raced(dataset: Dataset, choice: str = RECIPES, jobs: int = 1) -> Run:
    return run_contestants(dataset, contestants_for(choice, {}, dataset.unit)[0], "wordllama", DEPTH, jobs)


def found(run: Run) -> dict[str, dict[str, tuple[str, ...]]]:
    return {contestant.name: run.rankings(contestant.name) for contestant in run.contestants}


# who runs


def test_all_means_the_baselines_and_the_raced_recipes() -> None:
    contestants, notes = contestants_for("all", {}, "turn")
    assert [contestant.name for contestant in contestants] == ["dense", "bm25", *RACED]
    assert [contestant.recipe is None for contestant in contestants] == [True, True, *(False for _ in RACED)]
    assert {contestant.recipe.unit for contestant in contestants if contestant.recipe} == {"turn"}
    assert notes == []


def test_baselines_come_first_and_names_count_once() -> None:
    contestants, _ = contestants_for(" default, bm25,default,recipe:dense", {}, "session")
    assert [contestant.name for contestant in contestants] == ["bm25", "default", "recipe:dense"]
    assert contestants[2].recipe is not None
    assert contestants[2].recipe.name == "dense"


def test_a_file_goes_by_its_name_unless_that_is_taken(tmp_path: Path) -> None:
    for name in ("mine", "default"):
        (tmp_path / f"{name}.toml").write_text('[[routes]]\nname = "lexical"\n', "utf-8")
    contestants, _ = contestants_for(f"{tmp_path}/mine.toml,default,{tmp_path}/default.toml", {}, "turn")
    assert [contestant.name for contestant in contestants] == ["mine", "default", f"{tmp_path}/default.toml"]


def test_a_change_goes_where_it_has_a_place_and_a_note_says_where_not() -> None:
    contestants, notes = contestants_for("recipe:dense,recipe:lexical", {"routes.dense.depth": 7}, "turn")
    assert contestants[0].recipe is not None
    assert contestants[0].recipe.routes[0].depth == 7
    assert notes == ["routes.dense.depth does not apply to recipe:lexical and changed nothing there"]


@pytest.mark.parametrize(
    ("choice", "changes", "told"),
    [
        ("", {}, "recipes is empty"),
        (" , ,", {}, "recipes is empty"),
        ("defualt", {}, "defualt"),
        ("default", {"unit": "turn"}, "cannot change unit"),
        ("bm25", {"fusion.k": 3}, "only baselines are named"),
        ("default", {"routes.nonsense.depth": 3}, "routes.nonsense.depth"),
        ("default", {"fusion.nonsense": 3}, "nonsense"),
        ("default", {"routes.dense.depth": "deep"}, "depth"),
    ],
)
def test_what_cannot_run_is_said(choice: str, changes: dict[str, object], told: str) -> None:
    with pytest.raises(InvalidInput, match=told):
        contestants_for(choice, changes, "turn")


def test_an_unknown_recipe_is_its_own_error() -> None:
    with pytest.raises(UnknownRecipe):
        contestants_for("bm25,nonsense", {}, "turn")


# what is asked


def test_a_limit_takes_the_first_questions(mill: Dataset) -> None:
    asked = select_questions(mill, limit=2)
    assert [question.id for question in asked.questions] == ["q0", "q1"]
    assert "2 of 6 questions, the first" in asked.notes


def test_a_seed_draws_them_and_keeps_their_order(mill: Dataset) -> None:
    drawn = [
        tuple(question.id for question in select_questions(mill, limit=3, seed=seed).questions) for seed in range(8)
    ]
    assert all(list(ids) == sorted(ids) and len(ids) == 3 for ids in drawn)
    assert len(set(drawn)) > 1
    assert drawn[4] == tuple(question.id for question in select_questions(mill, limit=3, seed=4).questions)
    assert select_questions(mill, limit=100, seed=1).questions == tuple(mill.questions)


def test_only_namespaces_that_are_asked_are_kept(mill: Dataset) -> None:
    more = replace(mill, memories={**mill.memories, "idle": []}, plain={**mill.plain, "idle": []})
    assert list(select_questions(more).memories) == list(select_questions(more).plain) == ["mill"]


def test_questions_without_gold_are_left_out_with_a_note(mill: Dataset) -> None:
    bare = replace(mill, questions=[replace(mill.questions[0], relevant=()), *mill.questions[1:]])
    asked = select_questions(bare)
    assert len(asked.questions) == 5
    assert "questions left out because they have no gold: 1" in asked.notes
    with pytest.raises(InvalidInput, match="no question"):
        select_questions(replace(mill, questions=bare.questions[:1]))


def test_turns_can_be_counted_by_session(mill: Dataset) -> None:
    asked = select_questions(mill, unit="session")
    assert asked.unit == "session"
    assert [question.relevant for question in asked.questions[:2]] == [("friday", "monday"), ("monday",)]
    assert {id for id, _ in asked.plain["mill"]} == {"monday", "friday", "sunday"}


def test_sessions_cannot_be_counted_by_turn(mill: Dataset) -> None:
    with pytest.raises(InvalidInput, match="names sessions"):
        select_questions(select_questions(mill, unit="session"), unit="turn")


# the run


def test_every_racer_answers_every_question(mill: Dataset) -> None:
    run = raced(mill)
    ids = [question.id for question in mill.questions]
    for contestant in run.contestants:
        assert [answer.question for answer in run.answers[contestant.name]] == ids
        assert run.rankings(contestant.name)["q4"][0] == "D2:3", contestant.name
        assert all(answer.ms > 0 for answer in run.answers[contestant.name])
    assert run.embedder.startswith("wordllama@")
    assert len(run.encode_ms) == len(ids)
    assert run.notes == ()


def test_only_a_search_by_vectors_encodes(mill: Dataset) -> None:
    run = raced(mill)
    encoded = {
        contestant.name: any(answer.encoded for answer in run.answers[contestant.name])
        for contestant in run.contestants
    }
    assert encoded == {"dense": True, "bm25": False, "recipe:dense": True, "recipe:lexical": False, "default": True}


@pytest.mark.slow
def test_the_number_of_processes_changes_nothing(mill: Dataset) -> None:
    choice = "dense,bm25,recipe:dense,default,engram"
    assert found(raced(mill, choice, jobs=2)) == found(raced(mill, choice))


def in_parts(mill: Dataset) -> Dataset:
    """The eight turns in three namespaces, asked the same questions."""
    spaces = [f"mill{number}" for number in range(3)]
    return replace(
        mill,
        memories=dict.fromkeys(spaces, mill.memories["mill"]),
        plain=dict.fromkeys(spaces, mill.plain["mill"]),
        questions=[
            replace(question, id=f"{space}-{question.id}", namespace=space)
            for question in mill.questions
            for space in spaces
        ],
    )


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_namespaces_asked_group_by_group_are_answered_as_all_at_once(
    mill: Dataset, monkeypatch: pytest.MonkeyPatch, jobs: int
) -> None:
    many, choice = in_parts(mill), "recipe:lexical,default"
    assert len(list(groups(many))) == 1
    whole = raced(many, choice)
    monkeypatch.setattr(run_module, "GROUP", 9)
    assert [list(part.memories) for part in groups(many)] == [["mill0", "mill1"], ["mill2"]]
    parts = raced(many, choice, jobs)
    assert found(parts) == found(whole)
    assert [answer.question for answer in parts.answers["default"]] == [question.id for question in many.questions]


def test_recalls_do_not_influence_each_other(mill: Dataset) -> None:
    alone = found(raced(mill, "default"))["default"]
    backwards = replace(mill, questions=list(reversed(mill.questions)))
    assert found(raced(backwards, "recipe:dense,engram,default"))["default"] == alone


def test_by_session_each_session_is_found_once(mill: Dataset) -> None:
    run = raced(select_questions(mill, unit="session"))
    for rankings in found(run).values():
        for ranking in rankings.values():
            assert len(ranking) == len(set(ranking))
            assert set(ranking) <= {"monday", "friday", "sunday"}
        assert rankings["q5"][0] == "sunday"


def test_a_session_stands_where_its_first_turn_does_however_deep(mill: Dataset) -> None:
    """Turns beyond the depth of the run count for sessions; asked for sessions, the recipes answer the same."""
    both = replace(mill, sessions=by_session(mill))
    contestants = contestants_for(RECIPES, {}, "turn")[0]
    run = run_contestants(both, contestants, "wordllama", 1)
    sessions = run_by_session(run, "wordllama", DEPTH)
    assert sessions.dataset.unit == "session"
    asked = raced(select_questions(mill, unit="session"))
    assert found(sessions) == found(asked)
    first = sessions.answers["default"][0]
    assert len(run.answers["default"][0].ranking) == 1
    assert len(first.ranking) == 3
    assert dict(first.explained).keys() <= {"monday", "friday", "sunday"}


def test_the_texts_of_the_first_hits_come_along(mill: Dataset) -> None:
    texts = {record.id: f"{record.speaker}: {record.content}" for record in mill.memories["mill"]}
    run = raced(mill)
    for contestant in run.contestants:
        for answer in run.answers[contestant.name]:
            assert answer.texts == tuple(texts[id] for id in answer.ranking[:5])


def test_first_hits_and_gold_are_explained_in_brief(mill: Dataset) -> None:
    long = [replace(record, content=f"{record.content} {'and so on ' * 40}") for record in mill.memories["mill"]]
    run = raced(replace(mill, memories={"mill": long}), "default")
    for question, answer in zip(mill.questions, run.answers["default"], strict=True):
        told = dict(answer.explained)
        assert set(answer.ranking[:3]) <= set(told)
        assert set(told) - set(answer.ranking[:3]) <= set(question.relevant)
        assert all("fused" in text and "…" in text and "and so on " * 30 not in text for text in told.values())


def test_a_question_without_a_time_is_asked_when_its_last_memory_came(mill: Dataset) -> None:
    last = datetime(2024, 3, 6, 10, 0, 2, tzinfo=UTC)
    timed = replace(mill, questions=[replace(question, now=last) for question in mill.questions])
    explained = [
        [answer.explained for answer in raced(dataset, "five-stage").answers["five-stage"]] for dataset in (mill, timed)
    ]
    assert explained[0] == explained[1]


def test_a_route_that_fails_is_noted(mill: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    from fivefold.retrieval.routes import ROUTES

    def broken(*_: object) -> None:
        raise OSError("the disk is gone")

    monkeypatch.setattr(ROUTES["lexical"], "search", broken)
    run = run_contestants(mill, [Contestant("mine", load_recipe("lexical"))], "wordllama", DEPTH)
    assert run.notes == ("mine: 6 recalls without all of their routes (lexical failed or late)",)
