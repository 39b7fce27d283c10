"""Clients that connect and do not ask: they are closed in time, a few may come, and the log stays short."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest
from starlette.responses import PlainTextResponse

from fivefold.web import connections
from fivefold.web import request_log as logs
from fivefold.web.connections import ConnectionLimits, Connections, network_of, room_for
from fivefold.web.server import Server, listen, server_config

pytestmark = pytest.mark.slow

WHOLE = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Connect = Callable[[], Awaitable[Streams]]


async def lifespan_or_answer(scope, receive, send):  # type: ignore[no-untyped-def]
    if scope["type"] == "http":
        await PlainTextResponse("yes")(scope, receive, send)
        return
    for kind in ("startup", "shutdown"):
        await receive()
        await send({"type": f"lifespan.{kind}.complete"})


def served(limits: ConnectionLimits, act: Callable[[Connect], Awaitable[None]]) -> Connections:
    """Runs `act` against a server with these limits; gives its count of connections."""
    counted = Connections(limits)

    async def run() -> None:
        listener, up = listen("127.0.0.1", 0), asyncio.Event()
        port = listener.getsockname()[1]
        server = Server(server_config(lifespan_or_answer, 1, counted), lambda: None, up.set)
        task = asyncio.create_task(server._serve([listener]))
        await up.wait()
        await act(lambda: asyncio.open_connection("127.0.0.1", port))
        server.should_exit = True
        await task

    asyncio.run(run())
    return counted


async def answered(streams: Streams, request: bytes = WHOLE) -> bool:
    reader, writer = streams
    writer.write(request)
    try:
        return b"200 OK" in await reader.read(2_000)
    except ConnectionError:
        return False


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost: local"])
def test_a_request_that_does_not_arrive_is_not_waited_for(
    sent: bytes, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(connections, "HEADER_S", 0.1)

    async def act(connect: Connect) -> None:
        whole, half = await connect(), [await connect() for _ in range(5)]
        assert await answered(whole)
        for _, writer in half:
            writer.write(sent)
        ends = await asyncio.gather(*(reader.read() for reader, _ in half))
        assert ends == [b""] * 5
        assert await answered(whole)  # one that has asked stays open
        whole[1].write(WHOLE[:20])  # and is closed as the others if its next request does not arrive
        assert await whole[0].read() == b""
        for _, writer in (whole, *half):
            writer.close()

    assert len(served(ConnectionLimits(), act)) == 0
    told = [record.getMessage() for record in caplog.records if record.name == "fivefold"]
    assert told == ["connections closed, since no request arrived within 0.1 s: 1"]


@pytest.mark.parametrize("limits", [ConnectionLimits(2, 10), ConnectionLimits(10, 2)])
def test_more_connections_than_allowed_are_closed_at_once(limits: ConnectionLimits) -> None:
    async def act(connect: Connect) -> None:
        first, second = await connect(), await connect()
        assert await answered(first)
        assert await answered(second)
        third = await connect()
        assert not await answered(third)
        third[1].close()
        first[1].close()
        await first[1].wait_closed()
        await asyncio.sleep(0.05)
        again = await connect()
        assert await answered(again)
        for _, writer in (second, again):
            writer.close()

    assert len(served(limits, act)) == 0


def test_what_counts_as_one_address() -> None:
    assert network_of("192.0.2.7") == "192.0.2.7"
    assert network_of("2001:db8::1") == network_of("2001:db8::ffff:2") == "2001:db8::/64"
    assert network_of("2001:db8:0:1::1") != network_of("2001:db8::1")
    assert network_of("") == ""


def test_refusals_are_reported_once_a_minute_with_their_number(caplog: pytest.LogCaptureFixture) -> None:
    now = [0.0]
    counted = Connections(ConnectionLimits(1, 1), lambda: now[0])
    assert counted.admit("192.0.2.7")
    for _ in range(100):
        assert not counted.admit("192.0.2.8")
    now[0] = 61.0
    assert not counted.admit("192.0.2.8")
    assert [record.args for record in caplog.records] == [
        ("connections refused, since there were enough", count) for count in (1, 100)
    ]
    counted.release("192.0.2.7")
    assert counted.admit("192.0.2.8")


def test_there_are_no_more_connections_than_files() -> None:
    few = room_for(ConnectionLimits(5, 3))
    assert few == ConnectionLimits(5, 3)
    many = room_for(ConnectionLimits(10**9, 3))
    assert 1 <= many.in_all < 10**9


def test_a_message_that_repeats_is_logged_a_few_times_and_counted() -> None:
    now = [0.0]
    limit = logs.RepeatLimit(lambda: now[0])

    def passes(name: str = "uvicorn.error", level: int = logging.WARNING) -> str | None:
        record = logging.LogRecord(name, level, "file.py", 1, "Invalid %s", ("request",), None)
        return record.getMessage() if limit.filter(record) else None

    assert [passes() for _ in range(1_000)].count("Invalid request") == logs.MAX_REPEATS
    assert passes("other") == "Invalid request"
    assert all(passes(logs.REQUESTS, logging.INFO) for _ in range(100))
    now[0] = 61.0
    assert passes() == f"Invalid request (and {1_000 - logs.MAX_REPEATS} more like it before)"
    assert passes() == "Invalid request"


BODY = b'{"content":"tea"}'
HEAD = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


@pytest.mark.parametrize(
    "request_",
    [
        HEAD + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n11\r\n" + BODY + b"\r\n0\r\n\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\nContent-Length: 17\r\n\r\n11\r\n" + BODY + b"\r\n0\r\n\r\n",
        HEAD + b"X-Note: one\r\n two\r\nContent-Length: 17\r\n\r\n" + BODY,
        HEAD + b"X-Note: one\r\n\tContent-Length: 17\r\n\r\n" + BODY,
        HEAD.replace(b"\r\n", b"\n") + b"X-Note: one\n two\nContent-Length: 17\n\n" + BODY,
    ],
)
def test_a_request_that_can_be_read_in_two_ways_is_refused_and_the_connection_closed(request_: bytes) -> None:
    async def act(connect: Connect) -> None:
        for pieces in ([request_], [request_[:60], request_[60:90], request_[90:]]):
            streams = reader, writer = await connect()
            assert await answered(streams)
            for piece in pieces:
                writer.write(piece)
                await asyncio.sleep(0.02)
            answer = b""
            with suppress(ConnectionResetError):  # of the pieces after the refusal
                answer = await asyncio.wait_for(reader.read(), 5)
            assert b"200 OK" not in answer
            assert reader.at_eof() or reader.exception()
            if pieces == [request_]:
                assert answer.startswith(b"HTTP/1.1 400 ")
            writer.close()
        body_with_spaces = b"a\n b\r\n\tc\r\n\r\n "
        whole = HEAD + b"Content-Length: %d\r\n\r\n" % len(body_with_spaces) + body_with_spaces
        streams = await connect()
        assert await answered(streams, whole)
        streams[1].close()

    served(ConnectionLimits(), act)
