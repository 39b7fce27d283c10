"""Statements of the form subject – attribute – value, by which a later one replaces an earlier one.

A false reading silently ends a true memory, so what is not plainly stated is left unread.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import islice
from typing import Literal

from fivefold.text.calendar_words import MONTH, MONTH_NAMES, WEEKDAY, WEEKDAY_NAMES
from fivefold.text.lexemes import Pattern, flags_in, late_pattern, lexemes, phrase_lines, stop_words
from fivefold.values.entities import Correction, Statement
from fivefold.values.memory import ROLES
from fivefold.values.validate import MAX_READ

Claim = Literal["now", "change", "place"]
"""The kinds of claim: that something is so, that it became so, or where and how old somebody is."""


def _words(section: str) -> frozenset[str]:
    return frozenset(" ".join(phrase_lines("fivefold.writing.extract", "data/words.txt")[section]).split())


_SENTENCE_END = late_pattern(r"(?<![.!?])[.!?]++(?=[\"”’')]*(?:\s|$))|\n+")
_SPEECH = (
    r"(?:said|says?|tells|told|wrote|writes|ask(?:s|ed)|replie[ds]|answer(?:s|ed)|texted|claim(?:s|ed)|insist(?:s|ed))"
)
_OTHERS = late_pattern(
    r"\"[^\"\n]*\"|“[^“”]*”|«[^«»]*»|^[ \t]*>[^\n]*|^[ \t]*(?P<label>[A-Z]\w*(?: [A-Z]\w*)?):(?= )"
    rf"|(?<!\bI )(?<!\bwe )\b{_SPEECH}(?: to)?(?: me| us)?:[^\n]*",
    re.MULTILINE,
)
_HEADINGS = _words("headings")
_REPORTED = late_pattern(
    r"(?P<own>\b(?:I|[Ww]e|watch|scales?|thermometer|monitor|display|screen|label|meter|tracker|app)"
    rf"(?:['’]ve| have| already| just| also)* )?\b(?:{_SPEECH}|think|tell)\b"
    r"|\b(?:thinks|believes|assumes|thought|believed|assumed|heard|[Aa]ccording to)\b"
)
_REPORTED_AFTER = late_pattern(rf"[,”\"'] ?(?:{_SPEECH} (?!I\b)\w|(?!I\b|as\b)\w+ {_SPEECH}\b)")
_IF = late_pattern(
    r"\b(?:if|unless|whether|suppos\w+|imagin\w+|pretend\w*|when\w*|let['’]?s say|example|instance|as soon as|until"
    r"|till|once|used to)\b",
    re.IGNORECASE,
)
_WISH = late_pattern(
    r"\b(?i:wish\w*|hop(?:e|es|ing)|would|could|should|might|maybe|perhaps|wonder\w*|wants?|wanted|plan(?:s|ning|ned)?"
    r"|going to|gonna|about to|dream\w*|say|never|not|no|none|cannot|dont|nor|neither|hardly|false|wrong|untrue"
    r"|doubt\w*|den(?:y|ied))\b|\b(?:may|will|shall)\b|['’](?:ll|d)\b|n['’]t\b"
)
_VOID = late_pattern(
    r"\b(?:(?:if|unless) (?!possible|needed|necessary)|any ?more\b|no (?:more|longer)\b|hypothetically|kidding"
    r"|(?:would|will) be\b|(?:from|as of|starting|after) (?:next|tomorrow))"
)
_PLANS = late_pattern(r"\b(?:next (?!to\b|door)\w+|tomorrow|soon)\b")
_PAST = late_pattern(
    r"\b(?:(?:in|of|during|around|until|till|by) (?:\w+ )?(?:19\d\d|20\d\d|2100)\b|as an? (?:\w+ )?(?:child|kid|teen\w*"
    r"|baby|student|boy|girl|toddler)|(?:when|while) \w+ (?:was|were)|(?:years?|decades?|ages|long) (?:ago|before"
    r"|earlier|back)|back (?:then|when|in the)|used to|in the (?:\w+ )?['’]?(?:\d0s|\w+ties|past)|before|originally"
    r"|previously|formerly|at (?:first|the time|the age|age)|aged|then\b|once\b|in (?:my|our|his|her) (?:\w+ )?(?:youth"
    r"|childhood|teens|\w+ties)|growing up|temporarily|briefly|after (?:university|college|school|uni\b|graduat)"
    r"|for (?:the|an?|one|two|three|\d+|some|several) (?:few )?(?:while|day|week|month|year|summer|winter|term)"
    r"|and (?:then )?(?:\w+ )?back\b|but (?:\w+ )?(?:moved|came|went|left|returned|quit))",
    re.IGNORECASE,
)
_STATE_WORD = late_pattern(r"[a-z]{3,}(?<!e)ed|[a-z]{4,}(?:ful|less|ous)")
_MONTHS = rf"\b(?:{MONTH})\b"
_MONTH = late_pattern(_MONTHS, re.IGNORECASE)
_DATE = late_pattern(rf"\d|{_MONTHS}", re.IGNORECASE)
DAY = late_pattern(rf"\d|{_MONTHS}|\b(?:{WEEKDAY}|today|tomorrow|noon|next \w+)\b", re.I)
_DATED = late_pattern(r"\b(?:birthday|deadline|date|date birth)$")
_FIGURES = (
    r"(?:number|budget|rate|weight|height|time-?out|salary|rent|port|version|pin|postcode"
    r"|(?:locker|door|gate|access|alarm|zip|post) code)"
)
_ONE_VALUE = late_pattern(
    r"^(?:lives in|works at|works in|age|role|date birth|(?:(?:full|first|last|middle|family|maiden) )?name)$"
    r"|\b(?:address|e-?mail|password|birthday|deadline|badge|id|plate|size|(?:user|nick|sur)name"
    rf"|(?:due|start|end|launch|release|wedding) date|{_FIGURES})\b|\bfavou?rite\b(?!.*[^aius]s$)"
)
_ID = "password|username|id|badge|plate"
_APART = "late|overdue|early|more|less|higher|lower|behind|short|ago|old|over|under|above|below|away|up|down|off"
_SHAPES = tuple(
    (late_pattern(rf"\b(?:{attribute_shape})$"), late_pattern(shape))
    for attribute_shape, shape in (
        (_FIGURES, r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|\w+ty|hundred|thousand|million)\b"),
        (rf"{_FIGURES}|{_ID}|birthday|deadline|date", rf"^(?!.*(?:\b(?:{_APART})\b|% of))"),
        (_ID, r"\d|^\S+$"),
        ("birthday|deadline|date", r"^(?!\d\d?(?:[:.]\d\d)? ?(?:[ap]\.?m|o['’]clock|$))"),
        ("e-?mail(?: address)?", "@"),
        ("address", r"\d|^[A-Z]|@"),
        ("^name|(?:full|first|last) name", "^[A-Z]"),
    )
)
"""Forms that a value of these attributes must have: 'my budget is tight' is not a figure, 'my rent is 3 days late' not
a rent."""

_ONE_TIME = late_pattern(r"\b(?:deadline|birthday|launch|stand-?up|wedding|bedtime|alarm|date|release)$")
KIN = late_pattern(
    r"\b(?:sister|brother|mother|father|mum|mom|dad|wife|husband|partner|fianc\w+|son|daughter|kid|child|children|niece"
    r"|nephew|cousin|aunt|uncle|gran\w+|friend|flatmate|roommate|neighbou?r|boss|manager|colleague|mentor|landlord"
    r"|teacher"
    r"|coach|dentist|doctor|gp|vet|therapist|lawyer|cat|dog|puppy|kitten|pet|team|family|company)s?(?:-in-law)?$"
)
ONE_HOLDER = late_pattern(
    r"\b(?:dentist|doctor|gp|vet|boss|manager|landlord|therapist|job|title|car|laptop|desk|office|home|flat|bank|wife"
    r"|husband|partner|school|gym)$"
)
_ADRIFT = _words("adrift")
_STATES = _words("states")


class Assertions:
    """Finds what a text says to hold now, in the speaker's own words (M1): no question, wish, denial, quote or past."""

    def __init__(self, text: str, speaker: str) -> None:
        self._text = text
        self._ends = list(_SENTENCE_END.finditer(text))
        self._starts = [end.end() for end in self._ends]
        self._quoted: list[tuple[int, int]] = []
        for match in _OTHERS.finditer(text):
            label = match["label"]
            if label and (label.casefold() == speaker or not _HEADINGS.isdisjoint(label.casefold().split())):
                continue
            line = text.find("\n", match.end()) if label else match.end()
            end = len(text) if line < 0 else line
            self._quoted.append((match.start(), max(end, self._quoted[-1][1] if self._quoted else 0)))

    def holds(self, start: int, end: int, claim: Claim) -> bool:
        """True if the text from `start` to `end` claims that something holds; only its own sentence counts."""
        at = bisect_right(self._starts, start)
        closing = self._ends[at] if at < len(self._ends) else None
        quoted = bisect_right(self._quoted, (start, len(self._text)))
        if (closing and "?" in closing[0]) or (quoted and start < self._quoted[quoted - 1][1]):
            return False
        opening = self._starts[at - 1] if at else 0
        before = self._text[max(opening, start - 200) : start]
        after = self._text[end : min(closing.start() if closing else len(self._text), end + 200)]
        clause = re.split(r"[:;]", before)[-1]
        near = re.split(r",| but | and ", clause)[-1]  # a comma ends a wish or denial, not a condition
        reported = any(match["own"] is None for match in _REPORTED.finditer(before))
        if reported or _IF.search(clause) or _PAST.search(clause) or _WISH.search(near):
            return False
        if _VOID.search(re.split(r"[,;]", after, maxsplit=1)[0]) or _REPORTED_AFTER.search(after):
            return False
        return claim == "now" or not (_PAST.search(after) or (claim == "place" and _PLANS.search(after)))


