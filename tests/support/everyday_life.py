"""A life of a few days, small enough to be asked by several recipes in a test."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

MEMORIES = [
    ("m1", "user", "s1", "2026-01-05T09:00:00+01:00", "I live in a small flat in Porto, above the bakery."),
    ("m2", "user", "s1", "2026-01-05T09:01:00+01:00", "My badge number at the harbour office is E-47821."),
    ("m3", "assistant", "s1", "2026-01-05T09:02:00+01:00", "Noted, badge E-47821."),
    ("m4", "user", "s2", "2026-02-10T18:00:00+01:00", "We moved to Braga last weekend, boxes everywhere."),
    ("m5", "user", "s2", "2026-02-10T18:01:00+01:00", "Rui adopted a grey cat called Fado."),
    ("m6", "user", "s3", "2026-03-02T20:00:00+01:00", "I planted three plum trees with Rui."),
]
QUESTIONS: list[dict[str, Any]] = [
    {"q": "Where do I live now?", "kind": "current", "expected": ["m4"], "stale": ["m1"]},
    {"q": "What is my badge number?", "kind": "identifier", "expected": ["m2", "m3"]},
    {"q": "What animals are there?", "kind": "list", "expected": ["m5"], "context": ["Rui came by."]},
    {"q": "What is my blood group?", "kind": "never", "expected": [], "now": "2026-03-03T08:00:00+01:00"},
]


def life() -> dict[str, Any]:
    fields = ("id", "speaker", "session_id", "event_at", "content")
    return {
        "now": "2026-03-02T21:00:00+01:00",
        "memories": [dict(zip(fields, row, strict=True)) for row in MEMORIES],
        "questions": [dict(question) for question in QUESTIONS],
    }


def write_life(folder: Path, name: str = "nuno", **changes: Any) -> Path:
    path = folder / f"{name}.json"
    path.write_text(json.dumps({**life(), **changes}), "utf-8")
    return path
