"""Entity references of a question, resolved to the namespace's entities (R1, R7).

Names are looked up by an index over aliases, so the cost grows with the question and not with the entities.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from fivefold.stores.interface import Reader
from fivefold.stores.records import AliasMatch
from fivefold.text.lexemes import common_words, lexemes, stop_words
from fivefold.text.names import GENERAL, IS_CALLED, ROLE_OF, plural_of, relation_of
from fivefold.values.query import EntityRef, Meaning, NamePrior
from fivefold.values.registry import Parts

NAME_PRIORS: Parts[Callable[[str, Sequence[AliasMatch], Reader], dict[int, float]]] = Parts(
    {"questions": "fivefold.designs.recall:past_meanings"}
)
"""Functions that count how often a name meant each of its entities, besides the memories (R7)."""


def prior(counts: Mapping[int, float], portions: Mapping[int, float]) -> dict[int, float]:
    """The shares of past questions; that of the memories counts as one more, and alone if none was asked."""
    total = sum(counts.values()) + 1
    return {entity: (counts.get(entity, 0.0) + portion) / total for entity, portion in portions.items()}


# Words people use for a relation when they ask: 'boss', 'sister', 'dentist', and the edges they mean.

Edges = tuple[tuple[str, bool], ...]


@dataclass(frozen=True, slots=True)
class Relative:
    """The edges that lead from a person to the relative that the word means; an inverse edge is walked against its
    direction.

    If none does, `wider` edges are walked, and those who are known by an edge of `others` are left out: a sibling of
    unknown kind may be the sister, a brother never.
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


_FIRST = frozenset(word.partition("-")[0] for word in RELATIVES)
"""Beginnings of relation words; most words of a question have none."""

LONGEST_NAME = 5
"""Words of the longest name looked up."""

MOST_WORDS = 400
"""Words of a question that are looked at for names; what comes after is searched but not resolved."""

MOST_MEANINGS = 8
"""Meanings of one name that are followed."""

AROUND = 50
"""Memories with the words around a name that are looked at for whom they mention."""

OWNER = "user"
"""The entity that stands for the one whose memory this is."""

OWN_NAME = "the user's own name"
"""Reason given for an entity reference that names the user."""

_BEFORE_RELATIVE = frozenset(
    "new old older younger elder eldest oldest youngest little big current former best late twin dear".split()
)
_WORD = re.compile(r"[\w@][\w@./\\:+#&~'’-]*[\w]|\w")
_POSSESSIVE = re.compile(r"['’]s?$", re.IGNORECASE)
_WHOLE, _PART, _INFERRED = 1.0, 0.9, 0.8
_PRIOR, _CONTEXT, _NEAR = 0.5, 0.3, 0.2
"""Weights of the three signals of R7: past meanings, the words around it, nearness to the owner."""


@dataclass(frozen=True, slots=True)
class Word:
    text: str
    start: int
    end: int

    @property
    def bare(self) -> str:
        return _POSSESSIVE.sub("", self.text)


def resolve(question: str, reader: Reader, name_prior: NamePrior = "memories") -> tuple[EntityRef, ...]:
    """Every name of the question that the namespace knows, longest first if they overlap, in reading order."""
    words = [Word(match[0], match.start(), match.end()) for match in _WORD.finditer(question)][:MOST_WORDS]
    aliases = _aliases(words)
    by_alias = _find_aliases(aliases, reader)
    refs: list[EntityRef] = []
    question_words = cache(lambda: lexemes(question)[:MOST_WORDS])
    meanings_of: dict[str, tuple[Meaning, ...]] = {}
    position = 0
    while position < len(words):
        for size in range(min(LONGEST_NAME, len(words) - position), 0, -1):
            alias = aliases[position, size]
            candidates = by_alias.get(alias)
            if candidates and (size > 1 or _may_be_name(words[position], position)):
                name = words[position : position + size]
                start, end = name[0].start, name[-1].start + len(name[-1].bare)
                if alias not in meanings_of:
                    called = question[start:end]
                    meanings_of[alias] = _rank_meanings(called, candidates, question_words, reader, name_prior)
                own = any(item.own for item in candidates) and not _is_another(words, position, size)
                refs.append(EntityRef(question[start:end], start, meanings_of[alias], OWN_NAME if own else "name"))
                position += size - 1
                break
        position += 1
    relatives = _relatives(question, words, refs, reader)
    whose = {ref.start for ref in relatives}
    for i, ref in enumerate(refs):
        if ref.start in whose:  # in "Sarah's boss" it is the boss who is asked about, and Sarah only on the way
            half = tuple(replace(meaning, confidence=round(meaning.confidence / 2, 4)) for meaning in ref.meanings)
            refs[i] = replace(ref, meanings=half, via="whose")
    return (*refs, *relatives)


