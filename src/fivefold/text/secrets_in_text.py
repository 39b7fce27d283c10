"""Secrets in a text: keys of well-known services, private keys, numbers of payment cards, passwords said in words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from unicodedata import decimal

from fivefold.text.passwords_in_text import PASSWORD_KINDS, passwords_in

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
_KEY = re.compile(
    "|".join(f"(?P<k{place}>(?<![A-Za-z0-9_-]){form}(?![A-Za-z0-9]))" for place, form in enumerate(_KEYS.values()))
)
_SIGNS = (
    *("sk-", "AKIA", "ASIA", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "xox", "AIza"),
    *("k_live_", "k_test_", "hf_", "npm_", "pypi-", "ff_", "eyJ"),
)
"""Every key has one of these, and most texts have none."""
_BLOCK = re.compile(
    r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY-----.*?(?:-----END (?:[A-Z0-9]+ )*PRIVATE KEY-----|\Z)", re.DOTALL
)
_HIDDEN = "\u00ad\u180e\u200b-\u200f\u2060\ufeff"
"""Characters without a width."""
_GAPS = " .\u00b7\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000\u2010-\u2015\u2212\ufe63\uff0d\uff0e-"
"""What stands between the groups of a number: spaces of any width, dots and dashes."""
_NUMBER = re.compile(rf"\d(?:[{_HIDDEN}{_GAPS}]{{0,3}}\d){{12,}}")
"""As many digits, of any script, as a number of a card has at least."""
_GROUP = re.compile(rf"\d(?:[{_HIDDEN}]{{0,3}}\d)*")
_CARD = re.compile(r"4|5[1-5]|2[2-7]|3[47]|6(?:011|5)")
"""Numbers that begin as those of Visa, Mastercard, American Express and Discover do."""
CARD_LENGTHS = range(13, 20)
CARD_GROUPS = {(4, 4, 4, 4), (4, 6, 5), (4, 4, 4, 1), (4, 4, 4, 4, 3), *((length,) for length in CARD_LENGTHS)}
"""The groups that a number of a card is printed in. Without dots, one that stands alone may have others."""


@dataclass(frozen=True, slots=True)
class Secret:
    """What looks like a secret, and where it stands in the text."""

    kind: str
    start: int
    end: int

    @property
    def is_password(self) -> bool:
        """Whether it is known only by what the text calls it."""
        return self.kind in PASSWORD_KINDS


def find_secrets(text: str) -> list[Secret]:
    """What looks like a secret, in the order of the text; of two that overlap, the first."""
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
            alone = last - place > 1 or not _has_point(text, *spans[place])
            if alone and tuple(sizes[place:last]) in CARD_GROUPS and _is_card("".join(groups[place:last])):
                yield spans[place][0], spans[last - 1][1]


def _touches(sign: str) -> bool:
    return sign.isalnum() or sign == "_"


def _has_point(text: str, start: int, end: int) -> bool:
    """Whether the digits are a part of a decimal number."""
    return text[max(0, start - 1) : start] == "." or bool(re.match(r"\.\d", text[end : end + 2]))


def _is_card(number: str) -> bool:
    """Whether it begins and is as long as the number of a card, and its last digit is the right one (Luhn)."""
    if len(number) not in CARD_LENGTHS or not _CARD.match(number) or len(set(number)) == 1:
        return False
    digits = [int(digit) for digit in number]
    doubled = [digit * 2 - 9 * (digit > 4) for digit in digits[-2::-2]]
    return (sum(doubled) + sum(digits[-1::-2])) % 10 == 0
