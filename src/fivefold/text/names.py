"""Entities and topics a text speaks of, found by rules: names by their capitals, codes by their shape."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import chain

from fivefold.text.calendar_words import MONTH_NAMES, WEEKDAY_NAMES
from fivefold.text.lexemes import (
    Gender,
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
_POSSESSED = re.compile(r"([^\W\d_]+)['’]s ")
_NEVER = frozenset(
    "mr mrs ms miss dr dra sra prof mister till user assistant ok lol xmas christmas easter halloween thanksgiving "
    "hanukkah unit mon tue tues wed thu thurs fri jan feb mar apr jun jul aug sep sept oct nov dec".split()
).union(WEEKDAY_NAMES, (f"{name}s" for name in WEEKDAY_NAMES), MONTH_NAMES) - {"may"}
"""Titles, days, months, feasts and the parts of a talk: written with a capital, and no name of anybody."""
_EPITHETS = frozenset("poor dear old little young sweet silly lovely".split())
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
    owner = _POSSESSED.match(run)
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
    if folded in _EPITHETS and len(words) == 2:
        return True
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

OF_RELATIVES = {
    f"{owner}'s {word}": role
    for line in phrase_lines("fivefold.text", "data/roles.txt")["of relatives"]
    for owners, words, role in [[cell.strip() for cell in line.split("|")]]
    for owner in owners.split()
    for word in words.split()
}
"""Roles of the relatives of the user's relatives: "sister's husband" is a brother-in-law."""

ONE_HOLDER = frozenset({"landlord", "dentist", "vet", "therapist"})
"""Roles that one person has at a time: a new one ends the old one."""

IS_CALLED = "is called"
"""The edge from the owner of a memory to the name that others use."""

KNOWN_AS = "known as"
"""The relation of a nickname, which becomes another name of one entity."""

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


# Words people use for a relation when they ask: 'boss', 'sister', 'dentist', and the edges they mean.

Edges = tuple[tuple[str, bool], ...]


@dataclass(frozen=True, slots=True)
class Relative:
    """The edges that lead from a person to the relative that the word means; an inverse edge is walked against its
    direction.

    If none does, `wider` edges are walked, and those who are known by an edge of `others` are left out: a sibling
    of unknown kind may be the sister, a brother never.
    """

    label: str
    edges: Edges
    wider: Edges = ()
    others: Edges = ()


def _both(label: str, relation: str) -> Relative:
    return Relative(label, ((relation, False), (relation, True)))


_WIDER: dict[str, Edges] = {
    "parent": (("child of", False), ("parent of", True)),
    "sibling": (("sibling of", False), ("sibling of", True)),
    "child": (("child of", True), ("parent of", False)),
}
_BOSS = Relative("boss", (("reports to", False), ("manages", True)))
_SPOUSE = _both("spouse", "married to")
_PARTNER = Relative(
    "partner", (("partner of", False), ("partner of", True), ("married to", False), ("married to", True))
)
_EMPLOYER = Relative("employer", (("works at", False),))
_SUCCESSOR = Relative("replacement", (("replaces", True),))
_OWNED = Relative("own", (("owns", False),))
_REPORTS = Relative("report", (("reports to", True), ("manages", False)))
_EX = Relative("ex-partner", (("ex-partner of", True),))
_PARENTS_IN_LAW = Relative("parent-in-law", (("mother-in-law of", True), ("father-in-law of", True)))


def _role(role: str) -> Relative:
    """The relative for a role of the table, and for kin of unknown kind the wider one."""
    general = GENERAL.get(role)
    same = [other for other, wide in GENERAL.items() if wide == general and other != role] if general else []
    own: Edges = ((relation_of(role), True),)
    if role == general:
        return Relative(role, (*_WIDER.get(role, own), *((relation_of(other), True) for other in same)))
    others = tuple((relation_of(other), True) for other in same if other != general)
    return Relative(role, own, _WIDER.get(general or "", ((relation_of(general), True),) if general else ()), others)


_ROLES = {word: _role(role) for word, role in ROLE_OF.items()}

