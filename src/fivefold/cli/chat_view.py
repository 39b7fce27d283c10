"""How a talk with the memory looks: what came up, what was kept, what it replaces."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import tzinfo

from fivefold.cli.recall_view import marked_text, when_and_who
from fivefold.cli.terminal import QUOTED, hang, line
from fivefold.retrieval.prompt import LIKELY
from fivefold.text.display import brief
from fivefold.values.explain import NOT_FOUND, percent
from fivefold.values.memory import Memory
from fivefold.values.recall import Hit, Recall
from fivefold.values.reports import Report


def answer(found: Recall, zone: tzinfo) -> None:
    """The memories that answer, best first; where nothing seems to, in one line."""
    if not found.found:
        line(f"  {NOT_FOUND}", "yellow")
    else:
        likely = [hit for hit in found if hit.chance is None or hit.chance >= LIKELY]
        for hit in likely or found.hits[:1]:
            _hit(hit, zone)
    sys.stdout.flush()


def remembered(report: Report, replaced: Sequence[Memory], come: Sequence[Hit], zone: tzinfo) -> None:
    """What became of a line, and what comes to mind with it."""
    line("  remembered" if report.stored else "  known already", "dim")
    for memory in replaced:
        hang("  no longer so: ", brief(memory.content), "yellow", further=QUOTED)
    for hit in come:
        _hit(hit, zone)
    sys.stdout.flush()


def _hit(hit: Hit, zone: tzinfo) -> None:
    chance = "" if hit.chance is None else f"{percent(hit.chance):>4}  "
    hang(f"  {chance}", marked_text(hit, full=False), further=QUOTED)
    hang("    ", f"{when_and_who(hit.memory, zone)} · {hit.reason}", "dim")
