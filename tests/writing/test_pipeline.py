"""The write path: what is stored, merged, linked, superseded, and why."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fivefold
from fivefold.engine import Engine
from fivefold.values.entities import Extraction
from fivefold.values.memory import Record
from fivefold.writing import draft, edit, pipeline
from fivefold.writing.draft import centre
from fivefold.writing.extract import extractor as load_extractor
from tests.conformance.vectors import WordVectors


def test_a_note_is_stored_with_what_was_read_out_of_it(engine: Engine) -> None:
    report = engine.remember("My badge ID is E-47821", speaker="user", tags=["work"], metadata={"from": "form"})
    memory = engine.get(report.id)
    assert (memory.kind, memory.type, memory.predicate) == ("note", "fact", "badge id is E-47821")
    assert memory.tags == ("work",)
    assert memory.metadata == {"from": "form"}
    assert 0 < memory.importance <= 1
    assert 0 < memory.memory_score <= 1
    assert "E-47821" in report.entities
    assert report.stored == (memory.id,)


def test_fields_the_caller_gives_win_over_the_rules(engine: Engine) -> None:
    report = engine.remember(
        "I went home", type="procedure", predicate="goes home", importance=0.9, memory_score=0.1, confidence=0.4
    )
    memory = engine.get(report.id)
    assert (memory.type, memory.predicate) == ("procedure", "goes home")
    assert (memory.importance, memory.memory_score, memory.confidence) == (0.9, 0.1, 0.4)


def test_a_naive_time_is_taken_as_utc_and_said_so(engine: Engine) -> None:
    report = engine.remember("The gate opens", event_at="2025-03-01T08:00:00")
    assert engine.get(report.id).event_at.isoformat() == "2025-03-01T08:00:00+00:00"
    assert "taken as UTC" in report.notes[0]


@pytest.mark.parametrize("when", ["1815-06-18T11:00:00Z", "2150-01-01T00:00:00Z", "0001-01-01T00:00:00Z"])
def test_far_dates_are_kept(engine: Engine, when: str) -> None:
    report = engine.remember(f"Something happens at {when}", event_at=when)
    assert engine.get(report.id).to_dict()["event_at"] == when
    assert engine.recall(f"what happens at {when}?")[0].memory.id == report.id


def test_the_same_note_again_is_one_memory_seen_twice(engine: Engine) -> None:
    first = engine.remember("Miso must not eat chicken", tags=["cat"])
    again = engine.remember("  miso must not eat  CHICKEN ", tags=["food"])
    assert again.stored == ()
    assert again.merged[0].id == first.id
    assert "seen 2 times" in again.merged[0].why
    memory = engine.get(first.id)
    assert (memory.seen_count, memory.tags) == (2, ("cat", "food"))
    assert engine.stats().memories == 1


def test_the_same_note_twice_in_one_batch_is_one_memory(engine: Engine) -> None:
    report = engine.remember_many(["Feed Bertil", "Feed Bertil"])
    assert (len(report.stored), len(report.merged)) == (1, 1)


def test_tags_of_equal_notes_in_one_batch_can_all_be_filtered_by(engine: Engine) -> None:
    engine.remember_many([{"content": "Feed Bertil", "tags": [tag]} for tag in ("cat", "food")])
    assert [len(engine.memories(filter=f"tag:{tag}")) for tag in ("cat", "food", "dog")] == [1, 1, 0]


def test_a_note_that_was_superseded_in_its_batch_is_stored_again(engine: Engine) -> None:
    said = [f"My rent is {rent} euros" for rent in (900, 950, 900)]
    report = engine.remember_many([{"content": text, "speaker": "user"} for text in said])
    assert (len(report.stored), len(report.superseded), report.merged) == (3, 2, ())


def test_the_same_words_of_another_speaker_are_another_memory(engine: Engine) -> None:
    report = engine.remember_many([{"content": "I am tired", "speaker": name} for name in ("Ann", "Ben")])
    assert len(report.stored) == 2


def test_equal_turns_stay_turns_and_are_linked(engine: Engine) -> None:
    first = engine.remember("yes, do that", speaker="user", session_id="s")
    second = engine.remember("yes, do that", speaker="user", session_id="s")
    assert len(second.stored) == 1
    assert (second.linked[0].source, second.linked[0].target) == (second.id, first.id)


def test_a_replayed_turn_adds_nothing(engine: Engine) -> None:
    turn = {"content": "hello there", "speaker": "user", "session_id": "s", "event_at": "2025-01-01T00:00:00Z"}
    first = engine.remember_many([turn])
    again = engine.remember_many([turn])
    assert again.stored == ()
    assert again.merged[0].id == first.stored[0]


def test_a_known_id_is_left_as_it_is(engine: Engine) -> None:
    engine.remember("first wording", id="x1")
    report = engine.remember("second wording", id="x1")
    assert report.merged[0].id == "x1"
    assert engine.get("x1").content == "first wording"


def test_what_was_said_next_stands_on_the_turn_before(engine: Engine) -> None:
    ids = [
        engine.remember(text, speaker=who, session_id="s").id
        for who, text in (("user", "Is it alive?"), ("assistant", "Very much so."), ("user", "Then I feed it"))
    ]
    assert [engine.get(id).next_user_text for id in ids] == [None, "Then I feed it", None]
    assert [engine.get(id).turn_index for id in ids] == [0, 1, 2]


def test_turns_of_a_batch_backfill_too(engine: Engine) -> None:
    report = engine.remember_many(
        {"content": text, "speaker": who, "session_id": "s"}
        for who, text in (("Ann", "I got a dog"), ("Ben", "Which breed?"), ("Ann", "A lurcher"))
    )
    assert [engine.get(id).next_user_text for id in report.stored] == ["Which breed?", "A lurcher", None]


def test_a_session_has_a_memory_of_its_own(engine: Engine) -> None:
    engine.remember("I planted garlic", speaker="user", session_id="s", tags=["garden"])
    engine.remember("How many rows?", speaker="assistant", session_id="s")
    session = engine.sessions()[0]
    assert (session.id, session.turns) == ("s", 2)
    assert session.memory_id is not None
    memory = engine.get(session.memory_id)
    assert memory.kind == "session"
    assert memory.content == "user: I planted garlic\nassistant: How many rows?"
    assert memory.tags == ("garden",)
    assert all(hit.memory.kind != "session" for hit in engine.recall("garlic rows"))


def test_a_session_vector_is_the_centre_of_its_turns() -> None:
    turns = [np.array([1, 0], np.float32), np.array([0, 1], np.float32)]
    assert centre(turns).tolist() == pytest.approx([2**-0.5, 2**-0.5])


def test_a_long_session_is_refreshed_now_and_then(engine: Engine) -> None:
    engine.remember_many([{"content": f"turn number {i}", "session_id": "s"} for i in range(70)])
    engine.remember("turn number 70", session_id="s")
    memory_id = engine.sessions()[0].memory_id
    assert memory_id is not None
    assert "turn number 70" not in engine.get(memory_id).content
    engine.remember_many([{"content": f"turn number {i}", "session_id": "s"} for i in range(71, 80)])
    assert "turn number 79" in engine.get(memory_id).content


def test_a_question_and_its_answer_are_one_memory(engine: Engine) -> None:
    report = engine.remember(user_text="What grows in shade?", assistant_text="Ferns and hostas.")
    memory = engine.get(report.id)
    assert memory.content == "What grows in shade?\nFerns and hostas."
    assert (memory.user_text, memory.assistant_text) == ("What grows in shade?", "Ferns and hostas.")


def test_a_move_ends_the_old_address(engine: Engine) -> None:
    old = engine.remember("I live in Leeds", speaker="user", event_at="2025-01-01T00:00:00Z").id
    report = engine.remember("I moved from Leeds to Bristol", speaker="user", event_at="2025-06-07T00:00:00Z")
    assert [(link.source, link.target) for link in report.superseded] == [(report.id, old)]
    assert report.superseded[0].why == "lives in: 'Bristol' replaces 'Leeds'"
    memory = engine.get(old)
    assert memory.superseded_by == report.id
    assert memory.to_dict()["valid_to"] == "2025-06-07T00:00:00Z"


def test_a_correction_refers_to_what_was_just_said(engine: Engine) -> None:
    old = engine.remember("The rig budget is 38 thousand", speaker="user", session_id="s").id
    engine.remember("Noted, 38 thousand.", speaker="assistant", session_id="s")
    report = engine.remember("Actually it's 45 now", speaker="user", session_id="s")
    assert engine.get(old).superseded_by == report.id
    assert "'45' replaces '38 thousand'" in report.superseded[0].why


def test_a_correction_without_anything_to_correct_ends_nothing(engine: Engine) -> None:
    engine.remember("We talked about the weather", speaker="user", session_id="s")
    assert engine.remember("Actually it's 45 now", speaker="user", session_id="s").superseded == ()


def test_an_old_statement_told_late_is_what_has_ended(engine: Engine) -> None:
    new = engine.remember("I moved to Bristol", speaker="user", event_at="2025-06-07T00:00:00Z").id
    report = engine.remember("I moved to Leeds", speaker="user", event_at="2020-01-01T00:00:00Z")
    assert engine.get(report.id).superseded_by == new
    assert engine.get(new).superseded_by is None


def test_the_same_value_again_ends_nothing(engine: Engine) -> None:
    engine.remember("My badge ID is E-47821", session_id="a")
    assert engine.remember("As I said, my badge ID is E-47821", session_id="b").superseded == ()


def test_another_persons_move_does_not_end_mine(engine: Engine) -> None:
    mine = engine.remember("I live in Leeds", speaker="user").id
    engine.remember("Sarah moved to Berlin", speaker="user")
    assert engine.get(mine).superseded_by is None


def test_a_memory_that_says_more_is_only_linked(engine: Engine) -> None:
    both = engine.remember("The launch is 15 May. The budget is 38 thousand", event_at="2025-01-01T00:00:00Z").id
    first = engine.remember("The launch has moved from 15 May to 26 June", event_at="2025-02-01T00:00:00Z")
    assert first.superseded == ()
    assert "the rest of it still holds" in first.linked[0].why
    assert engine.get(both).superseded_by is None
    second = engine.remember("The budget is now 45 thousand", event_at="2025-03-01T00:00:00Z")
    assert engine.get(both).superseded_by == second.id


def test_supersede_by_hand(engine: Engine) -> None:
    old = engine.remember("Standup is at nine").id
    report = engine.supersede(old, {"content": "No more standups", "speaker": "user"})
    assert engine.get(old).superseded_by == report.id
    assert report.superseded[0].why == "said so by the caller"
    with pytest.raises(fivefold.NotFound, match="no memory 'nope'"):
        engine.supersede("nope", "x y z")


def test_superseding_by_what_is_already_stored_changes_nothing(engine: Engine) -> None:
    old = engine.remember("Standup is at nine").id
    engine.remember("Standup is at ten o'clock sharp")
    with pytest.raises(fivefold.InvalidInput, match="nothing was changed"):
        engine.supersede(old, "Standup is at ten o'clock sharp")
    assert engine.get(old).superseded_by is None


def test_update_changes_everything_derived(engine: Engine) -> None:
    id = engine.remember("The vet is Dr Brown", session_id="s", speaker="user").id
    engine.remember("Noted", session_id="s", speaker="assistant")
    changed = engine.update(id, content="The vet is Dr Okonkwo", tags=["cat"])
    assert (changed.content, changed.tags) == ("The vet is Dr Okonkwo", ("cat",))
    assert engine.recall("Okonkwo", recipe="lexical")[0].memory.id == id
    assert len(engine.recall("Brown", recipe="lexical")) == 0
    session = engine.sessions()[0].memory_id
    assert session is not None
    assert "Okonkwo" in engine.get(session).content
    assert all(finding.ok for finding in engine.doctor())


def test_update_of_a_user_turn_follows_to_the_turn_before(engine: Engine) -> None:
    first = engine.remember("Which day?", session_id="s", speaker="assistant").id
    second = engine.remember("Tuesday", session_id="s", speaker="user").id
    engine.update(second, content="Wednesday")
    assert engine.get(first).next_user_text == "Wednesday"


def test_update_refuses_what_says_which_memory_it_is(engine: Engine) -> None:
    id = engine.remember("a thing worth keeping").id
    with pytest.raises(fivefold.InvalidInput, match="'kind' cannot be changed"):
        engine.update(id, kind="turn")  # type: ignore[call-arg]
    with pytest.raises(fivefold.InvalidInput, match="content is empty"):
        engine.update(id, content=" ")
    assert engine.get(id).content == "a thing worth keeping"


def test_forget_leaves_no_trace(engine: Engine, store_path: str) -> None:
    before = engine.remember("What is it called?", speaker="assistant", session_id="s").id
    id = engine.remember("The codename is Quetzalcoatlus", speaker="user", session_id="s").id
    engine.remember("Lovely.", speaker="assistant", session_id="s")
    assert engine.forget(id).content == "The codename is Quetzalcoatlus"
    with pytest.raises(fivefold.NotFound):
        engine.get(id)
    assert engine.get(before).next_user_text is None
    assert all(hit.memory.id != id for hit in engine.recall("codename"))
    assert all(finding.ok for finding in engine.doctor())
    engine.close()
    with open(store_path, "rb") as file:
        assert b"quetzalcoatlus" not in file.read().lower()


def test_forgetting_the_last_turn_forgets_the_session(engine: Engine) -> None:
    id = engine.remember("only turn", session_id="s").id
    engine.forget(id)
    assert not engine.sessions()
    assert engine.stats().memories == 0


def test_a_session_memory_is_forgotten_with_its_session(engine: Engine) -> None:
    engine.remember_many([{"content": f"turn {i} of this talk", "session_id": "s"} for i in range(3)])
    memory_id = engine.sessions()[0].memory_id
    assert memory_id is not None
    with pytest.raises(fivefold.InvalidInput, match="forget its turns, or the whole session"):
        engine.forget(memory_id)
    assert engine.forget_session("s") == 3
    assert engine.stats().memories == 0
    assert all(finding.ok for finding in engine.doctor())
    with pytest.raises(fivefold.NotFound, match="no session 's'"):
        engine.forget_session("s")


def test_forgetting_the_new_statement_brings_the_old_back(engine: Engine) -> None:
    old = engine.remember("I live in Leeds", event_at="2025-01-01T00:00:00Z").id
    new = engine.remember("I moved to Bristol", event_at="2025-02-01T00:00:00Z").id
    engine.forget(new)
    assert engine.get(old).superseded_by is None
    assert engine.get(old).valid_to is None


def test_used_counts_and_being_returned_does_not(engine: Engine) -> None:
    kept, other = engine.remember("The spare key is under the fern").id, engine.remember("The fern needs water").id
    answer = engine.recall("where is the spare key?")
    assert engine.get(kept).access_count == 0
    engine.feedback(answer, used=[kept])
    engine.feedback(answer, used=[kept])
    assert engine.get(kept).access_count == 1
    assert engine.get(kept).last_accessed_at is not None
    assert engine.get(other).access_count == 0
    assert engine.stats().feedback == 1


def test_used_by_recall_id(engine: Engine) -> None:
    kept = engine.remember("The spare key is under the fern").id
    answer = engine.recall("spare key")
    engine.feedback(answer.id, used=[kept])
    assert engine.get(kept).access_count == 1
    with pytest.raises(fivefold.NotFound, match="no recall 'nope'"):
        engine.feedback("nope", used=[kept])


def test_used_refuses_what_was_not_returned(engine: Engine) -> None:
    engine.remember("The spare key is under the fern")
    answer = engine.recall("spare key")
    with pytest.raises(fivefold.InvalidInput, match="was not returned"):
        engine.feedback(answer, used=["something-else"])


@dataclass
class Turn:
    content: str
    speaker: str


def test_dataclasses_are_records(engine: Engine) -> None:
    report = engine.remember_many([Turn("Kites need wind", "Ann"), Turn("So do sails", "Ben")])
    assert [engine.get(id).speaker for id in report.stored] == ["Ann", "Ben"]


def test_one_bad_record_of_many_stores_none(engine: Engine) -> None:
    with pytest.raises(fivefold.InvalidInput, match="record 2: content is empty"):
        engine.remember_many(["good one", "  "])
    assert engine.stats().memories == 0


def test_a_progress_bar_goes_to_standard_error(engine: Engine, capsys: pytest.CaptureFixture[str]) -> None:
    engine.remember_many(["one memory", "another memory"], progress=True)
    assert capsys.readouterr().out == ""


def test_superseding_twice_points_at_the_newer(engine: Engine) -> None:
    old = engine.remember("Standup is at nine").id
    new = engine.supersede(old, "No more standups").id
    with pytest.raises(fivefold.InvalidInput, match=f"already superseded by {new}"):
        engine.supersede(old, "Standups are back")


def test_updating_a_part_updates_the_content_made_of_it(engine: Engine) -> None:
    id = engine.remember(user_text="What grows in shade?", assistant_text="Ferns.").id
    assert engine.update(id, assistant_text="Hostas.").content == "What grows in shade?\nHostas."


def test_moving_a_turn_in_time_moves_its_session(engine: Engine) -> None:
    id = engine.remember("hello there", session_id="s", event_at="2025-01-02T00:00:00Z").id
    engine.update(id, event_at="2024-05-01T00:00:00Z")
    assert engine.sessions()[0].to_dict()["ended_at"] == "2024-05-01T00:00:00Z"
    assert all(finding.ok for finding in engine.doctor())


@pytest.mark.parametrize("records", ["abc", {"content": "x"}])
def test_one_record_is_not_many(engine: Engine, records: object) -> None:
    with pytest.raises(fivefold.InvalidInput, match="use remember for one"):
        engine.remember_many(records)  # type: ignore[arg-type]


class Crooked:
    """An embedder that gives vectors of the wrong shape."""

    pin = "crooked@1"
    dimension = 4

    def embed(self, texts: object, progress: object = None) -> object:
        return [[1.0, 0.0]] * len(texts)  # type: ignore[arg-type]


def test_an_embedder_of_the_wrong_shape_is_named_and_nothing_is_stored(store_path: str) -> None:
    with fivefold.open(store_path, embedder=Crooked()) as engine:  # type: ignore[arg-type]
        with pytest.raises(fivefold.EmbedderError, match=r"crooked@1 gave an array of shape \(1, 2\)"):
            engine.remember("a text to embed")
        assert engine.stats().memories == 0


class Odd:
    """An embedder that gives what it is told to."""

    def __init__(self, given: object, pin: object = "odd@1", dimension: object = 4) -> None:
        self.pin, self.dimension, self.given = pin, dimension, given

    def embed(self, texts: object, progress: object = None) -> object:
        return self.given


@pytest.mark.parametrize(
    ("odd", "told"),
    [
        (Odd([["a"] * 4]), r"odd@1 gave something else than numbers; it must give an array of shape \(1, 4\)"),
        (Odd([["1.0"] * 4]), "odd@1 gave something else than numbers"),
        (Odd(["abcd"]), "odd@1 gave something else than numbers"),
        (Odd([[1.0] * 4, [1.0] * 3]), "odd@1 gave something else than numbers"),
        (Odd({}), "odd@1 gave something else than numbers"),
        (Odd(np.ones((1, 4), complex)), "odd@1 gave something else than numbers"),
        (Odd(np.full((1, 4), 1e300)), "odd@1 gave a vector that is zero, too long or has no numbers"),
        *[
            (Odd(np.ones((1, 4)), dimension=dimension), "the dimension of the embedder odd@1 must be a whole number")
            for dimension in (0, -1, 4.0, "4", None, True, np.int64(4), 8_193)
        ],
        (Odd(np.ones((1, 4)), pin=None), "the pin of an embedder must be a text such as 'name@1', not None"),
        (Odd(np.ones((1, 4)), pin=" "), "the pin of an embedder must be a text"),
    ],
)
def test_an_embedder_that_gives_no_vectors_is_told_so_and_nothing_is_stored(
    odd: Odd, told: str, store_path: str
) -> None:
    with fivefold.open(store_path, embedder=odd) as engine:  # type: ignore[arg-type]
        with pytest.raises(fivefold.EmbedderError, match=told):
            engine.remember("tea")
        assert engine.stats().memories == 0


@pytest.mark.parametrize("field", ["importance", "memory_score"])
@pytest.mark.parametrize("value", [np.float32(0.5), np.int64(1), "high", 1.5, float("nan")])
def test_an_extractor_whose_numbers_cannot_be_stored_is_told_so(field: str, value: object, engine: Engine) -> None:
    changed: Any = {field: value}

    class Odder:
        name = "odder"

        def extract(self, record: Record) -> Extraction:
            return replace(load_extractor("rules").extract(record), **changed)

    other = Engine(engine.store, "other", WordVectors(), Odder())
    with pytest.raises(fivefold.InvalidInput, match=f"the extractor's {field} must be a number from 0 to 1"):
        other.remember("tea")


@pytest.mark.slow
def test_forgetting_or_changing_a_turn_of_a_long_session_reaches_its_memory(engine: Engine) -> None:
    ids = engine.remember_many(
        [{"content": f"turn {i} of the talk SECRET{i}x", "session_id": "s"} for i in range(100)]
    ).stored
    engine.forget(ids[10])
    engine.update(ids[20], content="an altered turn")
    memory_id = engine.sessions()[0].memory_id
    assert memory_id is not None
    content = engine.get(memory_id).content
    assert "SECRET10x" not in content
    assert "SECRET20x" not in content
    assert "an altered turn" in content


def test_a_forgotten_turn_is_taken_off_whichever_turn_carries_it(engine: Engine) -> None:
    for index, text in ((0, "what is it?"), (2, "my pin is 4711"), (1, "go on")):
        engine.remember(text, id=f"t{index}", session_id="s", turn_index=index, speaker=f"p{index}")
    engine.forget("t2")
    assert "my pin is 4711" not in {engine.get(f"t{index}").next_user_text for index in (0, 1)}


def test_forgetting_the_middle_of_a_chain_hands_over_to_the_newest(engine: Engine) -> None:
    for year, town in ((2023, "Berlin"), (2024, "Paris"), (2025, "Rome")):
        engine.remember(f"I live in {town}", id=town, event_at=f"{year}-01-01T00:00:00Z")
    engine.forget("Paris")
    assert engine.get("Berlin").superseded_by == "Rome"
    engine.forget("Rome")
    assert engine.get("Berlin").superseded_by is None


def test_the_end_a_caller_gave_comes_back_with_the_memory(engine: Engine) -> None:
    engine.remember("I live in Leeds", id="old", event_at="2025-01-01T00:00:00Z", valid_to="2030-01-01T00:00:00Z")
    engine.remember("I live in Bristol", id="new", event_at="2025-06-01T00:00:00Z")
    engine.forget("new")
    assert engine.get("old").to_dict()["valid_to"] == "2030-01-01T00:00:00Z"


def test_an_update_ends_and_releases_statements(engine: Engine) -> None:
    engine.remember("I live in Leeds", id="old", event_at="2025-01-01T00:00:00Z")
    engine.remember("a quiet note", id="new", event_at="2025-06-01T00:00:00Z")
    engine.update("new", content="I live in Bristol")
    assert engine.get("old").superseded_by == "new"
    engine.update("new", content="nice weather today")
    assert engine.get("old").superseded_by is None


def test_reinstate_undoes_a_wrong_supersession(engine: Engine) -> None:
    engine.remember("I live in Leeds", id="old", event_at="2025-01-01T00:00:00Z")
    engine.remember("I live in Bristol", id="new", event_at="2025-06-01T00:00:00Z")
    back = engine.reinstate("old")
    assert back is not None
    assert back.superseded_by is None
    assert engine.recall("where do I live, Leeds?")[0].memory.id == "old"


@pytest.mark.parametrize("way", ["repair", "update", "export"])
def test_a_corrected_value_can_be_replaced_later(engine: Engine, tmp_path: Path, way: str) -> None:
    """What a correction stated is kept beside the memory, so nothing derived from it is ever lost."""
    engine.remember(
        "The budget is 38 thousand", id="a", speaker="user", session_id="s", event_at="2025-01-01T00:00:00Z"
    )
    engine.remember("Actually it's 45 now", id="b", speaker="user", session_id="s", event_at="2025-01-01T00:01:00Z")
    if way == "repair":
        engine.doctor(repair=True)
    elif way == "update":
        engine.update("b", tags=["money"])
    else:
        engine.export_jsonl(tmp_path / "x.jsonl")
        engine = fivefold.open(":memory:")
        engine.import_jsonl(tmp_path / "x.jsonl")
    engine.remember("The budget is 50 thousand", id="c", speaker="user", event_at="2025-02-01T00:00:00Z")
    assert engine.get("a").superseded_by == "b"
    assert engine.get("b").superseded_by == "c"


def test_an_update_begins_again_when_someone_else_was_faster(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    engine.remember("the first wording", id="x")
    embed = draft.embed_drafts
    calls: list[int] = []

    def meanwhile(drafts: object, model: object) -> None:
        embed(drafts, model)  # type: ignore[arg-type]
        calls.append(1)
        if len(calls) == 1:
            engine.update("x", metadata={"by": "another"})

    monkeypatch.setattr(edit, "embed_drafts", meanwhile)
    engine.update("x", content="the second wording")
    memory = engine.get("x")
    assert (memory.content, memory.metadata) == ("the second wording", {"by": "another"})


def test_a_write_follows_a_namespace_that_moves_to_another_model(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.remember("there before the move")
    embed = pipeline.embed
    calls: list[int] = []

    def meanwhile(drafts: object, reader: object, model: object, *advance: object) -> None:
        embed(drafts, reader, model, *advance)  # type: ignore[arg-type]
        calls.append(1)
        if len(calls) == 1:
            other = Engine(engine.store)
            other.reembed("wordllama")

    monkeypatch.setattr(pipeline, "embed", meanwhile)
    engine.remember("written while the namespace moved")
    assert all(finding.ok for finding in engine.doctor())
    answer = engine.recall("written while the namespace moved")
    assert answer.embedder.startswith("wordllama@")
    assert answer[0].candidate.evidence[0].score > 0.5


@pytest.mark.parametrize("id", ["👨‍👩‍👧", "a\u00a0b", "مرحبا"])
def test_every_id_that_can_be_stored_can_be_reached(engine: Engine, id: str) -> None:
    engine.remember("a memory with an unusual id", id=id)
    assert engine.get(id).id == id
    engine.forget(id)
    assert engine.stats().memories == 0


def test_forgetting_needs_no_model(store_path: str) -> None:
    class Once:
        pin = "once@1"
        dimension = 3

        def embed(self, texts: object, progress: object = None) -> object:
            return np.ones((len(texts), 3), np.float32)  # type: ignore[arg-type]

    with fivefold.open(store_path, embedder=Once()) as engine:  # type: ignore[arg-type]
        id = engine.remember("soon gone").id
    with fivefold.open(store_path) as engine:
        engine.forget(id)
        assert engine.stats().memories == 0
        with pytest.raises(fivefold.EmbedderError, match="an embedder of your own"):
            engine.remember("no model for this")


def test_a_remote_model_must_be_named_each_time(store_path: str) -> None:
    class Remote:
        pin = "openai:some-model@1"
        dimension = 3

        def embed(self, texts: object, progress: object = None) -> object:
            return np.ones((len(texts), 3), np.float32)  # type: ignore[arg-type]

    with fivefold.open(store_path, embedder=Remote()) as engine:  # type: ignore[arg-type]
        engine.remember("embedded elsewhere")
    with fivefold.open(store_path) as engine:
        answer = engine.recall("embedded elsewhere")
        assert answer.degraded == ("dense",)
        assert "sends texts to a server" in next(run.reason for run in answer.routes if run.route == "dense")
        assert len(answer) == 1
