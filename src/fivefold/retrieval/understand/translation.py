"""A question in another language, in English words, each of which knows its place in the question."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fivefold.retrieval.understand.spelling import Change, Mended
from fivefold.text.glosses import Piece, gloss
from fivefold.values.query import EntityRef


def translated(question: str, language: str, names: Sequence[EntityRef]) -> tuple[Mended, str]:
    """The question in English words, and further words to search for; names that the store knows stay as they are."""
    found = gloss(question, language, [ref.text for ref in names if ref.text[:1].isupper()])
    return Mended(found.text, tuple(_changes(found.pieces))), " ".join(found.further)


def _changes(pieces: Sequence[Piece]) -> Iterator[Change]:
    """Each word by its gloss, and what stands between two words by a space."""
    before = 0
    for piece in pieces:
        yield Change(before, piece.start, " " if before else "")
        yield Change(piece.start, piece.end, piece.english)
        before = piece.end
