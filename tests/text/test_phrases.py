from __future__ import annotations

import pytest

from fivefold.text.lexemes import lower_case, phrase

DEMANDS = ("fivefold.retrieval.understand", "data/demands.txt")


def test_a_section_matches_whole_words_of_any_of_its_lines() -> None:
    pattern = phrase(*DEMANDS, "some")
    assert [match[0] for match in pattern.finditer("a few, 12 or seventeen, two")] == ["few", "12", "two"]


def test_a_section_may_use_those_before_it() -> None:
    assert phrase(*DEMANDS, "talk just now").search("what did i just say")
    assert not phrase(*DEMANDS, "talk just now").search("what did she just say")


def test_an_unknown_section_is_an_error() -> None:
    with pytest.raises(KeyError, match="nothing"):
        phrase(*DEMANDS, "nothing")


@pytest.mark.parametrize("text", ["What’s UP", "İstanbul", "Straße", "ΑΣ", ""])
def test_lower_case_keeps_each_character_in_its_place(text: str) -> None:
    assert len(lower_case(text)) == len(text)
    assert "’" not in lower_case("What’s")
