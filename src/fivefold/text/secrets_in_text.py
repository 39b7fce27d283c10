"""Secrets in a text: keys of well-known services, private keys, numbers of payment cards, passwords said in words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from unicodedata import decimal

from fivefold.text.lexemes import late_pattern

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
"""Names that people use for secrets. Some words count only before a colon, or with the thing they open."""
PASSWORD_KINDS = frozenset(_NAMES)

_HINTS = "pass|pw|pin|code|códi|combo|combi|key|wort|contrase|senha|wachtw|://"
"""A text that names one has one of these."""
_HINT = late_pattern(_HINTS, re.IGNORECASE)
_ASCII_HINTS = tuple(filter(str.isascii, _HINTS.split("|")))
_NAME = late_pattern(
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
_AFTER = late_pattern(rf"(?:{_LINK}|\s(?=[*#\d\"“„«`])){_VALUE}", re.IGNORECASE)
_CHANGED_TO = late_pattern(rf"\ (?:to|into|as|auf|=>)\ {_VALUE}", re.IGNORECASE)
_BEFORE = late_pattern(
    rf"(?:^|(?<=[\s(])){_VALUE}\ (?:is|was|as|ist|est|es)(?:\ (?:now|still))?"
    r"\ (?:the|my|our|his|her|their|your|das|der|mein|le|mon|la|mi)(?:\ [\w-]{1,30}){0,2}?[ -]$",
    re.IGNORECASE,
)
_IN_ADDRESS = late_pattern(r"(?<=://)[^\s/:@]{0,100}:(?P<word>[^\s/@]{1,100})@")
_END = late_pattern(r"[.,;!?)\]}…]*(?:\s*$|\s*\n|[.,;!?)](?:\s|$)|\s+(?:and|but|or|so|for|on|at|in|und|[(–—-]))")
"""The end of a clause: what stands before it is all that was said."""
_SENTENCE = late_pattern(r"[^.;\n]+")
_CODE = late_pattern(r"[A-Za-z_][\w.]*[(\[]|[\[<{]|\$[({A-Z_]|\*{3}|•{3}|\w+://")
"""A call, a placeholder or an address in place of a value."""
_ADJECTIVE = late_pattern(r"(?:ed|ing|able|ible|ful|less|ous|ive|ly)$", re.IGNORECASE)
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
    """The kind of each password, PIN or code in the text, and its place."""
    lower = text.lower()
    if not (any(hint in lower for hint in _ASCII_HINTS) if text.isascii() else _HINT.search(text)):
        return
    for name in _NAME.finditer(text):
        kind = _kind(name)
        span = _after(text, name, kind) or _before(text, name.start(), kind)
        if span:
            yield kind, *span
    for match in _IN_ADDRESS.finditer(text):
        yield "a password", *match.span("word")


def kind_of_key(key: str) -> str | None:
    """The kind of value that a key of metadata names, such as `wifi_password` or `doorCode`."""
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
    """The place of the secret itself, if one follows its name; `sure` lets a plain word be a password."""
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
    plain = re.sub("[-’']", "", value)
    if quoted or not plain.isalpha() or (plain[1:].lower() != plain[1:] and plain.upper() != plain):
        return start, end  # digits, signs or capitals inside, as words do not have
    alone = _END.match(text, end) is not None and not any(
        part in _PLAIN or _ADJECTIVE.search(part) for part in value.lower().split("-")
    )
    return (start, end) if sure and alone else None


_KEYS = {
    "an API key of Anthropic": r"sk-ant-[\w-]{20,}",
    "an API key of OpenAI": r"sk-(?!ant-)(?=[\w-]*\d)(?=[\w-]*[A-Z])[\w-]{20,}",
    "an access key of AWS": r"(?:AKIA|ASIA)[0-9A-Z]{16}",
    "a token of GitHub": r"(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_\w{22,})",
    "a token of GitLab": r"glpat-[\w-]{20,}",
    "a token of Slack": r"xox[abeoprs]-[A-Za-z0-9-]{10,}",
    "an API key of Google": r"AIza[\w-]{35}",
    "a key of Stripe": r"[rs]k_(?:live|test)_[A-Za-z0-9]{16,}",
    "a token of Hugging Face": r"hf_[A-Za-z0-9]{30,}",
    "a token of npm": r"npm_[A-Za-z0-9]{36}",
    "a token of PyPI": r"pypi-[\w-]{50,}",
    "an API key of fivefold": r"ff_[0-9a-f]{12}_[0-9a-f]{48}",
    "a JSON web token": r"eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}",
}
_KEY = late_pattern(
    "|".join(f"(?P<k{place}>(?<![A-Za-z0-9_-]){form}(?![A-Za-z0-9]))" for place, form in enumerate(_KEYS.values()))
)
_SIGNS = (
    *("sk-", "AKIA", "ASIA", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "xox", "AIza"),
    *("k_live_", "k_test_", "hf_", "npm_", "pypi-", "ff_", "eyJ"),
)
"""Every key has one of these, and most texts have none."""
_BLOCK = late_pattern(
    r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY-----.*?(?:-----END (?:[A-Z0-9]+ )*PRIVATE KEY-----|\Z)", re.DOTALL
)
_HIDDEN = "\u00ad\u180e\u200b-\u200f\u2060\ufeff"
"""Characters without a width."""
_GAPS = " .\u00b7\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000\u2010-\u2015\u2212\ufe63\uff0d\uff0e-"
"""Signs between the groups of a number: spaces of any width, dots and dashes."""
_NUMBER = late_pattern(rf"\d(?:[{_HIDDEN}{_GAPS}]{{0,3}}\d){{12,}}")
"""As many digits, of any script, as a number of a card has at least."""
_GROUP = late_pattern(rf"\d(?:[{_HIDDEN}]{{0,3}}\d)*")
_CARD = late_pattern(r"4|5[1-5]|2[2-7]|3[47]|6(?:011|5)")
"""Numbers that begin like cards of Visa, Mastercard, American Express and Discover."""
CARD_LENGTHS = range(13, 20)
CARD_GROUPS = {(4, 4, 4, 4), (4, 6, 5), (4, 4, 4, 1), (4, 4, 4, 4, 3), *((length,) for length in CARD_LENGTHS)}
"""The groups that a number of a card is printed in. Without dots, one that stands alone may have others."""


@dataclass(frozen=True, slots=True)
class Secret:
    """A text that looks like a secret, and its place."""

    kind: str
    start: int
    end: int


def find_secrets(text: str) -> list[Secret]:
    """All texts that look like a secret, in the order of the text; of two that overlap, the first."""
    found: list[Secret] = []
    for secret in sorted(_candidates(text), key=lambda each: (each.start, -each.end)):
        if not found or secret.start >= found[-1].end:
            found.append(secret)
    return found


def mask_secrets(text: str, secrets: Sequence[Secret] | None = None) -> str:
    """The text with a word in place of each secret, or of each of these."""
    parts, last = [], 0
    for secret in find_secrets(text) if secrets is None else secrets:
        parts += [text[last : secret.start], f"[{secret.kind}]"]
        last = secret.end
    return "".join((*parts, text[last:]))


def _candidates(text: str) -> Iterator[Secret]:
    if any(sign in text for sign in _SIGNS):
        names = list(_KEYS)
        for match in _KEY.finditer(text):
            assert match.lastgroup is not None
            yield Secret(names[int(match.lastgroup[1:])], *match.span())
    if "PRIVATE KEY" in text:
        yield from (Secret("a private key", *match.span()) for match in _BLOCK.finditer(text))
    for match in _NUMBER.finditer(text):
        yield from (Secret("the number of a payment card", *span) for span in _cards(text, *match.span()))
    yield from (Secret(*found) for found in passwords_in(text))


def _cards(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The numbers of cards among groups of digits; a group that touches a word or a decimal point does not count."""
    spans = [match.span() for match in _GROUP.finditer(text, start, end)]
    if text[max(0, start - 1) : start] == "." or _touches(text[max(0, start - 1) : start]):
        spans = spans[1:]
    if _touches(text[end : end + 1]):
        spans = spans[:-1]
    groups = ["".join(str(decimal(sign)) for sign in text[first:last] if sign.isdecimal()) for first, last in spans]
    if groups and "." not in text[start:end] and _is_card("".join(groups)):
        yield spans[0][0], spans[-1][1]
        return
    sizes = [len(group) for group in groups]
    for place in range(len(groups)):
        for last in range(place + 1, min(place + 5, len(groups)) + 1):
            start, end = spans[place]
            decimals = text[max(0, start - 1) : start] == "." or re.match(r"\.\d", text[end : end + 2])
            alone = last - place > 1 or not decimals
            if alone and tuple(sizes[place:last]) in CARD_GROUPS and _is_card("".join(groups[place:last])):
                yield spans[place][0], spans[last - 1][1]


def _touches(sign: str) -> bool:
    return sign.isalnum() or sign == "_"


def _is_card(number: str) -> bool:
    """True if it begins and is as long as the number of a card, and its last digit is the right one (Luhn)."""
    if len(number) not in CARD_LENGTHS or not _CARD.match(number) or len(set(number)) == 1:
        return False
    digits = [int(digit) for digit in number]
    doubled = [digit * 2 - 9 * (digit > 4) for digit in digits[-2::-2]]
    return (sum(doubled) + sum(digits[-1::-2])) % 10 == 0
