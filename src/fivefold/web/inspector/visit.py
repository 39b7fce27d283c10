"""One request to a page: who asks, and through which namespace they look."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Query, Request

from fivefold.service.service import Service
from fivefold.service.session import Session
from fivefold.values.access import Caller
from fivefold.web.auth import Asked, service_of


def visit_of(
    request: Request, caller: Asked, namespace: Annotated[str | None, Query(max_length=1_000)] = None
) -> Session:
    """Without a namespace in the address: `default`, or the first one the visitor may see.

    Whether they may is asked where the engine is taken, so that a refusal is noted as what was refused; the page that
    says so leads back to what they may see.
    """
    service = service_of(request)
    visit = Session(service, caller, _first(service, caller) if namespace is None else namespace)
    reached = namespace is None or caller.sees(namespace)
    request.state.visit = visit if reached else Session(service, caller, _first(service, caller))
    return visit


def _first(service: Service, caller: Caller) -> str:
    return "default" if caller.sees("default") else (*service.namespaces(caller), *caller.namespaces)[0]


Here = Annotated[Session, Depends(visit_of)]
"""What a page's endpoint takes to know its visitor."""
