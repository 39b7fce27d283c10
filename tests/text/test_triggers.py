from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fivefold import sample
from fivefold.text import names
from fivefold.text.lexemes import Pattern, words_of
from fivefold.text.time_grammar.questions import asked
from fivefold.text.time_grammar.stored import told
from tests.support.date_cases import CASES
from tests.support.type_cases import TYPE_CASES
from tests.text.test_time_of_questions import GOLDEN, MEANT

LABELLED = [*CASES, *(row[0] for row in (*GOLDEN, *MEANT)), *(text for texts in TYPE_CASES.values() for text in texts)]
SPLIT = re.compile(r"(?<=[.!?])\s+|\n+")


def patterns_of(module: ModuleType) -> Iterator[tuple[str, Pattern]]:
    for name, value in vars(module).items():
        if isinstance(value, Pattern):
            yield f"{module.__name__.rpartition('.')[2]}.{name}", value


MODULES = (names, *map(import_module, ("fivefold.writing.extract", "fivefold.writing.extract.statements")))
PATTERNS = dict(pair for module in MODULES for pair in patterns_of(module))
PATTERNS |= {f"told.{read.__name__}.{number}": pattern for number, (pattern, read) in enumerate(told.rows)}
PATTERNS |= {f"asked.{read.__name__}.{number}": pattern for number, (pattern, read) in enumerate(asked.rows)}
TEXTS = [item["content"] for item in sample.memories()] + [question.query for question in sample.questions()]
SENTENCES = list(dict.fromkeys(sentence for text in TEXTS for sentence in (*SPLIT.split(text), text)))
WRITTEN = [
    "I live in Leeds",
    "I’m living in Leeds",
    "I'm 34.",
    "I turned 35",
    "I joined Larkfield",
    "I'd rather not",
    "I’d rather walk",
    "We can’t stand it",
    "My go-to is tea",
    "Not a fan: I'm not a fan",
    "He'll visit on Monday",
    "next week",
    "3 days ago",
    "in a week",
    "for two weeks",
    "the day before yesterday",
    "this morning",
    "May 3rd",
    "3rd of May, 2024",
    "2024-02-29",
    "Step 3",
    "to reset it all, hold it",
    "STEPS: one",
    "Priya is my boss",
    "Daniel’s desk is 12",
    "x = 5",
    "New PIN: 4",
    "my rent went from 1 to 2",
    "set the port to 81",
    "i prefer tea",
    "I PREFER TEA",
    "MOVED to Leeds",
    "years old",
    "call me Al",
    "On Tuesday",
    "Sept 5",
    "Launches tomorrow",
    "",
    "٣ May",
    "auguſt 5",
    "last year",
    "on sunday",
    "Sam has moved to Leeds",
    "The user's desk",
    "You’re 34",
    "I'd say my usual",
    "a while ago",
    "the coming week",
]


def everything(matches: Iterator[re.Match[str]]) -> list[tuple[tuple[int, int], tuple[str | None, ...]]]:
    return [(match.span(), match.groups()) for match in matches]


def assert_same(pattern: Pattern, text: str) -> None:
    bare = pattern.bare
    assert everything(pattern.finditer(text)) == everything(bare.finditer(text)), text
    one, other = pattern.search(text), bare.search(text)
    assert (one and one.span()) == (other and other.span()), text
    assert pattern.sub("<>", text) == bare.sub("<>", text), text
    assert pattern.occurs(text) is (other is not None), text


def test_types_statements_and_dates_have_patterns() -> None:
    assert {name.partition(".")[0] for name in PATTERNS} >= {"extract", "statements", "told", "asked"}
    assert len(SENTENCES) > 500


@pytest.mark.slow
@pytest.mark.parametrize("name", PATTERNS)
def test_a_pattern_finds_what_its_bare_expression_finds(name: str) -> None:
    for text in (*SENTENCES, *WRITTEN, *LABELLED):
        assert_same(PATTERNS[name], text)


@pytest.mark.parametrize("name", PATTERNS)
def test_every_pattern_finds_something(name: str) -> None:
    assert any(PATTERNS[name].search(text) for text in (*SENTENCES, *WRITTEN, *LABELLED))


WORDS = sorted({word for text in WRITTEN for word in text.split(" ")})


@settings(deadline=None, max_examples=300)
@given(st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join))
def test_patterns_find_the_same_in_words_thrown_together(text: str) -> None:
    for pattern in PATTERNS.values():
        assert_same(pattern, text)


def test_without_a_trigger_nothing_is_tried() -> None:
    pattern = Pattern("kettle", "boat")
    assert pattern.search("a boat") is None
    assert list(pattern.finditer("a boat")) == []
    assert pattern.sub("x", "a boat") == "a boat"
    assert pattern.search("Kettle on the boat") is not None


def test_a_pattern_is_tried_in_texts_that_were_read_before_it_was_made() -> None:
    assert Pattern("harbour", "boat").search("a boat in the port") is None
    assert Pattern("port", "boat").search("a boat in the port") is not None


@pytest.mark.parametrize("text", ["2024-05", "at 12/05/2024.", "1.5 of 12345", "v1.2-3", "a1/b2", "123", "٣-٤ ٢٠٢٤"])
def test_digits_are_joined_by_signs(text: str) -> None:
    """Written another way: a sign after a digit and before one, or a fourth digit."""
    signs = re.findall(r"(?<=\d)[-/.](?=\d)|(?<=\d\d\d)\d", text)
    expected = {"####" if sign.isdigit() else f"#{sign}#" for sign in signs}
    assert {word for word in words_of(text) if len(word) > 1 and "#" in word} == expected


@pytest.mark.parametrize(
    ("trigger", "text", "tried"),
    [
        ("#", "row 5", True),
        ("#", "row", False),
        ("#-#", "2024-05", True),
        ("#-#", "2024 - 05", False),
        ("=", "a=b", True),
    ],
)
def test_signs_are_triggers_too(trigger: str, text: str, tried: bool) -> None:
    assert (Pattern(trigger, "").search(text) is not None) is tried