def _aliases(words: Sequence[Word]) -> dict[tuple[int, int], str]:
    """The aliases that begin at each place, by the place and the number of words; without a possessive."""
    texts, bare = [word.text.casefold() for word in words], [word.bare.casefold() for word in words]
    return {
        (start, end - start): " ".join((*texts[start : end - 1], bare[end - 1]))
        for start in range(len(words))
        for end in range(start + 1, min(start + LONGEST_NAME, len(words)) + 1)
    }


def _find_aliases(aliases: Mapping[tuple[int, int], str], reader: Reader) -> dict[str, list[AliasMatch]]:
    matches: dict[str, list[AliasMatch]] = {}
    for item in reader.graph.find_aliases(sorted(set(aliases.values()))):
        if item.kind != "topic":
            matches.setdefault(item.alias, []).append(item)
    return matches


def _is_another(words: Sequence[Word], position: int, size: int) -> bool:
    """True if a relation or a place tells a namesake apart: "my cousin Marit", "Marit from work"."""
    before = words[position - 1].bare.casefold() if position else ""
    behind = words[position + size].text.casefold() if position + size < len(words) else ""
    return before in RELATIVES or (behind == "from" and position + size + 1 < len(words))


def _may_be_name(word: Word, position: int) -> bool:
    """A word that is also a common one counts as a name only when written as one inside the sentence."""
    folded = word.bare.casefold()
    if folded in RELATIVES and word.text[0].islower():
        return False
    if folded in stop_words() or folded in common_words():
        return position > 0 and word.text[0].isupper() and folded not in stop_words()
    return True


def _rank_meanings(
    name: str,
    candidates: Sequence[AliasMatch],
    question_words: Callable[[], Sequence[str]],
    reader: Reader,
    name_prior: NamePrior,
) -> tuple[Meaning, ...]:
    """The meanings of a name, likeliest first; `question_words` gives the words of the question."""
    quality = {item.entity: _PART if item.part else _WHOLE for item in candidates}
    shares = {candidates[0].entity: 1.0}
    asked: Mapping[int, float] = {}
    if len(candidates) > 1:
        own = set(lexemes(name))
        asked = NAME_PRIORS[name_prior](name, candidates, reader) if name_prior in NAME_PRIORS else {}
        shares = _shares([lexeme for lexeme in question_words() if lexeme not in own], candidates, reader, asked)
    meanings = [
        Meaning(item.entity, item.name, round(shares[item.entity] * quality[item.entity], 4), asked.get(item.entity))
        for item in candidates
    ]
    meanings.sort(key=lambda meaning: (-meaning.confidence, meaning.id))
    return tuple(meanings[:MOST_MEANINGS])


def _shares(
    words: Sequence[str], candidates: Sequence[AliasMatch], reader: Reader, asked: Mapping[int, float]
) -> dict[int, float]:
    """The chance of each meaning of an ambiguous name; they add up to 1."""
    keys = [item.entity for item in candidates]
    around = reader.search.latest_with(words, AROUND)
    context = reader.graph.count_mentions(around, keys)
    near = set(reader.graph.neighbours_of(OWNER, keys))
    linked, mentioned = _portions([item.links for item in candidates]), _portions(list(context.values()))
    before = prior(asked, {item.entity: linked(item.links) for item in candidates})
    raw = {
        item.entity: _PRIOR * before[item.entity]
        + _CONTEXT * mentioned(context.get(item.entity, 0))
        + _NEAR * (item.entity in near)
        for item in candidates
    }
    total = sum(raw.values()) or 1.0
    return {key: value / total for key, value in raw.items()}


