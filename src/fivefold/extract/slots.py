"""Statements of the form subject – attribute – value, by which a later one replaces an earlier one."""

from __future__ import annotations

import re
from collections.abc import Iterator

from fivefold.extract.triggers import Pattern
from fivefold.lexemes import lexemes, stop_words
from fivefold.memory import ROLES, Correction, Slot

_CAPITAL = r"[A-Z\u00c0-\u00de][\w’'-]*"
_PLACE = rf"(?P<value>(?:the )?{_CAPITAL}(?:[ -]{_CAPITAL})*(?: (?:office|branch|team|site))?)"
_WHO = r"(?P<who>\b[Ii]|\b[Ww]e|[A-Z][a-z]+(?: [A-Z][a-z]+)?)"
_HAVE = r"(?:['’](?:ve|m|re|s)| have| am| is| are| has| just| recently| finally| now| also| actually)*"
_VALUE = r"(?P<value>(?:[^.,;!?\n]|\.(?=\w)|,(?=\d)){1,60})"
_TO = (
    r"(?:is now|are now|has (?:been )?moved to|moved to|was moved to|has changed to|changed to|went (?:up|down) to"
    r"|slipped to|has slipped to|got pushed to|is pushed to|was pushed to|is up to|is down to|dropped to|rose to)"
)

_LIVES = Pattern("live lives living", rf"{_WHO}{_HAVE} (?:lives?|living)(?: \w+ly)? in {_PLACE}")
_MOVED = Pattern(
    "moved relocated moving",
    rf"{_WHO}{_HAVE} (?:moved|relocated|moving)(?: (?:house|back|over|away|down|up|permanently))?"
    rf"(?: from (?:the )?[A-Z][\w’'-]*(?: [A-Z][\w’'-]*)*)? to {_PLACE}",
)
_WORKS = Pattern("work works working", rf"{_WHO}{_HAVE} (?:works?|working) (?:at|for) {_PLACE}")
_JOINED = Pattern(
    "joined started moved",
    rf"{_WHO}{_HAVE} (?:joined|started (?:at|working (?:at|for))|moved over to work (?:at|for)) {_PLACE}",
)
_AGE = Pattern(
    "#",
    r"\b[Ii](?:'m|’m| am) (?P<value>\d{1,2})(?: years old)?(?=[.,!;]|$| now| years)"
    r"|\b[Ii] turned (?P<turned>\d{1,2})\b",
)
_IS = Pattern(
    "is are = has moved was changed went slipped got dropped rose",
    r"(?:\b(?P<article>[Mm]y|[Oo]ur|[Tt]he) |(?:^|[.!?:;]\s+)(?!(?:[Mm]y|[Oo]ur|[Tt]he) ))"
    r"(?P<attribute>[A-Za-z](?:(?!\b(?:my|our|the) )[\w’' -]){1,50}?) "
    rf"(?:(?P<update>{_TO})|is|are|=) (?:(?P<now>now|actually) )?{_VALUE}",
)
_THEIRS = Pattern(
    "s",
    rf"(?P<who>[A-Z][a-z]+(?: [A-Z][a-z]+)?)['’]s (?P<attribute>[a-z][\w -]{{1,40}}?) "
    rf"(?:(?P<update>{_TO})|is|are) {_VALUE}",
)
_FROM_TO = Pattern(
    "from",
    r"\b(?:[Mm]y|[Oo]ur|[Tt]he) (?P<attribute>[\w][\w’' -]{1,50}?) (?:(?:has|have|was|is|got|been) )*"
    r"(?:moved|changed|goes|went|raised|cut|shifted|slipped|pushed|switched)(?: again| back)?,? "
    rf"from (?P<old>(?:[^.,;!?\n]|[.,](?=\d)){{1,40}}?) to {_VALUE}",
)
_FIXED = Pattern(
    "fixed set put capped agreed",
    rf"\b(?:fixed|set|put|capped|agreed) (?:my|our|the) (?P<attribute>[\w][\w’' -]{{1,50}}?) (?:at|to|on) {_VALUE}",
    re.IGNORECASE,
)
_NEW = Pattern("new", rf"\b[Nn]ew (?P<attribute>[a-z][\w -]{{1,30}}?)(?: (?:from|since|as of) \w+)?(?:: | is ){_VALUE}")
_PREFERS = Pattern("prefer", r"\bI(?:'d|’d| would)? prefer (?P<value>[^.,;!?\n]{3,60})")
_BACK = Pattern(
    "now actually correction scratch sorry wait no",
    r"\b(?:had|was|were|said) (?P<old>\d[\w ]{0,30}?)(?: in [\w ]{1,20})?,? but (?:actually )?"
    r"(?:it['’]s|it is) (?P<was>[^.,;!?\n]{1,30}?) now\b"
    r"|^(?:(?:oh|ah|hmm|um)[,. ]+)?(?:actually|correction|scratch that|sorry|wait|no)[,:.—– -]+.{0,40}?"
    r"\b(?:it['’]s|it is|that['’]s|make (?:it|that)|now)\s+(?P<value>[^.;!?\n]{1,60})"
    r"|^(?:it['’]s|it is) (?:actually )?(?P<now>[^.;!?\n]{1,30}) now\b",
    re.IGNORECASE,
)
_VAGUE = frozenset(
    "problem question point idea guess plan hope worry thing issue feeling rule goal dream advice only favorite "
    "favourite mistake answer reason concern theory best next first last other".split()
)
_ONE_VALUE = re.compile(
    r"^(?:lives in|works at|works in|age|role)$|\b(?:address|phone|number|e-?mail|password|birthday|budget|deadline"
    r"|rate|weight|height|date|time-?out|salary|rent|favou?rite|badge|id|size|port|version|(?:user|nick|sur)?name|plate)\b"
)
_LEAD = re.compile(r"^(?:set (?:for|to|at)|at|on|around|about|down to|up to|only|still) ", re.IGNORECASE)
_CUE = re.compile(r"\b(?:now|actually|instead|anymore|no longer|changed|switched|updated|new|as of)\b", re.IGNORECASE)


