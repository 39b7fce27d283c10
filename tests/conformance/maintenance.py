"""Maintenance: counting, checking, repairing, moving to another model or another store, closing."""

from __future__ import annotations

import threading
from functools import partial
from pathlib import Path

import pytest

from fivefold import sample
from fivefold.engine import Engine
from fivefold.errors import StoreClosed
from fivefold.stores import open_store
from fivefold.stores.interface import Store
from fivefold.writing import rebuild

from .compare import session_names
from .fixtures import StoreFixtures
from .recipes import steady
from .store_pair import StorePair, answers, contents_of, exported, opened, same_answers
from .vectors import Failing, WordVectors

QUESTIONS = ("who works on the Kestrel?", "what did I do in early June?", "my badge ID")


class MaintenanceLaws(StoreFixtures):
    """What keeps a store sound, and several users of it apart."""

    def test_a_new_namespace_is_sound_and_empty(self, pair: StorePair) -> None:
        pair.same()
        pair.both(lambda engine: all(finding.ok for finding in engine.doctor(repair=True)))
        pair.same()

    def test_a_repair_changes_no_answer(self, pair: StorePair) -> None:
        pair.remember(*sample.memories()[:90])
        for id in ("s01.02", "s02.01"):
            pair.both(partial(Engine.forget, id=id))
        before, lines = answers(pair.tested, *QUESTIONS), exported(pair.tested)
        assert all(finding.ok for finding in pair.tested.doctor(repair=True))
        assert exported(pair.tested) == lines
        same_answers(before, answers(pair.tested, *QUESTIONS))
        pair.reference.doctor(repair=True)
        pair.ask(*QUESTIONS)

    def test_an_export_is_the_same_to_the_byte_and_comes_back(
        self, pair: StorePair, store: Store, tmp_path: Path
    ) -> None:
        pair.remember(*sample.memories()[:120])
        pair.both(lambda engine: engine.forget("s01.02") and None)
        pair.both(lambda engine: engine.supersede("s01.03", {"content": "My badge is blue now", "id": "new"}))
        files = {}
        for name, engine in (("tested", pair.tested), ("reference", pair.reference)):
            path = tmp_path / f"{name}.jsonl"
            assert engine.export_jsonl(path) == engine.stats().memories
            files[name] = path.read_bytes()
            for id, session in session_names(engine).items():
                files[name] = files[name].replace(id.encode(), session.encode())
        assert files["tested"] == files["reference"]
        copy = opened(store)
        assert len(copy.import_jsonl(tmp_path / "reference.jsonl").stored) == pair.tested.stats().memories
        assert sorted(exported(copy)) == sorted(exported(pair.tested))
        assert all(finding.ok for finding in copy.doctor())
        again = copy.import_jsonl(tmp_path / "reference.jsonl")
        assert (again.stored, len(again.merged)) == ((), copy.stats().memories)

    def test_what_was_imported_answers_as_in_the_reference(self, pair: StorePair, tmp_path: Path) -> None:
        source = opened(pair.reference.store)
        source.remember_many(sample.memories()[:90])
        source.export_jsonl(tmp_path / "x.jsonl")
        pair.both(lambda engine: engine.import_jsonl(tmp_path / "x.jsonl"))
        pair.ask(*QUESTIONS)
        pair.same()

    def test_statements_that_ended_stay_ended_after_an_import(self, pair: StorePair, tmp_path: Path) -> None:
        source = opened(pair.reference.store)
        texts = ("I am 44 years old and I live in Leeds", "I live in Bristol", "I live in Paris")
        for number, text in enumerate(texts):
            source.remember(text, id=f"t{number}", event_at=f"202{number}-01-01T00:00:00Z")
        source.export_jsonl(tmp_path / "x.jsonl")
        pair.both(lambda engine: engine.import_jsonl(tmp_path / "x.jsonl"))
        report = pair.both(lambda engine: engine.remember("I live in Rome", id="Rome"))
        stated = [link for link in (*report.superseded, *report.linked) if link.relation != "likely"]
        assert [link.target for link in stated] == ["t2"]
        pair.same()

    # another model

    def test_moving_to_another_model_keeps_everything_else(self, pair: StorePair) -> None:
        pair.remember(*sample.memories()[:60])
        vectors = pair.tested.stats().vectors
        pair.both(lambda engine: engine.reembed(WordVectors(48)))
        assert (pair.tested.stats().embedder, pair.tested.stats().vectors) == ("words-48@1", vectors)
        pair.remember({"content": "One more after the move", "id": "more", "session_id": "s01"})
        pair.ask(*QUESTIONS)
        pair.same()

    def test_a_move_that_stops_half_way_goes_on_where_it_stopped(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(rebuild, "BATCH_MEMORIES", 10)
        engine = opened(store)
        engine.remember_many([{"content": f"text number {i}", "id": f"t{i}"} for i in range(35)])
        before = answers(engine, "text number 7")
        half = Failing(2, dimension=48)
        with pytest.raises(RuntimeError, match="went away"):
            engine.reembed(half)
        assert engine.stats().embedder == WordVectors().pin
        same_answers(before, answers(engine, "text number 7"))
        engine.remember("told between the two", id="between")
        rest = Failing(10, dimension=48)
        engine.reembed(rest)
        assert rest.left >= 10 - 3, "what was embedded before was embedded again"
        assert (engine.stats().embedder, engine.stats().vectors) == ("words-48@1", 36)
        assert engine.recall("told between the two", recipe="dense")[0].memory.id == "between"
        assert all(finding.ok for finding in engine.doctor())

    # several users

    def test_two_engines_see_each_others_writes(self, store: Store, location: str) -> None:
        one = opened(store)
        other = opened(open_store(location), one.namespace)
        try:
            one.remember_many([{"content": f"text number {i}", "id": f"t{i}", "session_id": "s"} for i in range(5)])
            assert _found_ids(other) == _found_ids(one)
            other.update("t3", content="quite different words", type="preference")
            assert one.get("t3").content == "quite different words"
            assert [hit.memory.id for hit in one.recall("quite different", recipe=steady("lexical"))] == ["t3"]
            other.forget("t4")
            one.remember("text number nine", id="t9")
            assert _found_ids(one) == _found_ids(other) == {"t0", "t1", "t2", "t3", "t9"}
            assert contents_of(one)["sessions"] == contents_of(other)["sessions"]
            one.reembed(WordVectors(48))
            assert _found_ids(opened(other.store, one.namespace, WordVectors(48))) == {"t0", "t1", "t2", "t3", "t9"}
        finally:
            other.close()

    def test_what_was_written_is_there_when_opened_again(self, location: str) -> None:
        first = opened(open_store(location))
        first.remember_many(sample.memories()[:30])
        lines = exported(first)
        first.close()
        again = opened(open_store(location), first.namespace)
        try:
            assert exported(again) == lines
            assert again.stats().memories == len(lines)
        finally:
            again.close()

    def test_many_threads_may_share_an_engine(self, engine: Engine) -> None:
        errors: list[BaseException] = []

        def work(number: int) -> None:
            try:
                for i in range(6):
                    engine.remember(f"Sarah wrote {number} and {i}", id=f"{number}-{i}", session_id=f"s{number % 2}")
                    assert len(engine.recall(f"what did Sarah write? {number}", k=50)) > 0
                engine.forget(f"{number}-3")
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []
        assert engine.stats().by_kind == {"session": 2, "turn": 20}
        assert engine.graph.entity("Sarah").links == 20
        assert all(finding.ok for finding in engine.doctor())

    # the end

    def test_a_closed_engine_says_so(self, location: str) -> None:
        engine = opened(open_store(location))
        engine.remember("said in time", id="x")
        engine.close()
        engine.close()
        for call in (
            lambda: engine.recall("in time"),
            lambda: engine.remember("too late"),
            lambda: engine.get("x"),
            lambda: engine.forget("x"),
            lambda: engine.update("x", content="else"),
            lambda: engine.configure(hops=1),
            engine.graph.entities,
            engine.stats,
            engine.sessions,
            engine.learned,
            engine.store.namespaces,
        ):
            with pytest.raises(StoreClosed):
                call()


def _found_ids(engine: Engine) -> set[str]:
    return {hit.memory.id for hit in engine.recall("text number", k=50, recipe=steady("dense"))}
