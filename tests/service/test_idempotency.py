"""Requests that are sent twice and done once: over threads, over processes, and over one that dies midway."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import fivefold
from fivefold.service.idempotency import (
    LEASE,
    RETENTION,
    IdempotencyStore,
    KeyReused,
    PendingRequest,
    RequestInProgress,
    StoredResponse,
)
from fivefold.stores import open_store
from fivefold.stores.interface import Store
from fivefold.stores.sql.admin import MAX_SINGLE_SEARCHES
from fivefold.values.times import utc_now
from tests.conformance.store_pair import opened as on
from tests.support.own_database import opened
from tests.support.postgres import Server
from tests.support.shared_tables import shared_tables
from tests.support.shell import clean

pytestmark = pytest.mark.slow

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
SCOPE = "b0b0 POST /v1/namespaces/work/memories"
DONE = StoredResponse(201, '{"stored": ["m1"]}')


class Clock:
    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def location(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    if request.param == "postgres":
        server: Server = request.getfixturevalue("postgres")
        return server.new_location()
    return str(tmp_path_factory.mktemp("answers") / "memory.db")


@pytest.fixture(scope="module")
def store(location: str) -> Iterator[Store]:
    with closing(open_store(location)) as made:
        yield made


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def answers(store: Store, clock: Clock) -> Iterator[IdempotencyStore]:
    with closing(IdempotencyStore(store, clock)) as made:
        yield made


def begun(
    answers: IdempotencyStore, key: str, digest: bytes = b"digest", namespace: str = "work", scope: str = SCOPE
) -> PendingRequest:
    found = answers.begin(namespace, scope, key, digest)
    assert isinstance(found, PendingRequest)
    return found


def test_the_first_answer_is_given_again(answers: IdempotencyStore, store: Store, clock: Clock) -> None:
    answers.finish(begun(answers, "first"), DONE)
    clock.now += RETENTION - timedelta(microseconds=1)
    assert answers.begin("work", SCOPE, "first", b"digest") == DONE
    with closing(IdempotencyStore(store, clock)) as restarted:
        assert restarted.begin("work", SCOPE, "first", b"digest") == DONE


def test_an_answer_is_given_for_a_day(answers: IdempotencyStore, store: Store, clock: Clock) -> None:
    answers.finish(begun(answers, "day"), DONE)
    clock.now += RETENTION
    assert not begun(answers, "day").is_retry
    held = "SELECT count(*) FROM answers WHERE expires_at <= :now"
    with shared_tables(store).requests_of("work") as db:
        assert db.rows(held, now=int(clock.now.timestamp() * 1_000_000)) == [(0,)]


def test_requests_are_told_apart(answers: IdempotencyStore) -> None:
    answers.finish(begun(answers, "apart"), DONE)
    assert begun(answers, "other").key == "other"
    assert begun(answers, "apart", namespace="home").namespace == "home"
    assert begun(answers, "apart", scope="cafe POST /v1/namespaces/work/memories").scope.startswith("cafe")


def test_any_scope_can_be_kept_and_bad_names_are_told(answers: IdempotencyStore) -> None:
    for scope in ("\x00", "\ud800", "x" * 100_000):
        answers.finish(begun(answers, "scopes", scope=scope), StoredResponse(201, repr(scope[:2])))
        assert answers.begin("work", scope, "scopes", b"digest") == StoredResponse(201, repr(scope[:2]))
    for namespace, key in (("a\x00", "k"), ("\ud800", "k"), ("", "k"), ("a", "\x00"), ("a", "k" * 201)):
        with pytest.raises(fivefold.InvalidInput):
            answers.begin(namespace, SCOPE, key, b"digest")


def test_a_key_of_another_request_is_refused(answers: IdempotencyStore) -> None:
    under_way = begun(answers, "reused")
    with pytest.raises(KeyReused, match="came with another request before"):
        IdempotencyStore.begin(_another(answers), "work", SCOPE, "reused", b"else")
    answers.finish(under_way, DONE)
    with pytest.raises(fivefold.InvalidInput, match="came with another request before"):
        answers.begin("work", SCOPE, "reused", b"else")
    with pytest.raises(fivefold.InvalidInput, match="Idempotency-Key"):
        answers.begin("work", SCOPE, "", b"digest")


def _another(answers: IdempotencyStore) -> IdempotencyStore:
    """Another process's view of the same store and clock."""
    made = IdempotencyStore.__new__(IdempotencyStore)
    made.__dict__.update(answers.__dict__, _pending={})
    return made


