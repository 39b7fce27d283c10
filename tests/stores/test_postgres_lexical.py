"""BM25 in SQL leaves documents out that cannot be among the best: what it leaves out never is."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from fivefold.engine import Engine
from fivefold.stores.postgres import lexical
from fivefold.text.lexemes import lexemes
from fivefold.values.filters import Filter
from tests.support.own_database import opened
from tests.support.postgres import Server

pytestmark = pytest.mark.postgres

DOCUMENTS = 600
VOCABULARY = [f"{start}{end}{number}" for start in "bdfgkmr" for end in "aeiou" for number in range(8)]
WEIGHTS = [1 / (database + 1) for database in range(len(VOCABULARY))]
"""Few words in most documents and most words in few, as in any language."""


@pytest.fixture(scope="module")
def engine(postgres: Server) -> Iterator[Engine]:
    chance = random.Random(7)
    with opened(postgres.new_location()) as made:
        made.configure(find_changes=False, find_repeats=False)
        made.remember_many(
            {
                "content": " ".join(chance.choices(VOCABULARY, WEIGHTS, k=chance.randint(1, 40))),
                "predicate": " ".join(chance.choices(VOCABULARY, WEIGHTS, k=chance.randint(0, 3))) or None,
                "type": "event" if number % 20 == 0 else "fact",
            }
            for number in range(DOCUMENTS)
        )
        yield made


@pytest.mark.parametrize("few", [1, 10, 60])
@pytest.mark.parametrize("depth", [1, 7, 40])
def test_scoring_few_documents_finds_what_scoring_all_would(
    engine: Engine, few: int, depth: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance, reader = random.Random(depth), engine.store.reader("default")
    for _ in range(25):
        words = lexemes(" ".join(chance.choices(VOCABULARY, WEIGHTS, k=chance.randint(1, 14))))
        for keep in (Filter(), Filter(("event",))):
            monkeypatch.setattr(lexical, "FIRST_DOCUMENTS", 10 * DOCUMENTS * len(VOCABULARY))
            every = reader.search.lexical(words, depth, keep)
            monkeypatch.setattr(lexical, "FIRST_DOCUMENTS", few)
            assert reader.search.lexical(words, depth, keep) == every
