"""Writing to one namespace: the parts of one transaction."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

from fivefold.stores.protocol.snapshot import Snapshot
from fivefold.stores.protocol.values import Entry, LoggedRecall, NewEdge, SpaceState, VectorSpace
from fivefold.stores.protocol.write_queue import QueueWriter
from fivefold.stores.tables import Family, Row, Table
from fivefold.values.entities import Extraction, Mention, Statement
from fivefold.values.memory import Memory
from fivefold.values.reports import LinkKind
from fivefold.values.vectors import PassageVectors, Vector, VectorField


class MemoryWriter(Protocol):
    """Adds, replaces and removes memories with all that is derived from them."""

    def preload(self, mentions: Sequence[Mention], hashes: Sequence[bytes]) -> None:
        """Look up in one step what a batch will mention and may repeat; may do nothing."""

    def add(self, entry: Entry) -> int:
        """Store a memory with its lexemes, vectors, statements, named times, mentions and relations; gives its row."""

    def replace(self, row: int, entry: Entry) -> None:
        """Store an entry in place of the memory at that row, and derive everything again.

        What it likely replaces or repeats is no longer linked: that was read out of the text before.
        """

    def remove(self, row: int) -> None:
        """Delete a memory, everything derived from it, and the recalls and stored responses that name it.

        What it superseded is superseded by the memory that superseded it, or is current again.
        A mark of it stays.
        """

    def get(self, id: str) -> Memory | None:
        """The memory with that id, as this transaction sees it."""

    def existing_ids(self, ids: Sequence[str]) -> set[str]:
        """Which of these ids the namespace has, as this transaction sees it."""

    def by_row(self, row: int) -> Memory | None:
        """The memory at that row, as this transaction sees it."""

    def scan(self, after: int = 0, size: int = 500) -> list[tuple[Memory, Extraction]]:
        """Memories with their extraction in the order of their rows, as this transaction sees them."""

    def find_note(self, content_hash: bytes) -> int | None:
        """The first row of a current note with that content."""

    def find_earlier_equal(self, content_hash: bytes, before: int) -> int | None:
        """The last row before another with the same content."""

    def count_repeat(self, row: int, tags: Sequence[str]) -> None:
        """A memory was given again: its `seen_count` grows by one and it gets the new tags too."""

    def count_echo(self, row: int) -> None:
        """A memory that was recalled was stored again by the assistant or a tool: its `echo_count` grows by one."""

    def set_life(self, row: int, expires_at: datetime | None, pinned: bool) -> None:
        """Change when a memory expires and whether it is pinned, and nothing else of it."""

    def link(self, source: int, target: int, relation: LinkKind, why: str, chance: float = 1.0) -> None:
        """Link two memories; a link that exists stays as it is.

        A sure replacement takes the place of a likely one and of a near-duplicate, which are not added where there is
        a sure one.
        """


class ForgottenMarks(Protocol):
    """What was forgotten, by keyed digests of ids, texts and sessions."""

    def add(self, memory: Memory, content_hash: bytes) -> None:
        """Mark a memory as forgotten."""

    def look_up(self, memories: Sequence[tuple[Memory, bytes]]) -> None:
        """Read in one step which of these were forgotten, each with the hash of its content; may do nothing."""

    def has(self, memory: Memory, content_hash: bytes) -> bool:
        """Whether a memory was forgotten: a turn or an import by its source, any other by its id and text."""

    def has_session(self, session_id: str) -> bool:
        """Whether a turn of a session was forgotten, so that an older memory of the session may have its text."""

    def lift(self, id: str) -> int:
        """Take away the mark of a memory, or those of a session; gives how many there were."""


class VectorWriter(Protocol):
    """Vector spaces and the vectors in them (R3)."""

    def pin(self, embedder: str, dimension: int, tokens: bool = False) -> VectorSpace:
        """The active space; the first call in a namespace opens it for that model, which may give token vectors."""

    def space(self, state: SpaceState) -> VectorSpace | None:
        """The space in that state."""

    def open_space(self, embedder: str, dimension: int, state: SpaceState, tokens: bool = False) -> VectorSpace:
        """A new, empty space, with token vectors or without."""

    def drop_space(self, state: SpaceState) -> None:
        """Delete a space with its vectors, if there is one."""

    def switch_space(self) -> None:
        """Make the building space the active one, and delete the old one."""

    def missing(self, state: SpaceState, limit: int) -> list[tuple[Memory, Extraction]]:
        """Memories without the vector that every memory of their kind has, session memories last.

        In a space with token vectors also memories without any; session memories have none.
        """

    def put(
        self,
        memory: Memory,
        vectors: Mapping[VectorField, Vector],
        state: SpaceState,
        passages: Sequence[PassageVectors] = (),
    ) -> None:
        """Store vectors of a stored memory in place of those it has of the same fields.

        The one passage of a short text comes with the vector of the full text, and a new vector of the full text
        replaces all passages. A space without token vectors stores none.
        """

    def drop_fields(self, row: int, fields: Sequence[VectorField], state: SpaceState) -> None:
        """Delete the vectors of these fields of a memory in one space, if there is one, with their token vectors."""

    def get(self, rows: Sequence[int], where: VectorField, state: SpaceState = "active") -> dict[int, Vector]:
        """The vectors of one field of these memories, by row."""


class IndexWriter(Protocol):
    """Everything that can be derived again from the memories and their extraction."""

    def clear(self) -> None:
        """Delete lexemes, mentions, statements, named times, vectors without a memory, and edges not made by hand."""

    def add(self, row: int, entry: Entry) -> None:
        """Derive everything of one stored memory."""

    def finish_rebuild(self) -> None:
        """Delete entities that nothing mentions, end superseded statements, and count the sessions again."""

    def add_lexemes(self, row: int, entry: Entry) -> None:
        """Put only a memory's lexemes into the lexical index."""

    def rebuild_lexical(self, entries: Iterable[Entry]) -> None:
        """Build the lexical index from the entries of all memories."""


