"""Messages as the services send them, and the turns that they become."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, ChatMessage, HumanMessage, SystemMessage, ToolMessage, messages_to_dict
from openai.types.chat import ChatCompletionMessage

from fivefold.engine import Engine
from fivefold.errors import InvalidInput
from fivefold.settings import Settings
from fivefold.writing.messages import MessageReader, is_message

CHAT: list[object] = [
    {"role": "developer", "content": "Be brief."},
    {"role": "user", "name": "Ana", "content": "Will it rain in Leeds?"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Leeds"}'}}
        ],
    },
    {"role": "tool", "tool_call_id": "call_1", "content": "rain from 3 pm"},
    {"role": "assistant", "content": "Yes, from three in the afternoon."},
]

RESPONSES: list[object] = [
    {"role": "system", "content": [{"type": "input_text", "text": "Be brief."}]},
    {
        "type": "message",
        "role": "user",
        "content": [
            {"type": "input_text", "text": "Will it rain in Leeds?"},
            {"type": "input_image", "image_url": "data:image/png;base64,AA=="},
        ],
    },
    {"type": "reasoning", "id": "rs_1", "summary": []},
    {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "weather", "arguments": '{"city": "Leeds"}'},
    {"type": "function_call_output", "call_id": "call_1", "output": "rain from 3 pm"},
    {"type": "web_search_call", "id": "ws_1", "status": "completed"},
    {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": "Yes, from three in the afternoon.", "annotations": []}],
    },
]

ANTHROPIC: list[object] = [
    {
        "role": "user",
        "content": [
            {"type": "image", "source": {"type": "url", "url": "https://example.org/1.png"}, "title": "a map of Leeds"},
            {"type": "text", "text": "Will it rain in Leeds?"},
        ],
    },
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "I should look", "signature": "x"},
            {"type": "text", "text": "Let me look."},
            {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {"city": "Leeds"}},
        ],
    },
    {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "toolu_1", "content": [{"type": "text", "text": "rain from 3 pm"}]},
            {"type": "text", "text": "Hurry up."},
        ],
    },
    {"role": "assistant", "content": "Yes, from three in the afternoon."},
]

LANGCHAIN = [
    SystemMessage("Be brief."),
    HumanMessage("Will it rain in Leeds?", id="h-1"),
    AIMessage("", tool_calls=[{"name": "weather", "args": {"city": "Leeds"}, "id": "call_1"}]),
    ToolMessage("rain from 3 pm", tool_call_id="call_1"),
    AIMessage([{"type": "text", "text": "Yes, from three in the afternoon."}]),
    ChatMessage(role="captain", content="Take an umbrella."),
]


def turns(messages: Any, **settings: Any) -> list[tuple[str | None, str]]:
    reader = MessageReader(Settings(**settings))
    return [(turn.speaker, turn.content) for turn in reader.conversation(messages, "s")]


def left_out(messages: Any, **settings: Any) -> dict[str, int]:
    reader = MessageReader(Settings(**settings))
    reader.conversation(messages, "s")
    return dict(reader.left_out)


def test_a_chat_of_openai() -> None:
    assert turns(CHAT) == [("Ana", "Will it rain in Leeds?"), ("assistant", "Yes, from three in the afternoon.")]
    assert left_out(CHAT) == {"system messages": 1, "calls of tools": 1, "results of tools": 1}


def test_items_of_a_response_of_openai() -> None:
    assert turns(RESPONSES) == [("user", "Will it rain in Leeds?"), ("assistant", "Yes, from three in the afternoon.")]
    assert left_out(RESPONSES) == {
        "system messages": 1,
        "images without a caption": 1,
        "thoughts": 1,
        "calls of tools": 1,
        "results of tools": 1,
        "parts of type web_search_call": 1,
    }


def test_blocks_of_anthropic() -> None:
    assert turns(ANTHROPIC) == [
        ("user", "[image: a map of Leeds]\nWill it rain in Leeds?"),
        ("assistant", "Let me look."),
        ("user", "Hurry up."),
        ("assistant", "Yes, from three in the afternoon."),
    ]
    assert left_out(ANTHROPIC) == {"thoughts": 1, "calls of tools": 1, "results of tools": 1}


@pytest.mark.parametrize("messages", [LANGCHAIN, messages_to_dict(LANGCHAIN)], ids=["objects", "dicts"])
def test_messages_of_langchain(messages: list[object]) -> None:
    assert turns(messages) == [
        ("user", "Will it rain in Leeds?"),
        ("assistant", "Yes, from three in the afternoon."),
        ("captain", "Take an umbrella."),
    ]


def test_objects_of_openai_and_pairs() -> None:
    assert turns([("human", "Hello"), ChatCompletionMessage(role="assistant", content="Hi")]) == [
        ("user", "Hello"),
        ("assistant", "Hi"),
    ]


@pytest.mark.parametrize("messages", [CHAT, RESPONSES, LANGCHAIN], ids=["chat", "responses", "langchain"])
def test_calls_and_results_of_tools_are_kept_where_a_setting_says_so(messages: list[object]) -> None:
    kept = turns(messages, tool_messages="keep")
    assert [text for speaker, text in kept if speaker == "tool"] == [
        'Call of weather: {"city": "Leeds"}',
        "Result of weather: rain from 3 pm",
    ]


def test_short_keeps_the_beginning_of_a_result() -> None:
    long = [{"role": "tool", "tool_call_id": "c", "name": "log", "content": "line\n" * 1_000}]
    ((speaker, text),) = turns(long, tool_messages="short", tool_length=40)
    assert (speaker, text[:22], len(text)) == ("tool", "Result of log: line li", 40)


def test_system_messages_are_kept_where_a_setting_says_so() -> None:
    assert turns(CHAT, system_messages="keep")[0] == ("system", "Be brief.")


def test_the_report_says_what_was_left_out(engine: Engine) -> None:
    report = engine.remember_messages(CHAT, session_id="rain")
    assert len(report.stored) == 2
    assert report.notes == ("left out of the messages: calls of tools (1), results of tools (1), system messages (1)",)
    assert [turn.content for turn in engine.turns("rain")] == [
        "Will it rain in Leeds?",
        "Yes, from three in the afternoon.",
    ]
    assert [turn.turn_index for turn in engine.turns("rain")] == [0, 1]


def test_settings_of_the_namespace_count(engine: Engine) -> None:
    engine.configure(system_messages="keep", tool_messages="short")
    engine.remember_messages(CHAT, session_id="rain")
    assert [turn.speaker for turn in engine.turns("rain")] == ["system", "Ana", "tool", "tool", "assistant"]
    assert engine.turns("rain")[2].metadata == {"tools": ["weather"]}


def test_a_history_that_grows_adds_only_what_is_new(engine: Engine) -> None:
    """Also where the same words are said twice, and where earlier messages are no longer sent."""
    yes, question = {"role": "user", "content": "Yes."}, {"role": "assistant", "content": "Shall I go on?"}
    engine.remember_messages([*CHAT, question, yes], session_id="rain")
    assert len(engine.remember_messages([*CHAT, question, yes, question, yes], session_id="rain").stored) == 2
    assert len(engine.remember_messages([*CHAT, question, yes, question, yes], session_id="rain").stored) == 0
    assert len(engine.remember_messages(CHAT[1:], session_id="rain").stored) == 0
    assert [turn.content for turn in engine.turns("rain")][2:] == ["Shall I go on?", "Yes."] * 2
    assert len(engine.remember_messages([yes], session_id="another").stored) == 1


def test_a_time_or_an_id_tells_equal_messages_apart(engine: Engine) -> None:
    first = {"role": "user", "content": "Yes.", "timestamp": "2026-03-01T10:00:00+02:00"}
    later = {"role": "user", "content": "Yes.", "created_at": 1_772_400_000}
    named = {"role": "user", "content": "Yes.", "id": "m7"}
    for _ in range(2):
        for message in (first, later, named):
            engine.remember_messages([message], session_id="s")
    stored = engine.turns("s")
    assert [turn.event_at.isoformat() for turn in stored][:2] == [
        "2026-03-01T08:00:00+00:00",
        "2026-03-01T21:20:00+00:00",
    ]
    assert stored[2].id == "s:m7"
    assert len(stored) == 3


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ({"role": "user", "content": 3}, "message 2: content should be a text or a list of parts, not int"),
        ({"role": "pilot", "content": "x"}, "message 2: role 'pilot' is unknown"),
        ({"content": "x"}, "message 2: a message has no role"),
        ("hello", "message 2: a message is an object with role and content, not str"),
        ({"role": "user", "content": [{"type": "text"}]}, "message 2: part 1: the text of a part should be a text"),
        ({"role": "user", "content": [{"data": 1}]}, "message 2: part 1: a part has no type"),
        ({"role": "user", "content": ["a", 7]}, "message 2: part 2: it should be an object"),
        ({"role": "assistant", "tool_calls": [7]}, "message 2: tool_calls should be a list of objects"),
        ({"role": "user", "content": "x", "timestamp": "soon"}, "message 2: event_at"),
    ],
)
def test_a_bad_message_is_an_error_and_nothing_is_written(engine: Engine, bad: object, said: str) -> None:
    with pytest.raises(InvalidInput) as error:
        engine.remember_messages([{"role": "user", "content": "Good."}, bad], session_id="s")
    assert str(error.value).startswith(said)
    assert engine.stats().memories == 0


@pytest.mark.parametrize("messages", [{"role": "user", "content": "x"}, "x", None])
def test_one_message_is_no_list(engine: Engine, messages: Any) -> None:
    with pytest.raises(InvalidInput, match="a list of messages"):
        engine.remember_messages(messages, session_id="s")


def test_remember_many_takes_messages_among_records(engine: Engine) -> None:
    report = engine.remember_many(
        [
            "A note",
            {"role": "user", "content": "I moved to Leeds", "session_id": "a"},
            {"session_id": "b", "messages": CHAT},
        ]
    )
    assert len(report.stored) == 4
    assert report.sessions == ("a", "b")
    assert report.notes[-1].startswith("left out of the messages")
    with pytest.raises(InvalidInput, match="record 1: a message belongs to a session"):
        engine.remember_many([{"role": "user", "content": "x"}])
    with pytest.raises(InvalidInput, match="record 1: message 1: role"):
        engine.remember_many([{"session_id": "b", "messages": [{"role": "x", "content": "x"}]}])


def test_records_are_no_messages() -> None:
    assert not is_message("text")
    assert not is_message({"content": "x", "type": "fact", "speaker": "user"})
    assert is_message({"type": "human", "content": "x"})
    assert is_message(LANGCHAIN[0])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
TYPES = ["text", "image_url", "tool_use", "tool_result", "thinking", "reasoning", "audio", "function_call_output", "x"]
PARTS = st.fixed_dictionaries(
    {"type": st.sampled_from(TYPES)},
    optional=dict.fromkeys(("text", "name", "input", "content", "output", "source", "title", "id", "function"), JSON),
)
MESSAGES = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "system", "tool"])},
    optional={"content": st.lists(PARTS, max_size=3) | JSON, "tool_calls": JSON, "id": JSON, "timestamp": JSON},
)


@given(st.lists(MESSAGES, max_size=4))
def test_any_message_gives_turns_with_ids_of_its_own_or_a_clear_error(messages: list[object]) -> None:
    try:
        first = MessageReader(Settings(tool_messages="keep")).conversation(messages, "s")
    except InvalidInput as error:
        said = str(error)
        assert said.startswith("message ")
        return
    again = MessageReader(Settings(tool_messages="keep")).conversation(messages, "s")
    assert [turn.id for turn in again] == [turn.id for turn in first]
