"""Entities and topics a text speaks of, found by rules: names by their capitals, codes by their shape."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

from fivefold.text.calendar_words import MONTH_NAMES, WEEKDAY_NAMES
from fivefold.text.lexemes import (
    common_words,
    empty_on_forget,
    given_names,
    ordinary_words,
    phrase_lines,
    stop_words,
    words_of,
)
from fivefold.values.entities import EntityKind, Mention
from fivefold.values.memory import ROLES

MAX_TOPICS = 4

MAX_NAME_CHARACTERS = 200
"""Characters of the longest name, identifier or topic; questions do not use a longer one."""

_CODE_SIGN = re.compile(r"[\d@/\\_]")
_IDENTIFIER = re.compile(
    r"[\w.+-]{1,64}+@[\w-]+(?:\.[\w-]+)+"  # e-mail address
    r"|https?://[^\s<>\"']+"
    r"|(?<![\w/])(?:~?/|[A-Za-z]:\\)[\w.-]+(?:[/\\][\w.-]+)+"  # path
    r"|\b[A-Z][A-Z0-9]{0,9}-\d{2,}(?:-[A-Z0-9]+)*\b"  # JIRA-9921, E-47821, MM-770-4426
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
_OWNED = re.compile(r"([^\W\d_]+)['’]s ")
_NEVER = frozenset(
    "mr mrs ms miss dr prof mister user assistant ok lol xmas christmas easter halloween thanksgiving hanukkah unit "
    "mon tue tues wed thu thurs fri jan feb mar apr jun jul aug sep sept oct nov dec".split()
).union(WEEKDAY_NAMES, (f"{name}s" for name in WEEKDAY_NAMES), MONTH_NAMES) - {"may"}
"""Titles, days, months, feasts and the parts of a talk: written with a capital, and no name of anybody."""
_ENDING = re.compile(r"(?:ly|ing|ed|tion|sion|ment|ness|ship|ism|ists?|ings|tions|ments)$")
_GERMAN = frozenset(
    "und ich der ist nicht wir mit für ein eine dem auf habe hat das zum zur auch noch beim vom im".split()
)
_GERMAN_NAME = re.compile(r"\b(?:in|nach|aus|bei|von|herr|frau|dr\.?|mit|und)\s$", re.IGNORECASE)
MIN_GERMAN_WORDS = 3
"""Minimum number of German words in a German text."""

_NUMERALS = frozenset(
    "eight nine eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty thirty forty fifty "
    "sixty seventy eighty ninety hundred thousand million dozen fourth fifth sixth seventh eighth ninth tenth".split()
)
_NOT_NOUN = re.compile(r"(?:ly|ing|ed|ous|ive|ful|able|ible)$")


def mentions(text: str, speaker: str | None = None) -> tuple[Mention, ...]:
    """Every entity and topic of `text`, the speaker among them when it is a person."""
    counts: Counter[tuple[str, EntityKind]] = Counter()
    if speaker and speaker.casefold() not in ROLES:
        counts[speaker.strip(), "person"] += 1
    rest = _set_codes_apart(text, counts)
    german = len(_GERMAN & words_of(rest)) >= MIN_GERMAN_WORDS
    for match in _NAME.finditer(rest):
        if len(match[0]) <= MAX_NAME_CHARACTERS:
            ahead = rest[max(0, match.start() - 8) : match.start()]
            for name in _names(match[0], bool(_SENTENCE.search(ahead)), german and not _GERMAN_NAME.search(ahead)):
                counts[name, "name"] += 1
    for topic in _topics(rest):
        counts[topic, "topic"] += 1
    return tuple(_one_each(counts))


def _set_codes_apart(text: str, counts: Counter[tuple[str, EntityKind]]) -> str:
    """Count the identifiers, and give the text without them."""
    parts, last = [], 0
    for start, end in _coded_words(text):
        word = text[start:end]
        for match in _IDENTIFIER.finditer(word):
            if len(match[0]) <= MAX_NAME_CHARACTERS:
                counts[match[0].rstrip(".,"), "identifier"] += 1
        parts += [text[last:start], _IDENTIFIER.sub(" ", word)]
        last = end
    return "".join((*parts, text[last:]))


def _coded_words(text: str) -> Iterator[tuple[int, int]]:
    """The words, as spaces part them, that may be identifiers."""
    end = 0
    while sign := _CODE_SIGN.search(text, end):
        start = text.rfind(" ", end, sign.start()) + 1 or end
        end = text.find(" ", sign.end())
        end = len(text) if end < 0 else end
        yield start, end


@lru_cache(maxsize=50_000)
def _names(run: str, opens: bool, german: bool) -> tuple[str, ...]:
    """The names in a run of capitalised words: "Melissa's Subaru" has two. Every German noun has a capital, so there
    only a known given name counts."""
    left, of, right = run.partition(" de ")
    pieces = [right if of and opens and _first(right) in given_names() and _first(left) not in given_names() else run]
    owner = _OWNED.match(run)
    if owner and owner[1].casefold() in given_names():
        pieces = [owner[1], run[owner.end() :]]
    found = (_trim(piece, opens and not place) for place, piece in enumerate(pieces))
    return tuple(name for name in found if name and not (german and _first(name) not in given_names()))


empty_on_forget(_names.cache_clear)


def _first(name: str) -> str:
    return name.split(" ", 1)[0].casefold()


def _trim(name: str, opens: bool) -> str:
    """A run of capitalised words without what only a sentence's start or grammar made capital."""
    words = re.sub(r"['’]s?$", "", name).split(" ")
    if len(words) > 1 and name.isupper() and not stop_words().isdisjoint(word.casefold() for word in words):
        return ""  # a sentence in capitals
    while words and _leads(words, opens):
        words, opens = words[1:], False
    while words and _plain(words[-1], False):
        words = words[:-1]
    name = " ".join(words)
    return name if len(name) > 2 or name.casefold() in given_names() else ""


