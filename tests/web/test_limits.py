"""Rates: a minute's worth of requests for each asker, coming back evenly."""

from __future__ import annotations

import re
from dataclasses import asdict
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fivefold.cli.serve import LimitOptions
from fivefold.service.limits import MAX_CALLERS, LimitExceeded, Limits, RateExceeded, Rates
from fivefold.service.problems import KINDS
from fivefold.service.service import open_service
from tests.web.conftest import asking

pytestmark = pytest.mark.slow


class Clock:
    """A clock that only goes on when told."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_minutes_worth_can_be_used_at_once_and_comes_back_evenly() -> None:
    clock = Clock()
    rates = Rates(60, clock)
    left = [taken.left for _ in range(60) if (taken := rates.take("a")) is not None]
    assert left == list(range(59, -1, -1))
    with pytest.raises(RateExceeded, match="more than 60 requests a minute; try again in 1 s") as caught:
        rates.take("a")
    assert caught.value.retry_after_s == 1
    assert rates.take("b") is not None
    clock.now += 1.0
    assert rates.take("a") is not None
    with pytest.raises(RateExceeded):
        rates.take("a")
    clock.now += 3_600.0
    full = rates.take("a")
    assert full is not None
    assert (full.left, full.full_in_s) == (59, 1)


@given(st.integers(1, 200), st.lists(st.floats(0, 30), max_size=60))
def test_no_one_gets_more_than_a_minutes_worth_and_what_came_back(per_minute: int, waits: list[float]) -> None:
    clock = Clock()
    rates, given_out = Rates(per_minute, clock), 0
    for wait in waits:
        clock.now += wait
        for _ in range(10):
            try:
                rates.take("a")
                given_out += 1
            except RateExceeded:
                break
    assert given_out <= per_minute + clock.now * per_minute / 60 + 1e-6


def test_who_has_not_asked_for_longest_is_let_go_first() -> None:
    rates = Rates(1, Clock())
    rates.take("first")
    for number in range(MAX_CALLERS):
        rates.take(str(number))
    assert rates.take("first") is not None
    with pytest.raises(RateExceeded):
        rates.take(str(MAX_CALLERS - 1))


def test_without_a_limit_nothing_is_counted() -> None:
    rates = Rates(0)
    assert all(rates.take("a") is None for _ in range(5))


def test_what_a_limit_allows_passes_and_one_more_does_not() -> None:
    limits = Limits(text_chars=3, k=3, batch=3, page=3)
    limits.check_k(3)
    limits.check_text("abc", "content")
    limits.check_text(None, "content")
    limits.check_batch(3)
    limits.check_page(3)
    for check in (limits.check_k, limits.check_batch, limits.check_page):
        with pytest.raises(LimitExceeded, match="at most 3"):
            check(4)
    with pytest.raises(LimitExceeded, match="content has 4 characters"):
        limits.check_text("abcd", "content")


def test_a_block_has_as_many_memories_as_fit_and_as_the_server_gives(tmp_path: Path) -> None:
    limits = Limits(k=30)
    assert [limits.k_for_block(k, budget) for k, budget in ((None, 100), (None, 10_000), (4, 10_000))] == [10, 30, 4]
    with pytest.raises(LimitExceeded, match="at most 30"):
        limits.k_for_block(31, 1_000)
    service = open_service(str(tmp_path / "memory.db"), limits=limits)
    try:
        with asking(service) as client:
            here, question = "/v1/namespaces/default", {"question": "tea", "recipe": "lexical", "token_budget": 4_000}
            records = [{"content": f"the tea number {number} is sold"} for number in range(40)]
            assert client.post(f"{here}/memories/batch", json={"records": records}).status_code == 201
            asked: tuple[dict[str, int | None], ...] = ({}, {"k": 4}, {"k": None}, {"k": 31})
            answers = [client.post(f"{here}/context", json={**question, **more}) for more in asked]
        assert [len(answer.json()["sources"]) for answer in answers[:3]] == [30, 4, 30]
        assert answers[3].json()["type"] == "urn:fivefold:problem:k-too-large"
    finally:
        service.close()


def test_too_many_requests_are_told_when_to_come_back(tmp_path: Path) -> None:
    """Each key has its own; without a key the address counts, also for keys that are not known."""
    service = open_service(str(tmp_path / "memory.db"), limits=Limits(per_minute=3))
    _, one = service.keyring.create("one", "reader", ["default"])
    _, other = service.keyring.create("other", "reader", ["default"])
    try:
        with asking(service, one) as client:
            answers = [client.get("/v1/key") for _ in range(4)]
            assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
            assert answers[0].headers["ratelimit-policy"] == '"requests";q=3;w=60'
            assert answers[0].headers["ratelimit"].startswith('"requests";r=2;t=')
            assert answers[3].json()["type"] == "urn:fivefold:problem:too-many-requests"
            assert int(answers[3].headers["retry-after"]) == 20
            assert client.get("/health").status_code == 200
        with asking(service, other) as client:
            assert client.get("/v1/key").status_code == 200
        with asking(service, "ff_0_wrong") as client:
            assert [client.get("/v1/key").status_code for _ in range(4)] == [401, 401, 401, 429]
    finally:
        service.close()


def test_the_page_tells_the_limits_as_they_are() -> None:
    text = (Path(__file__).resolve().parents[2] / "docs/serve.md").read_text("utf-8")
    told = {
        option: (int(most.replace(",", "")), kind)
        for option, most, kind in re.findall(
            r"^\| `(--[a-z-]+)` \| ([\d,]+) \| .* \| `([a-z-]+)` \|$", text, re.MULTILINE
        )
    }
    known = asdict(LimitOptions())
    assert set(told) == {"--max-body", "--max-import", "--max-text", "--max-k", "--max-batch", "--max-queue", "--rate"}
    for option, (most, kind) in told.items():
        assert known[option[2:].replace("-", "_")] == most
        assert kind in KINDS
    own = Limits()
    assert {most for most, _ in told.values()} == {
        own.body_bytes,
        own.queue,
        own.import_bytes,
        own.text_chars,
        own.k,
        own.batch,
        own.per_minute,
    }
