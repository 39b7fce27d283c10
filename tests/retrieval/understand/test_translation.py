from __future__ import annotations

from pathlib import Path

import pytest

import fivefold

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