RELATIVES: dict[str, Relative] = {
    **_ROLES,
    **{plural_of(word): relative for word, relative in _ROLES.items()},
    **dict.fromkeys(("boss", "bosses", "manager", "managers", "supervisor", "lead"), _BOSS),
    **dict.fromkeys(("husband", "wife", "spouse", "hubby"), _SPOUSE),
    **dict.fromkeys(("partner", "boyfriend", "girlfriend", "fiancé", "fiancée", "fiance", "fiancee"), _PARTNER),
    **dict.fromkeys(("ex-wife", "ex-husband", "ex-partner", "ex-girlfriend", "ex-boyfriend", "exes"), _EX),
    **dict.fromkeys(("in-laws", "parents-in-law"), _PARENTS_IN_LAW),
    **dict.fromkeys(("employer", "company", "firm", "workplace"), _EMPLOYER),
    **dict.fromkeys(("replacement", "successor"), _SUCCESSOR),
    **dict.fromkeys(("cat", "dog", "pet", "cats", "dogs", "pets", "project", "projects", "product"), _OWNED),
    **dict.fromkeys(("reports", "team"), _REPORTS),
    **dict.fromkeys(("friend", "friends"), _both("friend", "friend of")),
    **dict.fromkeys(("colleague", "colleagues", "coworker", "coworkers"), _both("colleague", "colleague of")),
}


# What tells two people of one name apart, and how a text speaks of somebody without a name.

MUTUAL = frozenset(
    {"married to", "partner of"}.union(
        map(relation_of, ("sibling", "friend", "colleague", "cousin", "flatmate", "neighbour"))
    )
)
"""Relations that hold both ways."""

TELLING = {"reports to", "manages", IS_CALLED} | MUTUAL | {relation_of(role) for role in ROLE_OF.values()}
"""Relations that say who somebody is: "my cousin Sam", "my manager Sam"."""

_BESIDES = frozenset(
    "flatmate neighbour tenant coach teacher mentor student client supervisor assistant ex-partner".split()
)
EXCLUSIVE = {"reports to", IS_CALLED} | {relation_of(role) for role in set(ROLE_OF.values()) - _BESIDES}
"""Relations of which one person has one: nobody is the cousin and the manager of the same person."""

_INVERSE = {"parent": "child", "child": "parent", "grandparent": "grandchild", "grandchild": "grandparent"}
_INVERSE |= {"sibling": "sibling"}


def role_in(relation: str, is_target: bool) -> tuple[str, bool]:
    """The role of one end of an edge to the other, put one way: someone who has a mother is her child."""
    if relation == "manages":
        return "reports to", not is_target
    inverse = _INVERSE.get(wider(relation))
    if is_target and inverse:
        return relation_of(inverse), False
    return relation, is_target and relation not in MUTUAL


def wider(relation: str) -> str:
    """The role of a relation, or the wider one: sibling for "sister of"."""
    role = relation.removesuffix(" of")
    return GENERAL.get(role, role)


_SAID = re.compile(
    r"\b(?P<whose>my|our|(?:the )?user['’]s) (?:(?:new|older|younger|elder|eldest|oldest|youngest|little|big) )?"
    rf"(?P<word>{'|'.join(sorted(map(re.escape, RELATIVES), key=len, reverse=True))})(?![\w-]|['’]s)",
    re.IGNORECASE,
)


def kin_said(text: str, by_user: bool) -> set[str]:
    """The words of `RELATIVES` by which a text speaks of the user's people: "my sister", "the user's boss"."""
    lower = text.casefold()
    if not ("my " in lower or "our " in lower if by_user else "user" in lower):
        return set()
    return {match["word"] for match in _SAID.finditer(lower) if by_user == (match["whose"] in ("my", "our"))}


# A text in which names mean the user, in the first person: "Marit lives here" as "I live here".


@dataclass(frozen=True, slots=True)
class Change:
    """A stretch of the question and what was meant."""

    start: int
    end: int
    text: str


_PERSON = {
    name: [line.split() for line in lines]
    for name, lines in phrase_lines("fivefold.text", "data/first_person.txt").items()
}
_FIRST_FORMS = {words[0]: words[-1] for words in (*_PERSON["verbs"], *([word] for word in _PERSON["alike"][0]))}
_PRONOUNS = {word: first for first, *words in _PERSON["pronouns"] for word in words}
_GENDERS = {word: gender for gender, *words in _PERSON["genders"] for word in words}
_NO_NOUN = frozenset(chain.from_iterable(_PERSON["not a noun"]))
_MAX_VERB_GAP = 40
"""Characters before a name in which the word stands that says how it belongs to the sentence."""


def _one_of(name: str) -> str:
    return "|".join(chain.from_iterable(_PERSON[name]))