def single_valued(attribute: str) -> bool:
    """True if a new value of this attribute can only mean that the old one ended."""
    return bool(_ONE_VALUE.search(attribute))


def fits(attribute: str, value: str, timed: bool, cued: bool) -> bool:
    """If this can be the attribute's value: 'My meeting is at 3pm' is one of many, and no mere state is a value."""
    if is_state(value) or (timed and not cued and not _ONE_TIME.search(attribute)):
        return False
    if single_valued(attribute) and value.partition(" ")[0] in _ADRIFT and not _MONTH.search(value):
        return False
    if _DATED.search(attribute) and not (DAY if cued else _DATE).search(value):
        return False
    return all(shape.search(value) for attribute_shape, shape in _SHAPES if attribute_shape.search(attribute))


def is_state(value: str) -> bool:
    """True if the words say how something is rather than what it is: 'expired', 'too long', 'a great way'."""
    for word in value.split()[:4]:
        if word in _STATES or _STATE_WORD.fullmatch(word):
            return True
        if word not in ("a", "an", "the") and not (word.islower() and word.endswith("ly")):
            return False
    return False


_OWNERS = frozenset({"user", "human"})
_VERBS = {
    " is": " am",
    " has": " have",
    " prefers": " prefer",
    " isn't": " am not",
    " doesn't": " don't",
    "'re": "'m",
    "'ve": "'ve",
    " are": " am",
    " were": " was",
}
_ABOUT = Pattern(
    "user",
    r"\b(?:[Tt]he user|User)(?:(?P<my>['’]s)(?= [a-z])|(?P<adverb>(?: (?:now|also|actually|still|just|recently"
    r"|currently))*)(?:(?P<verb> (?:is|has|prefers|isn['’]t|doesn['’]t)\b)|(?= (?:[a-z]+(?:s|ed)|was|went|got|quit"
    r"|left|met|bought|no)\b)))",
)
_OWN = Pattern(
    "i my me we our us mine ours", r"\b(?:I['’](?:m|ve|d|ll)|I|[Mm]y|[Mm]e|[Ww]e|[Oo]ur|[Uu]s|[Mm]ine|[Oo]urs)\b"
)
_ADDRESSED = Pattern(
    "you your yours", r"\b(?:[Yy]ou(?P<adverb>)\b(?P<verb>['’](?:re|ve)| (?:are|were)\b)?|(?P<my>[Yy]our)(?= ))"
)


