"""Figures at /metrics: right, without ids, names or texts, and for those who may see them."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace

import pytest
from prometheus_client.exposition import generate_latest
from prometheus_client.parser import text_string_to_metric_families

import fivefold
from fivefold.retrieval.routes import ROUTES
from fivefold.service.keys import Keyring
from fivefold.service.metrics import Metrics
from fivefold.stores import open_store
from tests.support.toy_engine import toy
from tests.support.web_server import Served

pytestmark = pytest.mark.slow

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def figures(server: Served) -> Samples:
    answer = server.client.get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=")
    return parsed(answer.text)


def parsed(text: str) -> Samples:
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def value(samples: Samples, name: str, **labels: str) -> float:
    """The sum of a figure over all labels that are not named."""
    wanted = set(labels.items())
    return sum(figure for (found, given), figure in samples.items() if found == name and wanted <= given)


def grown(before: Samples, after: Samples, name: str, **labels: str) -> float:
    return value(after, name, **labels) - value(before, name, **labels)


def test_requests_recalls_and_writes_are_counted_and_timed(served: Served) -> None:
    space = "/v1/namespaces/default"
    asked = {"question": "how do I take my tea?", "k": 3}
    before = figures(served)
    for _ in range(3):
        answer = served.client.post(f"{space}/recall", json={**asked, "trace": True}).json()
    served.client.post(f"{space}/memories", json={"content": "The counter was looked at"})
    served.client.post(f"{space}/memories/batch", json={"records": [{"content": "one more"}, {"content": "another"}]})
    assert served.client.get(f"{space}/memories/nobody").status_code == 404
    assert served.client.get("/nowhere").status_code == 404
    after = figures(served)
    assert grown(before, after, "fivefold_requests_total", operation="recall", method="POST", status="200") == 3
    assert grown(before, after, "fivefold_request_seconds_count", operation="recall") == 3
    assert grown(before, after, "fivefold_requests_total", operation="unmatched", status="404") == 1
    assert grown(before, after, "fivefold_recall_seconds_count", recipe="default") == 3
    for timing in answer["timings"]:
        assert grown(before, after, "fivefold_recall_stage_seconds_count", stage=timing["stage"]) == 3
    for run in answer["routes"]:
        if run["status"] == "hits":
            assert grown(before, after, "fivefold_recall_route_seconds_count", route=run["route"], status="hits") >= 1
    assert grown(before, after, "fivefold_memories_written_total") == 3
    assert grown(before, after, "fivefold_writes_total", outcome="ok") == 2
    assert value(after, "fivefold_requests_in_flight") == 1
    assert value(after, "fivefold_build_info", version=fivefold.__version__) == 1
    assert value(after, "process_resident_memory_bytes") > 1e6


def test_labels_are_few_and_name_nobody(served: Served) -> None:
    for number in range(20):
        served.client.post(
            f"/v1/namespaces/Zebra-{number}/memories", json={"content": f"safe {number}", "id": f"id{number}"}
        )
        served.client.get(f"/v1/namespaces/Zebra-{number}/memories/id{number}")
        served.client.get(f"/Zebra/{number}")
        served.client.get(f"/static/Zebra{number}.js")
        served.client.request(f"ZEBRA{number}", "/health")
    told = served.client.get("/metrics").text
    assert "Zebra" not in told
    assert "ZEBRA" not in told
    assert "id7" not in told
    series = {labels for name, labels in parsed(told) if name == "fivefold_requests_total"}
    assert len(series) < 30


def test_a_recipe_of_ones_own_counts_as_other() -> None:
    with toy(":memory:") as mem, closing(Metrics(mem.store)) as metrics, closing(open_store(":memory:")) as other:
        mem.remember("I take my tea without milk")
        mem.recall("tea", recipe=replace(fivefold.load_recipe("lexical"), name="Zebra's"))
        fivefold.Engine(other).recall("tea", recipe="lexical")
        found = parsed(generate_latest(metrics.registry).decode())
    assert value(found, "fivefold_recall_seconds_count", recipe="other") == 1
    assert value(found, "fivefold_recall_seconds_count") == 1


def test_a_recall_without_one_of_its_parts_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: object) -> object:
        raise RuntimeError("no index")

    with toy(":memory:") as mem, closing(Metrics(mem.store)) as metrics:
        mem.remember("I take my tea without milk")
        monkeypatch.setattr(type(ROUTES["lexical"]), "search", broken)
        mem.recall("tea")
        found = parsed(generate_latest(metrics.registry).decode())
    assert value(found, "fivefold_recalls_degraded_total", part="lexical") == 1
    assert value(found, "fivefold_recall_route_seconds_count", route="lexical", status="failed") == 1


@pytest.fixture(scope="module")
def keyed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, dict[str, str]]]:
    """A server with keys, ten requests a minute for each."""
    path = str(tmp_path_factory.mktemp("keyed") / "keyed.db")
    with closing(open_store(path)) as store:
        ring = Keyring(store)
        secrets = {
            name: ring.create(name, role, namespaces)[1]  # type: ignore[arg-type]
            for name, role, namespaces in (
                ("all", "admin", ["*"]),
                ("one", "admin", ["a"]),
                ("writer", "writer", ["*"]),
                ("eager", "reader", ["*"]),
            )
        }
    with Served(path, "--rate", "10", key=secrets["all"]) as server:
        yield server, secrets


def test_where_there_are_keys_the_figures_need_an_admins_for_all(keyed: tuple[Served, dict[str, str]]) -> None:
    server, secrets = keyed
    for key, status in (("all", 200), ("one", 403), ("writer", 403), (None, 401)):
        with server.asking(secrets[key] if key else None) as client:
            answer = client.get("/metrics")
            assert answer.status_code == status
            assert ("fivefold_requests_total" in answer.text) == (status == 200)


def test_what_was_refused_as_too_much_is_counted(keyed: tuple[Served, dict[str, str]]) -> None:
    server, secrets = keyed
    with server.asking(secrets["eager"]) as client:
        answered = [client.get("/v1/namespaces").status_code for _ in range(15)]
    assert answered.count(429) >= 4
    assert value(figures(server), "fivefold_requests_limited_total") == answered.count(429)


def test_requests_under_way_are_counted(served: Served) -> None:
    """Several at once: none of them is left over at the end."""
    asked = {"question": "what did Sarah say about the Kestrel?"}
    with served.asking(None) as client, ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: client.post("/v1/namespaces/default/recall", json=asked), range(8)))
    assert {answer.status_code for answer in answers} == {200}
    assert value(figures(served), "fivefold_requests_in_flight") == 1
