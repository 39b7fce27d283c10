"""A write from top to bottom. Start reading here.

check(records)      →  Records      every field of every record, before anything is written
extract(records)    →  Drafts       the memories they become: entities, statements, dates, importance
embed(drafts)       →  vectors      equal texts once; texts that are already stored are left out
find_relations(…)   →  Relations    which older memories they replace, may replace or repeat
store(drafts)       →  rows         one transaction: merge with what is already there, or add;
                                    end what it replaces; bring the session's memory up to date
Report                              what was stored, merged, linked and superseded, and why
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import islice
from typing import TypeVar

from fivefold.errors import EmbedderMismatch, InvalidInput
from fivefold.models.embedders import Embedder
from fivefold.namespace import Namespace
from fivefold.settings import Settings
from fivefold.stores.interface import Reader, Writer
from fivefold.text.display import bar
from fivefold.values.memory import Record, record_of
from fivefold.values.reports import Merged, Report
from fivefold.writing.draft import (
    NO_VECTORS,
    Draft,
    ReportBuilder,
    draft,
    embed_drafts,
    expire_by_type,
    refuse_secrets,
    trust_relations,
    without_secrets,
)
from fivefold.writing.extract import ModelExtractor, Rules, own_names_in, read_about_user
from fivefold.writing.facets import add_facets
from fivefold.writing.messages import MessageReader, is_message
from fivefold.writing.rebuild import writing_model
from fivefold.writing.relations import (
    Relations,
    corrected_statement,
    find_recalled,
    find_relations,
    link_equal_turn,
    look_up_forgotten,
    merge,
    new_drafts,
    replace_statements,
    stored_already,
)
from fivefold.writing.sessions import backfill_previous, find_turns_before, follow_new_turns, log_turn, refresh_session

MAX_SET_BACK = timedelta(days=1)
"""A clock that is further behind the last write is right, and that write was wrong."""


def write_time(namespace: Namespace) -> datetime:
    """Now, or the time of the last write if the clock was set back since: what is said later is newer."""
    now = namespace.clock()
    last = namespace.reader.memories.last_written(now + MAX_SET_BACK)
    return now if last is None else max(now, last)


MAX_BATCH_RECORDS = 1_000
"""Records that are stored together; each batch is one transaction."""

MAX_EMBEDDED_RECORDS = 128
"""Records that are embedded together, between two steps of the progress bar."""

T = TypeVar("T")


def write(namespace: Namespace, records: Iterable[object], *, progress: bool = False) -> Report:
    """Remember records: all are checked first, then each batch is stored whole or not at all."""
    messages = MessageReader(namespace.settings)
    checked = check(records, messages)
    report = write_checked(namespace, checked, len(checked), progress=progress)
    return replace(report, notes=(*report.notes, *messages.notes()))


def write_checked(
    namespace: Namespace,
    records: Iterable[Record],
    count: int,
    *,
    progress: bool = False,
    at_end: Callable[[Writer, ReportBuilder], None] = lambda txn, report: None,
    approved: bool = False,
) -> Report:
    """The steps after the check, for `count` records that a file may yield; `at_end` is called in each transaction.

    Records that the settings hold in quarantine stop there, unless they are `approved`.
    """
    report, settings = ReportBuilder(), namespace.settings
    if isinstance(records, list):
        refuse_secrets(records, settings)
    with bar("Remembering", count, show=progress) as advance:
        for batch in batches(records):
            drafts = extract(batch, namespace, settings)
            held = [] if approved else [item for item in drafts if settings.holds(item.memory)]
            drafts = [item for item in drafts if item not in held] if held else drafts
            find_recalled(drafts, namespace, settings.echo_minutes)
            model = writing_model(namespace)
            embed(drafts, namespace.reader, model, advance)
            found = find_relations(drafts, namespace, report, settings)
            report.include(store(drafts, namespace, model, found, at_end, held))
    return report.build()


def write_messages(namespace: Namespace, messages: Iterable[object], session_id: str) -> Report:
    """Remember the messages of a conversation as turns of a session, as the namespace's settings say."""
    reader = MessageReader(namespace.settings)
    turns = reader.conversation(messages, session_id)
    report = write_checked(namespace, turns, len(turns))
    return replace(report, notes=(*report.notes, *reader.notes()))


def check(records: Iterable[object], messages: MessageReader) -> list[Record]:
    """Checked records, and the turns that messages among them become; an error names the number of the record."""
    checked: list[Record] = []
    for number, item in enumerate(records, 1):
        try:
            checked += messages.item(item) if is_message(item) else [record_of(item)]
        except InvalidInput as error:
            raise error.within(f"record {number}") from None
    return checked


