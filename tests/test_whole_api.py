"""Random histories of all operations, through two connections to one store, against a simple truth.

`FIVEFOLD_TEST_HISTORIES=200` runs that many in place of a few, other ones each time, and each longer.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.support.api_histories import History
from tests.support.postgres import Server

HISTORIES = int(os.environ.get("FIVEFOLD_TEST_HISTORIES", "0"))
pytestmark = [pytest.mark.slow, pytest.mark.timeout(300 + 60 * HISTORIES)]


def run_histories(new_location: Callable[[Path], str], histories: int, steps: int) -> None:
    class Here(History):
        pass

    Here.new_location = staticmethod(new_location)
    run_state_machine_as_test(
        Here,
        settings=settings(
            max_examples=HISTORIES or histories,
            stateful_step_count=3 * steps if HISTORIES else steps,
            deadline=None,
            phases=(Phase.generate, Phase.shrink),
            derandomize=not HISTORIES,
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_a_file_says_what_its_history_says() -> None:
    run_histories(lambda folder: str(folder / "memory.db"), histories=6, steps=20)


def test_a_server_says_what_its_history_says(postgres: Server) -> None:
    run_histories(lambda folder: postgres.new_location(), histories=2, steps=12)
