"""A server in several processes: shared out, counted together, replaced when killed, and stopped without a loss."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast

import httpx
import pytest
from click import Command
from click.testing import CliRunner

import fivefold
import fivefold.cli.serve
from fivefold.cli.app import command_tree
from fivefold.errors import InvalidInput
from fivefold.service.keys import Keyring
from fivefold.stores import open_store
from tests.support.web_server import Served

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")]

AT = "/v1/namespaces/default"


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("workers")
    errors = folder / "log.txt"
    options = ("--workers", "2", "--embedder", "wordllama", "--metrics-open", "--log-format", "plain")
    with Served(str(folder / "memory.db"), *options, errors=errors) as server:
        yield server


def workers_of(server: Served) -> list[int]:
    pid = server.process.pid
    return sorted(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))


def until(true: Callable[[], bool], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


def connections_of(pid: int, port: int) -> int:
    """Connections of clients that a process has open on this port."""
    inodes = {os.readlink(link) for link in Path(f"/proc/{pid}/fd").iterdir() if link.is_symlink()}
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    own = [row[9] for row in rows if int(row[1].split(":")[1], 16) == port and row[3] == "01"]
    return sum(f"socket:[{inode}]" in inodes for inode in own)


def figure(server: Served, name: str) -> float:
    lines = server.client.get("/metrics").text.splitlines()
    return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(name))


def test_connections_are_shared_out_evenly_and_see_one_store(two: Served) -> None:
    clients = [two.asking(None) for _ in range(4)]
    try:
        stored = [client.post(f"{AT}/memories", json={"content": "Tea is in the tin"}) for client in clients]
        assert {answer.status_code for answer in stored} == {201}
        ids = {client.get(f"{AT}/memories").text for client in clients}
        assert len(ids) == 1
        port = httpx.URL(two.url).port
        assert port is not None
        assert all(connections_of(pid, port) >= 2 for pid in workers_of(two))
    finally:
        for client in clients:
            client.close()


def test_what_any_worker_accepts_is_stored_by_the_first(two: Served) -> None:
    clients = [two.asking(None) for _ in range(4)]
    later = [client.post(f"{AT}/memories?wait=false", json={"content": f"Tin {n}"}) for n, client in enumerate(clients)]
    assert {answer.status_code for answer in later} == {202}
    until(lambda: clients[0].get(f"{AT}/queue").json()["waiting"] == 0)
    for client, answer in zip(reversed(clients), later, strict=True):
        assert client.get(answer.headers["location"]).json()["report"]["stored"] == answer.json()["waiting"]
        client.close()


def test_figures_are_of_all_workers(two: Served) -> None:
    name = 'fivefold_requests_total{method="GET",operation="who_am_i",status="200"}'
    before = figure(two, name)
    for _ in range(4):
        with two.asking(None) as client:
            assert client.get("/v1/key").status_code == 200
    until(lambda: figure(two, name) == before + 4)  # a request is counted once its answer is sent
    assert figure(two, "process_resident_memory_bytes") > 50e6
    until(lambda: figure(two, "fivefold_requests_in_flight") == 1)


def test_a_killed_worker_is_replaced_and_figures_go_on(two: Served) -> None:
    before, counted = workers_of(two), figure(two, "fivefold_requests_total")
    os.kill(before[0], signal.SIGKILL)
    until(lambda: len(set(workers_of(two)) - set(before)) == 1)
    for _ in range(4):
        with two.asking(None) as client:
            assert client.get("/ready").status_code == 200
    two.client.close()
    two.client = two.asking(None)
    until(lambda: figure(two, "fivefold_requests_total") >= counted + 4)


def test_workers_end_with_their_parent(two: Served) -> None:
    workers = workers_of(two)
    assert len(workers) == 2
    two.process.kill()
    until(lambda: not any(_is_running(pid) for pid in workers))


def _is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_stop_answers_what_was_accepted(tmp_path: Path) -> None:
    path = str(tmp_path / "memory.db")
    server = Served(path, "--workers", "2", "--embedder", "wordllama", "--rate", "5")
    with server.asking(None) as first, server.asking(None) as second:
        answers = [client.get("/v1/key").status_code for _ in range(3) for client in (first, second)]
        assert sorted(answers) == [200] * 5 + [429]
    store = open_store(path)
    _, secret = Keyring(store).create("first", "writer", ["default"])
    store.close()
    with server.asking(secret) as client:
        body = {"content": "The bins go out on Mondays", "id": "bins"}
        stored = client.post(f"{AT}/memories", json=body, headers={"Idempotency-Key": "k"})
    with server.asking(secret) as other:  # by the other worker
        again = other.post(f"{AT}/memories", json=body, headers={"Idempotency-Key": "k"})
        assert (stored.status_code, again.status_code, again.headers["idempotent-replayed"]) == (201, 201, "true")
    workers = workers_of(server)
    assert server.stop() == 0
    assert not any(Path(f"/proc/{pid}").exists() for pid in workers)
    with fivefold.open(path) as engine:
        assert engine.get("bins").content == body["content"]


def test_a_worker_that_cannot_start_stops_the_server(tmp_path: Path) -> None:
    """Its parent ends with an error too, and leaves no process."""
    code = (
        "import fivefold.web.workers as workers, sys\n"
        "def fail(*given): sys.exit(3)\n"
        "workers.run_worker = fail\n"
        "from fivefold.cli import main\n"
        "main()"
    )
    command = [sys.executable, "-c", code, "serve", "--store", str(tmp_path / "m.db"), "--workers", "2", "--port", "0"]
    done = subprocess.run(
        [*command, "--embedder", "wordllama"], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 1
    assert "did not start: it ended with code 3" in done.stderr


def test_a_store_in_memory_has_one_worker() -> None:
    done = CliRunner().invoke(
        cast("Command", command_tree("serve")), ["serve", "--store", ":memory:", "--workers", "2"]
    )
    assert isinstance(done.exception, InvalidInput)
    assert "cannot share a store in memory" in str(done.exception)
