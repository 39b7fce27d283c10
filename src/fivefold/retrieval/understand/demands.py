"""A question becomes demands: what the answer must be besides alike (`values/query.py`)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, tzinfo
from typing import Literal

from fivefold.retrieval.understand.wording import foreign_demands, foreign_time, has_subject
from fivefold.settings import Settings
from fivefold.stores.interface import Reader
from fivefold.text.calendar_words import MONTH_NAMES, NUMBERS, WEEKDAY_NAMES
from fivefold.text.lexemes import lexemes, lower_case, phrase, stop_words
from fivefold.text.time_grammar import EARLIEST, Reach, find_window
from fivefold.values.filters import Filter
from fivefold.values.memory import Session, Type
from fivefold.values.query import Cue, Demand, DemandKind, Window, Yesterday
from fivefold.values.times import to_micros

# What a question is about besides its time: the words left when those of asking and of time are taken away.

# Trigger words of a question: its intent (E1), the types of memory it implies (R2, R9), and how far to look.

INTENTS: dict[str, re.Pattern[str]] = {
    "why": re.compile(r"\b(?:why|because|reason|cause|led to|resulted in)\b", re.IGNORECASE),
    "when": re.compile(r"\b(?:when|date|time|before|after|during|timeline|history)\b", re.IGNORECASE),
    "who": re.compile(r"\b(?:who|person|people|team|built|created|wrote)\b", re.IGNORECASE),
    "how": re.compile(r"\b(?:how to|steps|procedure|process|workflow|debug|fix)\b", re.IGNORECASE),
}
"""The words of each intent; a question with none of them asks 'what'. The first that holds is the main one."""

TYPES: dict[Type, re.Pattern[str]] = {
    "preference": re.compile(
        r"\b(?:prefer(?:red|s|ences?)?|my default|settings?|configured?"
        r"|(?:do|did|would|does) (?:i|we|you|he|she|they|\w+) (?:\w+ )?(?:like|want|hate|love|enjoy)"
        r"|(?:i|we) (?:like|want|love|hate|enjoy)|can't stand|favou?rite)\b",
        re.IGNORECASE,
    ),
    "event": re.compile(r"\b(?:when did|at what time|happen(?:s|ed|ing)?|occurred|was it|did i)\b", re.IGNORECASE),
    "entity": re.compile(r"\b[Ww]ho(?: is|'s|’s)\b|\b[Ww]hat is [A-Z]\w+|\b[Tt]ell me about [A-Z]\w+"),
}
"""The trigger words of each type."""

PLAIN: dict[Type, re.Pattern[str]] = {"preference": re.compile(r"\b(?:like|want)\b", re.IGNORECASE)}
"""Triggers that stand in other sentences too, such as “what is it like”; they count if there is no other."""

_MANY_HOPS = re.compile(
    r"\bwho (?:does|do) .{2,60}? (?:work|know|live|report)\w* .{0,40}?\b(?:who|that|which)\b"
    r"|\w(?:'s|’s) \w+(?:'s|’s) \w+"
    r"|\bwhose .{2,40}? (?:is|are|was) .{2,40}?\b(?:'s|’s)|\bfriends? of (?:a |my |his |her )?friends?\b",
    re.IGNORECASE,
)
_RECENT = re.compile(r"\b(?:recent|latest|newest|most recent|last time|just now|these days|nowadays)\b", re.IGNORECASE)

CueKind = Literal["intent", "type", "many hops", "recent"]


def find_cues(question: str) -> tuple[Cue, ...]:
    """Every trigger of the question, with the words that triggered it; several may hold at once."""
    return tuple(_cues(question))


def main_intent(cues: tuple[Cue, ...]) -> str:
    return next((cue.value for cue in cues if cue.kind == "intent"), "what")


def implied_types(cues: tuple[Cue, ...]) -> tuple[Type, ...]:
    return tuple(name for name in TYPES if any(cue.kind == "type" and cue.value == name for cue in cues))


def is_plain(cues: tuple[Cue, ...], type: Type) -> bool:
    """True if the type is implied only by a word that stands in other sentences too."""
    return any(
        cue.kind == "type" and cue.value == type and type in PLAIN and PLAIN[type].fullmatch(cue.text) for cue in cues
    )


def _cues(question: str) -> Iterator[Cue]:
    tables: tuple[tuple[CueKind, dict[str, re.Pattern[str]]], ...] = (
        ("intent", INTENTS),
        ("type", {str(name): pattern for name, pattern in TYPES.items()}),
        ("many hops", {"3": _MANY_HOPS}),
        ("recent", {"recent": _RECENT}),
    )
    plain = {str(name): pattern for name, pattern in PLAIN.items()}
    for kind, table in tables:
        for value, pattern in table.items():
            match = pattern.search(question) or (plain[value].search(question) if value in plain else None)
            if match:
                yield Cue(kind, value, match[0], match.start())


# The phrases by which a question demands something, read from `data/demands.txt`.


def phrases(name: str) -> re.Pattern[str]:
    """The pattern of a section: any of its lines, as whole words of a lower-case text."""
    return phrase("fivefold.retrieval.understand", "data/demands.txt", name)


_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_ENDING = re.compile(r"['’](?:s|re|m|d|ve|ll)$")

_ASKING = """
did do does done doing happen happens happened happening plan plans planned planning scheduled schedule calendar
agenda diary going go gone went get got come comes coming came up on off say says said saying tell tells told telling
talk talks talked talking speak spoke discuss discussed mention mentioned chat chatted write wrote written note noted
notes record recorded know remember remind recall show give list summary summarise summarize recap find look see event
events thing things stuff anything something everything nothing appointment appointments date dates meeting meetings
new news else important special interesting big busy free like good have has had having gotta need needs be been being
was were is are am will would shall should can could may might please pls hey hi hello ok okay again exactly actually
really so far all whole entire every lot bit much many there what's whats who's whos when's whens where's wheres how's
hows im ive i'd id u ur me you us we n abt about ever yet spend spent make made take took keep order memory memories
conversation conversations session sessions lined still left todo due hold holds bring brings brought look looks looking
decide decided decision decisions agree agreed ask asked question questions answer answers message messages topic topics
store report reports reported arrange arranged arrangements wrong finish ahead
"""
"""Words that a question about a time and nothing else is made of."""

_TIME = """
day days night nights morning mornings afternoon evening evenings noon midnight week weeks weekend weekends month
months year years quarter season spring summer autumn fall winter today tonight yesterday tomorrow tmrw now recently
lately soon upcoming ahead ago before after since until till during between early late middle mid end start beginning
first last next this that past previous coming following final rest second third fourth time times date christmas
easter new eve other while later earlier back hour hours minute minutes lunchtime
"""

_EMPTY = frozenset((*_ASKING.split(), *_TIME.split(), *MONTH_NAMES, *WEEKDAY_NAMES, *NUMBERS))


def subject_words(question: str, time_text: str = "") -> list[str]:
    """The words of the question that name a subject, in lower case; those of `time_text` are none."""
    for part in time_text.split(" … "):
        question = question.replace(part, " ", 1) if part else question
    words = (_ENDING.sub("", match[0].casefold()) for match in _WORD.finditer(question))
    stop = stop_words()
    return [word for word in words if word not in _EMPTY and word not in stop and not word[0].isdigit()]


# The time a question asks about: past by preference, future where its words or its tense say so.

# Times that hang on an event: "since I joined", "before the wedding". The event is looked up in the store.

LOOKED_AT = 8
"""Memories with the words of the event that are looked at."""
AFTER_TIME = timedelta(days=90)
"""Time that "right after" and "after" an event cover."""

_EVENT = (
    "move|wedding|marriage|operation|surgery|birth|divorce|separation|break-?up|accident|trip|holiday|vacation|exam"
    "|funeral|party|interview|graduation|conference|flood|fire|injury|launch|migration|release|merger|retirement"
    "|diagnosis|burglary|renovation|course|treatment|concert|marathon|race|visit|festival|appointment|pregnancy"
    "|promotion|outage|incident|kick-?off|off-?site|retreat|workshop|summit|engagement|acquisition|restructuring|reorg"
    "|lay-?offs?|audit|crash|strike|storm|earthquake|lockdown|election|internship|sabbatical|reunion|baptism|adoption"
    "|handover|deployment|rollout|upgrade|presentation|hearing|trial"
)
_NO_VERB = "what|who|where|when|how|which|did|do|does|have|has|is|and|or|please"
_ANCHOR = re.compile(
    r"(?<!look )(?<!looks )(?<!looked )(?<!looking )(?<!named )(?<!takes )(?<!took )"
    r"\b(?P<word>ever since|since|after|before)\s+(?P<event>"
    rf"(?:the|my|our|his|her|their|\w+['’]s)\s+(?:[\w-]+\s+){{0,2}}?(?:{_EVENT})\b(?:\s+(?:to|in|of|with)\s+[\w-]+)?"
    r"|(?P<clause>(?:i|we|he|she|they|my\s+\w+|our\s+\w+|(?-i:[A-Z])\w+)\s+(?:had\s+|was\s+|were\s+|got\s+)?"
    rf"(?!(?:{_NO_VERB})\b)[a-z]\w+)(?:\s+[\w'’-]+){{0,4}}"
    r"|(?:moving|leaving|joining|starting|quitting|buying|selling|marrying|getting|becoming)(?:\s+[\w'’-]+){0,3})",
    re.IGNORECASE,
)
_END = re.compile(rf"\s+(?:{_NO_VERB}|was|were)\b.*", re.IGNORECASE)
_GENERIC = "company firm team job group organisation organization place office business staff here"
"""Words that stand for a name: a memory about "joining Nordwind" is meant by "since I joined the company"."""
_KNOWN = re.compile(
    r"\b(?:you(?:['’]ve|\s+have)?\s+known\s+me|we\s+(?:started|last)|i\s+last|time\s+we)\b", re.IGNORECASE
)


def anchored_window(question: str, now: datetime, reader: Reader) -> Window | None:
    """The time since, after or before an event that one memory clearly states; nothing if none does."""
    match = _ANCHOR.search(question)
    if match is None or _KNOWN.search(match[0]):
        return None
    clause = match["clause"] or ""
    event = clause + _END.sub("", match["event"][len(clause) :])
    words = lexemes(" ".join(subject_words(event)))
    generic = set(lexemes(_GENERIC))
    own = [word for word in words if word not in generic]
    day = _day_of(words, now, reader) or (_day_of(own, now, reader) if own != words else None)
    if day is None:
        return None
    text = question[match.start() : match.start("event") + len(event)]
    if match["word"].casefold() == "before":
        return Window(EARLIEST, day, text)
    end = min(now, day + AFTER_TIME) if match["word"].casefold() == "after" else now
    return Window(day, end, text) if day < end else None


def _day_of(words: Sequence[str], now: datetime, reader: Reader) -> datetime | None:
    """The day of the event: a day that the memory names, else the day it was said; the earliest that states it."""
    if not words:
        return None
    hits = reader.search.lexical(words, LOOKED_AT, Filter())
    memories = reader.memories.fetch([hit.row for hit in hits])
    stated = [item for item in memories.values() if item.event_at <= now and set(words) <= set(lexemes(item.content))]
    if not stated:
        return None
    first = min(stated, key=lambda item: (item.event_at, item.row))
    times = reader.memories.named_times([first.row]).get(first.row, ())
    return times[0][0] if len(times) == 1 and times[0][0] <= now else first.event_at


# The running conversation and the one before it, by the log of sessions.

MAX_PAUSE = timedelta(minutes=30)
"""After such a silence a conversation is over, and the next question begins another one."""


@dataclass(frozen=True, slots=True)
class Conversations:
    """The session that still runs at a time, if one does, and the one before it."""

    running: Session | None
    last: Session | None


def conversations(reader: Reader, now: datetime, session_id: str | None = None) -> Conversations:
    """The sessions by that time; the running one is the caller's, or one that ended a short while before."""
    sessions = reader.sessions.before(now, 2)
    if session_id is None and sessions and now - sessions[0].ended_at < MAX_PAUSE:
        session_id = sessions[0].id
    running = next((session for session in sessions if session.id == session_id), None)
    last = next((session for session in sessions if session.id != session_id), None)
    return Conversations(running, last)