def owner_of(speaker: str | None) -> str:
    """Whom a text's statements are about: the one who speaks, or for any role of a talk the user."""
    name = (speaker or "user").casefold()
    return "user" if name in ROLES else name


def is_assistant(speaker: str | None) -> bool:
    """True if the speaker is a part of the talk other than the user."""
    name = (speaker or "user").casefold()
    return name in ROLES and name not in _OWNERS


def as_first_person(text: str, speaker: str | None) -> str:
    """The text with the user as 'I' and 'my'; an assistant's own 'I' is nobody's."""
    if is_assistant(speaker):
        text = _ADDRESSED.sub(_in_first_person, _OWN.sub("it", text))
    return _ABOUT.sub(_in_first_person, text) if owner_of(speaker) == "user" else text


def _in_first_person(match: re.Match[str]) -> str:
    if match["my"]:
        return "My" if match[0][0] in "TUY" else "my"
    verb = (match["verb"] or "").replace("’", "'")
    return f"I{match['adverb'] or ''}{_VERBS.get(verb, verb)}"


_MAX_VALUE = 60
_DOT = "\u2024"
"""Stands for the full stop of an abbreviation while a text is read."""

_CAPITAL = r"[A-Z\u00c0-\u00de][\w’'-]*"
_NAME = rf"(?:the )?{_CAPITAL}(?: {_CAPITAL}){{0,5}}"
_PLACE = rf"(?P<value>{_NAME}(?: (?:office|branch|team|site)\b)?)"
_WHO = r"(?P<who>\b[Ii]|\b[Ww]e|\b[A-Z][a-z]+(?: [A-Z][a-z]+)?)"
_HAVE = r"(?:['’](?:ve|m|re|s)| have| am| is| are| has| just| recently| finally| now| also| actually)*"
_VALUE = r"(?=(?P<value>[^.,;!?\n]{1,160}(?:(?:[.!?;](?=\w)|,(?=\d))[^.,;!?\n]{1,80}){0,4}))"
_TO = (
    r"(?:is|are) now|(?:(?:has|have|is|was|been|got|just|now) )*(?:(?P<shift>moved|pushed|slipped|postponed)"
    r"|changed) to|(?:(?:went|is|are) (?:up|down)|dropped|rose) to(?= \S*\d)"
)