class StatementWriter(Protocol):
    """Statements (subject, attribute, value) of memories: which hold, and which ended by what."""

    def current(self, subject: str, attribute: str) -> list[tuple[int, Statement]]:
        """The statements that hold for a subject and an attribute with their memories' rows, latest row first."""

    def current_with_value(self, value: str) -> list[Statement]:
        """The statements that hold and whose value begins with these words, ASCII letters compared without case."""

    def of_memory(self, row: int) -> list[Statement]:
        """All statements of a memory, also those that ended."""

    def add(self, row: int, statements: Sequence[Statement]) -> None:
        """Add statements of a memory; those it has already stay as they are."""

    def end(self, row: int, statement: Statement, by: int) -> int:
        """End a memory's statements with that value by another memory; gives how many of its statements still hold."""

    def end_superseded(self, row: int | None = None) -> None:
        """End the statements that a superseding memory states again; of one memory, or of the whole namespace."""

    def supersede(self, old: Memory, new: Memory, why: str) -> None:
        """A memory replaces another, which is valid until the new one's event time."""

    def reinstate(self, row: int) -> None:
        """A superseded memory is current again with all its statements, until the end its caller gave it.

        What was likely to replace it no longer is.
        """

    def reinstate_ended_by(self, row: int) -> None:
        """Reinstate what this memory superseded by its wording; what it replaced by hand stays superseded."""


class EntityWriter(Protocol):
    """Entities and their names."""

    def add(self, mention: Mention, by_hand: bool = False) -> int:
        """A new entity; a full name takes over the entity known only by its first or last name. Gives its key."""

    def add_alias(self, entity: int, alias: str) -> None:
        """Another name for an entity."""

    def rename(self, key: int, name: str) -> None:
        """Give an entity another name; the old one stays as an alias."""

    def merge(self, into: int, out: int) -> None:
        """Everything of `out` becomes `into`'s, and `out` is deleted."""

    def split(self, key: int, name: str, memories: Sequence[int]) -> int:
        """A new entity to which these memories' mentions of the old one go; gives its key."""


