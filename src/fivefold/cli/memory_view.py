"""How memories, reports of writes and the figures of a namespace look in a terminal."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from fivefold.cli.app import phrase_note
from fivefold.cli.terminal import console, counted, day, hang, line, next_page, table
from fivefold.text.display import brief
from fivefold.values.memory import Memory
from fivefold.values.reports import Drift, Link, Page, Report, Stats
from fivefold.values.validate import shown_name

WIDE = 110
"""From here on a list has one line a memory."""


def memory(item: Memory) -> None:
    """Every field that is filled."""
    table(("", ""), [(name, _cell(value)) for name, value in item.to_dict().items() if value not in (None, [], {}, "")])


def links(items: Sequence[Link], lead: str = "") -> None:
    """What it replaces, repeats or equals, and the reverse."""
    for link in items:
        hang(lead, f"{link.source} {link.label} {link.target}: {brief(link.why)}", "yellow", further=4)


def memories(page: Page[Memory], full: bool = False) -> None:
    """One line each where there is room, else the text below its origin."""
    if console.width >= WIDE:
        rows = [(day(m.event_at), m.speaker or "–", m.type, m.id, brief(m.content, full)) for m in page]
        table(("date", "speaker", "type", "id", "text"), rows)
    else:
        for item in page:
            hang("", f"{day(item.event_at)} {shown_name(item.speaker or '–')} · {item.type} · {item.id}", "dim")
            hang("    ", brief(item.content, full))
    line(counted(len(page), "memory", "memories"), "dim")
    next_page(page)


def stats(figures: Stats, learned: Mapping[str, str], namespaces: Sequence[str]) -> None:
    """What there is, what use has taught, and the other namespaces."""
    sessions = figures.by_kind.get("session", 0)
    remembered = f"{figures.memories - sessions:,} remembered"
    whole = f" + {counted(sessions, 'session memory', 'session memories')}" if sessions else ""
    rows = {name: _cell(value) for name, value in figures.to_dict().items() if value not in (None, {}, [])}
    rows["memories"] = f"{figures.memories:,} ({remembered}{whole})"
    if figures.drift is not None:
        rows["drift"] = _drift(figures.drift)
    rows["graph"] = figures.graph_expectation
    rows |= learned
    rows["namespaces"] = ", ".join(namespaces)
    table(("", ""), [(name.replace("_", " "), value) for name, value in rows.items()])


def _drift(drift: Drift) -> str:
    """The last look at the vocabulary, in words."""
    alike = "nothing to compare with" if drift.jaccard is None else f"{drift.jaccard:.0%} as the time before"
    again = ", indexed again" if drift.reindexed else ""
    return f"{drift.lexemes:,} lexemes, {alike}{again}; looked at {day(drift.checked_at)}"


def report(done: Report, read: Memory | None = None) -> None:
    """What a write did, in a few lines; for a single memory also what was read out of it."""
    line(
        f"{len(done.stored):,} stored, {len(done.merged):,} merged, {len(done.superseded):,} superseded, "
        f"{len(done.linked):,} linked"
    )
    if len(done.stored) == 1:
        line(f"  {done.stored[0]}", "bold")
    if read is not None:
        entities = ", ".join(done.entities) or "–"
        for name, value in (("type", read.type), ("predicate", read.predicate or "–"), ("entities", entities)):
            hang(f"  {name:<9}  ", brief(value))
    for merge in done.merged[:5]:
        hang("  ", f"merged {merge.id}: {brief(merge.why)}", "dim", further=4)
    if len(done.merged) > 5:
        line(f"  … and {len(done.merged) - 5:,} more merged", "dim")
    links((*done.superseded[:10], *done.linked[:5]), "  ")
    for note in done.notes[:5]:
        hang("  ", f"note: {phrase_note(note)}", "dim", further=4)


def _cell(value: object) -> str:
    """A value of a JSON object in words: lists and counts joined by commas."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, dict) and all(isinstance(item, int) for item in value.values()):
        return ", ".join(f"{key} {item:,}" for key, item in value.items())
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    return f"{value:,}" if isinstance(value, int) else str(value)
