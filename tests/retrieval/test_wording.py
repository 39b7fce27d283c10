"""Which questions have several parts, what these are, and that other questions are left whole."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fivefold
from fivefold.engine import Engine
from fivefold.retrieval.understand.question import MAX_PART, MAX_PARTS, question_parts
from fivefold.retrieval.understand.wording import Rewording, mend
from fivefold.text.lexemes import lexemes
from fivefold.text.names import Change
from fivefold.values.query import EntityRef
from tests.support.toy_engine import toy

# The user by name, in the first person.


@pytest.fixture
def marit(engine: Engine) -> Engine:
    engine.remember_many(
        [
            {"content": "Hello, I'm Marit Solheim, 41, and I build gardens in Bergen", "speaker": "user"},
            {"content": "Marit Dahl lives below me and is allergic to cats", "speaker": "user"},
            {"content": "Tom came by with the ladder", "speaker": "user"},
        ]
    )
    return engine


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("Where does Marit live?", "Where do I live?"),
        ("what is Marit Solheim's dentist called", "what is my dentist called"),
        ("Who is Marit married to?", "Who am I married to?"),
        ("Where's Marit working now?", "Where am I working now?"),
        ("what marit likes to eat", "what I like to eat"),
        ("Is there anything Marit doesn't eat?", "Is there anything I don't eat?"),
        ("Has Marit's knee healed?", "Has my knee healed?"),
        ("Which bike is Marit's?", "Which bike is mine?"),
        ("Where does Marit keep her bike?", "Where do I keep my bike?"),
        ("Does Marit's sister still live with her?", "Does my sister still live with me?"),
        ("Who gave Marit the ring?", "Who gave me the ring?"),
        ("What should I know about Marit?", ""),
        ("Marit shoe size", "My shoe size"),
        ("What did Marit say to Tom about his ladder?", "What did I say to Tom about his ladder?"),
        ("What is Marit Dahl allergic to?", ""),
        ("What does my neighbour Marit do?", ""),
        ("What does Tom do?", ""),
    ],
)
def test_a_question_that_names_the_user_is_read_in_the_first_person(marit: Engine, asked: str, meant: str) -> None:
    query = marit.understand(asked)
    assert query.reading == meant
    assert not meant or all(ref.name != "Marit Solheim" for ref in query.entities)


def test_a_pronoun_may_mean_the_user(marit: Engine) -> None:
    query = marit.understand("Where does she live?", history=["Tell me something about Marit"])
    assert query.reading == "Where do I live?"


def test_a_name_of_greetings_is_the_users_from_the_second_on(engine: Engine) -> None:
    engine.remember("Hi Priya, shall we start?", speaker="assistant")
    assert engine.understand("Where does Priya live?").reading == ""
    engine.remember("Please shorten this. Thanks, Priya", speaker="user")
    assert engine.understand("Where does Priya live?").reading == "Where do I live?"


# Typing errors that are mended, and words that stay as they are.


@pytest.fixture
def home(engine: Engine) -> Engine:
    engine.remember_many(
        [
            "The password of the wifi is Kormoran-77",
            "The electricity meter has the number 4711",
            "Ledbetter Steel pays 2.10 a mile",
            "We fly to Amsterdam on Saturday",
            "Szczecin has a lovely harbour",
            "The gate code of the garden is 5150",
            "Dr. Sørensen is my family doctor",
            "Pavel repairs our boiler, and my wife likes him",
            "The delivery address is Elm Road 4",
        ]
    )
    return engine


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("whats teh wfi pasword", "whats the wifi password"),
        ("elctricity meter nubmer", "electricity meter number"),
        ("wat is the gaet code of the gardn", "what is the gate code of the garden"),
        ("when do we fly to amstredam", "when do we fly to amsterdam"),
        ("what is szczezin like", "what is szczecin like"),
        ("who is my famly docter", "who is my family doctor"),
        ("wat does led better pay", "what does Ledbetter Steel pay"),
        ("delivry adress", "delivery address"),
        ("what about saterday", "what about saturday"),
        ("the wifipassword", "the wifi password"),
        ("is Amsterdm far", "is Amsterdam far"),
    ],
)
def test_typing_errors_are_mended(home: Engine, typed: str, meant: str) -> None:
    query = home.understand(typed)
    assert query.reading == meant
    assert query.to_read == meant
    assert any("read as" in line for line in query.describe())


@pytest.mark.parametrize(
    "question",
    [
        "what is the wifi password?",
        "where is the babysitter from",
        "who is our realtor",
        "does the parser handle JSONL",
        "what about Zebediah",
        "where is order AMSTREDAM-7",
        'what does "pasword" mean',
        "mail pasword@example.org please",
        "the file pasword.txt",
        "what is 4711",
        "paediatrician for Pavel",
    ],
)
def test_what_is_right_or_no_word_stays(home: Engine, question: str) -> None:
    assert home.understand(question).reading == ""


def test_the_mended_words_are_searched_with_those_that_were_typed(home: Engine) -> None:
    words = home.understand("elctricity nubmer").lexemes
    assert {"electr", "number", "nubmer"} <= set(words)


def test_a_mended_question_finds_its_memory(home: Engine) -> None:
    answer = home.recall("elctricity metre nubmer", k=1, recipe="lexical")
    assert "4711" in answer.hits[0].memory.content


def test_names_and_demands_stand_where_they_were_typed(home: Engine) -> None:
    query = home.understand("wehn do we fly to amstredam now")
    assert [(ref.text, ref.name) for ref in query.entities] == [("amstredam", "Amsterdam")]
    assert all(query.text[item.start : item.start + len(item.text)] == item.text for item in query.demands)
    assert {item.text for item in query.demands} == {"now"}


def test_places_of_a_mended_text_are_found_again() -> None:
    mended = Rewording("the wifi password now", (Change(0, 3, "the"), Change(4, 7, "wifi"), Change(8, 15, "password")))
    assert mended.origin(4, 8) == (4, 7)
    assert mended.origin(9, 17) == (8, 15)
    assert mended.origin(18, 21) == (16, 19)
    assert mended.origin(4, 17) == (4, 15)


def test_a_word_that_was_forgotten_is_not_guessed(engine: Engine) -> None:
    engine.remember("Szczecin has a lovely harbour", id="harbour")
    assert engine.understand("what is szczezin like").reading == "what is szczecin like"
    engine.forget("harbour")
    assert engine.understand("what is szczezin like").reading == ""


@pytest.mark.slow
@pytest.mark.timeout(60)
@pytest.mark.parametrize("piece", ['born " ', "`week; ", "“;’x-x ", "'tis ", "«a ", 'Ana "tea" \''])
def test_a_long_text_with_many_quotation_marks_is_read_in_linear_time(piece: str, home: Engine) -> None:
    """Ten times the longest question: what grows with the square of the length does not come to an end."""
    text = piece * (1_000_000 // len(piece))
    assert mend(text, [EntityRef("Ana", 0, ())], home._namespace.reader).text == text


MEMORIES = (
    "I live in a small flat in Leipzig.",
    "My sister Clara is a vet.",
    "The dentist appointment is on 12 March.",
    "I used to play the cello.",
    "The rent is 940 euros.",
)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Wo wohne ich?", "Leipzig"),
        ("¿En qué trabaja mi hermana?", "Clara"),
        ("Quand est mon rendez-vous chez le dentiste ?", "12 March"),
        ("Quale strumento suonavo?", "cello"),
        ("Quanto pagamos de renda?", "940"),
    ],
)
def test_a_question_in_another_language_finds_an_english_memory(tmp_path: Path, question: str, answer: str) -> None:
    with fivefold.open(tmp_path / "memories.db") as memory:
        memory.remember_many([{"content": text} for text in MEMORIES])
        assert answer in memory.recall(question, 1).hits[0].memory.content


def test_the_reading_is_shown_and_searched(tmp_path: Path) -> None:
    with fivefold.open(tmp_path / "memories.db") as memory:
        query = memory.understand("Wann ist mein Termin beim Zahnarzt?")
    assert query.reading == "when is my appointment at dentist?"
    assert {"dentist", "appoint", "zahnarzt"} <= set(query.lexemes)
    assert query.intent == "when"
    assert any("read as 'when is my appointment at dentist?'" in line for line in query.describe())


def test_cues_of_the_reading_stand_at_their_words_in_the_question(tmp_path: Path) -> None:
    with fivefold.open(tmp_path / "memories.db") as memory:
        query = memory.understand("Perché dormo male?")
    assert [(cue.value, cue.text, cue.start) for cue in query.cues] == [("why", "Perché", 0)]


def test_a_relative_is_found_by_the_reading(tmp_path: Path) -> None:
    with fivefold.open(tmp_path / "memories.db") as memory:
        memory.remember("My sister is called Clara.")
        english = memory.understand("Where does my sister live?")
        query = memory.understand("Wo wohnt meine Schwester?")
    assert [ref.name for ref in query.entities] == [ref.name for ref in english.entities]
    assert all(ref.text in query.text for ref in query.entities)


def test_an_english_question_has_no_reading(tmp_path: Path) -> None:
    with fivefold.open(tmp_path / "memories.db") as memory:
        assert memory.understand("Where do I live?").reading == ""


@pytest.mark.parametrize(
    ("question", "reading"),
    [
        ("Wer repariert unsere Heizung?", "who repair our heating?"),
        ("¿Dónde está la contraseña?", "where is the password?"),
    ],
)
def test_words_of_another_language_are_no_typing_errors(tmp_path: Path, question: str, reading: str) -> None:
    with fivefold.open(tmp_path / "memories.db") as memory:
        memory.remember("The heater is repaired by Wero, the contrast is fine.")
        assert memory.understand(question).reading == reading


FOREIGN = {
    "Mein Bruder ist Bäcker in Graz.": "What is my brother's job?",
    "Mi marido odia las setas.": "Which food does my husband hate?",
    "Mon passeport expire en novembre.": "When do I need to renew my passport?",
    "La chiave di riserva è sotto il vaso.": "Where is the spare key?",
    "Parei de fumar há três anos.": "When did I give up smoking?",
}


@pytest.mark.parametrize(("content", "question"), FOREIGN.items())
def test_an_english_question_finds_a_memory_in_another_language(tmp_path: Path, content: str, question: str) -> None:
    with fivefold.open(tmp_path / "memories.db") as memory:
        memory.remember_many([{"content": text} for text in (*FOREIGN, *MEMORIES)])
        hit = memory.recall(question, 1).hits[0]
        assert hit.memory.content == content
        words = hit.passage.words if hit.passage else ()
        assert all(content[word.start : word.end] == word.memory for word in words if word.start >= 0)


PARTS = {
    # order
    "Which happened first, the trip to Oslo or the marathon?": ("the trip to Oslo", "the marathon"),
    "Did I buy the tent or the kayak first?": ("buy the tent", "buy the kayak"),
    "which came first the flood or the move": ("the flood", "the move"),
    "Which came first? The wedding or the move?": ("The wedding", "the move"),
    "What did I do first, buy the tent or sell the kayak?": ("buy the tent", "sell the kayak"),
    "Which did I visit first, Oslo or Bergen?": ("visit Oslo", "visit Bergen"),
    "Who arrived first, Tom or Anna?": ("Tom", "Anna"),
    "Did the wedding or the move happen first?": ("the wedding", "the move"),
    "Did Tom or Anna arrive first?": ("Tom arrive", "Anna arrive"),
    "Was the wedding or the move first?": ("the wedding", "the move"),
    "Did I visit Oslo or Bergen first?": ("visit Oslo", "visit Bergen"),
    "did i eat pizza or pasta first": ("eat pizza", "eat pasta"),
    "Did I buy the tent first or the kayak?": ("buy the tent", "buy the kayak"),
    "Did Tom buy the tent or the kayak first?": ("Tom buy the tent", "Tom buy the kayak"),
    "I bought a lot this year. Which did I buy first, the drill or the saw?": ("buy the drill", "buy the saw"),
    "Can you tell me which happened first, the flood or the fire?": ("the flood", "the fire"),
    "In what order did I visit Oslo, Rome and Bath?": ("visit Oslo", "visit Rome", "visit Bath"),
    "In which order did the wedding, the move and the exam happen?": ("the wedding", "the move", "the exam"),
    "What is the order of the wedding, the move and the exam?": ("the wedding", "the move", "the exam"),
    "What was the order in which I bought the tent, the kayak and the stove, from first to last?": (
        "bought the tent",
        "bought the kayak",
        "bought the stove",
    ),
    # comparison
    "Which is older, my bike or my car?": ("my bike", "my car"),
    "Do I spend more on rent or food?": ("spend on rent", "spend on food"),
    "Did I like the film more than the book?": ("like the film", "like the book"),
    "Is the bike more expensive than the kayak?": ("the bike", "the kayak"),
    "Is my brother taller than my sister?": ("my brother", "my sister"),
    "Did I spend more on rent than on food?": ("spend on rent", "spend on food"),
    "How much more did the bike cost than the helmet?": ("the bike cost", "the helmet"),
    "How much older is my brother than my sister?": ("my brother", "my sister"),
    "Which was more expensive, the flight or the hotel, and by how much?": ("the flight", "the hotel"),
    "What did I spend on the flights and the hotel in total?": ("spend on the flights", "spend on the hotel"),
    "What's the difference in price between the red sofa and the blue sofa?": ("the red sofa", "the blue sofa"),
    # the time between
    "How many days passed between my dentist appointment and the concert?": ("my dentist appointment", "the concert"),
    "How long before the launch did I hire Tom?": ("the launch", "I hire Tom"),
    "How many weeks after the wedding was the move?": ("the wedding", "the move"),
    "How long after I moved to Bergen did I meet Tom?": ("I moved to Bergen", "I meet Tom"),
    "How long did I live in Oslo before I moved to Bergen?": ("I live in Oslo", "I moved to Bergen"),
    "How long had I been learning Spanish when I moved to Madrid?": ("I been learning Spanish", "I moved to Madrid"),
    "How many months passed from the offer to the first day at Acme?": ("the offer", "the first day at Acme"),
    "How much time passed between when I ordered the sofa and when it arrived?": ("I ordered the sofa", "it arrived"),
    "How old was Tom when Anna was born?": ("Tom", "Anna was born"),
    "How many days were there between the day I sowed the peas and the day I picked the first one?": (
        "the day I sowed the peas",
        "the day I picked the first one",
    ),
    # behind a colon
    "What is the order of the three events: the wedding, the move and the exam?": (
        "the wedding",
        "the move",
        "the exam",
    ),
    "Put these in order: the wedding, the trip with Tom and Anna, and the exam": (
        "the wedding",
        "the trip with Tom and Anna",
        "the exam",
    ),
    "The wedding, the move and the exam: in what order did they happen?": ("The wedding", "the move", "the exam"),
    "Which of these did I finish last - the novel, the essay or the thesis?": ("the novel", "the essay", "the thesis"),
    "Order these from first to last: 1) the flood, 2) the fire, 3) the move": ("the flood", "the fire", "the move"),
    "Which trip was longer: Oslo, Rome, Bath, Ghent, Porto or Lyon?": ("Oslo", "Rome", "Bath", "Ghent", "Porto"),
    # a sum
    "What is the total I spent on the bike and the helmet?": ("spent on the bike", "spent on the helmet"),
    "How much did I spend on the bike and the helmet in total?": ("spend on the bike", "spend on the helmet"),
    "In total, how much did I spend on the bike, the helmet and the gloves?": (
        "spend on the bike",
        "spend on the helmet",
        "spend on the gloves",
    ),
    "How much did the bike and the helmet cost together?": ("the bike cost", "the helmet cost"),
    "How many books and films did I finish in total?": ("books I finish", "films I finish"),
    "What is the total cost of the tent and the stove?": ("the tent", "the stove"),
    "What is the combined weight of the bike and the trailer?": ("the bike", "the trailer"),
    # two questions
    "What colour is my car and where did I park it?": ("What colour is my car", "where did I park it"),
    "Tell me where I live and what my cat is called": ("where I live", "what my cat is called"),
    "Who called and what did they want?": ("Who called", "what did they want"),
    "What is my landlord called? And how much is the rent?": ("What is my landlord called", "how much is the rent"),
    "When is the concert, and who is coming with me?": ("When is the concert", "who is coming with me"),
    "What did the vet say about Luna and how much did the visit cost?": (
        "What did the vet say about Luna",
        "how much did the visit cost",
    ),
    "Where did I buy the sofa but who delivered it?": ("Where did I buy the sofa", "who delivered it"),
}

WHOLE = (
    "",
    "?",
    "and",
    "Where do I keep the salt and pepper?",
    "Which bed and breakfast did we stay at?",
    "Do I like rock and roll?",
    "Who sang with Tom and Jerry's band?",
    "What did Tom and Anna give me?",
    "What did I buy at the market and the bakery?",
    "What do my mother and my sister have in common?",
    "Did I lock the door and turn off the oven?",
    "How many years did Tom and Anna live in Rome?",
    "How much did I spend on fish and chips in total?",
    "What is my total at Miller and Sons?",
    "What is the total?",
    "Which order did I place for salt and pepper?",
    "how much older am I than my brother",
    "Did I read more than three books?",
    "Did it take longer than a week?",
    "Did I sleep longer than last night?",
    "Is it colder than usual?",
    "Did I visit any city other than Oslo?",
    "What happened between Christmas and New Year?",
    "How many runs did I do between May and July?",
    "What did I do between Monday and Friday?",
    "How many days are there between now and then?",
    "How old was I when I moved to Oslo?",
    "How long after the wedding?",
    "How long did the trip take?",
    "How long have I lived here?",
    "What did I say before the wedding?",
    "Did I take the pills before breakfast?",
    "When I got home, where did I put the keys?",
    "How and why did I leave Oslo?",
    "Do you know who called and when?",
    "what and when?",
    "What's the name of the book I bought and which Tom lost?",
    "How much is the rent? Do you know?",
    "Is it tea or coffee?",
    "Should I take the bus or the train?",
    "Which seat do I prefer, window or aisle?",
    "Recommend a film for Anna and me",
    "What time is it: 9:30?",
    "Where do I live?",
    "Who did I meet first?",
    "Which doctor did I see last?",
    "What is the first name of my boss?",
    "How many books have I read?",
)


@pytest.mark.parametrize(("question", "parts"), PARTS.items())
def test_what_a_question_puts_side_by_side_is_searched_one_by_one(question: str, parts: tuple[str, ...]) -> None:
    assert question_parts(question) == parts


@pytest.mark.parametrize("question", WHOLE)
def test_other_questions_have_one_part(question: str) -> None:
    assert question_parts(question) == ()


def test_of_a_long_text_the_question_at_its_end_is_read() -> None:
    story = "We went up the hill and down again. " * 3_000
    assert question_parts(f"{story}Which came first, the hill or the lake?") == ("the hill", "the lake")


def test_a_part_that_is_too_long_gives_none() -> None:
    assert question_parts(f"Which came first, the {'very ' * 50}long trip or the move?") == ()


WORDS = "which how long many days between before did I the wedding Oslo first or and than more total : , ? what".split()


@settings(deadline=None)
@given(st.text() | st.lists(st.sampled_from(WORDS), max_size=60).map(" ".join))
def test_any_question_has_no_part_or_a_few_that_name_something(question: str) -> None:
    parts = question_parts(question)
    assert parts == question_parts(question)
    assert len(parts) != 1
    assert len(parts) <= MAX_PARTS
    assert all(len(part) <= MAX_PART and lexemes(part) for part in parts)


@pytest.mark.parametrize(
    "part", ["a and b or ", "which first, ", "how long before a did ", "between a and ", "total and ", "a: ", "? ", "x"]
)
def test_very_long_questions_are_read(part: str) -> None:
    assert len(question_parts(part * (100_000 // len(part)))) <= MAX_PARTS


def test_the_query_names_its_parts(tmp_path: Path) -> None:
    with toy(str(tmp_path / "m.db")) as mem:
        query = mem.understand("Which happened first, the flood or the fire?")
        assert query.parts == ("the flood", "the fire")
        assert "  searched in parts: 'the flood', 'the fire'" in query.describe()
        assert query.to_dict()["parts"] == ["the flood", "the fire"]
        assert mem.understand("Where is the fire?").parts == ()


def test_questions_in_other_languages_are_left_whole(tmp_path: Path) -> None:
    with toy(str(tmp_path / "m.db")) as mem:
        query = mem.understand("Was war zuerst, der Umzug or die Hochzeit? Wann habe ich das gesagt?")
        assert query.parts == ()
