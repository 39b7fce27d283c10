"""How many typing errors lie between two words: letters left out, put in, taken for another, or swapped."""

from __future__ import annotations


def edit_distance(one: str, other: str, most: int) -> int:
    """The number of errors, two neighbours swapped counting as one (Damerau–Levenshtein); above `most`, most + 1."""
    if abs(len(one) - len(other)) > most:
        return most + 1
    older: list[int] = []
    row = list(range(len(other) + 1))
    for at, letter in enumerate(one, 1):
        older, before, row = row, older, [at, *([0] * len(other))]
        for place, counterpart in enumerate(other, 1):
            row[place] = min(older[place] + 1, row[place - 1] + 1, older[place - 1] + (letter != counterpart))
            swapped = place > 1 and at > 1 and letter == other[place - 2] and one[at - 2] == counterpart
            if swapped:
                row[place] = min(row[place], before[place - 2] + 1)
        if min(row) > most:
            return most + 1
    return min(row[-1], most + 1)


def letters_of(word: str) -> int:
    """The set of a word's letters as bits: words that differ in many of them are far apart."""
    bits = 0
    for letter in word:
        bits |= 1 << (ord(letter) & 31)
    return bits
