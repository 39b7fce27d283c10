"""Statements of the form subject – attribute – value, by which a later one replaces an earlier one.

A false reading silently ends a true memory, so what is not plainly stated is left unread.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from fivefold.text.calendar_words import MONTH_NAMES, WEEKDAY_NAMES
from fivefold.text.lexemes import lexemes, stop_words
from fivefold.text.triggers import Pattern, flags_in
from fivefold.values.extraction import Correction, Statement
from fivefold.values.limits import MAX_READ
from fivefold.writing.extract.assertions import DAY, KIN, ONE_HOLDER, Assertions, Claim, fits, is_state, single_valued
from fivefold.writing.extract.perspective import as_first_person, is_assistant, owner_of

__all__ = ["predicate_of", "refers_back", "same_value", "single_valued", "statements"]

_LONGEST = 60
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

_ABBREVIATION = re.compile(
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

_TAIL = re.compile(
    r" (?:and (?:(?:my|I|i|our|we|it|he|she|they|you|this|that|there|his|her|its|their|your|then|now|also|I['’]\w+)\b"
    r"|(?:the|an?|[A-Z]\w+['’]s) [\w-]+(?: [\w-]+)? (?:is|are|was|were|has|had)\b)|(?:but|because|which|so|since"
    r"|although|though|while|whereas|when|where|who|if|unless|until|after|before|[-–])(?= )|\()|: |—"
)
_LEAD = re.compile(
    r"(?:set (?:for|to|at)|(?:scheduled|planned|due|fixed|capped) (?:for|on|at|to|by)|(?P<at>at|on)|around|about|only"
    r"|still|currently|(?P<called>called|named)(?= [A-Z\"“'])) "
)
_CUE = re.compile(r"^(?:now|actually) |,? (?:now|instead|these days|nowadays|from now on|as of (?:now|today))$", re.I)
_NEWS = re.compile(r"(?:^|[.!?;:\n]\s*)(?i:update|correction|actually|from now on)[,:] *$")
_DEFINITE = re.compile(r"(?:an?|the) ")
_NO_TOWN = re.compile(r"\d|[a-z][A-Z]|\b(?!(?:UK|USA?|UAE|NYC|LA|DC|SF)\b)[A-Z]{2,}\b")

_BREAKS = '.,;:!?\n—–-()[]*•"“”'
_PERSONAL = frozenset("address password number name birthday id age weight height size username e-mail".split())
_SAME_WORD = {"favorite": "favourite", "color": "colour", "email": "e-mail"}
_BEFORE_IS = frozenset(
    "and but so that think says said mentioned believe because since also plus now actually currently hi hey hello "
    "ok okay yes yeah "
    "well btw fyi know remember note anyway".split()
)
_NO_ATTRIBUTE = frozenset(
    "i you he she it we they me him us them who whom which that what when where why how and or but if because so is "
    "are was were be been am has have had do does did will would could should can may might must never not no nobody "
    "this these those there here everyone everything someone something said says told as than let your his her their "
    "its whose another other others both each every some any few one thing i'm we're".split()
)
_VAGUE = frozenset(
    "problem question point idea guess plan hope worry things issue feeling rule goal dream advice only favourite "
    "favourites favorites mistake answer reason concern theory best next first last stuff".split()
)
_NO_FIRMS = frozenset(
    "slack teams zoom notion linux windows mac android ubuntu python java javascript typescript rust go swift ruby "
    "rails django react angular node postgres mysql sqlite redis kafka docker kubernetes git github gitlab jira "
    "linear trello asana figma vim obsidian excel word outlook gmail proton dropbox drive onedrive azure cloudflare "
    "firefox chrome safari edge brave whatsapp signal telegram discord matrix mattermost mastodon bluesky twitter "
    "facebook instagram reddit tiktok linkedin threads spotify netflix youtube chatgpt claude gemini copilot miro "
    "skype agile scrum kanban cloud christmas easter".split()
).union(WEEKDAY_NAMES, MONTH_NAMES)
_NO_PLACES = _NO_FIRMS.union(
    "google amazon meta microsoft apple oracle nvidia intel tesla uber airbnb stripe team plan phase chapter gate "
    "room level version desk floor engineering marketing sales finance product design operations support legal "
    "research management premium pro business first class stage option unit".split()
)
"""Names that a move may lead to without being a place to live."""

_AFTER_PLACE = frozenset(
    "in on for with and from last this because after a about but so today yesterday recently now then together as at "
    "by where which since finally already just the two three four before when to if".split()
)

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
    """Whether two values say the same, apart from words without weight."""
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
        if (article in ("my", "our") or not personal) and (not article or _opens(text, match.start())):
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


def _opens(text: str, start: int) -> bool:
    """Whether a clause begins at `start`, so that 'my X' is its subject and not part of 'a photo of my X'."""
    before = text[max(0, start - 16) : start].rstrip(" ")
    return not before or before[-1] in _BREAKS or before.split()[-1].casefold() in _BEFORE_IS


def _until_tail(value: str) -> str:
    """The value without the clause that follows it: 'Priya and my cat is Miso' gives 'Priya'."""
    tail = _TAIL.search(value, 1)
    return (value[: tail.start()] if tail else value).strip()


def _shorten(value: str) -> str:
    """Whole words, at most 60 characters of them."""
    value = re.sub(r"\b([ap]\.m)$", r"\1.", value.replace(_DOT, "."))
    return value if len(value) <= _LONGEST else value[: _LONGEST + 1].rpartition(" ")[0].rstrip()
