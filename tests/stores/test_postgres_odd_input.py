"""What nobody should send and everybody does, to a PostgreSQL store: it is stored whole, or refused in plain words."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import pytest

import fivefold
from fivefold.engine import Engine
from fivefold.retrieval.recipe_file import known_recipes
from fivefold.stores.interface import Store
from fivefold.values.entities import Statement
from fivefold.values.serialize import Json
from tests.conformance.recipes import steady
from tests.conformance.store_pair import StorePair, in_memory, new_namespace
from tests.conformance.store_pair import opened as engine_on
from tests.conformance.strategies import WORDS
from tests.support.own_database import opened
from tests.support.postgres import Server

pytestmark = pytest.mark.postgres

INJECTED = (
    "'; DROP TABLE memories; --",
    '"; DROP SCHEMA fivefold CASCADE; --',
    "x' OR '1'='1",
    "$1 $2 %s %(name)s ?1 :ns",
    "\\'; SELECT pg_sleep(9); --",
    "'); SET ROLE NONE; --",
    "/* */ UNION ALL SELECT * FROM namespaces --",
    "{x} {{y}}",
    "E'\\x27'",
    "$$ BEGIN $$",
    "\N{RIGHT SINGLE QUOTATION MARK}; COMMIT; --",
    "COPY memories TO PROGRAM 'id'",
)

NAMES = (
    "O'Hara",
    'say "hi"',
    "Ünïcødé ß 東京",
    "👩‍👧",
    "a;b",
    "a\\b",
    "%s",
    "$1",
    "?",
    ":ns",
    "x" * 200,
    "0",
    "-1",
    "NULL",
    "default'",
    "é",
    "e\u0301",
    "\u202eright to left",
    "DROP TABLE memories",
    "fivefold.namespace",
)


@pytest.fixture(scope="module")
def location(postgres: Server) -> str:
    return postgres.new_location()


@pytest.fixture(scope="module")
def store(location: str) -> Iterator[Store]:
    with opened(location) as engine:
        yield engine.store


@pytest.fixture
def engine(store: Store) -> Engine:
    return engine_on(store, new_namespace())


@pytest.fixture
def pair(store: Store) -> Iterator[StorePair]:
    with in_memory() as reference:
        yield StorePair(store, reference)


# names


def test_namespaces_of_any_name_are_kept_apart(store: Store, location: str) -> None:
    for name in NAMES:
        engine_on(store, name).remember(f"only {name} knows this")
    for name in NAMES:
        (hit,) = engine_on(store, name).recall("who knows?")
        assert (hit.memory.content, hit.memory.namespace) == (f"only {name} knows this", name)
    with opened(location) as other:
        assert set(NAMES) <= set(other.store.namespaces())


@pytest.mark.parametrize("name", ["", " ", "a\nb", "a\x00b", "\ud800", "x" * 201, "\u200b"])
def test_a_name_that_is_none_is_refused(location: str, name: str) -> None:
    with pytest.raises(fivefold.InvalidInput, match="namespace"):
        fivefold.open(location, namespace=name)


# texts


@pytest.mark.parametrize("text", INJECTED)
def test_what_looks_like_sql_is_a_text_in_every_field(engine: Engine, text: str) -> None:
    given: Json = {
        "id": text,
        "speaker": text,
        "session_id": text,
        "predicate": text,
        "user_text": text,
        "assistant_text": text,
        "next_user_text": text,
        "tags": [text, f"{text}2"],
        "task_tag": text,
        "metadata": {text: [text]},
    }
    engine.remember(f"{text} was said", **given)
    by_hand = engine.graph.add(f"{text} by hand", aliases=[f"{text} too"])
    memory = engine.get(text)
    assert (memory.content, memory.speaker, memory.metadata) == (f"{text} was said", text, {text: [text]})
    for recipe in known_recipes():
        assert engine.recall(text, recipe=steady(recipe), history=[text]).hits
    assert engine.graph.entity(f"{text} too") == by_hand
    assert engine.update(text, content=f"{text} was said again").content == f"{text} was said again"
    assert engine.forget_session(text) >= 1
    assert all(finding.ok for finding in engine.doctor())


BAD: dict[str, Callable[[Engine, str], object]] = {
    "content": lambda engine, text: engine.remember(text),
    "id": lambda engine, text: engine.remember("tea", id=text),
    "tags": lambda engine, text: engine.remember("tea", tags=[text]),
    "metadata": lambda engine, text: engine.remember("tea", metadata={"a": [text]}),
    "question": lambda engine, text: engine.recall(text),
    "history": lambda engine, text: engine.recall("tea", history=[text]),
    "get": lambda engine, text: engine.get(text),
    "forget_session": lambda engine, text: engine.forget_session(text),
    "used": lambda engine, text: engine.feedback(text, used=[]),
    "entities": lambda engine, text: engine.graph.entities(text),
    "entity": lambda engine, text: engine.graph.entity(text),
    "alias": lambda engine, text: engine.graph.add("tea", aliases=[text]),
    "configure": lambda engine, text: engine.configure(extractor=text),
}


@pytest.mark.parametrize("text", ["a\x00b", "a\ud800b"])
@pytest.mark.parametrize("way", BAD)
def test_what_is_no_text_is_refused_as_sqlite_refuses_it(pair: StorePair, way: str, text: str) -> None:
    def attempt(engine: Engine) -> object:
        try:
            return type(BAD[way](engine, text)).__name__
        except fivefold.FivefoldError as error:
            return f"{type(error).__name__}: {error}"

    outcome = attempt(pair.reference)
    assert attempt(pair.tested) == outcome
    assert way == "metadata" or not str(outcome).startswith("Report")


def test_a_text_over_the_limit_is_refused_and_a_long_one_is_taken(pair: StorePair) -> None:
    with pytest.raises(fivefold.InvalidInput, match="100,000,001 characters"):
        pair.tested.remember("x" * 100_000_001)
    long = " ".join(f"{word}{number}" for number in range(2_000) for word in WORDS)[:30_000]
    pair.remember(
        {"content": long, "id": "long", "metadata": {"text": "y" * 90_000}}, {"content": "tea", "id": "short"}
    )
    assert pair.tested.get("long").content == long.strip()
    pair.ask("tea", " ".join(long.split()[:3]))
    pair.same()
    pair.both(lambda engine: engine.forget("long"))
    pair.same()


def test_a_batch_with_one_bad_record_stores_nothing(engine: Engine) -> None:
    with pytest.raises(fivefold.InvalidInput, match="record 3"):
        engine.remember_many(["one", "two", "three\x00", "four"])
    assert engine.stats().memories == 0


@pytest.mark.parametrize("number", [2**63 - 1, 2**63, 2**70, -(2**70)])
def test_numbers_beyond_all_keys_name_nothing(engine: Engine, number: int) -> None:
    engine.remember("Sarah drinks tea")
    with pytest.raises(fivefold.NotFound):
        engine.graph.entity(number)
    with pytest.raises(fivefold.NotFound):
        engine.graph.unrelate(number)


def test_times_at_both_ends_are_kept(pair: StorePair) -> None:
    pair.remember(
        {"content": "the first day", "id": "first", "event_at": "0001-01-02T00:00:00Z", "type": "event"},
        {"content": "the last day", "id": "last", "event_at": "9999-12-30T23:59:59Z", "type": "event"},
    )
    pair.ask("what happened yesterday?", "what happened in 2024?", now="2025-03-10T12:00:00Z")
    pair.same()


# questions


def test_a_pasted_page_is_a_question(pair: StorePair) -> None:
    chance = random.Random(2)
    vocabulary = [f"word{number}" for number in range(3_000)]
    pair.remember(*({"content": " ".join(chance.sample(vocabulary, 12)), "id": f"p{i:03}"} for i in range(200)))
    page = " ".join(chance.sample(vocabulary, 3_000))
    pair.ask(page, recipes=[steady(name) for name in ("lexical", "memsense", "default")])
    reader = pair.tested.store.reader(pair.tested.namespace)
    assert len(reader.search.latest_with(vocabulary, 500)) == 200


@pytest.mark.parametrize("question", ["the of and", "?", "🎉", "!!!", "a", "and " * 3_000, "''", '"', "%", "\\"])
def test_a_question_of_nearly_nothing_is_answered(pair: StorePair, question: str) -> None:
    pair.remember({"content": "Sarah drinks tea 🎉", "id": "a"}, {"content": "the and of", "id": "b"})
    pair.ask(question)


def test_an_empty_store_answers_with_nothing(store: Store) -> None:
    engine = engine_on(store, new_namespace())
    untouched = Engine(store, new_namespace())
    for empty in (engine, untouched):
        for recipe in known_recipes():
            recall = empty.recall("who drinks tea?", recipe=steady(recipe))
            assert (recall.hits, [run for run in recall.routes if run.status == "failed"]) == ((), [])
        assert (empty.stats().memories, len(empty.sessions()), len(empty.graph.entities())) == (0, 0, 0)
        assert all(finding.ok for finding in empty.doctor())
    with pytest.raises(fivefold.NotFound):
        untouched.get("nothing")


def test_more_wanted_than_there_is_gives_what_there_is(pair: StorePair) -> None:
    pair.remember({"content": "Sarah drinks tea", "id": "a"}, {"content": "Tom drinks milk", "id": "b"})
    pair.ask("who drinks?", k=1_000)
    assert len(pair.tested.recall("who drinks?", k=1_000).hits) == 2


@pytest.mark.parametrize("start", ["Élan", "ÖL", "İstanbul", "tea", "TEA pot", "élan"])
def test_statements_are_found_by_their_first_words_in_any_script(pair: StorePair, start: str) -> None:
    values = ("Élan Vital", "ÖL", "Tea pot", "İstanbul x")

    def found(engine: Engine) -> list[str]:
        row = engine.get("a").row
        with engine.store.write(engine.namespace) as txn:
            txn.statements.add(row, [Statement("i", "like", value) for value in values])
            return [slot.value for slot in txn.statements.current_with_value(start)]

    pair.remember({"content": "I like many things", "id": "a"})
    pair.both(found)


@pytest.mark.parametrize("id", ["plain", "é 東京", 'a"b', "a\\b", "%_", "'"])
def test_a_recall_is_forgotten_with_a_memory_it_returned(engine: Engine, id: str) -> None:
    """Whether it was logged already or still waits to be."""
    for flushed in (True, False):
        engine.remember(f"Sarah drinks tea, {flushed}", id=id)
        assert engine.recall("tea").hits
        if flushed:
            assert engine.stats().recalls == 1
        engine.forget(id)
        assert engine.stats().recalls == 0
