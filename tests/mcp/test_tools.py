"""Every tool, by the SDK's client and in every way in: typed results, and words within the budget."""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from fivefold.mcp.tools import KnownFacts, SessionLog
from fivefold.retrieval.prompt import Context
from fivefold.retrieval.prompt_block import OPENING
from fivefold.service.responses import DeletedNamespace, ForgottenMemory, Namespaces
from fivefold.text.passages import tokens
from fivefold.values.explain import NOT_FOUND
from fivefold.values.fields import schema_of
from fivefold.values.recall import Recall
from fivefold.values.reports import HealthReport, Report, Stats
from tests.support.mcp_client import RECORDS, Talk, text_of

READING = {"recall", "explain", "sessions", "known", "stats", "health", "namespaces"}
GIVES = {
    "remember": Report,
    "remember_messages": Report,
    "recall": Context,
    "explain": Recall,
    "forget": ForgottenMemory,
    "sessions": SessionLog,
    "known": KnownFacts,
    "stats": Stats,
    "health": HealthReport,
    "namespaces": Namespaces,
    "delete_namespace": DeletedNamespace,
}
EXAMPLES: dict[str, list[dict[str, Any]]] = {
    "remember": [
        {"content": "The plumber comes on Tuesday"},
        {
            "content": "I take my tea without milk",
            "speaker": "user",
            "session_id": "monday",
            "tags": ["tea"],
            "event_at": "2025-01-06T09:05Z",
            "type": "preference",
            "importance": 0.7,
            "expires_at": "2035-01-06T09:05Z",
            "pinned": True,
            "id": "tea",
        },
        {"content": "I live in Bristol now", "supersedes": "home"},
    ],
    "remember_messages": [
        {
            "session_id": "phone",
            "messages": [
                {"role": "user", "content": "The plumber is called Brannigan"},
                {"role": "assistant", "content": [{"type": "text", "text": "Noted."}]},
            ],
        }
    ],
    "recall": [
        {"question": "what is my badge ID?"},
        {
            "question": "who has the key?",
            "token_budget": 300,
            "k": 2,
            "effort": "low",
            "now": "2025-02-01T00:00Z",
            "session_id": "monday",
            "recent_turns": 2,
            "min_chance": 0.1,
            "filter": "kind:note",
            "ids": True,
        },
    ],
    "explain": [
        {"question": "what is my badge ID?", "k": 2, "recipe": "lexical", "effort": "low", "filter": "kind:turn"}
    ],
    "sessions": [{}, {"session_id": "monday"}, {"limit": 1, "token_budget": 200}],
    "known": [
        {"what": "profile"},
        {"what": "profile", "of": "Okafor"},
        {"what": "agenda", "since": "2025-01-01T00:00Z"},
        {"what": "history", "of": "where do I live"},
        {"what": "changes", "since": "2025-01-01T00:00Z"},
        {"what": "recap", "of": "monday"},
    ],
    "stats": [{}],
    "health": [{}],
    "namespaces": [{}],
    "forget": [{"id": "key"}],
}


def test_tools_are_offered_with_schemas_and_hints(talk: Talk) -> None:
    tools = {tool.name: tool for tool in talk.ask(talk.client.list_tools).tools}
    assert list(tools) == [
        "remember",
        "remember_messages",
        "recall",
        "explain",
        "forget",
        "used",
        "sessions",
        "known",
        "stats",
        "health",
        "namespaces",
        "delete_namespace",
    ]
    for name, tool in tools.items():
        assert tool.title
        assert 50 < len(tool.description or "") < 500
        Draft202012Validator.check_schema(tool.input_schema)
        fields = tool.input_schema["properties"]
        assert list(fields)[-1] == "namespace"
        once = {"namespace", *(tools["recall"].input_schema["properties"] if name == "explain" else ())}
        assert all(field.get("description") or "enum" in field for own, field in fields.items() if own not in once), (
            name
        )
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint == (name in READING)
        if name in READING:  # the other hints are about tools that change something
            assert (tool.annotations.destructive_hint, tool.annotations.idempotent_hint) == (None, None)
            continue
        assert tool.annotations.destructive_hint == (name in ("forget", "delete_namespace"))
        assert tool.annotations.idempotent_hint == (name != "remember")
        assert tool.annotations.open_world_hint is False
    assert {name: tools[name].output_schema for name in GIVES} == {name: schema_of(GIVES[name]) for name in GIVES}