class EdgeWriter(Protocol):
    """Edges between entities."""

    def put(self, edge: NewEdge) -> int:
        """Add an edge or renew it: the earlier start, the higher confidence and the new end count. Gives its key."""

    def drop(self, key: int) -> bool:
        """Delete an edge; gives whether there was one."""


class SessionWriter(Protocol):
    """Turns in their order, and the log of sessions."""

    def turns(self, session_id: str) -> list[Memory]:
        """The turns of a session in their order."""

    def turn_before(self, session_id: str, row: int) -> Memory | None:
        """The turn just before this one in its session."""

    def turn_after(self, session_id: str, row: int) -> Memory | None:
        """The turn just after this one in its session."""

    def find_turn(self, session_id: str, content_hash: bytes, event_at: datetime) -> str | None:
        """The id of a turn with the same session, content and time."""

    def turns_followed_by(self, session_id: str, text: str) -> list[Memory]:
        """Turns of a session that have this as their `next_user_text`."""

    def set_next_text(self, row: int, text: str | None, vector: Vector | None) -> None:
        """Put the next user turn and its vector on the memory before it (M1), or remove both."""

    def log_turn(self, session_id: str, at: datetime) -> int:
        """Count a turn into the session log; gives the next free turn index."""

    def size(self, session_id: str) -> tuple[int, int, int | None]:
        """Turns of a session, turns that its memory was built from, and that memory's row."""

    def memory_row(self, session_id: str) -> int | None:
        """The row of the session's own memory."""

    def mark_built(self, session_id: str, row: int, turns: int) -> None:
        """Note the session's memory, and from how many turns it was built."""

    def recount(self, session_id: str) -> None:
        """Count a session again after one of its turns was removed; an empty one leaves the log."""


class FeedbackWriter(Protocol):
    """Which memories of a recall were used."""

    def mark_used(
        self, recall: LoggedRecall | str, rows: Sequence[int], at: datetime, refused: Sequence[int] = ()
    ) -> bool:
        """Note which memories were used and which were of no use; a repeat changes nothing, the last mark counts.

        A recall that is given whole is logged too. Gives whether these are the first of it that were used.
        """


class AdminWriter(Protocol):
    """Settings and learned values of the namespace."""

    def settings(self) -> dict[str, Any]:
        """The namespace's settings."""

    def save_settings(self, settings: Mapping[str, Any]) -> None:
        """Replace all settings."""

    def learned_value(self, name: str) -> dict[str, Any] | None:
        """The JSON object that was saved under a name."""

    def save_learned_value(self, name: str, value: Mapping[str, Any] | None) -> None:
        """Save a JSON object under a name; None deletes it."""


class SnapshotImporter(Protocol):
    """The receiving end of a copy from another store."""

    def snapshot(self) -> Snapshot:
        """The namespace as this transaction sees it."""

    def reserve_keys(self, last: Mapping[Family, int]) -> dict[Family, int]:
        """Reserve keys for a copy whose own keys go up to `last`; gives what to add to each key of a family."""

    def import_rows(self, table: Table, rows: Sequence[Row]) -> None:
        """Add rows of one table with their keys shifted; lexemes are added apart."""

    def clear(self) -> None:
        """Delete everything of the namespace but its name."""


class Writer(Protocol):
    """One transaction on a namespace: all of it happens, or nothing. The first one creates the namespace."""

    @property
    def memories(self) -> MemoryWriter: ...
    @property
    def forgotten(self) -> ForgottenMarks: ...
    @property
    def vectors(self) -> VectorWriter: ...
    @property
    def index(self) -> IndexWriter: ...
    @property
    def statements(self) -> StatementWriter: ...
    @property
    def entities(self) -> EntityWriter: ...
    @property
    def edges(self) -> EdgeWriter: ...
    @property
    def sessions(self) -> SessionWriter: ...
    @property
    def feedback(self) -> FeedbackWriter: ...
    @property
    def admin(self) -> AdminWriter: ...
    @property
    def queue(self) -> QueueWriter: ...
    @property
    def importer(self) -> SnapshotImporter: ...
