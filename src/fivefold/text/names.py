"""Entities and topics a text speaks of, found by rules: names by their capitals, codes by their shape."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache, lru_cache
from importlib import resources

from fivefold.text.lexemes import stop_words
from fivefold.values.extraction import Mention
from fivefold.values.graph import EntityKind
from fivefold.values.memory import ROLES

MAX_TOPICS = 4

LONGEST = 200
"""Characters of the longest name, identifier or topic; questions do not use a longer one."""

_CODE_SIGN = re.compile(r"[\d@/\\_]")
_IDENTIFIER = re.compile(
    r"[\w.+-]{1,64}+@[\w-]+(?:\.[\w-]+)+"  # e-mail address
    r"|https?://[^\s<>\"']+"
    r"|(?<![\w/])(?:~?/|[A-Za-z]:\\)[\w.-]+(?:[/\\][\w.-]+)+"  # path
    r"|\b[A-Z][A-Z0-9]{0,9}-\d{2,}\b"  # JIRA-9921, E-47821
    r"|\b[a-z][a-z0-9]*(?:_[a-z0-9]+)+\b"  # snake_case
    r"|\bv?\d+\.\d+\.\d+(?:-[\w.]+)?\b"  # version
    r"|\b(?=\w*\d)(?=\w*[A-Za-z])[A-Z0-9]{5,}\b"  # booking reference, serial number
)
_CAPITAL = r"(?:[A-Z\u00c0-\u00de][\w’'\u00c0-\u024f]*)"
_NAME = re.compile(rf"{_CAPITAL}(?:(?:[ -](?:of|de|van|von|der|la|&))?[ -]{_CAPITAL})*")
_SENTENCE = re.compile(r"(?:^|[.!?:;\n\"“(—–-]\s*)$")
_TOPIC = re.compile(
    r"\b(?P<lead>(?:my|our|his|her|their|the|a|an|this|that|new|about|some|of|for)\s+)?(?P<word>[a-z][a-z-]{3,})\b"
)
_FIRST_NAMES = frozenset(
    "amy ashley beverly carly emily kelly sally molly polly holly billy lily fred ted alfred ahmed mohammed "
    "sterling".split()
)
"""Given names that end like an adverb or a verb."""

_NOT_NOUN = re.compile(r"(?:ly|ing|ed|ous|ive|ful|able|ible)$")


@cache
def common_words() -> frozenset[str]:
    lines = resources.files("fivefold.text").joinpath("data/common.txt").read_text("utf-8").splitlines()
    return frozenset(word for line in lines if not line.startswith("#") for word in line.split())


def mentions(text: str, speaker: str | None = None) -> tuple[Mention, ...]:
    """Every entity and topic of `text`, the speaker among them when it is a person."""
    counts: Counter[tuple[str, EntityKind]] = Counter()
    if speaker and speaker.casefold() not in ROLES:
        counts[speaker.strip(), "person"] += 1
    rest = _set_codes_apart(text, counts) if _CODE_SIGN.search(text) else text
    for match in _NAME.finditer(rest):
        if len(match[0]) > LONGEST:
            continue
        opens = bool(_SENTENCE.search(rest[max(0, match.start() - 3) : match.start()]))
        name = _trim(match[0], opens)
        if name:
            counts[name, "name"] += 1
    for topic in _topics(rest):
        counts[topic, "topic"] += 1
    return tuple(_one_each(counts))


def _set_codes_apart(text: str, counts: Counter[tuple[str, EntityKind]]) -> str:
    """Count the identifiers, and give the text without them."""
    words = text.split(" ")
    for i, word in enumerate(words):
        if _CODE_SIGN.search(word):
            for match in _IDENTIFIER.finditer(word):
                if len(match[0]) <= LONGEST:
                    counts[match[0].rstrip(".,"), "identifier"] += 1
            words[i] = _IDENTIFIER.sub(" ", word)
    return " ".join(words)


@lru_cache(maxsize=50_000)
def _trim(name: str, opens: bool) -> str:
    """A run of capitalised words without what only a sentence's start or grammar made capital."""
    words = re.sub(r"['’]s?$", "", name).split(" ")
    while words and _plain(words[0], opens) and not (words[0] == "New" and len(words) > 1):
        words, opens = words[1:], False
    while words and _plain(words[-1], False):
        words = words[:-1]
    name = " ".join(words)
    return name if len(name) > 2 else ""


def _plain(word: str, opens: bool) -> bool:
    folded = re.sub(r"['’].*$", "", word).casefold()
    grammar = folded in stop_words() or word.casefold() in stop_words()
    ending = opens and folded not in _FIRST_NAMES and re.search(r"(?:ly|ing|ed)$", folded) is not None
    return grammar or folded in common_words() or ending


def _topics(text: str) -> list[str]:
    """Nouns most likely to be what the text is about: those after an article or possessive first."""
    led: dict[str, None] = {}
    bare: dict[str, None] = {}
    for match in _TOPIC.finditer(text):
        topic = _topic(match["word"]) if len(match["word"]) <= LONGEST else ""
        if topic:
            (led if match["lead"] else bare).setdefault(topic)
    return list(dict.fromkeys((*led, *bare)))[:MAX_TOPICS]


@lru_cache(maxsize=50_000)
def _topic(word: str) -> str:
    if word in common_words() or word in stop_words() or _NOT_NOUN.search(word):
        return ""
    singular = word[:-1] if word.endswith("s") and not word.endswith(("ss", "us", "is")) else word
    return "" if singular in common_words() else singular


def _one_each(counts: Counter[tuple[str, EntityKind]]) -> list[Mention]:
    """One mention a name, letter case aside; the first spelling and the strongest kind win."""
    merged: dict[str, Mention] = {}
    for (name, kind), count in counts.items():
        key = name.casefold()
        known = merged.get(key)
        merged[key] = Mention(known.name, known.kind, known.count + count) if known else Mention(name, kind, count)
    return list(merged.values())