def last_talk(reader: Reader, now: datetime, session_id: str | None = None) -> datetime | None:
    """The end of the last conversation before the running one (R8)."""
    last = conversations(reader, now, session_id).last
    return last.ended_at if last else None


_SINCE_LAST = re.compile(r"\bsince\b.{0,20}\blast\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Time:
    """The time of a question, and whether the question is about nothing else."""

    window: Window
    alone: bool = False


@dataclass(frozen=True, slots=True)
class Clock:
    """The time and zone of the question, its conversation, and the meaning of "yesterday" there."""

    now: datetime
    zone: tzinfo
    session_id: str | None = None
    yesterday: Yesterday = "day"

    @property
    def is_rolling(self) -> bool:
        """True if yesterday and last week end now (R8)."""
        return self.yesterday == "24 hours"


def time_of(question: str, language: str | None, clock: Clock, reader: Reader, settings: Settings) -> Time | None:
    """The one time the question asks about, if any."""
    now, zone = clock.now, clock.zone
    if language is not None:
        return _foreign(question, language, clock, settings)
    talk = last_talk(reader, now, clock.session_id) if _SINCE_LAST.search(question) else None
    reach = reach_of(question)
    window = find_window(question, now, zone, settings, talk, reach, clock.is_rolling)
    if window is not None:
        alone = not subject_words(question, window.text)
        today = now.astimezone(zone).replace(hour=0, minute=0, second=0, microsecond=0)
        if reach == "ahead" and window.start < today < window.end:  # what of this week is still to come
            window = replace(window, start=today)
        if clock.is_rolling and window.text.casefold() == "yesterday":
            window = replace(window, start=now - timedelta(days=1), end=now)
        return Time(window, alone)
    window = anchored_window(question, now, reader)
    return Time(window) if window else None  # a guess, which decides nothing


def reach_of(question: str) -> Reach:
    """Ahead if the question speaks of the future and not of the past."""
    text = lower_case(question)
    if phrases("still ahead").search(text):
        return "ahead"
    if phrases("past tense").search(text) or phrases("news").search(text):
        return "any"
    return "ahead" if phrases("ahead").search(text) or phrases("suggestion").search(text) else "any"


def _foreign(question: str, language: str, clock: Clock, settings: Settings) -> Time | None:
    time = foreign_time(question, language)
    if time is None:
        return None
    reach: Reach = "ahead" if time.ahead else "any"
    window = find_window(time.english, clock.now, clock.zone, settings, None, reach, clock.is_rolling)
    if window is None:
        return None
    alone = not has_subject(question, language, time)
    return Time(replace(window, text=question[time.start : time.end]), alone)


_ABOUT: dict[DemandKind, str] = {
    "current": "what holds now",
    "past": "what held before",
    "first": "the earliest that answers",
    "last": "the latest that answers",
    "next": "the nearest ahead that answers",
    "just now": "the turns of the current conversation",
    "last time": "the turns of the conversation before",
    "last note": "the latest notes",
    "list": "everything that answers",
    "count": "everything that answers, to be counted",
    "negation": "what is not so, or not wanted",
    "suggestion": "tastes and dislikes that matter for advice",
    "request": "an instruction or preference that applies",
}


_SENTENCE = re.compile(r"[^\s.!?][^.!?\n]*[.!?]*")


@dataclass(frozen=True, slots=True)
class _LowerQuestion:
    """A question in lower case, the time it names, and whether it wants an advice."""

    text: str
    time: Time | None
    advises: bool
    found: dict[str, re.Match[str] | None] = field(default_factory=dict, compare=False)

    def find(self, name: str) -> re.Match[str] | None:
        """The first phrase of that section in the question."""
        if name not in self.found:
            self.found[name] = phrases(name).search(self.text)
        return self.found[name]


Speaker = Callable[[str], str]
"""Gives the speaker of stored memories that a word in lower case names, or nothing."""

_ASKER = re.compile(r"(?:it's |this is )?([\w-]+)(?: here(?:[,.:!]| [-–])|:) ")


def _stored_speaker(reader: Reader | None, now: datetime | None) -> Speaker:
    """Looks a name up among those who said what is stored."""

    def find(name: str) -> str:
        if reader is None or now is None:
            return ""
        names = tuple(dict.fromkeys((name, name.capitalize(), name.title(), name.upper())))
        latest = reader.memories.page(Filter(speakers=names), (to_micros(now) + 1, 0), 1)
        return (latest[0].speaker or "") if latest else ""

    return find


def find_demands(
    question: str,
    time: Time | None = None,
    language: str | None = None,
    reader: Reader | None = None,
    now: datetime | None = None,
) -> tuple[Demand, ...]:
    """Every demand of the question, those of its conversation and time first; a reader knows who has spoken."""
    if language is not None:
        return tuple(_of_foreign(question, time, language))
    text = lower_case(question)
    speaker, asker = _stored_speaker(reader, now), _ASKER.match(text)
    if asker and (name := speaker(asker[1])):  # "Ana: what was my last note"
        whole = find_demands(" " * asker.end() + question[asker.end() :], time)
        return tuple(replace(each, speaker=name) if each.speaker == "user" else each for each in whole)
    advises = bool(phrases("suggestion").search(text)) and not phrases("suggested").search(text)
    asked = _LowerQuestion(text, time, advises)
    talk = list(_of_conversation(asked, speaker))
    if talk and talk[0].decides:
        return (talk[0],)
    timed = talk
    if time is not None:  # it decides if nothing else is asked about
        narrowed = asked.advises or asked.find("negation") or asked.find("exactly when")
        timed = [*talk, _window(question, time.window, decides=time.alone and not narrowed)]
    ordered = () if talk else tuple(_of_order(asked))
    if not timed and (match := asked.find("latest about")):
        timed = [replace(_made("last note", match), speaker=speaker_asked(text))]
    return (*timed, *ordered, *_of_completeness(asked), *_of_state(asked, {item.kind for item in (*timed, *ordered)}))


def _made(kind: DemandKind, match: re.Match[str] | None, decides: bool = False) -> Demand:
    text, start = (match[0].strip(), match.start()) if match else ("", 0)
    return Demand(kind, text, start, decides, _ABOUT[kind])


_LATEST = re.compile(r"\b(?:last|latest|most recent|leave|left)\b")
_TALK_NAMED = re.compile(r"\b(?:conversation|chat|talk|session|discussion|time|when|before|pick up)\b")


def _of_conversation(asked: _LowerQuestion, speaker: Speaker) -> Iterator[Demand]:
    """The turns of this conversation or of the one before it, or the latest notes; they decide without a subject."""
    match = asked.find("their words")
    name = speaker(next(filter(None, match.groups()))) if match else ""
    if match and name:
        if not _subject_besides(asked.text, match):
            yield replace(_made("last note", match, decides=True), speaker=name, about=f"the latest words of {name}")
        return
    side = speaker_asked(asked.text)
    own_day = asked.time and not re.match(r"(?:today|tonight|this)\b", asked.time.window.text.casefold())
    sections: tuple[tuple[DemandKind, str], ...] = (
        ("last note", "last note"),
        ("last time", "last time"),
        ("last time", "bare last time"),
        ("just now", "talk just now"),
    )
    for kind, section in sections:
        match = asked.find(section)
        if match is None or (kind == "just now" and own_day):  # "what were we talking about on Monday"
            continue
        alone = not _subject_besides(asked.text, match)
        # where one left off with something may lie further back than the last talk
        further = not alone and _LATEST.search(match[0]) and not _TALK_NAMED.search(match[0])
        if alone or section != "bare last time":
            yield replace(_made("last note" if further else kind, match, decides=alone), speaker=side)
            return
    match = asked.find("just now")
    if match and asked.text[match.end() :].strip(" ?"):
        yield _made("just now", match)


def _subject_besides(text: str, match: re.Match[str]) -> list[str]:
    """Words that name a subject outside of the match; those of talking do not, nor such as "sorry"."""
    rest = subject_words(f"{text[: match.start()]} {text[match.end() :]}")
    return [word for word in rest if not (phrases("talk").fullmatch(word) or phrases("no subject").fullmatch(word))]


def speaker_asked(text: str) -> str:
    """The speaker whose turns a question in lower case asks for: the user, the assistant or, as "", both."""
    if phrases("you said").search(text):
        return "assistant"
    return "user" if phrases("i said").search(text) else ""


def _window(question: str, window: Window, decides: bool) -> Demand:
    about = f"{'only ' if decides else ''}what belongs to {window.text!r}"
    return Demand("window", window.text, max(0, question.find(window.text)), decides, about)


def _of_order(asked: _LowerQuestion) -> Iterator[Demand]:
    """The first, the last or the next of what answers."""
    orders: tuple[DemandKind, ...] = ("first", "last", "next")
    for kind in orders:
        match = asked.find(kind)
        if match and not _within_window(asked, match) and not (kind == "next" and asked.advises):
            yield _made(kind, match)


def _within_window(asked: _LowerQuestion, match: re.Match[str]) -> bool:
    """True if the words belong to the time: 'the first week of June' is not a first week."""
    for part in asked.time.window.text.casefold().split(" … ") if asked.time else ():
        start = asked.text.find(part)
        if 0 <= start < match.end() and match.start() < start + len(part):
            return True
    return False


def _of_completeness(asked: _LowerQuestion) -> Iterator[Demand]:
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
    """The user's request, by the first sentence that asks for something and does not tell of the past."""
    for sentence in _SENTENCE.finditer(text):
        match = phrases("request").search(sentence[0])
        if match and not phrases("look back").search(sentence[0]):
            yield replace(_made("request", match), start=sentence.start() + match.start())
            return


def _of_state(asked: _LowerQuestion, kinds: set[DemandKind]) -> Iterator[Demand]:
    """The demand for the present or a past state: by words that say so, else by the tense."""
    past, now = _past_words(asked), asked.find("now")
    if now and now[0] == "still" and "window" in kinds:  # "what do I still have to do this week"
        return
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


def _past_words(asked: _LowerQuestion) -> re.Match[str] | None:
    was = asked.find("past tense") or not asked.find("present")
    past = asked.find("past")
    if past and not past[0].startswith("before") and _within_window(asked, past):  # "in the past week" is that week
        past = None
    return past or asked.find("old" if was else "old and asked")


def _of_foreign(question: str, time: Time | None, language: str) -> Iterator[Demand]:
    """As far as the tables of another language reach."""
    if time is not None:
        yield _window(question, time.window, decides=time.alone)
    for kind, match in foreign_demands(question, language):
        if match or time is None:
            yield _made(kind, match)
