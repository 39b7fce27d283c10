"""Cheap tests in words, before a model reads two texts and after: what states, changes, denies or repeats something."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from fivefold.models.reader import Remark
from fivefold.text.calendar_words import MONTH, WEEKDAY
from fivefold.text.lexemes import late_pattern, lexemes, stop_words
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


MIN_PLURAL_CHARACTERS = 4
"""Characters of a word from which on an ending in s is one."""


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


def is_answer(older: Remark, newer: Remark) -> bool:
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

    Numbers and names must be equal. The extra words of one text must not deny, date or count, nor name somebody else.
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
    if _differs_in_time(one, other) or not _same_roles(one, other):
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
        if word.casefold() not in _LITTLE:
            words.setdefault(_form(word), word)
    return words


# Restatements: the same said in another order or with another verb, as far as words can tell before a model reads both.

MIN_COMMON_LEXEMES, MAX_OWN_LEXEMES = 2, 2
"""Lexemes that two texts share at least, and that either has of its own at most if they say the same."""

MAX_RESTATED_WORDS = 40
"""A longer text says more than one thing."""

_FAINT = frozenset("someth thing get got call name one way pleas go day".split())
"""Lexemes that a text may have of its own and say no more by them."""

_SENSE_WORDS = _any_of(
    r"no|nor|not|none|never|nothing|nobody|neither|without|cannot|hardly|rarely|seldom|barely|non|false|wrong",
    r"two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|hundred|thousand|first|second|third|half|twice|once",
    r"any|some|few|many|most|only|except|but|or|more|less|before|after|until|till|since|off|out|up|down|if|maybe|perhaps",
    r"ex|former\w*|used|could|should|may|might|will|want\w*|wish\w*|hop(?:es?|ing)|must|think\w*|still|again|also|too",
    r"plan\w*|tr(?:y|ies|ied|ying)|almost|nearly|yesterday|today|tomorrow|last|next|ago|am|pm|another|nicht|kein\w*|nie",
    r"nunca|jamás|pas|jamais|mai|não|sin|ohne|sans|senza|sem",
)
_DENIALS = frozenset("no nor not none never nothing neither without cannot".split())
_WAS = _any_of("was|were")
_IS = late_pattern(r"\b(?:is|are|am|has|have)\b|['’](?:s|m|re|ve)\b", re.IGNORECASE)
_OF_PARTICIPLE = late_pattern(
    r"\b(?:am|is|are|was|were|been|be|gets?|got|has|have|had)\b|['’](?:s|m|re|ve)\b", re.IGNORECASE
)
_GOING_ON = late_pattern(r"(?:\b(?:am|is|are)|['’](?:m|s|re))\s+(?:not\s+)?(?!\w*thing\b)\w+ing\b", re.IGNORECASE)
_ACTING, _MET = _any_of("i|we"), _any_of("me|us")
_PASSIVE = late_pattern(
    r"(?:\b(?:am|is|are|was|were|been|gets?|got)|['’](?:m|s|re))\s+(?:\w+ly\s+)?(?:\w+ed|\w+en|born|made|told|sold|kept)\b",
    re.IGNORECASE,
)
_SPOKEN_WORD = late_pattern(r"[^\W_]+(?:[.:,'’/-][^\W_]+)*")
_GENITIVE = late_pattern(r"['’]s$")
_CALENDAR = late_pattern(rf"(?i:{MONTH}|{WEEKDAY})|\d.*")
_COPULAS = frozenset("is are was were and".split())
_OWNERS = frozenset("my our your his her their the a an".split())
_JOINS = _COPULAS | _OWNERS
_PREPOSITIONS = frozenset("in on at to from by for with of than after before into under over about via".split())
_DIRECTED = frozenset("from to than before after over into off without".split())
_KIN = {"mum": "mother", "mom": "mother", "dad": "father", "grandma": "grandmother", "grandpa": "grandfather"}

Unit = tuple[frozenset[tuple[str, bool]], str]
"""Names, beings or numbers that stand together, each with its genitive, and the preposition before them."""


def may_restate(one: str, other: str) -> bool:
    """True if two texts may say the same in another order or with another verb.

    Numbers, names, denials and what else turns a sense must be equal, and who does what to whom. A mere swap of
    one word at its place is a contrast, such as "the upper shelf" and "the lower shelf".
    """
    if ("?" in one) != ("?" in other) or sorted(_numbers(one)) != sorted(_numbers(other)):
        return False
    words, others = _SPOKEN_WORD.findall(one), _SPOKEN_WORD.findall(other)
    if max(len(words), len(others)) > MAX_RESTATED_WORDS or _senses(one) != _senses(other):
        return False
    if (_NEWS.search(one) is None) != (_NEWS.search(other) is None):
        return False
    return (
        _shares_lexemes(one, other)
        and not _swaps_words(words, others)
        and not _differs_in_time(one, other)
        and _same_roles(one, other)
    )


def _shares_lexemes(one: str, other: str) -> bool:
    """True if the lexemes are common but for one or two of either."""
    mine, theirs = frozenset(lexemes(one)), frozenset(lexemes(other))
    own = max(len(mine - theirs - _FAINT), len(theirs - mine - _FAINT))
    return own <= MAX_OWN_LEXEMES and len(mine & theirs) >= max(MIN_COMMON_LEXEMES, 2 * own)


def _senses(text: str) -> list[str]:
    """The words that turn the sense of a text, sorted; one denial is as good as another."""
    found = [word.casefold() for word in _SENSE_WORDS.findall(_NOT.sub(" not", unicodedata.normalize("NFKC", text)))]
    return sorted("not" if word in _DENIALS else word for word in found)


def _swaps_words(one: list[str], other: list[str]) -> bool:
    """True if two texts of as many words differ in words at their places alone."""
    if len(one) != len(other):
        return False
    places = [at for at in range(len(one)) if _form(one[at]) != _form(other[at])]
    return bool(places) and sorted(map(_form, one)) != sorted(map(_form, other)) and len(places) <= MAX_OWN_LEXEMES


def _differs_in_time(one: str, other: str) -> bool:
    """True if one text speaks of what is or goes on, and the other of what was or is done."""
    if bool(_GOING_ON.search(one)) != bool(_GOING_ON.search(other)):
        return True
    tenses = {(bool(_WAS.search(text)), bool(_IS.search(text))) for text in (one, other)}
    if {(True, False), (False, True)} <= tenses:
        return True
    return _did(one, other) or _did(other, one)


def _did(one: str, other: str) -> bool:
    """True if the first text alone has a word of both in -ed, with nothing that makes it a participle."""
    done, words = (
        {lexeme for word in _WORD.findall(text) for lexeme in lexemes(word) if _is_done(word, lexeme) is ended}
        for text, ended in ((one, True), (other, False))
    )
    return not done.isdisjoint(words) and _OF_PARTICIPLE.search(one) is None


def _is_done(word: str, lexeme: str) -> bool:
    return word.endswith("ed") and not lexeme.endswith("ed")


def _same_roles(one: str, other: str) -> bool:
    """True if both texts name the same names, beings and numbers, in one order or each after the same preposition."""
    passive = (_PASSIVE.search(one) is None) != (_PASSIVE.search(other) is None)
    acts = [(bool(_ACTING.search(text)), bool(_MET.search(text))) for text in (one, other)]
    if not passive and {(True, False), (False, True)} <= set(acts):
        return False
    mine, theirs = _directions(one), _directions(other)
    if any(
        None not in mine[word] | theirs[word] and mine[word] != theirs[word] for word in mine.keys() & theirs.keys()
    ):
        return False
    if not passive and _objects(one)[:2] == _objects(other)[1::-1] != _objects(other)[:2]:
        return False
    units, others = _units(one, other), _units(other, one)
    if _members(units) != _members(others):
        return False
    settled = {unit for unit in units if unit[1] not in ("", "by")} & set(others)
    order, again = ([unit[0] for unit in each if unit not in settled] for each in (units, others))
    by = {any(before == "by" for _, before in each) for each in (units, others)}
    return order == (again if len(by) == 1 else again[::-1])


def _members(units: Sequence[Unit]) -> list[tuple[str, bool]]:
    return sorted(member for members, _ in units for member in members)


def _units(text: str, other: str) -> list[Unit]:
    """The names, beings and, if there are several, numbers of a text; "and", "is" or a comma joins some to one."""
    names, units, gap, before, end = _names(text, other), list[Unit](), list[str](), "", 0
    several = len(set(_numbers(text))) > 1
    for match in _SPOKEN_WORD.finditer(text):
        base = _GENITIVE.sub("", match[0])
        form = _form(base)
        number = several and base[0].isdigit()
        if form in names or number or _OTHERS.fullmatch(base):
            member = (_KIN.get(form, form), base != match[0])
            joined = not gap or "," in text[end : match.start()] or not _OWNERS.issuperset(gap)
            if units and not number and joined and _JOINS.issuperset(gap):
                units[-1] = (units[-1][0] | {member}, units[-1][1])
            else:
                units.append((frozenset({member}), before))
            gap, before, end = [], "", match.end()
        else:
            gap.append(form)
            before = form if form in _PREPOSITIONS else before if form in _JOINS else ""
    kept = sum(not _CALENDAR.fullmatch(member) for member, _ in _members(units)) > 1
    return [(frozenset((member, kept and owns) for member, owns in members), before) for members, before in units]


def _names(text: str, other: str) -> set[str]:
    """Words that one of two texts writes with a capital inside a sentence, and neither writes without one."""
    inside, small = set[str](), set[str]()
    for each in (text, other):
        for match in _SPOKEN_WORD.finditer(each):
            word, before = _GENITIVE.sub("", match[0]), each[: match.start()].rstrip()
            if word[0].islower():
                small.add(_form(word))
            elif word[0].isupper() and before and before[-1] not in ".!?:":
                inside.add(_form(word))
    return inside - small - stop_words()


def _directions(text: str) -> dict[str, set[str | None]]:
    """The first lexeme, or the pronoun, after each preposition that has a direction; None at the end."""
    words, found = [word.casefold() for word in _SPOKEN_WORD.findall(text)], dict[str, set[str | None]]()
    for at, word in enumerate(words):
        if word in _DIRECTED:
            after = (each if _MET.fullmatch(each) else "".join(lexemes(each)[:1]) for each in words[at + 1 :])
            found.setdefault(word, set()).add(next(filter(None, after), None))
    return found


def _objects(text: str) -> list[str]:
    """The nouns after an article or owner with no preposition before, as "the dog" and "the cat" of what one does."""
    words = [word.casefold() for word in _SPOKEN_WORD.findall(text)]
    return [
        _form(words[at + 1])
        for at, word in enumerate(words[:-1])
        if word in _OWNERS and (not at or words[at - 1] not in _PREPOSITIONS | _COPULAS)
    ]


def _form(word: str) -> str:
    """A word without its case and an ending in s."""
    form = word.casefold()
    plural = len(form) >= MIN_PLURAL_CHARACTERS and form.endswith("s") and not form.endswith("ss")
    return form[:-1] if plural else form
