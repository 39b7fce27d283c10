"""A text in another language, word by word in English, for models and indexes that read English.

Names, numbers and words that no lexicon knows stay as they are. The lexicon is loaded with the first foreign text.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from fivefold.text.accents import bare
from fivefold.text.gloss_lexicon import LONGEST, Lexicon, lexicon
from fivefold.text.languages import language_of
from fivefold.text.text_caches import text_cache

SHORT = 400
"""Characters of the longest text that is read together with its gloss, both at once."""

_ATOM = re.compile(r"[\w./:@+#-]*[\d@_][\w./:@+#-]*(?<=\w)|[^\W_]+")
"""Words, without what joins them; identifiers, addresses and numbers stay whole."""
_CODE = re.compile(r"[\d@_]")
_ENDING = re.compile(r"[?!.…]+\s*$")


class Piece(NamedTuple):
    """A stretch of the text and its gloss."""

    start: int
    end: int
    english: str


@dataclass(frozen=True, slots=True)
class Gloss:
    """A text in English words, in the order of its own language, and where each came from."""

    language: str
    text: str
    further: tuple[str, ...]
    """Other English words that a word may stand for."""
    pieces: tuple[Piece, ...]


def gloss(text: str, language: str, names: Collection[str] = ()) -> Gloss:
    """The text in English words; `names` stay as they are, also where the language has a word of that form."""
    pieces: list[Piece] = []
    further: list[str] = []
    for piece, others in _pieces(text, lexicon(language), language, names):
        further += others
        if piece.english and not (pieces and pieces[-1].english == piece.english):
            pieces.append(piece)
    ending = _ENDING.search(text)
    joined = " ".join(piece.english for piece in pieces)
    return Gloss(language, joined + (ending[0].strip() if ending else ""), tuple(further), tuple(pieces))


def with_gloss(text: str) -> str:
    """A short text in another language after its English words, so that questions in either find it."""
    return _short_with_gloss(text) if len(text) <= SHORT else text


@text_cache(1_024)
def _short_with_gloss(text: str) -> str:
    """As many are kept as are written at once, since each is read for its vector and for its lexemes."""
    language = language_of(text)
    return f"{gloss(text, language).text} {text}" if language else text


def _pieces(
    text: str, known: Lexicon, language: str, names: Collection[str]
) -> Iterator[tuple[Piece, tuple[str, ...]]]:
    atoms = list(_ATOM.finditer(text))
    forms = [atom[0].lower() for atom in atoms]
    kept = {part for name in names for part in _ATOM.findall(name)}
    at = 0
    while at < len(atoms):
        first = atoms[at]
        if first[0] in kept or _is_name(first, at, language):
            yield Piece(first.start(), first.end(), first[0]), ()
            at += 1
            continue
        length, (english, *others) = _found(forms, at, known) or (1, (first[0],))
        yield Piece(first.start(), atoms[at + length - 1].end(), english), tuple(others)
        at += length


def _is_name(atom: re.Match[str], at: int, language: str) -> bool:
    """Whether a word surely is a name or an identifier. German begins its nouns with capitals as well."""
    word = atom[0]
    if _CODE.search(word):
        return True
    return language != "de" and at > 0 and word[0].isupper() and not atom.string.isupper()


def _found(forms: list[str], at: int, known: Lexicon) -> tuple[int, tuple[str, ...]] | None:
    """The longest phrase that the lexicon knows from here, how many words it has, and its glosses."""
    for length in range(min(LONGEST, len(forms) - at), 1, -1):
        phrase = " ".join(forms[at : at + length])
        english = known.forms.get(phrase) or known.bare_forms.get(bare(phrase))
        if english:
            return length, english
    english = known.word(forms[at])
    return (1, english) if english else None
