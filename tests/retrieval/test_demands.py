"""The optimizer: which implied types count, by what the namespace has and what its memories of each type speak of."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from math import log
from pathlib import Path

import pytest

from fivefold.engine import Engine
from fivefold.retrieval.understand.demands import Time, find_demands, reach_of, subject_words
from fivefold.stores.records import TYPE_VOCABULARY
from fivefold.text.time_grammar import EARLIEST, find_window
from fivefold.values.query import Query
from fivefold.writing.type_vocabulary import load_type_vocabulary
from tests.support.toy_engine import toy

# What each question demands, by several hundred questions with labels; and that a time with no subject decides.

NOW = datetime(2025, 6, 11, 15, 30, tzinfo=UTC)


def labelled() -> list[tuple[str, frozenset[str]]]:
    lines = Path(__file__).with_name("questions.txt").read_text("utf-8").splitlines()
    pairs = [line.split(" | ") for line in lines if line and not line.startswith("#")]
    return [(question, frozenset(kinds.split(", ")) - {"-"}) for kinds, question in pairs]


def demanded(question: str) -> frozenset[str]:
    window = find_window(question, NOW, UTC, reach=reach_of(question))
    time = Time(window, alone=not subject_words(question, window.text)) if window else None
    return frozenset(f"{item.kind}{'!' * item.decides}" for item in find_demands(question, time))


@pytest.mark.parametrize(("question", "demands"), labelled())
def test_what_a_question_demands(question: str, demands: frozenset[str]) -> None:
    assert demanded(question) == demands


REQUESTS = (
    "Write me a poem about the sea",
    "write a cover letter for the museum job",
    "help me with my taxes",
    "Help me plan a surprise for Ana",
    "can you show me how to prune roses?",
    "could you draft an email to my landlord?",
    "Could you please explain recursion to me?",
    "how do I fix a leaking tap?",
    "How should I structure my CV?",
    "what should I cook tonight?",
    "What should I do about the noise upstairs?",
    "Which laptop should I buy?",
    "which paint brush should I use for the fence",
    "I'm looking to buy a used bike",
    "I am looking for a good podcast",
    "Recommend a book for the train",
    "Can you recommend a restaurant near the station?",
    "suggest three names for the boat",
    "Plan a weekend in Porto",
    "plan my meals for next week",
    "Explain how vaccines work",
    "give me some ideas for a birthday cake",
    "Give me a short summary of stoicism",
    "I need a packing list for Norway",
    "I need to write a speech for my sister's wedding",
    "I'm working on a parser, how would you approach error recovery?",
    "I'm trying to learn the cello, any tips?",
    "I want to repaint the kitchen. Where do I start?",
    "Please translate this into Polish: good night",
    "Proofread my abstract",
    "Fix this function for me",
    "debug this query: select * from runs",
    "How can I sleep better?",
    "how to remove wine stains",
    "What's the best way to store basil?",
    "what is a good gift for a ten-year-old?",
    "What are some easy dinners?",
    "Any ideas for a rainy day?",
    "do you have any suggestions for a first date?",
    "Should I take the job in Oslo?",
    "I'm thinking of getting a dog, what should I consider?",
    "What do you recommend for a sore back?",
    "what would you do in my place?",
    "Let's write the invitation together",
    "Is there a way to merge two PDFs?",
    "Tell me a bedtime story",
    "tell me how to boil an egg",
    "Teach me three chords",
    "Walk me through setting up a VPN",
    "I'd like to bake something for the school fair",
    "I would like some advice on my garden",
    "Can we brainstorm names for the shop?",
    "My laptop was stolen, can you recommend a new one?",
    "I had pasta yesterday. What should I cook today?",
    "I told my boss I want to leave. How should I phrase the letter?",
    "Summarise this article for me",
    "Compare the two phones for me",
    "Could you help me write a toast?",
    "ok now make a table of the costs",
    "Where should we go for our anniversary?",
    "Convert 40 miles to kilometres",
    "I'm stuck on this proof",
    "Thanks! Could you also create a checklist?",
    "Would you mind checking my grammar?",
    "What can I make with leeks and cream?",
    "how would one go about renting a boat",
    "I have a job interview on Monday, help me prepare",
    "Design a logo idea for my bakery",
    "generate ten quiz questions about rivers",
    "What could I say in the toast?",
    "Find me a quiet hotel in Ghent",
    "I'm planning a trip to Peru",
    "We're considering a bigger car, which one would you pick?",
    "Rank these three cities for a family trip",
    "Turn this into a haiku",
    "Quiz me on French verbs",
    "Can you check this paragraph for typos?",
    "Tips for a long flight?",
    "Remind me to call Tom tomorrow",
)

NO_REQUESTS = (
    "what did you recommend?",
    "did I ask you to write the letter?",
    "how did I fix the tap?",
    "can you remind me what I paid for the bike?",
    "can you remind me when the course starts",
    "Could you remind me where I put the passport?",
    "do you remember my sister's name?",
    "can you tell me what my blood type is?",
    "what was the name of the hotel?",
    "list the things I told you",
    "how many cousins do I have?",
    "can you summarise what I said about the flat?",
    "Which book did Anna recommend?",
    "who suggested the restaurant?",
    "What have you suggested so far?",
    "Where do I live?",
    "who is my dentist",
    "What's my shoe size?",
    "when is my next appointment?",
    "how do I get to work?",
    "how do I take my coffee?",
    "How do I feel about my job?",
    "What do I usually have for breakfast?",
    "Where did I park?",
    "Tell me about the trip to Ghent",
    "tell me where I met Tom",
    "Do you know what my landlord is called?",
    "show me what I wrote about Karim",
    "Give me my sister's address",
    "give me the name of my dentist",
    "I want to know when I bought the car",
    "I'd like to know what we decided",
    "I need to know who called",
    "I'm trying to remember the name of that film",
    "I'm looking for my keys",
    "can you list the books I mentioned?",
    "Summarise what we discussed on Monday",
    "recap our last chat",
    "What happened to the blue vase?",
    "Did the doctor suggest an operation?",
    "What did I need for the cake?",
    "Have I asked you for recipes before?",
    "Which plan did we choose?",
    "Which recipe did grandma give me?",
    "Was the help useful?",
    "How long did it take to build the shed?",
    "How often do I water the orchid?",
    "What is my plan for Saturday?",
    "What are my plans for this weekend?",
    "who helped me move?",
    "Remember when we went to Rome?",
    "what time is it",
    "Is Lucy married?",
    "Am I allergic to penicillin?",
    "my bank account number?",
    "wifi password",
    "everything I said about Karim",
    "What was Petra's advice on the loan?",
    "whose idea was the boat",
    "How old is Theo?",
    "What does Karim do for a living?",
    "what's been fixed in the house so far",
    "Which job did I apply for?",
    "What foods should I avoid?",
    "Can you recall the title of the book you recommended?",
    "Help me remember where I left the drill",
    "Why did I stop running?",
    "How was the concert?",
    "Which film did you suggest last week?",
    "what did I tell you to write?",
    "Who wrote the letter?",
    "What is the code for the gate?",
    "How much did the sofa cost?",
    "How much is the rent?",
    "What car does my brother drive?",
    "Did you explain recursion to me already?",
    "what can't I eat",
    "Which tips did you give me?",
    "What tips for sleep have I tried?",
    "Did you turn my poem into a song?",
    "Did I check the oven?",
    "Which rank does Leo have?",
)


@pytest.mark.parametrize("question", REQUESTS)
def test_a_request_asks_the_assistant_to_do_something(question: str) -> None:
    (request,) = (item for item in find_demands(question) if item.kind == "request")
    assert not request.decides
    assert request.text == question.lower()[request.start :][: len(request.text)]


@pytest.mark.parametrize("question", NO_REQUESTS)
def test_a_question_for_what_was_said_or_is_known_is_not_a_request(question: str) -> None:
    assert "request" not in {item.kind for item in find_demands(question)}


def test_a_request_may_stand_in_any_sentence() -> None:
    question = "What did I pay for the tent? I forgot. Now write me a packing list."
    (request,) = (item for item in find_demands(question) if item.kind == "request")
    assert request.start == question.index("Now")


@pytest.mark.slow
@pytest.mark.parametrize("part", ["please ", "what a ", "give me ", ", ", "write me a. ", "i'm looking "])
def test_very_long_questions_are_read_for_requests(part: str) -> None:
    assert len([item for item in find_demands(part * (100_000 // len(part))) if item.kind == "request"]) <= 1


# The time of a question: ahead where it speaks of what is to come, from an event of the store, in other languages.

WEDNESDAY = "2025-06-11T15:30:00Z"
"""A Wednesday."""


def days(query: Query) -> str:
    """The window as its first and last day."""
    if query.window is None:
        return "-"
    return f"{query.window.start:%m-%d} to {query.window.end:%m-%d}"


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("anything tomorrow?", "06-12 to 06-13"),
        ("what's on tomorrow morning?", "06-12 to 06-12"),
        ("what about the day after tomorrow", "06-13 to 06-14"),
        ("what's on next week", "06-16 to 06-23"),
        ("what do I have on Friday?", "06-13 to 06-14"),
        ("what did I have on Friday?", "06-06 to 06-07"),
        ("who comes this Friday?", "06-13 to 06-14"),
        ("who came this Friday?", "06-06 to 06-07"),
        ("are we free this weekend?", "06-14 to 06-16"),
        ("what did we do this weekend?", "06-07 to 06-09"),
        ("what did I plan for next weekend?", "06-21 to 06-23"),
        ("when is the wedding next month?", "07-01 to 08-01"),
        ("what's coming up?", "06-11 to 06-26"),
        ("what's coming up in October?", "10-01 to 11-01"),
        ("what happened in October?", "10-01 to 11-01"),
        ("anything in the next 10 days?", "06-11 to 06-22"),
        ("what do I have in two weeks?", "06-22 to 06-29"),
        ("what's left for the rest of the week", "06-11 to 06-16"),
        ("am I doing anything on the 20th of June?", "06-20 to 06-21"),
        ("what's on the 20th of June?", "06-20 to 06-21"),
        ("what did I do on the 20th of June?", "06-20 to 06-21"),
        ("do I have to pay anything by Friday?", "06-11 to 06-14"),
        ("what's planned for July", "07-01 to 08-01"),
        ("the flight next Monday", "06-16 to 06-17"),
        ("what did she say the other day?", "06-01 to 06-11"),
        ("what was that a while ago about the boat", "06-11 to 05-21"),
        ("what happened in the last days of May?", "05-21 to 06-01"),
        ("what did May say", "-"),
        ("what did I say about my knee in April and May?", "04-01 to 06-01"),
        ("what did we do over Christmas?", "12-22 to 12-30"),
    ],
)
def test_a_window_lies_ahead_where_the_question_does(engine: Engine, question: str, expected: str) -> None:
    assert days(engine.understand(question, now=WEDNESDAY)) == expected


@pytest.mark.parametrize("time", ["in October", "the 22nd of August", "for Christmas"])
def test_the_same_date_is_another_year_ahead_and_back(engine: Engine, time: str) -> None:
    ahead = engine.understand(f"what's planned {time}?", now=WEDNESDAY).window
    back = engine.understand(f"what happened {time.replace('for', 'at')}?", now=WEDNESDAY).window
    assert ahead is not None
    assert back is not None
    assert (ahead.start.year, back.start.year) == (2025, 2024)


def test_days_are_those_of_the_clock_that_asks(engine: Engine) -> None:
    def start(now: str) -> datetime:
        window = engine.understand("what did I do yesterday?", now=now).window
        assert window is not None
        return window.start

    assert start("2025-06-11T20:30:00-05:00") == datetime(2025, 6, 10, 5, tzinfo=UTC)
    assert start("2025-06-12T01:30:00Z") == datetime(2025, 6, 11, tzinfo=UTC)
    engine.configure(timezone="Europe/Berlin")
    assert start("2025-06-11T20:30:00-05:00") == datetime(2025, 6, 10, 22, tzinfo=UTC)


@pytest.fixture
def moved(engine: Engine) -> Engine:
    engine.remember("We moved to the flat in Ghent today, boxes everywhere", event_at="2025-03-02T18:00:00Z")
    engine.remember("I joined Nordwind as an analyst on 7 April 2025", event_at="2025-04-20T09:00:00Z")
    engine.remember("My wedding with Ola was lovely", event_at="2025-05-11T09:00:00Z")
    engine.remember("Lunch was late", event_at="2025-05-20T09:00:00Z")
    return engine


def test_an_event_of_the_store_opens_a_window(moved: Engine) -> None:
    since = moved.understand("what have I bought since we moved to Ghent?", now=WEDNESDAY)
    assert days(since) == "03-02 to 06-11"
    demand = since.demand("window")
    assert demand is not None
    assert not demand.decides
    before = moved.understand("who did I see before the wedding?", now=WEDNESDAY).window
    assert before is not None
    assert (before.start, before.end) == (EARLIEST, datetime(2025, 5, 11, 9, tzinfo=UTC))


def test_a_date_that_the_memory_names_is_the_day_of_the_event(moved: Engine) -> None:
    window = moved.understand("what changed since I joined Nordwind", now=WEDNESDAY).window
    assert window is not None
    assert window.start == datetime(2025, 4, 7, tzinfo=UTC)


@pytest.mark.parametrize(
    "question",
    [
        "what happened since the burglary?",
        "since I sold the boat, what did I do?",
        "who lived here before Ola?",
        "who looked after my wedding dress?",
    ],
)
def test_an_event_that_nobody_stated_opens_none(moved: Engine, question: str) -> None:
    assert moved.understand(question, now=WEDNESDAY).window is None


def test_the_running_conversation_is_not_the_last_one(engine: Engine) -> None:
    engine.remember("see you", session_id="old", event_at="2025-06-01T10:00:00Z")
    engine.remember("hello again", session_id="new", event_at="2025-06-11T15:20:00Z")
    window = engine.understand("what changed since we last talked?", now=WEDNESDAY).window
    assert window is not None
    assert window.start == datetime(2025, 6, 1, 10, tzinfo=UTC)


@pytest.mark.parametrize(
    ("question", "expected", "kinds"),
    [
        ("Was habe ich gestern gemacht?", "06-10 to 06-11", {"window!"}),
        ("Was habe ich letzte Woche mit Anna gemacht?", "06-02 to 06-09", {"window"}),
        ("Was steht nächste Woche an?", "06-16 to 06-23", {"window!"}),
        ("Wie viele Bücher habe ich im März gelesen?", "03-01 to 04-01", {"window", "count"}),
        ("Wo wohne ich jetzt?", "-", {"current"}),
        ("Wer war früher mein Chef?", "-", {"past"}),
        ("Was darf ich nicht essen?", "-", {"negation", "current"}),
        ("¿Qué hice el viernes pasado?", "06-06 to 06-07", {"window!"}),
        ("¿Qué tengo mañana?", "06-12 to 06-13", {"window!"}),
        ("¿Dónde vivo ahora?", "-", {"current"}),
        ("¿Quién era mi jefe antes?", "-", {"past"}),
        ("Qu'est-ce que j'ai fait hier ?", "06-10 to 06-11", {"window!"}),
        ("Où habite ma sœur maintenant ?", "-", {"current"}),
        ("Qu'est-ce que j'ai acheté en avril ?", "04-01 to 05-01", {"window"}),
        ("Cosa ho fatto la settimana scorsa?", "06-02 to 06-09", {"window!"}),
        ("Come si chiama mia zia?", "-", {"current"}),
        ("O que eu fiz ontem?", "06-10 to 06-11", {"window!"}),
        ("Onde mora o meu filho?", "-", {"current"}),
    ],
)
def test_other_languages(engine: Engine, question: str, expected: str, kinds: set[str]) -> None:
    query = engine.understand(question, now=WEDNESDAY)
    assert days(query) == expected
    assert {f"{item.kind}{'!' * item.decides}" for item in query.demands} == kinds
    assert query.window is None or query.window.text in question


def start_since(engine: Engine, question: str, session_id: str | None) -> datetime | None:
    window = engine.recall(question, now=WEDNESDAY, session_id=session_id).query.window
    return window.start if window else None


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("what did I do last week?", "06-02 to 06-09"),
        ("what happened the week before last?", "05-26 to 06-02"),
        ("what did I tell you a fortnight ago?", "05-25 to 06-01"),
        ("what do I still have to do this week?", "06-11 to 06-16"),
        ("what have we on this weekend", "06-14 to 06-16"),
        ("what did we do this weekend", "06-07 to 06-09"),
        ("what has Mia got on this Saturday?", "06-14 to 06-15"),
        ("anything between next Wednesday and next Friday?", "06-18 to 06-21"),
    ],
)
def test_R8_weeks_are_those_of_the_calendar_and_what_is_still_to_come_lies_ahead(
    engine: Engine, question: str, expected: str
) -> None:
    assert days(engine.understand(question, now=WEDNESDAY)) == expected


def test_R8_recipe_recall_keeps_the_readings_of_its_document(engine: Engine) -> None:
    engine.remember("tea at four", event_at="2025-06-01T10:00:00Z")
    window = engine.recall("what did I do last week?", recipe="recall", now=WEDNESDAY).query.window
    assert window is not None
    assert (f"{window.start:%m-%dT%H:%M}", f"{window.end:%m-%dT%H:%M}") == ("06-04T15:30", "06-11T15:30")


@pytest.mark.parametrize(
    "question", ["what changed since we last talked?", "anything new since last time?", "news since my last session"]
)
def test_R8_since_we_last_talked_begins_with_the_end_of_the_session_before(engine: Engine, question: str) -> None:
    assert start_since(engine, question, "new") is None
    engine.remember("see you", session_id="old", event_at="2025-06-01T10:00:00Z")
    engine.remember("hello again", session_id="new", event_at="2025-06-11T09:00:00Z")
    before, running = (datetime(2025, 6, day, hour, tzinfo=UTC) for day, hour in ((1, 10), (11, 9)))
    assert start_since(engine, question, "new") == before
    assert start_since(engine, question, "another") == running
    assert start_since(engine, question, None) == running  # silent for more than half an hour, so it is over


def test_R8_a_session_that_ended_minutes_ago_is_the_one_before_for_a_new_one(engine: Engine) -> None:
    engine.remember("see you", session_id="old", event_at="2025-06-11T15:10:00Z")
    assert start_since(engine, "what is new since we last talked?", "new") == datetime(2025, 6, 11, 15, 10, tzinfo=UTC)
    assert start_since(engine, "what is new since we last talked?", None) is None


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("what changed since I joined?", "04-07 to 06-11"),
        ("what changed since I joined the company?", "04-07 to 06-11"),
        ("what did I do since joining Nordwind?", "04-07 to 06-11"),
        ("what have we done since the wedding?", "05-11 to 06-11"),
        ("what happened since Mia was born?", "05-03 to 06-11"),
        ("what happened after the outage?", "03-12 to 06-10"),
        ("what did I do since my promotion?", "-"),
        ("where was I after Mia?", "-"),
    ],
)
def test_R8_an_event_that_the_store_knows_anchors_the_window(moved: Engine, question: str, expected: str) -> None:
    moved.remember("Mia likes to sleep", event_at="2025-05-04T09:00:00Z")
    moved.remember("Mia was born on 3 May 2025", event_at="2025-05-05T09:00:00Z")
    moved.remember("The outage of the billing system is over", event_at="2025-03-12T09:00:00Z")
    assert days(moved.understand(question, now=WEDNESDAY)) == expected


def test_R8_yesterday_is_the_24_hours_before_now_in_the_recipe_recall(engine: Engine) -> None:
    def window(question: str, recipe: str) -> tuple[datetime, datetime] | None:
        found = engine.recall(question, recipe=recipe, now=WEDNESDAY).query.window
        return (found.start, found.end) if found else None

    rolling = (datetime(2025, 6, 10, 15, 30, tzinfo=UTC), datetime(2025, 6, 11, 15, 30, tzinfo=UTC))
    whole = (datetime(2025, 6, 10, tzinfo=UTC), datetime(2025, 6, 11, tzinfo=UTC))
    assert window("what did I do yesterday?", "recall") == rolling
    assert window("what did I do yesterday?", "default") == whole
    before = (datetime(2025, 6, 9, tzinfo=UTC), datetime(2025, 6, 10, tzinfo=UTC))
    assert window("what did I do the day before yesterday?", "recall") == before


KESTREL = "what is my setting for the Kestrel timeout?"


@pytest.fixture
def workshop(store_path: str) -> Iterator[Engine]:
    """Ten preferences about tea, and ten facts, two of which are about Kestrel."""
    with toy(store_path) as engine:
        engine.configure(find_changes=False, find_repeats=False)
        engine.remember_many({"content": f"I prefer tea number {i}", "type": "preference"} for i in range(10))
        engine.remember_many({"content": f"tea was bought on day {i}", "type": "fact"} for i in range(8))
        engine.remember_many({"content": f"the kestrel timeout is {i} seconds", "type": "fact"} for i in (30, 40))
        yield engine


def hints(engine: Engine, question: str, recipe: str = "recall") -> list[tuple[str, bool, str]]:
    return [(hint.type, hint.kept, hint.reason) for hint in engine.plan(question, recipe=recipe).type_hints]


def test_R2_before_the_first_check_the_words_of_a_type_are_not_known(workshop: Engine) -> None:
    assert hints(workshop, KESTREL) == [("preference", True, "'setting' implies it")]


def test_R2_a_type_whose_memories_do_not_speak_of_what_is_asked_is_dropped(workshop: Engine) -> None:
    workshop.check_drift()
    reason = "its memories hardly mention 'kestrel' (0.0%, others 20.0%), 'timeout' (0.0%, others 20.0%)"
    assert hints(workshop, KESTREL) == [("preference", False, reason)]
    answer = workshop.recall(KESTREL, recipe="recall")
    assert answer.query.type_hints == ()
    assert f"type preference is dropped: {reason}" in answer.explain()
    assert {hit.memory.type for hit in answer.hits[:2]} == {"fact"}
    runs = {run.route: run.reason for run in answer.routes}
    assert "of type" not in runs["lexical"]


def test_R2_a_type_whose_memories_speak_of_it_counts(workshop: Engine) -> None:
    workshop.check_drift()
    assert hints(workshop, "which tea do I prefer?") == [("preference", True, "'prefer' implies it")]


def test_R2_only_recipe_recall_asks_for_the_words_of_a_type(workshop: Engine) -> None:
    workshop.check_drift()
    for recipe in ("default", "memsense", "engram", "five-stage", "ditto"):
        assert hints(workshop, KESTREL, recipe) == [("preference", True, "'setting' implies it")]


def test_R2_words_that_nothing_has_decide_nothing(workshop: Engine) -> None:
    workshop.check_drift()
    assert [kept for _, kept, _ in hints(workshop, "what is my setting for the zeppelin?")] == [True]


def test_R2_the_densities_are_shares_of_the_memories_with_a_word(workshop: Engine) -> None:
    workshop.check_drift()
    saved = workshop.store.reader("default").admin.learned_value(TYPE_VOCABULARY)
    assert saved is not None
    assert "kestrel" not in str(saved)
    vocabulary = load_type_vocabulary("default", saved)
    assert vocabulary is not None
    assert vocabulary.memories == (10, 10, 0, 0, 0)
    tea, kestrel = vocabulary.densities("preference", ["tea", "kestrel", "kestrel", "zeppelin"])
    assert (tea.lexeme, tea.own, tea.others) == ("tea", 1.0, 0.8)
    assert tea.weight == pytest.approx(log(21 / 18.5))
    assert (kestrel.lexeme, kestrel.own, kestrel.others) == ("kestrel", 0.0, 0.2)
    assert kestrel.weight == pytest.approx(log(21 / 2.5))
    assert vocabulary.densities("event", ["tea"]) == ()
