"""The REST interface: each module registers its operations."""

from __future__ import annotations

from fastapi import FastAPI

from fivefold.web.rest import known, memories, namespace, recalls
from fivefold.web.rest.operations import OPERATIONS, OperationRoute

__all__ = ["known", "memories", "namespace", "recalls"]


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
    for path, endpoint in (("/health", namespace.health), ("/ready", namespace.ready)):
        app.router.add_api_route(path, endpoint, methods=["GET"], operation_id=path[1:], tags=["server"])
        app.router.add_api_route(path, endpoint, methods=["HEAD"], include_in_schema=False)
