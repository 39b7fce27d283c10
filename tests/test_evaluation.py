"""Questions with known answers: read from a life or from lines, asked, and judged; the figures are checked by hand."""

from __future__ import annotations

import json
import lzma
import re
from pathlib import Path
from typing import Any

import pytest

from fivefold.errors import InvalidInput
from fivefold.evaluation import (
    NO_RANK,
    Evaluation,
    Outcome,
    Question,
    calibrate,
    evaluate,
    figures_by_kind,
    outcome,
    overall_figures,
    read_life,
)
from tests.support.everyday_life import life, write_life
from tests.support.shell import Command


def test_other_spellings_are_read(tmp_path: Path) -> None:
    asked = [
        {"q": "Which cat?", "kind": "multi-hop", "expected_ids": ["m5"], "context": ["Rui"]},
        {"q": "Hers?", "kind": "pronoun", "expected": ["m5"], "stale": None},
        {"q": "My shoe size?", "kind": "never-said"},
    ]
    found = read_life(write_life(tmp_path, questions=asked))
    assert [question.category for question in found.questions] == ["multihop", "followup", "never"]


@pytest.mark.parametrize(
    ("place", "change", "message"),
    [
        ("questions", {"kind": "riddle"}, "nuno.json question 1, field kind: 'riddle' is unknown; known are current"),
        ("questions", {"expected": ["m9"]}, "question 1, field expected: 'm9' is not a memory of this life"),
        ("questions", {"stale": ["m4"]}, "question 1, field stale: 'm4' is expected as well; name it once"),
        ("questions", {"kind": "never"}, "field expected: a question of kind never names no memory"),
        ("questions", {"expected": []}, "field expected: a question of kind never names no memory"),
        ("questions", {"q": ""}, "question 1, field q: "),
        ("questions", {"now": "soon"}, "question 1, field now: "),
        ("memories", {"id": "m2"}, "memory 2, field id: 'm2' is already the id of an earlier memory"),
        ("memories", {"event_at": "yesterdayish"}, "memory 1, field event_at: "),
        ("memories", {"content": ""}, "memory 1, field content: "),
    ],
)
def test_faults_are_named_with_their_place(place: str, change: dict[str, Any], message: str, tmp_path: Path) -> None:
    entries: list[dict[str, Any]] = life()[place]
    entries[0] |= change
    with pytest.raises(InvalidInput) as error:
        read_life(write_life(tmp_path, "nuno", **{place: entries}))
    assert message in str(error.value)


@pytest.mark.parametrize("change", [{"now": None}, {"memories": []}, {"questions": []}, {"questions": {}}])
def test_a_life_has_a_time_memories_and_questions(change: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=rf"nuno\.json, field {next(iter(change))}: "):
        read_life(write_life(tmp_path, **change))


def question(kind: str, relevant: str = "", stale: str = "", id: str = "q") -> Question:
    return Question(id, "nuno", "?", tuple(relevant), kind, stale=tuple(stale))


def answered(asked: Question, ranking: str, found: bool | None = None, chances: tuple[float, ...] = ()) -> Outcome:
    return outcome(asked, tuple(ranking), found, chances)


def test_place_share_and_freshness_of_an_answer() -> None:
    found = answered(question("current", "ab", "s"), "xbsya")
    assert (found.rank, found.cover, found.fresh) == (2, 1.0, True)
    assert found.right == (False, True, False, False, True)
    assert answered(question("current", "a", "s"), "xsa").fresh is False
    assert answered(question("current", "a", "s"), "xyz").fresh is False
    assert answered(question("current", "a", "s"), "a").fresh is True
    assert answered(question("list", "abcd"), "axb").cover == 0.5
    assert answered(question("list", "abcd"), "axb").fresh is None
    assert answered(question("list", "z"), "abcdefghijz").rank == NO_RANK


def test_figures_over_all_and_by_kind() -> None:
    outcomes = [
        answered(question("current", "a", "s"), "as", True),
        answered(question("window", "ab"), "xxxa", True),
        answered(question("list", "abcd"), "xab", False),
        answered(question("never"), "xyz", False),
        answered(question("never"), "xyz", True),
    ]
    figures = overall_figures(outcomes)
    assert figures["hit@1"] == pytest.approx(1 / 3)
    assert figures["hit@3"] == pytest.approx(2 / 3)
    assert figures["hit@5"] == 1
    assert (figures["window"], figures["list"], figures["cover"]) == (0.5, 0.5, 0.5)
    assert figures["fresh"] == 1
    assert figures["never"] == 0.5
    assert figures["refused"] == pytest.approx(1 / 3)
    kinds = figures_by_kind(outcomes)
    assert list(kinds) == ["current", "window", "list", "never"]
    assert kinds["window"] == {"n": 1, "hit@1": 0, "hit@3": 0, "hit@5": 1, "hit@10": 1, "cover@10": 0.5}


def test_who_does_not_say_whether_something_was_found_has_no_such_figure() -> None:
    figures = overall_figures([answered(question("past", "a"), "a"), answered(question("never"), "a")])
    assert figures["hit@1"] == 1
    assert figures["never"] is figures["refused"] is figures["fresh"] is figures["window"] is None