def _portions(values: Sequence[float]) -> Callable[[float], float]:
    """The share of one value among all; half is added to each, so that none is 0."""
    whole = sum(values) + 0.5 * max(1, len(values))
    return lambda value: (value + 0.5) / whole


def _relatives(question: str, words: Sequence[Word], refs: Sequence[EntityRef], reader: Reader) -> list[EntityRef]:
    """'Sarah's boss' and 'my sister's husband': whom a relation word means, by the edges of whose it is."""
    relatives: list[EntityRef] = []
    ends = {ref.start + len(ref.text): ref for ref in refs}
    position = 1
    while position < len(words):
        relative, size = _relative(words, position)
        before = words[_whose(words, position)]
        position += size
        if relative is None:
            continue
        owners = _owners(before, ends, reader)
        meanings = _related(owners, relative.edges, reader)
        if not meanings and relative.wider:  # only without any, those of a wider word, less the others
            others = {meaning.id for meaning in _related(owners, relative.others, reader)}
            meanings = [one for one in _related(owners, relative.wider, reader) if one.id not in others]
        if meanings:
            last = words[position - 1]
            text = question[before.start : last.start + len(last.bare)]
            ref = EntityRef(text, before.start, tuple(meanings), via=f"{relative.label} of {owners[0][1]}")
            relatives.append(ref)
            ends[last.start + len(last.bare)] = ref
    return relatives


def _relative(words: Sequence[Word], position: int) -> tuple[Relative | None, int]:
    """The relation that one to three words name, and how many: 'sister', 'ex wife', 'mother in law'."""
    first = words[position]
    if first.text.casefold().partition("-")[0] not in _FIRST and first.bare.casefold() not in RELATIVES:
        return None, 1
    for size in range(min(3, len(words) - position), 0, -1):
        name = words[position : position + size]
        relative = RELATIVES.get("-".join([*(word.text for word in name[:-1]), name[-1].bare]).casefold())
        if relative is not None:
            return relative, size
    return None, 1


def _whose(words: Sequence[Word], position: int) -> int:
    """The place of the word that says whose relative it is: 'my' in 'my new boss'."""
    at = position - 1
    while at > 0 and position - at <= 2 and words[at].text.casefold() in _BEFORE_RELATIVE:
        at -= 1
    return at


def _owners(before: Word, ends: Mapping[int, EntityRef], reader: Reader) -> list[tuple[int, str, float]]:
    """The persons before the relation word: a resolved name with a possessive, or the owner for 'my'."""
    if before.text.casefold() in ("my", "our"):
        owners = [(item.entity, item.name, 1.0) for item in reader.graph.find_aliases([OWNER])]
        names = [entity for key, _, _ in owners for entity in reader.graph.find_related(key, [IS_CALLED], False)]
        return owners + [(entity.id, entity.name, _PART) for entity in names]
    ref = ends.get(before.start + len(before.bare))
    if ref is None or before.bare == before.text:
        return []
    return [(meaning.id, meaning.name, meaning.confidence) for meaning in ref.meanings]


def _related(owners: Sequence[tuple[int, str, float]], edges: Edges, reader: Reader) -> list[Meaning]:
    meanings: dict[int, Meaning] = {}
    for key, _, confidence in owners:
        for inverse in (False, True):
            relations = [relation for relation, turned in edges if turned == inverse]
            for entity in reader.graph.find_related(key, relations, inverse) if relations else ():
                meanings.setdefault(entity.id, Meaning(entity.id, entity.name, round(_INFERRED * confidence, 4)))
    return list(meanings.values())
