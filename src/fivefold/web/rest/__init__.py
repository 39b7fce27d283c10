"""The REST interface: each module registers its operations."""

from __future__ import annotations

from fastapi import FastAPI

from fivefold.web.rest import memories, namespace, recalls
from fivefold.web.rest import memories as life
from fivefold.web.rest import memories as write_queue
from fivefold.web.rest import namespace as graph
from fivefold.web.rest import namespace as server
from fivefold.web.rest import recalls as sessions
from fivefold.web.rest.operations import OPERATIONS, OperationRoute

__all__ = ["graph", "install", "life", "memories", "namespace", "recalls", "server", "sessions", "write_queue"]


def install(app: FastAPI) -> None:
    """Add all operations to the application, and the two paths for its health."""
    for operation in OPERATIONS.values():
        text = (operation.endpoint.__doc__ or "").strip()
        app.router.add_api_route(
            operation.path,
            operation.endpoint,
            methods=[operation.method],
            operation_id=operation.name,
            tags=[operation.tag],
            summary=text.partition("\n")[0].rstrip("."),
            description=text,
            status_code=operation.status,
            response_model=None,
            route_class_override=OperationRoute,
        )
    for path, endpoint in (("/health", server.health), ("/ready", server.ready)):
        app.router.add_api_route(path, endpoint, methods=["GET"], operation_id=path[1:], tags=["server"])
        app.router.add_api_route(path, endpoint, methods=["HEAD"], include_in_schema=False)
