"""The language of a short text: by the small words that give it away (`data/languages.txt`), then by its lexicon.

English comes first: a text is foreign only if next to nothing speaks for English.
"""

from __future__ import annotations

import lzma
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from typing import NamedTuple

from fivefold.text.lexemes import bare, empty_on_forget, stop_words, text_cache
from fivefold.text.stemmers import stem

LANGUAGES = ("de", "es", "fr", "it", "pt")
MAX_PHRASE_WORDS = 5
"""Words of the longest phrase."""
STEM = "~"
"""Beginning of a stem in the trained part, since stemming thousands of words takes long."""
MIN_PART_LETTERS = 3
"""Letters of the shortest word inside a compound."""

Glosses = tuple[str, ...]

_JOINTS = re.compile(r"[_'’-]+")
_LINKS = ("", "s", "n", "es", "en", "e")
"""Letters by which German joins the parts of a compound."""


@dataclass(frozen=True, slots=True)
class Lexicon:
    """English glosses by form, and by stem behind its sign. An empty gloss says nothing in English."""

    language: str
    forms: Mapping[str, Glosses]
    bare_forms: Mapping[str, Glosses]
    """Of forms without accents, those that a form with accents becomes."""
    english: frozenset[str]
    """English words: those of the glosses, and the smallest."""

    def word(self, form: str) -> Glosses | None:
        """The glosses of one word: as it is, without accents, by its stem, or in German by its parts."""
        return _word(self.language, form)

    def without_accents(self, form: str) -> Glosses | None:
        plain = bare(form)
        return self.bare_forms.get(plain) or self.forms.get(plain)

    def look_up(self, form: str) -> Glosses | None:
        known = self.forms.get(form) or self.without_accents(form) or self.forms.get(STEM + stem(self.language, form))
        return known or (self._compound(form) if self.language == "de" else None)

    def _compound(self, form: str) -> Glosses | None:
        """A compound of two words that are known, the first as long as possible."""
        for cut in range(len(form) - MIN_PART_LETTERS, MIN_PART_LETTERS - 1, -1):
            second = self.forms.get(form[cut:])
            bases = (form[:cut].removesuffix(link) for link in _LINKS) if second else ()
            first = next(
                (self.forms[base] for base in bases if len(base) >= MIN_PART_LETTERS and base in self.forms), None
            )
            if first and second:
                return (f"{first[0]} {second[0]}", *first[1:], *second[1:])
        return None


@cache
def lexicon(language: str) -> Lexicon:
    """The lexicon of that language; what was written by hand comes first, and nothing of it was learned again."""
    forms: dict[str, Glosses] = {}
    for form, glosses in everyday(language):
        forms.setdefault(form, glosses)
    spoken = [part for found in forms.values() for part in found]
    for line in lzma.decompress(_data(f"{language}.txt.xz")).decode("utf-8").splitlines():
        english, *learned = line.split()
        glosses = tuple(english.replace("_", " ").split("/"))
        forms.update(dict.fromkeys(learned, glosses))
        spoken += glosses
    plain = {form: bare(form) for form in forms if not form.isascii()}
    accented, bare_forms = set(plain.values()), dict[str, Glosses]()
    for form, glosses in forms.items():
        if (key := plain.get(form, form)) in accented:
            bare_forms.setdefault(key, glosses)
    known = frozenset(" ".join(spoken).lower().split()) | stop_words()
    return Lexicon(language, forms, bare_forms, known)


@lru_cache(maxsize=20_000)
def _word(language: str, form: str) -> Glosses | None:
    return lexicon(language).look_up(form)


empty_on_forget(_word.cache_clear)


def everyday(language: str) -> Iterator[tuple[str, Glosses]]:
    """The hand-written words of `everyday.txt`, which has a column for each language."""
    column = LANGUAGES.index(language) + 1
    for line in _data("everyday.txt").decode("utf-8").splitlines():
        if line and not line.startswith("#"):
            english, forms = (line.split("|")[at].strip() for at in (0, column))
            glosses = ("",) if english == "-" else tuple(english.split("/"))
            yield from ((_JOINTS.sub(" ", form), glosses) for form in forms.split())


def _data(name: str) -> bytes:
    return resources.files("fivefold.text").joinpath("data", "glosses", name).read_bytes()


