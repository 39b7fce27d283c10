"""Real processes, really killed: what was acknowledged is there, and two writers never collide."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap

import pytest

from tests.support.toy_engine import toy

ROUNDS = 8


def test_an_acknowledged_memory_survives_kill_9(store_path: str) -> None:
    """The child says each id once `remember` has returned, and is killed in the middle of its work."""
    child = textwrap.dedent(f"""
        import itertools
        from tests.support.toy_engine import toy
        engine = toy({store_path!r})
        for i in itertools.count():
            print(engine.remember(f"memory {{i}} of this life", session_id="s" if i % 2 else None).id, flush=True)
    """)
    said: list[str] = []
    for round in range(ROUNDS):
        with subprocess.Popen([sys.executable, "-c", child], stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            said += [process.stdout.readline().strip() for _ in range(3 + 5 * round)]
            process.send_signal(signal.SIGKILL)
            said += [line.strip() for line in process.stdout if line.endswith("\n")]
    with toy(store_path) as engine:
        assert {engine.get(id).id for id in said} == set(said)
        assert all(finding.ok for finding in engine.doctor())


def test_a_killed_batch_is_there_whole_or_not_at_all(store_path: str) -> None:
    child = textwrap.dedent(f"""
        from tests.support.toy_engine import toy
        engine = toy({store_path!r})
        print("ready", flush=True)
        for batch in range(1000):
            engine.remember_many([f"batch {{batch}} item {{i}}" for i in range(100)])
            print(batch, flush=True)
    """)
    with subprocess.Popen([sys.executable, "-c", child], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        done = [process.stdout.readline() for _ in range(4)]
        process.send_signal(signal.SIGKILL)
        done += [line for line in process.stdout if line.endswith("\n")]
    with toy(store_path) as engine:
        stored = engine.stats().memories
        assert stored % 100 == 0
        assert stored >= 100 * (len(done) - 1)
        assert all(finding.ok for finding in engine.doctor())


@pytest.mark.parametrize("way", ["one by one", "in batches"])
def test_two_processes_write_a_thousand_each(store_path: str, way: str) -> None:
    child = textwrap.dedent("""
        import sys
        from tests.support.toy_engine import toy
        path, name, way = sys.argv[1:]
        engine = toy(path)
        texts = [f"{name} wrote number {i}" for i in range(1000)]
        if way == "one by one":
            for text in texts:
                engine.remember(text)
                engine.recall(name) if text.endswith("00") else None
        else:
            for start in range(0, 1000, 50):
                engine.remember_many(texts[start:start + 50])
        engine.close()
    """)
    writers = [
        subprocess.Popen([sys.executable, "-c", child, store_path, name, way], stderr=subprocess.PIPE, text=True)
        for name in ("anna", "boris")
    ]
    errors = [process.communicate()[1] for process in writers]
    assert [process.returncode for process in writers] == [0, 0], errors
    with toy(store_path) as engine:
        assert engine.stats().memories == 2000
        assert all(finding.ok for finding in engine.doctor())


def test_many_processes_may_open_a_new_file_at_once(store_path: str) -> None:
    child = f"from tests.support.toy_engine import toy\nimport os\ntoy({store_path!r}).remember(f'pid {{os.getpid()}}')"
    opened = [subprocess.Popen([sys.executable, "-c", child], stderr=subprocess.PIPE, text=True) for _ in range(6)]
    errors = [process.communicate()[1] for process in opened]
    assert [process.returncode for process in opened] == [0] * 6, errors
    with toy(store_path) as engine:
        assert engine.stats().memories == 6
