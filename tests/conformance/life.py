"""The life of memories: they expire, are pinned and swept, and carry their origin."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from fivefold.engine import Engine
from fivefold.errors import InvalidInput, NotFound
from fivefold.stores.interface import Store
from fivefold.stores.tables import FORGOTTEN
from fivefold.values.memory import ORIGINS
from fivefold.values.reports import health_filters

from .fixtures import StoreFixtures
from .recipes import steady_recipes
from .store_pair import NOW, Clock, StorePair, exported, opened

SOON = NOW + timedelta(days=1)
LATER = NOW + timedelta(days=2)
CAKE = {"content": "Tom likes cake", "id": "cake", "pinned": True, "expires_at": SOON}
QUESTION = "which tea does Sarah like?"


def teas(count: int, **fields: object) -> list[dict[str, object]]:
    return [{"content": f"Sarah likes tea number {number}", "id": f"tea {number}", **fields} for number in range(count)]


class LifeLaws(StoreFixtures):
    """Each writes to a namespace of its own."""

    @pytest.fixture
    def clock(self) -> Clock:
        return Clock()

    @pytest.fixture
    def aging(self, store: Store, clock: Clock) -> Engine:
        """An engine whose clock the test moves."""
        return opened(store, clock=clock)

    def test_what_a_record_says_of_its_life_is_stored(self, engine: Engine) -> None:
        engine.remember("The tap drips", id="a", expires_at=SOON, pinned=True, origin="tool")
        engine.remember("The roof is new", id="b", speaker="assistant")
        memory = engine.get("a")
        assert (memory.expires_at, memory.pinned, memory.origin, memory.echo_count) == (SOON, True, "tool", 0)
        memory = engine.get("b")
        assert (memory.expires_at, memory.pinned, memory.origin) == (None, False, "assistant")

    def test_what_is_known_is_read_from_every_store(self, engine: Engine) -> None:
        engine.remember("I live in Leeds, at 14 Marlow Street.", id="old", event_at="2026-01-05")
        engine.remember("I moved to Bristol.", id="new", event_at="2026-03-01", session_id="s")
        engine.remember("The dentist is on 20 April 2026.", id="date", event_at="2026-03-02")
        texts = {id: engine.get(id).content for id in ("old", "new", "date")}
        profile = engine.profile(now="2026-03-20")
        assert {fact.sources for fact in profile} == {("new",), ("date",)}
        assert {fact.sources for fact in profile.earlier} == {("old",)}
        assert all(fact.text in texts[fact.sources[0]] for fact in (*profile.facts, *profile.earlier))
        assert [fact.sources for fact in engine.agenda("2026-04-01")] == [("date",)]
        changed = engine.changes("2026-02-01")
        assert [(fact.sources, fact.replaces) for fact in changed.replaced] == [(("new",), ("old",))]
        assert [fact.sources for fact in changed.ended] == [("old",)]
        assert [fact.sources for fact in engine.history("where do I live").facts][:2] == [("old",), ("new",)]
        assert engine.recap("s").turns == 1
        assert [fact.sources for fact in engine.profile("Bristol", now="2026-03-20")] == [("new",)]
        engine.forget("new")
        assert {fact.sources for fact in engine.profile(now="2026-03-20")} == {("old",), ("date",)}
        assert all(finding.ok for finding in engine.doctor())

    def test_an_expired_memory_is_not_recalled_by_any_recipe(self, aging: Engine, clock: Clock) -> None:
        aging.remember("Sarah likes green tea", id="short", expires_at=SOON)
        aging.remember("Sarah likes black tea", id="long")
        for recipe in steady_recipes():
            assert {hit.memory.id for hit in aging.recall(QUESTION, recipe=recipe)} == {"short", "long"}, recipe.name
        clock.now = LATER
        for recipe in steady_recipes():
            assert {hit.memory.id for hit in aging.recall(QUESTION, recipe=recipe)} == {"long"}, recipe.name
        assert {hit.memory.id for hit in aging.recall(QUESTION, now=NOW)} == {"short", "long"}, "as of then it holds"

    def test_expired_memories_take_no_place_of_others(self, aging: Engine, clock: Clock) -> None:
        aging.remember_many([*teas(300, expires_at=SOON), {"content": "The tea of Sarah is in the tin", "id": "tin"}])
        clock.now = LATER
        for recipe in steady_recipes():
            assert [hit.memory.id for hit in aging.recall(QUESTION, k=5, recipe=recipe)] == ["tin"], recipe.name

    def test_expired_turns_do_not_come_along(self, aging: Engine, clock: Clock) -> None:
        for place, end in enumerate((SOON, None)):
            aging.remember(f"Tea at {place} o'clock", session_id="s", speaker="user", expires_at=end)
        clock.now = LATER
        assert [turn.turn_index for turn in aging.recall("when is tea?", recent_turns=5).recent] == [1]

    def test_a_sweep_forgets_what_has_expired_and_nothing_else(self, aging: Engine, clock: Clock) -> None:
        aging.remember("Sarah likes green tea", id="a", expires_at=SOON)
        aging.remember("Tom likes cake", id="b", expires_at=SOON, pinned=True)
        aging.remember("Tom has a boat", id="c", expires_at=LATER + timedelta(days=1))
        aging.remember("the pier is long", session_id="s", id="turn", expires_at=SOON)
        assert aging.sweep().swept == ()
        clock.now = LATER
        planned = aging.sweep(dry_run=True)
        assert (planned.swept, planned.dry_run, planned.at) == (("a", "turn"), True, LATER)
        assert aging.stats().memories == 5
        done = aging.sweep()
        assert (done.swept, done.dry_run) == (("a", "turn"), False)
        assert aging.stored_ids(["a", "b", "c", "turn"]) == {"b", "c"}
        assert (aging.stats().memories, aging.stats().sessions) == (2, 0)
        assert all(finding.ok for finding in aging.doctor())
        assert aging.sweep().swept == ()

    def test_a_large_sweep_goes_on_to_its_end(self, aging: Engine, clock: Clock) -> None:
        aging.remember_many(teas(450, expires_at=SOON))
        clock.now = LATER
        assert len(aging.sweep().swept) == 450
        assert aging.stats().memories == 0

    def test_types_have_their_days(self, aging: Engine) -> None:
        aging.configure(event_days=3, fact_days=30)
        aging.remember("Tom fell", id="event", type="event")
        aging.remember("Tom is tall", id="fact", type="fact")
        aging.remember("Tom likes rain", id="preference", type="preference")
        aging.remember("Tom sang", id="own", type="event", expires_at=SOON)
        aging.remember("Tom danced", id="pinned", type="event", pinned=True)
        ends = {id: aging.get(id).expires_at for id in ("event", "fact", "preference", "own", "pinned")}
        assert ends == {
            "event": NOW + timedelta(days=3),
            "fact": NOW + timedelta(days=30),
            "preference": None,
            "own": SOON,
            "pinned": None,
        }
        aging.update("own", expires_at=None)
        assert aging.get("own").expires_at is None, "what is cleared by hand stays so"
        aging.update("event", tags=["sport"])
        assert aging.get("event").expires_at == NOW + timedelta(days=3)

    def test_what_is_said_again_lives_on(self, aging: Engine, clock: Clock) -> None:
        aging.remember("Sarah likes green tea", id="a", expires_at=SOON)
        aging.remember("Sarah likes green tea", expires_at=LATER)
        assert aging.get("a").expires_at == LATER
        aging.remember("Sarah likes green tea", expires_at=SOON, pinned=True)
        assert (aging.get("a").expires_at, aging.get("a").pinned) == (LATER, True)
        aging.remember("Sarah likes green tea")
        assert aging.get("a").expires_at is None

    def test_a_pinned_memory_does_not_expire(self, aging: Engine, clock: Clock) -> None:
        aging.remember("Sarah likes green tea", id="a", expires_at=SOON)
        assert aging.pin("a").pinned
        clock.now = LATER
        assert [hit.memory.id for hit in aging.recall(QUESTION)] == ["a"]
        assert aging.sweep().swept == ()
        assert not aging.unpin("a").pinned
        assert list(aging.recall(QUESTION)) == []
        assert aging.sweep().swept == ("a",)

    def test_what_is_read_does_not_end_a_pinned_memory(self, engine: Engine) -> None:
        engine.remember("I live in Leeds", id="old", pinned=True, event_at="2025-01-01T00:00:00Z")
        report = engine.remember("I live in Bristol now", id="new", event_at="2025-02-01T00:00:00Z")
        assert report.superseded == ()
        (link,) = report.linked
        assert (link.source, link.target, link.relation) == ("new", "old", "likely")
        assert "pinned" in link.why
        old = engine.get("old")
        assert (old.superseded_by, old.valid_to) == (None, None)
        reader = engine.store.reader(engine.namespace)
        assert reader.memories.successions([old.row]) == [], "a recall does not lower it"
        engine.unpin("old")
        assert [item.chance for item in reader.memories.successions([old.row])] == [1.0]
        engine.pin("old")
        engine.supersede("old", {"content": "I live in York", "id": "hand"})
        assert engine.get("old").superseded_by == "hand"
        assert engine.get("hand").pinned, "the pin passes on"

    def test_the_origin_passes_on_unless_a_record_says_otherwise(self, engine: Engine) -> None:
        for origin in ORIGINS:
            engine.remember(f"The {origin} wrote this line", id=origin, origin=origin)
            heir = engine.supersede(origin, {"content": f"Now {origin} reads otherwise"}).id
            assert engine.get(heir).origin == origin
            engine.update(heir, content=f"And {origin} once more")
            assert engine.get(heir).origin == origin
        engine.remember("The user wrote that too", id="u")
        assert engine.get(engine.supersede("u", {"content": "said", "speaker": "assistant"}).id).origin == "assistant"

    def test_trust_lowers_a_score_and_full_trust_changes_nothing(self, engine: Engine) -> None:
        engine.remember("Sarah likes green tea", id="user", origin="user")
        engine.remember("Sarah likes black tea", id="tool", origin="tool")
        before = {hit.memory.id: hit.score for hit in engine.recall(QUESTION, recipe="lexical")}
        engine.configure(trust_tool=0.5)
        after = engine.recall(QUESTION, recipe="lexical")
        assert {hit.memory.id: hit.score for hit in after} == {"user": before["user"], "tool": before["tool"] / 2}
        (step,) = [step for hit in after for step in hit.candidate.steps if step.stage == "trust"]
        assert step.why == "× 0.5, origin tool"

    def test_what_waits_for_approval_is_stored_and_leaves_no_trace(self, engine: Engine) -> None:
        engine.remember("I live in Leeds", id="home", event_at="2025-01-01T00:00:00Z")
        before = engine.stats()
        engine.configure(quarantine="origin:tool,import", approved="speaker:ci-bot")
        poison = {"content": "The user lives in Bristol now and Ann Lee works at Acme", "id": "page", "origin": "tool"}
        turn = {"content": "Ann Lee manages Acme", "id": "turn", "session_id": "chat", "origin": "import"}
        report = engine.remember_many([poison, turn, {**poison, "id": "again"}])
        assert (report.quarantined, report.stored, report.superseded) == (("page", "turn"), (), ())
        assert [merged.id for merged in report.merged] == ["page"]
        after = engine.stats()
        parts = ("memories", "sessions", "entities", "edges", "links", "vectors")
        assert [getattr(after, name) for name in parts] == [getattr(before, name) for name in parts]
        assert (after.quarantined, engine.get("home").superseded_by) == (2, None)
        for recipe in steady_recipes():
            assert [hit.memory.id for hit in engine.recall("where do I live?", recipe=recipe)] in (["home"], [])
        with pytest.raises(NotFound):
            engine.get("page")
        with pytest.raises(InvalidInput):
            engine.supersede("home", {"content": "The user lives in York", "origin": "tool"})
        assert engine.remember("The build of Acme is green", speaker="ci-bot", origin="tool").quarantined == ()

        first = engine.quarantined(limit=1)
        (second,) = engine.quarantined(limit=1, cursor=first.cursor)
        assert [first[0].id, second.id, second.session_id] == ["page", "turn", "chat"]
        approved = engine.approve("page")
        assert (approved.stored, engine.get("page").origin) == (("page",), "tool")
        assert [link.target for link in approved.superseded] == ["home"], "as if it were remembered now"
        assert [memory.id for memory in engine.reject(filter="origin:import")] == ["turn"]
        assert engine.remember_many([turn]).stored == ()
        assert engine.stats().quarantined == 0
        for wrong in ({}, {"ids": ["page"]}, {"ids": ["turn"], "filter": ""}):
            with pytest.raises((InvalidInput, NotFound)):
                engine.approve(**wrong)

    def test_forgetting_reaches_quarantine(self, engine: Engine) -> None:
        engine.configure(quarantine="origin:tool")
        for id in ("one", "two"):
            engine.remember(f"Turn {id} of a tool", id=id, session_id="chat", origin="tool")
        assert engine.forget("one").content == "Turn one of a tool"
        assert engine.forget_session("chat") == 1
        assert engine.stats().quarantined == 0
        assert engine.remember("Turn one of a tool", id="one", session_id="chat", origin="tool").stored == ()

    def test_nothing_derived_is_trusted_more_than_what_it_comes_from(self, engine: Engine) -> None:
        engine.configure(trust_tool=0.5)
        engine.remember("I live in Leeds", id="home", event_at="2025-01-01T00:00:00Z")
        report = engine.remember("I live in Bristol now", id="page", origin="tool", event_at="2025-02-01T00:00:00Z")
        assert report.superseded == ()
        assert "trusted more" in report.linked[0].why
        found = {hit.memory.id: hit.candidate for hit in engine.recall("where do I live now?")}
        assert [step.why for step in found["page"].steps if step.stage == "trust"] == ["× 0.5, origin tool"]
        assert "I live in Leeds" in str(engine.profile())
        assert "replaced" not in "".join(step.why for step in found["home"].steps), "it stands on its own"
        engine.remember("Ann Lee works at Acme", origin="tool")
        engine.remember("Bob Fox works at Initech")
        by_tool, by_user = (engine.graph.edges(name)[0].confidence for name in ("Ann Lee", "Bob Fox"))
        assert by_tool == by_user / 2
        engine.remember("The kettle is in the cellar", session_id="chat", speaker="user")
        engine.remember("The kettle is in the attic", session_id="chat", origin="tool")
        hits = engine.recall("where is the kettle?", recipe="memsense", filter="kind:session")
        assert [step.why for hit in hits for step in hit.candidate.steps if step.stage == "trust"] == [
            "× 0.5, origin tool"
        ]
        engine.remember("My tea is green", id="tea", origin="tool")
        engine.remember("My tea is green", origin="user")
        assert engine.get("tea").origin == "user", "who is trusted more has said it too"

    def test_what_was_recalled_a_moment_ago_is_counted_and_not_stored_again(self, aging: Engine, clock: Clock) -> None:
        aging.remember("My locker number is 214", id="locker", speaker="user")
        echo = {"content": "The user's locker number is 214", "origin": "assistant"}
        aging.recall("which locker is mine?")
        assert [(item.id, item.why[-6:]) for item in aging.remember_many([echo]).merged] == [("locker", "echo 1")]
        assert aging.remember_many([echo, {**echo, "id": "mine"}]).stored == ()
        assert aging.get("locker").echo_count == 3
        assert aging.get("locker").seen_count == 1
        for other in ("locker number is 215", "locker number is not 214", "locker number is 214 in Leeds"):
            assert aging.remember(f"The user's {other}", origin="assistant", id=other).stored == (other,)
        assert aging.remember(echo["content"], id="by hand").stored == ("by hand",), "a user may say it again"
        clock.now += timedelta(minutes=11)
        assert aging.remember(echo["content"], origin="tool", speaker="tool", id="later").stored == ("later",)

    def test_the_ids_of_the_last_recalls_are_known(self, aging: Engine, clock: Clock) -> None:
        reader = aging.store.reader(aging.namespace)
        aging.remember("Sarah likes green tea", id="tea")
        aging.remember("The pier is long", id="pier")
        assert reader.feedback.returned_since(NOW, 5) == []
        aging.recall("tea", recipe="lexical")
        clock.tick()
        answer = aging.recall("pier", recipe="lexical")
        assert reader.feedback.returned_since(NOW, 5) == ["pier", "tea"]
        aging.feedback(answer, used=["pier"])  # writes what waits
        assert reader.feedback.returned_since(NOW, 5) == ["pier", "tea"]
        assert reader.feedback.returned_since(NOW, 1) == ["pier"]
        assert reader.feedback.returned_since(clock.now, 5) == ["pier"]

    def test_a_life_is_exported_and_comes_back(self, engine: Engine, tmp_path: Path) -> None:
        engine.remember("The tap drips", id="a", expires_at=SOON, pinned=True, origin="tool")
        engine.remember("The roof is new", session_id="s", id="b", origin="assistant", expires_at=LATER)
        engine.export_jsonl(tmp_path / "life.jsonl")
        other = opened(engine.store)
        other.import_jsonl(tmp_path / "life.jsonl")
        assert exported(other) == exported(engine)

    def test_health_names_what_to_look_at_and_changes_nothing(self, aging: Engine, clock: Clock) -> None:
        old = NOW - timedelta(days=400)
        clock.now = old
        aging.remember("Tom likes cake", id="used once")
        aging.feedback(aging.recall("what does Tom like?", recipe="lexical"), used=["used once"])
        aging.remember("The mill is old", id="pinned", pinned=True)
        clock.now = NOW - timedelta(days=40)
        aging.remember("Sarah likes green tea", id="tea")
        aging.remember("Sarah really likes green tea", id="again")
        clock.now = NOW
        aging.remember("The parcel is here", id="gone", expires_at=NOW)
        aging.remember("The key is under the pot", id="soon", expires_at=SOON)
        aging.remember("The card is 4111 1111 1111 1111", id="card")
        report = aging.health()
        found = {item.check: (item.count, [example.id for example in item.examples]) for item in report.findings}
        assert found == {
            "expired": (1, ["gone"]),
            "expiring": (1, ["soon"]),
            "stale": (1, ["used once"]),
            "never used": (2, ["again", "tea"]),
            "near-duplicates": (1, ["again"]),
            "contradictions": (0, []),
            "secrets": (1, ["card"]),
        }
        assert (report.memories, report.at, report.namespace) == (7, NOW, aging.namespace)
        assert report.finding("secrets").examples[0].text == "The card is [the number of a payment card]"
        assert report.finding("near-duplicates").examples[0].other == "tea"
        assert report.finding("stale").examples[0].why == f"last used {old:%Y-%m-%d}"
        assert [item.count for item in aging.health(examples=0).findings] == [item.count for item in report.findings]
        assert aging.health(stale_days=30, soon_days=0).finding("stale").count == 3
        assert aging.health(soon_days=0).finding("expiring").count == 0
        for name, keep in health_filters(NOW).items():
            assert (len(aging.memories(filter=keep)), [memory.id for memory in aging.memories(filter=keep)]) == found[
                name
            ]
        assert [memory.id for memory in aging.memories(filter="used:yes")] == ["used once"]
        assert aging.stats().memories == 7

    def test_a_likely_replacement_is_a_contradiction_unless_it_is_said_again(self, engine: Engine) -> None:
        for id, text in (("a", "The mill has a red door"), ("b", "Grapes are sour"), ("c", "Seven boats left")):
            engine.remember(text, id=id)
        rows = {id: engine.get(id).row for id in "abc"}
        with engine.store.write(engine.namespace) as txn:
            txn.memories.link(rows["b"], rows["a"], "likely", "for a test", 0.75)
            txn.memories.link(rows["c"], rows["b"], "likely", "for a test", 0.75)
            txn.memories.link(rows["c"], rows["b"], "repeats", "for a test", 0.75)
            txn.memories.link(rows["c"], rows["a"], "likely", "for a test", 0.25)
        found = engine.health().finding("contradictions")
        (example,) = found.examples
        assert (found.count, example.id, example.other, example.why) == (1, "b", "a", "likely supersedes (0.75)")
        page = engine.links("likely", limit=2)
        assert [(link.source, link.target) for link in page] == [("c", "b"), ("c", "a")]
        assert [link.source for link in engine.links("likely", limit=2, cursor=page.cursor)] == ["b"]
        engine.reinstate("a")
        assert engine.health().finding("contradictions").count == 0

    def test_what_was_forgotten_does_not_come_back_from_its_source(self, engine: Engine) -> None:
        engine.configure(find_changes=False, find_repeats=False)
        chat = [{"role": "user", "content": f"Step {n}", "id": f"m{n}", "timestamp": NOW} for n in range(3)]
        engine.remember_messages(chat, session_id="s")
        engine.forget("s:m1")
        report = engine.remember_messages(chat, session_id="s")
        assert (report.stored, len(report.merged)) == ((), 3)
        assert "was forgotten and is not stored again" in report.merged[1].why
        same = {"content": "Step 1", "speaker": "user", "session_id": "s", "event_at": NOW}
        assert engine.remember_many([same | {"id": "under another id"}]).stored == ()
        assert engine.remember_many([same | {"event_at": LATER, "id": "said again later"}]).stored
        assert engine.reinstate("s:m1") is None
        assert engine.remember_messages(chat, session_id="s").stored == ("s:m1",)
        with pytest.raises(NotFound):
            engine.reinstate("s:m1 and more")

    def test_a_session_that_was_forgotten_is_reinstated_as_a_whole(self, engine: Engine) -> None:
        chat = [("user", "We deploy on Fridays"), ("assistant", "Noted")]
        engine.remember_messages(chat, session_id="s")
        engine.forget_session("s")
        assert engine.remember_messages(chat, session_id="s").stored == ()
        assert engine.remember_messages([*chat, ("user", "And on Mondays")], session_id="s").stored
        assert engine.reinstate("s") is None
        assert len(engine.remember_messages(chat, session_id="s").stored) == 2

    def test_an_export_brings_back_no_text_of_forgotten_turns(self, engine: Engine, tmp_path: Path) -> None:
        """Neither with the memory of their session, nor as the reply to the turn before."""
        ids = ["first", "second", "third"]
        engine.remember_many({"content": f"The {id} parcel is here", "id": id, "session_id": "s"} for id in ids)
        engine.export_jsonl(tmp_path / "before.jsonl")
        engine.forget_session("s")
        assert engine.import_jsonl(tmp_path / "before.jsonl").stored == ()
        assert engine.stats().memories == 0
        engine.reinstate("first")
        assert engine.import_jsonl(tmp_path / "before.jsonl").stored == ("first",)
        assert engine.get("first").next_user_text is None
        assert engine.session_memories(["s"])["s"].content == "The first parcel is here"
        engine.reinstate("second")
        assert engine.import_jsonl(tmp_path / "before.jsonl").stored == ("second",)
        assert engine.get("first").next_user_text == "The second parcel is here"
        assert engine.session_memories(["s"])["s"].content == "The first parcel is here\nThe second parcel is here"

    def test_a_note_may_be_remembered_anew_but_an_import_may_not_bring_it_back(self, engine: Engine) -> None:
        imported = {"content": "The gate code is 4711", "id": "notes:1", "origin": "import"}
        engine.remember_many([imported])
        engine.remember("Tom likes cake", id="mine")
        for id in ("notes:1", "mine"):
            engine.forget(id)
        assert engine.remember_many([imported]).stored == ()
        assert engine.remember_many([imported | {"content": "The gate code is 4712"}]).stored == ()
        assert engine.remember_many([imported | {"id": "copy:9"}]).stored == ()
        assert engine.remember("Tom likes cake", id="mine").stored == ()
        assert engine.remember("Tom likes tea", id="mine").stored == ("mine",)
        assert engine.remember("Tom likes cake").stored, "said by somebody, not brought by a source"

    def test_what_was_forgotten_is_marked_without_its_text_and_for_this_namespace_only(
        self, store: Store, engine: Engine, tmp_path: Path
    ) -> None:
        engine.remember("Zyxquince lives in Xanthopolis", id="secretid")
        engine.export_jsonl(tmp_path / "before.jsonl")
        engine.forget("secretid")
        assert engine.import_jsonl(tmp_path / "before.jsonl").stored == ()
        with store.write(engine.namespace) as txn:
            rows = list(txn.importer.snapshot().rows(FORGOTTEN))
            assert len(rows) == 1
            assert not any(word in repr(rows) for word in ("secretid", "quince"))
        with opened(store, clock=Clock(), namespace=f"{engine.namespace} too") as other:
            assert other.import_jsonl(tmp_path / "before.jsonl").stored == ("secretid",)

    def test_both_stores_sweep_the_same(self, pair: StorePair) -> None:
        pair.remember(*teas(3, expires_at=SOON), CAKE)
        pair.clock.now = LATER
        pair.ask(QUESTION)
        pair.both(lambda engine: engine.sweep(dry_run=True))
        pair.both(lambda engine: engine.health(unused_days=0).findings)
        pair.both(Engine.sweep)
        pair.both(lambda engine: engine.memories(filter="pinned:yes alive-at:2026-01-01"))
        pair.same()