@pytest.mark.parametrize("tool", EXAMPLES)
def test_results_are_what_the_schema_says(talk: Talk, tool: str) -> None:
    (offered,) = [each for each in talk.ask(talk.client.list_tools).tools if each.name == tool]
    assert offered.output_schema is not None
    for given in EXAMPLES[tool]:
        Draft202012Validator(offered.input_schema).validate(given)
        result = talk.call(tool, **given)
        assert not result.is_error, text_of(result)
        Draft202012Validator(offered.output_schema).validate(result.structured_content)
        assert text_of(result)


def test_what_is_remembered_is_recalled_used_and_forgotten(talk: Talk) -> None:
    report = talk.done("remember", content="The boiler was serviced by Brannigan & Sons", speaker="user")
    (id,) = report["stored"]
    found = talk.call("recall", question="who serviced the boiler?", k=3)
    told = found.structured_content
    assert id in [source["id"] for source in told["sources"]]
    assert "Brannigan & Sons" in text_of(found)
    number = next(source["number"] for source in told["sources"] if source["id"] == id)
    before = talk.done("stats")["feedback"]
    noted = talk.done("used", recall_id=told["recall_id"], used=[str(number)])
    assert noted == {"recall_id": told["recall_id"], "used": [id], "not_used": []}
    again = talk.done("used", recall_id=told["recall_id"], used=[f"[{number}]", id])
    assert again["used"] == [id, id]
    assert talk.done("stats")["feedback"] == before + 1
    gone = talk.call("forget", id=id)
    assert gone.structured_content["id"] == id
    assert id in text_of(gone)
    assert talk.call("forget", id=id).is_error
    assert id not in [s["id"] for s in talk.done("recall", question="who serviced the boiler?")["sources"]]


def test_messages_are_remembered_once(talk: Talk) -> None:
    messages = [{"role": "user", "content": "The roofer is called Quill"}, {"role": "system", "content": "Be brief."}]
    first = talk.call("remember_messages", session_id="roof", messages=messages)
    assert text_of(first) == "1 remembered, 0 already known.\nNote: left out of the messages: system messages (1)."
    again = talk.call("remember_messages", session_id="roof", messages=messages)
    assert text_of(again).startswith("0 remembered, 1 already known.")
    for wrong, said in (
        ([{"role": "pilot", "content": "x"}], "message 1: role 'pilot' is unknown"),
        (["x"], "each of messages must be an object, not 'x'"),
        ([], "messages must be a list of 1 to 1,000 objects, not []"),
    ):
        refused = talk.call("remember_messages", session_id="roof", messages=wrong)
        assert refused.is_error
        assert said in text_of(refused)


def test_recall_says_in_one_line_that_nothing_seems_to_answer(talk: Talk) -> None:
    answer = talk.call("recall", question="what is my badge ID?")
    assert all(0 <= source["chance"] <= 1 for source in answer.structured_content["sources"])
    nothing = talk.call("recall", question="what is my badge ID?", min_chance=1)
    assert text_of(nothing) == NOT_FOUND
    assert (nothing.structured_content["found"], nothing.structured_content["sources"]) == (False, [])
    assert "seems to answer: " in text_of(talk.call("explain", question="what is my badge ID?", k=2))


