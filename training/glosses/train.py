"""Make the trained part of the lexicon again from sentence pairs, and the stems of all words.

python -m training.glosses.train PARALLEL_FOLDER

The folder is `data/devtest` of the repository Helsinki-NLP/Tatoeba-Challenge.
"""

from __future__ import annotations

import argparse
import lzma
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

from training.glosses.align import Chance, chances, meetings
from training.glosses.pairs import CODES, training_pairs

from fivefold.text import languages as gloss_lexicon
from fivefold.text.lexemes import stop_words
from fivefold.text.stemmers import stem

TARGET = Path(gloss_lexicon.__file__).parent / "data" / "glosses"
FEWEST = 0.9
"""How often a word is expected to be translated so before it is believed."""
SCORE = 0.15
"""The geometric mean of both chances that a gloss needs."""
LONGEST = 25
"""Words of the longest sentence that is read."""

_WORD = re.compile(r"[^\W\d_]+")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parallel", type=Path)
    folder = parser.parse_args().parallel
    for language in CODES:
        glosses, path = learn(folder, language), TARGET / f"{language}.txt.xz"
        text = "".join(f"{line}\n" for line in _lines(glosses))
        path.write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))
        print(f"{path.name}: {len(glosses)} forms, {path.stat().st_size:,} bytes")


def learn(folder: Path, language: str) -> dict[str, str]:
    """The best gloss of each form that the everyday words lack."""
    pairs = [(words(pair.foreign), words(pair.english)) for pair in training_pairs(folder, language)]
    kept = [pair for pair in pairs if all(0 < len(side) <= LONGEST for side in pair)]
    everyday = dict(gloss_lexicon.everyday(language))
    best: dict[str, Chance] = {}
    for found in chances(meetings(kept)):
        if found.foreign not in best or found.score > best[found.foreign].score:
            best[found.foreign] = found
    believed = sorted((item for item in best.values() if _believed(item)), key=lambda item: -item.count)
    glosses = {item.foreign: item.english for item in believed if item.foreign not in everyday}
    return glosses | stems(glosses, language)


def stems(glosses: Mapping[str, str], language: str) -> dict[str, str]:
    """The gloss of each stem: of the first everyday word that has it, else of the most frequent other."""
    hand = {form: "/".join(english).replace(" ", "_") for form, english in gloss_lexicon.everyday(language)}
    found: dict[str, str] = {}
    for form, english in (*hand.items(), *glosses.items()):
        if " " not in form and english:
            found.setdefault(f"{gloss_lexicon.STEM}{stem(language, form)}", english)
    return found


def words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _believed(found: Chance) -> bool:
    own = found.english != found.foreign and found.english not in stop_words() and len(found.foreign) > 2
    return own and found.count >= FEWEST and found.score >= SCORE


def _lines(glosses: Mapping[str, str]) -> Iterator[str]:
    """An English word with its forms on each line, sorted, which packs well."""
    forms: dict[str, list[str]] = defaultdict(list)
    for form, english in glosses.items():
        forms[english].append(form)
    return (f"{english} {' '.join(sorted(forms[english]))}" for english in sorted(forms))


if __name__ == "__main__":
    main()
