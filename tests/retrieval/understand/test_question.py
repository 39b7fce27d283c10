"""What is read out of a question: entities, who 'she' is, types, intents; and that no text breaks it."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import fivefold
from fivefold import sample
from fivefold.engine import Engine
from fivefold.retrieval.understand import entities
from fivefold.text.lexemes import lexemes


@pytest.fixture
def office(engine: Engine) -> Engine:
    engine.remember_many(
        [
            "Sarah Chen sits in the Berlin Office",
            "Tom Okafor owns Kestrel",
            "Sarah Chen reports to Tom Okafor",
            "Sam Whitfield climbs rocks",
            "Sam Osei sells valves for Larkfield Components",
            "JIRA-9921 is about the gasket",
            "Elin is my sister",
            "Elin is married to Marco",
        ]
    )
    return engine


def named(engine: Engine, question: str, context: tuple[str, ...] = ()) -> dict[str, str]:
    return {ref.text: ref.name for ref in engine.understand(question, history=context).entities}


@pytest.mark.parametrize(
    ("question", "text", "name"),
    [
        ("where does Sarah Chen work?", "Sarah Chen", "Sarah Chen"),
        ("where does sarah work?", "sarah", "Sarah Chen"),
        ("what is Sarah's desk like", "Sarah", "Sarah Chen"),
        ("who is in the berlin office", "berlin office", "Berlin Office"),
        ("status of JIRA-9921?", "JIRA-9921", "JIRA-9921"),
        ("and jira-9921", "jira-9921", "JIRA-9921"),
        ("tell me about Larkfield Components.", "Larkfield Components", "Larkfield Components"),
        ("Kestrel", "Kestrel", "Kestrel"),
    ],
)
def test_names_are_resolved(office: Engine, question: str, text: str, name: str) -> None:
    assert named(office, question)[text] == name


def test_a_name_said_again_and_again_is_looked_up_once(office: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []
    monkeypatch.setattr(entities, "lexemes", lambda text: looked.append(text) or lexemes(text))  # type: ignore[func-returns-value]
    once = office.understand("Sarah and a zebra").entities
    looked.clear()
    often = office.understand("Sarah and a zebra " * 60).entities
    assert len(looked) <= 2
    assert len(often) == 60
    assert {ref.meanings for ref in often} == {once[0].meanings}


def test_an_unknown_name_is_no_entity(office: Engine) -> None:
    assert named(office, "where is Zebediah?") == {}


def test_an_ambiguous_name_keeps_all_meanings(office: Engine) -> None:
    (ref,) = office.understand("what did Sam say?").entities
    assert {meaning.name for meaning in ref.meanings} == {"Sam Whitfield", "Sam Osei"}
    assert ref.confidence < 0.7
    assert sum(meaning.confidence for meaning in ref.meanings) <= 1.0


def test_the_words_around_a_name_tell_who_is_meant(office: Engine) -> None:
    valves = next(ref for ref in office.understand("which valves does Sam sell?").entities if ref.text == "Sam")
    rocks = next(ref for ref in office.understand("which rocks does Sam climb?").entities if ref.text == "Sam")
    assert (valves.name, rocks.name) == ("Sam Osei", "Sam Whitfield")


def test_a_relation_word_means_who_it_leads_to(office: Engine) -> None:
    assert named(office, "what does Sarah's boss own?")["Sarah's boss"] == "Tom Okafor"
    assert named(office, "who is my sister married to?")["my sister"] == "Elin"


def test_pronouns_refer_to_the_latest_fitting_name_of_the_context(office: Engine) -> None:
    context = ("I met Sarah Chen today.", "She has news on Kestrel.")
    assert named(office, "what is she working on?", context)["she"] == "Sarah Chen"
    assert named(office, "who owns that project?", ("We talked about Kestrel.",))["that project"] == "Kestrel"
    assert named(office, "who sits there?", ("I was in the Berlin Office.",))["there"] == "Berlin Office"


def test_without_context_nothing_is_guessed(office: Engine) -> None:
    assert named(office, "what is she working on there?") == {}


@pytest.mark.parametrize(
    ("question", "intent"),
    [
        ("why did we move?", "why"),
        ("when did it break?", "when"),
        ("who built the shed?", "who"),
        ("how to reset it", "how"),
        ("colour of the door", "what"),
        ("the reason who left when", "why"),
    ],
)
def test_intents_of_e1(engine: Engine, question: str, intent: str) -> None:
    assert engine.understand(question).intent == intent


def test_several_intents_hold_and_carry_their_words(engine: Engine) -> None:
    cues = {cue.value: cue.text for cue in engine.understand("why did the team leave before lunch?").cues}
    assert cues == {"why": "why", "when": "before", "who": "team"}


@pytest.mark.parametrize(
    ("question", "types"),
    [
        ("which seat do I prefer?", {"preference"}),
        ("what is my default editor?", {"preference"}),
        ("when did I sign it?", {"event"}),
        ("who is Sarah?", {"entity"}),
        ("when did I like it?", {"event", "preference"}),
        ("what's that thing that's like an API?", {"preference"}),
        ("colour of the door", set()),
    ],
)
def test_type_triggers_of_r9(engine: Engine, question: str, types: set[str]) -> None:
    assert {cue.value for cue in engine.understand(question).cues if cue.kind == "type"} == types


def test_since_we_last_talked_reads_the_session_log(engine: Engine) -> None:
    question, now = "what changed since we last talked?", "2025-06-11T12:00:00Z"
    assert engine.understand(question, now=now).window is None
    engine.remember("see you", session_id="s", event_at="2025-06-01T10:00:00Z")
    window = engine.understand(question, now=now).window
    assert window is not None
    assert window.start.isoformat() == "2025-06-01T10:00:00+00:00"


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(question=st.text(max_size=300), context=st.lists(st.text(max_size=60), max_size=3))
def test_no_text_breaks_the_reading(sample_engine: Engine, question: str, context: list[str]) -> None:
    try:
        sample_engine.understand(question, history=context)
    except fivefold.InvalidInput as error:
        assert "question" in str(error) or "history" in str(error)  # noqa: PT017 - both are the caller's


def test_every_sentence_of_the_sample_can_be_asked(sample_engine: Engine) -> None:
    for item in sample.memories():
        sample_engine.understand(item["content"])


def test_ten_thousand_words_can_be_asked(sample_engine: Engine) -> None:
    query = sample_engine.understand("Sarah " + "word " * 10_000)
    assert query.entities[0].name == "Sarah Chen"


def test_the_mixed_question_uses_every_route_and_finds_its_memory(sample_engine: Engine) -> None:
    question = next(item for item in sample.questions() if item.id == "q24")
    answer = sample_engine.recall(question.query, recipe="recall", now=question.now)
    assert {run.route for run in answer.routes if run.status == "hits" and run.found} == {
        "dense",
        "lexical",
        "graph",
        "temporal",
    }
    assert set(question.relevant) <= {hit.memory.id for hit in answer}


def test_explain_marks_the_question(sample_engine: Engine) -> None:
    told = sample_engine.recall("What did Sarah say last week?", now="2025-12-22T09:00:00Z", recipe="recall").explain()
    assert "[Sarah = Sarah Chen]" in told
    assert "[last week = 2025-12-15…2025-12-22]" in told
    assert "graph" in told
    assert "—" in told
