"""Words: BM25 with the namespace's own statistics, to the order that FTS5 gives, on texts that are hard to rank."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fivefold.engine import Engine
from fivefold.stores.interface import Store
from fivefold.text.lexemes import lexemes

from .compare import session_names
from .fixtures import StoreFixtures
from .searches import Ranking, words
from .store_pair import StorePair
from .strategies import SENTENCES, WORDS, examined

ROUNDING = 1e-9
"""How much of a score two ways to add it up may differ by."""

HARD = (
    "tea",
    "tea tea",
    "tea " * 50,
    "tea coffee",
    "coffee tea milk " * 20,
    "milk",
    "the and of",
    "¿?",
    "…",
    "a",
    "TEA Tea",
    "E-47821",
    "E-47821 E-47821 badge",
    "E 47821",
    "47821",
    "retry_backoff_ms",
    "retry backoff ms",
    "retryBackoffMs",
    "src/net/client.rs",
    "src net client rs",
    "sam@larkfield.example",
    "larkfield",
    "v2.3.1",
    "2.3.1",
    "C++ and C#",
    "http://a.example/x?y=1&z=%20#top",
    "C:\\temp\\new",
    "1,200 euros",
    "1200",
    "東京",
    "東京都 京都",
    "京",
    "茶茶茶",
    "서울에서",
    "ชาเขียว",
    "🎉",
    "🎉🎉🎉 tea",
    "👩‍👩‍👧",
    "café",
    "cafe",
    "Cafe\u0301",
    "CAFÉ",
    "straße",
    "strasse",
    "ﬁve",
    "five",
    "İstanbul",
    "istanbul",
    "running",
    "ran runs run",
    "university universe",
    "AND OR NOT NEAR",
    "rank",
    "content",
    'say "no" (or) {yes} ^maybe*',
    "o'clock don't Sarah's",
    "x" * 64,
    "x" * 65,
    "x" * 500,
    "word " * 2_000,
    "½ ² №",
)

QUESTIONS = (
    "tea",
    "tea coffee milk",
    "E-47821",
    "47821 badge",
    "retry_backoff_ms",
    "src/net/client.rs",
    "v2.3.1",
    "東京",
    "京都",
    "茶",
    "🎉 tea",
    "café",
    "strasse",
    "five",
    "istanbul",
    "run",
    "universal",
    "AND OR NOT",
    'NEAR("tea" milk)',
    "C++",
    "x" * 64,
    "word",
    "http://a.example/x?y=1&z=%20#top",
    "C:\\temp\\new",
    "1200",
    "¿?",
    "the of",
    "sam@larkfield.example",
    "no such thing",
    "tea tea tea",
    "content predicate rank",
    "o'clock",
    " ".join(SENTENCES),
    " ".join(f"w{i}" for i in range(400)),
)


class LexicalLaws(StoreFixtures):
    """The words' scores are compared far closer than a recall's need to be."""

    def test_hard_texts_are_ranked_as_fts5_ranks_them(self, pair: StorePair) -> None:
        pair.remember(*({"content": text, "id": f"h{i:02}"} for i, text in enumerate(HARD)))
        _ranked_alike(pair, QUESTIONS)

    def test_predicates_weigh_four_times_as_much(self, pair: StorePair) -> None:
        pair.remember(
            {"content": "tea", "id": "a"},
            {"content": "milk", "predicate": "tea", "id": "b"},
            {"content": "tea tea tea tea", "id": "c"},
            {"content": "tea milk", "predicate": "tea milk", "id": "d"},
            {"content": "sugar", "id": "e"},
            {"content": "salt", "id": "f"},
            {"content": "oil", "id": "g"},
        )
        _ranked_alike(pair, ["tea", "milk tea", "tea sugar salt"])
        _ranked_alike(pair, ["tea", "milk tea", "tea sugar salt"], multiplied=True)

    def test_R4_a_predicate_multiplies_the_score_by_four(self, pair: StorePair) -> None:
        pair.remember(
            {"content": "lamp shade", "predicate": "badge", "id": "predicate"},
            {"content": "badge lamp shade", "id": "content"},
            {"content": "badge badge lamp", "id": "twice"},
            *({"content": f"lamp number {i}", "id": f"other{i}"} for i in range(6)),
        )
        found = dict(words(pair.tested, "badge", multiplied=True))
        assert found["predicate"] == pytest.approx(4 * found["content"], rel=1e-12)
        counted = dict(words(pair.tested, "badge"))
        assert counted["content"] < counted["predicate"] < 2 * counted["content"]
        assert (found["content"], found["twice"]) == (counted["content"], counted["twice"])

    def test_a_word_of_nearly_every_memory_still_counts_a_little(self, pair: StorePair) -> None:
        """An inverse frequency below zero is floored, so that no word ever speaks against a memory."""
        pair.remember(*({"content": f"tea {'milk ' * i}", "id": f"t{i}"} for i in range(8)))
        _ranked_alike(pair, ["tea", "milk", "tea milk"])
        assert all(score > 0 for _, score in words(pair.tested, "tea"))

    def test_sessions_are_a_corpus_of_their_own(self, pair: StorePair) -> None:
        pair.remember(
            *({"content": text, "session_id": f"s{i % 3}", "id": f"t{i:02}"} for i, text in enumerate(SENTENCES))
        )
        pair.remember(*({"content": text, "id": f"n{i:02}"} for i, text in enumerate(WORDS)))
        _ranked_alike(pair, ["tea", "Sarah", "E-47821", "東京"], sessions=True)
        _ranked_alike(pair, ["tea", "Sarah", "E-47821", "東京"])

    def test_statistics_follow_every_change(self, pair: StorePair) -> None:
        pair.remember(*({"content": text, "id": f"h{i:02}", "session_id": "s"} for i, text in enumerate(HARD[:30])))
        for id in ("h03", "h07", "h11"):
            pair.both(partial(Engine.forget, id=id))
            _ranked_alike(pair, QUESTIONS[:8])
        pair.both(lambda engine: engine.update("h01", content="milk and sugar in E-47821"))
        pair.both(lambda engine: engine.update("h02", tags=["tea", "coffee"], task_tag="badge"))
        pair.both(lambda engine: engine.supersede("h04", {"content": "no milk at all", "id": "new"}))
        _ranked_alike(pair, QUESTIONS[:8])
        _ranked_alike(pair, QUESTIONS[:8], sessions=True)

    def test_lists_are_cut_at_their_depth(self, pair: StorePair) -> None:
        chance = random.Random(5)
        pair.remember(
            *({"content": " ".join(chance.choices(WORDS, k=chance.randint(1, 9))), "id": f"c{i:02}"} for i in range(60))
        )
        for depth in (1, 2, 5, 20):
            _ranked_alike(pair, ["tea", "Sarah Tom", "running coffee barn roof"], depth=depth)

    @examined
    @given(texts=st.lists(st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join), min_size=1, max_size=12))
    def test_random_words_are_ranked_as_fts5_ranks_them(self, store: Store, reference: Store, texts: list[str]) -> None:
        pair = StorePair(store, reference)
        pair.remember(*({"content": f"{text}.", "id": f"w{i:02}"} for i, text in enumerate(texts)))
        _ranked_alike(pair, [" ".join(WORDS[i::5]) for i in range(5)])

    def test_the_latest_memories_with_a_word_are_the_same(self, pair: StorePair) -> None:
        pair.remember(*({"content": f"{text} {i}", "id": f"l{i:02}"} for i, text in enumerate(HARD)))

        def latest(engine: Engine) -> list[list[str]]:
            reader = engine.store.reader(engine.namespace)
            batches = [reader.search.latest_with(lexemes(text), 4) for text in QUESTIONS[:12]]
            return [[reader.memories.fetch(rows)[row].id for row in rows] for rows in batches]

        pair.both(latest)

    def test_the_vocabulary_and_its_part_behind_a_prefix_are_the_same(self, pair: StorePair) -> None:
        pair.remember(*({"content": text, "id": f"v{i:02}"} for i, text in enumerate(HARD)))

        def words(engine: Engine) -> list[list[str]]:
            search = engine.store.reader(engine.namespace).search
            return [search.vocabulary(40, prefix) for prefix in ("", "s", "wa", "é", "%", "zzz")]

        whole, *_ = pair.both(words)
        some = pair.both(lambda engine: engine.store.reader(engine.namespace).search.vocabulary(9_999, whole[0][0]))
        every = pair.both(lambda engine: engine.store.reader(engine.namespace).search.vocabulary(9_999))
        assert some == [word for word in every if word.startswith(whole[0][0])]


def _ranked_alike(
    pair: StorePair, questions: Sequence[str], sessions: bool = False, depth: int = 100, multiplied: bool = False
) -> None:
    for question in questions:
        expected, actual = (
            _ranked(engine, question, depth, sessions, multiplied) for engine in (pair.reference, pair.tested)
        )
        assert [score for _, score in actual] == pytest.approx([score for _, score in expected], rel=ROUNDING), question
        assert _settled(actual, expected) == [id for id, _ in expected], question


def _ranked(engine: Engine, question: str, depth: int, sessions: bool, multiplied: bool) -> Ranking:
    names = session_names(engine)
    found = words(engine, question, depth, sessions=sessions, multiplied=multiplied)
    return [(names.get(id, id), score) for id, score in found]


def _settled(actual: Ranking, expected: Ranking) -> list[str]:
    """The ids found, those that only rounding tells apart in the order expected."""
    place = {id: number for number, (id, _) in enumerate(expected)}
    groups: list[list[str]] = []
    last = math.inf
    for id, score in actual:
        if not math.isclose(score, last, rel_tol=ROUNDING):
            groups.append([])
        groups[-1].append(id)
        last = score
    return [id for group in groups for id in sorted(group, key=lambda id: place.get(id, len(place)))]
