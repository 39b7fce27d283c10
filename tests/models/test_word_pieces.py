"""Our own word pieces against those of the package `tokenizers`: the same ids and spans for any text."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from fivefold.models.bert import MAX_CACHED_WORDS, WordPieces, word_pieces
from fivefold.text.lexemes import empty_text_caches


@pytest.fixture(scope="module", params=["bert-uncased-vocab.txt", "reader-vocab.txt"])
def both(request: pytest.FixtureRequest) -> tuple[WordPieces, Tokenizer]:
    pieces = word_pieces(request.param)
    theirs = Tokenizer(models.WordPiece(dict(pieces.vocabulary), unk_token="[UNK]", max_input_chars_per_word=100))
    theirs.normalizer = normalizers.BertNormalizer(lowercase=True)
    theirs.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return pieces, theirs


ODD = [
    "",
    " \t\r\n\u2028\xa0",
    "[CLS] ##ing [UNK] don't",
    "Crème brûlée à l’école, ÅNGSTRÖM İstanbul ΣΊΣΥΦΟΣ Ǆ ŉ ﬁ ẞ",
    "e\u0301a\u0308o \u0301 x\u0327\u0301y",
    "東京タワーへ行く。豈更 𠀀 ㄱ한국어 ก็ हिन्दी עִבְרִית العَرَبِيَّة",
    "a\x00b\x07c\x85d\ufffde\u200bf\u00adg\ufeffh\x1ci",
    "€5 £3 +1 <b>x^2</b> `~| \u037e \u1fef \u166d \U000111c9",
    "👩‍👩‍👧 🇵🇹 1️⃣ \U0001f9a9",
    "x" * 100 + " " + "x" * 101,
    "\u1dfb\u08d3a \ud7ff \U00010ffff",
]


@pytest.mark.parametrize("text", ODD)
def test_odd_texts_have_the_same_pieces(both: tuple[WordPieces, Tokenizer], text: str) -> None:
    pieces, theirs = both
    found = theirs.encode(text, add_special_tokens=False)
    assert pieces.ids(text) == found.ids
    assert pieces.spans(text) == found.offsets


@pytest.mark.slow
@settings(deadline=None, max_examples=500)
@given(text=st.text(st.characters(exclude_categories=["Cs", "Cn"]), max_size=60) | st.text(max_size=60))
def test_any_text_has_the_same_ids(both: tuple[WordPieces, Tokenizer], text: str) -> None:
    pieces, theirs = both
    text = text.encode(errors="ignore").decode()
    found = theirs.encode(text, add_special_tokens=False)
    assert pieces.ids(text) == found.ids
    assert len(pieces.spans(text)) == len(found.ids)


@pytest.mark.slow
def test_every_character_has_the_same_ids(both: tuple[WordPieces, Tokenizer]) -> None:
    pieces, theirs = both
    texts = [f"a{chr(code)}b" for code in range(0x110000) if not 0xD800 <= code < 0xE000][:0x32000]
    found = theirs.encode_batch(texts, add_special_tokens=False)
    assert [text for text, other in zip(texts, found, strict=True) if pieces.ids(text) != other.ids] == []


def test_words_are_cached_no_longer_than_allowed() -> None:
    pieces = word_pieces()
    for number in range(MAX_CACHED_WORDS + 10):
        pieces.ids(f"w{number}")
    assert 0 < len(pieces._words) <= MAX_CACHED_WORDS
    empty_text_caches()
    assert not pieces._words, "no word stays of a memory that was forgotten"
