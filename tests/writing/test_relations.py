"""Changes in plain words: what is marked as ended, what is only likely, and what is left alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from fivefold.engine import Engine
from fivefold.errors import ReaderError
from fivefold.models.reader import Chances, PairReader, Remark
from fivefold.stores import open_store
from fivefold.stores.interface import Store
from fivefold.values.reports import Report
from fivefold.writing import relations
from fivefold.writing.wordings import is_answer, is_doubtful, is_numbered, is_plain, may_state, same_share

MARKED = """
I live in Porto. | I moved to Lisbon last week.
I work at Siemens. | I started a new job at Bosch.
My favourite colour is blue. | My favourite colour is green now.
My dentist is Dr. Patel. | I switched dentists, Dr. Kim is mine now.
I'm dating Anna. | Anna and I broke up.
I take metformin. | The doctor took me off metformin.
My phone number is 555-0134. | New number: 555-0199
I go to the gym on Mondays. | Gym is on Wednesdays from now on.
I use Windows. | I've moved to Linux.
My boss is Karen. | Karen left and Tom is my boss now.
We plan to go to Greece in June. | We cancelled the Greece trip.
The project deadline is May 5. | The deadline got pushed to May 19.
I smoke. | I quit smoking three weeks ago.
I weigh 82 kg. | I'm down to 77 kg.
My wifi password is sunflower22. | Changed the wifi password to harbour9.
Our team uses Jira. | We switched from Jira to Linear.
I subscribe to Netflix. | Cancelled Netflix today.
I run every morning. | I don't run any more, my knee.
The user lives in Berlin. | The user moved to Munich.
The user works as a nurse. | The user is now a ward manager.
User's car is a Fiat Panda. | User sold the Fiat Panda and drives a Kia.
Marta lives in Gdansk. | Marta moved to Warsaw in May.
The user is married to Paul. | The user and Paul got divorced.
User is on a keto diet. | User stopped keto.
Sarah is the product manager. | Sarah handed the product over to Ben.
I drive a Golf. | Bought a Tesla, the Golf is gone.
I have a cat named Milo. | Milo died yesterday.
User plays tennis on Fridays. | User's tennis moved to Sundays.
"""

LIKELY = """
The user's flight is on 3 May. | The user's flight was rebooked to 5 May.
I'm learning Spanish. | I gave up Spanish and started Italian.
My daughter is in kindergarten. | My daughter started school.
"""

ALONE = """
I live in Porto. | My sister moved to Lisbon.
I live in Porto. | I'm visiting Lisbon next week.
I live in Porto. | In 2015 I lived in Rome.
I live in Porto. | The weather in Porto is awful today.
I live in Porto. | Should I move to Lisbon?
I live in Porto. | I would love to live in Lisbon some day.
I live in Porto. | We spent a week in Lisbon and are home again.
I live in Porto. | My brother bought a house in Lisbon.
I work at Nordwind as a designer. | I moved to Porto last week.
I drive a Golf. | Rented a Tesla for the weekend.
I drive a Golf. | The garage lent me a Kia while the Golf is being repaired.
I drive a Golf. | Washed the Golf today, it looks like new.
I drive a Golf. | Dad traded his car in for a Skoda.
I'm vegetarian. | I made a steak for Tom.
I'm vegetarian. | My flatmate eats meat again.
I work at Siemens. | I have an interview at Bosch on Friday.
I work at Siemens. | Bosch offered me a job and I said no.
I work at Siemens. | My wife works at Bosch now.
My boss is Karen. | Karen praised my report.
My boss is Karen. | Tom from sales had lunch with us.
I have a cat named Milo. | We got a dog too, Bella.
I have a cat named Milo. | Milo slept on my bed all night.
I have a cat named Milo. | The neighbours' cat died.
I use Windows. | Tried Linux on an old laptop for an hour.
The user lives in Berlin. | The user might move to Munich next year.
The user lives in Berlin. | The user visited Munich in May.
The user works as a nurse. | The user's brother works as a plumber now.
The user prefers tea. | The user's colleague prefers coffee these days.
I go to the gym on Mondays. | Skipped the gym today.
I ran 10 km on Sunday. | I ran 12 km today.
My dentist is Dr. Patel. | My eye doctor is Dr. Kim.
I love jazz. | Bought a new coffee machine.
Marta lives in Gdansk. | Piotr moved to Warsaw in May.
We had dinner with the Smiths. | Lunch with Anna was lovely.
I bought a red jacket. | I bought new shoes.
My son plays football. | My daughter plays the violin now.
I'm learning Spanish. | I watched a film in Italian.
I'm learning Spanish. | My Spanish teacher praised me.
I take metformin. | Mum stopped taking metformin.
I take metformin. | Picked up more metformin at the pharmacy.
The deadline is May 5. | Everything is ready before the deadline on May 5.
My daughter goes to Oakwood. | We visited the Montessori school on open day.
I'm married to Paul. | Paul and I celebrated our anniversary.
I'm married to Paul. | Sarah and Ben got divorced.
I subscribe to Netflix. | Watched something good on Netflix yesterday.
I hate coriander. | My cousin has come to like coriander.
"""


def pairs(text: str) -> list[tuple[str, str]]:
    found = [tuple(line.split(" | ")) for line in text.strip().splitlines()]
    return [(older, newer) for older, newer in found]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    opened = open_store(str(tmp_path_factory.mktemp("changes") / "changes.db"))
    yield opened
    opened.close()


def write(engine: Engine, older: str, newer: str) -> tuple[str, Report]:
    """The older memory's id, and the report of writing the newer one a month later."""

    def speaker(text: str) -> str:
        return "assistant" if text.casefold().startswith(("the user", "user")) else "user"

    first = engine.remember(older, speaker=speaker(older), event_at="2026-01-05T09:00:00Z")
    return first.id, engine.remember(newer, speaker=speaker(newer), event_at="2026-02-05T09:00:00Z")


