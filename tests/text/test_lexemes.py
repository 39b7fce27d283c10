from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fivefold.text import lexemes as module
from fivefold.text.lexemes import lexemes, stop_words

JOINTS = "aZé9 '’-_./\\@:+#&~=?%,\"\x00后かก🎉\u0301\u200b\u2009\n"
anything = st.text(st.characters(exclude_categories=())) | st.text(JOINTS)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("meetings", "meeting"),
        ("running", "runs"),
        ("calibrated", "calibrate"),
        ("Calibration", "calibrations"),
        ("KETTLE", "kettle"),
    ],
)
def test_forms_of_one_word_share_a_lexeme(one: str, other: str) -> None:
    assert lexemes(one) == lexemes(other) != []


@pytest.mark.parametrize(
    ("one", "other"), [("badge", "bridge"), ("Leeds", "Lead"), ("v2", "v3"), ("E-47821", "E-47822")]
)
def test_different_words_keep_apart(one: str, other: str) -> None:
    assert lexemes(one) != lexemes(other)


@pytest.mark.parametrize("text", ["the and of I", "I'd", "I’d", "I'D", "don't", "It’s what we've", "The the's"])
def test_stop_words_leave_nothing(text: str) -> None:
    assert lexemes(text) == []


def test_an_id_is_no_stop_word_though_i_d_is() -> None:
    assert lexemes("I'd lost my ID") == ["lost", "id"]
    assert lexemes("id") == ["id"]


def test_no_stop_word_becomes_a_lexeme() -> None:
    assert [word for word in stop_words() if lexemes(word)] == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("JIRA-9921", ["jira-9921", "jira", "9921"]),
        ("E-47821", ["e-47821", "e", "47821"]),
        ("retry_backoff_ms", ["retry_backoff_ms", "retri", "backoff", "ms"]),
        ("sam.osei@larkfield.example", ["sam.osei@larkfield.example", "sam", "osei", "larkfield", "exampl"]),
        (
            "/srv/kestrel/calibration/v3.toml",
            ["srv/kestrel/calibration/v3.toml", "srv", "kestrel", "calibr", "v3", "toml"],
        ),
        ("2.14.0-rc3", ["2.14.0-rc3", "2", "14", "0", "rc3"]),
        ("retryBackoffMs", ["retrybackoffms", "retri", "backoff", "ms"]),
        ("parseHTTPResponse", ["parsehttpresponse", "pars", "http", "respons"]),
        ("AT&T", ["at&t", "t"]),
        ("std::vector", ["std::vector", "std", "vector"]),
    ],
)
def test_identifiers_stay_whole_and_give_their_parts(text: str, expected: list[str]) -> None:
    assert lexemes(text) == expected


@pytest.mark.parametrize("text", ["E-47821.", "(E-47821)", '"E-47821"', "E-47821, then", "E-47821's"])
def test_punctuation_around_an_identifier_is_no_part_of_it(text: str) -> None:
    assert "e-47821" in lexemes(text)


@pytest.mark.parametrize(("text", "part"), [("__init__", "init"), ("_important_", "import"), ("_private", "privat")])
def test_underscores_around_a_word_do_not_hide_it(text: str, part: str) -> None:
    assert part in lexemes(text)


@pytest.mark.parametrize("text", ["Maya's", "Maya’s", "MAYA'S", "Maya", "maya"])
def test_possessives_are_the_word_itself(text: str) -> None:
    assert lexemes(text) == ["maya"]


@pytest.mark.parametrize("text", ["O'Brien", "O’Brien", "o'brien", "OBrien", "O'Brien's"])
def test_a_name_with_an_apostrophe_is_found_however_it_is_written(text: str) -> None:
    assert lexemes(text)[0] == "obrien"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("45,000", ["45000"]),
        ("1,234,567", ["1234567"]),
        ("45\u202f000", ["45000"]),
        ("45000", ["45000"]),
        ("1,23", ["1", "23"]),
        ("rows 4, 500 times", ["row", "4", "500", "time"]),
    ],
)
def test_digit_groups_are_one_number(text: str, expected: list[str]) -> None:
    assert lexemes(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("咖啡", ["咖", "啡", "咖啡"]),
        ("東京タワ", ["東", "京", "タ", "ワ", "東京", "京タ", "タワ"]),
        ("한국어", ["한", "국", "어", "한국", "국어"]),
        ("后", ["后"]),
    ],
)
def test_unspaced_scripts_give_characters_and_pairs(text: str, expected: list[str]) -> None:
    assert lexemes(text) == expected


def test_latin_words_end_where_an_unspaced_script_begins() -> None:
    assert lexemes("gen-itgc后") == ["gen-itgc", "gen", "itgc", "后"]
    assert lexemes("后itgc") == ["后", "itgc"]


