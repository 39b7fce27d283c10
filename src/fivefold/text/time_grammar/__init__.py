"""Expressions of time in English and a few of other languages, in one table with two policies.

A question looks back: if an expression fits two times it means the earlier one, unless the caller looks ahead. A stored
text follows the tense of its clause. No clock and no time zone of the machine is read; the caller gives the time and
the zone.
"""

from __future__ import annotations

from fivefold.text.time_grammar import foreign, named, relative
from fivefold.text.time_grammar.periods import EARLIEST, TimeSettings
from fivefold.text.time_grammar.questions import Reach, find_window
from fivefold.text.time_grammar.stored import dates_in

__all__ = ["EARLIEST", "Reach", "TimeSettings", "dates_in", "find_window"]

TABLES = (relative, named, foreign)
"""The expressions register when these load."""