def test_one_under_way_is_busy_until_it_is_abandoned(answers: IdempotencyStore) -> None:
    first, elsewhere = begun(answers, "busy"), _another(answers)
    with pytest.raises(RequestInProgress, match="is in progress"):
        answers.begin("work", SCOPE, "busy", b"digest")
    with pytest.raises(RequestInProgress, match="send it again in 30 s") as told:
        elsewhere.begin("work", SCOPE, "busy", b"digest")
    assert told.value.retry_after_s == LEASE.total_seconds()
    answers.abandon(first)
    second = begun(elsewhere, "busy", b"changed")
    assert not second.is_retry
    elsewhere.abandon(second)


def test_what_a_dead_process_began_can_be_done_again(answers: IdempotencyStore, clock: Clock) -> None:
    lost, elsewhere = begun(answers, "dead"), _another(answers)
    clock.now += LEASE - timedelta(microseconds=1)
    with pytest.raises(RequestInProgress) as told:
        elsewhere.begin("work", SCOPE, "dead", b"digest")
    assert told.value.retry_after_s == 1
    clock.now += timedelta(microseconds=1)
    with pytest.raises(KeyReused):
        elsewhere.begin("work", SCOPE, "dead", b"else")
    taken = begun(elsewhere, "dead")
    assert taken.is_retry
    answers.finish(lost, StoredResponse(500, "too late"))
    answers.abandon(lost)
    elsewhere.finish(taken, DONE)
    assert elsewhere.begin("work", SCOPE, "dead", b"digest") == DONE


def test_a_long_request_keeps_its_lease(answers: IdempotencyStore, clock: Clock) -> None:
    first, elsewhere = begun(answers, "long"), _another(answers)
    for _ in range(5):
        clock.now += LEASE - timedelta(seconds=1)
        answers.renew()
        with pytest.raises(RequestInProgress):
            elsewhere.begin("work", SCOPE, "long", b"digest")
    answers.finish(first, DONE)
    answers.renew()
    assert elsewhere.begin("work", SCOPE, "long", b"digest") == DONE


def test_leases_are_renewed_without_being_asked(store: Store) -> None:
    with closing(IdempotencyStore(store, lease=timedelta(seconds=0.06))) as answers:
        begun(answers, "alive")
        seen = set[int]()
        until = time.monotonic() + 30
        while len(seen) < 3 and time.monotonic() < until:
            with shared_tables(store).requests_of("work") as db:
                seen.add(db.rows("SELECT leased_until FROM answers WHERE key = 'alive'")[0][0])
            time.sleep(0.01)
        assert len(seen) == 3


