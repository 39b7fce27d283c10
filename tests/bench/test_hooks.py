"""The measurement of hooks runs every hook of every agent for real."""

from __future__ import annotations

import pytest

from fivefold.hooks.agents import AGENTS
from fivefold_bench.hooks import BASELINE, measure_hooks

pytestmark = pytest.mark.slow


def test_every_hook_is_measured() -> None:
    found = {item.what: item for item in measure_hooks(30, 1)}
    hooks = {f"{agent.name} {event}" for agent in AGENTS.values() for event in agent.events}
    assert set(found) == hooks | {BASELINE, "prompts answered in time"}
    for name in hooks:
        assert found[name].bar == "p95 ≤ 50"
        assert found[name].p50 > 0
