"""A look through all memories of a namespace for what somebody should look at; nothing is changed."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from fivefold.namespace import Namespace
from fivefold.stores.interface import LinkedPair, Reader
from fivefold.text.secrets_in_text import mask_secrets
from fivefold.values.filters import EVERYTHING, Filter
from fivefold.values.memory import Memory
from fivefold.values.reports import HealthCheck, HealthExample, HealthFinding, HealthReport, ReadKind
from fivefold.values.times import to_micros
from fivefold.values.validate import shorten
from fivefold.writing.draft import kinds_of_secrets

PAGE = 500
"""Memories and links that are read at once."""

TEXT = 160
"""Characters of a memory that are shown."""

DOUBT = 0.5
"""From which chance on a likely replacement counts: it is likelier than not. A recall weighs smaller ones too."""

MEANINGS: Mapping[HealthCheck, tuple[str, str]] = {
    "expired": ("no longer recalled, and still stored", "a sweep forgets them; a dry run of it lists them first"),
    "expiring": ("expire in the next days", "pin what should stay, or give it a later end"),
    "stale": ("neither written nor used for a long time", "check whether they still hold; forget, replace or pin them"),
    "never used": ("no feedback says that they were of use", "forget what does not matter"),
    "near-duplicates": ("say nearly the same as an earlier memory", "forget one of both, or replace the older"),
    "contradictions": (
        "likely replace an earlier memory that still counts",
        "replace the older one, or reinstate it where both hold",
    ),
    "secrets": (
        "seem to contain a key, a card number or a password",
        "edit or forget them; the settings secrets='mask' and passwords='mask' mask new ones",
    ),
}
NO_FEEDBACK = "there is no feedback yet, so that nobody knows what was of use"


@dataclass(slots=True)
class _Check:
    """What one check has found so far."""

    count: int = 0
    examples: list[HealthExample] = field(default_factory=list)

    def names_one_more(self, most: int) -> bool:
        """Count one more; whether it is one of the first, which are named."""
        self.count += 1
        return self.count <= most


def look_after(namespace: Namespace, filters: Mapping[HealthCheck, Filter], examples: int) -> HealthReport:
    """Each memory is read once, then the links; `filters` says what counts as old, unused or expiring."""
    reader, count = namespace.reader, 0
    found = {name: _Check() for name in MEANINGS}
    for memory in _all_memories(reader):
        count += 1
        for name, why in _reasons(memory, filters):
            if found[name].names_one_more(examples):
                found[name].examples.append(HealthExample(memory.id, _text(memory), why))
    repeats = _add_pairs(found["near-duplicates"], reader, "repeats", examples)
    _add_pairs(found["contradictions"], reader, "likely", examples, DOUBT, repeats)
    return HealthReport(
        namespace=namespace.name,
        at=namespace.clock(),
        memories=count,
        findings=tuple(_finding(name, check, reader) for name, check in found.items()),
    )


def _all_memories(reader: Reader) -> Iterator[Memory]:
    after = None
    while page := reader.memories.page(EVERYTHING, after, PAGE):
        yield from page
        after = (to_micros(page[-1].event_at), page[-1].row)


def _reasons(memory: Memory, filters: Mapping[HealthCheck, Filter]) -> Iterator[tuple[HealthCheck, str]]:
    """The checks that find a memory by itself, each with what is to be said of it."""
    for name, keep in filters.items():
        if keep.matches(memory):
            yield name, _moment(memory, name)
    if kinds := kinds_of_secrets(memory):
        yield "secrets", ", ".join(kinds)


def _moment(memory: Memory, check: HealthCheck) -> str:
    if check in ("expired", "expiring"):
        return f"{'expired' if check == 'expired' else 'expires'} {memory.expires_at:%Y-%m-%d %H:%M}"
    if memory.last_accessed_at is not None and memory.access_count:
        return f"last used {memory.last_accessed_at:%Y-%m-%d}"
    return f"written {memory.created_at:%Y-%m-%d}"


def _add_pairs(
    check: _Check,
    reader: Reader,
    relation: ReadKind,
    most: int,
    least: float = 0,
    known: Collection[tuple[int, int]] = (),
) -> set[tuple[int, int]]:
    """Count the links of a kind with at least that chance, but for pairs that are known as something else.

    Gives all pairs by their rows.
    """
    pairs: set[tuple[int, int]] = set()
    after = None
    while page := reader.memories.linked(relation, after, PAGE):
        for pair in page:
            rows = after = (pair.source, pair.target)
            pairs.add(rows)
            if pair.link.chance >= least and rows not in known and check.names_one_more(most):
                check.examples.append(_pair_example(reader, pair))
    return pairs


def _pair_example(reader: Reader, pair: LinkedPair) -> HealthExample:
    memories = reader.memories.fetch([pair.source, pair.target])
    texts = [_text(memories[row]) if row in memories else "" for row in (pair.source, pair.target)]
    return HealthExample(pair.link.source, texts[0], pair.link.label, pair.link.target, texts[1])


def _text(memory: Memory) -> str:
    return shorten(mask_secrets(memory.content), TEXT)


def _finding(name: HealthCheck, check: _Check, reader: Reader) -> HealthFinding:
    meaning, advice = MEANINGS[name]
    if name == "never used" and check.count and not reader.feedback.count():
        advice = NO_FEEDBACK
    return HealthFinding(name, check.count, meaning, advice, tuple(check.examples))
