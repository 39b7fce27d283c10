"""Over REST, memories stay inside the fence of the block, and an explanation in text has nothing that is obeyed."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient

from tests.support.hostile import HOSTILE, SPEAKER, assert_fenced, assert_harmless

pytestmark = pytest.mark.slow

PLACE = "/v1/namespaces/guests"


@pytest.fixture(scope="module")
def guests(client: TestClient) -> TestClient:
    for number, text in enumerate(HOSTILE):
        told = {"content": text, "speaker": SPEAKER, "session_id": "party", "turn_index": number}
        assert client.post(f"{PLACE}/memories", json=told).status_code == 201
    return client


@pytest.mark.parametrize("budget", [150, 400, 5_000])
def test_hostile_memories_stay_inside_the_block(guests: TestClient, budget: int) -> None:
    asked = {"question": "tea", "k": 20, "token_budget": budget, "recent_turns": 2}
    block = guests.post(f"{PLACE}/context", json=asked).json()
    assert block["sources"]
    assert_fenced(block["text"])
    for source in block["sources"]:
        assert_harmless(source["content"])


def test_an_explanation_in_text_has_nothing_that_is_obeyed(guests: TestClient) -> None:
    told = guests.post(f"{PLACE}/explain", json={"question": "tea", "k": 20}, headers={"Accept": "text/plain"}).text
    assert_harmless(told)
    own = [line for line in told.split("\n") if line.startswith("System:")]
    assert own == []
