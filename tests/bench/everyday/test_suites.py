"""The small suites besides the lives."""

from __future__ import annotations

import pytest

from fivefold.errors import InvalidInput
from fivefold_bench.suites import chosen, measure_suites


def test_most_times_are_read_as_a_person_means_them() -> None:
    (figure,) = measure_suites(["times"], ["choose", "report"], "wordllama")
    assert (figure.suite, figure.figure) == ("times", "windows as meant")
    assert figure.n >= 60
    assert figure.value >= 0.75


@pytest.mark.slow
def test_small_stores_answer_what_they_can() -> None:
    never, answered = measure_suites(["absence"], ["choose"], "fivefold-minilm")
    assert (never.figure, answered.figure) == ("recognised", "answered")
    assert never.n >= 20
    assert answered.value >= 0.8


@pytest.mark.slow
def test_the_first_hit_is_mostly_about_the_person_meant() -> None:
    first, three = measure_suites(["who"], ["choose"], "fivefold-minilm")
    assert (first.figure, three.figure) == ("hit@1", "hit@3")
    assert first.n >= 80
    assert first.value >= 0.8
    assert three.value >= 0.94


def test_restatements_are_folded_and_contrasts_kept_apart() -> None:
    folded, apart = measure_suites(["restatements"], ["choose", "report"], "fivefold-minilm")
    assert (folded.figure, apart.figure) == ("folded", "kept apart")
    assert min(folded.n, apart.n) >= 40
    assert folded.value >= 0.8
    assert apart.value >= 0.95


@pytest.mark.slow
def test_questions_in_other_languages_find_english_memories() -> None:
    shares = {
        each.figure: each.value for each in measure_suites(["languages"], ["choose", "report"], "fivefold-minilm")
    }
    assert len(shares) == 12
    assert shares["de over en"] >= 0.75


def test_a_suite_that_is_unknown_is_named() -> None:
    assert chosen(" times , absence") == ["times", "absence"]
    assert chosen(None) == []
    with pytest.raises(InvalidInput, match="'time' is unknown"):
        chosen("time")