_ABBREVIATION = late_pattern(
    r"\.(?:(?:(?<=\b[DM]r\.)|(?<=\bMs\.)|(?<=\bMrs\.)|(?<=\bProf\.)|(?<=\bRev\.)|(?<=\b(?:at|in|to|on|is|of) St\.))"
    r"(?= (?:[A-Z]|and ))(?! (?:I|My|We|Our|The|It|He|She|They)\b)|(?:(?<=\b(?:St|Rd|Jr)\.)|(?<=\b(?:Ave|Inc|Ltd)\.)"
    r"|(?<=\b[ap]\.m\.))(?= [a-z\d])|(?<=\bNo\.)(?= ?\d))"
)
_LIVES = Pattern("live lives living", rf"{_WHO}{_HAVE} (?:lives?|living)(?: \w+ly)? in {_PLACE}")
_MOVED = Pattern(
    "moved relocated",
    rf"{_WHO}{_HAVE} (?:moved|relocated)(?: (?:house|back|over|away|down|up|permanently))?"
    rf"(?: from (?P<old>{_NAME}))? to {_PLACE}(?: (?P<next>[^\W_]+))?",
)
_WORKS = Pattern(
    "work works working", rf"{_WHO}{_HAVE} (?:works?|working) (?:at|for) (?!Christmas|Easter|[A-Z]\w+day\b){_PLACE}"
)
_JOINED = Pattern(
    "joined started moved",
    rf"{_WHO}{_HAVE} (?:(?P<joined>joined)|started (?:at|working (?:at|for))|moved over to work (?:at|for)) {_PLACE}"
    r"(?: (?P<next>[^\W_]+))?",
)
_AGE = Pattern(
    "m am turned",
    r"\b[Ii](?:'m|’m| am) (?P<value>\d{1,2})(?: years old)?(?=[.,!;](?!\d)|$| now| years)"
    r"|\b[Ii] turned (?P<turned>\d{1,2})(?=[.,!;](?!\d)|$| on | last | today| yesterday| this | years)",
)
_IS = Pattern(
    "is are = has have moved was changed went slipped got dropped rose pushed postponed",
    r"(?:\b(?P<article>[Mm]y|[Oo]ur|[Tt]he) |(?:^|[.!?:;]\s+|\n[ \t]*)(?!(?:[Mm]y|[Oo]ur|[Tt]he) ))"
    r"(?P<attribute>[A-Za-z](?:(?!\b(?:my|our|the) )[\w’' -]){1,50}?) "
    rf"(?:(?P<update>{_TO})|is|are|=) (?:(?P<now>now|actually) )?{_VALUE}",
)
_THEIRS = Pattern(
    "s",
    rf"\b(?P<who>[A-Z][a-z]+(?: [A-Z][a-z]+)?)['’]s (?P<attribute>[a-z][\w’' -]{{1,40}}?) "
    rf"(?:(?P<update>{_TO})|is|are) {_VALUE}",
)
_FROM_TO = Pattern(
    "from",
    r"\b(?:[Mm]y|[Oo]ur|[Tt]he) (?P<attribute>[\w][\w’' -]{1,50}?) (?:(?:has|have|was|is|got|been) )*"
    r"(?:moved|changed|(?P<goes>goes|went)|raised|cut|shifted|slipped|pushed|switched)(?: again| back)?,? "
    rf"from (?P<old>(?:[^.,;!?\n]|[.,](?=\d)){{1,40}}?) to {_VALUE}",
)
_FIXED = Pattern(
    "fixed set put capped agreed",
    r"\b(?:I|[Ww]e|[Tt]hey|[A-Z][a-z]+)(?:['’]ve| have| has| also| just| finally| now| all)* "
    rf"(?:fixed|set|put|capped|agreed) (?:my|our|the) (?P<attribute>\w[\w’' -]{{1,50}}?) (?:at|to|on) {_VALUE}",
)
_NEW = Pattern(
    "new",
    r"(?:(?:^|[.!?;:]\s+|\n[ \t]*)New|\b(?:I|[Ww]e)(?:['’]ve| have)?(?: got)? a new) (?P<attribute>[a-z][\w -]{1,30}?)"
    rf"(?: (?:from|since|as of) \w+)?: {_VALUE}",
)
_PREFERS = Pattern("prefer", rf"\bI(?:'d|’d| would)?(?P<now> now| actually)? prefer {_VALUE}")
_ANY = 0
for _pattern in (_LIVES, _MOVED, _WORKS, _JOINED, _AGE, _IS, _THEIRS, _FROM_TO, _FIXED, _NEW, _PREFERS):
    _ANY |= _pattern.flag
