"""/metrics: figures for Prometheus, for an admin of the whole store unless anyone may see them."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from fivefold.service.metrics import MEDIA_TYPE, Metrics
from fivefold.values.access import Refused
from fivefold.web.auth import caller_of


def metrics_router(metrics: Metrics, open_to_all: bool) -> APIRouter:
    def show(request: Request) -> Response:
        if not open_to_all:
            _check(request)
        return Response(metrics.text(), headers={"Content-Type": MEDIA_TYPE})

    router = APIRouter()
    router.add_api_route("/metrics", show, methods=["GET"], include_in_schema=False)
    return router


def _check(request: Request) -> None:
    caller = caller_of(request)
    caller.require("admin")
    if not caller.sees_all:
        raise Refused("figures are of the whole store; that needs an admin's key for all namespaces")