@pytest.mark.parametrize(
    ("plain", "accented"), [("zurich", "Zürich"), ("cafe", "cafés"), ("naive", "naïve"), ("istanbul", "İstanbul")]
)
def test_a_word_without_accents_finds_the_one_with(plain: str, accented: str) -> None:
    assert set(lexemes(plain)) <= set(lexemes(accented))


def test_composed_and_decomposed_accents_are_the_same() -> None:
    assert lexemes("Zu\u0308rich") == lexemes("Z\u00fcrich") == ["zürich", "zurich"]


@pytest.mark.parametrize(
    ("one", "other"), [("ﬁne", "fine"), ("１２３", "123"), ("Ｋｅｔｔｌｅ", "kettle"), ("STRASSE", "straße")]
)
def test_letters_that_only_look_different_are_the_same(one: str, other: str) -> None:
    assert lexemes(one)[0] == lexemes(other)[0]


@pytest.mark.parametrize("word", ["हिन्दी", "தமிழ்", "বাংলা"])
def test_vowel_signs_belong_to_their_word(word: str) -> None:
    assert word in lexemes(f"x {word} y")


def test_emoji_are_words() -> None:
    assert lexemes("🎉 party🎂!") == ["🎉", "parti", "🎂"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("kettle AND garden", ["kettl", "garden"]),
        ("kettle OR NOT garden", ["kettl", "garden"]),
        ("NEAR(kettle garden, 5)", ["near", "kettl", "garden", "5"]),
        ('"kettle garden"', ["kettl", "garden"]),
        ("kettl* ^garden", ["kettl", "garden"]),
        ("{content predicate} : kettle", ["content", "predic", "kettl"]),
        ("kettle -garden +boat", ["kettl", "garden", "boat"]),
    ],
)
def test_search_operators_are_plain_words(text: str, expected: list[str]) -> None:
    assert lexemes(text) == expected


@pytest.mark.parametrize("text", ["", " \t\n", "…—!?", "_", "'", "\u200b", "\x00"])
def test_text_without_words_has_no_lexemes(text: str) -> None:
    assert lexemes(text) == []


def test_lexemes_of_very_long_words_are_bounded() -> None:
    assert max(map(len, lexemes(f"{'x' * 5000} {'ab-' * 3000}c"))) <= 64


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece", ["x1", "aB3.", "a_", "A ", "@", "Bob-", "1,000", "a'", "aB", "é.", "中", "中a", "\u0301", "_", "ﷺ"]
)
def test_a_text_that_repeats_itself_is_read_in_one_pass(piece: str) -> None:
    found = lexemes(f"kettle {piece * (100_000 // len(piece))} boat")
    assert (found[0], found[-1]) == ("kettl", "boat")


def test_only_short_tokens_are_remembered() -> None:
    lexemes("kettle")
    held = module._known_split.cache_info().currsize
    assert lexemes(f"{'long-' * 7}token 这是一段没有空格的文字") == lexemes(
        f"{'long-' * 7}token 这是一段没有空格的文字"
    )
    assert module._known_split.cache_info().currsize == held


def test_words_come_in_reading_order_and_as_often_as_they_stand() -> None:
    assert lexemes("kettle boat kettle") == ["kettl", "boat", "kettl"]


def test_threads_stem_alike() -> None:
    words = [
        f"{stem}{end}" for stem in ("calibrat", "measur", "relocat", "visit") for end in ("ing", "ed", "es", "ion")
    ]
    texts = [f"{word} thread{i}ing" for i in range(50) for word in words]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lexemes, texts))
    assert together == [lexemes(text) for text in texts]


@settings(deadline=None)
@given(anything)
def test_any_text_gives_clean_lexemes(text: str) -> None:
    for lexeme in lexemes(text):
        assert lexeme
        assert not re.search(r'[\s"\x00]', lexeme)


@settings(deadline=None)
@given(anything)
def test_the_same_text_gives_the_same_lexemes(text: str) -> None:
    assert lexemes(text) == lexemes(str(text.encode("utf-32", "surrogatepass"), "utf-32", "surrogatepass"))


@settings(deadline=None)
@given(anything, anything)
def test_words_between_spaces_are_read_apart(one: str, other: str) -> None:
    assert lexemes(f"{one} {other}") == [*lexemes(one), *lexemes(other)]


@settings(deadline=None)
@given(st.text("abcdefghijklmnopqrstuvwxyz0123456789"))
def test_a_word_in_small_letters_finds_it_in_capitals(word: str) -> None:
    assert set(lexemes(word)) <= set(lexemes(word.upper()))
