"""Words people use for a relation when they ask: 'boss', 'sister', 'dentist', and the edges they mean."""

from __future__ import annotations

from dataclasses import dataclass

from fivefold.text.kinship import GENERAL, ROLE_OF, plural_of, relation_of

Edges = tuple[tuple[str, bool], ...]


@dataclass(frozen=True, slots=True)
class Relative:
    """Which edges lead from a person to who the word means; an inverse edge is walked against its direction.

    Where none does, `wider` edges are walked, and those who are known by an edge of `others` are left out: a sibling
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
    """Who has a role of the table, and for kin of unknown kind the wider one."""
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
