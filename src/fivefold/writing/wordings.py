"""Cheap tests in words, before a model reads two texts and after: what states, changes, denies or repeats something."""

from __future__ import annotations

import re
import unicodedata

from fivefold.models.reader import Said
from fivefold.text.lexemes import late_pattern
from fivefold.writing.extract.statements import refers_back

MIN_WORDS, MAX_CHARACTERS = 2, 700
"""Words a statement has at least, and characters at most: a longer text says more than one thing."""

MIN_COVERED = 0.75
"""The share of the words of the longer text that one has at least which says the same; it has no others."""

MIN_TELLING = 2
"""Words that a text has at least, apart from those that say little."""

_SENTENCE = late_pattern(r"[^.!?\n]+[.!?]*")
_WORD = late_pattern(r"[^\W_]+")
_NOT = late_pattern(r"n['’]t\b", re.IGNORECASE)
_NUMBER = late_pattern(r"[-−+$€£¥#]?\d[\d.,:/-]*\s?[%$€£¥°]?")


def _any_of(*phrases: str) -> re.Pattern[str]:
    return late_pattern(rf"\b(?:{'|'.join(phrases)})\b", re.IGNORECASE)


_TALK = late_pattern(
    r"(?:(?:hi|hey|hello|thanks?|thank you|ok(?:ay)?|sure|great|cool|nice|wow|haha\w*|lol|yes|yeah|no|bye"
    r"|good (?:morning|night|evening|luck)|congrat\w*|sounds? (?:good|great|fun|like)|glad|take care|see you"
    r"|that['’]?s (?:great|awesome|amazing|so|really|cool|nice|good)|you['’]re welcome"
    r"|i (?:totally )?(?:agree|see|know|understand|hope))\b[\s,!.:)]*)",
    re.IGNORECASE,
)
_OTHERS = _any_of(
    "sister|brother|mum|mom|mother|dad|father|parents?|grandma|grandpa|grandmother|grandfather|aunt|uncle|cousin",
    "nephew|niece|neighbou?rs?|colleagues?|co-?workers?|friends?|roommate|flatmate|wife|husband|son|daughter|kids?",
    "children|boyfriend|girlfriend|partner|boss|classmates?|in-laws",
)
_UNREAL = _any_of(
    r"if|would|might|maybe|perhaps|wish(?:es)?|dream\w*|imagine|pretend\w*|thinking (?:of|about)|consider\w*",
    r"someday|one day|as a (?:kid|child|student|joke)|when i was|years ago|because|bc|lent|borrow\w*|rented",
    r"for the (?:day|week|weekend|night|month)",
)
_LONG_AGO = late_pattern(
    r"\b(?:in|during|until|around) (?:19|20)\d\d\b|\b(?:years|decades) ago\b"
    r"|\bas a (?:child|kid|boy|girl|student|teen\w*)\b",
    re.IGNORECASE,
)
_TOGETHER = late_pattern(r"\b(?:we|our|ours|us)\b", re.IGNORECASE)
_ABOUT_USER = _any_of("user")
_REPLY = _any_of(r"you|your|you['’](?:re|ve|ll|d)|noted|saved|got it|alright|understood")
_NEWS = _any_of(
    r"no longer|no more|any ?more|instead|from now on|these days|nowadays|(?:gave|given|giving|gives?) up|quit",
    r"cancell?ed|sold|gone|died|(?:broke|split) up|divorced|called off|stopped|dropped|left|switched|swapped",
    r"replaced|traded|moved|changed|(?:took|taken|handed) over|promoted|retired|postponed|pushed|rescheduled",
    r"got (?:engaged|married|rid of)|turns out|after all|now|new|is over|fell through|nicht mehr|jetzt|ya no|ahora",
    r"désormais|adesso|rebooked",
)
_GOES_ON = _any_of(
    r"still|again|as (?:usual|always|ever|before)|kept?|keep(?:s|ing)?|stay(?:s|ed|ing)?|renew\w*|same|also|too",
    r"as well|another|second|both|besides",
)
_SENSE = _any_of(
    r"no|nor|not|none|never|nothing|nobody|neither|without|cannot|hardly|rarely|seldom|barely|un\w{4,}|non|false|wrong",
    r"one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|hundred|thousand|first|third|half|twice|once",
    r"all|every|each|any|some|few|many|most|only|except|but|or|than|more|less|before|after|until|till|since|off",
    r"he|him|his|she|her|they|them|their|you|your|we|us|our|ex|former\w*|used|could|should|may|will|want\w*|hop(?:es?|ing)",
    r"plan\w*|tr(?:y|ies|ied|ying)|almost|nearly|yesterday|today|tomorrow|last|next|ago|am|pm|nicht|kein\w*|nie|nunca",
    r"jamás|pas|jamais|mai|não|sin|ohne|sans|senza|sem",
)
_STATE = _any_of(r"i|my|mine|me|we|our|us|users?|is|are|am|has|have|['’](?:s|m|re|ve)")
_AMOUNT = _any_of(
    r"at|on|in|to|by|until|till|for|from|of|about|around|under|over|costs?|weighs?",
    r"jan\w*|feb\w*|mar(?:ch)?|apr\w*|may|june?|july?|aug\w*|sep\w*|oct\w*|nov\w*|dec\w*",
    r"[kcm]?[gm]|km|kilos?|miles?|euros?|dollars?|pounds?|percent|years?|months?|weeks?|days?|hours?|minutes?|[ap]m",
)
_SERIES = frozenset({"number", "no", "nr", "nummer", "número", "numéro", "numero"})
_NUMBERED = late_pattern(r"([^\W\d_]*[#-]?)\d{1,6}(?:\.\d{1,6})?")
_LITTLE = frozenset(
    "a an the is are am be been being do does did have has had that this it its i me my mine myself m s re ve ll d "
    "user users just really very so well oh hey hi hello yes yeah ok okay please actually btw fyi note remember".split()
)
"""Words that two texts may differ in and still say the same."""


