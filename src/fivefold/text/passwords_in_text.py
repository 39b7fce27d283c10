"""Passwords, PINs and door codes, which have no form of their own: they are found by what the text calls them."""

from __future__ import annotations

import re
from collections.abc import Iterator

_PLACES = "door|gate|alarm|entry|entrance|access|safe|locker|lock|lockbox|key[ _-]?(?:box|safe)|garage|building|unlock"
_NAMES = {
    "a PIN": r"pin(?:[ _-]?(?:code|number))?",
    "a door code": (
        rf"(?:{_PLACES}|security|house|front door)[ _-]?(?:code|combination|combo|pin)"
        rf"|(?:code|combination|combo)(?=\ (?:of|for|to|on)\ (?:\w{{1,20}}\ ){{0,3}}(?:{_PLACES}|house|flat|office)\b)"
        r"|türcode|zahlencode|code[ ]de[ ]la[ ]porte|digicode|código[ ]de[ ]la[ ]puerta"
    ),
    "a password": (
        r"pass[ _-]?(?:word|code|phrase|wd)s?|pass(?=\s?[:=])|pwd?(?=\s?[:=])|wi-?fi[ _-]key"
        r"|passwort|kennwort|mot[ ]de[ ]passe|contraseña|senha|wachtwoord"
    ),
}
"""What people call them. Some words count only before a colon, or with what they open."""
PASSWORD_KINDS = frozenset(_NAMES)

_HINT = re.compile(r"pass|pw|pin|code|códi|combo|combi|key|wort|contrase|senha|wachtw|://", re.IGNORECASE)
"""A text that names one has one of these."""
_NAME = re.compile(
    "|".join(f"(?P<n{place}>(?<![^\\W_])(?:{form})(?![^\\W\\d_]))" for place, form in enumerate(_NAMES.values())),
    re.IGNORECASE,
)
_QUOTED = r"""["“„«‹‘'`](?P<quoted>[^\s"“”„«»‹›`][^\n"“”„«»‹›`]{0,98}?)["”“»›’'`](?![^\W_])"""
_VALUE = (
    rf"(?:{_QUOTED}|(?P<digits>[*#]{{0,2}}\d(?:[ .-]?\d){{2,15}}[*#]{{0,2}})(?![\w@%°€$£])"
    r"|(?P<spelt>(?:(?:zero|oh|one|two|three|four|five|six|seven|eight|nine)[ -]?){3,12})\b"
    r"|(?P<word>[^\s\"“”„«»]{3,128}))"
)
_VERBS = r"is|was|are|were|will[ ]be|ist|lautet|war|est|es|è|é"
_CHANGED = r"(?:(?:is|was|has|have|been|got|now|just|changed|set|reset|updated)[ ]){1,4}to"
_LINK = (
    r"(?:\ ?(?:[(]|['’]s|for|of|to|on|at|in|für|pour|de|para|del)\b[^.:=?!\n]{0,60}?)?"
    rf"(?:\s{{0,3}}(?:[:=]|->|→)\s{{0,3}}|\s(?:{_CHANGED}|{_VERBS})(?:[ ](?:now|still|currently|just|again|jetzt))?"
    r"(?:\s{0,3}[:=]\s{0,3}|\s{1,3}))"
)
_AFTER = re.compile(rf"(?:{_LINK}|\s(?=[*#\d\"“„«`])){_VALUE}", re.IGNORECASE)
_CHANGED_TO = re.compile(rf"\ (?:to|into|as|auf|=>)\ {_VALUE}", re.IGNORECASE)
_BEFORE = re.compile(
    rf"(?:^|(?<=[\s(])){_VALUE}\ (?:is|was|as|ist|est|es)(?:\ (?:now|still))?"
    r"\ (?:the|my|our|his|her|their|your|das|der|mein|le|mon|la|mi)(?:\ [\w-]{1,30}){0,2}?[ -]$",
    re.IGNORECASE,
)
_IN_ADDRESS = re.compile(r"(?<=://)[^\s/:@]{0,100}:(?P<word>[^\s/@]{1,100})@")
_END = re.compile(r"[.,;!?)\]}…]*(?:\s*$|\s*\n|[.,;!?)](?:\s|$)|\s+(?:and|but|or|so|for|on|at|in|und|[(–—-]))")
"""The end of a clause: what stands before it is all that was said."""
_SENTENCE = re.compile(r"[^.;\n]+")
_CODE = re.compile(r"[A-Za-z_][\w.]*[(\[]|[\[<{]|\$[({A-Z_]|\*{3}|•{3}|\w+://")
"""A call, a placeholder or an address in place of a value."""
_ADJECTIVE = re.compile(r"(?:ed|ing|able|ible|ful|less|ous|ive|ly)$", re.IGNORECASE)
_PLAIN = frozenset(
    """
    about again also always and any anything ask back bad best better blank broken but bytes case common complex
    confirm correct default different difficult easy empty enough ever false field fine for from gone good hard here
    hint how incorrect input int invalid its just known later leaked like long longer lost max maximum mine min
    minimum missing more much must never new none not nothing now null number old once one only our outdated over
    please private public really required reset right safe same saved secret secure see set shared short simple
    something soon stale still stolen str string stuck such text that the their them there this too top true
    undefined under unique unknown unsafe use useless valid very weak what when where which who why with wrong you
    your
    """.split()
)
"""Words after the name that are not the thing itself."""
_FUNCTION = frozenset(
    "a an and are as at be by for from has if in is it no not of on or that the this to too very was with you".split()
)
_WINDOW = 160
"""Characters around a name that are looked at, so that the time is bounded."""