def batches(items: Iterable[T], size: int | None = None) -> Iterator[list[T]]:
    remaining = iter(items)
    while batch := list(islice(remaining, size or MAX_BATCH_RECORDS)):
        yield batch


def extract(records: Iterable[Record], namespace: Namespace, settings: Settings | None = None) -> list[Draft]:
    """The memories that the records become, all created at the same moment."""
    now, settings = write_time(namespace), settings or namespace.settings
    fit = [without_secrets(record, settings) for record in records]
    drafts = [draft(record, namespace.name, namespace.extractor, now) for record in fit]
    own = {entity.name for entity in namespace.reader.graph.own_names()}
    for item in drafts:
        own.update(own_names_in(item.extraction.relations))
        if own and isinstance(namespace.extractor, Rules | ModelExtractor):
            item.extraction = read_about_user(item.record, item.extraction, own)
        expire_by_type(item, settings)
        trust_relations(item, settings)
    return drafts


def embed(
    drafts: Sequence[Draft], reader: Reader, model: Embedder, advance: Callable[[int], None] = lambda done: None
) -> None:
    """Give vectors to the drafts that are not stored yet; a turn is read with the one before it."""
    find_turns_before(drafts, reader, model)
    for start in range(0, len(drafts), MAX_EMBEDDED_RECORDS):
        part = drafts[start : start + MAX_EMBEDDED_RECORDS]
        new = new_drafts(part, reader)
        embed_drafts(new, model)
        add_facets(new, model, reader)
        advance(len(part))


def store(
    drafts: Sequence[Draft],
    namespace: Namespace,
    model: Embedder,
    found: Relations | None = None,
    at_end: Callable[[Writer, ReportBuilder], None] = lambda txn, report: None,
    held: Sequence[Draft] = (),
) -> ReportBuilder:
    """Store the drafts in one transaction. If the namespace has moved to another model, that one embeds them again."""
    report, settings = ReportBuilder(), namespace.settings
    try:
        with namespace.transaction(model) as txn:
            mentions = [mention for item in drafts for mention in item.extraction.mentions]
            txn.memories.preload(mentions, [item.content_hash for item in drafts if item.memory.kind == "note"])
            look_up_forgotten([*drafts, *held], txn)
            for item in held:
                hold(item, txn, report)
            add_facets(drafts, model, txn)  # those that a recipe has asked for since the drafts were embedded
            for item in drafts:
                merge_or_add(item, txn, report, model, settings)
            follow_new_turns(drafts, txn, model)
            if found is not None:
                found.store(txn, report, settings)
            for session_id in report.sessions:
                refresh_session(session_id, namespace, txn)
            at_end(txn, report)
    except EmbedderMismatch:
        current = namespace.embedder()
        if current.pin == model.pin:
            raise
        for item in drafts:
            item.vectors = NO_VECTORS
        embed(drafts, namespace.reader, current)
        return store(drafts, namespace, current, found, at_end, held)
    return report


def hold(item: Draft, txn: Writer, report: ReportBuilder) -> None:
    """Put a draft into quarantine, unless it is stored, forgotten or held already; nothing is derived from it."""
    report.notes += item.record.notes
    if known := stored_already(item, txn):
        report.merged.append(known)
    elif held := txn.quarantine.add(item.memory, item.content_hash):
        report.merged.append(Merged(held, "it waits for approval already"))
    else:
        report.quarantined.append(item.memory.id)


def merge_or_add(item: Draft, txn: Writer, report: ReportBuilder, model: Embedder, settings: Settings) -> None:
    """Merge one draft into the memory that already says the same, or add it with all that follows from it."""
    report.notes += item.record.notes
    if merged := merge(item, txn, settings):
        report.merged.append(merged)
        return
    if item.vectors is NO_VECTORS:
        embed_drafts([item], model)  # it was stored when the drafts were embedded, and is forgotten since
    if item.memory.kind == "turn":
        log_turn(item, txn)
        report.sessions.setdefault(item.memory.session_id or "")
    _add(item, txn, report, settings)


def _add(item: Draft, txn: Writer, report: ReportBuilder, settings: Settings) -> None:
    correction = item.extraction.refers_back
    corrected = corrected_statement(correction, item.memory, txn) if correction else None
    if corrected is not None:
        item.extraction = replace(item.extraction, statements=(*item.extraction.statements, corrected))
    item.memory = replace(item.memory, row=txn.memories.add(item.entry()))
    report.stored.append(item.memory.id)
    report.entities.update(dict.fromkeys(m.name for m in item.extraction.mentions if m.kind != "topic"))
    if item.extraction.source.startswith("rules, because"):
        report.notes.append(f"read by {item.extraction.source}")
    if item.memory.kind == "turn":
        link_equal_turn(item, txn, report)
        backfill_previous(item, txn)
    replace_statements(item, txn, report, settings)