@pytest.mark.parametrize(("older", "newer"), pairs(MARKED))
def test_a_plain_change_ends_what_it_replaces(store: Store, older: str, newer: str) -> None:
    old, report = write(Engine(store, f"marked-{hash((older, newer))}"), older, newer)
    assert [link.target for link in report.superseded] == [old]


@pytest.mark.parametrize(("older", "newer"), pairs(LIKELY))
def test_a_less_plain_change_is_at_least_likely(store: Store, older: str, newer: str) -> None:
    """A better model may be sure of it."""
    engine = Engine(store, f"likely-{hash((older, newer))}")
    old, report = write(engine, older, newer)
    (link,) = (*report.superseded, *report.linked)
    assert link.target == old
    if link.relation == "likely":
        assert 0.08 <= link.chance < 1
    assert (engine.get(old).superseded_by is None) == (link.relation == "likely")


def test_a_change_that_the_model_doubts_is_linked_with_its_chance(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def doubt(self: PairReader, pairs: Sequence[object]) -> list[Chances]:
        return [Chances(0.7, 0.2, 0.1) for _ in pairs]

    monkeypatch.setattr(PairReader, "relations", doubt)
    old, report = write(engine, "I drive a Golf.", "Bought a Tesla, that Golf was old.")
    assert report.superseded == ()
    assert [(link.target, link.relation) for link in report.linked] == [(old, "likely")]
    assert 0.08 <= report.linked[0].chance < 1
    assert engine.get(old).superseded_by is None


@pytest.mark.parametrize(("older", "newer"), pairs(ALONE))
def test_what_changes_nothing_ends_nothing(store: Store, older: str, newer: str) -> None:
    engine = Engine(store, f"alone-{hash((older, newer))}")
    old, report = write(engine, older, newer)
    assert report.superseded == ()
    assert engine.get(old).superseded_by is None


STORY = [
    {"content": "My dentist is Dr. Patel.", "event_at": "2026-01-01T00:00:00Z", "id": "first"},
    {"content": "I switched dentists, Dr. Kim is mine now.", "event_at": "2026-02-01T00:00:00Z", "id": "second"},
    {"content": "The rowing club had its summer party.", "event_at": "2026-02-02T00:00:00Z", "id": "party"},
]


def ended(engine: Engine) -> dict[str, str | None]:
    return {str(item["id"]): engine.get(str(item["id"])).superseded_by for item in STORY}


def test_a_batch_gives_the_same_as_its_records_one_by_one(tmp_path: Path) -> None:
    expected = {"first": "second", "second": None, "party": None}
    for name, batches in (("batch", [STORY]), ("single", [[item] for item in STORY]), ("late", [STORY[1:], STORY[:1]])):
        engine = Engine(open_store(str(tmp_path / f"{name}.db")))
        for batch in batches:
            engine.remember_many(batch)
        assert ended(engine) == expected, name
        engine.close()


def test_the_report_says_what_replaces_what_and_how_sure(engine: Engine) -> None:
    engine.remember_many(STORY[:1])
    (link,) = engine.remember_many(STORY[1:2]).superseded
    assert (link.source, link.target) == ("second", "first")
    assert link.why.startswith(
        "'I switched dentists, Dr. Kim is mine now.' replaces 'My dentist is Dr. Patel.', chance 0."
    )


def test_it_can_be_switched_off(engine: Engine) -> None:
    engine.configure(find_changes=False)
    assert engine.remember_many(STORY).superseded == ()


def test_an_update_finds_what_the_new_text_replaces(engine: Engine) -> None:
    engine.remember_many(STORY[:1])
    engine.remember("Nothing to do with teeth at all.", id="second", event_at="2026-02-01T00:00:00Z")
    assert engine.get("first").superseded_by is None
    engine.update("second", content="I switched dentists, Dr. Kim is mine now.")
    assert engine.get("first").superseded_by == "second"
    engine.update("second", content="Nothing to do with teeth at all.")
    assert engine.get("first").superseded_by is None


def test_a_long_memory_is_not_ended_as_a_whole(engine: Engine) -> None:
    long = " ".join(["My dentist is Dr. Patel.", "The garden needs water and the roof needs paint this year."] * 6)
    old = engine.remember(long, event_at="2026-01-01T00:00:00Z").id
    engine.remember("I switched dentists, Dr. Kim is mine now.", event_at="2026-02-01T00:00:00Z")
    assert engine.get(old).superseded_by is None


def test_without_its_model_a_write_goes_on_and_says_so(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: PairReader, pairs: object) -> None:
        raise ReaderError("the file is gone")

    monkeypatch.setattr(PairReader, "relations", fail)
    report = engine.remember_many(STORY[:2])
    assert report.stored == ("first", "second")
    assert report.notes == ("the search for changes and repeats failed: the file is gone",)


def test_questions_and_small_talk_state_nothing() -> None:
    assert not any(map(may_state, ["Where do I live?", "Thanks!", "Ok, great.", "", "x " * 500]))
    assert all(map(may_state, ["I smoke.", "Hi! I moved to Porto.", "Where is it? I live in Porto."]))


def test_a_doubtful_change_is_at_most_likely() -> None:
    assert is_doubtful("I live in Porto.", "I might move to Lisbon.")
    assert is_doubtful("I live in Porto.", "My sister moved to Lisbon.")
    assert not is_doubtful("My sister lives in Porto.", "My sister moved to Lisbon.")


def test_a_correction_that_names_nothing_is_at_most_likely() -> None:
    assert is_doubtful("My budget is 300 euros", "Actually it's 45 now")
    assert not is_doubtful("My budget is 300 euros", "My budget is 350 euros now")


SERIES = """
turn number 1 | turn number 2
at time 0 | at time 1
Parcel 7 went to Oslo. | Parcel 18 went to Oslo.
Sarah met Tom3 | Sarah met Tom4
Step 3: boil the water | Step 4: boil the water
"""

NO_SERIES = """
turn number 1 | turn number two
turn 1 | page 2
Parcel 7 went to Oslo. | Parcel 7 went to Bergen.
Parcel 7 went to Oslo. | Parcel 18 went to Bergen.
Parcel 7 went to Oslo. | Parcel 8 now went to Oslo.
I weigh 82 kg. | I weigh 77 kg.
My badge is 456 | My badge is 457
The user has 2 cats. | The user has 3 cats.
Deadline May 5 | Deadline May 19
Rent 1200 euros | Rent 1300 euros
Dinner at 7 | Dinner at 8
Phone: 1234 | Phone: 5678
Phone 555-0134 | Phone 555-0199
"""


@pytest.mark.parametrize(("older", "newer"), pairs(SERIES))
def test_texts_of_a_series_are_no_changes_of_each_other(store: Store, older: str, newer: str) -> None:
    assert is_numbered(older, newer)
    _, report = write(Engine(store, f"series-{hash((older, newer))}"), older, newer)
    assert (report.superseded, report.linked) == ((), ())


@pytest.mark.parametrize(("older", "newer"), pairs(NO_SERIES))
def test_a_number_that_says_how_something_is_makes_no_series(older: str, newer: str) -> None:
    assert not is_numbered(older, newer)


def test_an_answer_of_an_assistant_repeats_and_its_notes_do_not() -> None:
    home = Remark("I live in Porto.", "user")
    assert is_answer(home, Remark("So you moved to Lisbon, noted.", "assistant"))
    assert is_answer(home, Remark("Lisbon from now on, very good.", "assistant"))
    assert not is_answer(home, Remark("The user moved to Lisbon.", "assistant"))
    assert not is_answer(Remark("Marta lives in Porto.", "agent"), Remark("Marta moved to Lisbon.", "agent"))
    assert not is_answer(home, Remark("You know what, I moved to Lisbon.", "user"))


def test_plain_words_of_change() -> None:
    assert is_plain("I no longer smoke.")
    assert not is_plain("I still live in the new flat.")
    assert not is_plain("I live in Porto.")


# Near-duplicates: which texts say nearly the same, and what a write links.

SAME = """
I am allergic to penicillin | I'm allergic to penicillin
My favourite colour is blue | Blue is my favourite colour
User prefers dark mode in the editor | The user really prefers dark mode in the editor
I work at Nordwind as a designer | I work as a designer at Nordwind
The deploy script is in the tools folder | Deploy script lives in the tools folder
I do not eat meat on Fridays | I don't eat meat on Fridays
The rent is 900 € a month | My rent is 900€ a month
"""

OTHER = """
turn 1 of the talk | turn 2 of the talk
I like green tea | I don't like green tea
I like green tea | I like black tea
I live in Rome | I lived in Rome
I live in Rome | I live in Rome now
Ana called Ben about the boat | Ben called Ana about the boat
My sister drives a red car to work | My brother drives a red car to work
I drive a red car to work | My sister drives a red car to work
The team meets before lunch in the big room | The team meets after lunch in the big room
We play tennis on the court by the river | We play tennis on the court by the river tomorrow
The rent is $900 a month | The rent is €900 a month
The train goes from 3 to 5 | The train goes from 5 to 3
The boat is at the pier | Is the boat at the pier?
The spare key is with Mrs Okafor | The spare key is with Mr Okafor
The keys are in the drawer of the desk | The keys are in the drawer of the desk of Ana
I eat meat | I eat no meat
The dog | A dog
"""


@pytest.mark.parametrize(("one", "other"), pairs(SAME))
def test_what_says_the_same_either_way_round(one: str, other: str) -> None:
    assert same_share(one, other) == same_share(other, one) >= 0.75


@pytest.mark.parametrize(("one", "other"), pairs(OTHER))
def test_what_says_something_else(one: str, other: str) -> None:
    assert same_share(one, other) == same_share(other, one) == 0


def test_a_text_shares_all_its_words_with_itself() -> None:
    assert same_share("The lamp in the hall is broken", "The lamp in the hall is broken.") == 1


def repeats(report: Report) -> list[tuple[str, str, float]]:
    return [(link.source, link.target, link.chance) for link in report.linked if link.relation == "repeats"]


def test_a_near_duplicate_is_linked_and_both_stay(engine: Engine) -> None:
    engine.remember("The deploy script is in the tools folder", id="old")
    report = engine.remember("Deploy script lives in the tools folder", id="new")
    assert (report.stored, repeats(report)) == (("new",), [("new", "old", 0.8333)])
    assert engine.get("old").superseded_by is None
    (link,) = engine.history("old").links
    assert (link.label, link.why) == ("repeats (0.83)", "says nearly the same as an earlier memory")


RESTATED = """
The boiler listens on port 8080 in the cellar | In the cellar the boiler listens on port 8080
I can't stand cinnamon | Cinnamon is something I can't stand
Ida was driven to the station by Marek | Marek drove Ida to the station
My brother Emil lives in Turku | Emil, my brother, lives in Turku
"""

CONTRASTS = """
The ferry goes from Turku to Tallinn at noon | The ferry goes from Tallinn to Turku at noon
Ida lent Marek a tent | Marek lent Ida a tent
I gave Petra the tickets | Petra gave me the tickets
The upper drawer is for socks | The lower drawer is for socks
The cat chased the hen | The hen chased the cat
My uncle has a boat | My aunt has a boat
The stove works again | The stove works
The towels are in the bathroom | The towels were in the bathroom
Some guests may use the sauna | Every guest may use the sauna
"""


@pytest.mark.parametrize(("one", "other"), pairs(RESTATED))
def test_what_says_the_same_in_another_order_is_linked(one: str, other: str, engine: Engine) -> None:
    engine.remember(one, id="old")
    ((source, target, chance),) = repeats(engine.remember(other, id="new"))
    assert (source, target) == ("new", "old")
    assert chance >= 0.75


@pytest.mark.parametrize(("one", "other"), pairs(CONTRASTS + OTHER.lstrip()))
def test_what_only_looks_the_same_is_not(one: str, other: str, engine: Engine) -> None:
    engine.remember(one)
    assert repeats(engine.remember(other)) == []


def test_the_same_is_found_in_a_batch_and_a_late_arrival_is_the_older(engine: Engine) -> None:
    records = [
        {"content": "I'm allergic to penicillin", "id": "new", "event_at": "2025-03-01T00:00:00Z"},
        {"content": "I am allergic to penicillin", "id": "old", "event_at": "2025-01-01T00:00:00Z"},
    ]
    assert repeats(engine.remember_many(records)) == [("new", "old", 1.0)]


def test_speaker_and_kind_must_be_the_same_and_an_event_be_of_the_same_day(engine: Engine) -> None:
    engine.remember("I am allergic to penicillin", speaker="Ana")
    assert repeats(engine.remember("I'm allergic to penicillin", speaker="Tom")) == []
    assert repeats(engine.remember("I'm allergic to penicillin", speaker="Ana", session_id="s")) == []
    for day, text in ((1, "I went for a swim in the lake"), (5, "I went for a long swim in the lake")):
        report = engine.remember(text, type="event", event_at=f"2025-01-0{day}T09:00:00Z")
        assert repeats(report) == []


def test_three_of_many_are_linked_and_what_was_replaced_is_not(engine: Engine) -> None:
    words = ("kitchen", "kitchen really", "kitchen, very", "kitchen just", "kitchen, well")
    reports = [engine.remember(f"The lamp is on the shelf in the {word}", id=word) for word in words]
    assert [len(repeats(report)) for report in reports] == [0, 1, 2, 3, 3]
    engine.supersede("kitchen", {"content": "The lamp is broken", "id": "broken"})
    engine.forget("kitchen really")
    engine.forget("kitchen, very")
    found = repeats(engine.remember("So the lamp is on the shelf in the kitchen", id="again"))
    assert sorted(target for _, target, _ in found) == ["kitchen just", "kitchen, well"]


def test_an_edit_and_a_replacement_end_the_link(engine: Engine) -> None:
    engine.remember("I am allergic to penicillin", id="a")
    engine.remember("I'm allergic to penicillin", id="b")
    engine.update("b", content="The lamp is broken")
    assert engine.history("a").links == ()
    engine.update("b", content="I'm allergic to penicillin")
    assert [link.relation for link in engine.history("a").links] == ["repeats"]
    report = engine.supersede("a", {"content": "I am allergic to penicillin, well", "id": "c"})
    assert [link.target for link in report.superseded] == ["a"]
    assert ("c", "a") not in [(source, target) for source, target, _ in repeats(report)]


def test_a_setting_switches_it_off_and_the_other_comparison_stays(engine: Engine) -> None:
    engine.configure(find_repeats=False)
    engine.remember("I live in Porto.", id="old")
    assert repeats(engine.remember("I really live in Porto.")) == []
    assert [link.target for link in engine.remember("I moved to Lisbon last week.").superseded]


# Near-duplicates among memories that were written without being compared.

TEXTS = {
    "old": "The deploy script is in the tools folder",
    "other": "I live in Porto.",
    "new": "Deploy script lives in the tools folder",
    "latest": "The deploy script is just in the tools folder",
}


@pytest.fixture
def uncompared(engine: Engine) -> Engine:
    engine.configure(find_repeats=False)
    for day, (id, text) in enumerate(TEXTS.items(), 1):
        engine.remember(text, id=id, event_at=f"2025-03-0{day}T09:00:00Z")
    engine.configure(find_repeats=None)
    return engine


def linked(engine: Engine) -> set[tuple[str, str]]:
    return {(link.source, link.target) for link in engine.links("repeats")}


def test_they_are_linked_as_if_each_were_written_now(uncompared: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relations, "MAX_PAGE_MEMORIES", 3)
    assert linked(uncompared) == set()
    expected = {("new", "old"), ("latest", "old"), ("latest", "new")}
    report = uncompared.link_repeats()
    assert {(link.source, link.target) for link in report.linked} == expected
    assert linked(uncompared) == expected
    assert uncompared.health().finding("near-duplicates").count == 3
    assert [uncompared.get(id).content for id in TEXTS] == list(TEXTS.values())


def test_a_second_time_nothing_is_new(uncompared: Engine) -> None:
    uncompared.link_repeats()
    before = linked(uncompared)
    assert uncompared.link_repeats().linked == ()
    assert linked(uncompared) == before


def test_an_empty_namespace_has_none(engine: Engine) -> None:
    assert engine.link_repeats().linked == ()
    assert not engine.exists()
