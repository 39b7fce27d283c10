"""The texts of a memory that are indexed and embedded; they carry speaker and date, which questions ask by."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from itertools import pairwise
from math import ceil

from fivefold.text.languages import with_gloss
from fivefold.text.lexemes import empty_on_forget, lexemes
from fivefold.values.memory import ROLES, Facet, Memory
from fivefold.values.times import spoken_date
from fivefold.values.vectors import Passage, Span, VectorField

MAX_READ_CHARACTERS = 1_000
"""Characters of a text that is read at once: about what a model of 256 word pieces takes with speaker and date."""

PASSAGE_CHARACTERS = 800
"""Characters of a passage of a longer text."""

MAX_FIELD_CHARACTERS = 4 * MAX_READ_CHARACTERS
"""Characters that are read of a text with a single vector."""

MAX_BEFORE_CHARACTERS = 300
"""Characters of what was said before that are read along; models take no more than the end of them."""

WIDE_CHARACTER_SIZE = 4
"""Characters that one counts for in a script of which models read every letter apart."""

_WIDE = re.compile(r"[^\x00-\u024f\u2000-\u206f]")
_ENDS = tuple(map(re.compile, (r"\n\s*\n\s*", r"\n\s*", r"[.!?][\"'”’)\]]*\s+|[。！？]", r"\s+")))
"""Possible ends of a passage, the better first: a paragraph, a line, a sentence, a word."""

LATE_FACETS: tuple[Facet, ...] = ("personal_info", "events")
"""Facets that few recipes search: they have no vectors until one does. Preferences are searched for every request."""

PassageTexts = dict[VectorField, tuple[Passage, ...]]
"""The passages of each field that gets a vector; a field of several passages gets their centre."""


def attributed_text(memory: Memory, text: str) -> str:
    """`text` with its speaker and date. Of the layouts tried, dense search finds most with this one."""
    when = spoken_date(memory.event_at)
    is_person = memory.speaker and memory.speaker.casefold() not in ROLES
    return f"{memory.speaker} ({when}): {text}" if is_person else f"{when} {text}"


def texts_to_embed(memory: Memory, facets: Mapping[Facet, str], before: str = "") -> PassageTexts:
    """The passages of each field that gets a vector when it is written; a field without a text gets none (M1)."""
    content = passages_of(memory, before)
    texts: PassageTexts = {"full": content}
    roles: tuple[tuple[VectorField, str | None], ...] = (
        ("user", memory.user_text),
        ("assistant", memory.assistant_text),
    )
    for field, text in roles:
        if text:
            texts[field] = (
                content if text == memory.content else (Passage(attributed_text(memory, text[:MAX_FIELD_CHARACTERS])),)
            )
    if memory.next_user_text:
        texts["next_user"] = (Passage(memory.next_user_text[:MAX_FIELD_CHARACTERS]),)
    if preferences := facets.get("preferences"):
        texts["preferences"] = (Passage(attributed_text(memory, preferences)),)
    return texts


def late_passages(memory: Memory, facets: Mapping[Facet, str]) -> dict[Facet, Passage]:
    """The passages of the facets whose vectors are made when a recipe first searches them (M1)."""
    return {facet: Passage(attributed_text(memory, text)) for facet, text in facets.items() if facet in LATE_FACETS}


def passages_of(memory: Memory, before: str) -> tuple[Passage, ...]:
    """The content as a model reads it, each passage with the end of what stands before it."""
    content, spans = memory.content, passage_spans(memory.content)
    befores = [before, *(content[start:end] for start, end in spans)]
    return tuple(
        Passage(attributed_text(memory, with_gloss(content[start:end])), end_of(text))
        for (start, end), text in zip(spans, befores, strict=False)
    )


def passage_span(content: str, part: int) -> Span:
    """The characters of one passage of a text, counted from 0."""
    return passage_spans(content)[part]


def passage_spans(content: str) -> list[Span]:
    """The passages of a text, of about equal length, ending with a paragraph, sentence or word if they can."""
    size = len(content) + (WIDE_CHARACTER_SIZE - 1) * len(_WIDE.findall(content))
    if size <= MAX_READ_CHARACTERS:
        return [(0, len(content))]
    most = PASSAGE_CHARACTERS * len(content) / size
    ends, start = [0], 0
    while start < len(content):
        parts = ceil((len(content) - start) / most)
        start = _end_of_passage(content, start, (len(content) - start) / parts) if parts > 1 else len(content)
        ends.append(start)
    spans = []
    for start, end in pairwise(ends):
        text = content[start:end]
        if text.strip():
            spans.append((start + len(text) - len(text.lstrip()), start + len(text.rstrip())))
    return spans


def end_of(text: str) -> str:
    """The last words of a text, as many as are read along."""
    if len(text) <= MAX_BEFORE_CHARACTERS:
        return text
    end = text[-MAX_BEFORE_CHARACTERS:]
    return (
        end if text[-MAX_BEFORE_CHARACTERS - 1].isspace() else end[end.find(" ", 0, MAX_BEFORE_CHARACTERS // 4) + 1 :]
    )


def lexemes_to_index(memory: Memory) -> tuple[list[str], list[str]]:
    """The lexemes of the predicate and of the content, the latter with task tag and tags."""
    labels = " ".join((memory.task_tag or "", *memory.tags))
    return lexemes(memory.predicate or ""), lexemes(f"{attributed_text(memory, with_gloss(memory.content))} {labels}")


def _end_of_passage(content: str, start: int, size: float) -> int:
    """The end of the passage that begins at `start`: the last good place around `size` characters on."""
    low, high = start + int(0.6 * size), start + int(1.2 * size)
    for end in _ENDS:
        places = [found.end() for found in end.finditer(content, low, high)]
        if places:
            return places[-1]
    return start + max(1, int(size))


_PIECE = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]|[\u0080-\U0010ffff]|[^\S ]|  +|[!-~]")

LETTERS_PER_TOKEN = 4
"""Letters to a token in words of usual length."""
MAX_TOKEN_LENGTH = 30
"""Letters of the longest word; what is longer falls to pieces of two, as capitals do."""
LETTERS_PER_PIECE = 2
RUN_OF_SPACES = 8

_BYTES = (0, 1, 1, 2, 4)
"""Tokens of a letter outside ASCII, by the bytes it takes."""


def tokens(text: str) -> int:
    """Words by letters, digits and signs one by one, other scripts by bytes: English a seventh above Llama 2."""
    pieces = _PIECE.findall(text)
    return sum([_known_cost(piece) if len(piece) <= MAX_TOKEN_LENGTH else _cost(piece) for piece in pieces])


@lru_cache(maxsize=20_000)
def _known_cost(piece: str) -> int:
    """Remembered, since most words of a text are a few; a longer one seldom comes back."""
    return _cost(piece)


empty_on_forget(_known_cost.cache_clear)


def _cost(piece: str) -> int:
    first = piece[0]
    if not first.isascii():
        return _BYTES[len(first.encode(errors="replace"))]
    if not first.isalpha():
        return -(-len(piece) // RUN_OF_SPACES)
    if len(piece) > MAX_TOKEN_LENGTH or (len(piece) > 1 and piece.isupper()):
        return -(-len(piece) // LETTERS_PER_PIECE)
    vowels = sum(map(piece.lower().count, "aeiouy"))
    return max(-(-len(piece) // LETTERS_PER_TOKEN), len(piece) - 3 * vowels)  # with so few vowels it is not a word
