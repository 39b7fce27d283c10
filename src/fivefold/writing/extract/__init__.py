"""Extractors: what is read out of a record before it is stored."""

from __future__ import annotations

import json
import logging
import re
from dataclasses import replace
from datetime import UTC, timezone, tzinfo
from typing import Any

from fivefold.errors import InvalidInput, MissingExtra
from fivefold.models.remote import RemoteError, post
from fivefold.text.names import mentions
from fivefold.text.patterns import Pattern, words_of
from fivefold.text.time_grammar import dates_in
from fivefold.values.entities import Extraction, Extractor, Mention
from fivefold.values.memory import FACETS, TYPES, Record, Type
from fivefold.values.plugins import plugin_by_choice
from fivefold.values.times import utc_now
from fivefold.values.validate import MAX_EXTRACTED, MAX_NAME, checked_text
from fivefold.writing.extract.kinds import facets_of, type_of
from fivefold.writing.extract.relations import relations
from fivefold.writing.extract.statements import is_assistant, predicate_of, refers_back, statements


def extractor(choice: str) -> Extractor:
    """`rules` (offline, the default), `openai:MODEL` (any compatible endpoint), or one that a package registers."""
    if not isinstance(choice, str):
        raise InvalidInput(f"an extractor is named by text, not by {choice!r}")
    if choice == "rules":
        return Rules()
    family, _, model = choice.partition(":")
    if family == "openai" and model:
        return ModelExtractor(model)
    plugin: Extractor = plugin_by_choice("extractors", choice, {"rules": "rules", "openai": "openai:MODEL"}, Extractor)
    return plugin


# How much a memory is likely to matter, and how good a memory it is; both in 0..1.

_FIRST_PERSON = Pattern("i \u0131 my me we our", r"\b(?:i|my|me|we|our)\b", re.IGNORECASE)
_PHATIC = re.compile(
    r"^(?:ok(?:ay)?|thanks?(?: you)?|cheers|great|cool|nice|sure|yes|yeah|no|nope|hi|hey|hello|bye|lol|haha|wow|got it"
    r"|sounds good|good (?:morning|night|luck)|that helps|perfect)\b",
    re.IGNORECASE,
)
_BY_TYPE: dict[Type, float] = {"fact": 0.05, "preference": 0.2, "event": 0.1, "entity": 0.15, "procedure": 0.15}


def importance(text: str, kind: Type, mentions: tuple[Mention, ...], states: bool) -> float:
    """Preferences, statements about people and figures matter; small talk and questions do not."""
    words = len(text.split())
    names = sum(1 for mention in mentions if mention.kind != "topic")
    score = 0.3 + _BY_TYPE[kind] + min(0.2, 0.07 * names)
    score += 0.1 * ("#" in words_of(text)) + 0.15 * states + 0.05 * _FIRST_PERSON.occurs(text)
    score -= 0.15 * text.rstrip().endswith("?") + 0.2 * (words < 5) + 0.15 * (words < 12 and bool(_PHATIC.match(text)))
    return round(min(1.0, max(0.05, score)), 3)


def memory_score(text: str, mentions: tuple[Mention, ...]) -> float:
    """The stored quality of M4: long enough to stand alone, short enough to be about one thing, specific."""
    words = len(text.split())
    length = min(1.0, words / 12) if words <= 60 else max(0.4, 60 / words)
    specific = min(1.0, 0.25 * len(mentions) + 0.25 * ("#" in words_of(text)))
    statement = 0.0 if text.rstrip().endswith("?") else 1.0
    return round(0.4 * length + 0.4 * specific + 0.2 * statement, 3)


# The extractor that needs no model: everything it says follows from the wording.