_TURNED = rf"\b(?P<aux>{'|'.join(_FIRST_FORMS)}) $|\w(?P<short>['’]s) $"
"""An auxiliary before its subject: "does Marit", "where's Marit"."""
_OBJECT_OF, _CLAUSE = (rf"\b(?:{_one_of(name)}) $" for name in ("object of", "clause"))
_OWNED_BY_NAME = rf"(?:(?<=s)['’]|['’]s)(?![\w’'])(?P<is> (?:{_one_of('not owned')})\b)?(?P<thing> [\w\"“])?"
_VERB_BEHIND = rf" (?:(?:{_one_of('adverbs')}) )?(?P<verb>[a-z]+(?:['’]t)?)\b"
_PRONOUN_OF = rf"\b(?:{'|'.join(_PRONOUNS)})\b"


def told_by_user(text: str, own: Sequence[tuple[int, int]]) -> str:
    """A text in the first person, of which these stretches name the user: "Marit lives here" as "I live here"."""
    changes = in_first_person(text, own, [])
    pieces, at = [], 0
    for change in sorted(changes, key=lambda change: change.start):
        if change.start >= at:
            pieces += [text[at : change.start], change.text]
            at = change.end
    told = "".join((*pieces, text[at:]))
    return told[:1].upper() + told[1:]


def in_first_person(
    question: str, own: Sequence[tuple[int, int]], others: Sequence[int], gender: Gender | None = None
) -> list[Change]:
    """The changes by which stretches that name the user become "I", "me" or "my".

    A pronoun behind such a stretch means the user too, unless somebody else, at one of `others`, stands between.
    """
    changes = [change for span in own for change in _person_changed(question, *span)]
    for match in _ignoring_case(_PRONOUN_OF).finditer(question, min(end for _, end in own)):
        near = max(end for _, end in own if end <= match.start())
        between = any(near <= at < match.start() for at in others)
        if not between and (gender is None or _GENDERS.get(match[0].casefold(), gender) == gender):
            changes += _person_changed(question, *match.span(), _PRONOUNS[match[0].casefold()])
    return changes


def _person_changed(question: str, start: int, end: int, said: str = "") -> list[Change]:
    """A name or pronoun in the first person, with the verb that belongs to it; `said` is what a pronoun becomes."""
    ahead = question[max(0, start - _MAX_VERB_GAP) : start]
    behind = _ignoring_case(_VERB_BEHIND).match(question, end)
    word = behind["verb"].casefold().replace("’", "'") if behind else ""
    if said not in ("", "I"):
        if said == "my" and (not word or word in _NO_NOUN):
            said = "me" if question[start:end].casefold() == "her" else "mine"
        return [Change(start, end, said)]
    if owned := _ignoring_case(_OWNED_BY_NAME).match(question, end):
        said = "I'm" if owned["is"] else "my" if owned["thing"] else "mine"
        return [Change(start, owned.start("is") if owned["is"] else owned.end() - 2 * bool(owned["thing"]), said)]
    if turned := _ignoring_case(_TURNED).search(ahead):
        place = start - len(ahead) + turned.start(turned.lastgroup or 0)
        aux = " am" if turned["short"] else _FIRST_FORMS[turned["aux"].casefold().replace("’", "'")]
        return [Change(place, start - 1, aux), Change(start, end, "I")]
    verb = _first_form(word) if word in _FIRST_FORMS or word not in _NO_NOUN else ""
    if start == 0 and behind and not (verb and question[behind.end() :].strip(" ?.!")):
        return [Change(start, end, "my")]  # "Marit shoe size", "Marit allergies"
    if _ignoring_case(_OBJECT_OF).search(ahead) or not (verb or (word and _ignoring_case(_CLAUSE).search(ahead))):
        return [Change(start, end, "me")]
    changed = [Change(*behind.span("verb"), verb)] if behind and verb and verb != word else []
    return [Change(start, end, "I"), *changed]


@cache
def _ignoring_case(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


def _first_form(verb: str) -> str:
    """The verb as it follows "I": lives, live; studies, study. Empty if the word does not look like a verb."""
    if verb in _FIRST_FORMS or verb.endswith("ed"):
        return _FIRST_FORMS.get(verb, verb)
    if not verb.endswith("s") or verb.endswith("ss"):
        return ""
    return f"{verb[:-3]}y" if verb.endswith("ies") else re.sub(r"(?<=s|h|x|o)es$|s$", "", verb)
