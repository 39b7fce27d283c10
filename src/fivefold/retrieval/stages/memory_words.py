"""The lexemes of a memory's text; the best memories come up again and again."""

from __future__ import annotations

from fivefold.text.lexemes import lexemes
from fivefold.text.text_caches import text_cache

KEPT = 2_048
"""Short texts whose lexemes are kept, of all recalls."""


@text_cache(KEPT)
def words_of(text: str) -> frozenset[str]:
    """Each lexeme of the text once."""
    return frozenset(lexemes(text))
