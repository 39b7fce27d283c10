"""The extractor that asks a language model and keeps to the rules where the model fails."""

from __future__ import annotations

import json
import logging
from dataclasses import replace
from typing import Any

from fivefold.errors import MissingExtra
from fivefold.models.remote import RemoteError, post
from fivefold.values.extraction import Extraction, Mention
from fivefold.values.memory import FACETS, TYPES, Record
from fivefold.values.validate import checked_text
from fivefold.writing.extract.rules import Rules, beginning

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
