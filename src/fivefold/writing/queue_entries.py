"""Records that a server accepts now and stores later: how they wait, and how they are stored."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timezone

from fivefold.namespace import Namespace
from fivefold.stores.interface import Writer
from fivefold.stores.records import QueueEntry
from fivefold.values.memory import RECORD_FIELDS, Memory, Record, record_of
from fivefold.values.reports import Report
from fivefold.values.serialize import plain
from fivefold.values.times import in_zone, new_id
from fivefold.writing.draft import ReportBuilder, draft, without_secrets
from fivefold.writing.messages import MessageReader
from fivefold.writing.pipeline import check, write_checked


class _EntryGone(Exception):
    """A record that was about to be stored was forgotten, or another process has stored it."""


def check_entries(
    namespace: Namespace, items: Sequence[object], session_id: str | None = None
) -> tuple[list[Record], tuple[str, ...]]:
    """Records, or the turns of a session's messages, as they may wait, without secrets; and the notes of the check."""
    reader = MessageReader(namespace.settings)
    records = check(items, reader) if session_id is None else reader.conversation(items, session_id)
    fit = [without_secrets(record, reader.settings) for record in records]
    notes = dict.fromkeys(note for record in fit for note in record.notes)
    return fit, (*notes, *reader.notes())


def entries_of(records: Sequence[Record], write: str, key_id: str | None, now: datetime) -> list[QueueEntry]:
    """The records of one write as they wait. Each has an id, by which it can be forgotten before it is stored."""
    return [
        QueueEntry(
            write=write,
            place=place,
            memory_id=record.id or new_id(),
            session_id=record.session_id,
            key_id=key_id,
            added_at=now,
            record=_json(record),
        )
        for place, record in enumerate(records)
    ]


def _json(record: Record) -> str:
    """The fields that are set; the time keeps the offset it came with, or none."""
    fields = {name: plain(value) for name in RECORD_FIELDS if (value := getattr(record, name)) not in (None, (), {})}
    if record.event_at is not None:
        zone = None if record.utc_offset is None else timezone(record.utc_offset)
        said = record.event_at.replace(tzinfo=None) if zone is None else in_zone(record.event_at, zone)
        fields["event_at"] = said.isoformat()
    return json.dumps(fields, ensure_ascii=False)


def write_entries(namespace: Namespace, entries: Sequence[QueueEntry]) -> Report | None:
    """Store records that waited; they leave the queue in the same transaction. None if one of them is gone."""

    def take(txn: Writer, report: ReportBuilder) -> None:
        if not txn.queue.take(entries, _reports(entries, report)):
            raise _EntryGone

    records = []
    for entry in entries:
        record = record_of({**json.loads(entry.record), "id": entry.memory_id})
        said_at = record.event_at or entry.added_at  # without a time of its own it was said when it was accepted
        records.append(replace(record, event_at=said_at, notes=()))
    try:
        return write_checked(namespace, records, len(records), at_end=take)
    except _EntryGone:
        return None


def _reports(entries: Sequence[QueueEntry], report: ReportBuilder) -> list[tuple[str, Report]]:
    """The report of each write, out of the report of all: each record was stored, held or merged, in this order."""
    stored, merged, held = set(report.stored), iter(report.merged), set(report.quarantined)
    parts: dict[str, ReportBuilder] = {}
    for entry in entries:
        part = parts.setdefault(entry.write, ReportBuilder())
        if entry.memory_id in stored:
            stored.discard(entry.memory_id)
            part.stored.append(entry.memory_id)
            part.linked += [link for link in report.linked if link.source == entry.memory_id]
            part.superseded += [link for link in report.superseded if link.source == entry.memory_id]
        elif entry.memory_id in held:
            part.quarantined.append(entry.memory_id)
        else:
            part.merged.append(next(merged))
    return [(write, part.build()) for write, part in parts.items()]


def waiting_memory(namespace: Namespace, id: str, record: str) -> Memory:
    """The memory that a record would have become."""
    waited = record_of({**json.loads(record), "id": id})
    return draft(waited, namespace.name, namespace.extractor, namespace.clock()).memory