def test_chances_are_compared_with_what_was_right() -> None:
    outcomes = [
        answered(question("past", "a"), "abcdef", chances=(0.95, 0.15, 0.12, 0.1, 0.1, 0.9)),
        answered(question("past", "b"), "ab", chances=(0.85, 1.0)),
    ]
    found = calibrate(outcomes)
    assert found is not None
    assert found.hits == 7
    low, high, highest = found.bins
    assert (low.start, low.end, low.n, low.right) == (0.1, 0.2, 4, 0)
    assert (high.n, high.chance, high.right) == (1, 0.85, 0)
    assert (highest.n, highest.right) == (2, 1)
    assert highest.chance == pytest.approx(0.975)
    assert found.error == pytest.approx((0.15 + 0.12 + 0.1 + 0.1 + 0.85 + 2 * 0.025) / 7)
    assert calibrate([answered(question("past", "a"), "a")]) is None


def write_lines(folder: Path, name: str = "nuno.jsonl") -> Path:
    """The life of the support module, a memory or question a line."""
    data = life()
    path = folder / name
    own = {"now": data["now"]}
    entries = [*data["memories"], *({**own, **question} for question in data["questions"])]
    text = "".join(json.dumps(entry) + "\n" for entry in entries)
    path.write_bytes(lzma.compress(text.encode()) if name.endswith(".xz") else text.encode())
    return path


@pytest.mark.parametrize("name", ["nuno.jsonl", "nuno.jsonl.xz"])
def test_lines_are_a_life_too(name: str, tmp_path: Path) -> None:
    assert read_life(write_lines(tmp_path, name)) == read_life(write_life(tmp_path))


def test_a_line_needs_neither_a_kind_nor_a_time(tmp_path: Path) -> None:
    path = tmp_path / "few.jsonl"
    lines = [
        {"q": "Where is the key?", "expected": ["a"]},
        {"id": "a", "content": "The key is under the pot.", "event_at": "2026-01-05T09:00:00Z"},
        {"q": "Who has the car?"},
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    found = read_life(path)
    assert [(question.category, question.relevant) for question in found.questions] == [
        ("other", ("a",)),
        ("never", ()),
    ]
    assert {question.now for question in found.questions} == {found.memories[0].event_at}
    path.write_text(path.read_text("utf-8") + '{"q": "Which?", "expected": ["b"]}\n', "utf-8")
    with pytest.raises(InvalidInput, match=r"few\.jsonl line 4, field expected: 'b' is not a memory of this life"):
        read_life(path)


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory: pytest.TempPathFactory) -> Evaluation:
    asked = [*life()["questions"], {"q": "Where did I live before Braga?", "kind": "current", "expected": ["m5"]}]
    path = write_life(tmp_path_factory.mktemp("life"), questions=asked)
    return evaluate(path, embedder="wordllama")


def test_a_recipe_is_judged_on_questions_of_ones_own(evaluated: Evaluation) -> None:
    assert (evaluated.life, evaluated.recipe, evaluated.questions) == ("nuno", "default", 5)
    assert evaluated.embedder.startswith("wordllama@")
    assert evaluated.by_kind["identifier"]["hit@1"] == 1
    assert sum(each["n"] or 0 for each in evaluated.by_kind.values()) == 5
    assert evaluated.overall["hit@10"] is not None
    assert evaluated.calibration is not None
    assert evaluated.calibration.hits == 5 * 5


def test_what_went_wrong_is_named_the_worst_first(evaluated: Evaluation) -> None:
    missed = {miss.question: miss for miss in evaluated.misses}
    wrong = missed["Where did I live before Braga?"]
    assert wrong.expected == {"m5": "Rui adopted a grey cat called Fado."}
    assert wrong.first is not None
    assert "What is my badge number?" not in missed
    places = [int((re.findall(r"place (\d+)", miss.why) or ["99"])[0]) for miss in evaluated.misses]
    assert places == sorted(places, reverse=True)


def test_the_command_shows_figures_and_misses(command: Command, tmp_path: Path) -> None:
    path = write_lines(tmp_path)
    out = command("evaluate", str(path), "--embedder", "wordllama", "--recipe", "dense").out
    assert re.search(r"^kind of question +n +hit@1 +hit@3 +hit@5 +hit@10 +cover@10", out, re.MULTILINE)
    assert re.search(r"^identifier +1 +1\.000 ", out, re.MULTILINE)
    assert "? What is my blood group?\n  never: nothing answers it, and the answer does not say so\n" in out
    told = command("evaluate", str(path), "--embedder", "wordllama", "--recipe", "dense", "--json").json
    assert list(told) == [
        *("life", "recipe", "embedder", "questions", "overall", "by_kind", "calibration", "misses", "notes")
    ]
    assert told["overall"]["never"] == 0
    assert told["calibration"] is None
    short = command("evaluate", str(path), "--embedder", "wordllama", "--recipe", "dense", "--worst", "0").out
    assert "? " not in short
    assert f"… and {len(told['misses'])} more; --worst shows them" in short


def test_a_fault_of_the_file_is_one_sentence(command: Command, tmp_path: Path) -> None:
    for name, text, told in (
        ("none.jsonl", None, "does not exist"),
        ("bad.jsonl", '{"id": "a", "content": "x"}\n{"q"', "bad.jsonl line 2: not JSON"),
        ("mute.jsonl", '{"id": "a", "content": "x"}\n', "mute.jsonl, field questions: is empty"),
    ):
        if text is not None:
            (tmp_path / name).write_text(text, "utf-8")
        ran = command("evaluate", str(tmp_path / name))
        assert (ran.code, ran.err.count("\n")) == (1, 1)
        assert told in ran.err
