"""A server in one process or in several, from its settings until it is stopped."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable

from fivefold.errors import InvalidInput
from fivefold.models.loading import load_models
from fivefold.service.service import Processes
from fivefold.service.shared_tables import shared_folder
from fivefold.web.connections import ConnectionLimits, Connections, room_for
from fivefold.web.server import check_reach, listen, until_stopped, url_of
from fivefold.web.workers import ServeSettings, Workers, open_served, served_app, spare_collector, traced

MAX_ARENAS = 2
"""Pools of memory that threads share. Without a limit glibc makes eight for each core, and hardly gives any back."""

_M_ARENA_MAX = -8


def limit_arenas() -> bool:
    """Sets the limit for this process and those forked from it, before threads start; False if that has no effect."""
    if sys.platform != "linux":
        return False
    try:
        return bool(ctypes.CDLL(None).mallopt(_M_ARENA_MAX, MAX_ARENAS))
    except (OSError, AttributeError):  # another C library
        return False


def serve_alone(
    settings: ServeSettings, host: str, port: int, limits: ConnectionLimits, ready: Callable[[str], None]
) -> None:
    """Serve in this process."""
    limit_arenas()
    load_models(settings.embedder, split=True)
    with traced(settings):
        service = open_served(settings, Processes())
        try:
            app = served_app(settings, service)
            spare_collector()
            until_stopped(service, app, host, port, settings.stop_s, ready, limits)
        finally:
            service.close()


def serve_with_workers(
    settings: ServeSettings, count: int, host: str, port: int, limits: ConnectionLimits, ready: Callable[[str], None]
) -> None:
    """Serve in `count` processes. The store is opened and closed first, so that they find it up to date."""
    if not hasattr(os, "fork"):
        raise InvalidInput("this system cannot pass connections between processes; serve with one worker")
    if settings.location == ":memory:":
        raise InvalidInput("several workers cannot share a store in memory; give it a file, or serve with one worker")
    limit_arenas()
    service = open_served(settings, Processes(number=1))
    try:
        check_reach(service, host)
    finally:
        service.close()
    listener = listen(host, port)
    if sys.platform == "linux":
        load_models(settings.embedder)
    with shared_folder() as folder:
        connections = Connections(room_for(limits))
        Workers(settings, Processes(count, folder), listener, connections, lambda: ready(url_of(listener))).run()
