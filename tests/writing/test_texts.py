"""A text of any length is one memory: stored whole, read in passages, found, exported, edited and forgotten."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, ChatMessage, HumanMessage, SystemMessage, ToolMessage, messages_to_dict
from openai.types.chat import ChatCompletionMessage

import fivefold
from fivefold.engine import Engine
from fivefold.errors import InvalidInput
from fivefold.models.embedders import Embedder
from fivefold.settings import Settings
from fivefold.stores import open_store
from fivefold.text.passages import passage_spans
from fivefold.values.validate import MAX_CONTENT, MAX_EXTRACTED
from fivefold.writing.extract import beginning
from fivefold.writing.messages import MessageReader, is_message
from tests.conformance.vectors import WordTokens, WordVectors
from tests.support.toy_engine import toy

PARAGRAPH = "The river sensor drifts when the water is cold, and Bertil writes down what it shows every hour."
END = "At the very end the zeppelin lands in Reykjavik."
BOOK = "\n\n".join([f"{number}. {PARAGRAPH}" for number in range(10_000)] + [END])
LETTER = "\n\n".join([f"{number}. {PARAGRAPH}" for number in range(30)] + [END])


@pytest.fixture(params=[WordTokens, WordVectors])
def model(request: pytest.FixtureRequest) -> Embedder:
    made: Embedder = request.param()
    return made


@pytest.fixture
def model_engine(tmp_path: Path, model: Embedder) -> Iterator[Engine]:
    with Engine(open_store(str(tmp_path / "memory.db")), embedder=model) as made:
        yield made


def passage_count(model_engine: Engine, id: str) -> int:
    reader = model_engine.store.reader(model_engine.namespace)
    space, row = reader.search.vector_space(), model_engine.get(id).row
    assert space is not None
    vectors = reader.search.passage_vectors(space, [row]).get(row)
    count = 0 if vectors is None else len(vectors)
    if vectors is not None:
        mean = vectors.mean(axis=0)
        full = reader.search.vectors(space, [row])[row]
        np.testing.assert_allclose(full, mean / np.linalg.norm(mean), atol=1e-5)
    if space.tokens:
        parts = [(row, part) for part in range(count + 5)]
        assert len(reader.search.token_vectors(space, parts)) == max(1, count)
    return count


def found(model_engine: Engine) -> list[str]:
    return [hit.memory.id for hit in model_engine.recall("zeppelin Reykjavik", recipe="lexical")]


@pytest.mark.slow
def test_a_book_is_one_memory(tmp_path: Path) -> None:
    assert len(BOOK) > 1_000_000
    with Engine(open_store(str(tmp_path / "memory.db")), embedder=WordTokens()) as model_engine:
        model_engine.remember_many([PARAGRAPH, {"content": BOOK, "id": "book"}, "The kettle is blue"])
        assert model_engine.get("book").content == BOOK
        assert passage_count(model_engine, "book") == len(passage_spans(BOOK))
        assert found(model_engine) == ["book"]
        assert len(model_engine.context("zeppelin Reykjavik", token_budget=500).text) < 5_000
        model_engine.export_jsonl(tmp_path / "memories.jsonl")
        with Engine(open_store(str(tmp_path / "copy.db")), embedder=WordVectors()) as copy:
            copy.import_jsonl(tmp_path / "memories.jsonl")
            assert copy.get("book").content == BOOK
            assert passage_count(copy, "book") == len(passage_spans(BOOK))
        model_engine.update("book", content=LETTER)
        assert (found(model_engine), passage_count(model_engine, "book")) == (["book"], len(passage_spans(LETTER)))
        model_engine.forget("book")
        assert found(model_engine) == []
        assert all(finding.ok for finding in model_engine.doctor())


def test_a_letter_becomes_short_and_long_again(model_engine: Engine) -> None:
    model_engine.remember(LETTER, id="letter")
    parts = passage_count(model_engine, "letter")
    assert parts == len(passage_spans(LETTER)) > 3
    model_engine.update("letter", content="A short note")
    assert passage_count(model_engine, "letter") == 0
    model_engine.update("letter", content=LETTER)
    assert passage_count(model_engine, "letter") == parts
    assert all(finding.ok for finding in model_engine.doctor())


def test_a_rebuild_and_a_move_keep_the_passages(model_engine: Engine) -> None:
    model_engine.remember(LETTER, id="letter")
    parts = passage_count(model_engine, "letter")
    model_engine.doctor(repair=True)
    assert passage_count(model_engine, "letter") == parts
    for choice in (WordVectors(48), WordTokens(48)):
        model_engine.reembed(choice)
        assert passage_count(model_engine, "letter") == parts
        assert all(finding.ok for finding in model_engine.doctor())


def test_long_parts_of_a_record_are_stored_whole(model_engine: Engine) -> None:
    model_engine.remember_many([{"user_text": "Tell me about the river", "assistant_text": LETTER, "id": "both"}])
    stored = model_engine.get("both")
    assert stored.assistant_text == LETTER
    assert stored.content == f"Tell me about the river\n{LETTER}"


def test_a_long_turn_in_a_talk(model_engine: Engine) -> None:
    turns = [("Ana", "How was the trip?"), ("Bea", LETTER), ("Ana", "I see")]
    ids = model_engine.remember_many(
        [{"content": text, "speaker": who, "session_id": "s"} for who, text in turns]
    ).stored
    assert model_engine.get(ids[0]).next_user_text == LETTER
    assert passage_count(model_engine, ids[1]) == len(passage_spans(LETTER))
    model_engine.forget(ids[1])
    assert found(model_engine) == []
    assert model_engine.get(ids[0]).next_user_text is None
    assert all(finding.ok for finding in model_engine.doctor())


def test_what_is_extracted_comes_from_the_beginning_of_a_long_text(model_engine: Engine) -> None:
    model_engine.remember(f"I live in Leeds. {'kettle ' * 20_000} My badge ID is E-47821.", id="long", speaker="user")
    assert {entity.name for entity in model_engine.graph.entities()} >= {"Leeds"}
    assert not model_engine.graph.entities("E-47821")
    assert model_engine.recall("E-47821", recipe="lexical")[0].memory.id == "long"


def test_the_beginning_ends_with_a_word() -> None:
    assert beginning("short") == "short"
    assert beginning("kettle " * 20_000).endswith("kettle")
    assert len(beginning("kettle " * 20_000)) <= MAX_EXTRACTED
    assert beginning("x" * 200_000) == "x" * MAX_EXTRACTED


def test_a_text_that_no_store_can_hold_is_refused(model_engine: Engine) -> None:
    with pytest.raises(
        InvalidInput, match=r"content has 100,000,001 characters, the maximum is 100,000,000; .* in parts"
    ):
        model_engine.remember("x" * (MAX_CONTENT + 1))
    assert model_engine.stats().memories == 0
    with pytest.raises(fivefold.InvalidInput, match="the maximum is 100,000; make it shorter"):
        model_engine.recall("x" * 100_001)


# Secrets on the way into a store: noted, masked or refused.

CARD = "4111 1111 1111 1111"
NOTE = "seems to contain the number of a payment card, which"


def test_by_default_a_secret_is_stored_and_noted() -> None:
    with toy(":memory:") as engine:
        report = engine.remember(f"The card is {CARD}", id="card", user_text=f"{CARD}?")
        assert report.notes == (f"content {NOTE} is stored as it is", f"user_text {NOTE} is stored as it is")
        assert CARD in engine.get("card").content
        assert engine.remember("The card is blue").notes == ()


def test_a_masked_secret_is_nowhere_in_the_file(tmp_path: Path) -> None:
    with toy(str(tmp_path / "m.db")) as engine:
        engine.configure(secrets="mask")
        report = engine.remember(f"The card is {CARD}", session_id="s", id="card")
        assert report.notes == (f"content {NOTE} is masked",)
        engine.remember_messages([{"role": "user", "content": f"pay with {CARD}"}], session_id="t")
        engine.update("card", content=f"The new card is {CARD}")
        engine.supersede("card", {"content": f"Not {CARD}"})
        assert all(CARD not in line for line in engine.export_lines())
    for file in tmp_path.iterdir():
        assert CARD.encode() not in file.read_bytes()


def test_a_secret_is_masked_in_every_field(tmp_path: Path) -> None:
    key, pin = "ghp_" + "aB3" * 12, "48210"
    with toy(str(tmp_path / "m.db")) as engine:
        engine.configure(secrets="mask", passwords="mask")
        report = engine.remember(
            "Paid",
            id="paid",
            speaker=f"Ana {CARD}",
            session_id=f"s {CARD}",
            tags=["shop", f"pin:{pin}", CARD],
            task_tag=CARD,
            predicate=f"paid with {CARD}",
            metadata={
                "cards": [int(CARD.replace(" ", "")), {"old": f"{CARD}!"}],
                "wifiPassword": "plain words too",
                "door_code": int(pin),
                key: True,
                "langchain": {"content": f"my PIN is {pin}"},
                "price": 12.5,
            },
        )
        assert len(report.notes) == 11
        assert f"metadata {NOTE} is masked" in report.notes
        assert "tags seems to contain a PIN, which is masked" in report.notes
        memory = engine.get("paid")
        assert memory.session_id == "s [the number of a payment card]"
        assert memory.tags == ("shop", "pin:[a PIN]", "[the number of a payment card]")
        assert memory.metadata["cards"][1] == {"old": "[the number of a payment card]!"}
        assert (memory.metadata["wifiPassword"], memory.metadata["door_code"]) == ("[a password]", "[a door code]")
        assert memory.metadata["price"] == 12.5
        engine.update("paid", metadata=memory.metadata)
        assert engine.get("paid").metadata == memory.metadata, "what is masked is not a secret"
        assert engine.health().finding("secrets").count == 0
    for file in tmp_path.iterdir():
        stored = file.read_bytes()
        assert not [
            part for part in (CARD, CARD.replace(" ", ""), key, pin, "plain words too") if part.encode() in stored
        ]


def test_passwords_have_a_setting_of_their_own() -> None:
    said, note = "the wifi password is swordfish", "content seems to contain a password, which is"
    with toy(":memory:") as engine:
        assert engine.remember(said, id="warn").notes == (f"{note} stored as it is",)
        assert engine.health().finding("secrets").count == 1
        engine.configure(passwords="keep", secrets="refuse")
        assert engine.remember(f"Again: {said}", id="keep").notes == ()
        engine.configure(passwords="mask")
        assert engine.remember(f"Anew: {said}", id="mask").notes == (f"{note} masked",)
        assert engine.get("mask").content == "Anew: the wifi password is [a password]"
        with pytest.raises(fivefold.InvalidInput, match="a payment card; take it out, or set secrets='mask'"):
            engine.remember(f"{said}, the card {CARD}")
        engine.configure(passwords="refuse", secrets="note")
        for record in ({"content": said}, {"content": "tea", "metadata": {"pin": 4821}}):
            with pytest.raises(fivefold.InvalidInput, match=r"take it out, or set passwords='mask'"):
                engine.remember_many([record])
        assert engine.stats().memories == 3


def test_a_refused_secret_stores_nothing(tmp_path: Path) -> None:
    lines = tmp_path / "records.jsonl"
    lines.write_text("\n".join(json.dumps({"content": text}) for text in ("fine", f"pay with {CARD}")), "utf-8")
    with toy(":memory:") as engine:
        engine.configure(secrets="refuse")
        writes: tuple[Callable[[], object], ...] = (
            lambda: engine.remember(f"The card is {CARD}"),
            lambda: engine.remember_many(["fine", *["also fine"] * 1_000, f"The card is {CARD}"]),
            lambda: engine.import_jsonl(lines),
        )
        for write in writes:
            with pytest.raises(fivefold.InvalidInput, match=r"content seems to contain .* card; take it out, or set"):
                write()
        assert engine.stats().memories == 0


# Messages as the services send them, and the turns that they become.

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
