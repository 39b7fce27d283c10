"""One request to a page: who asks, and through which namespace they look."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Query, Request

from fivefold.access import ROLES, Caller, Role
from fivefold.engine import Engine
from fivefold.serve.asking import Asked, service_of
from fivefold.serve.service import Service

LOOKS = {
    "ask": "recall", "why": "explain", "compare": "recall", "memories": "list", "sessions": "sessions",
    "graph": "entities", "learn": "learned", "settings": "settings",
}  # fmt: skip
"""What the audit log calls a look at a page."""
ASKING = frozenset({"ask", "why", "compare"})
"""Pages that read memories only once something is asked."""


@dataclass(frozen=True, slots=True)
class Visit:
    service: Service
    caller: Caller
    namespace: str
    namespaces: tuple[str, ...]
    """Those that exist and that the visitor may see."""

    def engine(self, role: Role = "reader") -> Engine:
        """The namespace's engine, if the visitor may do what that role may."""
        return self.service.engine(self.caller, role, self.namespace)

    def may(self, role: Role) -> bool:
        return ROLES.index(self.caller.role) >= ROLES.index(role)

    @property
    def keyed(self) -> bool:
        """Whether the visitor has shown a key, and can put it away again."""
        return self.caller.key_id is not None


def visit_of(
    request: Request, caller: Asked, namespace: Annotated[str | None, Query(max_length=1_000)] = None
) -> Visit:
    """Without a namespace in the address: `default`, or the first one the visitor may see."""
    service = service_of(request)
    known = service.namespaces(caller)
    if namespace is None:
        namespace = "default" if caller.sees("default") else (*known, *caller.namespaces)[0]
    visit = Visit(service, caller, namespace, known)
    _note(request, visit)
    caller.require("reader", namespace)
    request.state.visit = visit
    return visit


def _note(request: Request, visit: Visit) -> None:
    """Looking is noted under the names REST has for it; changes are noted where they are made."""
    view = request.url.path.strip("/").partition("/")[0]
    if request.method == "GET" and view in LOOKS and (view not in ASKING or request.query_params.get("q")):
        outcome = "ok" if visit.caller.sees(visit.namespace) else "refused"
        visit.service.audit.note(visit.caller, LOOKS[view], visit.namespace, None, outcome)


Here = Annotated[Visit, Depends(visit_of)]
"""What a page's endpoint takes to know its visitor."""