def may_state(text: str) -> bool:
    """True if a text may say how something is: no mere question, no small talk, nothing very short or long."""
    text = _TALK.sub("", text.strip(), count=3) if len(text) < 120 else text.strip()
    if not text or len(text) > MAX_CHARACTERS:
        return False
    said = [sentence for sentence in _SENTENCE.findall(text) if not sentence.rstrip().endswith("?")]
    return sum(len(_WORD.findall(sentence)) for sentence in said) >= MIN_WORDS


def is_plain(newer: str) -> bool:
    """True if a text says plainly that something ended or is new."""
    return _NEWS.search(newer) is not None and _GOES_ON.search(newer) is None


def is_doubtful(older: str, newer: str) -> bool:
    """If a change is at most likely: it may not have happened, or concerns somebody else."""
    if "?" in older or _UNREAL.search(older):
        return True
    if _UNREAL.search(newer) or _LONG_AGO.search(newer) or (_TOGETHER.search(newer) and not _TOGETHER.search(older)):
        return True
    if refers_back(newer) is not None:  # it does not say what it corrects; statements find that by value and place
        return True
    known = {word.casefold() for word in _OTHERS.findall(older)}
    return any(word.casefold() not in known for word in _OTHERS.findall(newer))


def is_answer(older: Said, newer: Said) -> bool:
    """True if an assistant only answers, and so repeats what it was told. Its notes about a person change something."""
    if not newer.by_assistant:
        return False
    return bool(_REPLY.search(newer.text)) or not (older.by_assistant or _ABOUT_USER.search(newer.text))


def is_numbered(older: str, newer: str) -> bool:
    """If two texts are of one series, such as 'turn 1' and 'turn 2': they differ in numbers of no amount or day."""
    if _STATE.search(newer) or _NEWS.search(newer):
        return False
    one, other = (["", *(word.strip(".,;!()") for word in text.split()), ""] for text in (older, newer))
    places = [at for at in range(min(len(one), len(other))) if one[at].casefold() != other[at].casefold()]
    return len(one) == len(other) and bool(places) and all(_is_series(one, other, at) for at in places)


def _is_series(one: list[str], other: list[str], at: int) -> bool:
    """True if both have a number after the same letters at that place, and it is neither an amount nor a day."""
    older, newer = _NUMBERED.fullmatch(one[at].rstrip(":")), _NUMBERED.fullmatch(other[at].rstrip(":"))
    if older is None or newer is None or older[1].casefold() != newer[1].casefold():
        return False
    before, after = other[at - 1], other[at + 1]
    if before.casefold() in _SERIES:
        return True
    return not (before.endswith((":", "=")) or _AMOUNT.fullmatch(before) or _AMOUNT.fullmatch(after))


def same_share(one: str, other: str) -> float:
    """The share of common words if two texts differ in a few words that change nothing of what is said; else 0.

    Numbers and names must be equal. What one text has more may not deny, date or count, nor name somebody else.
    """
    if ("?" in one) != ("?" in other) or _numbers(one) != _numbers(other):
        return 0
    words, others = _telling_words(one), _telling_words(other)
    less, more = sorted((words, others), key=len)
    if len(less) < MIN_TELLING or not less.keys() <= more.keys() or len(less) < MIN_COVERED * len(more):
        return 0
    added = [more[word] for word in more if word not in less]
    senses = (_SENSE, _OTHERS, _UNREAL, _NEWS, _GOES_ON)
    if any(not word.islower() for word in added) or any(sense.search(" ".join(added)) for sense in senses):
        return 0
    names = {word for each in (words, others) for word, written in each.items() if not written.islower()}
    in_order = [word for word in less if word in names] == [word for word in more if word in names and word in less]
    return round(len(less) / len(more), 4) if in_order else 0


def _numbers(text: str) -> list[str]:
    return [number.replace(" ", "").rstrip(".,:/-") for number in _NUMBER.findall(text)]


def _telling_words(text: str) -> dict[str, str]:
    """The words that say something in their order, each by its form without an ending in s, as it is written."""
    words: dict[str, str] = {}
    for word in _WORD.findall(_NOT.sub(" not", unicodedata.normalize("NFKC", text))):
        form = word.casefold()
        if form not in _LITTLE:
            plural = len(form) > 3 and form.endswith("s") and not form.endswith("ss")
            words.setdefault(form[:-1] if plural else form, word)
    return words
