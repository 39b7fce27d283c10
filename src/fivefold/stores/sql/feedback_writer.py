"""Writing which memories of a recall were used."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from fivefold.stores.protocol import LoggedRecall
from fivefold.stores.sql.recall_log import row_of, write_row
from fivefold.stores.sql.transaction import Transaction
from fivefold.values.times import to_micros


class SqlFeedbackWriter:
    """A memory's access count follows from the feedback on it."""

    def __init__(self, txn: Transaction) -> None:
        self._txn = txn

    def mark_used(
        self, recall: LoggedRecall | str, rows: Sequence[int], at: datetime, refused: Sequence[int] = ()
    ) -> bool:
        """A repeat changes nothing, the last mark counts. Gives whether these are the first that were used."""
        if isinstance(recall, LoggedRecall):
            write_row(self._txn.db, row_of(self._txn.key, recall))
        recall_id = recall if isinstance(recall, str) else recall.id
        sql = "SELECT memory, used FROM feedback WHERE namespace = ? AND recall = ?"
        before = dict(self._txn.rows(sql, self._txn.key, recall_id))
        for row, used in [(row, 1) for row in rows] + [(row, 0) for row in refused]:
            if before.get(row) != used:
                self._mark(recall_id, row, used, to_micros(at), before.get(row, 0))
        return bool(rows) and not any(before.values())

    def _mark(self, recall_id: str, row: int, used: int, at: int, before: int) -> None:
        self._txn.run(
            "INSERT INTO feedback (namespace, recall, memory, at, used) VALUES (?, ?, ?, ?, ?) "
            "ON CONFLICT (namespace, recall, memory) DO UPDATE SET at = excluded.at, used = excluded.used",
            self._txn.key,
            recall_id,
            row,
            at,
            used,
        )
        if used:
            self._txn.run(
                "UPDATE memories SET access_count = access_count + 1, last_accessed_at = ? "
                "WHERE namespace = ? AND row = ?",
                at,
                self._txn.key,
                row,
            )
        elif before:
            self._txn.run(
                "UPDATE memories SET access_count = access_count - 1 "
                "WHERE namespace = ? AND row = ? AND access_count > 0",
                self._txn.key,
                row,
            )
