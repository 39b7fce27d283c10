"""Which HNSW indexes there are: made by maintenance, in any process, and noticed by all."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import cast

from fivefold.errors import StoreError
from fivefold.stores.postgres.citus import Rows, is_sharded, largest_shards
from fivefold.values.vectors import FIELDS, VectorField

AGAIN_S = 60.0
"""After so long the indexes are looked at again."""

Known = dict[tuple[VectorField, int], int]
"""Of each field and dimension with an index, how many vectors are in it, or in its largest shard."""

_NAME = re.compile(rf"vectors_({'|'.join(FIELDS)})_hnsw_(\d+)")
_log = logging.getLogger("fivefold")


@dataclass(frozen=True, slots=True)
class Built:
    """An HNSW index as it is; one whose making was cut short serves nothing."""

    name: str
    whole: bool
    m: int
    ef_construction: int
    table: str
    vectors: int

    @property
    def place(self) -> tuple[VectorField, int] | None:
        """The field and dimension it serves."""
        match = _NAME.fullmatch(self.name)
        return (cast(VectorField, match[1]), int(match[2])) if match else None


def built_indexes(rows: Rows, schema: str) -> dict[str, Built]:
    """All HNSW indexes of the schema by name."""
    records = rows(
        "SELECT c.relname, i.indisvalid, c.reloptions, t.relname, t.reltuples::bigint FROM pg_index i "
        "JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_class t ON t.oid = i.indrelid "
        "JOIN pg_am a ON a.oid = c.relam WHERE c.relnamespace = ?::regnamespace AND a.amname = 'hnsw'",
        (schema,),
    )
    counts = largest_shards(rows, schema) if records and is_sharded(rows, schema) else {}
    built: dict[str, Built] = {}
    for name, whole, options, table, rough in records:
        settings = {"m": "16", "ef_construction": "64"} | dict(item.split("=") for item in options or ())
        m, ef_construction = int(settings["m"]), int(settings["ef_construction"])
        built[name] = Built(name, whole, m, ef_construction, table, max(0, counts.get(table, int(rough))))
    return built


def known_indexes(rows: Rows, schema: str) -> Known:
    """The indexes that serve."""
    built = built_indexes(rows, schema).values()
    return {index.place: index.vectors for index in built if index.whole and index.place}


class Indexes:
    """The known indexes. A search never waits for a new look at them."""

    def __init__(self, known: Known, look: Callable[[], Known]) -> None:
        self._known = known
        self._look = look
        self._again = monotonic() + AGAIN_S
        self._lock = threading.Lock()

    def __bool__(self) -> bool:
        return bool(self._known)

    def get(self, place: tuple[VectorField, int]) -> int | None:
        """How many vectors are in the index of a field and dimension; None where there is no index."""
        with self._lock:
            due = monotonic() >= self._again
            if due:
                self._again = monotonic() + AGAIN_S
        if due:
            threading.Thread(target=self.renew, name="fivefold-indexes", daemon=True).start()
        return self._known.get(place)

    def renew(self) -> None:
        """Look again; while the server is away, what was known stays."""
        try:
            self._known = self._look()
        except StoreError as error:
            _log.info("the indexes could not be looked at: %s", error)
