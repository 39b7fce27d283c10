"""What cannot be done is said in plain words, as the result of the tool, and nothing of the inside shows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError

from fivefold.mcp.tools import TOOLS
from tests.support.mcp_client import Talk, text_of

pytestmark = pytest.mark.parametrize("talk", ["within", "http, no handshake"], indirect=True, scope="module")

INSIDE = ("Traceback", "pydantic", "sqlite", "apsw", ".py", "validation error", "NoneType", "https://")

NEEDED: dict[str, dict[str, Any]] = {
    "remember": {"content": "The lamp is green"},
    "recall": {"question": "which colour is the lamp?"},
    "explain": {"question": "which colour is the lamp?"},
    "forget": {"id": "nothing"},
    "used": {"recall_id": "nothing"},
    "sessions": {},
    "known": {"what": "agenda"},
    "stats": {},
    "health": {},
}
WRONG: dict[str, list[object]] = {
    "string": [5, None, ["a"], {"a": "b"}, True],
    "integer": ["many", 1.5, 10**30, -1, [], "١٢٣x"],
    "number": ["much", 7, -1, []],
    "boolean": ["perhaps", 17, []],
    "array": ["one", 5, [5], [None], {"a": 1}],
}
HOSTILE = ["\x00", "a\x00b", "", "   ", "\u200b", "x" * 200_001, "'; DROP TABLE memory; --", "../../etc/passwd"]


def bad(schema: dict[str, Any], given: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    """Arguments that do not fit, and the one that does not."""
    for name, field in schema["properties"].items():
        needed = name in schema.get("required", [])
        for value in WRONG[field["type"]]:
            if value is not None or needed:
                yield {**given, name: value}, name
        if "enum" in field:
            yield {**given, name: "unheard of"}, name
        if needed:
            yield {other: value for other, value in given.items() if other != name}, name
    yield {**given, "surprise": 1}, "surprise"


def plain(text: str) -> bool:
    return bool(text) and len(text) < 2_000 and not any(part in text for part in INSIDE)


@pytest.mark.parametrize("tool", NEEDED)
def test_arguments_that_do_not_fit_are_named_with_what_is_wanted(talk: Talk, tool: str) -> None:
    (offered,) = [each for each in talk.ask(talk.client.list_tools).tools if each.name == tool]
    before = talk.done("stats")["memories"]
    cases = list(bad(offered.input_schema, NEEDED[tool]))
    answers = talk.together([(tool, given) for given, _ in cases])
    for (given, name), answer in zip(cases, answers, strict=True):
        assert answer.is_error, given
        assert name in text_of(answer)
        assert plain(text_of(answer)), text_of(answer)
        assert answer.structured_content is None
    assert talk.done("stats")["memories"] == before


def test_a_call_with_many_faults_costs_no_more_than_one(talk: Talk) -> None:
    """What is wrong a hundred thousand times is said once; to say it each time would keep a thread for minutes."""
    many = talk.call("stats", **{f"surprise {number}": 1 for number in range(50_000)})
    assert text_of(many) == "there is no argument 'surprise 0'; known are namespace"
    wrong = talk.call("used", recall_id="r", used=[5] * 900, not_used=[7] * 900)
    assert text_of(wrong) == "each of used must be text, not 5; each of not_used must be text, not 7"
    assert "used must be a list of at most 1,000 texts" in text_of(talk.call("used", recall_id="r", used=["1"] * 1_001))


@pytest.mark.parametrize("tool", ["recall", "remember", "sessions"])
def test_a_null_is_as_good_as_nothing(talk: Talk, tool: str) -> None:
    (offered,) = [each for each in talk.ask(talk.client.list_tools).tools if each.name == tool]
    nulls = dict.fromkeys(offered.input_schema["properties"])
    assert not talk.call(tool, **{**nulls, **NEEDED[tool]}).is_error


@pytest.mark.parametrize("tool", NEEDED)
def test_hostile_texts_are_refused_or_stored_as_texts(talk: Talk, tool: str) -> None:
    (offered,) = [each for each in talk.ask(talk.client.list_tools).tools if each.name == tool]
    texts = [name for name, field in offered.input_schema["properties"].items() if field["type"] == "string"]
    calls = [(tool, {**NEEDED[tool], name: text}) for name in texts for text in HOSTILE]
    for (_, given), answer in zip(calls, talk.together(calls), strict=True):
        assert not answer.is_error or plain(text_of(answer)), (given, text_of(answer))
    assert not talk.call("stats").is_error


def test_a_recipe_is_a_name_and_never_a_file(talk: Talk, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("recipe") / "mine.toml"
    path.write_text("secret = 'of the file'\n")
    for recipe in (str(path), "../recipes/default.toml", "/etc/passwd", "default.toml"):
        answer = talk.call("explain", question="which lamp?", recipe=recipe)
        assert answer.is_error
        assert "unknown recipe" in text_of(answer)
        assert "of the file" not in text_of(answer)


def test_more_than_the_server_allows_is_said(talk: Talk) -> None:
    answer = talk.call("recall", question="which lamp?", k=101)
    assert text_of(answer) == "k is 101, this server gives at most 100 memories at once"
    assert "at most 1000 on one page" in text_of(talk.call("sessions", limit=1001))


def test_a_cursor_of_nowhere_is_refused(talk: Talk) -> None:
    for cursor in ("", "x", "AAAA", "🦊", "W10"):
        answer = talk.call("sessions", cursor=cursor)
        assert answer.is_error
        assert "cursor" in text_of(answer)


@pytest.mark.parametrize("name", ["", "nope", "Recall", "recall ", "\u202erecall", "x" * 5_000])
def test_unknown_tools_and_prompts_are_told_from_known_ones(talk: Talk, name: str) -> None:
    with pytest.raises(MCPError, match=f"there are {', '.join(TOOLS)}"):
        talk.call(name)
    with pytest.raises(MCPError, match="there are recall-before-answering, remember-this-talk"):
        talk.ask(talk.client.get_prompt, name)


def test_numbers_that_were_not_told_are_refused(talk: Talk) -> None:
    told = talk.done("recall", question="what is my badge ID?", k=1)
    for number in ("0", "2", "99999999999999999999", "9" * 5_000):
        answer = talk.call("used", recall_id=told["recall_id"], used=[number])
        assert answer.is_error
        assert "that recall has 1 to 1" in text_of(answer)
    assert talk.call("used", recall_id=told["recall_id"], used=["home"]).is_error
    assert "no recall 'unknown'" in text_of(talk.call("used", recall_id="unknown", used=["1"]))
