"""Cue words with one slip of the finger, mended: a letter lost, doubled, or swapped with the next (D4)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from fivefold.models.weights.cue_words import FIRM_FREQUENCY, FIRM_TEMPORAL, LOOSE_FREQUENCY, LOOSE_TEMPORAL

LEAST = 5
"""Shorter words are not mended: one slip makes another word of them too often."""

_WORD = re.compile(r"[a-z]{4,}")


def mend_cues(text: str) -> str:
    """The lower-case text with slips in cue words mended."""
    return _WORD.sub(lambda word: _mended().get(word[0], word[0]), text)


@cache
def _mended() -> dict[str, str]:
    """The cue word of each slip; a word that is a cue itself stays."""
    patterns = " ".join((*FIRM_TEMPORAL, *FIRM_FREQUENCY, *LOOSE_TEMPORAL, *LOOSE_FREQUENCY))
    words = {word for word in re.findall(r"(?<![a-z])[a-z]+(?![a-z])", patterns) if len(word) >= LEAST}
    return {slip: word for word in sorted(words) for slip in _slips(word) if slip not in words}


def _slips(word: str) -> Iterator[str]:
    for at in range(1, len(word) - 1):
        if len(word) > LEAST:
            yield word[:at] + word[at + 1 :]
        yield word[:at] + word[at] + word[at:]
        if word[at] != word[at + 1]:
            yield word[:at] + word[at + 1] + word[at] + word[at + 2 :]