def test_of_many_threads_one_does_it(store: Store) -> None:
    """Each with its own view, as if they were processes; each sends the request until it has an answer."""
    done, got = Counter[str](), list[StoredResponse]()
    barrier = threading.Barrier(8)

    def send(name: str) -> None:
        with closing(IdempotencyStore(store)) as answers:
            for key in ("race 1", "race 2", "race 3"):
                barrier.wait()
                while True:
                    try:
                        found = answers.begin("work", SCOPE, key, b"digest")
                    except RequestInProgress:
                        time.sleep(0.005)
                        continue
                    if isinstance(found, StoredResponse):
                        got.append(found)
                        break
                    done[key] += 1
                    answers.finish(found, StoredResponse(201, name))

    threads = [threading.Thread(target=send, args=(f"t{i}",)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert done == {"race 1": 1, "race 2": 1, "race 3": 1}
    assert len(got) == 24
    assert len({answer.body for answer in got}) <= 3


RACE = """
import sys, time
from fivefold.service.idempotency import StoredResponse, IdempotencyStore, PendingRequest, RequestInProgress
from fivefold.stores import open_store
location, scope, name, count = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
answers = IdempotencyStore(open_store(location))
print("ready", flush=True)
sys.stdin.readline()
for number in range(count):
    try:
        found = answers.begin("race", scope, str(number), b"digest")
    except RequestInProgress:
        continue
    if isinstance(found, PendingRequest):
        print(number, flush=True)
        if name == "dies" and number == count - 1:
            sys.stdin.readline()
        answers.finish(found, StoredResponse(201, name))
"""


def started(location: str, name: str, count: int, scope: str = SCOPE) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", RACE, location, scope, name, str(count)],
        env=clean({}),
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def test_of_two_processes_one_does_it(location: str, store: Store) -> None:
    processes = [started(location, name, 40) for name in ("one", "two")]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    said = [process.communicate(timeout=60)[0].split() for process in processes]
    assert sorted(said[0] + said[1], key=int) == [str(number) for number in range(40)]


def test_a_killed_process_leaves_its_request_to_be_done(location: str, store: Store) -> None:
    scope = "a killed one"
    process = started(location, "dies", 2, scope)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("\n")
    process.stdin.flush()
    assert [process.stdout.readline() for _ in range(2)] == ["0\n", "1\n"]
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    later = utc_now() + LEASE
    with closing(IdempotencyStore(store)) as answers, closing(IdempotencyStore(store, lambda: later)) as after:
        assert answers.begin("race", scope, "0", b"digest") == StoredResponse(201, "dies")
        with pytest.raises(RequestInProgress):
            answers.begin("race", scope, "1", b"digest")
        assert begun(after, "1", namespace="race", scope=scope).is_retry


# forgetting


@pytest.mark.parametrize("others", [0, MAX_SINGLE_SEARCHES])
def test_a_forgotten_memory_is_in_no_kept_answer(answers: IdempotencyStore, store: Store, others: int) -> None:
    """Alone, or with all the turns of its session."""
    engine = on(store, "work")
    told = f'she said "no" — née Ångström {others}'
    engine.remember("The code of the safe is 4711", id=told, session_id=f"safe{others}")
    for number in range(others):
        engine.remember(f"And so on, {number}", session_id=f"safe{others}")
    engine.remember("The safe is blue", id="stays")
    for key, body in {
        "plain": f'{{"id": {_json(told)}, "content": "The code of the safe is 4711"}}',
        "ascii": f'{{"id": {_json(told, ascii=True)}, "content": "The code of the safe is 4711"}}',
        "other": '{"id": "stays", "content": "The safe is blue"}',
    }.items():
        answers.finish(begun(answers, f"{key}{others}"), StoredResponse(200, body))
    answers.finish(begun(answers, f"plain{others}", namespace="home"), StoredResponse(200, f'{{"id": {_json(told)}}}'))
    if others:
        engine.forget_session(f"safe{others}")
    else:
        engine.forget(told)
    assert answers.begin("work", SCOPE, f"plain{others}", b"digest") == StoredResponse(200, None)
    assert answers.begin("work", SCOPE, f"ascii{others}", b"digest") == StoredResponse(200, None)
    kept = answers.begin("work", SCOPE, f"other{others}", b"digest")
    assert isinstance(kept, StoredResponse)
    assert kept.body == '{"id": "stays", "content": "The safe is blue"}'
    elsewhere = answers.begin("home", SCOPE, f"plain{others}", b"digest")
    assert isinstance(elsewhere, StoredResponse)
    assert elsewhere.body is not None


def test_a_forgotten_text_is_not_left_in_the_file(store_path: str) -> None:
    secret = "The code of the safe is 4711"
    with opened(store_path, "work") as engine:
        engine.remember(secret, id="m1")
        with closing(IdempotencyStore(engine.store)) as answers:
            answers.finish(begun(answers, "x"), StoredResponse(200, f'{{"id": "m1", "content": "{secret}"}}'))
        engine.forget("m1")
        held = b"".join(Path(store_path + end).read_bytes() for end in ("", "-wal") if Path(store_path + end).exists())
    assert b"fivefold" in held or b"memories" in held
    assert secret.encode() not in held


def test_care_takes_away_what_is_over(store: Store) -> None:
    old = NOON - timedelta(days=400)
    with closing(IdempotencyStore(store, lambda: old)) as answers:
        answers.finish(begun(answers, "care", namespace="elsewhere"), DONE)
    list(store.maintain())
    with shared_tables(store).requests_of("elsewhere") as db:
        assert db.rows("SELECT count(*) FROM answers WHERE key = 'care'") == [(0,)]


def _json(text: str, ascii: bool = False) -> str:
    return json.dumps(text, ensure_ascii=ascii)
