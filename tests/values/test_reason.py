"""One short reason for each hit: the words that met, the time, or the route that brought it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fivefold.values.excerpt import short_reason
from fivefold.values.recall_trace import Candidate, Evidence, PassageMatch, WordMatch
from tests.support.stage_pool import of


def candidate(*routes: str, words: tuple[WordMatch, ...] = ()) -> Candidate:
    evidence = tuple(Evidence(route, 1, 1.0, 1.0, 1.0 - place / 10, "") for place, route in enumerate(routes))
    return replace(of(1), evidence=evidence, passage=PassageMatch(1.0, 0, 1, 0, 10, words))


def word(asked: str, said: str, similarity: float, start: int = 0) -> WordMatch:
    return WordMatch(asked, said, similarity, start, start + len(said))


@pytest.mark.parametrize(
    ("words", "routes", "reason"),
    [
        ((word("my", "My", 0.9), word("badge", "badge", 0.9), word("ID", "ID", 0.9)), ("dense",), "says “badge”, “ID”"),
        ((word("Freja", "Freja", 0.6),), ("late",), "says “Freja”"),
        ((word("eat", "food", 0.6), word("cat", "Miso", 0.55)), ("late",), "“food” is near “eat”"),
        ((word("time", "clock", 0.8),), ("late",), "“clock” is near “time”"),
        ((word("tell", "told", 0.8),), ("late",), "says “told”"),
        ((word("go", "goes", 0.6),), ("late",), "says “goes”"),
        ((word("cat", "category", 0.6),), ("late",), "“category” is near “cat”"),
        ((word("medicine", "I", 0.6),), ("late",), "is close in meaning"),
        ((word("eat", "food", 0.6),), ("late", "window"), "is from that time"),
        ((word("race", "race", 0.9),), ("late", "window"), "says “race”; is from that time"),
        ((word("eat", "user", 0.9, start=-1),), ("dense",), "is close in meaning"),
        (tuple(word(w, w, 0.9) for w in ("one", "two", "three", "four", "One")), (), "says “one”, “two”, “three”"),
        ((), ("lexical", "dense"), "has the same words"),
        ((), ("graph",), "is linked to whom or what is asked about"),
        ((), ("recency", "vec_full"), "is recent"),
        ((), ("vec_full",), "is close in meaning"),
        ((), (), "is close in meaning"),
    ],
)
def test_a_reason_says_what_brought_it(words: tuple[WordMatch, ...], routes: tuple[str, ...], reason: str) -> None:
    assert short_reason(candidate(*routes, words=words)) == reason
