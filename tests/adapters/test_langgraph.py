"""LangGraph's store over memories: its contract, and what a graph and LangMem's tools do with it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from langgraph.config import get_store
from langgraph.graph import END, START, StateGraph
from langgraph.store.base import GetOp, InvalidNamespaceError, Item, ListNamespacesOp, MatchCondition, PutOp, SearchOp
from langmem import create_manage_memory_tool, create_search_memory_tool

import fivefold
from fivefold import SharedStore
from fivefold.adapters import langgraph as adapter
from fivefold.adapters.langgraph import FivefoldStore
from fivefold.errors import InvalidInput
from fivefold.values.times import utc_now
from tests.support.postgres import Server

pytestmark = pytest.mark.slow

ANA, BEN = ("users", "ana"), ("users", "ben")
DOCS = {
    "a": {"text": "The boiler was serviced in March", "year": 2024, "tags": ["home"], "at": {"room": "cellar"}},
    "b": {"text": "The ferns want water on Fridays", "year": 2025, "tags": ["home", "plants"], "at": {"room": "hall"}},
    "c": {"text": "The passport expires in June", "year": 2026.5, "tags": [], "done": False},
}


@pytest.fixture
def shared(tmp_path: Path) -> Iterator[SharedStore]:
    with fivefold.store(tmp_path / "memory.db", embedder="wordllama") as opened:
        yield opened


@pytest.fixture
def store(shared: SharedStore) -> FivefoldStore:
    return FivefoldStore(shared)


@pytest.fixture
def docs(store: FivefoldStore) -> FivefoldStore:
    for key, value in DOCS.items():
        store.put(ANA, key, value)
    return store


def keys(items: list[Any]) -> list[str]:
    return [item.key for item in items]


def test_an_item_is_put_read_changed_and_deleted(store: FivefoldStore) -> None:
    value = {"text": "Tea, no milk", "n": 1.5, "none": None, "list": [{"deep": [1, "ü"]}], "flag": True}
    store.put(ANA, "tea", value)
    first = store.get(ANA, "tea")
    assert first is not None
    assert (first.namespace, first.key, first.value) == (ANA, "tea", value)
    assert store.get(BEN, "tea") is None
    store.put(ANA, "tea", {"text": "Tea with lemon"})
    second = store.get(ANA, "tea")
    assert second is not None
    assert second.value == {"text": "Tea with lemon"}
    assert first.created_at == second.created_at <= first.updated_at < second.updated_at
    store.delete(ANA, "tea")
    store.delete(ANA, "tea")
    assert store.get(ANA, "tea") is None
    store.put(ANA, "tea", {"text": "Tea with lemon"})
    assert store.get(ANA, "tea") is not None, "what was deleted can be stored again"


def test_items_are_kept_apart_though_they_say_the_same(store: FivefoldStore) -> None:
    for key in ("one", "two", "three"):
        store.put(ANA, key, {"text": "I live in Leeds"})
    store.batch([PutOp(ANA, key, {"text": "I live in Leeds"}) for key in ("four", "five")])
    store.put(ANA, "empty", {})
    store.put(ANA, "blank", {"text": " "})
    store.put(BEN, "one", {"text": "I live in Bristol"})
    assert {item.key: item.value for item in store.search(ANA)} == {
        **{key: {"text": "I live in Leeds"} for key in ("one", "two", "three", "four", "five")},
        "empty": {},
        "blank": {"text": " "},
    }
    assert store.store.namespace("users.ana").get("one").superseded_by is None, "another namespace ends nothing"


def test_a_search_finds_by_meaning_and_fills_up(docs: FivefoldStore) -> None:
    found = docs.search(ANA, query="when was the boiler looked after?")
    assert keys(found)[0] == "a"
    assert set(keys(found)) == set(DOCS)
    assert found[0].score is not None
    assert keys(docs.search(ANA)) == ["c", "b", "a"]
    assert keys(docs.search(ANA, limit=1, offset=1)) == ["b"]
    assert keys(docs.search(ANA, query="boiler", limit=2, offset=1)) == keys(docs.search(ANA, query="boiler"))[1:3]
    assert keys(docs.search(ANA, query=" ")) == ["c", "b", "a"]
    assert docs.search(BEN, query="boiler") == docs.search(("nowhere",)) == []


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({"year": 2024}, "a"),
        ({"year": {"$eq": 2025}}, "b"),
        ({"year": {"$ne": 2024}}, "bc"),
        ({"year": {"$gt": 2024, "$lt": 2026}}, "b"),
        ({"year": {"$gte": 2025}}, "bc"),
        ({"year": {"$lte": "2025"}}, "ab"),
        ({"text": {"$gt": "The f"}}, "bc"),
        ({"at": {"room": "hall"}}, "b"),
        ({"at.room": "hall"}, "b"),
        ({"at": {"room": {"$ne": "hall"}}}, "a"),
        ({"tags": ["home", "plants"]}, "b"),
        ({"tags": []}, "c"),
        ({"done": False}, "c"),
        ({"done": None}, "ab"),
        ({"year": 2024, "done": False}, ""),
        ({"nowhere": {"$gt": 1}}, ""),
    ],
)
def test_a_filter_narrows_with_and_without_a_query(docs: FivefoldStore, wanted: dict[str, Any], expected: str) -> None:
    assert sorted(keys(docs.search(ANA, filter=wanted))) == list(expected)
    assert sorted(keys(docs.search(ANA, query="boiler", filter=wanted))) == list(expected)


def test_namespaces_are_listed(store: FivefoldStore) -> None:
    spaces = [("a", "b"), ("a", "c", "v1"), ("a", "c", "v2"), ("b", "c", "v1"), ("users", "é\n")]
    for space in spaces:
        store.put(space, "k", {"text": f"in {space}"})
    store.put(("gone",), "k", {"text": "x"})
    store.delete(("gone",), "k")
    assert store.list_namespaces() == sorted(spaces)
    assert store.list_namespaces(prefix=("a",)) == spaces[:3]
    assert store.list_namespaces(prefix=("a", "*", "v1")) == [("a", "c", "v1")]
    assert store.list_namespaces(suffix=("c", "*")) == spaces[1:4]
    assert store.list_namespaces(prefix=("a",), suffix=("v2",)) == [("a", "c", "v2")]
    assert store.list_namespaces(max_depth=1) == [("a",), ("b",), ("users",)]
    assert store.list_namespaces(limit=2, offset=1) == spaces[1:3]
    assert {item.namespace for item in store.search(("a", "c"))} == {("a", "c", "v1"), ("a", "c", "v2")}
    assert len(store.search(())) == len(spaces)
    assert store.search(("a", "c"), query="v2", limit=1)[0].namespace == ("a", "c", "v2")


def test_a_batch_reads_before_it_writes(docs: FivefoldStore) -> None:
    got, put, found, spaces = docs.batch(
        [
            GetOp(ANA, "a"),
            PutOp(ANA, "a", {"text": "changed"}),
            SearchOp(("users",), filter={"year": 2024}),
            ListNamespacesOp((MatchCondition("suffix", ("ana",)),)),
        ]
    )
    assert isinstance(got, Item)
    assert got.value == DOCS["a"]
    assert put is None
    assert keys(list(found or [])) == ["a"]  # type: ignore[call-overload]
    assert spaces == [ANA]
    docs.batch([PutOp(ANA, "x", {"n": 1}), PutOp(ANA, "x", None), PutOp(ANA, "y", None), PutOp(ANA, "y", {"n": 2})])
    assert docs.get(ANA, "x") is None
    assert docs.get(ANA, "y") is not None


def test_everything_can_be_awaited(store: FivefoldStore) -> None:
    async def use() -> None:
        await asyncio.gather(*(store.aput(ANA, key, value) for key, value in DOCS.items()))
        assert keys(await store.asearch(ANA, query="passport", limit=1)) == ["c"]
        assert await store.alist_namespaces() == [ANA]
        await asyncio.gather(*(store.aput(BEN, "same", {"n": number}) for number in range(8)))
        assert [item.value["n"] in range(8) for item in await store.asearch(BEN)] == [True]
        turns = ((store.aput(BEN, "same", {"n": number}), store.adelete(BEN, "same")) for number in range(40))
        await asyncio.gather(*(each for turn in turns for each in turn))
        await store.adelete(ANA, "c")
        assert await store.aget(ANA, "c") is None
        item = await store.aget(ANA, "a")
        assert item is not None
        assert item.value == DOCS["a"]

    asyncio.run(use())


def test_fields_choose_what_is_searched(shared: SharedStore) -> None:
    store = FivefoldStore(shared, fields=["text", "at.room"])
    store.put(ANA, "a", DOCS["a"])
    store.put(ANA, "b", DOCS["b"], index=["tags[*]"])
    store.put(ANA, "c", DOCS["c"], index=False)
    texts = {memory.id: memory.content for memory in shared.namespace("users.ana").memories()}
    assert texts["a"] == "The boiler was serviced in March\ncellar"
    assert texts["b"] == "home\nplants"
    assert "passport" not in texts["c"]
    assert [item.score is None for item in store.search(ANA, query="passport") if item.key == "c"] == [True]
    item = store.get(ANA, "c")
    assert item is not None
    assert item.value == DOCS["c"]


def test_an_item_lives_as_long_as_it_is_used(shared: SharedStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store = FivefoldStore(shared, ttl={"default_ttl": 10, "refresh_on_read": True})
    start = utc_now()

    def clock(minutes: float) -> None:
        monkeypatch.setattr(adapter, "utc_now", lambda: start + timedelta(minutes=minutes))

    clock(0)
    store.put(ANA, "read", {"text": "the read one"})
    store.put(ANA, "left", {"text": "the other one"})
    store.put(ANA, "kept", {"text": "a third one"}, ttl=None)
    clock(8)
    assert store.get(ANA, "left", refresh_ttl=False) is not None
    assert store.get(ANA, "read") is not None
    clock(17)
    assert store.get(ANA, "left") is None
    assert sorted(keys(store.search(ANA, refresh_ttl=False))) == ["kept", "read"]
    clock(30)
    assert keys(store.search(ANA)) == ["kept"]
    store.put(BEN, "past", {"text": "over"}, ttl=-1)
    assert store.list_namespaces() == [ANA]


def test_a_sweep_deletes_what_has_expired(shared: SharedStore) -> None:
    store = FivefoldStore(shared)
    store.put(ANA, "kept", {"text": "stays"})
    store.put(ANA, "past", {"text": "over"}, ttl=-1)
    assert len(shared.namespace("users.ana").memories()) == 2
    assert (store.sweep_ttl(), store.sweep_ttl()) == (1, 0)
    assert [memory.id for memory in shared.namespace("users.ana").memories()] == ["kept"]
    swept = FivefoldStore(shared, ttl={"sweep_interval_minutes": 0})
    swept.put(ANA, "past", {"text": "over"}, ttl=-1)
    assert [memory.id for memory in shared.namespace("users.ana").memories()] == ["kept"]


def test_other_faces_see_the_items_and_their_memories_are_items(docs: FivefoldStore) -> None:
    ana = docs.store.namespace("users.ana")
    (hit,) = ana.recall("when do the ferns want water?", k=1)
    assert hit.memory.id == "b"
    ana.remember("The spare key is with Mrs Okafor", id="key")
    item = docs.get(ANA, "key")
    assert item is not None
    assert item.value == {"content": "The spare key is with Mrs Okafor"}
    assert docs.search(ANA, query="who has the spare key?", limit=1)[0].key == "key"
    ana.update("a", content="The boiler was serviced in May")
    changed = docs.get(ANA, "a")
    assert changed is not None
    assert changed.value == {"content": "The boiler was serviced in May"}
    ana.forget("b")
    assert docs.get(ANA, "b") is None


def test_what_is_wrong_is_said_and_nothing_is_stored(store: FivefoldStore) -> None:
    store.put(ANA, "a", {"n": 1})
    with pytest.raises(InvalidInput, match="unknown operator"):
        store.search(ANA, filter={"n": {"$near": 1}})
    with pytest.raises(InvalidInput, match="at least one label"):
        store.batch([PutOp(BEN, "b", {"n": 1}), PutOp((), "b", {"n": 1})])
    with pytest.raises(InvalidInput, match="id"):
        store.batch([PutOp(("users", "cleo"), "b", {"n": 1}), PutOp(BEN, "two\nlines", {"n": 1})])
    with pytest.raises(InvalidInput, match="the maximum is 200"):
        store.put(("x" * 150, "y" * 150), "b", {"n": 1})
    with pytest.raises(InvalidInput, match="metadata"):
        store.put(BEN, "b", {"n": object()})
    with pytest.raises(InvalidInput, match="must be a mapping"):
        store.put(BEN, "b", "text")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="number of minutes"):
        store.put(BEN, "b", {"n": 1}, ttl="an hour")  # type: ignore[arg-type]
    with pytest.raises(InvalidNamespaceError):
        store.put(("users.ben",), "b", {"n": 1})
    assert store.list_namespaces() == [ANA]
    with pytest.raises(TypeError, match="filtre"):
        store.search(ANA, filtre={})  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="indexes"):
        FivefoldStore(store.store, indexes={})  # type: ignore[call-arg]
    with pytest.raises(InvalidInput, match="unknown setting 'default'"):
        FivefoldStore(store.store, ttl={"default": 1})  # type: ignore[typeddict-unknown-key]
    with pytest.raises(InvalidInput, match=r"fivefold\.store"):
        FivefoldStore(store.store.namespace("a"))  # type: ignore[arg-type]


def test_a_graph_remembers_between_threads(store: FivefoldStore) -> None:
    def note(state: dict[str, Any]) -> dict[str, Any]:
        get_store().put(ANA, "said", {"text": state["text"]})
        return {"text": get_store().search(ANA, query="what did I say?", limit=1)[0].value["text"]}

    graph = StateGraph(dict)
    graph.add_node("note", note)
    graph.add_edge(START, "note")
    graph.add_edge("note", END)
    assert graph.compile(store=store).invoke({"text": "We leave from gate 7"}) == {"text": "We leave from gate 7"}
    assert store.store.namespace("users.ana").recall("which gate?", k=1)[0].memory.id == "said"


def test_the_tools_of_langmem_work(store: FivefoldStore) -> None:
    space = ("memories", "ana")
    manage = create_manage_memory_tool(namespace=space, store=store)
    search = create_search_memory_tool(namespace=space, store=store)
    manage.invoke({"content": "The user prefers trains to planes", "action": "create"})
    manage.invoke({"content": "The user is allergic to nuts", "action": "create"})
    assert "nuts" in search.invoke({"query": "any allergies?", "limit": 1})
    (found,) = store.search(space, query="allergies", limit=1)
    manage.invoke({"content": "The user is allergic to nuts and shellfish", "action": "update", "id": found.key})
    assert "shellfish" in search.invoke({"query": "any allergies?", "limit": 1})
    manage.invoke({"action": "delete", "id": found.key})
    assert "nuts" not in search.invoke({"query": "any allergies?"})


def test_the_same_holds_on_a_server(postgres: Server) -> None:
    with fivefold.store(postgres.new_location(), embedder="wordllama") as shared:
        store = FivefoldStore(shared)
        for space in (ANA, ("users", "50% é\n")):
            store.batch([PutOp(space, key, value) for key, value in DOCS.items()])
        assert keys(store.search(ANA, query="when was the boiler looked after?", limit=1)) == ["a"]
        assert keys(store.search(ANA, filter={"at.room": "hall"})) == ["b"]
        store.put(ANA, "past", {"text": "over"}, ttl=-1)
        store.delete(ANA, "a")
        assert keys(store.search(ANA)) == ["c", "b"]
        assert (store.sweep_ttl(), len(store.list_namespaces(prefix=("users",)))) == (1, 2)
