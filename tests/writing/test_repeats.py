"""Near-duplicates: which texts say nearly the same, and what a write links."""

from __future__ import annotations

import pytest

from fivefold.engine import Engine
from fivefold.values.reports import Report
from fivefold.writing.repeats import same_share

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


def pairs(text: str) -> list[list[str]]:
    return [line.split(" | ") for line in text.strip().splitlines()]


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
