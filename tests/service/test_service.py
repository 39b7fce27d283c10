"""What every face shares: an engine for each namespace, recipes by name alone, a store that may be anywhere."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

import fivefold
from fivefold.engine import opening as shared_store
from fivefold.errors import InvalidInput, StoreClosed, UnknownRecipe
from fivefold.retrieval.recipe_file import known_recipes, load_recipe
from fivefold.service.service import open_service
from fivefold.service.session import recipe_named
from fivefold.values.access import HERE, Caller, Refused
from tests.support.own_database import OwnDatabase, opened
from tests.support.postgres import Server
from tests.web.conftest import UNLIMITED, asking


def test_a_namespace_has_one_engine_and_few_are_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_store, "MAX_ENGINES", 2)
    service = open_service(str(tmp_path / "memory.db"), "wordllama")
    try:
        first = service.engines.namespace("a")
        assert service.engines.namespace(" a ") is first
        for name in ("b", "c"):
            service.engines.namespace(name)
        assert service.engines.namespace("a") is not first
        first.remember("Still usable")
        assert len(service.engines.namespace("a").memories()) == 1
    finally:
        service.close()
    with pytest.raises(StoreClosed):
        first.stats()


def test_the_embedder_that_is_named_is_for_new_namespaces(tmp_path: Path) -> None:
    path = str(tmp_path / "memory.db")
    with fivefold.open(path, namespace="old", embedder="wordllama") as engine:
        engine.remember("An old note")
    service = open_service(path, "fivefold-minilm")
    try:
        service.engines.namespace("old").remember("One more")
        service.engines.namespace("new").remember("A new note")
        pins = {
            name: str(service.engines.namespace(name).stats().embedder).partition("@")[0] for name in ("old", "new")
        }
        assert pins == {"old": "wordllama", "new": "fivefold-minilm"}
    finally:
        service.close()


def test_a_namespace_that_others_pin_or_move_goes_on_being_served(tmp_path: Path) -> None:
    """Looked at before it was there, then made by another process, then moved by one."""
    path = str(tmp_path / "memory.db")
    service = open_service(path, "fivefold-minilm")
    try:
        assert service.engines.namespace("new").stats().memories == 0
        with fivefold.open(path, namespace="new", embedder="wordllama") as engine:
            engine.remember("The spare key is with Mrs Okafor", id="key")
        service.engines.namespace("new").remember("The gate code is 4711")
        assert service.engines.namespace("new").recall("who has the key?").degraded == ()
        with fivefold.open(path, namespace="new") as engine:
            engine.reembed("fivefold-minilm")
        service.engines.namespace("new").remember("The bins go out on Mondays")
        assert service.engines.namespace("new").recall("who has the key?").degraded == ()
    finally:
        service.close()


def test_an_embedder_that_is_not_known_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="unknown embedder 'best'"):
        open_service(str(tmp_path / "memory.db"), "best")


def test_who_may_not_see_a_namespace_gets_no_engine(tmp_path: Path) -> None:
    service = open_service(str(tmp_path / "memory.db"), "wordllama")
    try:
        service.engine(HERE, "admin", "a").remember("A note")
        reader = Caller("reader", ("a",), "key")
        assert service.namespaces(reader) == ("a",)
        assert service.namespaces(Caller("admin", ("b",), "key")) == ()
        assert len(service.engine(reader, "reader", "a").memories()) == 1
        for role, namespace in (("writer", "a"), ("reader", "b")):
            with pytest.raises(Refused):
                service.engine(reader, role, namespace)  # type: ignore[arg-type]
    finally:
        service.close()


def test_a_store_that_is_served_is_looked_after(tmp_path: Path) -> None:
    path = str(tmp_path / "memory.db")
    with fivefold.open(path, embedder="wordllama") as engine:
        engine.remember("A note")
    service = open_service(path, maintenance_s=3_600)
    try:
        while service.engines.namespace("default").stats().drift is None:
            time.sleep(0.05)
    finally:
        service.close()


def test_the_size_of_the_store_is_for_those_who_see_all_of_it(tmp_path: Path) -> None:
    service = open_service(str(tmp_path / "memory.db"), "wordllama")
    try:
        engine = service.engine(HERE, "admin", "a")
        assert service.stats(HERE, engine).bytes_on_disk
        assert service.stats(Caller("admin", ("a",), "key"), engine).bytes_on_disk is None
    finally:
        service.close()


def test_recipes_come_by_name_alone() -> None:
    for name in known_recipes():
        assert recipe_named(name) == load_recipe(name)
    for name in ("/etc/passwd", "./own.toml", "recipes/default", "default.toml", ""):
        with pytest.raises(UnknownRecipe):
            recipe_named(name)
    assert recipe_named("default", {"fusion.pool": 7}).fusion.pool == 7


def test_a_change_chooses_no_other_model() -> None:
    for model in ("cohere:rerank", "sentence-transformers:someone/else", "fastembed:x"):
        with pytest.raises(InvalidInput, match="cannot choose another model"):
            recipe_named("default", {"rerank.cross_encoder.model": model})
    assert recipe_named("default", {"rerank.cross_encoder.depth": 5})


@pytest.mark.parametrize(
    "path", ["routes.dense.depth", "routes.dense.depth_per_k", "fusion.pool", "rerank.reads.depth"]
)
def test_a_change_cannot_make_the_server_read_far_more(path: str) -> None:
    assert recipe_named("default", {path: 10})
    with pytest.raises(InvalidInput, match=rf"{path} is 100|{path} is 4,000"):
        recipe_named("default", {path: 4_000 if path.endswith(("dense.depth", "pool")) else 100})


def test_noise_is_left_out_where_an_answer_is_to_be_repeated() -> None:
    def sigma(**given: object) -> float:
        recipe = recipe_named("engram", given or None, still=True)
        return next(float(stage.constants.sigma) for stage in recipe.select if stage.name == "noise")

    assert sigma() == 0
    assert sigma(**{"select.noise.sigma": 0.2}) == 0.2
    assert recipe_named("default", still=True) == load_recipe("default")


def test_a_store_that_does_not_answer_is_not_ready(tmp_path: Path) -> None:
    service = open_service(str(tmp_path / "memory.db"))
    with asking(service) as client:
        assert client.get("/ready").status_code == 200
        service.close()
        away = client.get("/ready")
        assert (away.status_code, away.json()["type"]) == (503, "urn:fivefold:problem:stopping")
        assert client.get("/health").status_code == 200


def test_a_server_that_does_not_own_the_database_is_ready(postgres: Server) -> None:
    """Such a role cannot list namespaces: a key is told of those that it names, one of all of none."""
    database = OwnDatabase(postgres)
    try:
        role, user = database.new_role(), database.new_user()
        with opened(database.dsn(role=role)) as engine:
            engine.remember("Sarah drinks tea")
        database.run(f"GRANT {role} TO {user}")
        service = open_service(database.dsn(user, role=role), "wordllama", limits=UNLIMITED)
        try:
            named, all_of_them = (
                service.keyring.create("k", "reader", names)[1] for names in (["default", "b"], ["*"])
            )
            with asking(service, named) as client:
                assert client.get("/ready").status_code == 200
                assert client.get("/v1/namespaces").json()["items"] == [{"name": "default"}]
            with asking(service, all_of_them) as client:
                assert client.get("/v1/namespaces").json()["items"] == []
        finally:
            service.close()
    finally:
        database.close()


def test_a_store_on_a_database_server_is_served_alike(postgres: Server) -> None:
    service = open_service(postgres.new_location(), "wordllama", limits=UNLIMITED)
    key, secret = service.keyring.create("one", "admin", ["a/b"])
    space = "/v1/namespaces/a%2Fb"
    try:
        with asking(service, secret) as client:
            headers = {"Idempotency-Key": "first"}
            body = {"content": "The spare key is with Mrs Okafor", "session_id": "monday"}
            told = [client.post(f"{space}/memories", json=body, headers=headers) for _ in range(2)]
            assert [answer.status_code for answer in told] == [201, 201]
            assert told[0].json() == told[1].json()
            (id,) = told[0].json()["stored"]
            found = client.post(f"{space}/recall", json={"question": "who has the key?"}).json()
            assert found["hits"][0]["memory"]["id"] == id
            used = client.post(f"{space}/feedback", json={"recall_id": found["id"], "used": [id]})
            assert used.status_code == 200, used.text
            assert [item["id"] for item in client.get(f"{space}/memories").json()["items"]] == [id]
            assert len(client.get(f"{space}/export").text.splitlines()) == 2
            assert client.delete(f"{space}/memories/{id}").json()["id"] == id
            noted = client.get("/v1/audit").json()["items"]
            assert {item["key_id"] for item in noted} == {key.id}
            assert client.get("/v1/namespaces/default/stats").status_code == 403
    finally:
        service.close()
