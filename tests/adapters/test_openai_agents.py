"""The OpenAI Agents SDK's own runner over a session that remembers."""

from __future__ import annotations

import asyncio
import copy
import threading
from typing import Any, cast

import pytest
from agents import Agent, Runner, TResponseInputItem, function_tool
from agents.memory import Session, SessionSettings, SQLiteSession
from agents.testing import ScriptedModel, assistant_message, function_call

from fivefold.adapters.openai_agents import FivefoldSession
from fivefold.engine import Engine
from fivefold.errors import StoreClosed
from fivefold.values.serialize import Json

pytestmark = pytest.mark.slow

ITEMS: list[Json] = [
    {"role": "user", "content": "  What is the weather in Oslo? \x00"},
    {
        "role": "user",
        "content": [
            {"type": "input_text", "text": "And what is on this?"},
            {"type": "input_image", "image_url": "https://example.org/a.png", "detail": "auto"},
        ],
    },
    {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Ask the tool."}]},
    {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "weather", "arguments": '{"city":"Oslo"}'},
    {"type": "function_call_output", "call_id": "c1", "output": "rain"},
    {"type": "function_call_output", "call_id": "c2", "output": [{"type": "input_text", "text": "snow"}]},
    {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": "Rain.", "annotations": [], "logprobs": None}],
    },
    {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "n": 1.5}},
    {"type": "item_reference", "id": "msg_1"},
]


def items(given: list[Json]) -> list[TResponseInputItem]:
    return cast(list[TResponseInputItem], given)


def test_it_is_a_session(mem: Engine) -> None:
    assert isinstance(FivefoldSession(mem, "s"), Session)


def test_items_come_back_exactly(mem: Engine) -> None:
    async def talk() -> None:
        session = FivefoldSession(mem, "s")
        assert await session.get_items() == []
        assert await session.pop_item() is None
        await session.add_items(items(ITEMS))
        await session.add_items([])
        again = FivefoldSession(mem, "s")
        assert await again.get_items() == ITEMS
        assert await again.get_items(limit=2) == ITEMS[-2:]
        assert await again.get_items(limit=0) == []
        assert await FivefoldSession(mem, "s", SessionSettings(limit=3)).get_items() == ITEMS[-3:]
        assert [await again.pop_item() for _ in range(2)] == ITEMS[:-3:-1]
        assert await session.get_items() == ITEMS[:-2]
        await session.clear_session()
        await session.clear_session()
        assert await again.get_items() == []

    asyncio.run(talk())
    assert mem.stats().memories == 0


def test_the_words_of_every_item_can_be_recalled(mem: Engine) -> None:
    asyncio.run(FivefoldSession(mem, "s").add_items(items(ITEMS)))
    assert [(turn.speaker, turn.content) for turn in mem.turns("s")] == [
        ("user", "What is the weather in Oslo? \ufffd"),
        ("user", "And what is on this?"),
        ("assistant", "Ask the tool."),
        ("assistant", 'weather {"city":"Oslo"}'),
        ("tool", "rain"),
        ("tool", "snow"),
        ("assistant", "Rain."),
        ("assistant", "(web_search_call)"),
        ("assistant", "(item_reference)"),
    ]
    assert mem.recall("weather in Oslo", k=1, recipe="lexical")[0].memory.session_id == "s"


def test_a_turn_that_was_changed_says_what_it_says_now(mem: Engine) -> None:
    session = FivefoldSession(mem, "s")
    asyncio.run(session.add_items(items([{"role": "user", "content": "hunter2"}, ITEMS[6]])))
    mem.update(mem.turns("s")[0].id, content="(removed)")
    assert asyncio.run(session.get_items()) == [{"role": "user", "content": "(removed)"}, ITEMS[6]]


