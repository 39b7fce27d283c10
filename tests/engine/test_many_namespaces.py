"""Ten thousand users in one process: few descriptors, few threads, little memory.

Every fifth of them writes; `FIVEFOLD_TEST_NAMESPACES=10000` lets all of them write.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

COUNT = 10_000
WRITERS = int(os.environ.get("FIVEFOLD_TEST_NAMESPACES", "2000"))

CHILD = """
    import json, os, re, sys
    from concurrent.futures import ThreadPoolExecutor

    import fivefold
    from tests.conformance.vectors import WordVectors

    with fivefold.store(sys.argv[1], embedder=WordVectors(384)) as store:
        count, writers = int(sys.argv[2]), int(sys.argv[3])
        engines = [store.namespace(f"user {number}") for number in range(count)]
        for number, engine in enumerate(engines[:writers]):
            engine.remember(f"My badge is E-{number}")
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda engine: engine.recall("what is my badge?"), engines[:writers:10]))
        print(json.dumps({
            "found": [answer[0].memory.content for answer in answers],
            "namespaces": len(store.namespaces()),
            "descriptors": len(os.listdir("/proc/self/fd")),
            "threads": len(os.listdir("/proc/self/task")),
            "megabytes": int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) // 1024,
        }))
"""


@pytest.mark.timeout(900)
@pytest.mark.skipif(sys.platform != "linux", reason="counts by /proc")
def test_ten_thousand_namespaces_are_written_and_recalled_in_one_process(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(CHILD), str(tmp_path / "users.db"), str(COUNT), str(WRITERS)],
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout)
    assert found["namespaces"] == WRITERS
    assert found["found"] == [f"My badge is E-{number}" for number in range(0, WRITERS, 10)]
    assert found["descriptors"] <= 64
    assert found["threads"] <= 40
    assert found["megabytes"] <= 1_024
