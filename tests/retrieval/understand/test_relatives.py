from __future__ import annotations

import pytest

from fivefold.engine import Engine
from fivefold.retrieval.understand.entities import RELATIVES
from fivefold.text.names import ROLE_OF


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
