"""A question becomes demands: what the answer must be besides alike (`values/query.py`)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from fivefold.retrieval.understand.foreign import foreign_demands
from fivefold.retrieval.understand.windows import Time
from fivefold.retrieval.understand.words import phrases, subject_words
from fivefold.text.patterns import lower_case
from fivefold.values.query import Demand, DemandKind, Window

_ABOUT: dict[DemandKind, str] = {
    "current": "what holds now",
    "past": "what held before",
    "first": "the earliest that answers",
    "last": "the latest that answers",
    "next": "the nearest ahead that answers",
    "just now": "the turns of the running conversation",
    "last time": "the turns of the conversation before",
    "list": "everything that answers",
    "count": "everything that answers, to be counted",
    "negation": "what is not so, or not wanted",
    "suggestion": "tastes and dislikes that matter to an advice",
    "request": "an instruction or preference that applies",
}


_SENTENCE = re.compile(r"[^\s.!?][^.!?\n]*[.!?]*")


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question in lower case, the time it names, and whether it wants an advice."""

    text: str
    time: Time | None
    advises: bool

    def find(self, name: str) -> re.Match[str] | None:
        """The first phrase of that section in the question."""
        return phrases(name).search(self.text)


def find_demands(question: str, time: Time | None = None, language: str | None = None) -> tuple[Demand, ...]:
    """Every demand of the question, those of its conversation and time first."""
    if language is not None:
        return tuple(_of_foreign(question, time, language))
    text = lower_case(question)
    advises = bool(phrases("suggestion").search(text)) and not phrases("suggested").search(text)
    asked = _Asked(text, time, advises)
    talk = list(_of_conversation(asked))
    if talk and talk[0].decides:
        return (talk[0],)
    timed = (*talk, *_of_window(asked, question))
    ordered = () if talk else tuple(_of_order(asked))
    return (*timed, *ordered, *_of_completeness(asked), *_of_state(asked, {item.kind for item in (*timed, *ordered)}))


def _made(kind: DemandKind, match: re.Match[str] | None, decides: bool = False) -> Demand:
    text, start = (match[0].strip(), match.start()) if match else ("", 0)
    return Demand(kind, text, start, decides, _ABOUT[kind])


def _of_conversation(asked: _Asked) -> Iterator[Demand]:
    """The turns of this conversation, or of the one before it."""
    match = asked.find("last time")
    if match:
        yield _made("last time", match, decides=True)
        return
    match = asked.find("bare last time")
    if match and not subject_words(asked.text):
        yield _made("last time", match, decides=True)
        return
    match = asked.find("talk just now")
    if match and not (asked.time and _is_day_before(asked.time.window)):
        yield _made("just now", match, decides=True)
        return
    match = asked.find("just now")
    if match and asked.text[match.end() :].strip(" ?"):
        yield _made("just now", match)


def _is_day_before(window: Window) -> bool:
    """Whether the time is one of its own, as in 'what were we talking about on Monday'."""
    return not re.match(r"(?:today|tonight|this)\b", window.text.casefold())


def _of_window(asked: _Asked, question: str) -> Iterator[Demand]:
    """A time; it decides where nothing else is asked about."""
    if asked.time is None:
        return
    narrowed = asked.advises or asked.find("negation") or asked.find("exactly when")
    yield _window(question, asked.time.window, decides=asked.time.alone and not narrowed)


def _window(question: str, window: Window, decides: bool) -> Demand:
    about = f"{'only ' if decides else ''}what belongs to {window.text!r}"
    return Demand("window", window.text, max(0, question.find(window.text)), decides, about)


def _of_order(asked: _Asked) -> Iterator[Demand]:
    """The first, the last or the next of what answers."""
    orders: tuple[DemandKind, ...] = ("first", "last", "next")
    for kind in orders:
        match = asked.find(kind)
        if match and not _within_window(asked, match) and not (kind == "next" and asked.advises):
            yield _made(kind, match)


def _within_window(asked: _Asked, match: re.Match[str]) -> bool:
    """Whether the words belong to the time: 'the first week of June' is no first week."""
    for part in asked.time.window.text.casefold().split(" … ") if asked.time else ():
        start = asked.text.find(part)
        if 0 <= start < match.end() and match.start() < start + len(part):
            return True
    return False


def _of_completeness(asked: _Asked) -> Iterator[Demand]:
    count = asked.find("count")
    if count:
        yield _made("count", count)
    match = asked.find("list")
    if match and not count and not asked.advises:
        yield _made("list", match)
    match = asked.find("negation")
    if match:
        yield _made("negation", match)
    if asked.advises:
        yield _made("suggestion", asked.find("suggestion"))
    yield from _of_request(asked.text)


def _of_request(text: str) -> Iterator[Demand]:
    """What the user wants done, by the first sentence that asks for it and not for what was said or done before."""
    for sentence in _SENTENCE.finditer(text):
        match = phrases("request").search(sentence[0])
        if match and not phrases("look back").search(sentence[0]):
            yield replace(_made("request", match), start=sentence.start() + match.start())
            return


def _of_state(asked: _Asked, kinds: set[DemandKind]) -> Iterator[Demand]:
    """What holds now or what held: by words that say so, else by the tense."""
    past, now = _past_words(asked), asked.find("now")
    if past and not now:
        yield _made("past", past)
        return
    if now:
        yield _made("current", now, decides=not past)
        return
    if asked.find("past tense"):
        match = asked.find("past state") or ("window" in kinds and asked.find("past role")) or None
        if match and not kinds & {"first", "last", "just now"}:
            yield _made("past", match)
        return
    if "window" in kinds or asked.advises:
        return
    if asked.find("present") or asked.find("label"):
        yield _made("current", None)


def _past_words(asked: _Asked) -> re.Match[str] | None:
    was = asked.find("past tense") or not asked.find("present")
    return asked.find("past") or asked.find("old" if was else "old and asked")


def _of_foreign(question: str, time: Time | None, language: str) -> Iterator[Demand]:
    """As far as the tables of another language reach."""
    if time is not None:
        yield _window(question, time.window, decides=time.alone)
    for kind, match in foreign_demands(question, language):
        if match or time is None:
            yield _made(kind, match)
