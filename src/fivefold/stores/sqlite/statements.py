"""Statements that give rows."""

from __future__ import annotations

from typing import Any

import apsw


def rows(connection: apsw.Connection, sql: str, *values: Any) -> list[tuple[Any, ...]]:
    """All rows of one statement."""
    return connection.execute(sql, values).fetchall()


def number(connection: apsw.Connection, sql: str, *values: Any) -> int | None:
    """The one number a statement gives, if it gives one."""
    records = rows(connection, sql, *values)
    return None if not records or records[0][0] is None else int(records[0][0])