def slots(text: str, speaker: str | None) -> tuple[Slot, ...]:
    """The statements of `text`. First person means the speaker; an assistant's 'I' states nothing."""
    owner = (speaker or "user").casefold()
    if owner in ROLES and owner not in ("user", "human"):
        return ()
    owner = "user" if owner in ROLES else owner
    found = {(slot.subject, slot.attribute): slot for slot in _find(text, owner)}
    return tuple(found.values())


def refers_back(text: str) -> Correction | None:
    """The new value when the text corrects an earlier one: 'actually it's 45 now' gives 45."""
    match = _BACK.search(text.strip())
    if match is None:
        return None
    said = match["value"] or match["now"] or match["was"]
    value = re.sub(r"\b(?:now|actually)\b", "", said, flags=re.IGNORECASE).strip(" ,")
    return Correction(value, match["old"]) if value else None


def single_valued(attribute: str) -> bool:
    """Whether a new value of this attribute can only mean that the old one ended."""
    return bool(_ONE_VALUE.search(attribute))


def predicate_of(found: tuple[Slot, ...]) -> str | None:
    """The first statement as a short phrase, such as 'badge id is E-47821'."""
    if not found:
        return None
    slot = found[0]
    if slot.attribute in ("lives in", "works at", "works in"):
        return f"{slot.attribute} {slot.value}"
    if slot.attribute.startswith("prefers "):
        return f"prefers {slot.value}"
    return f"{slot.attribute} is {slot.value}"


def same_value(one: str, other: str) -> bool:
    """Whether two values say the same, wording of no weight aside."""
    return set(lexemes(one)) == set(lexemes(other))


def _find(text: str, owner: str) -> Iterator[Slot]:
    for pattern, attribute, update in ((_LIVES, "lives in", False), (_MOVED, "lives in", True)):
        for match in pattern.finditer(text):
            place = re.sub(r"^the ", "", match["value"])
            inside = bool(re.search(r"(?:office|branch|team|site)$", place))
            yield Slot(_who(match["who"], owner), "works in" if inside else attribute, place, update)
    for pattern, update in ((_WORKS, False), (_JOINED, True)):
        for match in pattern.finditer(text):
            yield Slot(_who(match["who"], owner), "works at", match["value"], update)
    for match in _AGE.finditer(text):
        yield Slot(owner, "age", match["value"] or match["turned"], match["turned"] is not None)
    for match in _IS.finditer(text):
        if _says_something(match):
            yield from _stated(match, owner)
    for match in _THEIRS.finditer(text):
        yield from _stated(match, match["who"].casefold())
    for pattern, update in ((_FROM_TO, True), (_FIXED, False), (_NEW, True)):
        for match in pattern.finditer(text):
            yield from _stated(match, owner, update)
    for match in _PREFERS.finditer(text):
        update = bool(_CUE.search(match[0]))
        yield from (Slot(owner, f"prefers {word}", match["value"], update) for word in lexemes(match["value"])[:4])


def _says_something(match: re.Match[str]) -> bool:
    """'My X is …' states a value; 'the X is …' only with a figure or name, and a bare 'X is …' only with a figure."""
    article = (match["article"] or "").casefold()
    if match["update"]:
        return True
    if article in ("my", "our"):
        return re.match(r"\w+ing\b", match["value"]) is None
    return bool(re.search(r"\d|^[A-Z]" if article else r"\d", match["value"]))


def _stated(match: re.Match[str], subject: str, update: bool = False) -> Iterator[Slot]:
    words = match["attribute"].casefold().split()
    attribute = " ".join(word for word in words if word not in stop_words())
    if not attribute or len(words) > 6 or words[-1] in _VAGUE:
        return
    value = _LEAD.sub("", re.sub(r" now$", "", match["value"].strip(" '\"“”")))
    told = match.groupdict()
    yield Slot(subject, attribute, value, update or bool(told.get("update")) or bool(_CUE.search(match[0])))


def _who(who: str, owner: str) -> str:
    return owner if who.casefold() in ("i", "we") else who.casefold()
