"""Reading one namespace. Every part is scoped to it: no method can name another namespace (R12)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Protocol

from fivefold.stores.protocol.values import (
    DensePreparation,
    Feedback,
    LinkedPair,
    PastQuestion,
    Succession,
    VectorSpace,
)
from fivefold.stores.queries import AliasMatch, Arm, Composite, FusedHit, Walk
from fivefold.values.entities import Edge, Entity, Extraction
from fivefold.values.filters import EVERYTHING, Filter
from fivefold.values.memory import Memory, Session, Type
from fivefold.values.recall_trace import RouteHit
from fivefold.values.reports import Link, ReadKind, Stats
from fivefold.values.vectors import Matrix, Vector, VectorField


class MemoryReader(Protocol):
    """Memories by id, by row, by page, and the links between them."""

    def get(self, id: str) -> Memory | None:
        """The memory with that id."""

    def get_many(self, ids: Sequence[str]) -> dict[str, Memory]:
        """The memories with these ids, by id; ids without a memory are left out."""

    def fetch(self, rows: Sequence[int]) -> dict[int, Memory]:
        """The memories at these rows, by row; rows without a memory are left out."""

    def fetch_with_ids(self, rows: Sequence[int], others: Sequence[int]) -> tuple[dict[int, Memory], dict[int, str]]:
        """The memories at `rows` and only the ids of those at `others`, by row, in one round trip."""

    def existing_ids(self, ids: Sequence[str]) -> set[str]:
        """Which of these ids the namespace has."""

    def existing_notes(self, hashes: Sequence[bytes]) -> set[bytes]:
        """Which of these content hashes are those of a note that is not superseded."""

    def scan(self, after: int = 0, size: int = 500) -> list[tuple[Memory, Extraction]]:
        """Memories with their extraction in the order of their rows, beginning after a row."""

    def last_written(self, until: datetime) -> datetime | None:
        """When the latest memory was written, of those that were not written after `until`."""

    def page(self, keep: Filter, after: tuple[int, int] | None, limit: int) -> list[Memory]:
        """Memories that pass the filter, latest event first; `after` is event time in µs and row of the last one.

        Without a kind, session memories are left out, which only repeat their turns.
        """

    def expired(self, now: datetime, limit: int | None = None) -> list[Memory]:
        """Memories that have expired by `now` and are not pinned, those that expired first come first."""

    def has_type(self, type: Type, at_least: int) -> bool:
        """Whether there are at least that many memories of the type."""

    def links(self, rows: Sequence[int]) -> dict[int, list[Link]]:
        """What each of these memories equals, supersedes, repeats or likely replaces, by row, in order of targets."""

    def linked(self, relation: ReadKind, after: tuple[int, int] | None = None, limit: int = 500) -> list[LinkedPair]:
        """The links of that kind between two memories that are not superseded, the newest by the row of their source.

        `after` is source and target, by row, of the last one seen.
        """

    def links_around(self, row: int, among: Sequence[int]) -> list[Link]:
        """All links of a memory in both directions, and those between two of the memories in `among`."""

    def successions(self, rows: Sequence[int]) -> list[Succession]:
        """Which memory replaces which, surely or likely, where either of them is one of these; by both rows.

        What is pinned is not likely replaced.
        """

    def named_times(self, rows: Sequence[int]) -> dict[int, tuple[tuple[datetime, datetime], ...]]:
        """The stretches of time that these memories name, by row, in time order; memories without any are left out."""

    def lineage(self, row: int) -> list[Memory]:
        """A memory with all that it supersedes and all that supersedes it, in any number of steps; oldest first."""

    def event_span(self) -> tuple[datetime, datetime] | None:
        """When the oldest and the newest memory happened; None where there is no memory."""


class SearchReader(Protocol):
    """The searches of the routes, each among the memories that pass its filter, as if the others were not there.

    Statistics such as document frequencies are those of all memories. A tie in the score goes to the smaller row.
    """

    def vector_space(self) -> VectorSpace | None:
        """The active vector space, if anything was embedded yet."""

    def dense(self, space: VectorSpace, where: VectorField, vector: Vector, depth: int, keep: Filter) -> list[RouteHit]:
        """The memories whose vectors of that field have the highest cosine similarity.

        Of the field `passage` a memory may have several hits, each with its `part`; a tie goes to the smaller part.
        Of the fields `user`, `assistant` and `next_user` single turns are paired: a turn has the vector of its whole
        text as its own side, an answer that of the turn before it as the user's, and a turn that of the user's next
        one. They are found among the nearest whole texts, at least three times as many as are wanted.
        """

    def prepare_dense(self, space: VectorSpace, where: VectorField) -> DensePreparation:
        """Load what a dense search of that field needs; a store that loads nothing need not define it."""
        return DensePreparation()

    def dense_each(
        self, space: VectorSpace, where: VectorField, vectors: Sequence[Vector], depth: int
    ) -> list[list[RouteHit]]:
        """What `dense` finds for each of these vectors without a filter, in their order."""

    def lexical(
        self, lexemes: Sequence[str], depth: int, keep: Filter, *, sessions: bool = False, multiplied: bool = False
    ) -> list[RouteHit]:
        """The best by BM25 (k1 = 1.2, b = 0.75) over memories with any of the lexemes; a predicate weighs 4 (R4).

        A place in the predicate counts as four in the content, or, if `multiplied`, as one, and the share of its lexeme
        in the score is four times as large. Turns and notes are searched, or `sessions`.
        """

    def temporal(
        self, start: datetime, end: datetime, depth: int, keep: Filter = EVERYTHING, *, named: bool = False
    ) -> list[RouteHit]:
        """Events of the half-open window, each with score 1: in order, or the nearest to its centre if too many.

        With `named`, those follow that were said at another time and name a stretch overlapping it, scored and
        noted as by `within`, the nearest to the centre first.
        """

    def within(self, start: datetime, end: datetime, depth: int, keep: Filter = EVERYTHING) -> list[RouteHit]:
        """Turns and notes of any type that were said in the half-open window, or that name a stretch overlapping it.

        The score is 1; for a stretch more than a day longer than the window, the window's length over the stretch's.
        The note says which of both. In time order, or the nearest to the window's centre if there are too many; a
        stretch is as far away as the further of its ends.
        """

    def rrf(
        self,
        space: VectorSpace | None,
        vector: Vector | None,
        lexemes: Sequence[str],
        arms: Sequence[Arm],
        k: float,
        keep: Filter = EVERYTHING,
    ) -> list[FusedHit]:
        """Search all arms and fuse them by reciprocal rank, weight / (k + rank), in the store itself (M3).

        Where an arm searches passages, a memory has the rank of its nearest one.
        """

    def composite(
        self, space: VectorSpace, vector: Vector, how: Composite, keep: Filter = EVERYTHING
    ) -> list[FusedHit]:
        """The nearest memories scored by similarity, recency and frequency in the store itself (D1, D9)."""

    def patterns(self, space: VectorSpace, where: VectorField, vector: Vector, size: int, keep: Filter) -> Matrix:
        """The vectors nearest to a vector, one a row."""

    def vectors(self, space: VectorSpace, rows: Sequence[int]) -> dict[int, Vector]:
        """The vector of the full text of each of these memories, or of the session for a session memory."""

    def token_vectors(self, space: VectorSpace, passages: Sequence[tuple[int, int]]) -> dict[tuple[int, int], bytes]:
        """The token vectors of passages, by row and part; passages without any are left out."""

    def passage_vectors(self, space: VectorSpace, rows: Sequence[int]) -> dict[int, Matrix]:
        """The vectors of all passages of these memories in their order; memories of one passage are left out."""

    def latest_with(self, lexemes: Sequence[str], limit: int) -> list[int]:
        """The rows of the latest memories with any of the lexemes, unranked."""

    def vocabulary(self, most: int, prefix: str = "") -> list[str]:
        """The lexemes of most memories, session memories left out; ties in the order of the lexemes.

        With a prefix, only those that begin with it.
        """


class GraphReader(Protocol):
    """Entities, the edges between them, and the memories that mention them."""

    def entities(self, alias: str | None, limit: int, after: tuple[int, int] | None = None) -> list[Entity]:
        """Entities with that alias, or all but topics; most mentioned first, `after` is mentions and key."""

    def entities_by_key(self, keys: Sequence[int]) -> list[Entity]:
        """The entities with these keys, in the order of their keys."""

    def edges(self, entity: int, limit: int, after: tuple[int, float, int] | None = None) -> list[Edge]:
        """Edges of an entity: stated ones before co-mentions, then by confidence and key.

        `after` is 1 for a co-mention, else 0, then the confidence and the key of the last one.
        """

    def find_aliases(self, aliases: Sequence[str]) -> list[AliasMatch]:
        """The entities known under any of these aliases, in the order of the aliases, then by key."""

    def find_related(self, entity: int, relations: Sequence[str], inverse: bool) -> list[Entity]:
        """The entities that a current edge of one of these relations leads to, or comes from when `inverse`."""

    def mentions(self, ids: Sequence[str], entities: Sequence[int]) -> dict[str, set[int]]:
        """Which of these entities each of these memories mentions; memories without any are left out."""

    def neighbours_of(self, alias: str, entities: Sequence[int]) -> list[int]:
        """Which of these entities share an edge with an entity of that alias."""

    def count_mentions(self, rows: Sequence[int], entities: Sequence[int]) -> dict[int, int]:
        """In how many of these memories each of these entities is mentioned; entities without any are left out."""

    def memories_about(self, entity: int, limit: int, after: tuple[int, int] | None = None) -> list[Memory]:
        """Memories that mention an entity, latest event first; `after` is event time in µs and row of the last one."""

    def walk(
        self, roots: Sequence[tuple[int, float]], how: Walk, depth: int, keep: Filter = EVERYTHING
    ) -> list[RouteHit]:
        """Memories that mention an entity within reach of the roots, by their best path; the path is the hit's note."""


