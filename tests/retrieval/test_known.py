"""What is known: profiles, agendas, histories, changes and recaps, each line with a source that says it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

import fivefold
from fivefold import Engine, Fact, InvalidInput, NotFound

SAID = (
    ("a", "2026-01-05", "My name is Nadia Brandt and I work at Halden Optics as a lens designer."),
    ("b", "2026-01-06", "I live in Leeds, at 14 Marlow Street, and the rent is 640 a month."),
    ("c", "2026-01-07", "I am allergic to walnuts and I can't eat shellfish."),
    ("d", "2026-01-08", "The wifi at home is BlueHeron and the password is herons-fly-4."),
    ("e", "2026-01-09", "My sister Petra is a nurse and has two kids, Ole and Mina."),
    ("f", "2026-02-01", "lol what a day"),
    ("g", "2026-03-01", "I moved to Bristol last week."),
    ("h", "2026-03-02", "I play badminton every Tuesday at seven."),
    ("i", "2026-03-03", "The dentist is on 20 April 2026 at nine."),
    ("j", "2026-03-04", "Petra's wedding is on 2 May 2026 in Whitby."),
    ("k", "2026-03-05", "My train to Harwich leaves on 11 April 2026."),
    ("l", "2026-03-10", "Petra's wedding moved to 9 May 2026, same place in Whitby."),
    ("m", "2026-03-11", "The train to Harwich is cancelled, I am not going."),
)
NOW = datetime(2026, 3, 20, 9, tzinfo=UTC)


@pytest.fixture
def mem(tmp_path: Path) -> Iterator[Engine]:
    with fivefold.open(tmp_path / "m.db") as engine:
        engine.remember_many([{"id": id, "event_at": f"{day}T10:00:00Z", "content": text} for id, day, text in SAID])
        yield engine


def having(word: str, facts: tuple[Fact, ...]) -> list[Fact]:
    return [fact for fact in facts if word in fact.text]


def test_every_line_of_every_view_is_in_its_source(mem: Engine) -> None:
    texts = {id: text for id, _, text in SAID}
    changed, known = mem.changes("2026-02-01"), mem.profile(now=NOW, secrets=True)
    views = [known.facts, known.earlier, mem.agenda(NOW).facts, mem.agenda(NOW).moved]
    views += [changed.new, changed.replaced, changed.ended, mem.history("where do I live").facts]
    assert sum(map(len, views)) > 15
    for fact in (fact for view in views for fact in view):
        assert fact.sources
        assert all(fact.text in texts[id] for id in fact.sources)


def test_a_profile_has_what_holds_within_its_budget(mem: Engine) -> None:
    known = mem.profile(now=NOW)
    assert having("Halden Optics", known.facts)[0].section == "work"
    assert having("walnuts", known.facts)
    assert not having("Leeds", known.facts)
    assert having("Leeds", known.earlier)[0].until == datetime(2026, 3, 1, 10, tzinfo=UTC)
    assert not having("lol", known.facts)
    assert known.tokens <= known.budget == 600
    small = mem.profile(token_budget=40, now=NOW)
    assert small.tokens <= 40
    assert small.left_out > 0
    assert having("walnuts", small.facts), "what a suggestion has to know is always there"


def test_secrets_are_masked_unless_they_are_asked_for(mem: Engine) -> None:
    assert "herons-fly-4" not in str(mem.profile(now=NOW))
    assert "herons-fly-4" in str(mem.profile(now=NOW, secrets=True))


def test_a_profile_of_a_person_is_about_that_person(mem: Engine) -> None:
    known = mem.profile("Petra", now=NOW)
    assert having("nurse", known.facts)
    assert not having("Halden", known.facts)
    said = {"n": "My colleague Ulla Bergström plays the cello.", "o": "Ulla hates raisins."}
    mem.remember_many([{"id": id, "content": text} for id, text in said.items()])
    assert {fact.sources for fact in mem.profile("Ulla Bergström")} == {("n",), ("o",)}
    with pytest.raises(NotFound, match="Zacharias"):
        mem.profile("Zacharias")


def test_a_forgotten_source_takes_its_line_with_it_at_once(mem: Engine) -> None:
    assert having("Halden", mem.profile(now=NOW).facts)
    mem.forget("a")
    assert not having("Halden", mem.profile(now=NOW).facts)
    mem.forget("i")
    assert not having("dentist", mem.agenda(NOW).facts)


def test_an_agenda_follows_what_moved_and_leaves_out_what_is_cancelled(mem: Engine) -> None:
    agenda = mem.agenda(NOW)
    days = {fact.first_day: fact.text for fact in agenda if fact.repeats is None}
    assert days[date(2026, 4, 20)].startswith("The dentist")
    assert "Whitby" in days[date(2026, 5, 9)]
    assert date(2026, 5, 2) not in days
    assert date(2026, 4, 11) not in days
    assert {fact.first_day for fact in agenda.moved} == {date(2026, 5, 2), date(2026, 4, 11)}
    assert [fact.first_day for fact in agenda if fact.repeats == "every tuesday"] == [date(2026, 3, 24)]
    assert mem.agenda(NOW, "2026-04-01").facts == tuple(fact for fact in agenda if fact.repeats)


def test_a_block_of_facts_quotes_the_clause_that_tells(tmp_path: Path) -> None:
    long = (
        "We spent all of Sunday in the shed and sang, the bike is a Kona Sutra in blue, and then it rained till dark."
    )
    with fivefold.open(tmp_path / "m.db") as mem:
        mem.remember("I clean my bike on Sundays.")
        mem.remember(long)
        mem.remember_many([f"Ride number {number} on the bike went to the mill near Ely." for number in range(9)])
        block, quotes = (
            mem.context("which bike is it, a Kona?", token_budget=130, style=s) for s in ("facts", "quotes")
        )
    texts = [source.content for source in block.sources]
    assert len(texts) >= len(quotes.sources)
    assert [text for text in texts if "Kona Sutra in blue" in text]
    assert long not in texts


OFF = (
    ("The pottery workshop", "We decided against the pottery workshop."),
    ("The Belgrade concert", "I sold my ticket for the Belgrade concert."),
    ("The Tarn half marathon", "My knee is gone, so no Tarn half marathon for me."),
    ("My on-call weekend", "Petra takes my on-call weekend."),
    ("The photo shoot for Lumen", "Lumen put the photo shoot on hold."),
    ("Lunch with Aunt Vesna", "Aunt Vesna has flu, so lunch has to wait."),
    ("The barbecue at Tariq's", "No barbecue at Tariq's, he has to work."),
    ("The garden tour in Alnwick", "They've called the garden tour in Alnwick off."),
)
ON = (
    ("The pottery workshop", "No food at the pottery workshop."),
    ("The Belgrade concert", "I skipped work to queue for the Belgrade concert."),
    ("The Tarn half marathon", "Sold my old shoes before the Tarn half marathon."),
    ("My on-call weekend", "Petra takes the dog on my on-call weekend."),
    ("The photo shoot for Lumen", "Put the photo shoot for Lumen in the calendar."),
    ("Lunch with Aunt Vesna", "Lunch with Aunt Vesna: she said nothing about wine."),
    ("The barbecue at Tariq's", "No nuts at Tariq's barbecue because of Lina."),
    ("The garden tour in Alnwick", "No times for the garden tour in Alnwick yet."),
)


@pytest.mark.parametrize(("said", "shown"), [(OFF, 0), (ON, 8)], ids=["off", "on"])
def test_an_event_that_is_off_in_other_words_is_left_out(
    tmp_path: Path, said: tuple[tuple[str, str], ...], shown: int
) -> None:
    with fivefold.open(tmp_path / "m.db") as mem:
        for event, later in said:
            mem.remember(f"{event} is on 18 April 2026.", event_at="2026-03-01T10:00:00Z")
            mem.remember(later, event_at="2026-03-10T10:00:00Z")
        assert len(mem.agenda(NOW)) == shown


def test_the_point_of_a_german_ordinal_ends_no_sentence(tmp_path: Path) -> None:
    with fivefold.open(tmp_path / "m.db") as mem:
        mem.remember("Die Schule braucht den Zettel bis zum 4. September zurück. Mia ist gegen Nüsse allergisch.")
        mem.remember("Frau Brandt wohnt seit dem Umzug gegenüber im 3. Stock links.")
        texts = [fact.text for fact in mem.profile(now=NOW)]
    assert "Die Schule braucht den Zettel bis zum 4. September zurück" in texts
    assert not [text for text in texts if text.startswith(("September", "Stock"))]


def test_a_birthday_comes_each_year(mem: Engine) -> None:
    mem.remember("Petra's birthday is 3 June 1988.", event_at="2026-03-01T10:00:00Z")
    found = [fact for fact in mem.agenda(NOW) if "birthday" in fact.text]
    assert [(fact.first_day, fact.repeats) for fact in found] == [(date(2026, 6, 3), "every year")]


def test_a_history_has_the_values_in_their_order(mem: Engine, tmp_path: Path) -> None:
    found = mem.history("where do I live")
    places = [word for fact in found.facts for word in ("Leeds", "Bristol") if word in fact.text]
    assert places == ["Leeds", "Bristol"]
    assert found.facts[0].until == found.facts[1].since
    assert mem.history("b").facts == ()
    with pytest.raises(NotFound):
        mem.history("nothing")
    with fivefold.open(tmp_path / "empty.db") as empty, pytest.raises(NotFound):
        empty.history("where do I live")


def test_changes_say_what_is_new_and_what_took_whose_place(mem: Engine) -> None:
    changed = mem.changes("2026-02-15")
    assert [fact.replaces for fact in changed.replaced if "Bristol" in fact.text] == [("b",)]
    assert having("Leeds", changed.ended)
    assert having("dentist", changed.new)
    assert not having("Halden", changed.new)


def test_a_line_is_corrected_hidden_and_pinned_at_its_source(mem: Engine) -> None:
    report = mem.correct("a", "Halden Optics", "Merle Optics")
    assert having("Merle", mem.profile(now=NOW).facts)
    assert not having("Halden", mem.profile(now=NOW).facts)
    mem.forget(report.stored[0])
    assert having("Halden", mem.profile(now=NOW).facts)
    with pytest.raises(InvalidInput, match="line"):
        mem.correct("a", "Nowhere Ltd", "Merle Optics")
    mem.hide("c")
    assert not having("walnuts", mem.profile(now=NOW).facts)
    mem.hide("c", False)
    assert having("walnuts", mem.profile(now=NOW).facts)
    mem.pin("f")
    assert having("lol", mem.profile(token_budget=60, now=NOW).facts)


def test_a_recap_has_what_a_session_came_to(tmp_path: Path) -> None:
    talk = (
        ("user", "We decided to use SQLite for the prototype."),
        ("assistant", "Good. Shall I write the schema?"),
        ("user", "I'll send you the sample files tomorrow."),
        ("user", "Who pays for the servers?"),
    )
    with fivefold.open(tmp_path / "m.db") as mem:
        mem.remember_many([{"speaker": who, "content": text, "session_id": "s"} for who, text in talk])
        recap = mem.recap()
        assert recap.session_id == "s"
        assert [fact.text for fact in recap.decisions] == ["We decided to use SQLite for the prototype"]
        assert [fact.turn for fact in recap.promises] == [2]
        assert [fact.text for fact in recap.questions] == ["Who pays for the servers?"]
        with pytest.raises(NotFound):
            mem.recap("other")


def test_memories_of_an_older_store_are_read_when_facts_are_first_asked_for(mem: Engine) -> None:
    before = mem.profile(now=NOW)
    with mem.store.write("default") as txn:
        for row in range(1, len(SAID) + 1):
            txn.index.renew_facts(row, ())
        txn.admin.save_learned_value("unread facts", {"after": 0})
    assert mem.profile(now=NOW) == before
    assert all(finding.ok for finding in mem.doctor())


def test_what_is_known_of_nothing_is_empty(tmp_path: Path) -> None:
    with fivefold.open(tmp_path / "m.db") as mem:
        assert mem.profile().facts == ()
        assert mem.agenda().facts == ()
        assert mem.changes().new == ()
        with pytest.raises(InvalidInput):
            mem.profile(token_budget=0)
        with pytest.raises(InvalidInput):
            mem.agenda("2026-01-02", "2026-01-01")
