"""Words without a token vector of their own: they join other words and answer no question by themselves.

The model is trained with the same list. Pronouns for people, negations and question words are not in it, nor words that
are also names or dates, such as "will" and "may".
"""

from __future__ import annotations

_ARTICLES = "a an the"
_PREPOSITIONS = (
    "of in on at to for from with by about into onto over under as than "
    "per via through during between within upon toward towards"
)
_CONJUNCTIONS = "and or but nor so if because while although though unless whether"
_AUXILIARIES = (
    "am is are was were be been being do does did have has had having would can could shall should might must"
)
_REFERENCES = "it its itself this that these those there here"
_AFTER_APOSTROPHES = "s t m ll re ve"
_ADVERBS = "just also too very really then"

SKIPPED_WORDS = tuple(
    " ".join((_ARTICLES, _PREPOSITIONS, _CONJUNCTIONS, _AUXILIARIES, _REFERENCES, _AFTER_APOSTROPHES, _ADVERBS)).split()
)