def test_the_last_items_are_read_without_the_others(mem: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a talk would cost more with every turn."""
    session = FivefoldSession(mem, "s")
    asyncio.run(session.add_items(items([{"role": "user", "content": f"Mile {number}"} for number in range(5)])))

    def whole(*_: object) -> Any:
        raise AssertionError("all turns were read")

    monkeypatch.setattr(Engine, "turns", whole)
    assert asyncio.run(session.get_items(limit=2)) == [{"role": "user", "content": f"Mile {n}"} for n in (3, 4)]
    assert asyncio.run(session.pop_item()) == {"role": "user", "content": "Mile 4"}
    assert asyncio.run(session.get_items(limit=1)) == [{"role": "user", "content": "Mile 3"}]


def test_turns_from_elsewhere_are_items_too(mem: Engine) -> None:
    mem.remember("I live in Leeds", speaker="Mia", session_id="s")
    mem.remember("Noted.", speaker="assistant", session_id="s")
    assert asyncio.run(FivefoldSession(mem, "s").get_items()) == [
        {"role": "user", "content": "I live in Leeds"},
        {"role": "assistant", "content": "Noted."},
    ]


def test_a_runner_goes_on_where_the_session_stopped(mem: Engine) -> None:
    @function_tool
    def weather(city: str) -> str:
        """The weather in a city."""
        return f"rain in {city}"

    model = ScriptedModel(
        [
            [function_call("weather", {"city": "Oslo"}, call_id="c1")],
            [assistant_message("It rains.")],
            [assistant_message("Yes.")],
        ]
    )
    agent = Agent(name="guide", model=model, tools=[weather])
    first = asyncio.run(Runner.run(agent, "Weather in Oslo?", session=FivefoldSession(mem, "trip")))
    assert first.final_output == "It rains."
    original_message = asyncio.run(FivefoldSession(mem, "trip").get_items())
    assert [cast(Json, item).get("type", "message") for item in original_message] == [
        "message",
        "function_call",
        "function_call_output",
        "message",
    ]
    second = asyncio.run(Runner.run(agent, "Take a coat?", session=FivefoldSession(mem, "trip")))
    assert second.final_output == "Yes."
    model.assert_complete()
    asked = model.last_call
    assert asked is not None
    sent = cast(list[Json], asked.input)
    assert sent[2]["output"] == "rain in Oslo"
    assert sent[-1]["content"] == "Take a coat?"
    assert mem.recall("which weather in Oslo?", k=1)[0].memory.session_id == "trip"


def test_the_loop_does_not_wait(mem: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Storing and reading happen in other threads, several sessions at once."""
    threads: set[int] = set()
    remember = Engine.remember_many

    def noted(self: Engine, *given: Any) -> Any:
        threads.add(threading.get_ident())
        return remember(self, *given)

    monkeypatch.setattr(Engine, "remember_many", noted)

    async def talk() -> list[list[TResponseInputItem]]:
        sessions = [FivefoldSession(mem, f"s{n}") for n in range(4)]
        await asyncio.gather(*(session.add_items(items(ITEMS[:2])) for session in sessions))
        assert threading.get_ident() not in threads
        return list(await asyncio.gather(*(session.get_items() for session in sessions)))

    assert asyncio.run(talk()) == [ITEMS[:2]] * 4


def test_settings_are_taken_as_the_sdks_own_sessions_take_them(mem: Engine) -> None:
    async def last(session: FivefoldSession) -> list[TResponseInputItem]:
        return await session.get_items()

    asyncio.run(FivefoldSession(mem, "s").add_items(items(ITEMS)))
    session = FivefoldSession(mem, "s", session_settings={"limit": 2})
    assert session.session_settings == SQLiteSession("s", session_settings={"limit": 2}).session_settings
    assert asyncio.run(last(session)) == ITEMS[-2:]
    assert FivefoldSession(mem, "s").session_settings == SQLiteSession("s").session_settings == SessionSettings()
    with pytest.raises(TypeError, match="limits"):
        FivefoldSession(mem, "s", session_settings={"limits": 2})


def test_a_closed_session_is_over_and_its_engine_goes_on(mem: Engine) -> None:
    async def talk() -> None:
        session, other = FivefoldSession(mem, "s"), FivefoldSession(mem, "s")
        await session.add_items(items(ITEMS[:1]))
        copied = copy.deepcopy(session)
        await session.close()
        await session.close()
        for use in (session.get_items(), session.add_items(items(ITEMS[:1])), session.pop_item()):
            with pytest.raises(StoreClosed, match="make another FivefoldSession"):
                await use
        assert await other.get_items() == await copied.get_items() == ITEMS[:1]

    asyncio.run(talk())
    assert len(mem.turns("s")) == 1
