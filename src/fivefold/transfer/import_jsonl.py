"""Importing JSON lines: exported memories are restored as they were, other records are remembered."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from fivefold.models.embedders import Embedder
from fivefold.namespace import Namespace
from fivefold.stores.protocol import Writer
from fivefold.text.progress import bar
from fivefold.transfer.jsonl import check_lines, read_lines
from fivefold.values.memory import Record
from fivefold.values.reports import Link, Merged, Report
from fivefold.writing.draft import Draft
from fivefold.writing.duplicates import FORGOTTEN
from fivefold.writing.pipeline import batches, write_checked
from fivefold.writing.rebuild import fill, writing_model
from fivefold.writing.report import ReportBuilder
from fivefold.writing.secrets_in_records import refuse_secrets
from fivefold.writing.sessions import backfill_previous, log_turn, refresh_session
from fivefold.writing.turns import drop_readings_after

T = TypeVar("T", Draft, Record)


def import_jsonl(namespace: Namespace, path: Path, *, progress: bool = False) -> Report:
    """Check every line, then restore the exported memories and remember the rest. A second import adds nothing."""
    report = ReportBuilder()
    counts = check_lines(path, namespace.name)

    def lines(kind: type[T]) -> Iterator[T]:
        return (item for item in read_lines(path, namespace.name) if isinstance(item, kind))

    refuse_secrets(lines(Record) if counts[Record] else (), namespace.settings)
    if counts[Draft]:
        report.include(restore(namespace, partial(lines, Draft), progress=progress))
    if counts[Record]:
        report.include(write_checked(namespace, lines(Record), counts[Record], progress=progress))
    return report.build()


def restore(
    namespace: Namespace, read_drafts: Callable[[], Iterable[Draft]], *, progress: bool = False
) -> ReportBuilder:
    """Restore exported memories as they were: rows first, turns before their sessions, then the vectors.

    A session that was here before keeps its own memory, which is built again from all its turns. `read_drafts`
    starts with the first of them each time, so that they need not all fit in memory.
    """
    report, model = ReportBuilder(), writing_model(namespace)
    links: list[Link] = []
    session_ids: set[str] = set()
    for sessions in (False, True):
        for batch in batches(item for item in read_drafts() if (item.memory.kind == "session") == sessions):
            _restore_batch(namespace, model, batch, report)
            links += [link for item in batch for link in item.links]
            session_ids.update(item.memory.session_id for item in batch if item.memory.session_id)
    with namespace.transaction(model) as txn:
        for link in links:
            source, target = txn.memories.get(link.source), txn.memories.get(link.target)
            if source is not None and target is not None:
                txn.memories.link(source.row, target.row, link.relation, link.why, link.chance)
        txn.statements.end_superseded()
    with bar("Embedding", len(report.stored), show=progress) as advance:
        fill(namespace, model, "active", advance)
    _build_sessions(namespace, sorted(session_ids))
    return report


def _build_sessions(namespace: Namespace, session_ids: Sequence[str]) -> None:
    """The memory of a session that has other turns than those it was built from."""
    with namespace.transaction() as txn:
        for session_id in session_ids:
            turns, built_from, _ = txn.sessions.size(session_id)
            if turns != built_from:
                refresh_session(session_id, namespace, txn, at_once=True)


def _restore_batch(namespace: Namespace, model: Embedder, batch: Sequence[Draft], report: ReportBuilder) -> None:
    """One transaction over those that are not stored yet, also not by another who writes at the same time."""
    part = ReportBuilder()
    with namespace.transaction(model) as txn:
        known = txn.memories.existing_ids([item.memory.id for item in batch])
        new = [item for item in batch if item.memory.id not in known]
        part.merged += [
            Merged(item.memory.id, "a memory with this id is already stored")
            for item in batch
            if item.memory.id in known
        ]
        txn.forgotten.look_up([(item.memory, item.content_hash) for item in new])
        for item in new:
            if txn.forgotten.has(item.memory, item.content_hash):
                part.merged.append(Merged(item.memory.id, FORGOTTEN))
            else:
                _restore_one(txn, item, part)
        if new:
            drop_readings_after(new, txn)
    report.include(part)


def _restore_one(txn: Writer, item: Draft, report: ReportBuilder) -> None:
    memory = item.memory
    lacks_turns = memory.session_id is not None and txn.forgotten.has_session(memory.session_id)
    if memory.kind == "session" and lacks_turns:
        why = f"turns of session {memory.session_id!r} were forgotten; its memory is built from those that are stored"
        report.merged.append(Merged(memory.id, why))
        return
    if memory.kind == "turn" and memory.session_id:
        if lacks_turns:  # the reply may be what was forgotten
            item.memory = replace(memory, next_user_text=None)
        log_turn(item, txn)
        report.sessions.setdefault(memory.session_id)
    if memory.kind == "session" and memory.session_id and _has_memory(txn, memory.session_id):
        report.merged.append(Merged(memory.id, f"session {memory.session_id!r} has a memory of its own already"))
        return
    row = txn.memories.add(item.entry())
    item.memory = replace(item.memory, row=row)
    if memory.kind == "turn" and lacks_turns:
        backfill_previous(item, txn)
    if memory.kind == "session" and memory.session_id:
        turns, _, _ = txn.sessions.size(memory.session_id)
        txn.sessions.mark_built(memory.session_id, row, turns)
    report.stored.append(memory.id)


def _has_memory(txn: Writer, session_id: str) -> bool:
    return txn.sessions.memory_row(session_id) is not None