"""The flags of all that make a statement."""
_BACK = Pattern(
    "now actually correction scratch sorry wait no",
    r"\b(?:had|was|were|said) (?P<old>\d[\w ]{0,30}?)(?: in [\w ]{1,20})?,? but (?:actually )?"
    r"(?:it['’]s|it is) (?P<was>[^.,;!?\n]{1,30}?) now\b"
    r"|^(?:(?:oh|ah|hmm|um)[,. ]+)?(?:actually|(?P<plain>correction|scratch that)|sorry|wait|no)[,:.—– -]+.{0,40}?"
    r"\b(?:it['’]s|it is|(?P<that>that['’]s)|make (?:it|that)|now)\s+(?P<value>[^.;!?\n]{1,60})"
    r"|^(?:it['’]s|it is) (?:actually )?(?P<now>[^.;!?\n]{1,30}) now\b",
    re.IGNORECASE,
)

_TAIL = late_pattern(
    r" (?:and (?:(?:my|I|i|our|we|it|he|she|they|you|this|that|there|his|her|its|their|your|then|now|also|I['’]\w+)\b"
    r"|(?:the|an?|[A-Z]\w+['’]s) [\w-]+(?: [\w-]+)? (?:is|are|was|were|has|had)\b)|(?:but|because|which|so|since"
    r"|although|though|while|whereas|when|where|who|if|unless|until|after|before|[-–])(?= )|\()|: |—"
)
_LEAD = late_pattern(
    r"(?:set (?:for|to|at)|(?:scheduled|planned|due|fixed|capped) (?:for|on|at|to|by)|(?P<at>at|on)|around|about|only"
    r"|still|currently|(?P<called>called|named)(?= [A-Z\"“'])) "
)
_CUE = late_pattern(r"^(?:now|actually) |,? (?:now|instead|these days|nowadays|from now on|as of (?:now|today))$", re.I)
_NEWS = late_pattern(r"(?:^|[.!?;:\n]\s*)(?i:update|correction|actually|from now on)[,:] *$")
_DEFINITE = late_pattern(r"(?:an?|the) ")
_NO_TOWN = late_pattern(r"\d|[a-z][A-Z]|\b(?!(?:UK|USA?|UAE|NYC|LA|DC|SF)\b)[A-Z]{2,}\b")

