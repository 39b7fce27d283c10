"""Whom a name means, by whom it meant before: the prior of R7 comes from past questions in the recipe `recall`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import fivefold
from fivefold import sample
from fivefold.engine import Engine
from fivefold.retrieval.understand import entities
from fivefold.retrieval.understand.entities import prior
from fivefold.retrieval.understand.question import MAX_TURN_CHARACTERS, written_out
from fivefold.text.lexemes import lexemes
from fivefold.text.names import RELATIVES, ROLE_OF
from fivefold.values.query import EntityRef
from tests.support.toy_engine import toy

# What is read out of a question: entities, who 'she' is, types, intents; and that no text breaks it.


@pytest.fixture
def office(engine: Engine) -> Engine:
    engine.remember_many(
        [
            "Sarah Chen sits in the Berlin Office",
            "Tom Okafor owns Kestrel",
            "Sarah Chen reports to Tom Okafor",
            "Sam Whitfield climbs rocks",
            "Sam Osei sells valves for Larkfield Components",
            "JIRA-9921 is about the gasket",
            "Elin is my sister",
            "Elin is married to Marco",
        ]
    )
    return engine


def named(engine: Engine, question: str, context: tuple[str, ...] = ()) -> dict[str, str]:
    return {ref.text: ref.name for ref in engine.understand(question, history=context).entities}


@pytest.mark.parametrize(
    ("question", "text", "name"),
    [
        ("where does Sarah Chen work?", "Sarah Chen", "Sarah Chen"),
        ("where does sarah work?", "sarah", "Sarah Chen"),
        ("what is Sarah's desk like", "Sarah", "Sarah Chen"),
        ("who is in the berlin office", "berlin office", "Berlin Office"),
        ("status of JIRA-9921?", "JIRA-9921", "JIRA-9921"),
        ("and jira-9921", "jira-9921", "JIRA-9921"),
        ("tell me about Larkfield Components.", "Larkfield Components", "Larkfield Components"),
        ("Kestrel", "Kestrel", "Kestrel"),
    ],
)
def test_names_are_resolved(office: Engine, question: str, text: str, name: str) -> None:
    assert named(office, question)[text] == name


def test_a_name_said_again_and_again_is_looked_up_once(office: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []
    monkeypatch.setattr(entities, "lexemes", lambda text: looked.append(text) or lexemes(text))  # type: ignore[func-returns-value]
    once = office.understand("Sarah and a zebra").entities
    looked.clear()
    often = office.understand("Sarah and a zebra " * 60).entities
    assert len(looked) <= 2
    assert len(often) == 60
    assert {ref.meanings for ref in often} == {once[0].meanings}


def test_an_unknown_name_is_no_entity(office: Engine) -> None:
    assert named(office, "where is Zebediah?") == {}


def test_an_ambiguous_name_keeps_all_meanings(office: Engine) -> None:
    (ref,) = office.understand("what did Sam say?").entities
    assert {meaning.name for meaning in ref.meanings} == {"Sam Whitfield", "Sam Osei"}
    assert ref.confidence < 0.7
    assert sum(meaning.confidence for meaning in ref.meanings) <= 1.0


def test_the_words_around_a_name_tell_who_is_meant(office: Engine) -> None:
    valves = next(ref for ref in office.understand("which valves does Sam sell?").entities if ref.text == "Sam")
    rocks = next(ref for ref in office.understand("which rocks does Sam climb?").entities if ref.text == "Sam")
    assert (valves.name, rocks.name) == ("Sam Osei", "Sam Whitfield")


def test_a_relation_word_means_who_it_leads_to(office: Engine) -> None:
    assert named(office, "what does Sarah's boss own?")["Sarah's boss"] == "Tom Okafor"
    assert named(office, "who is my sister married to?")["my sister"] == "Elin"


def test_pronouns_refer_to_the_latest_fitting_name_of_the_context(office: Engine) -> None:
    context = ("I met Sarah Chen today.", "She has news on Kestrel.")
    assert named(office, "what is she working on?", context)["she"] == "Sarah Chen"
    assert named(office, "who owns that project?", ("We talked about Kestrel.",))["that project"] == "Kestrel"
    assert named(office, "who sits there?", ("I was in the Berlin Office.",))["there"] == "Berlin Office"


def test_without_context_nothing_is_guessed(office: Engine) -> None:
    assert named(office, "what is she working on there?") == {}


@pytest.mark.parametrize(
    ("question", "intent"),
    [
        ("why did we move?", "why"),
        ("when did it break?", "when"),
        ("who built the shed?", "who"),
        ("how to reset it", "how"),
        ("colour of the door", "what"),
        ("the reason who left when", "why"),
    ],
)
def test_intents_of_e1(engine: Engine, question: str, intent: str) -> None:
    assert engine.understand(question).intent == intent


def test_several_intents_hold_and_carry_their_words(engine: Engine) -> None:
    cues = {cue.value: cue.text for cue in engine.understand("why did the team leave before lunch?").cues}
    assert cues == {"why": "why", "when": "before", "who": "team"}


@pytest.mark.parametrize(
    ("question", "types"),
    [
        ("which seat do I prefer?", {"preference"}),
        ("what is my default editor?", {"preference"}),
        ("when did I sign it?", {"event"}),
        ("who is Sarah?", {"entity"}),
        ("when did I like it?", {"event", "preference"}),
        ("what's that thing that's like an API?", {"preference"}),
        ("colour of the door", set()),
    ],
)
def test_type_triggers_of_r9(engine: Engine, question: str, types: set[str]) -> None:
    assert {cue.value for cue in engine.understand(question).cues if cue.kind == "type"} == types


def test_since_we_last_talked_reads_the_session_log(engine: Engine) -> None:
    question, now = "what changed since we last talked?", "2025-06-11T12:00:00Z"
    assert engine.understand(question, now=now).window is None
    engine.remember("see you", session_id="s", event_at="2025-06-01T10:00:00Z")
    window = engine.understand(question, now=now).window
    assert window is not None
    assert window.start.isoformat() == "2025-06-01T10:00:00+00:00"


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(question=st.text(max_size=300), context=st.lists(st.text(max_size=60), max_size=3))
def test_no_text_breaks_the_reading(sample_engine: Engine, question: str, context: list[str]) -> None:
    try:
        sample_engine.understand(question, history=context)
    except fivefold.InvalidInput as error:
        assert "question" in str(error) or "history" in str(error)  # noqa: PT017 - both are the caller's


@pytest.mark.slow
def test_every_sentence_of_the_sample_can_be_asked(sample_engine: Engine) -> None:
    for item in sample.memories():
        sample_engine.understand(item["content"])


def test_ten_thousand_words_can_be_asked(sample_engine: Engine) -> None:
    query = sample_engine.understand("Sarah " + "word " * 10_000)
    assert query.entities[0].name == "Sarah Chen"


def test_the_mixed_question_uses_every_route_and_finds_its_memory(sample_engine: Engine) -> None:
    question = next(item for item in sample.questions() if item.id == "q24")
    answer = sample_engine.recall(question.query, recipe="recall", now=question.now)
    assert {run.route for run in answer.routes if run.status == "hits" and run.found} == {
        "dense",
        "lexical",
        "graph",
        "temporal",
    }
    assert set(question.relevant) <= {hit.memory.id for hit in answer}


def test_explain_marks_the_question(sample_engine: Engine) -> None:
    told = sample_engine.recall("What did Sarah say last week?", now="2025-12-22T09:00:00Z", recipe="recall").explain()
    assert "[Sarah = Sarah Chen]" in told
    assert "[last week = 2025-12-15…2025-12-22]" in told
    assert "graph" in told
    assert "—" in told


@pytest.fixture
def town(engine: Engine) -> Engine:
    engine.remember_many(
        [
            "Sarah Chen likes tea",
            "Tom Okafor likes coffee",
            "Quellwyn likes cocoa",
            "Bredworth likes juice",
            "Porto is rainy",
            "The Berlin Office has a new kitchen",
            "Kestrel needs a gasket",
            "Nightjar needs paint",
            "Tom Okafor owns Kestrel",
            "Marco works at Volvo",
            "JIRA-9921 needs a review",
            "My sister Ana likes wine",
        ]
    )
    return engine


def meant(engine: Engine, question: str, *turns: str) -> list[str]:
    """Whom or what the pronouns of the question mean."""
    return [ref.name for ref in engine.understand(question, history=turns).entities if ref.via.startswith("refers")]


@pytest.mark.parametrize("name", ["Sarah", "Sarah Chen", "Quellwyn"])
@pytest.mark.parametrize(
    "turn",
    [
        "I spoke to {} today",
        "I got an email from {}",
        "I had a call with {} at nine",
        "I met {} after work",
        "I saw {} on Friday",
        "Yesterday I wrote to {}",
        "There was a letter from {}",
        "I had lunch with {}",
        "{} called me",
        "I asked {} for the keys",
        "I have news from {}",
        "Did I tell you that {} is back?",
    ],
)
def test_she_is_the_woman_who_was_spoken_to_or_heard_from(town: Engine, turn: str, name: str) -> None:
    whole = "Sarah Chen" if name.startswith("Sarah") else name
    assert meant(town, "what does she like?", turn.format(name)) == [whole]


@pytest.mark.parametrize("turn", ["We talked about {}", "I have a photo of {}", "What do you think of {}?"])
def test_who_is_spoken_about_stays_a_person(town: Engine, turn: str) -> None:
    assert meant(town, "what does she like?", turn.format("Sarah")) == ["Sarah Chen"]


@pytest.mark.parametrize(
    "turn",
    [
        "I was in {} last week",
        "We moved to {}",
        "I flew back from {}",
        "The train to {} was late",
        "We met at {}",
        "I live near {}",
        "We visited {}",
    ],
)
@pytest.mark.parametrize("name", ["Porto", "the Berlin Office"])
def test_there_is_the_place_somebody_was_in_or_went_to(town: Engine, turn: str, name: str) -> None:
    assert meant(town, "what is new there?", turn.format(name)) == [name.removeprefix("the ")]


@pytest.mark.parametrize(
    "turn",
    [
        "We talked about {}",
        "I work on {} now",
        "The project {} is late",
        "I spent the day on {}",
        "We shipped {} on Monday",
        "The status of {} is red",
    ],
)
@pytest.mark.parametrize("name", ["Kestrel", "Nightjar", "JIRA-9921"])
def test_that_project_is_the_thing_somebody_works_on(town: Engine, turn: str, name: str) -> None:
    assert meant(town, "what does that project need?", turn.format(name)) == [name]


def test_he_is_no_woman_and_she_no_man(town: Engine) -> None:
    turns = ("I met Tom yesterday.", "Then I spoke to Sarah.")
    assert meant(town, "what does he like?", *turns) == ["Tom Okafor"]
    assert meant(town, "what does she like?", *turns) == ["Sarah Chen"]
    assert meant(town, "what do they like?", *turns) == ["Sarah Chen"]


def test_a_relative_of_the_turns_before_is_a_person(town: Engine) -> None:
    assert meant(town, "what does she like?", "I called my sister yesterday") == ["Ana"]


def test_there_is_also_where_somebody_works(town: Engine) -> None:
    assert meant(town, "who works there?", "Marco told me about Volvo") == ["Volvo"]


def test_there_is_is_no_place(town: Engine) -> None:
    assert meant(town, "is there any news?", "I was in Porto") == []
    assert meant(town, "what's there to eat?", "I was in Porto") == ["Porto"]


CONTEXTS = (
    "I spoke to {} today",
    "I got an email from {}",
    "We talked about {}",
    "What do you think of {}?",
    "I have a photo of {}",
    "I heard from {}",
    "Let me tell you about {}",
    "There was a message from {}",
    "{} came up again",
    "I remember {} well",
)


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("what does she like?", "Sarah Chen"),
        ("what does she like?", "Quellwyn"),
        ("what is new there?", "Porto"),
        ("what is new there?", "Berlin Office"),
        ("what does that project need?", "Kestrel"),
        ("what does that project need?", "Nightjar"),
    ],
)
def test_R1_a_pronoun_finds_its_name_in_ten_plain_contexts(town: Engine, question: str, name: str) -> None:
    missed = [turn for turn in CONTEXTS if meant(town, question, turn.format(name)) != [name]]
    assert missed == []


def test_R1_a_name_that_surely_is_something_else_is_not_meant(town: Engine) -> None:
    assert meant(town, "what is new there?", "I spoke to Sarah today") == []
    assert meant(town, "what does she like?", "We talked about JIRA-9921") == []
    assert meant(town, "what does she like?", "I got an email from Tom") == []


def test_R1_a_name_that_fits_comes_before_one_that_only_may(town: Engine) -> None:
    turns = ("I spoke to Quellwyn about Porto",)
    assert meant(town, "what does she like?", *turns) == ["Quellwyn"]
    assert meant(town, "what is new there?", *turns) == ["Porto"]


def test_R1_types_are_implied_after_the_parse(town: Engine) -> None:
    town.remember_many([{"content": f"I prefer seat {number}", "type": "preference"} for number in range(6)])
    question = "which seat do I prefer?"
    assert town.understand(question).type_hints == ()
    assert town.recall(question).query.type_hints == ("preference",)
    assert [(hint.type, hint.kept) for hint in town.plan(question).type_hints] == [("preference", True)]


# Questions that follow others are written out, so that they can be read alone.


@pytest.fixture
def friends(engine: Engine) -> Engine:
    engine.remember_many(["Lena Brandt moved to Husum", "Karim met Lena Brandt in Husum", "Malte has a boat"])
    return engine


@pytest.mark.parametrize(
    ("question", "reading"),
    [
        ("and when is she back?", "and when is Lena back?"),
        ("what is her job?", "what is Lena's job?"),
        ("did I call her?", "did I call Lena?"),
    ],
)
def test_a_pronoun_becomes_the_name(friends: Engine, question: str, reading: str) -> None:
    assert friends.understand(question, history=["How is Lena doing?"]).reading == reading


def test_what_cannot_be_named_is_read_after_the_turn_before(friends: Engine) -> None:
    history = ["What did the dentist do?", "He put a crown on the lower left molar."]
    assert friends.understand("How much did that cost?", history=history).reading == (
        "He put a crown on the lower left molar. How much did that cost?"
    )


def test_a_short_answer_comes_with_its_question() -> None:
    history = ("Have I been paged at night?", "Yes, twice.")
    assert written_out("what was wrong the second time?", (), history) == " ".join(
        (*history, "what was wrong the second time?")
    )


@pytest.mark.parametrize(
    "question", ["Where do I live?", "is there anything on Friday?", "what did I say that I would buy"]
)
def test_a_question_of_its_own_stays(friends: Engine, question: str) -> None:
    assert friends.understand(question, history=["How is Lena doing?"]).reading == ""


def test_without_turns_before_nothing_is_written(friends: Engine) -> None:
    assert friends.understand("when is she back?").reading == ""


def test_a_long_turn_is_cut() -> None:
    assert len(written_out("how is it?", (), ("word " * 500,))) <= MAX_TURN_CHARACTERS + len(" how is it?")


def test_the_words_of_the_reading_are_searched(friends: Engine) -> None:
    assert "lena" in friends.understand("when is she back?", history=["How is Lena doing?"]).lexemes


@pytest.fixture
def two_sams(store_path: str) -> Iterator[Engine]:
    """Two people of one name, each in one memory."""
    with toy(store_path) as engine:
        engine.remember("Sam Whitfield climbs rocks", id="rocks")
        engine.remember("Sam Osei sells valves", id="valves")
        yield engine


def sam(engine: Engine, recipe: str = "recall") -> EntityRef:
    (ref,) = engine.recall("what about Sam?", recipe=recipe).query.entities
    return ref


def asked(engine: Engine) -> dict[str, float | None]:
    return {meaning.name: meaning.asked for meaning in sam(engine).meanings}


def test_R7_without_past_questions_the_memories_decide(two_sams: Engine) -> None:
    assert [meaning.confidence for meaning in sam(two_sams).meanings] == [0.45, 0.45]
    assert [meaning.asked for meaning in sam(two_sams, "default").meanings] == [None, None]


def test_R7_a_name_means_whom_it_meant_before(two_sams: Engine) -> None:
    """Prior (3 + 1/2) / 4. It weighs 0.5, the words around, of which nothing is known, 0.3 for both; a part is 0.9."""
    for _ in range(3):
        two_sams.recall("which valves does Sam sell?", recipe="lexical")
    ref = sam(two_sams)
    assert ref.name == "Sam Osei"
    assert {meaning.name: meaning.asked for meaning in ref.meanings} == {"Sam Osei": 3.0, "Sam Whitfield": 0.0}
    shares = [(0.5 * before + 0.3) / 1.1 for before in (3.5 / 4, 0.5 / 4)]
    found = [meaning.confidence for meaning in ref.meanings]
    assert found == pytest.approx([0.9 * share for share in shares], abs=1e-4)


def test_R7_the_trace_says_how_often(two_sams: Engine) -> None:
    two_sams.recall("which valves does Sam sell?", recipe="lexical")
    shown = two_sams.recall("what about Sam?", recipe="recall")
    said = "'Sam' may mean Sam Osei (0.55, meant in 1 past question), Sam Whitfield (0.35, meant in 0 past questions)"
    assert said in shown.explain()
    assert shown.to_dict()["query"]["entities"][0]["meanings"][0]["asked"] == 1.0


def test_R7_what_was_used_says_more_than_what_came_first(two_sams: Engine) -> None:
    answer = two_sams.recall("which valves does Sam sell?", recipe="lexical")
    two_sams.feedback(answer, used=["rocks"])
    assert asked(two_sams) == {"Sam Whitfield": 1.0, "Sam Osei": 0.0}


def test_R7_a_whole_name_says_itself_whom_it_means(two_sams: Engine) -> None:
    answer = two_sams.recall("what does Sam Whitfield sell?", recipe="lexical")
    two_sams.feedback(answer, used=["valves"])
    assert asked(two_sams) == {"Sam Whitfield": 1.0, "Sam Osei": 0.0}


def test_R7_a_word_that_only_contains_the_name_counts_nothing(two_sams: Engine) -> None:
    two_sams.recall("a sample of valves and the same", recipe="lexical")
    assert asked(two_sams) == {"Sam Whitfield": 0.0, "Sam Osei": 0.0}


def test_R7_other_recipes_take_the_prior_of_the_memories(two_sams: Engine) -> None:
    for _ in range(3):
        two_sams.recall("which valves does Sam sell?", recipe="lexical")
    assert [meaning.confidence for meaning in sam(two_sams, "engram").meanings] == [0.45, 0.45]


def test_R7_the_shares_of_the_memories_count_as_one_question() -> None:
    assert prior({1: 3.0, 2: 0.0}, {1: 0.25, 2: 0.75}) == {1: 0.8125, 2: 0.1875}
    assert prior({}, {1: 0.25, 2: 0.75}) == {1: 0.25, 2: 0.75}


@pytest.fixture
def family(engine: Engine) -> Engine:
    engine.remember_many(
        [
            "My mum Birgit bakes bread",
            "My dad is called Karl",
            "My sister Ana moved to Porto",
            "Ben, my brother, plays chess",
            "Ana's husband Mark is a nurse",
            "My daughter Mia and my son Leo are at school",
            "My aunt Rosa paints",
            "Uli is my uncle",
            "My cousin Pablo surfs",
            "Our grandma Ilse turned ninety",
            "My brother-in-law Piet sails",
            "User's ex-wife Karen remarried",
            "My stepdad Joe grills",
            "Roz is my godmother",
            "My flatmates Jo and Al are tidy",
            "My neighbour Frau Lindqvist has the keys",
            "The user's landlord is Mr. Petrakis",
            "Dr. Okafor is my dentist",
            "My boss is Tom",
            "My vet, Kay, is lovely",
        ]
    )
    return engine


def whom(engine: Engine, question: str) -> set[str]:
    """Those whom a relation word of the question means."""
    return {
        meaning.name for ref in engine.understand(question).entities if " of " in ref.via for meaning in ref.meanings
    }


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("what does my mum bake?", {"Birgit"}),
        ("my mother?", {"Birgit"}),
        ("where is dad? I mean my father", {"Karl"}),
        ("how are my parents?", {"Birgit", "Karl"}),
        ("where does my sister live?", {"Ana"}),
        ("what does my brother play?", {"Ben"}),
        ("who are my siblings?", {"Ana", "Ben"}),
        ("what about my daughter?", {"Mia"}),
        ("and my son?", {"Leo"}),
        ("how old are my kids?", {"Mia", "Leo"}),
        ("do my children go to school?", {"Mia", "Leo"}),
        ("what does my auntie do?", {"Rosa"}),
        ("my uncle", {"Uli"}),
        ("tell me of my cousins", {"Pablo"}),
        ("how old is my granny?", {"Ilse"}),
        ("my grandparents", {"Ilse"}),
        ("what does my brother-in-law do?", {"Piet"}),
        ("what does my brother in law do?", {"Piet"}),
        ("did my ex-wife remarry?", {"Karen"}),
        ("did my ex wife remarry?", {"Karen"}),
        ("my step-dad", {"Joe"}),
        ("who's my godmother", {"Roz"}),
        ("are my roommates tidy?", {"Jo", "Al"}),
        ("does our neighbor have the keys?", {"Frau Lindqvist"}),
        ("call my landlord", {"Mr. Petrakis"}),
        ("who's my dentist?", {"Dr. Okafor"}),
        ("my new boss", {"Tom"}),
        ("my manager", {"Tom"}),
        ("Biscuit's vet, I mean my vet", {"Kay"}),
        ("my nephew", set()),
        ("my grandfather", set()),
    ],
)
def test_a_word_of_kinship_means_that_relative_and_no_other(family: Engine, question: str, names: set[str]) -> None:
    assert whom(family, question) == names


def test_relatives_of_relatives_are_followed(family: Engine) -> None:
    assert whom(family, "what does my sister's husband do?") == {"Ana", "Mark"}
    assert whom(family, "who is Ana's husband?") == {"Mark"}


def test_a_new_holder_takes_the_place_of_the_old_one(family: Engine) -> None:
    family.remember("My new dentist is Dr. Fuentes")
    family.remember("My boss is now Ravi")
    assert whom(family, "who is my dentist?") == {"Dr. Fuentes"}
    assert whom(family, "who is my boss?") == {"Ravi"}


def test_a_sibling_of_unknown_kind_may_be_the_sister_but_a_brother_never(engine: Engine) -> None:
    engine.remember_many(["My sibling Kim is 30", "My brother Ben is 31"])
    assert whom(engine, "how old is my sister?") == {"Kim"}


def test_the_relatives_of_the_owners_name_are_the_owners(engine: Engine) -> None:
    engine.remember_many(["The user's name is Derek Kowalczyk.", "Derek Kowalczyk's mother Joan lives in Lima"])
    assert whom(engine, "where does my mother live?") == {"Joan"}


def test_every_word_of_the_table_can_be_asked_for() -> None:
    assert RELATIVES.keys() >= ROLE_OF.keys()
    assert {"sisters-in-law", "children", "nannies", "coaches", "aunts"} <= RELATIVES.keys()
