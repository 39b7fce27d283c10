"""Recall: five retrievers, of which time is one, and an optimizer that asks the namespace what it knows (R1–R12)."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Annotated

from fivefold.retrieval.protocols import BaseRoute, Options, SearchContext
from fivefold.retrieval.retrieve import Fusion, Shares
from fivefold.retrieval.routes import ROUTES
from fivefold.stores.interface import Reader
from fivefold.stores.records import TYPE_VOCABULARY, AliasMatch
from fivefold.text.lexemes import lexemes
from fivefold.values.fields import About, Between
from fivefold.values.filters import Filter
from fivefold.values.memory import Type
from fivefold.values.query import Query
from fivefold.values.recall_trace import RouteHit
from fivefold.writing.type_vocabulary import load_type_vocabulary

# What happened in the window the question asks about: a range over event times, events only (R8).


@dataclass(frozen=True, slots=True)
class TemporalOptions(Options):
    """The choice of events that belong to the window."""

    named: Annotated[bool, About("Also counts events that name the window but were said at another time")] = False
    hinted: Annotated[float, Between(0, 1), About("Factor of the weight for a hinted recent time (R10)")] = 0.5


class Temporal(BaseRoute):
    """Every event of the window counts the same; the other routes rank them. Its type is fixed (R9)."""

    options = TemporalOptions

    def skip_reason(self, query: Query, optimize: bool) -> str | None:
        if query.window is None and not any(cue.kind == "recent" for cue in query.cues):
            return "the question names no time"
        return None

    def search(self, context: SearchContext, depth: int, keep: Filter, options: TemporalOptions) -> list[RouteHit]:
        window = context.query.window
        if window is not None:
            return context.reader.search.temporal(window.start, window.end, depth, keep, named=options.named)
        start = context.query.now - timedelta(days=context.settings.recent_days)
        hits = context.reader.search.temporal(start, context.query.now, depth, keep)
        return [replace(hit, factor=options.hinted) for hit in hits]


TEMPORAL = Temporal()


# Whom a name meant in past questions: the prior of a name that may mean several (R7).

MAX_QUESTIONS = 300
"""Maximum number of the last recalls that are looked at for a name, so that a long log costs no more than a short
one."""


def past_meanings(name: str, candidates: Sequence[AliasMatch], reader: Reader) -> dict[int, float]:
    """In how many past questions the name meant each candidate; a question whose answers mention several is shared.

    A whole name says itself whom it means. Otherwise the memories that were used say it, or without feedback the best.
    """
    word = re.compile(rf"(?<!\w){re.escape(name.casefold())}(?!\w)")
    asked = [past for past in reader.feedback.past_questions(name, MAX_QUESTIONS) if word.search(past.text.casefold())]
    answers = sorted({id for past in asked for id in past.answers})
    mentions = reader.graph.mentions(answers, [item.entity for item in candidates]) if answers else {}
    counts = {item.entity: 0.0 for item in candidates}
    for past in asked:
        text = past.text.casefold()
        whole = {item.entity for item in candidates if len(item.name) > len(name) and item.name.casefold() in text}
        meant = whole or set().union(*(mentions.get(id, set()) for id in past.answers))
        for entity in meant:
            counts[entity] += 1 / len(meant)
    return counts


# Which types of memory a question does not mean, although its words imply them: their memories do not speak of it (R2).


def types_elsewhere(query: Query, implied: Mapping[Type, str], reader: Reader, density: float) -> dict[Type, str]:
    """The implied types whose memories hardly have what else is asked about, with the words they lack.

    A word is at home in a type unless it is far denser in the others; a rare word says more than a common one.
    `implied` has the words that imply each type.
    """
    vocabulary = load_type_vocabulary(reader.namespace, reader.admin.learned_value(TYPE_VOCABULARY))
    found = dict[Type, str]()
    if vocabulary is None:
        return found
    for name, words in implied.items():
        trigger = set(lexemes(words))
        known = vocabulary.densities(name, [lexeme for lexeme in query.lexemes if lexeme not in trigger])
        foreign = [word for word in known if word.own < density * word.others]
        if 2 * sum(word.weight for word in foreign) > sum(word.weight for word in known):
            shown = ", ".join(f"{word.lexeme!r} ({word.own:.1%}, others {word.others:.1%})" for word in foreign)
            found[name] = f"its memories hardly mention {shown}"
    return found


def score_rrf(hits: Sequence[RouteHit], route: str, weight: float, k: float, depth: int) -> Shares:
    """weight · √score / (k + rank), the score mapped into 0..1 first (R10)."""
    shares = ROUTES[route].normalize([hit.score for hit in hits])
    return Shares(
        hits,
        [
            weight * hit.factor * math.sqrt(share) / (k + rank)
            for rank, (hit, share) in enumerate(zip(hits, shares, strict=True), 1)
        ],
        lambda i: f"{weight * hits[i].factor:g} · √{shares[i]:.4f} / ({k:g} + {i + 1})",
    )


SCORE_RRF = Fusion(score_rrf)
