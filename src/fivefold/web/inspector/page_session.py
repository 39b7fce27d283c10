"""The session of a request to a page: who asks, in which namespace."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Query, Request

from fivefold.service.service import Service
from fivefold.service.session import Session
from fivefold.values.access import Caller
from fivefold.web.auth import CurrentCaller, service_of


def page_session(
    request: Request, caller: CurrentCaller, namespace: Annotated[str | None, Query(max_length=1_000)] = None
) -> Session:
    """Without a namespace in the address: `default`, or the first one the caller may see.

    The rights are checked by the action, so that the audit log names what is refused. The page that shows a refusal
    has the session of a namespace that the caller may see.
    """
    service = service_of(request)
    session = Session(service, caller, _first(service, caller) if namespace is None else namespace)
    visible = namespace is None or caller.sees(namespace)
    request.state.page_session = session if visible else Session(service, caller, _first(service, caller))
    return session


def _first(service: Service, caller: Caller) -> str:
    return "default" if caller.sees("default") else (*service.namespaces(caller), *caller.namespaces)[0]


PageSession = Annotated[Session, Depends(page_session)]
"""The parameter by which an endpoint of a page gets its session."""
