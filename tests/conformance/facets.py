"""Vectors of facets: made when a recipe first searches them, and kept up from then on."""

from __future__ import annotations

from fivefold.engine import Engine
from fivefold.stores.interface import Store
from fivefold.values.memory import FACETS

from .fixtures import StoreFixtures
from .store_pair import answers, opened, same_answers
from .vectors import WordVectors

TOLD = (
    {"content": "I prefer tea in the morning", "id": "f0"},
    {"content": "my badge ID is E-47821", "id": "f1"},
    {"content": "Sarah and I met Priya at the pier yesterday", "id": "f2", "session_id": "s", "speaker": "user"},
    {"content": "the total is 45", "id": "f3", "session_id": "s", "speaker": "assistant"},
)
QUESTIONS = ("tea in the morning", "badge E-47821", "who met Priya at the pier?")


def facets_of(engine: Engine) -> dict[str, list[str]]:
    """The ids of the memories that have a vector of each facet."""
    reader = engine.store.reader(engine.namespace)
    memories = {memory.row: memory.id for memory, _ in reader.memories.scan()}
    with engine.store.write(engine.namespace) as txn:
        found = {facet: txn.vectors.get(list(memories), facet) for facet in FACETS}
    return {facet: sorted(memories[row] for row in rows) for facet, rows in found.items()}


ALL = {"personal_info": ["f1"], "preferences": ["f0"], "events": ["f2"]}
EARLY = {"personal_info": [], "preferences": ["f0"], "events": []}


class FacetLaws(StoreFixtures):
    """Whenever a recipe first asked for them, the answers are those of a namespace that had them all along."""

    def test_they_are_made_when_a_recipe_first_searches_them(self, store: Store) -> None:
        engine = opened(store)
        engine.remember_many(TOLD)
        engine.recall(QUESTIONS[0])
        assert facets_of(engine) == EARLY
        (note,) = [each for each in engine.recall(QUESTIONS[0], recipe="memsense").notes if each.stage == "facets"]
        assert (note.status, facets_of(engine)) == ("done", ALL)
        assert not any(each.stage == "facets" for each in engine.recall(QUESTIONS[0], recipe="memsense").notes)

    def test_answers_do_not_depend_on_when_they_were_made(self, store: Store) -> None:
        early, late = opened(store), opened(store)
        early.remember(str(TOLD[0]["content"]), id="f0")
        early.recall(QUESTIONS[0], recipe="memsense")
        early.remember_many(TOLD[1:])
        late.remember_many(TOLD[:1])
        late.remember_many(TOLD[1:])
        same_answers(answers(early, *QUESTIONS), answers(late, *QUESTIONS))
        assert facets_of(early) == facets_of(late) == ALL

    def test_they_follow_changes_and_go_with_their_memory(self, store: Store) -> None:
        engine = opened(store)
        engine.remember_many(TOLD)
        engine.recall(QUESTIONS[0], recipe="memsense")
        engine.update("f1", content="we ran a race yesterday")
        engine.supersede("f0", {"content": "I prefer coffee in the morning", "id": "f4"})
        assert facets_of(engine) == {"personal_info": [], "preferences": ["f0", "f4"], "events": ["f1", "f2"]}
        for id in ("f0", "f1"):
            engine.forget(id)
        engine.forget_session("s")
        assert facets_of(engine) == {"personal_info": [], "preferences": ["f4"], "events": []}

    def test_another_model_makes_them_again_when_they_are_asked_for(self, store: Store) -> None:
        engine = opened(store)
        engine.remember_many(TOLD)
        engine.recall(QUESTIONS[0], recipe="memsense")
        engine.reembed(WordVectors(48))
        assert facets_of(engine) == EARLY
        engine.recall(QUESTIONS[0], recipe="memsense")
        assert facets_of(engine) == ALL