MAX_READ_CHARACTERS = 400
"""Characters of a text that are looked at."""
STRONG, WEAK = 1.0, 0.5
MIN_WEIGHT = 2.0
"""Weight of the small words that make a language likely."""
ENGLISH_WEIGHT = 1.5
"""Weight of an English word against another language."""
MIN_KNOWN_SHARE = 0.6
"""Minimum share of the words that the lexicon must know if the small words say too little."""
MAX_WEIGHT_GAP = 1.0
"""Languages that are this close by their small words are told apart by their lexicons."""

_WORD = re.compile(r"(?!(?<=['’])(?:s|t|d|m|re|ve|ll)\b)[^\W\d_]+")
"""Words, without the endings of "isn't" and "it's"."""


def language_of(text: str) -> str | None:
    """The language of the text, if it is surely one of these; nothing for English and for all others."""
    words, known, stops = _small_words(text), _words(), stop_words()
    found = [weights for weights in map(known.get, words) if weights]
    total = dict.fromkeys(LANGUAGES, 0.0)
    for weights in found:
        for name, weight in weights.items():
            total[name] += weight
    best = max(total.values())
    english = len(stops.intersection(words))
    if not best or (english > len(found) and best <= ENGLISH_WEIGHT * (english - len(found))):
        return None
    likely = [name for name in LANGUAGES if total[name] >= max(WEAK, best - MAX_WEIGHT_GAP)]
    against = sum(word in stops and known.get(word, {}).keys().isdisjoint(likely) for word in words)
    if best <= ENGLISH_WEIGHT * against:
        return None
    return _by_lexicon(text, likely, total, sure=best >= MIN_WEIGHT)


def _by_lexicon(text: str, likely: Sequence[str], total: Mapping[str, float], sure: bool) -> str | None:
    """The likely language that knows most of the words; at least two of them must be foreign to English."""
    words = _WORD.findall(text[:MAX_READ_CHARACTERS])
    if lexicon(likely[0]).english.issuperset(word.lower() for word in words):
        return None
    names = [word for at, word in enumerate(words) if at and word[0].isupper()]
    ranked = sorted((_coverage(words, name, names) + total[name], name) for name in likely)
    name = ranked[-1][1]
    foreign = sum(_is_foreign(word.lower(), name) for word in words)
    share = _coverage(words, name, names) / max(1, len(words) - (0 if name == "de" else len(names)))
    return name if foreign >= 2 and (sure or share >= MIN_KNOWN_SHARE) else None


def _coverage(words: Sequence[str], name: str, capitals: Sequence[str]) -> float:
    """Number of words that the lexicon of the language has: in full as they are, by half without accents or by stem."""
    known = lexicon(name)
    plain = [word.lower() for word in words if name == "de" or word not in capitals]
    return sum(1.0 if word in known.forms else 0.5 if known.word(word) else 0.0 for word in plain)


def _is_foreign(word: str, name: str) -> bool:
    """True if the language has the word and English does not."""
    known = lexicon(name)
    if word in known.english:
        return word not in stop_words() and _words().get(bare(word), {}).get(name) == STRONG
    return name in _words().get(bare(word), ()) or known.word(word) is not None


def _small_words(text: str) -> list[str]:
    """The words in lower case and the first; a capital inside a text begins a name, or a noun."""
    found = _WORD.findall(text[:MAX_READ_CHARACTERS])
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


MAX_GLOSSED_CHARACTERS = 400
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
    """A text in English words, in the order of its own language, and the source of each."""

    language: str
    text: str
    further: tuple[str, ...]
    """Other English words that a word may stand for."""
    pieces: tuple[Piece, ...]


def gloss(text: str, language: str, names: Collection[str] = ()) -> Gloss:
    """The text in English words; `names` stay as they are, even if the language has a word of that form."""
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
    return _short_with_gloss(text) if len(text) <= MAX_GLOSSED_CHARACTERS else text


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
    """True if a word surely is a name or an identifier. German begins its nouns with capitals as well."""
    word = atom[0]
    if _CODE.search(word):
        return True
    return language != "de" and at > 0 and word[0].isupper() and not atom.string.isupper()


def _found(forms: list[str], at: int, known: Lexicon) -> tuple[int, tuple[str, ...]] | None:
    """The longest phrase that the lexicon knows from here, how many words it has, and its glosses."""
    for length in range(min(MAX_PHRASE_WORDS, len(forms) - at), 1, -1):
        phrase = " ".join(forms[at : at + length])
        english = known.forms.get(phrase) or known.without_accents(phrase)
        if english:
            return length, english
    english = known.word(forms[at])
    return (1, english) if english else None
