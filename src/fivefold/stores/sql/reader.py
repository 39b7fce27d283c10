"""A namespace as a recall sees it: the parts of a reader over one scoped connection."""

from __future__ import annotations

from collections.abc import Callable

from fivefold.stores.sql.admin_reader import SqlAdminReader
from fivefold.stores.sql.feedback_reader import SqlFeedbackReader
from fivefold.stores.sql.graph_reader import SqlGraphReader
from fivefold.stores.sql.memory_reader import SqlMemoryReader
from fivefold.stores.sql.scoped_reader import ScopedReader
from fivefold.stores.sql.search_reader import SqlSearchReader
from fivefold.stores.sql.session_reader import SqlSessionReader


class SqlReader:
    """Searches and walks are each store's own; all else is written once for both databases."""

    def __init__(
        self, scope: ScopedReader, search: SqlSearchReader, graph: SqlGraphReader, size: Callable[[], int]
    ) -> None:
        self.namespace = scope.namespace
        self.search = search
        self.graph = graph
        self.memories = SqlMemoryReader(scope)
        self.sessions = SqlSessionReader(scope)
        self.feedback = SqlFeedbackReader(scope)
        self.admin = SqlAdminReader(scope, search, size)
        self._scope = scope

    def exists(self) -> bool:
        return self._scope.exists()
