"""Moving namespaces from store to store, SQLite and PostgreSQL in any pairing, with all their vectors.

Rows are copied a batch at a time. Each batch is one transaction of the target, and notes in it how far the copy has
come, so that a killed run continues from there. At the end the rows and checksums of both sides are compared.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from time import monotonic

from fivefold.errors import Call, InvalidInput, MissingExtra, NotFound, StoreError, UnfinishedCopy
from fivefold.learning.reranker import reranker_store
from fivefold.stores import POSTGRES, open_store
from fivefold.stores.interface import Store, Writer
from fivefold.stores.sql.snapshot import Snapshot
from fivefold.stores.tables import (
    COPY_MARK,
    FAMILIES,
    MEMORIES,
    MEMORY_COLUMNS,
    NAMESPACES,
    TABLES,
    Family,
    Row,
    Table,
    memory_of,
)
from fivefold.text.display import bar
from fivefold.values.entities import Extraction
from fivefold.values.serialize import Value
from fivefold.writing.draft import index_entry

BATCH_ROWS = 2_000
BATCH_SIZE = 16_000_000
"""Rows, and characters or bytes, that are copied together."""

Advance = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Check(Value):
    """A table of a namespace: how many rows, and the SHA-256 of all of them, keys counted from the first."""

    table: str
    rows: int
    checksum: str


@dataclass(frozen=True, slots=True)
class Migration(Value):
    """A namespace that is in the target as it is in the source."""

    namespace: str
    memories: int
    vectors: int
    checksum: str
    """The SHA-256 of the checksums of all tables."""
    seconds: float
    tables: tuple[Check, ...]


@dataclass(frozen=True, slots=True)
class _Copy(Value):
    """The state of a copy; the target stores it until the copy is complete."""

    source: str
    store: str
    counts: Mapping[str, int]
    last: Mapping[Family, int]
    shift: Mapping[Family, int]
    table: str = NAMESPACES.name
    after: Sequence[object] = ()


def migrate(
    source: str,
    target: str,
    namespaces: Sequence[str] = (),
    *,
    restart: bool = False,
    progress: bool = False,
    live: bool = False,
) -> list[Migration]:
    """Copy these namespaces, or all, from one store to another; nothing is written to the source.

    After an interruption, the next run continues from there; with `restart` it begins again. Writes to the source
    meanwhile make it fail, or are left out if it is `live`.
    """
    for location in (source, target):
        if location in ("", ":memory:"):
            raise InvalidInput("a migration goes from one file or PostgreSQL address to another; name both")
    _must_be_there(source)
    with closing(open_store(source)) as origin:
        chosen = _choose(origin, namespaces)
        with closing(open_store(target)) as goal:
            with origin.snapshot(chosen[0]) as one, goal.snapshot(chosen[0]) as other:
                if one.store == other.store:
                    raise InvalidInput("source and target are the same store; name another target")
            of = f"of {len(chosen)} namespaces"
            return [
                _move(origin, goal, name, restart, f"{number} {of}" if len(chosen) > 1 else "rows", progress, live)
                for number, name in enumerate(chosen, 1)
            ]


def _must_be_there(location: str) -> None:
    """Opening a store creates it; a source must not be created."""
    there = "://" in location or os.path.exists(location)
    if location.startswith(POSTGRES):
        try:
            from fivefold.stores.postgres.store import is_there
        except ImportError:
            raise MissingExtra("a PostgreSQL store", "postgres") from None
        there, location = is_there(location)
    if not there:
        raise NotFound(f"there is no store at {location!r} to copy from")


def _choose(origin: Store, names: Sequence[str]) -> list[str]:
    for name in names:
        if not origin.reader(name).exists():
            known = origin.namespaces()
            hint = f"there are: {', '.join(known)}" if known else "it holds nothing yet"
            raise NotFound(f"there is no namespace {name!r} in {origin.location!r}; {hint}")
    chosen = list(dict.fromkeys(names or origin.namespaces()))
    if not chosen:
        raise NotFound(f"{origin.location!r} holds nothing yet; there is nothing to copy")
    return chosen


def _move(
    origin: Store, goal: Store, namespace: str, restart: bool, which: str, progress: bool, live: bool
) -> Migration:
    """Copy, compare, and only then remove the mark that the copy is unfinished."""
    began = monotonic()
    with ExitStack() as looks:
        look = looks.enter_context(origin.snapshot(namespace))
        copy = _begin(origin, goal, namespace, look, restart)
        if copy is not None:
            with bar(f"Copying {which}", sum(copy.counts.values()), show=progress) as advance:
                copy = _copy_rows(goal, namespace, look, copy, advance)
        total = 2 * sum(look.counts().values())
        if not live:
            looks.close()
            look = looks.enter_context(origin.snapshot(namespace))
        with bar(f"Checking {which}", total, show=progress) as advance:
            tables = _compare(look, goal, namespace, copy, advance)
    learned, reranker = reranker_store(origin, namespace).load(), reranker_store(goal, namespace)
    if learned.verdict is not None:  # each store keeps it in its own way, outside its rows
        reranker.save(learned.ranker, learned.verdict)
    elif reranker.load().verdict is not None:
        reranker.remove()
    if copy is not None:
        with goal.write(namespace) as txn:
            _must_stand(txn, goal, copy)
            txn.admin.save_learned_value(COPY_MARK, None)
    rows = {item.table: item.rows for item in tables}
    whole = hashlib.sha256("\n".join(item.checksum for item in tables).encode()).hexdigest()
    return Migration(namespace, rows["memories"], rows["vectors"], whole, round(monotonic() - began, 3), tables)


def _begin(origin: Store, goal: Store, namespace: str, look: Snapshot, restart: bool) -> _Copy | None:
    """The copy as the target has recorded it, or a new one; None if all of it seems to be there already."""
    if origin.reader(namespace).admin.learned_value(COPY_MARK) is not None:
        raise InvalidInput(
            f"namespace {namespace!r} of {origin.location!r} is itself an unfinished copy; finish it first"
        )
    where = f"namespace {namespace!r} of {goal.location!r}"
    with goal.write(namespace) as txn:
        stored, here = txn.admin.learned_value(COPY_MARK), txn.importer.snapshot()
        counts, last = look.counts(), _last(look)
        if stored is None:
            total = sum(count for table, count in here.counts().items() if table != NAMESPACES.name)
            if total or any(settings != "{}" for _, settings in here.rows(NAMESPACES)):
                if here.counts() == counts:
                    return None
                raise InvalidInput(_occupied(where))
        else:
            copy = _Copy(**stored)
            if not all(  # all keys of the target are among those reserved for the copy
                copy.shift[family] < low and high <= copy.shift[family] + copy.last[family]
                for family, (low, high) in here.bounds().items()
                if high
            ):
                raise InvalidInput(
                    f"{where} was written to while it was being copied; forget what was added, or name another target"
                )
            if not restart:
                if copy.store != look.store:
                    raise UnfinishedCopy(f"{where} holds an unfinished copy of {copy.source!r}")
                if (copy.counts, copy.last) != (counts, last):
                    raise UnfinishedCopy(f"{origin.location!r} has changed since its copy to {where} began")
                return copy
            txn.importer.clear()
        copy = _Copy(origin.location, look.store, counts, last, txn.importer.reserve_keys(last))
        txn.admin.save_learned_value(COPY_MARK, copy.to_dict())
    return copy


def _occupied(where: str) -> str:
    return f"{where} already holds something else; name another file or schema as the target"


def _last(look: Snapshot) -> dict[Family, int]:
    bounds = look.bounds()
    return {family: bounds[family][1] for family in FAMILIES}


def _copy_rows(goal: Store, namespace: str, look: Snapshot, copy: _Copy, advance: Advance) -> _Copy:
    """Copy what is left, a batch at a time; returns the copy as the target records it at the end."""
    names = [table.name for table in TABLES]
    done = names.index(copy.table)
    advance(sum(copy.counts[name] for name in names[:done]))
    for table in TABLES[done:]:
        after = copy.after if table.name == copy.table else ()
        for batch in _batches(look.rows(table, after)):
            rows = [table.shift_keys(row, copy.shift) for row in batch]
            stored = [memory_of(namespace, row[: len(MEMORY_COLUMNS)]) for row in rows] if table is MEMORIES else []
            entries = [index_entry(memory, Extraction()) for memory in stored]  # as their words are indexed
            with goal.write(namespace) as txn:
                _must_stand(txn, goal, copy)
                txn.importer.import_rows(table, rows)
                for entry in entries:
                    txn.index.lexemes.add(entry.memory.row, entry)
                copy = replace(copy, table=table.name, after=table.position(batch[-1]))
                txn.admin.save_learned_value(COPY_MARK, copy.to_dict())
            advance(len(batch))
    return copy


def _batches(rows: Iterable[Row]) -> Iterator[list[Row]]:
    batch: list[Row] = []
    size = 0
    for row in rows:
        batch.append(row)
        size += sum(len(value) for value in row if isinstance(value, str | bytes))
        if len(batch) == BATCH_ROWS or size >= BATCH_SIZE:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _must_stand(txn: Writer, goal: Store, copy: _Copy) -> None:
    if txn.admin.learned_value(COPY_MARK) != copy.to_dict():
        raise StoreError(f"another process is copying to {goal.location!r}; let it finish")


def _compare(one: Snapshot, goal: Store, namespace: str, copy: _Copy | None, advance: Advance) -> tuple[Check, ...]:
    """Compare every table of both sides; the copy is complete only if they are equal."""
    results = []
    with goal.snapshot(namespace) as other:
        firsts = [{family: -least for family, (least, _) in look.bounds().items()} for look in (one, other)]
        for table in TABLES:
            ours, theirs = (
                _check_table(look, table, first, advance) for look, first in zip((one, other), firsts, strict=True)
            )
            if ours != theirs and copy is None:
                raise InvalidInput(_occupied(f"namespace {namespace!r} of {goal.location!r}"))
            if ours != theirs:
                raise StoreError(
                    f"{table.name} of namespace {namespace!r} differ: {ours.rows} rows in the source, {theirs.rows} in "
                    f"the target{'' if ours.rows != theirs.rows else ', not the same'}; one of them has changed",
                    advice="run it again with {call}",
                    call=Call(arguments={"restart": True}),
                )
            results.append(ours)
    return tuple(results)


def _check_table(look: Snapshot, table: Table, first: Mapping[Family, int], advance: Advance) -> Check:
    """Keys are counted from the first, so that the sum is the same wherever they begin."""
    total, rows = hashlib.sha256(), 0
    for row in look.rows(table):
        line = json.dumps(table.canonical(row, first), ensure_ascii=False, default=bytes.hex)
        total.update(f"{line}\n".encode())
        rows += 1
        if rows % BATCH_ROWS == 0:
            advance(BATCH_ROWS)
    advance(rows % BATCH_ROWS)
    return Check(table.name, rows, total.hexdigest())
