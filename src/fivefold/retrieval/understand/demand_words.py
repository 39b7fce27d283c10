"""The phrases by which a question demands something, read from `data/demands.txt`."""

from __future__ import annotations

import re

from fivefold.text.phrases import phrase


def phrases(name: str) -> re.Pattern[str]:
    """The pattern of a section: any of its lines, as whole words of a lower-case text."""
    return phrase("fivefold.retrieval.understand", "data/demands.txt", name)
