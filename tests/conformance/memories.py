"""Memories: what is stored is found, a repeat is stored once, and what supersedes it is linked to it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from fivefold.engine import Engine
from fivefold.errors import InvalidInput, NotFound
from fivefold.stores.interface import Store
from fivefold.values.memory import record_of
from fivefold.values.serialize import Json
from fivefold.writing import pipeline
from fivefold.writing.draft import draft
from fivefold.writing.extract import extractor

from .fixtures import StoreFixtures
from .recipes import steady
from .searches import dense, words
from .store_pair import NOW, StorePair, contents_of, exported, opened
from .vectors import Failing, WordVectors

ODD = (
    "plain words",
    "Zoë met 佐藤 in São Paulo 🎉",
    "e\u0301 and é",
    "\u202eright to left\u202c قاهرة",
    "tab\tand\nnew line",
    "quote ' double \" percent % under _ back \\ dollar $1 :name ?",
    "'; DROP TABLE memories; --",
    "👩‍👩‍👧‍👦 and 🏳️‍🌈",
    "\U0001f9ff\U000e0067 astral",
    "zero\u200bwidth\ufeffmark",
    "a" * 300,
    "ǆ ǅ Ǆ ß ẞ İ ı",
    "\x01control\x7f",
)


class MemoryLaws(StoreFixtures):
    """Writing one memory, and writing many."""

    @pytest.mark.parametrize("text", ODD)
    def test_what_is_remembered_is_found_and_comes_back_to_the_letter(self, engine: Engine, text: str) -> None:
        engine.remember_many(["something else", "and another thing"])
        id = engine.remember(text, speaker="Zoë 🎉", tags=["Straße", "🏷️"], session_id="s 'ß'").id
        memory = engine.get(id)
        assert (memory.content, memory.speaker, memory.session_id) == (text, "Zoë 🎉", "s 'ß'")
        for recipe in ("default", "dense", "recall"):
            assert id in [hit.memory.id for hit in engine.recall(text, recipe=steady(recipe))]

    def test_many_are_read_by_their_ids(self, engine: Engine) -> None:
        engine.remember_many([{"content": f"memory {id}", "id": id} for id in ("a", "b", "c")])
        read = engine.store.reader(engine.namespace).memories.get_many
        assert {id: memory.content for id, memory in read(["c", "none", "a"]).items()} == {
            "a": "memory a",
            "c": "memory c",
        }
        assert read([]) == {}

    def test_every_field_comes_back(self, pair: StorePair) -> None:
        pair.remember(
            {
                "id": "all",
                "content": "It was said",
                "speaker": "Ann",
                "session_id": "s",
                "turn_index": 7,
                "type": "entity",
                "predicate": "was said",
                "user_text": "what was said?",
                "assistant_text": "it was said",
                "task_tag": "saying",
                "next_user_text": "really?",
                "tags": ["b", "a", "ü"],
                "event_at": "2025-01-02T03:04:05.678901+02:00",
                "valid_from": "2025-01-01T00:00:00Z",
                "valid_to": "2026-01-01T00:00:00Z",
                "importance": 0.1,
                "memory_score": 1 / 3,
                "confidence": 0.7,
                "metadata": {"z": 1, "a": {"n": None, "t": True, "f": 2.50, "e": 1e300, "i": 2**70, "s": '\0 ü \\ "'}},
            }
        )
        memory = pair.both(lambda engine: engine.get("all"))
        assert memory.event_at == datetime(2025, 1, 2, 1, 4, 5, 678901, tzinfo=UTC)
        assert list(memory.metadata) == ["z", "a"]
        assert (memory.memory_score, memory.metadata["a"]["s"], memory.metadata["a"]["i"]) == (
            1 / 3,
            '\0 ü \\ "',
            2**70,
        )
        pair.same()

    def test_times_of_any_age_come_back(self, pair: StorePair) -> None:
        for i, at in enumerate(("0001-01-01T00:00:00Z", "1969-07-20T20:17:40.000001Z", "9999-12-31T23:59:59.999999Z")):
            pair.remember({"content": f"at time {i}", "event_at": at, "id": at, "type": "event"})
        pair.ask("at which time?", "what happened in July 1969?")
        pair.same()

    def test_long_texts_come_back_and_are_found(self, pair: StorePair) -> None:
        long = " ".join(f"word{i}" for i in range(7_000))
        assert 60_000 < len(long) < 100_000
        pair.remember({"content": long, "id": "long", "session_id": "s"})
        pair.remember({"content": "東京" * 20_000, "id": "unspaced"}, {"content": "x" * 99_999, "id": "one word"})
        assert pair.tested.get("long").content == long
        assert [id for id, _ in words(pair.tested, "word6000")] == ["long"]
        pair.ask(
            "word17 word6400", "京東", recipes=[steady(name) for name in ("dense", "lexical", "recall", "memsense")]
        )
        pair.same()

    def test_deep_metadata_comes_back(self, engine: Engine) -> None:
        deep: object = "here"
        for _ in range(98):
            deep = [deep]
        engine.remember("deep", id="deep", metadata={"a": deep})
        assert engine.get("deep").metadata == {"a": deep}

    # repeats

    def test_the_same_id_is_stored_once(self, pair: StorePair) -> None:
        record: Json = {"content": "told once", "id": "x", "session_id": "s", "event_at": "2025-02-01T00:00:00Z"}
        pair.remember(record, record)
        again = pair.both(lambda engine: engine.remember(**{**record, "content": "told otherwise"}))
        assert (again.stored, [merge.id for merge in again.merged]) == ((), ["x"])
        assert pair.tested.get("x").content == "told once"
        pair.same()

    def test_equal_notes_become_one(self, pair: StorePair) -> None:
        pair.remember({"content": "The key is under the fern", "id": "first", "tags": ["a"]})
        pair.remember({"content": "the KEY  is under the fern ", "id": "second", "tags": ["b", "a"]})
        memory = pair.both(lambda engine: engine.get("first"))
        assert (memory.seen_count, memory.tags) == (2, ("a", "b"))
        assert pair.tested.stats().memories == 1
        pair.same()

    def test_equal_turns_stay_and_are_linked(self, pair: StorePair) -> None:
        turn: Json = {"content": "yes, please", "session_id": "s", "speaker": "user"}
        pair.remember({**turn, "id": "one"}, {**turn, "id": "two"})
        pair.both(lambda engine: engine.remember(**turn, id="three", event_at="2025-02-01T00:00:00Z"))
        pair.both(lambda engine: engine.remember(**turn, id="four", event_at="2025-02-01T00:00:00Z"))
        pair.both(lambda engine: engine.remember(**{**turn, "session_id": "t"}, id="five"))
        assert pair.tested.stats().by_kind == {"session": 2, "turn": 4}
        pair.same()

    def test_what_is_known_is_not_embedded_again(self, store: Store) -> None:
        model = Failing(after=2)
        engine = opened(store, embedder=model)
        known = [{"content": "The key is under the fern"}, {"content": "yes", "session_id": "s", "id": "turn"}]
        engine.remember_many(known)
        before = model.left
        assert [merge.id for merge in engine.remember_many(known).merged][1] == "turn"
        assert model.left == before

    # replaced

    def test_a_new_statement_replaces_an_old_one(self, pair: StorePair) -> None:
        for year, town in ((2023, "Leeds"), (2024, "Bristol"), (2025, "Paris")):
            pair.remember({"content": f"I live in {town}", "id": town, "event_at": f"{year}-01-01T00:00:00Z"})
        pair.remember({"content": "I live in York", "id": "late", "event_at": "2022-01-01T00:00:00Z"})
        assert pair.tested.get("Leeds").superseded_by == "Bristol"
        assert pair.tested.get("Paris").superseded_by is None
        pair.ask("where do I live?", "Leeds or Bristol?")
        pair.same()

    def test_what_was_replaced_by_hand_can_be_reinstated(self, pair: StorePair) -> None:
        pair.remember({"content": "The fair opens in May", "id": "old", "valid_to": "2025-06-01T00:00:00Z"})
        pair.both(lambda engine: engine.supersede("old", {"content": "The fair is off", "id": "new"}))
        pair.both(lambda engine: engine.supersede("old", {"content": "It is on again", "id": "newer"}))
        pair.both(lambda engine: engine.supersede("new", {"content": "It is on after all", "id": "newest"}))
        assert pair.tested.get("old").superseded_by == "new"
        pair.ask("when is the fair?")
        back = pair.both(lambda engine: engine.reinstate("old"))
        assert (back.superseded_by, back.valid_to) == (None, datetime(2025, 6, 1, tzinfo=UTC))
        pair.ask("when is the fair?")
        pair.same()

    def test_corrections_find_what_they_correct(self, pair: StorePair) -> None:
        texts = (
            "My budget is 300 euros",
            "I am 44 years old",
            "Actually it's 45 now",
            "I said 300, but it's 350 now",
            "My phone is 123 and my badge is 456",
            "Actually it's 789 now",
            "I said 30, but it's 35 now",
        )
        for i, text in enumerate(texts):
            pair.remember({"content": text, "id": f"c{i}", "session_id": "s", "speaker": "user"})
        assert [pair.tested.get(f"c{i}").superseded_by for i in (0, 1)] == ["c3", "c2"]
        pair.ask("how old am I?", "what is my budget?", "my phone or my badge")
        pair.same()

    # changed

    def test_an_update_reaches_all_that_is_derived(self, pair: StorePair) -> None:
        pair.remember(
            {"content": "Where is the kettle?", "id": "before", "session_id": "s", "speaker": "assistant"},
            {"content": "Sarah put the kettle in the attic", "id": "x", "session_id": "s", "speaker": "user"},
        )
        pair.both(lambda engine: engine.update("x", content="Tom hid the teapot in the cellar", type="event"))
        engine = pair.tested
        assert [id for id, _ in words(engine, "attic")] == []
        assert [id for id, _ in words(engine, "cellar")] == ["x"]
        assert dense(engine, "Tom hid the teapot in the cellar")[0][0] == "x"
        assert engine.get("before").next_user_text == "Tom hid the teapot in the cellar"
        assert [item.name for item in engine.graph.entities()] == ["Tom"]
        pair.ask("who hid the teapot?", "kettle in the attic")
        pair.same()

    def test_what_an_updated_memory_had_replaced_holds_again(self, pair: StorePair) -> None:
        pair.remember({"content": "I live in Leeds", "id": "old", "event_at": "2025-01-01T00:00:00Z"})
        pair.remember({"content": "I live in Bristol", "id": "new", "event_at": "2025-02-01T00:00:00Z"})
        pair.both(lambda engine: engine.update("new", content="I like Bristol"))
        assert pair.tested.get("old").superseded_by is None
        pair.both(lambda engine: engine.update("new", content="I live in York"))
        pair.both(lambda engine: engine.update("old", tags=["home"]))
        assert pair.tested.get("old").superseded_by == "new"
        pair.remember({"content": "I live in Paris", "id": "newest", "event_at": "2025-03-01T00:00:00Z"})
        pair.ask("where do I live?")
        pair.same()

    def test_what_cannot_be_changed_is_refused_alike(self, pair: StorePair) -> None:
        pair.remember({"content": "one turn", "id": "x", "session_id": "s"})
        session = {engine: engine.sessions()[0].memory_id or "" for engine in (pair.tested, pair.reference)}
        pair.both(lambda engine: engine.update(session[engine], content="else"))
        pair.both(lambda engine: engine.forget(session[engine]))
        pair.both(lambda engine: engine.update("nobody", content="else"))
        pair.both(lambda engine: engine.update("x", kind="note"))  # type: ignore[call-arg]
        pair.both(lambda engine: engine.supersede("x", {"content": "else", "id": "x"}))
        pair.same()

    # sessions

    def test_sessions_are_logged_and_have_a_memory_of_their_own(self, pair: StorePair) -> None:
        for i in range(12):
            at = f"2025-02-{1 + i % 5:02}T09:{i:02}:00Z"
            pair.remember({"content": f"turn number {i}", "id": f"t{i:02}", "session_id": f"s{i % 3}", "event_at": at})
        pair.remember({"content": "out of turn", "id": "odd", "session_id": "s1", "turn_index": 1})
        log = pair.both(lambda engine: engine.sessions())
        assert [item.turns for item in log] == [5, 4, 4] or sorted(item.turns for item in log) == [4, 4, 5]
        assert pair.tested.get(log[0].memory_id or "").kind == "session"
        assert len(pair.both(lambda engine: engine.sessions(1))) == 1
        pair.ask("turn number 7")
        pair.same()

    def test_turns_know_what_stands_beside_them(self, pair: StorePair) -> None:
        pair.remember(*({"content": f"turn {i}", "id": f"t{i}", "session_id": "st"[i % 2]} for i in range(8)))
        pair.remember(
            {"content": "between", "id": "b", "session_id": "s", "turn_index": 2}, {"content": "note", "id": "n"}
        )

        def neighbours(engine: Engine) -> dict[str, list[str | None]]:
            reader = engine.store.reader(engine.namespace)
            rows = {engine.get(id).row: id for id in (*(f"t{i}" for i in range(8)), "b", "n")}
            pairs = reader.sessions.neighbours(list(rows))
            return {rows[row]: [rows.get(other or 0) for other in pair] for row, pair in sorted(pairs.items())}

        ids = pair.both(neighbours)
        assert ids["t0"][0] is None
        assert "n" not in ids

    # all or nothing

    def test_a_batch_that_fails_leaves_nothing_and_the_one_before_stays(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(pipeline, "MAX_BATCH_RECORDS", 4)
        monkeypatch.setattr(pipeline, "MAX_EMBEDDED_RECORDS", 2)
        engine = opened(store, embedder=Failing(after=3))
        with pytest.raises(RuntimeError, match="went away"):
            engine.remember_many(
                [{"content": f"Sarah met Tom{i}", "session_id": "s", "id": f"m{i}"} for i in range(10)]
            )
        assert engine.stats().by_kind == {"session": 1, "turn": 4}
        assert {item.name for item in engine.graph.entities()} == {"Sarah", "Tom0", "Tom1", "Tom2", "Tom3"}
        whole = opened(store)
        whole.remember_many([{"content": f"Sarah met Tom{i}", "session_id": "s", "id": f"m{i}"} for i in range(4)])
        assert exported(engine) == exported(whole)
        assert words(engine, "Sarah Tom2 Tom5") == words(whole, "Sarah Tom2 Tom5")

    def test_a_transaction_that_fails_leaves_nothing(self, store: Store) -> None:
        engine = opened(store)
        engine.remember("Sarah met Tom", id="kept")
        before = (exported(engine), contents_of(engine), words(engine, "Sarah"))
        with pytest.raises(RuntimeError, match="half way"):
            _half_way(engine)
        assert (exported(engine), contents_of(engine), words(engine, "Sarah")) == before

    def test_bad_records_are_refused_before_anything_is_stored(self, engine: Engine) -> None:
        with pytest.raises(InvalidInput, match="record 2"):
            engine.remember_many(["good", {"content": "nul \x00"}])
        assert engine.stats().memories == 0
        with pytest.raises(NotFound):
            engine.get("nobody")


def _half_way(engine: Engine) -> None:
    """A transaction that adds, removes and sets, and then fails."""
    with engine.store.write(engine.namespace) as txn:
        txn.vectors.pin(WordVectors().pin, WordVectors().dimension)
        for i in range(3):
            record = record_of({"content": f"Sarah met Bo{i}", "session_id": "s"})
            txn.memories.add(draft(record, engine.namespace, extractor("rules"), NOW).entry())
        txn.memories.remove(engine.get("kept").row)
        txn.admin.save_settings({"hops": 0})
        raise RuntimeError("half way")
