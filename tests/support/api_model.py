"""A simple truth about a store: what each namespace has to say after a history of operations."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from fivefold.engine import Engine
from fivefold.values.memory import Memory


@dataclass(frozen=True)
class Fact:
    """A memory as the truth knows it."""

    id: str
    content: str
    session_id: str | None = None
    speaker: str | None = None
    tags: tuple[str, ...] = ()
    number: int = 0
    pinned: bool = False
    ends: str = "never"
    """When it expires: never, gone (long ago) or later."""
    superseded_by: str | None = None

    @property
    def word(self) -> str:
        """The word that no other text has."""
        return self.content.split()[1]

    @property
    def alive(self) -> bool:
        """Whether a recall may find it."""
        return self.superseded_by is None and (self.pinned or self.ends != "gone")


@dataclass
class Truth:
    """One namespace: its memories by id, the words of all that is gone, and the relations that were made by hand."""

    facts: dict[str, Fact] = field(default_factory=dict)
    dead: list[str] = field(default_factory=list)
    edges: dict[int, tuple[str, str]] = field(default_factory=dict)
    ordered: bool = True
    """Whether the turns of a session are in the order in which they were added; not after an import."""

    def copy(self) -> Truth:
        return Truth(dict(self.facts), list(self.dead), dict(self.edges), self.ordered)

    def add(self, *facts: Fact) -> None:
        self.facts.update({fact.id: fact for fact in facts})

    def change(self, id: str, **changes: object) -> None:
        old = self.facts[id]
        self.facts[id] = replace(old, **changes)  # type: ignore[arg-type]
        if self.facts[id].content != old.content:
            self.dead.append(old.word)

    def remove(self, *ids: str) -> None:
        """What a memory replaced has its successor, or holds again."""
        for id in ids:
            gone = self.facts.pop(id)
            self.dead.append(gone.word)
            successor = gone.superseded_by if gone.superseded_by in self.facts else None
            for fact in list(self.facts.values()):
                if fact.superseded_by == id:
                    self.facts[fact.id] = replace(fact, superseded_by=successor)

    def sessions(self) -> dict[str, list[str]]:
        """The ids of the turns of each session, in order."""
        found: dict[str, list[str]] = {}
        for fact in self.facts.values():
            if fact.session_id is not None:
                found.setdefault(fact.session_id, []).append(fact.id)
        return found

    def listed(self) -> list[Fact]:
        return sorted(self.facts.values(), key=lambda fact: fact.id)


def fact_of(memory: Memory, now_year: int = 2024) -> Fact:
    """A memory of a store as the truth would know it."""
    ends = "never" if memory.expires_at is None else "gone" if memory.expires_at.year < now_year else "later"
    return Fact(
        memory.id,
        memory.content,
        memory.session_id,
        memory.speaker,
        memory.tags,
        memory.metadata.get("number", 0),
        memory.pinned,
        ends,
        memory.superseded_by,
    )


def record(fact: Fact) -> dict[str, object]:
    return {
        "id": fact.id,
        "content": fact.content,
        "session_id": fact.session_id,
        "speaker": fact.speaker,
        "tags": fact.tags,
        "pinned": fact.pinned,
        "metadata": {"number": fact.number},
    }


def same(truth: Truth, engine: Engine) -> None:
    """Listing, filters, counts, sessions and relations say what the truth says."""
    listed = sorted(map(fact_of, engine.memories(limit=500)), key=lambda fact: fact.id)
    assert listed == truth.listed()
    red = sorted(memory.id for memory in engine.memories(filter="tag:red", limit=500))
    assert red == [fact.id for fact in truth.listed() if "red" in fact.tags]
    stats, sessions = engine.stats(), truth.sessions()
    assert stats.by_kind.get("note", 0) == sum(fact.session_id is None for fact in truth.facts.values())
    assert stats.by_kind.get("session", 0) == stats.sessions == len(sessions)
    assert stats.superseded == sum(fact.superseded_by is not None for fact in truth.facts.values())
    for session, turns in sessions.items():
        found = [memory.id for memory in engine.turns(session)]
        assert found == turns if truth.ordered else sorted(found) == sorted(turns)
    for key, (name, _) in truth.edges.items():
        assert [edge.id for edge in engine.graph.edges(name)] == [key]


def searched(truth: Truth, engine: Engine) -> None:
    """The latest words are found where they live, and the latest that are gone are nowhere."""
    for fact in truth.listed()[-2:]:
        found = [hit.memory.id for hit in engine.recall(fact.word, recipe="lexical").hits]
        assert (fact.id in found) == fact.alive or fact.superseded_by is not None
    living = {fact.word for fact in truth.facts.values()}  # an import brings back what was forgotten
    for word in truth.dead[-2:]:
        if word not in living:
            absent(word, engine)


def absent(word: str, engine: Engine) -> None:
    assert not [hit for hit in engine.recall(word, recipe="lexical").hits if word in hit.memory.content]
    assert not engine.memories(text=word)
    assert not engine.memories(text=word, kind="session")
