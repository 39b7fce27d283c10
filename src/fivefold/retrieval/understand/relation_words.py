"""Words people use for a relation when they ask: 'boss', 'sister', 'replacement', and the edges they mean."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Relative:
    """Which edges lead from a person to who the word means; an inverse edge is walked against its direction."""

    label: str
    edges: tuple[tuple[str, bool], ...]


def _both(label: str, relation: str) -> Relative:
    return Relative(label, ((relation, False), (relation, True)))


_BOSS = Relative("boss", (("reports to", False), ("manages", True)))
_SPOUSE = _both("spouse", "married to")
_PARTNER = Relative(
    "partner", (("partner of", False), ("partner of", True), ("married to", False), ("married to", True))
)
_SIBLING = _both("sibling", "sibling of")
_PARENT = Relative("parent", (("child of", False), ("parent of", True)))
_CHILD = Relative("child", (("child of", True), ("parent of", False)))
_EMPLOYER = Relative("employer", (("works at", False),))
_SUCCESSOR = Relative("replacement", (("replaces", True),))
_OWNED = Relative("own", (("owns", False),))
_REPORTS = Relative("report", (("reports to", True), ("manages", False)))

RELATIVES: dict[str, Relative] = {
    **dict.fromkeys(("boss", "manager", "supervisor", "lead"), _BOSS),
    **dict.fromkeys(("husband", "wife", "spouse"), _SPOUSE),
    **dict.fromkeys(("partner", "boyfriend", "girlfriend", "fiancé", "fiancée"), _PARTNER),
    **dict.fromkeys(("sister", "brother", "sibling", "siblings"), _SIBLING),
    **dict.fromkeys(("mother", "father", "mum", "mom", "dad", "parents", "parent"), _PARENT),
    **dict.fromkeys(("son", "daughter", "child", "children", "kid", "kids"), _CHILD),
    **dict.fromkeys(("employer", "company", "firm", "workplace"), _EMPLOYER),
    **dict.fromkeys(("replacement", "successor"), _SUCCESSOR),
    **dict.fromkeys(("cat", "dog", "pet", "project", "product"), _OWNED),
    **dict.fromkeys(("reports", "team"), _REPORTS),
    "friend": _both("friend", "friend of"),
    "colleague": _both("colleague", "colleague of"),
}