class SessionReader(Protocol):
    """Conversations: their turns and the log of sessions."""

    def page(self, limit: int, after: tuple[int, str] | None = None) -> list[Session]:
        """Sessions, the last one to end first; `after` is the end in µs and the id of the last one."""

    def turns(self, session_id: str) -> list[Memory]:
        """The turns of a session in their order."""

    def last_turns(self, session_id: str | None, now: datetime, most: int) -> list[Memory]:
        """The last turns by that time, oldest first: of that session, or of the one with the latest turn."""

    def neighbours(self, rows: Sequence[int]) -> dict[int, tuple[int | None, int | None]]:
        """The rows of the turn before and the turn after each of these turns in its session."""

    def memory_rows(self, session_ids: Sequence[str]) -> dict[str, int]:
        """The rows of the session memories of these sessions; sessions without one are left out."""

    def before(self, now: datetime, limit: int) -> list[Session]:
        """The sessions that had ended before that time, the last one to end first."""

    def last_end(self, before: datetime) -> datetime | None:
        """When the last session ended that had ended before that time."""


class FeedbackReader(Protocol):
    """The log of recalls, and which of their memories were used."""

    def returned_ids(self, recall_id: str) -> tuple[str, ...] | None:
        """The ids that a logged recall returned, best first; a recall that is asked for is durable from then on."""

    def returned_since(self, since: datetime, most: int) -> list[str]:
        """The ids that the last recalls since a time returned, those of the latest recall first, each once."""

    def past_questions(self, name: str, most: int) -> list[PastQuestion]:
        """Those of the last `most` recalls whose question contains a name in any case, the latest first."""

    def signals(self, recall_id: str) -> dict[str, Any] | None:
        """The signals that were logged with a recall."""

    def latest(self, most: int) -> list[Feedback]:
        """The latest recalls with feedback, oldest first."""

    def count(self) -> int:
        """How many recalls have feedback."""


class AdminReader(Protocol):
    """Settings, learned values and figures of the namespace."""

    def settings(self) -> dict[str, Any]:
        """The namespace's settings; empty where nothing was set."""

    def learned_value(self, name: str) -> dict[str, Any] | None:
        """The JSON object that was saved under a name."""

    def stats(self) -> Stats:
        """How many of everything there are."""


class Reader(Protocol):
    """A namespace as a recall sees it; one that nothing was written to reads as empty."""

    @property
    def namespace(self) -> str: ...
    @property
    def memories(self) -> MemoryReader: ...
    @property
    def search(self) -> SearchReader: ...
    @property
    def graph(self) -> GraphReader: ...
    @property
    def sessions(self) -> SessionReader: ...
    @property
    def feedback(self) -> FeedbackReader: ...
    @property
    def admin(self) -> AdminReader: ...

    def exists(self) -> bool:
        """Whether anything was ever written to the namespace."""
