from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fivefold.text.languages import LANGUAGES, STEM, everyday, gloss, lexicon
from fivefold.text.stemmers import stem


@pytest.mark.parametrize(
    ("language", "text", "english"),
    [
        ("de", "Wo wohne ich?", "where live I?"),
        ("de", "Was kostet die Autoversicherung?", "what cost the car insurance?"),
        ("es", "¿Cuándo tengo cita con el dentista?", "when have appointment with the dentist?"),
        ("es", "cuando tengo cita con el medico", "when have appointment with the doctor"),
        ("fr", "Où est-ce que j'habite ?", "where I live?"),
        ("fr", "Quel âge a ma grand-mère ?", "how old has my grandmother?"),
        ("it", "Dov'è la mia chiave?", "where is my key?"),
        ("pt", "Quem é o nosso médico de família?", "who is our family doctor?"),
    ],
)
def test_a_question_in_english_words(language: str, text: str, english: str) -> None:
    assert gloss(text, language).text == english


def test_words_of_other_forms_are_found_by_their_stem() -> None:
    assert "viviremos" not in lexicon("es").forms
    assert gloss("¿Dónde viviremos?", "es").text == "where live?"


def test_names_and_identifiers_stay() -> None:
    assert gloss("¿Dónde vive Rosa en 2026?", "es").text == "where live Rosa in 2026?"
    assert gloss("Wo ist Frau König?", "de", names=["König"]).text == "where is wife König?"
    assert gloss("Was ist mit AB-123 passiert?", "de").text == "what is with AB-123 happen?"


def test_each_gloss_has_the_place_it_comes_from() -> None:
    text = "Quel est le numéro de téléphone de ma sœur ?"
    found = {piece.english: text[piece.start : piece.end] for piece in gloss(text, "fr").pieces}
    assert found["phone number"] == "numéro de téléphone"
    assert found["sister"] == "sœur"


def test_a_word_may_have_further_meanings_to_search_for() -> None:
    found = gloss("Wo ist meine Wohnung?", "de")
    assert found.text == "where is my flat?"
    assert "apartment" in found.further


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_has_the_everyday_words(language: str) -> None:
    glosses = {english for form in lexicon(language).forms.values() for english in form}
    assert {"live", "sister", "doctor", "allergic", "breakfast", "rent", "birthday", "work", "phone", "move"} <= glosses


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_everyday_word_is_also_known_by_its_stem(language: str) -> None:
    """The stems are made by `training.glosses.train`, which runs again when the everyday words change."""
    known = lexicon(language)
    words = [form for form, english in everyday(language) if " " not in form and english != ("",)]
    assert [form for form in words if f"{STEM}{stem(language, form)}" not in known.forms] == []


def test_words_that_were_learned_are_known() -> None:
    assert gloss("Wo ist die Hexe?", "de").text == "where is the witch?"


@given(st.text(), st.sampled_from(LANGUAGES))
def test_any_text_has_a_gloss_whose_places_lie_in_it(text: str, language: str) -> None:
    pieces = gloss(text, language).pieces
    assert all(0 <= piece.start < piece.end <= len(text) for piece in pieces)
    assert [piece.start for piece in pieces] == sorted(piece.start for piece in pieces)
