"""A server is measured in a schema of its own, of which nothing stays behind."""

from __future__ import annotations

import pytest

from fivefold.errors import InvalidInput
from fivefold.retrieval.recipe_file import known_recipes
from fivefold_bench.measures import RECALLS
from fivefold_bench.server import Crowd, measure_server
from tests.support.postgres import Server

pytestmark = pytest.mark.slow

SCHEMAS = "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'fivefold_speed%'"


def test_every_recipe_and_a_crowd_are_measured_and_the_schema_goes(postgres: Server) -> None:
    crowd = Crowd(namespaces=3, memories=20, clients=2, seconds=1.0)
    found = list(measure_server(postgres.dsn(), [30], rounds=2, crowd=crowd))
    told = {item.what: item for item in found}
    assert {f"recall {name}" for name in known_recipes()} | set(RECALLS) <= set(told)
    assert told["found of the true ten nearest"].p50 == 1.0
    rates = [item.p50 for item in found if item.what.startswith("3 namespaces, 2 clients") and item.unit == "/s"]
    assert len(rates) == 2
    assert all(rates)
    with postgres.connect() as connection:
        assert connection.execute(SCHEMAS).fetchall() == [(0,)]


def test_what_is_no_server_is_said(postgres: Server) -> None:
    with pytest.raises(InvalidInput, match="dsn takes a PostgreSQL address"):
        list(measure_server("me.db", [30], rounds=2))
