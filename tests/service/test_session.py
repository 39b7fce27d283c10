"""One way to act, in a thread and in an event loop: the rights are checked, and what came of it is noted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from fivefold.errors import InvalidInput
from fivefold.service.service import Service, open_service
from fivefold.service.session import Action, Session
from fivefold.values.access import HERE, Caller, NamespaceRefused, Refused, Role

READER = Caller("reader", ("a",), "key")


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    path: Path = tmp_path_factory.mktemp("session")
    opened = open_service(str(path / "memory.db"), "wordllama")
    yield opened
    opened.close()


def run(action: Action, loop: bool, error: Exception | None = None) -> None:
    """The action in a thread or in an event loop, ended by an error if there is one."""

    def work(entered: Action) -> None:
        entered.subject = "id"
        if error is not None:
            raise error

    async def in_loop() -> None:
        async with action as entered:
            work(entered)

    if loop:
        anyio.run(in_loop)
        return
    with action as entered:
        work(entered)


def last(service: Service) -> tuple[str, str | None, str | None, str]:
    entry = service.audit.entries(1)[0]
    return entry.action, entry.namespace, entry.subject, entry.outcome


@pytest.mark.parametrize("loop", [False, True])
def test_what_came_of_an_action_is_noted(service: Service, loop: bool) -> None:
    run(Session(service, HERE, " a ").act("remember", "writer"), loop)
    assert last(service) == ("remember", "a", "id", "ok")
    for error in (InvalidInput("bad"), RuntimeError("unexpected")):
        with pytest.raises(type(error)):
            run(Session(service, READER, "a").act("recall"), loop, error)
        assert last(service) == ("recall", "a", "id", "failed")
    with pytest.raises(InvalidInput):
        run(Session(service, HERE, "").act("forget", "writer", "m"), loop)
    assert last(service) == ("forget", "", "m", "failed")


@pytest.mark.parametrize("loop", [False, True])
@pytest.mark.parametrize("audit_success", [False, True])
@pytest.mark.parametrize(
    ("namespace", "role", "kind"),
    [("b", "reader", NamespaceRefused), ("a", "writer", Refused), (None, "admin", Refused)],
)
def test_who_may_not_is_refused_before_anything_is_done(
    service: Service, namespace: str | None, role: Role, kind: type[Refused], loop: bool, audit_success: bool
) -> None:
    action = Session(service, READER, namespace).act("get", role, "m", audit_success=audit_success)
    with pytest.raises(kind):
        run(action, loop)
    assert last(service) == ("get", namespace, "m", "refused")


@pytest.mark.parametrize("loop", [False, True])
def test_what_shows_nothing_is_not_noted(service: Service, loop: bool) -> None:
    run(Session(service, HERE, "a").act("settings"), loop)
    before = service.audit.entries(1)[0].id
    run(Session(service, HERE, "a").act("remember", "writer", audit_success=False), loop)
    assert service.audit.entries(1)[0].id == before


def test_the_note_of_a_finished_write_does_not_wait_for_the_writes_before_it(service: Service) -> None:
    async def while_all_turns_are_taken() -> None:
        for number in range(int(service.writers.total_tokens)):
            service.writers.acquire_on_behalf_of_nowait(number)
        with anyio.fail_after(30):
            async with Session(service, HERE, "a").act("remember", "writer") as action:
                action.outcome = "replayed"

    anyio.run(while_all_turns_are_taken)
    assert last(service)[3] == "replayed"
