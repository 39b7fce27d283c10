"""What a tool says in words."""

from __future__ import annotations

from fivefold.mcp.text import report
from fivefold.values.reports import Link, Report


def test_a_report_says_what_is_replaced_and_what_likely_is() -> None:
    likely = Link("new", "old", "likely", "the same attribute", 0.8)
    partly = Link("new", "older", "supersedes", "the rest of it still holds")
    sure = Link("new", "oldest", "supersedes", "home: 'York' replaces 'Leeds'")
    text = report(Report(stored=("new",), linked=(likely, partly), superseded=(sure,)))
    assert text.splitlines() == [
        "Remembered as new.",
        "new supersedes oldest: home: 'York' replaces 'Leeds'.",
        "new likely supersedes (0.80) old: the same attribute.",
    ]
