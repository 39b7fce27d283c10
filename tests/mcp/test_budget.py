"""Cutting to a budget: never above it, nothing left out without saying so, and no more than needed."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

import fivefold
from fivefold.errors import InvalidInput
from fivefold.mcp import tools as calls
from fivefold.mcp.arguments import Explain, Sessions
from fivefold.mcp.arguments import Recall as Asked
from fivefold.mcp.text import clip, count_fitting, first_lines, fit_trace, trace
from fivefold.mcp.transport import MAX_RECALLS, SourceNumbers
from fivefold.service.service import open_service
from fivefold.service.session import Session
from fivefold.text.passages import tokens
from fivefold.values.access import HERE
from fivefold.values.fields import schema_of
from fivefold.values.recall import Recall

LINES = st.lists(st.text(st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp")), max_size=40), max_size=20)
BUDGETS = st.integers(200, 6_000)


@given(LINES, st.integers(0, 200))
def test_as_many_lines_as_fit_and_not_one_more(lines: list[str], budget: int) -> None:
    kept = count_fitting(lines, budget)
    costs = [tokens(line + "\n") for line in lines]
    assert sum(costs[:kept]) <= budget
    assert kept == len(lines) or sum(costs[: kept + 1]) > budget


@given(LINES, st.integers(2, 200))
def test_a_text_is_whole_or_ends_with_a_sign(lines: list[str], budget: int) -> None:
    text = "\n".join(lines)
    told = first_lines(text, budget)
    assert told == text or told.endswith("…")
    assert tokens(told) <= max(budget, tokens("…"))


@given(st.text(), st.integers(3, 50))
def test_a_clipped_text_fits_and_is_as_long_as_it_can_be(text: str, budget: int) -> None:
    told = clip(text, budget)
    assert tokens(told) <= budget
    assert told == text or tokens(text[: len(told)] + "…") > budget


@pytest.mark.parametrize("sign", ["x", "漢", "🦊"])
def test_long_names_and_dear_scripts_keep_to_the_budget(sign: str, tmp_path: Path) -> None:
    with closing(open_service(str(tmp_path / "names.db"), "wordllama")) as service:
        mem = service.engines.namespace("default")
        session = sign * 200
        for turn in range(3):
            mem.remember(f"{sign * 2_000} {turn}", speaker=sign * 200, session_id=session, id=f"{turn}{sign * 199}")
        numbers = SourceNumbers()
        action = Session(service, HERE, "default").act("recall")
        for budget in (200, 500):
            for asked in (Sessions(token_budget=budget), Sessions(session_id=session, token_budget=budget)):
                assert tokens(calls.sessions(action, numbers, asked).text) <= budget
            for ids in (False, True):
                wanted = Asked(question="which?", token_budget=budget, ids=ids, recent_turns=3, session_id=session)
                assert tokens(calls.recall(action, numbers, wanted).text) <= budget
            assert (
                tokens(calls.explain(action, numbers, Explain(question=sign * 999, token_budget=budget)).text) <= budget
            )


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> list[Recall]:
    """Traces of two recipes, one with texts that do not end, and one without an answer."""
    with fivefold.open(tmp_path_factory.mktemp("cutting") / "flats.db", embedder="wordllama") as mem:
        mem.remember_many(
            {"content": f"Daniel has seen flat number {n}, which has {n} rooms", "session_id": f"visit {n // 3}"}
            for n in range(20)
        )
        ask = "which flat did Daniel see?"
        whole = [mem.recall(ask, k=8, recipe=recipe) for recipe in ("lexical", "engram")]
    long = replace(whole[0], hits=tuple(_longer(hit) for hit in whole[0].hits))
    return [*whole, long, replace(whole[0], hits=())]


def _longer(hit: fivefold.Hit) -> fivefold.Hit:
    memory = replace(hit.memory, content="an endless list, " * 500)
    return replace(hit, candidate=replace(hit.candidate, memory=memory))


@pytest.mark.slow
@settings(max_examples=50, deadline=None)
@given(st.data(), BUDGETS)
def test_a_trace_keeps_to_its_budget_and_says_what_it_lacks(
    traces: list[Recall], data: st.DataObject, budget: int
) -> None:
    whole = data.draw(st.sampled_from(traces))
    short, text = fit_trace(whole, budget, lambda cut: trace(whole.id, cut))
    assert tokens(text) <= budget
    assert ("Cut to fit: " in text) == (short != whole or "the end of this text" in text)
    assert [hit.memory.id for hit in short] == [hit.memory.id for hit in whole][: len(short)]
    if len(short) < len(whole):
        assert f"{len(whole) - len(short)} of {len(whole)} memories" in text
    _valid().validate(short.to_dict())


@cache
def _valid() -> Draft202012Validator:
    return Draft202012Validator(schema_of(Recall))


def test_more_budget_never_tells_less(traces: list[Recall]) -> None:
    for whole in traces:
        told = [len(fit_trace(whole, budget, lambda cut: trace("id", cut))[0]) for budget in range(200, 6_000, 200)]
        assert told == sorted(told)
        assert told[-1] == len(whole)


def test_numbers_stand_for_the_ids_they_were_told_with() -> None:
    numbers = SourceNumbers()
    numbers.record("default", "r", ["a", "b", "1"])
    assert numbers.ids("default", "r", ["2", "[1]", " 2 ", "b", "zz"]) == ["b", "a", "b", "b", "zz"]
    assert numbers.ids("default", "r", ["1"]) == ["1"]  # an id of that name comes first
    assert numbers.ids("other", "r", ["2"]) == ["2"]
    for wrong in ("0", "4", "[99]"):
        with pytest.raises(InvalidInput, match="has 1 to 3"):
            numbers.ids("default", "r", [wrong])


def test_numbers_of_old_recalls_are_given_up() -> None:
    numbers = SourceNumbers()
    assert numbers.lost("default", "0", ["a", "[1]"])
    for number in range(MAX_RECALLS + 1):
        numbers.record("default", str(number), ["a"])
    assert numbers.ids("default", "0", ["1"]) == ["1"]
    assert numbers.lost("default", "0", ["1"])
    assert not numbers.lost("default", "0", ["a"])
    assert not numbers.lost("default", "1", ["1"])
    assert numbers.ids("default", "1", ["1"]) == ["a"]