def passwords_in(text: str) -> Iterator[tuple[str, int, int]]:
    """The kind of each password, PIN or code that the text says, and where it stands."""
    if not _HINT.search(text):
        return
    for name in _NAME.finditer(text):
        kind = _kind(name)
        span = _after(text, name, kind) or _before(text, name.start(), kind)
        if span:
            yield kind, *span
    for match in _IN_ADDRESS.finditer(text):
        yield "a password", *match.span("word")


def kind_of_key(key: str) -> str | None:
    """What a key of metadata says that its value is, such as `wifi_password` or `doorCode`."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", key[-_WINDOW:])
    names = [name for name in _NAME.finditer(f"{spaced}:") if name.end() == len(spaced)]
    return _kind(names[0]) if names else None


def _kind(name: re.Match[str]) -> str:
    assert name.lastgroup is not None
    return list(_NAMES)[int(name.lastgroup[1:])]


def _after(text: str, name: re.Match[str], kind: str) -> tuple[int, int] | None:
    """ "my password: hunter2", "the PIN for the card is 4821", "I changed the password to hunter2"."""
    end = min(len(text), name.end() + _WINDOW)
    match = _AFTER.match(text, name.end(), end)
    if match and "phrase" in name[0].lower() and (span := _phrase(text, match, end)):
        return span
    if match and (span := _said(text, match, kind)):
        return span
    match = _CHANGED_TO.match(text, name.end(), end)
    return _said(text, match, kind, sure=False) if match else None


def _phrase(text: str, match: re.Match[str], end: int) -> tuple[int, int] | None:
    """The words of a passphrase up to the end of the sentence; with an article or the like it is a remark about it."""
    sentence = _SENTENCE.match(text, match.start("word"), end) if match["word"] else None
    words = sentence[0].lower().split() if sentence else []
    if sentence is None or not 3 <= len(words) <= 10 or _FUNCTION.intersection(words):
        return None
    return sentence.start(), sentence.start() + len(sentence[0].rstrip())


def _before(text: str, end: int, kind: str) -> tuple[int, int] | None:
    """ "hunter2 is my password"."""
    start = max(0, end - _WINDOW)
    match = _BEFORE.search(text[start:end])
    span = _said(text[start:end], match, kind, sure=False) if match else None
    return (start + span[0], start + span[1]) if span else None


def _said(text: str, match: re.Match[str], kind: str, sure: bool = True) -> tuple[int, int] | None:
    """Where the thing itself stands, if what follows its name is that; `sure` lets a plain word be a password."""
    if match["digits"] or match["spelt"]:
        if kind == "a password" and match["spelt"]:
            return None
        start, end = match.span("digits" if match["digits"] else "spelt")
        return start, start + len(text[start:end].rstrip(" -"))
    quoted = match["quoted"] is not None
    start, end = match.span("quoted" if quoted else "word")
    if not quoted:
        end = start + len(text[start:end].rstrip(".,;:)]}'’"))
    value = text[start:end]
    if len(value) < 3 or value.lower() in _PLAIN or _CODE.match(value):
        return None
    if kind != "a password":
        return (start, end) if sum(map(str.isdigit, value)) >= 2 and len(value) >= 4 else None
    if quoted or _is_made_up(value):
        return start, end
    alone = _END.match(text, end) is not None and not any(
        part in _PLAIN or _ADJECTIVE.search(part) for part in value.lower().split("-")
    )
    return (start, end) if sure and alone else None


def _is_made_up(value: str) -> bool:
    """Whether it has digits, signs or capitals inside, as words do not."""
    inside = value.replace("-", "").replace("’", "").replace("'", "")
    return not inside.isalpha() or (inside[1:].lower() != inside[1:] and inside.upper() != inside)
