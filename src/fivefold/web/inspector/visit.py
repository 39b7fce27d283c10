"""One request to a page: who asks, and through which namespace they look."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Query, Request

from fivefold.engine import Engine
from fivefold.service.service import Service
from fivefold.values.access import ROLES, Caller, Role
from fivefold.web.auth import Asked, service_of


@dataclass(frozen=True, slots=True)
class Visit:
    service: Service
    caller: Caller
    namespace: str

    @property
    def namespaces(self) -> tuple[str, ...]:
        """Those that exist and that the visitor may see; looked up anew, and only where they are shown."""
        return self.service.namespaces(self.caller)

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
    """Without a namespace in the address: `default`, or the first one the visitor may see.

    Whether they may is asked where the engine is taken, so that a refusal is noted as what was refused; the page that
    says so leads back to what they may see.
    """
    service = service_of(request)
    visit = Visit(service, caller, _first(service, caller) if namespace is None else namespace)
    reached = caller.sees(visit.namespace)
    request.state.visit = visit if reached else Visit(service, caller, _first(service, caller))
    return visit


def _first(service: Service, caller: Caller) -> str:
    return "default" if caller.sees("default") else (*service.namespaces(caller), *caller.namespaces)[0]


Here = Annotated[Visit, Depends(visit_of)]
"""What a page's endpoint takes to know its visitor."""