_BREAKS = '.,;:!?\n—–-()[]*•"“”'
_PERSONAL = _words("personal")
_SAME_WORD = {"favorite": "favourite", "color": "colour", "email": "e-mail"}
_BEFORE_IS = _words("before is")
_NO_ATTRIBUTE = _words("no attribute")
_VAGUE = _words("vague")
_NO_FIRMS = _words("no firms").union(WEEKDAY_NAMES, MONTH_NAMES)
_NO_PLACES = _NO_FIRMS | _words("no places")

_AFTER_PLACE = _words("after place")

_Reading = tuple[Statement, int, int, Claim]
"""A statement, its position and its claim, before its sentence is checked."""


def statements(text: str, speaker: str | None) -> tuple[Statement, ...]:
    """The statements of `text`. First person means the speaker, and an assistant speaks of the user alone."""
    owner = owner_of(speaker)
    text = _ABBREVIATION.sub(_DOT, as_first_person(text, speaker))
    readings = list(_find(text, owner, is_assistant(speaker))) if flags_in(text) & _ANY else []
    if not readings:
        return ()
    assertions = Assertions(text, owner)
    asserted = (statement for statement, start, end, claim in readings if assertions.holds(start, end, claim))
    latest = {(statement.subject, statement.attribute): statement for statement in asserted}
    return tuple(islice(latest.values(), MAX_READ))


