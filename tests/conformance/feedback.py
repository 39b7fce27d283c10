"""Feedback: settings are stored, feedback counts once, and what is learned from it is the same."""

from __future__ import annotations

import numpy as np
import pytest

from fivefold.engine import Engine
from fivefold.errors import InvalidInput, NotFound
from fivefold.learning.reranker import unpack_features
from fivefold.stores import open_store
from fivefold.stores.interface import Store
from fivefold.stores.records import PastQuestion

from .fixtures import StoreFixtures
from .recipes import steady
from .store_pair import NOW, StorePair, opened

TEAS = tuple(
    {"content": f"{kind} tea from {place}", "id": f"{kind}-{place}", "event_at": f"2025-02-{day:02}T09:00:00Z"}
    for day, (kind, place) in enumerate(
        ((k, p) for k in ("green", "black", "white") for p in ("Uji", "Assam", "Fujian")), 1
    )
)


class FeedbackLaws(StoreFixtures):
    """What users set and use."""

    def test_settings_are_kept_and_defaults_come_back(self, store: Store, location: str) -> None:
        engine = opened(store)
        engine.configure(timezone="Asia/Tokyo", few_days=(4, 3), dense_weight=0.5, learn_after=7, day_first=False)
        other = Engine(open_store(location), engine.namespace)
        try:
            assert (other.settings.timezone, other.settings.few_days) == ("Asia/Tokyo", (4, 3))
            assert other.stats().settings["dense_weight"] == 0.5
            other.configure(timezone=None, dense_weight=None)
        finally:
            other.close()
        assert (engine.settings.timezone, engine.settings.dense_weight, engine.settings.learn_after) == ("UTC", None, 7)
        with pytest.raises(InvalidInput, match="hops must be"):
            engine.configure(hops=9)
        assert "hops" not in engine.stats().settings

    def test_past_questions_have_what_answered_them(self, store: Store) -> None:
        engine = opened(store)
        engine.remember("Sarah Chen likes green tea", id="tea")
        engine.remember("Sarah Osei likes the long pier", id="pier")
        reader = engine.store.reader(engine.namespace)
        assert reader.feedback.past_questions("sarah", 9) == []
        answer = engine.recall("what tea has SARAH?", recipe="lexical")
        engine.recall("the pier", recipe="lexical")
        assert reader.feedback.past_questions("Sarah", 9) == [PastQuestion("what tea has SARAH?", ("tea",))]
        engine.feedback(answer, used=["pier"], not_used=["tea"])  # writes what waits
        assert reader.feedback.past_questions("Sarah", 9) == [PastQuestion("what tea has SARAH?", ("pier",))]
        assert reader.feedback.past_questions("Sarah", 1) == []
        keys = [found.entity for found in reader.graph.find_aliases(["sarah"])]
        mentions = reader.graph.mentions(["tea", "pier", "none"], keys)
        assert {id: len(entities) for id, entities in mentions.items()} == {"tea": 1, "pier": 1}
        assert mentions["tea"] != mentions["pier"]

    def test_settings_change_answers_alike(self, pair: StorePair) -> None:
        pair.remember(*TEAS, {"content": "Sarah brought Uji tea to Tom", "id": "sarah"})
        pair.both(
            lambda engine: engine.configure(timezone="America/New_York", hops=1, lexical_weight=0.1, widen_below=0)
        )
        pair.ask("which tea did Sarah bring on 3 February?", "green tea")
        pair.same()

    def test_feedback_counts_once_and_raises_what_was_used(self, pair: StorePair) -> None:
        pair.remember(*TEAS)

        def used(engine: Engine) -> None:
            answer = engine.recall("green tea", k=4, recipe=steady("recall"))
            for _ in range(3):
                engine.feedback(answer, used=[answer[1].memory.id])
            engine.feedback(answer.id, used=[answer[0].memory.id, answer[1].memory.id])

        for _ in range(3):
            pair.both(used)
        assert (pair.tested.stats().feedback, pair.tested.stats().recalls) == (6, 3)
        assert sorted(pair.tested.get(str(tea["id"])).access_count for tea in TEAS)[-3:] == [0, 3, 3]
        pair.ask("green tea", "black tea")
        pair.same()

    def test_the_last_word_on_a_memory_counts(self, pair: StorePair) -> None:
        pair.remember(*TEAS)

        def judge(engine: Engine) -> list[object]:
            answer = engine.recall("green tea", k=3, recipe=steady("recall"))
            first, second = answer[0].memory.id, answer[1].memory.id
            engine.feedback(answer, used=[first])
            engine.feedback(answer.id, used=[second], not_used=[first])
            engine.feedback(answer.id, used=[], not_used=[first])
            with pytest.raises(InvalidInput, match="both used and of no use"):
                engine.feedback(answer.id, used=[first], not_used=[first])
            (latest,) = engine.store.reader(engine.namespace).feedback.latest(5)
            counts = [engine.get(id).access_count for id in (first, second)]
            return [sorted(latest.used), sorted(latest.refused), counts, first, second]

        outcome = pair.both(judge)
        assert outcome[:3] == [[outcome[4]], [outcome[3]], [0, 1]]
        pair.same()

    def test_wrong_feedback_is_refused_alike(self, pair: StorePair) -> None:
        pair.remember(*TEAS)

        def wrong(engine: Engine) -> list[str]:
            answer = engine.recall("green tea", k=1, recipe="lexical")
            with pytest.raises(InvalidInput, match="was not returned by recall"):
                engine.feedback(answer.id, used=["white-Uji"])
            with pytest.raises(NotFound, match="no recall 'another'"):
                engine.feedback("another", used=["green-Uji"])
            return [hit.memory.id for hit in answer]

        pair.both(wrong)
        assert pair.tested.stats().feedback == 0
        pair.same()

    def test_what_use_teaches_is_the_same(self, pair: StorePair) -> None:
        """The recipe with three signals learns their weights; its answers then differ, and alike."""
        pair.remember(*TEAS, {"content": "Uji is in Japan, and Uji tea is green", "id": "uji"})
        for round in range(12):

            def use(engine: Engine, pick: int = round % 4) -> None:
                answer = engine.recall(f"tea number {pick}", recipe=steady("ditto"), k=6)
                engine.feedback(answer, used=[answer[pick].memory.id])
                engine.feedback(answer, used=[answer[pick].memory.id, answer[5].memory.id])

            pair.both(use)
        assert pair.tested.learned().weights.count == 12
        pair.ask("tea from Uji", recipes=[steady("ditto")])
        pair.same()
        pair.both(lambda engine: engine.unlearn())
        assert pair.tested.learned().weights.count == 0
        pair.same()

    def test_lessons_are_the_same(self, pair: StorePair) -> None:
        pair.remember(*TEAS)
        for number in range(5):

            def use(engine: Engine, at: int = number) -> None:
                answer = engine.recall(f"{('green', 'black')[at % 2]} tea", recipe=steady("recall"), k=5)
                engine.feedback(answer, used=[answer[at % 3].memory.id, answer[4].memory.id])

            pair.both(use)

        def lessons(engine: Engine) -> list[object]:
            reader = engine.store.reader(engine.namespace)
            rows: list[object] = [reader.feedback.count()]
            for lesson in reader.feedback.latest(3):
                features = unpack_features(lesson.features)
                assert features is not None
                rows.append([list(lesson.returned), sorted(lesson.used), np.nan_to_num(features, nan=-1).tolist()])
            return rows

        assert len(pair.both(lessons)) == 4

    def test_a_recall_is_known_by_its_id_to_every_engine(self, store: Store, location: str) -> None:
        engine = opened(store)
        engine.remember_many(TEAS)
        answer = engine.recall("green tea", recipe="ditto", k=3)
        engine.stats()  # writes down what is still to be logged
        other = opened(open_store(location), engine.namespace)
        try:
            other.feedback(answer.id, used=[answer[0].memory.id])
            with pytest.raises(NotFound):
                other.feedback("another", used=[answer[0].memory.id])
            assert other.learned().weights.count == 1
        finally:
            other.close()
        assert engine.get(answer[0].memory.id).access_count == 1
        assert engine.get(answer[0].memory.id).last_accessed_at == NOW
