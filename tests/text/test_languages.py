from __future__ import annotations

import json
from importlib import resources

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fivefold.text.languages import LANGUAGES, language_of


@pytest.mark.parametrize(
    ("language", "question"),
    [
        ("de", "Wo wohnt meine Schwester?"),
        ("de", "Was kostet die Autoversicherung?"),
        ("de", "wann ist mein termin beim zahnarzt"),
        ("es", "¿Cuándo es el cumpleaños de mi madre?"),
        ("es", "donde vivo"),
        ("fr", "Où est-ce que j'ai mis les clés ?"),
        ("fr", "Quel est mon numéro de téléphone ?"),
        ("it", "Come si chiama il mio medico?"),
        ("it", "Dove abito?"),
        ("pt", "Qual é o nome da minha professora?"),
        ("pt", "Onde trabalho agora?"),
    ],
)
def test_a_short_question_is_recognised(language: str, question: str) -> None:
    assert language_of(question) == language


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no idea",
        "Die Hard",
        "who was in the war",
        "What about El Niño de la Torre?",
        "Was I at La Casa de Papel with Jean de la Croix?",
        "a, b, c, d or e?",
        "Home isn't a place, it's a feeling.",
        "café menu",
        "per diem rates for Los Angeles",
        "où",
        "今日は何をしましたか",
        "Hvor bor jeg?",
    ],
)
def test_english_and_what_is_not_known_stay_as_they_are(text: str) -> None:
    assert language_of(text) is None


def test_no_english_text_of_the_sample_is_taken_for_another_language() -> None:
    for name, field in (("questions.jsonl", "query"), ("memories.jsonl", "content")):
        lines = resources.files("fivefold.sample").joinpath(name).read_text("utf-8").splitlines()
        texts = [str(json.loads(line)[field]) for line in lines]
        assert [text for text in texts if language_of(text)] == []


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    assert language_of(text) in (None, *LANGUAGES)
