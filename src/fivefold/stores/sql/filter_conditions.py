"""A filter as conditions of a statement, written once for both databases. Every value is a bound parameter."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fivefold.stores.sql.dialect import Dialect
from fivefold.values.filters import Filter, MetadataTest, word_forms
from fivefold.values.labels import TAG, text_label
from fivefold.values.times import to_micros

_COLUMNS = {"types": "type", "kinds": "kind", "speakers": "speaker", "session_ids": "session_id"}
_SCANNED = ("type", "kind")
"""Columns of few values: their indexes would find too many memories to begin with."""


class FilterConditions:
    """The conditions of one filter on the table of memories, and the values of their parameters.

    Where few of many memories are wanted, an index finds them: by label, speaker, session or time.
    """

    def __init__(self, keep: Filter, sql: Dialect, event_at: str = "event_at") -> None:
        self.values: dict[str, object] = {}
        self._sql = sql
        self.sql = [
            *self._columns(keep),
            *self._labels(keep),
            *self._times(keep, event_at),
            *self._state(keep),
            *(self._word(word) for word in keep.words),
        ]

    def _bind(self, value: object) -> str:
        """The name by which a statement has the value."""
        name = f"kept{len(self.values)}"
        self.values[name] = value
        return f":{name}"

    def _any_of(self, column: str, values: tuple[Any, ...]) -> str:
        if len(values) == 1:
            return f"{column} = {self._bind(values[0])}"
        return self._sql.among(column, self._bind(self._sql.as_list(values)))

    def _columns(self, keep: Filter) -> Iterator[str]:
        for name, column in _COLUMNS.items():
            if getattr(keep, name):
                place = self._sql.unindexed(column) if column in _SCANNED else column
                yield self._any_of(place, getattr(keep, name))

    def _labels(self, keep: Filter) -> Iterator[str]:
        for tags in ((keep.tags,) if keep.tags else ()) + tuple((tag,) for tag in keep.all_tags):
            yield self._labelled(TAG, self._any_of("value", tuple(map(text_label, tags))))
        for test in keep.metadata:
            yield self._labelled(test.name, self._any_of("value", test.allowed()) if test.any_of else self._range(test))

    def _labelled(self, name: str, condition: str) -> str:
        named = f"namespace = :ns AND name = {self._bind(name)} AND {condition}"
        return f"row IN (SELECT memory FROM memory_labels WHERE {named})"

    def _range(self, test: MetadataTest) -> str:
        ends = test.range()
        low, high = self._bind(ends.low), self._bind(ends.high)
        return f"value {'>=' if ends.from_low else '>'} {low} AND value {'<=' if ends.to_high else '<'} {high}"

    def _times(self, keep: Filter, event_at: str) -> Iterator[str]:
        for column, sign, moment in (
            (event_at, ">=", keep.since),
            (event_at, "<", keep.until),
            ("created_at", ">=", keep.written_since),
            ("created_at", "<", keep.written_until),
        ):
            if moment is not None:
                yield f"{column} {sign} {self._bind(to_micros(moment))}"

    def _state(self, keep: Filter) -> Iterator[str]:
        if keep.superseded is not None:
            yield f"{self._sql.unindexed('superseded_by')} IS {'NOT ' if keep.superseded else ''}NULL"

    def _word(self, word: str) -> str:
        """That a memory has the word; both databases fold only ASCII the same way."""
        if word.isascii():
            return f"{self._sql.position}({self._sql.lowercase('content')}, {self._bind(word.lower())}) > 0"
        found = (f"{self._sql.position}(content, {self._bind(form)}) > 0" for form in word_forms(word))
        return f"({' OR '.join(found)})"
