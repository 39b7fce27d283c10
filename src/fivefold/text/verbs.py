"""Verbs of the past: the irregular ones by name, the others by their ending."""

from __future__ import annotations

IRREGULAR_PAST = (
    "went|met|saw|came|took|gave|made|bought|found|left|ate|drank|ran|flew|drove|wrote|sent|spent|slept|woke|won|lost"
    "|broke|fell|began|brought|built|caught|chose|fought|forgot|grew|heard|kept|led|paid|quit|rang|rode|sang|sold"
    "|shook|spoke|stole|swam|taught|threw|wore|hung|lent|hid|tore|dug|fed|bit|drew|froze|laid|sank|shot|slid|stuck"
    "|swept|got|became|hurt|told|said"
)
"""Past forms of verbs that happen at a time."""

STATIVE_PAST = "was|were|did|had|felt|held|knew|thought|meant|understood|stood"
"""Past forms of verbs that last."""

NO_PAST = (
    "need|bed|red|shed|speed|seed|feed|indeed|hundred|naked|tired|sacred|biped|embed|wed|deed|weed|greed|breed|exceed"
)
"""Words that only end like a verb of the past."""
