"""The language of a short text: by the small words that give it away (`data/languages.txt`), then by its lexicon.

English comes first: a text is foreign only where next to nothing speaks for English.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources

from fivefold.text.accents import bare
from fivefold.text.gloss_lexicon import LANGUAGES, lexicon
from fivefold.text.lexemes import stop_words

READ = 400
"""Characters of a text that are looked at."""
STRONG, WEAK = 1.0, 0.5
ENOUGH = 2.0
"""Weight of the small words that make a language likely."""
AGAINST = 1.5
"""How much an English word speaks against another language."""
KNOWN = 0.6
"""Share of the words that the lexicon must know where the small words say too little."""
MARGIN = 1.0
"""Languages that are this close by their small words are told apart by their lexicons."""

_WORD = re.compile(r"(?!(?<=['’])(?:s|t|d|m|re|ve|ll)\b)[^\W\d_]+")
"""Words, without the endings of "isn't" and "it's"."""


def language_of(text: str) -> str | None:
    """The language of the text, where it is surely one of these; nothing for English and for all others."""
    words = _small_words(text)
    found = [weights for weights in map(_words().get, words) if weights]
    total = dict.fromkeys(LANGUAGES, 0.0)
    for weights in found:
        for name, weight in weights.items():
            total[name] += weight
    best = max(total.values())
    english = len(stop_words().intersection(words))
    if not best or (english > len(found) and best <= AGAINST * (english - len(found))):
        return None
    likely = [name for name in LANGUAGES if total[name] >= max(WEAK, best - MARGIN)]
    against = sum(word in stop_words() and not _words().get(word, {}).keys() & set(likely) for word in words)
    if best <= AGAINST * against:
        return None
    return _by_lexicon(text, likely, total, sure=best >= ENOUGH)


def _by_lexicon(text: str, likely: Sequence[str], total: Mapping[str, float], sure: bool) -> str | None:
    """The likely language that knows most of the words; at least two of them must be foreign to English."""
    words = _WORD.findall(text[:READ])
    if lexicon(likely[0]).english.issuperset(word.lower() for word in words):
        return None
    names = [word for at, word in enumerate(words) if at and word[0].isupper()]
    ranked = sorted((_coverage(words, name, names) + total[name], name) for name in likely)
    name = ranked[-1][1]
    foreign = sum(_is_foreign(word.lower(), name) for word in words)
    share = _coverage(words, name, names) / max(1, len(words) - (0 if name == "de" else len(names)))
    return name if foreign >= 2 and (sure or share >= KNOWN) else None


def _coverage(words: Sequence[str], name: str, capitals: Sequence[str]) -> float:
    """How many words the lexicon of the language has: in full as they are, by half without accents or by stem."""
    known = lexicon(name)
    plain = [word.lower() for word in words if name == "de" or word not in capitals]
    return sum(1.0 if word in known.forms else 0.5 if known.word(word) else 0.0 for word in plain)


def _is_foreign(word: str, name: str) -> bool:
    """Whether the language has the word and English does not."""
    known = lexicon(name)
    if word in known.english:
        return word not in stop_words() and _words().get(bare(word), {}).get(name) == STRONG
    return name in _words().get(bare(word), ()) or known.word(word) is not None


def _small_words(text: str) -> list[str]:
    """The words in lower case and the first; a capital inside a text begins a name, or a noun."""
    found = _WORD.findall(text[:READ])
    shouts = text.isupper()
    lower = str.lower if text.isascii() else bare
    return [lower(word) for at, word in enumerate(found) if at == 0 or shouts or word[0].islower()]


@cache
def _words() -> dict[str, dict[str, float]]:
    """For each word the languages it speaks for, and how strongly."""
    words: dict[str, dict[str, float]] = {}
    name, weight = "", 0.0
    for line in resources.files("fivefold.text").joinpath("data/languages.txt").read_text("utf-8").splitlines():
        if line.startswith("["):
            name, strength = line[1:-1].split()
            weight = STRONG if strength == "strong" else WEAK
        elif not line.startswith("#"):
            for word in line.split():
                words.setdefault(word, {}).setdefault(name, weight)
    return words
