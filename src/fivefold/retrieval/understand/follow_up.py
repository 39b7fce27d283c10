"""A question that follows others, written out so that it can be read alone: 'when is it?' names what it asks about."""

from __future__ import annotations

import re
from collections.abc import Sequence

from fivefold.retrieval.understand.subject import subject_words
from fivefold.values.query import EntityRef

OWNED = "'s"
LONGEST = 300
"""Characters of the turns before that are put in front of a question."""
FEW_WORDS = 4
"""A turn with fewer words of its own is read together with the one before it."""

_FROM = "refers back to "
_REPLACED = frozenset("he him his she her hers they them their theirs there".split())
"""Pronouns that stand for a name; 'it' is more often a thing without one."""
_POSSESSIVE = frozenset({"his", "her", "its", "their"})
_OBJECT = re.compile(
    r"\s*(?:$|[?!.,;:]|(?:in|on|at|for|to|from|with|about|again|now|then|this|last|next|and|or|when)\b)"
)
_OPEN = re.compile(
    r"\b(?:he|him|his|she|her|hers|they|them|their|theirs|its?)\b"
    r"|(?<!is )(?<!are )(?<!was )(?<!were )\bthere\b(?! (?:is|are|was|were)\b|['’]s)"
    r"|\b(?:did|was|is|does|about|after|before|with|for|on|at|to|of) that\b(?! (?:i|we|you|he|she|they)\b)"
    r"|\bthat one\b|\bthen\b|\bthe (?:first|second|third|other|last|same) (?:one|time)\b"
    r"|^(?:and|n|but|or|what about|how about|also|why|why not)\b",
    re.IGNORECASE,
)
"""Words that need the turns before."""


def written_out(question: str, refs: Sequence[EntityRef], history: Sequence[str]) -> str:
    """The question with its pronouns replaced by names, or with the turn before in front of it."""
    if not history:
        return question
    named = [ref for ref in refs if ref.text.casefold() in _REPLACED]
    if named:
        return _with_names(question, named)
    if not _OPEN.search(question):
        return question
    turns = [turn.strip() for turn in history[-2:] if turn.strip()]
    if turns and len(subject_words(turns[-1])) >= FEW_WORDS:
        turns = turns[-1:]
    return " ".join((*(turn[-LONGEST:] for turn in turns), question))


def _with_names(question: str, refs: Sequence[EntityRef]) -> str:
    for ref in sorted(refs, key=lambda ref: -ref.start):
        end = ref.start + len(ref.text)
        pronoun, rest = question[ref.start : end].casefold(), question[end:]
        owned = pronoun in _POSSESSIVE and not (pronoun == "her" and _OBJECT.match(rest))
        where = "in " if pronoun == "there" else ""
        question = f"{question[: ref.start]}{where}{ref.via.removeprefix(_FROM)}{OWNED if owned else ''}{rest}"
    return question