def refers_back(text: str) -> Correction | None:
    """The new value when the text corrects an earlier one: 'actually it's 45 now' gives 45, 'no, it's fine' nothing."""
    text = text.strip()
    match = _BACK.search(text)
    if match is None or re.match(r"[^.!\n]*\?", text[match.end() : match.end() + 80]):
        return None
    phrase = (match["value"] or match["now"] or match["was"]).split(", ")[0]
    value = _shorten(re.sub(r"\b(?:now|actually)\b", "", phrase, flags=re.IGNORECASE).strip(" ,"))
    is_name = re.fullmatch(rf"{_CAPITAL}(?: {_CAPITAL}){{0,2}}", value) and not match["that"]
    if not value or is_state(value) or not (match["plain"] or is_name or re.search(r"\d", value)):
        return None
    idle = re.search(r"\b(?:already|away|late|ago|left|today|here|outside|past|old|OK|to go)\b", value)
    return None if idle else Correction(value, match["old"])


def predicate_of(items: tuple[Statement, ...]) -> str | None:
    """The first statement as a short phrase, such as 'badge id is E-47821'."""
    if not items:
        return None
    attribute, value = items[0].attribute, items[0].value
    if attribute.startswith("prefers "):
        return f"prefers {value}"
    return f"{attribute} {value}" if attribute in ("lives in", "works at", "works in") else f"{attribute} is {value}"


def same_value(one: str, other: str) -> bool:
    """True if two values say the same, apart from words without weight."""
    return set(lexemes(one)) == set(lexemes(other))


def _find(text: str, owner: str, personal: bool) -> Iterator[_Reading]:
    """Every reading; only `personal` ones leave out what belongs to nobody: 'the total is 45'."""
    for pattern, update in ((_LIVES, False), (_MOVED, True)):
        for match in pattern.finditer(text):
            yield from _residence(match, owner, update)
    for pattern, update in ((_WORKS, False), (_JOINED, True)):
        for match in pattern.finditer(text):
            yield from _employment(match, owner, update)
    for match in _AGE.finditer(text):
        age = Statement(owner, "age", match["value"] or match["turned"], match["turned"] is not None)
        yield age, match.start(), match.end(), "place"
    for match in _IS.finditer(text):
        article = (match["article"] or "").casefold()
        before = text[max(0, match.start() - 16) : match.start()].rstrip(" ")
        opens = not before or before[-1] in _BREAKS or before.split()[-1].casefold() in _BEFORE_IS
        # 'my X' is the subject of a clause that begins here, and not part of 'a photo of my X'
        if (article in ("my", "our") or not personal) and (not article or opens):
            yield from _statement_of(text, match, owner, article)
    for pattern, article in ((_THEIRS, "their"), (_FROM_TO, "from"), (_FIXED, "fixed"), (_NEW, "new")):
        for match in pattern.finditer(text):
            yield from _statement_of(text, match, owner, article)
    for match in _PREFERS.finditer(text):
        value = _shorten(_until_tail(match["value"]))
        for word in lexemes(re.split(r" (?:to|over|than|rather than|instead of) ", value)[0])[:4]:
            statement = Statement(owner, f"prefers {word}", value, bool(match["now"] or _CUE.search(value)))
            yield statement, match.start(), match.end(), "now"


def _residence(match: re.Match[str], owner: str, update: bool) -> Iterator[_Reading]:
    place, groups = match["value"].removeprefix("the "), match.groupdict("")
    inside = re.search(r" (?:office|branch|team|site)$", place)
    words = f"{place} {groups.get('old', '')}"
    town = not _NO_TOWN.search(words) and _NO_PLACES.isdisjoint(words.casefold().split())
    if inside or (town and (not groups.get("next") or groups["next"] in _AFTER_PLACE)):
        yield from _of_person(match, owner, "works in" if inside else "lives in", place, update)


def _employment(match: re.Match[str], owner: str, update: bool) -> Iterator[_Reading]:
    """People join firms, but also friends and networks: 'I joined Ana for lunch'."""
    first, groups = match["value"].casefold().split()[0], match.groupdict("")
    alone = not groups.get("next") or groups["next"] in ("as", "last", "this", "today", "yesterday", "recently")
    if not groups.get("joined") or (alone and match["who"] not in ("We", "we") and first not in (*_NO_FIRMS, "the")):
        yield from _of_person(match, owner, "works at", match["value"], update)


