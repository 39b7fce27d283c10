"""Statements of the form subject – attribute – value, by which a later one replaces an earlier one."""

from __future__ import annotations

import re
from collections.abc import Iterator

from fivefold.lexemes import lexemes, stop_words
from fivefold.memory import ROLES, Slot

_PLACE = r"(?P<value>(?:the )?[A-Z\u00c0-\u00de][\w’'-]*(?:[ -][A-Z\u00c0-\u00de][\w’'-]*)*(?: (?:office|branch|team|site))?)"
_WHO = r"(?P<who>\b[Ii]|\b[Ww]e|[A-Z][a-z]+(?: [A-Z][a-z]+)?)"
_HAVE = r"(?:['’](?:ve|m|re|s)| have| am| is| are| has| just| recently| finally| now| also| actually)*"
_VALUE = r"(?P<value>[^.,;!?\n]{1,60})"
_TO = (
    r"(?:is now|are now|has (?:been )?moved to|moved to|was moved to|has changed to|changed to|went (?:up|down) to"
    r"|slipped to|has slipped to|got pushed to|is pushed to|was pushed to|is up to|is down to|dropped to|rose to)"
)

_LIVES = re.compile(rf"{_WHO}{_HAVE} (?:lives?|living)(?: \w+ly)? in {_PLACE}")
_MOVED = re.compile(
    rf"{_WHO}{_HAVE} (?:moved|relocated|moving)(?: (?:house|back|over|away|down|up|permanently))?"
    rf"(?: from (?:the )?[A-Z][\w’'-]*(?: [A-Z][\w’'-]*)*)? to {_PLACE}"
)
_WORKS = re.compile(rf"{_WHO}{_HAVE} (?:works?|working) (?:at|for) {_PLACE}")
_JOINED = re.compile(rf"{_WHO}{_HAVE} (?:joined|started (?:at|working (?:at|for))|moved over to work (?:at|for)) {_PLACE}")
_AGE = re.compile(r"\b[Ii](?:'m|’m| am) (?P<value>\d{1,2})(?: years old)?(?=[.,!;]|$| now| years)|\b[Ii] turned (?P<turned>\d{1,2})\b")
_MINE = re.compile(
    rf"\b[Mm]y (?P<attribute>[a-z][\w’' -]{{1,40}}?) (?:(?P<update>{_TO})|is|are|=) (?:(?P<now>now|actually) )?{_VALUE}"
)
_THEIRS = re.compile(
    rf"(?P<who>[A-Z][a-z]+(?: [A-Z][a-z]+)?)['’]s (?P<attribute>[a-z][\w -]{{1,40}}?) (?:(?P<update>{_TO})|is|are) {_VALUE}"
)
_THE = re.compile(
    rf"\b[Tt]he (?P<attribute>[\w][\w -]{{1,50}}?) (?:(?P<update>{_TO})|is|=) {_VALUE}", re.DOTALL
)
_BACK = re.compile(
    r"^(?:(?:oh|ah|hmm|um)[,. ]+)?(?:actually|correction|scratch that|sorry|wait|no)[,:.—– -]+.{0,40}?"
    r"(?:it['’]s|it is|that['’]s|make (?:it|that)|now)\s+(?P<value>[^.;!?\n]{1,60})"
    r"|^(?:it['’]s|it is) (?:actually )?(?P<now>[^.;!?\n]{1,30}) now\b",
    re.IGNORECASE,
)
_VAGUE = frozenset(
    "problem question point idea guess plan hope worry thing issue feeling rule goal dream advice only favorite favourite "
    "mistake answer reason concern theory best next first last other".split()
)
_ONE_VALUE = re.compile(
    r"^(?:lives in|works at|works in|age|role)$|address|phone|number|e-?mail|password|birthday|budget|deadline|rate|weight"
    r"|height|date|time-?out|salary|rent|favou?rite|badge|\bid\b|size|port|version|name|password|plate"
)
_CUE = re.compile(r"\b(?:now|actually|instead|anymore|no longer|changed|switched|updated|new|as of)\b", re.IGNORECASE)


def slots(text: str, speaker: str | None) -> tuple[Slot, ...]:
    """The statements of `text`. First person means the speaker; an assistant's 'I' states nothing."""
    owner = (speaker or "user").casefold()
    if owner in ROLES and owner not in ("user", "human"):
        return ()
    owner = "user" if owner in ROLES else owner
    found = {(slot.subject, slot.attribute): slot for slot in _find(text, owner)}
    return tuple(found.values())


def refers_back(text: str) -> str | None:
    """The new value when the text corrects what was just said: 'actually it's 45 now' gives '45'."""
    match = _BACK.search(text.strip())
    if match is None:
        return None
    value = re.sub(r"\b(?:now|actually)\b", "", match["value"] or match["now"], flags=re.IGNORECASE).strip(" ,")
    return value or None


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
    for match in _MINE.finditer(text):
        yield from _stated(match, owner)
    for match in _THEIRS.finditer(text):
        yield from _stated(match, match["who"].casefold())
    for match in _THE.finditer(text):
        if match["update"] or re.search(r"\d|^[A-Z]", match["value"]):
            yield from _stated(match, "")


def _stated(match: re.Match[str], subject: str) -> Iterator[Slot]:
    words = match["attribute"].casefold().split()
    attribute = " ".join(word for word in words if word not in stop_words())
    if not attribute or len(words) > 5 or words[-1] in _VAGUE:
        return
    value = re.sub(r" now$", "", match["value"].strip(" '\"“”"))
    yield Slot(subject, attribute, value, bool(match["update"]) or bool(_CUE.search(match[0])))


def _who(who: str, owner: str) -> str:
    return owner if who.casefold() in ("i", "we") else who.casefold()