def test_recall_gives_as_many_sources_as_fit_or_at_most_k(talk: Talk) -> None:
    for number in range(14):
        talk.done("remember", content=f"Crate number {number} is in the attic", id=f"crate {number}")
    counts = [
        len(talk.call("recall", question="where are the crates?", **more).structured_content["sources"])
        for more in ({}, {"k": 3}, {"token_budget": 200})
    ]
    assert counts[0] > 10
    assert counts[1] == 3
    assert 0 < counts[2] < counts[0]


def test_a_memory_is_pinned_and_given_an_end(talk: Talk) -> None:
    parcel = "The parcel came on 8 March between nine and ten"
    talk.done("remember", content=parcel, id="parcel", expires_at="2025-03-08T10:00Z")
    talk.done("remember", content="I carry an adrenaline pen", id="pen", pinned=True)
    pinned = talk.done("recall", question="what do I carry?", filter="pinned:yes")
    assert "pen" in [source["id"] for source in pinned["sources"]]
    assert "parcel" not in [
        source["id"] for source in talk.done("recall", question="when did the parcel come?")["sources"]
    ]
    report = text_of(talk.call("health"))
    assert "expired, 1: no longer recalled, and still stored" in report
    assert f"- parcel, expired 2025-03-08 10:00: {parcel}" in report
    refused = talk.call("remember", content="x", expires_at="soon")
    assert "expires_at 'soon' is not an ISO 8601 time" in text_of(refused)


def test_a_filter_says_which_memories_may_answer(talk: Talk) -> None:
    answer = talk.call("recall", question="what is my badge ID?", filter="speaker:assistant", ids=True)
    sources = answer.structured_content["sources"]
    assert "nod" in [source["id"] for source in sources]
    assert {source["speaker"] for source in sources} == {"assistant"}
    assert "filter speaker:assistant" in text_of(talk.call("explain", question="badge?", filter="speaker:assistant"))
    refused = talk.call("recall", question="what is my badge ID?", filter="who:assistant")
    assert refused.is_error
    assert "the fields are type, kind, speaker" in text_of(refused)


def test_a_correction_supersedes_the_memory_it_names(talk: Talk) -> None:
    (old,) = talk.done("remember", content="The gate code is 4411")["stored"]
    made = talk.done("remember", content="The gate code is 5522", supersedes=old)
    assert [(link["source"], link["target"]) for link in made["superseded"]] == [(made["stored"][0], old)]
    best = talk.done("recall", question="what is the gate code?", k=5)
    marked = {source["id"]: source["superseded_by"] for source in best["sources"]}
    assert marked[made["stored"][0]] is None
    assert marked.get(old, made["stored"][0]) == made["stored"][0]
    talk.done("forget", id=old)
    talk.done("forget", id=made["stored"][0])


def test_the_recent_turns_of_a_session_come_along(talk: Talk) -> None:
    told = talk.done("recall", question="who has the spare key?", session_id="monday", recent_turns=2)
    assert [source["recent"] for source in told["sources"]][:2] == [True, True]


def test_ids_are_told_when_asked_for(talk: Talk) -> None:
    given = {"question": "what is my badge ID?", "k": 2}
    with_ids = talk.call("recall", ids=True, **given)
    for source in with_ids.structured_content["sources"]:
        assert f"[{source['number']}] id {source['id']}" in text_of(with_ids)
    assert " id " not in text_of(talk.call("recall", **given))


def test_explain_repeats_itself_and_tells_its_recall(talk: Talk) -> None:
    """Without noise: the trace of the same question is the same."""
    given = {"question": "what is my badge ID?", "recipe": "engram", "now": "2025-02-01T00:00Z", "k": 3}
    first, second = talk.call("explain", **given), talk.call("explain", **given)
    scores = [[hit["score"] for hit in each.structured_content["hits"]] for each in (first, second)]
    assert scores[0] == scores[1]
    assert first.structured_content["id"] in text_of(first)
    top = first.structured_content["hits"][0]["memory"]["id"]
    noted = talk.done("used", recall_id=first.structured_content["id"], used=["1"])
    assert noted["used"] == [top]


