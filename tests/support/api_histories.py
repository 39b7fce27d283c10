"""Random operations of the whole API through two connections to one store, each compared with a simple truth."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable
from contextlib import ExitStack
from itertools import count
from pathlib import Path

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

import fivefold
from fivefold import SharedStore
from fivefold.engine import Engine
from fivefold.transfer.backup import back_up, restore
from tests.support.api_model import Fact, Truth, absent, record, same, searched
from tests.support.toy_engine import Toy

NAMESPACES = ("ana", "ben", "ünit / 3")
ENDS = {"never": None, "gone": "2001-01-01T00:00:00Z", "later": "2999-01-01T00:00:00Z"}

namespaces = st.sampled_from(NAMESPACES)
sides = st.sampled_from([0, 1])
picks = st.integers(0, 1000)
speakers = st.sampled_from([None, "user", "Nuno"])
tags = st.lists(st.sampled_from(["red", "blue", "Tee Haus"]), unique=True, max_size=2).map(tuple)


class History(RuleBasedStateMachine):
    """One store with two connections; each rule does one operation and compares what it touched."""

    new_location: Callable[[Path], str]

    def __init__(self) -> None:
        super().__init__()
        self.open_things = ExitStack()
        self.folder = Path(self.open_things.enter_context(tempfile.TemporaryDirectory()))
        self.location = type(self).new_location(self.folder)
        self.truth: dict[str, Truth] = {}
        self.saved: dict[str, Truth] | None = None
        self.numbers = count()
        self.stores = [self._open(), self._open()]

    def _open(self) -> SharedStore:
        return fivefold.store(self.location, embedder=Toy())

    def _engine(self, side: int, namespace: str) -> Engine:
        engine = self.stores[side].namespace(namespace)
        if namespace not in self.truth:
            self.truth[namespace] = Truth()
            engine.configure(find_changes=False, find_repeats=False, route_budget_ms=600_000)
        return engine

    def _pick(self, namespace: str, pick: int, **wanted: object) -> Fact | None:
        """One of the memories with these values, or none."""
        facts = [
            fact
            for fact in (self.truth[namespace].listed() if namespace in self.truth else ())
            if all((getattr(fact, name) is None) == (value is None) for name, value in wanted.items())
        ]
        return facts[pick % len(facts)] if facts else None

    def _new(self, **fields: object) -> Fact:
        number = next(self.numbers)
        return Fact(f"m{number}", f"Word zq{number}x lies there", number=number, **fields)  # type: ignore[arg-type]

    # writing

    @rule(side=sides, namespace=namespaces, speaker=speakers, tags=tags, pinned=st.booleans())
    def remember(self, side: int, namespace: str, speaker: str | None, tags: tuple[str, ...], pinned: bool) -> None:
        fact = self._new(speaker=speaker, tags=tags, pinned=pinned)
        self._engine(side, namespace).remember(**record(fact))  # type: ignore[arg-type]
        self.truth[namespace].add(fact)
        self.check(namespace)

    @rule(side=sides, namespace=namespaces, pick=picks, tags=tags)
    def remember_again(self, side: int, namespace: str, pick: int, tags: tuple[str, ...]) -> None:
        fact = self._pick(namespace, pick, session_id=None, superseded_by=None)
        if fact is not None:
            report = self._engine(side, namespace).remember(fact.content, speaker=fact.speaker, tags=tags)
            assert [merged.id for merged in report.merged] == [fact.id]
            both = tuple(dict.fromkeys((*fact.tags, *tags)))
            self.truth[namespace].change(fact.id, tags=both, ends="never")
            self.check(namespace)

    @rule(side=sides, namespace=namespaces, session=st.integers(0, 2), size=st.integers(1, 4), speaker=speakers)
    def remember_many(self, side: int, namespace: str, session: int, size: int, speaker: str | None) -> None:
        facts = [self._new(session_id=f"{namespace} {session}", speaker=speaker) for _ in range(size)]
        self._engine(side, namespace).remember_many(map(record, facts))
        self.truth[namespace].add(*facts)
        self.check(namespace)

    @rule(side=sides, namespace=namespaces)
    def remember_messages(self, side: int, namespace: str) -> None:
        """The same messages again, through the other connection, add nothing."""
        facts = [self._new(speaker=role) for role in ("user", "assistant", "user")]
        session = f"talk {facts[0].id}"
        messages = [{"role": fact.speaker, "content": fact.content} for fact in facts]
        report = self._engine(side, namespace).remember_messages(messages, session_id=session)
        assert self._engine(1 - side, namespace).remember_messages(messages, session_id=session).stored == ()
        named = zip(facts, report.stored, strict=True)
        self.truth[namespace].add(*(Fact(id, fact.content, session, fact.speaker) for fact, id in named))
        self.check(namespace)

    @rule(side=sides, namespace=namespaces, pick=picks, tags=tags, content=st.booleans())
    def update(self, side: int, namespace: str, pick: int, tags: tuple[str, ...], content: bool) -> None:
        fact = self._pick(namespace, pick)
        if fact is not None:
            new = self._new()
            changes = {"content": new.content if content else fact.content, "tags": tags}
            self._engine(side, namespace).update(fact.id, **changes, metadata={"number": new.number})  # type: ignore[arg-type]
            self.truth[namespace].change(fact.id, **changes, number=new.number)
            self.check(namespace)

    @rule(side=sides, namespace=namespaces, pick=picks)
    def supersede(self, side: int, namespace: str, pick: int) -> None:
        fact = self._pick(namespace, pick, superseded_by=None)
        if fact is not None:
            new = self._new(session_id=fact.session_id, pinned=fact.pinned)
            self._engine(side, namespace).supersede(fact.id, {**record(new), "pinned": None})
            self.truth[namespace].add(new)
            self.truth[namespace].change(fact.id, superseded_by=new.id)
            self.check(namespace)

    @rule(side=sides, namespace=namespaces, pick=picks)
    def reinstate(self, side: int, namespace: str, pick: int) -> None:
        fact = self._pick(namespace, pick, superseded_by="")
        if fact is not None:
            self._engine(side, namespace).reinstate(fact.id)
            self.truth[namespace].change(fact.id, superseded_by=None)
            self.check(namespace)

    @rule(side=sides, namespace=namespaces, pick=picks)
    def forget(self, side: int, namespace: str, pick: int) -> None:
        fact = self._pick(namespace, pick)
        if fact is not None:
            self._engine(side, namespace).forget(fact.id)
            self.truth[namespace].remove(fact.id)
            with pytest.raises(fivefold.NotFound):
                self._engine(1 - side, namespace).get(fact.id)
            self.check(namespace)

    @rule(side=sides, namespace=namespaces, pick=picks)
    def forget_session(self, side: int, namespace: str, pick: int) -> None:
        fact = self._pick(namespace, pick, session_id="")
        if fact is not None and fact.session_id is not None:
            turns = self.truth[namespace].sessions()[fact.session_id]
            assert self._engine(side, namespace).forget_session(fact.session_id) == len(turns)
            self.truth[namespace].remove(*turns)
            self.check(namespace)

    # the life of a memory

    @rule(side=sides, namespace=namespaces, pick=picks, pinned=st.booleans())
    def pin(self, side: int, namespace: str, pick: int, pinned: bool) -> None:
        fact = self._pick(namespace, pick)
        if fact is not None:
            engine = self._engine(side, namespace)
            assert (engine.pin if pinned else engine.unpin)(fact.id).pinned == pinned
            self.truth[namespace].change(fact.id, pinned=pinned)
            self.check(namespace)

    @rule(side=sides, namespace=namespaces, pick=picks, ends=st.sampled_from(sorted(ENDS)))
    def expire(self, side: int, namespace: str, pick: int, ends: str) -> None:
        fact = self._pick(namespace, pick)
        if fact is not None:
            self._engine(side, namespace).update(fact.id, expires_at=ENDS[ends])
            self.truth[namespace].change(fact.id, ends=ends)
            self.check(namespace)

    @rule(side=sides, namespace=namespaces)
    def sweep(self, side: int, namespace: str) -> None:
        engine = self._engine(side, namespace)
        truth = self.truth[namespace]
        gone = [fact.id for fact in truth.listed() if fact.ends == "gone" and not fact.pinned]
        assert sorted(engine.sweep(dry_run=True).swept) == gone
        assert sorted(engine.sweep().swept) == gone
        truth.remove(*gone)
        self.check(namespace)

    @rule(side=sides, namespace=namespaces, pick=picks, used=st.booleans())
    def feedback(self, side: int, namespace: str, pick: int, used: bool) -> None:
        fact = self._pick(namespace, pick, superseded_by=None)
        if fact is not None and fact.alive:
            engine = self._engine(side, namespace)
            answer = engine.recall(fact.word, recipe="lexical")
            before = engine.feedback_count()
            engine.feedback(answer, **{"used" if used else "not_used": [fact.id]})
            assert self._engine(1 - side, namespace).feedback_count() == before + 1
            self.check(namespace)

    @rule(side=sides, namespace=namespaces)
    def relate(self, side: int, namespace: str) -> None:
        graph = self._engine(side, namespace).graph
        names = [f"Entity{next(self.numbers)}q" for _ in range(2)]
        one, other = [graph.add(name).id for name in names]
        self.truth[namespace].edges[graph.relate(one, "knows", other).id] = (names[0], names[1])
        self.check(namespace)

    @rule(side=sides, namespace=namespaces, pick=picks)
    def unrelate(self, side: int, namespace: str, pick: int) -> None:
        edges = self.truth[namespace].edges if namespace in self.truth else {}
        if edges:
            key = sorted(edges)[pick % len(edges)]
            self._engine(side, namespace).graph.unrelate(key)
            name, _ = edges.pop(key)
            assert not self._engine(1 - side, namespace).graph.edges(name)
            self.check(namespace)

    # the store as a whole

    @rule(side=sides, source=namespaces, goal=namespaces)
    def copy_over(self, side: int, source: str, goal: str) -> None:
        """An export comes back in another namespace; what is there already stays as it is."""
        if source != goal and source in self.truth:
            path = self.folder / f"{next(self.numbers)}.jsonl"
            self._engine(side, source).export_jsonl(path)
            engine = self._engine(1 - side, goal)
            engine.import_jsonl(path)
            truth = self.truth[goal]
            truth.ordered = False
            truth.add(*(fact for fact in self.truth[source].listed() if fact.id not in truth.facts))
            self.check(goal)

    @rule(side=sides, namespace=namespaces)
    def delete_namespace(self, side: int, namespace: str) -> None:
        if namespace in self.truth:
            self.stores[side].delete_namespace(namespace)
            assert not self.stores[1 - side].namespace(namespace).memories()
            dead = self.truth.pop(namespace)
            for truth in self.truth.values():
                truth.dead += [fact.word for fact in dead.listed() if fact.id not in truth.facts]
            assert self.stores[1 - side].namespaces() == tuple(sorted(self.truth))

    @rule(side=sides)
    def reopen(self, side: int) -> None:
        self.stores[side].close()
        self.stores[side] = self._open()
        for namespace in self.truth:
            self.check(namespace)

    @precondition(lambda self: any(truth.facts for truth in self.truth.values()))
    @rule(side=sides, namespace=namespaces)
    def maintain(self, side: int, namespace: str) -> None:
        engine = self._engine(side, namespace)
        assert all(finding.ok for finding in engine.doctor(repair=True))
        engine.check_drift()
        list(engine.store.maintain())
        self.check(namespace)

    @rule()
    def back_up(self) -> None:
        """A backup is a store that says the same."""
        if self.truth:
            back_up(self.location, self.folder / "backup.db", replace=True)
            self.saved = {name: truth.copy() for name, truth in self.truth.items()}
            with fivefold.store(self.folder / "backup.db", embedder=Toy()) as store:
                assert store.namespaces() == tuple(sorted(self.truth))
                for namespace, truth in self.truth.items():
                    same(truth, store.namespace(namespace))
            back_up(self.location, self.folder / "backup.db", replace=True)

    @precondition(lambda self: self.saved is not None and "://" not in self.location)
    @rule()
    def restore(self) -> None:
        assert self.saved is not None
        for store in self.stores:
            store.close()
        restore(self.folder / "backup.db", self.location, replace=True)
        self.stores = [self._open(), self._open()]
        self.truth = {name: truth.copy() for name, truth in self.saved.items()}
        for namespace in self.truth:
            self.check(namespace)

    # both connections at the same time

    @rule(namespace=namespaces, size=st.integers(1, 5))
    def both_write(self, namespace: str, size: int) -> None:
        facts = [[self._new(session_id=f"both {side}") for _ in range(size)] for side in (0, 1)]
        engines = [self._engine(side, namespace) for side in (0, 1)]
        at_once(
            lambda: engines[0].remember_many(map(record, facts[0])),
            lambda: [engines[1].remember(**record(fact)) for fact in facts[1]],  # type: ignore[arg-type]
        )
        self.truth[namespace].add(*facts[0], *facts[1])
        self.check(namespace)

    @rule(namespace=namespaces, pick=picks)
    def both_change(self, namespace: str, pick: int) -> None:
        """One pins a memory and the other changes it; both take effect."""
        fact = self._pick(namespace, pick)
        if fact is not None:
            new = self._new()
            engines = [self._engine(side, namespace) for side in (0, 1)]
            at_once(
                lambda: engines[0].pin(fact.id),
                lambda: engines[1].update(fact.id, content=new.content, expires_at=ENDS["later"]),
            )
            self.truth[namespace].change(fact.id, pinned=True, content=new.content, ends="later")
            self.check(namespace)

    # what holds after each step

    def check(self, namespace: str) -> None:
        truth = self.truth[namespace]
        for store in self.stores:
            same(truth, store.namespace(namespace))
        searched(truth, self.stores[next(self.numbers) % 2].namespace(namespace))
        for other in self.truth:
            if other != namespace and truth.facts:
                last = truth.listed()[-1]
                if last.id not in self.truth[other].facts:
                    absent(last.word, self.stores[0].namespace(other))

    def teardown(self) -> None:
        try:
            for namespace in self.truth:
                for store in self.stores:
                    wrong = [finding for finding in store.namespace(namespace).doctor() if not finding.ok]
                    assert wrong == []
        finally:
            for store in self.stores:
                store.close()
            self.open_things.close()


def at_once(*acts: Callable[[], object]) -> None:
    """Run all of them in threads; the first error is raised."""
    errors: list[BaseException] = []

    def run(act: Callable[[], object]) -> None:
        try:
            act()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(act,)) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
