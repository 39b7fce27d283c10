"""Secrets in a text: keys of well-known services, private keys, numbers of payment cards."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

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
_CARD = re.compile(r"(?<![\w.])(?:4|5[1-5]|2[2-7]|3[47]|6(?:011|5))(?:[ -]?\d){11,17}(?![\w-])")
"""Numbers that begin as those of Visa, Mastercard, American Express and Discover do."""

_TWELVE = re.compile(r"\d(?:[ -]?\d){11}")
"""As many digits as a number of a card has at least; quickly found to be missing."""

CARD_LENGTHS = range(13, 20)


@dataclass(frozen=True, slots=True)
class Secret:
    """What looks like a secret, and where it stands in the text."""

    kind: str
    start: int
    end: int


def find_secrets(text: str) -> list[Secret]:
    """What looks like a secret, in the order of the text; of two that overlap, the first."""
    found: list[Secret] = []
    for secret in sorted(_candidates(text), key=lambda each: (each.start, -each.end)):
        if not found or secret.start >= found[-1].end:
            found.append(secret)
    return found


def mask_secrets(text: str) -> str:
    """The text with a word in place of each secret."""
    parts, last = [], 0
    for secret in find_secrets(text):
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
    if _TWELVE.search(text):
        for match in _CARD.finditer(text):
            if _is_card(match[0]):
                yield Secret("the number of a payment card", *match.span())


def _is_card(number: str) -> bool:
    """Whether the last digit is the right one (Luhn)."""
    digits = [int(character) for character in number if character.isdigit()]
    doubled = [digit * 2 - 9 * (digit > 4) for digit in digits[-2::-2]]
    return len(digits) in CARD_LENGTHS and len(set(digits)) > 1 and (sum(doubled) + sum(digits[-1::-2])) % 10 == 0