class Rules:
    """Reads entities, type, statements, dates, facets and importance out of a record, offline."""

    name = "rules"

    def extract(self, record: Record) -> Extraction:
        text = beginning(record.content)
        mentioned = mentions(text, record.speaker)
        facts = statements(text, record.speaker)
        by_user = _by_user(record)
        kind = record.type or type_of(text, by_user)
        return Extraction(
            type=kind,
            predicate=record.predicate or predicate_of(facts),
            importance=importance(text, kind, mentioned, bool(facts)),
            memory_score=memory_score(text, mentioned),
            mentions=mentioned,
            statements=facts,
            relations=relations(text, record.speaker),
            dates=dates_in(text, record.event_at or utc_now(), _zone(record)),
            facets=facets_of(text, by_user),
            refers_back=refers_back(text),
        )


def _by_user(record: Record) -> str | None:
    """The part of a record that the user says, or None if nobody else speaks in it."""
    if record.assistant_text:
        return beginning(record.user_text or "")
    return "" if is_assistant(record.speaker) else None


def _zone(record: Record) -> tzinfo:
    return UTC if record.utc_offset is None else timezone(record.utc_offset)


def beginning(content: str) -> str:
    """What is read of a long text, to the end of a word: names of a whole book would be linked to each other."""
    if len(content) <= MAX_EXTRACTED:
        return content
    end = content.rfind(" ", MAX_EXTRACTED - MAX_NAME, MAX_EXTRACTED)
    return content[: end if end > 0 else MAX_EXTRACTED]


# The extractor that asks a language model and keeps to the rules where the model fails.

_log = logging.getLogger("fivefold")

_TASK = (
    "You read one line of a conversation for a memory store. Answer with one JSON object and nothing else: "
    '{"type": one of fact|preference|event|entity|procedure, '
    '"predicate": the statement as a phrase of at most 10 words or null, '
    '"entities": [names of people, places, organisations, projects and codes that occur in it], '
    '"importance": 0..1, how likely it is to be asked for later, '
    '"facets": {"personal_info": text or null, "preferences": text or null, "events": text or null}}'
)


class ModelExtractor:
    """Any chat endpoint of the OpenAI shape; the rules fill in dates and statements, and everything on failure."""

    def __init__(self, model: str) -> None:
        self.name = f"openai:{model}"
        self._model = model
        self._rules = Rules()

    def extract(self, record: Record) -> Extraction:
        ruled = self._rules.extract(record)
        try:
            return replace(ruled, **self._ask(record, ruled), source=self.name)
        except (RemoteError, MissingExtra, LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
            _log.warning("%s could not read a record, so the rules did: %s", self.name, error)
            return replace(ruled, source=f"rules, because {self.name} failed")

    def _ask(self, record: Record, ruled: Extraction) -> dict[str, Any]:
        text = beginning(record.content)
        message = f"{record.speaker}: {text}" if record.speaker else text
        answer = post(
            "/chat/completions",
            {
                "model": self._model,
                "temperature": 0,
                "response_format": {"type": "json_object"},
                "messages": [{"role": "system", "content": _TASK}, {"role": "user", "content": message}],
            },
        )
        data = json.loads(answer["choices"][0]["message"]["content"])
        kind = record.type or (data["type"] if data["type"] in TYPES else ruled.type)
        entities = data.get("entities") or ()
        names = [checked_text(name, "entity") for name in ((entities,) if isinstance(entities, str) else entities)]
        names = list({name.casefold(): name for name in reversed(names)}.values())[::-1]
        predicate = checked_text(data.get("predicate") or "", "predicate", empty=True)
        known = {mention.name.casefold(): mention for mention in ruled.mentions}
        facets = data.get("facets") or {}
        return {
            "type": kind,
            "predicate": record.predicate or predicate or ruled.predicate,
            "importance": min(1.0, max(0.0, float(data.get("importance", ruled.importance)))),
            "mentions": tuple(known.get(name.casefold(), Mention(name, "name")) for name in dict.fromkeys(names))
            or ruled.mentions,
            "facets": {facet: checked_text(facets[facet], facet) for facet in FACETS if facets.get(facet)},
        }