def _of_person(match: re.Match[str], owner: str, attribute: str, value: str, update: bool) -> Iterator[_Reading]:
    who = match["who"].casefold()
    if who in ("i", "we") or who not in _NO_ATTRIBUTE:
        statement = Statement(owner if who in ("i", "we") else who, attribute, value.replace(_DOT, "."), update)
        yield statement, match.start(), match.end("value"), "place"


def _statement_of(text: str, match: re.Match[str], subject: str, article: str) -> Iterator[_Reading]:
    groups = match.groupdict()
    subject = groups.get("who", subject).casefold()
    raw = re.sub(r"['’]s\b", "", match["attribute"].casefold()).split()
    words = [_SAME_WORD.get(word, word) for word in raw if word not in ("new", "current") and word not in stop_words()]
    if len(raw) > 6 or not words or words[-1] in _VAGUE or not _NO_ATTRIBUTE.isdisjoint((*raw, subject)):
        return
    raw_value = _until_tail(match["value"])
    value = _CUE.sub("", raw_value)
    cued = bool(groups.get("update") or groups.get("now") or article == "from" or value != raw_value)
    lead = _LEAD.match(value)
    value = _shorten(value[lead.end() if lead else 0 :].strip(" '\"“”"))
    number = words[-1] in ("phone", "mobile", "cell") and re.fullmatch(r"\+?[\d ()-]{6,}", value)
    attribute = " ".join((*words, *(["name"] if lead and lead["called"] else ["number"] if number else [])))
    one = single_valued(attribute)
    timed = lead is not None and lead["at"] is not None
    if not value or not fits(attribute, value, timed, cued) or not _weighs(attribute, value, article, cued):
        return
    if (groups.get("shift") and not DAY.match(value)) or (not one and groups.get("goes")):
        return
    fresh = (article == "new" or raw[0] == "new") and (one or ONE_HOLDER.search(attribute) is not None)
    cued = cued or fresh or _NEWS.search(text[max(0, match.start() - 40) : match.start()]) is not None
    claim: Claim = "change" if groups.get("shift") or article in ("from", "fixed") else "now"
    definite = not KIN.search(attribute) and (one or article == "from" or _DEFINITE.match(value) or DAY.search(value))
    update = cued and (value[0].isupper() or bool(definite))
    yield Statement(subject, attribute, value, update), match.start(), match.end(), claim


def _weighs(attribute: str, value: str, article: str, cued: bool) -> bool:
    """'My X is …' states a value; 'the X is …' only with a figure or name, and a bare 'X is …' only with a figure."""
    if article in ("my", "our", "their"):
        return re.match(r"[a-z]{2,}ing\b", value) is None or "favourite" in attribute or attribute.endswith("hobby")
    if article in ("the", "") and not cued and attribute in _PERSONAL:
        return False
    if article == "":
        return bool(re.match(r"(?:\S+ ){0,2}\S*\d", value) or (cued and DAY.search(value)))
    if article == "new":
        return single_valued(attribute) or ONE_HOLDER.search(attribute) is not None
    return cued or bool(re.search(r"\d|^[A-Z]", value))


def _until_tail(value: str) -> str:
    """The value without the clause that follows it: 'Priya and my cat is Miso' gives 'Priya'."""
    tail = _TAIL.search(value, 1)
    return (value[: tail.start()] if tail else value).strip()


def _shorten(value: str) -> str:
    """Whole words, at most 60 characters of them."""
    value = re.sub(r"\b([ap]\.m)$", r"\1.", value.replace(_DOT, "."))
    return value if len(value) <= _MAX_VALUE else value[: _MAX_VALUE + 1].rpartition(" ")[0].rstrip()
