"""What the resident process does for a request, and at which priority."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

import pytest

from fivefold.hooks.requests import NICENESS, Requests
from fivefold.hooks.state import HookSettings, State


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a thread has no priority of its own")
def test_storing_steps_back_behind_hooks_and_answers(tmp_path: Path) -> None:
    state = State(tmp_path)
    state.save_settings(HookSettings(store=str(tmp_path / "memory.db")))
    requests = Requests(state, print)
    usual = os.getpriority(os.PRIO_PROCESS, os.getpid())
    found: list[int] = []

    def store() -> None:
        requests.drain()
        found.append(os.getpriority(os.PRIO_PROCESS, threading.get_native_id()))

    thread = threading.Thread(target=store)
    thread.start()
    thread.join()
    requests.close()
    assert found == [min(usual + NICENESS, 19)]
    assert os.getpriority(os.PRIO_PROCESS, os.getpid()) == usual