def _leads(words: list[str], opens: bool) -> bool:
    """True if the first word only comes before a name: "Yesterday Sam", "Driver Mike"; "Lake Erie" is one name."""
    word = words[0]
    folded = re.sub(r"['’].*$", "", word).casefold()
    if len(words) == 1 or folded in _NEVER or folded in stop_words():
        return _plain(word, opens) and not (word == "New" and len(words) > 1)
    if opens and folded in common_words():
        return word != "New"
    following = words[1].casefold()
    return opens and folded in ordinary_words() and (following in given_names() or following in _NEVER)


def _plain(word: str, opens: bool) -> bool:
    folded = re.sub(r"['’].*$", "", word).casefold()
    if folded in stop_words() or word.casefold() in stop_words() or folded in common_words() or folded in _NEVER:
        return True
    if not opens and not word.isupper():
        return False
    return folded in ordinary_words() or (opens and folded not in given_names() and _ENDING.search(folded) is not None)


def _topics(text: str) -> list[str]:
    """Nouns most likely to be what the text is about: those after an article or possessive first."""
    led: dict[str, None] = {}
    bare: dict[str, None] = {}
    for lead, word in _TOPIC.findall(text):
        if (lead or len(bare) < MAX_TOPICS) and len(word) <= MAX_NAME_CHARACTERS and (topic := _topic(word)):
            (led if lead else bare).setdefault(topic)
            if len(led) == MAX_TOPICS:
                break
    return list(dict.fromkeys((*led, *bare)))[:MAX_TOPICS]


@lru_cache(maxsize=50_000)
def _topic(word: str) -> str:
    if word in common_words() or word in stop_words() or word in _NUMERALS or _NOT_NOUN.search(word):
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


def _roles(section: str, column: int) -> dict[str, str]:
    """Each word of a section of `roles.txt` with its role, or each role with what stands in a further column."""
    lines = phrase_lines("fivefold.text", "data/roles.txt")[section]
    rows = [[cell.strip() for cell in line.split("|")] for line in lines]
    if column == 1:
        return {word: row[0] for row in rows for word in row[1].split()}
    return {row[0]: row[column] for row in rows if row[column]}


KIN_ROLES, OTHER_ROLES = _roles("kin", 1), _roles("others", 1)
"""Words of kinship, and for others such as flatmate or dentist, each with one name for all that mean the same."""
ROLE_OF = KIN_ROLES | OTHER_ROLES

GENERAL = _roles("kin", 2)
"""The wider role of some: a sister is a sibling. Without her own word she may still be found by it."""

ONE_HOLDER = frozenset({"landlord", "dentist", "vet", "therapist"})
"""Roles that one person has at a time: a new one ends the old one."""

IS_CALLED = "is called"
"""The edge from the owner of a memory to the name that others use."""

SURE_NAME = 0.7
"""Confidence from which such a name is the user's; a single greeting by an assistant stays below it."""

_PLURALS = {"child": "children", "grandchild": "grandchildren", "stepchild": "stepchildren", "godchild": "godchildren"}


def plural_of(word: str) -> str:
    """The plural of a word for a person: sisters-in-law, children, nannies."""
    if word in _PLURALS:
        return _PLURALS[word]
    head, law, _ = word.partition("-in-law")
    if word.endswith("y") and not word.endswith(("ay", "ey")):
        return f"{word[:-1]}ies"
    return re.sub(r"(?<=ch)s$", "es", f"{head}s") + law


def relation_of(role: str) -> str:
    """The name of the edge from the one who has a role to whose it is."""
    return f"{role} of"
