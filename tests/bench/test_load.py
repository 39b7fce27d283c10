"""A load keeps account: what was confirmed must be there, what was forgotten must not, and errors count."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from fivefold.engine import Engine
from fivefold.errors import InvalidInput
from fivefold_bench import load as load_server
from fivefold_bench import load as loads
from fivefold_bench.load import Load, LoadReport, ServerFailed, Target, run_load, serving
from fivefold_bench.load_client import MIX, Account, Client, EngineApi, HttpApi, OperationFailure, Record, mix_of
from tests.support.toy_engine import toy

pytestmark = pytest.mark.slow


@pytest.fixture
def mem() -> Iterator[Engine]:
    with toy(":memory:") as engine:
        yield engine


def settled(account: Account, engine: Engine) -> LoadReport:
    """The account held against what is there."""
    return loads._result(Load(1, 1.0, MIX), account, loads._ids(EngineApi(engine)), (None, None), [])


def test_a_client_does_every_operation_and_loses_nothing(mem: Engine) -> None:
    client = Client(EngineApi(mem), "c", MIX, seed=3)
    for operation in [*MIX] * 3:
        client.once(operation)
    found = settled(client.account, mem)
    assert found.ok
    assert set(client.account.times) == set(MIX)
    assert found.requests == 3 * len(MIX)
    assert found.written == len(client.account.written) - len(client.account.forgotten) >= 30
    assert {figure.operation for figure in found.figures} == {*MIX, "all"}
    for figure in found.figures:
        assert 0 < figure.p50_ms <= figure.p95_ms <= figure.p99_ms <= figure.most_ms
    assert mem.stats().memories == found.written


class Lossy(EngineApi):
    """Confirms what it does not keep, and keeps what it says is forgotten."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self.engine = engine

    def add(self, record: Record) -> Sequence[str]:
        stored = super().add(record)
        self.engine.forget(stored[0])
        return stored

    def forget(self, id: str) -> None:
        """Not done."""


def test_what_is_lost_or_comes_back_is_found(mem: Engine) -> None:
    client = Client(Lossy(mem), "c", MIX, seed=3)
    for operation in ("batch", "add", "add"):
        client.once(operation)
    client._mine = client._mine[:1]
    client.once("forget")
    found = settled(client.account, mem)
    assert (found.written, found.lost, found.returned, found.ok) == (11, 2, 1, False)


class Refusing(EngineApi):
    """Answers nothing but errors, of which one does not know what they did."""

    def add(self, record: Record) -> Sequence[str]:
        super().add(record)
        raise OperationFailure("POST: 503 gone", sure=False)


def test_a_write_without_an_answer_is_an_error_and_neither_lost_nor_kept(mem: Engine) -> None:
    client = Client(Refusing(mem), "c", {"add": 1}, seed=3)
    client.once("add")
    found = settled(client.account, mem)
    assert (found.errors, found.written, found.lost, found.ok) == (1, 0, 0, False)
    assert found.failures == ("add: POST: 503 gone",)
    assert len(client.account.unsure) == 1


def test_feedback_on_a_recall_that_went_with_a_memory_is_too_late_and_no_error(mem: Engine) -> None:
    client = Client(EngineApi(mem), "c", MIX, seed=3)
    for operation in ("add", "recall", "forget", "used"):
        client.once(operation)
    found = settled(client.account, mem)
    assert (found.too_late, found.errors, found.requests) == (1, 0, 4)


def test_a_mix_is_read_or_refused() -> None:
    assert mix_of("recall=6, add=3") == {"recall": 6, "add": 3}
    for wrong in ("recall", "sing=3", "recall=x", "recall=-1", ""):
        with pytest.raises(InvalidInput, match="mix takes shares such as recall=6,add=3"):
            mix_of(wrong)
    with pytest.raises(InvalidInput, match="no operation with a share above 0"):
        mix_of("recall=0")


def test_a_server_under_load_confirms_and_keeps() -> None:
    """Real processes: a server, two clients, and the file once the server has gone."""
    mix = {"recall": 2, "add": 4, "batch": 1, "forget": 1, "list": 1}
    found = run_load(Load(2, 1.0, mix, embedder="wordllama"))
    assert found.failures == ()
    assert found.ok
    assert found.written > 0
    assert {figure.who for figure in found.figures} == {"library", "1 client", "2 clients"}
    assert found.memory_before_mb is not None
    assert found.memory_after_mb is not None


def test_a_server_that_does_not_start_is_told(tmp_path: Path) -> None:
    told = pytest.raises(ServerFailed, match=r"the server did not start: .*does not exist; create it first")
    with told, serving(str(tmp_path / "nowhere" / "x.db"), None):
        pass


def test_where_nobody_answers_that_is_an_error() -> None:
    """Port 9 of this machine is not served."""
    with pytest.raises(OperationFailure, match="ConnectionRefusedError"):
        HttpApi("http://127.0.0.1:9", "default").recall("tea")
    assert Target("http://127.0.0.1:9").memory_mb() is None


def test_work_begins_and_ends_in_time(mem: Engine) -> None:
    """A client that is told to end before it begins does nothing."""
    assert Client(EngineApi(mem), "c", MIX, seed=3).work(time.time(), time.time() - 1).requests == 0


def test_a_server_that_does_not_stop_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load_server, "STOP_S", 0.1)
    deaf = [sys.executable, "-c", "import time; time.sleep(600)"]
    with subprocess.Popen(deaf, text=True) as process:
        with pytest.raises(ServerFailed, match=r"did not stop within 0\.1 s and was killed"):
            load_server._exit_code(process)
        assert process.poll() == -signal.SIGKILL


def test_a_load_on_a_server_that_is_not_there_is_told() -> None:
    with pytest.raises(ServerFailed, match=r"http://127\.0\.0\.1:9 does not answer as it should: POST: Connection"):
        run_load(Load(1, 1.0, MIX, url="http://127.0.0.1:9/"))
