"""What is shown of a text: nothing is lost or moved by marking words, and a cut text shows where words met."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fivefold.values.excerpt import LONG, excerpt, mark_question, mark_words, marked_line, marked_passage, shown_span
from fivefold.values.recall_trace import PassageMatch, WordMatch
from fivefold.values.validate import shorten

FILLER = "The path goes up to the vineyard and down again. "


def word_at(text: str, word: str, similarity: float = 0.8, question: str = "q") -> WordMatch:
    start = text.index(word)
    return WordMatch(question, word, similarity, start, start + len(word))


def match(text: str, *words: WordMatch, start: int = 0, end: int | None = None, parts: int = 1) -> PassageMatch:
    return PassageMatch(0.7, min(1, parts - 1), parts, start, len(text) if end is None else end, words)


@st.composite
def words_of_texts(draw: st.DrawFn) -> tuple[str, list[WordMatch]]:
    text = draw(st.text(st.sampled_from("ab \n<>&…"), max_size=120))
    spans = draw(st.lists(st.tuples(st.integers(-1, 130), st.integers(-1, 130)), max_size=6))
    return text, [WordMatch("q", "m", 0.2 * i, *sorted(span)) for i, span in enumerate(spans)]


@given(words_of_texts())
def test_marking_loses_nothing_and_spans_may_overlap(given: tuple[str, list[WordMatch]]) -> None:
    text, words = given
    segments = mark_words(text, words)
    assert "".join(segment.text for segment in segments) == text
    for word in words:
        inside = 0 <= word.start < word.end <= len(text)
        marked = "".join(segment.text for segment in segments if word in segment.words)
        assert marked == (text[word.start : word.end] if inside else "")
    for segment in segments:
        nearest = max((word.similarity for word in segment.words), default=None)
        assert segment.strength == (0 if nearest is None else 3 if nearest >= 0.7 else 2 if nearest >= 0.5 else 1)


@given(words_of_texts(), st.integers(4, 60))
def test_a_line_is_one_line_and_no_longer_than_asked_for(given: tuple[str, list[WordMatch]], length: int) -> None:
    text, words = given
    line = excerpt(text, match(text, *words), length)
    assert "\n" not in line
    assert len(line) <= length
    if len(text) <= length:
        assert excerpt(text, None, length) == shorten(text, length)


def test_a_short_text_is_shown_whole() -> None:
    text = "I take\nmy tea without milk"
    assert excerpt(text, None, 100) == "I take my tea without milk"
    assert [part.text for part in marked_passage(text, match(text, word_at(text, "tea")))] == [
        "I take\nmy ",
        "tea",
        " without milk",
    ]


def test_a_cut_goes_to_where_words_met() -> None:
    text = FILLER * 10 + "I am allergic to penicillin. " + FILLER * 10
    found = match(text, word_at(text, "allergic"), word_at(text, "penicillin"))
    line = excerpt(text, found, 80)
    assert line.startswith("…")
    assert line.endswith("…")
    assert "I am allergic to penicillin" in line
    marked = [part.text for part in marked_line(text, found, 80) if part.words]
    assert marked == ["allergic", "penicillin"]


def test_the_nearest_words_are_shown_where_not_all_can_be() -> None:
    text = "tea " + FILLER * 10 + "coffee and cake " + FILLER
    found = match(text, word_at(text, "tea", 0.4), word_at(text, "coffee", 0.5), word_at(text, "cake", 0.5))
    assert "coffee and cake" in excerpt(text, found, 60)
    found = match(text, word_at(text, "tea", 0.9), word_at(text, "coffee", 0.4))
    assert excerpt(text, found, 60).startswith("tea The path")


def test_of_a_long_text_the_passage_that_matched_is_shown() -> None:
    text = FILLER * 30 + "\n\nSecond: I am allergic\nto penicillin.\n\n" + FILLER * 30
    start, end = text.index("Second"), text.index("penicillin.") + len("penicillin.")
    found = match(text, word_at(text, "allergic"), start=start, end=end, parts=3)
    shown = [part.text for part in marked_passage(text, found)]
    assert shown == ["… ", "Second: I am ", "allergic", "\nto penicillin.", " …"]
    assert excerpt(text, found, 60).startswith("…Second: I am allergic to penicillin.")


def test_of_a_long_text_that_was_not_compared_the_beginning_is_shown() -> None:
    text = FILLER * 100
    start, end = shown_span(text, None)
    assert start == 0
    assert 0 < end < LONG < len(text)
    assert [part.text for part in marked_passage(text, None)][-1] == " …"


def test_words_of_the_question_are_marked_wherever_they_stand() -> None:
    words = [WordMatch("live", "moved", 0.6), WordMatch("town", "city", 0.7), WordMatch("I", "I", 0.7)]
    question = "In which town do I live, or did I live before I came to relive it?"
    marked = mark_question(question, words)
    assert [part.text for part in marked if part.words] == ["town", "live", "live"]
    assert "".join(part.text for part in marked) == question