def test_sessions_are_listed_page_by_page_and_read_turn_by_turn(talk: Talk) -> None:
    for number in range(3):
        talk.done("remember", content=f"Call number {number}", session_id=f"call {number}", id=f"call {number}")
    seen, cursor = [], None
    while True:
        page = talk.done("sessions", limit=2, cursor=cursor)
        seen += [session["id"] for session in page["items"]]
        assert len(page["items"]) <= 2
        assert page["turns"] == []
        cursor = page["cursor"]
        if cursor is None:
            break
    assert {"monday", "call 0", "call 1", "call 2"} <= set(seen)
    assert len(seen) == len(set(seen))
    turns = talk.done("sessions", session_id="monday")
    assert [turn["content"] for turn in turns["turns"]][:2] == [record["content"] for record in RECORDS[:2]]
    assert (turns["items"], turns["left_out"]) == ([], 0)


def test_parallel_calls_are_all_answered(talk: Talk) -> None:
    calls = [("recall", {"question": "what is my badge ID?", "k": 1}), ("stats", {}), ("sessions", {})] * 4
    calls += [("remember", {"content": f"Parcel {number} has come", "id": f"parcel {number}"}) for number in range(4)]
    answers = talk.together(calls)
    assert len(answers) == len(calls)
    assert not any(answer.is_error for answer in answers)
    assert all(answer.structured_content["sources"][0]["id"] == "badge" for answer in answers[:12:3])
    stored = [answer.structured_content for answer in answers[12:]]
    assert all(report["stored"] or report["merged"] for report in stored)


@pytest.mark.parametrize("budget", [200, 260, 400, 1000])
def test_the_words_keep_to_the_budget_and_say_what_was_cut(talk: Talk, budget: int) -> None:
    for number in range(12):
        content = f"Neighbour number {number} " + "keeps a very long list of what is in the cellar, " * 8
        talk.done("remember", content=content, id=f"neighbour {number}", session_id="cellar")
    question = "what do the neighbours keep in the cellar?"
    found = talk.call("recall", question=question, token_budget=budget, k=12)
    assert tokens(text_of(found)) <= budget
    left = sum(cut["count"] for cut in found.structured_content["cut"])
    assert left + len(found.structured_content["sources"]) == 12
    assert left > 0 or budget == 1_000
    told = f"({left} more did not fit.)" in text_of(found)
    assert told is (left > 0 and OPENING in text_of(found)), "a small block leaves that to the structured answer"
    with_ids = talk.call("recall", question=question, token_budget=budget, k=12, ids=True)
    assert tokens(text_of(with_ids)) <= budget
    trace = talk.call("explain", question=question, token_budget=budget, k=12, recipe="lexical")
    assert tokens(text_of(trace)) <= budget
    assert "Cut to fit: " in text_of(trace)
    whole = trace.structured_content
    assert len(whole["hits"]) == 12
    assert whole["hits"][0]["memory"]["content"].startswith("Neighbour number")
    assert "…" not in whole["hits"][0]["memory"]["content"]
    assert any(route["top"] for route in whole["routes"])
    log = talk.call("sessions", session_id="cellar", token_budget=budget)
    assert tokens(text_of(log)) <= budget
    assert log.structured_content["left_out"] + len(log.structured_content["turns"]) == 12


def test_known_facts_come_without_a_question(talk: Talk) -> None:
    profile = talk.call("known", what="profile")
    facts = profile.structured_content["parts"]["facts"]
    assert len(facts) > 1
    assert all(fact["text"] in text_of(profile) for fact in facts)
    recap = talk.done("known", what="recap", of="monday")
    assert set(recap["parts"]) == {"decisions", "facts", "promises", "questions"}
    for what in ("history", "recap"):
        refused = talk.call("known", what=what)
        assert refused.is_error
        assert text_of(refused).startswith("of is missing")
    assert talk.call("known", what="recap", of="no such talk").is_error
