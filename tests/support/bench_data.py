"""A benchmark of a few turns in each of the formats, small enough to be asked by every recipe in a test."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from fivefold.bench.data import Dataset
from fivefold.bench.jsonl import load

TALK = {
    "monday": [
        ("Ines", "I planted three plum trees behind the mill"),
        ("Olaf", "The ferry to Skarholm leaves at seven in the morning"),
        ("Ines", "My sister Petra keeps bees and sells honey"),
    ],
    "friday": [
        ("Olaf", "I broke my wrist when I fell off the ladder"),
        ("Ines", "The plum trees lost all their blossom in the frost"),
        ("Olaf", "My badge number is E-47821"),
    ],
    "sunday": [
        ("Ines", "We baked rye bread with caraway for the fair"),
        ("Olaf", "The lighthouse at Skarholm is being painted red"),
    ],
}
ASKED = [
    ("What happened to the plum trees?", ["D2:2", "D1:1"], 1),
    ("When does the ferry leave?", ["D1:2"], 2),
    ("Who keeps bees?", ["D1:3"], 4),
    ("How did Olaf break his wrist?", ["D2:1"], 4),
    ("What is Olaf's badge number?", ["D2:3"], 4),
    ("What is being painted red?", ["D3:2"], 4),
]


def locomo() -> list[dict[str, Any]]:
    talk: dict[str, Any] = {"speaker_a": "Ines", "speaker_b": "Olaf"}
    for number, said in enumerate(TALK.values(), 1):
        talk[f"session_{number}_date_time"] = f"10:00 am on {number + 3} March, 2024"
        talk[f"session_{number}"] = [
            {"speaker": who, "dia_id": f"D{number}:{turn}", "text": text} for turn, (who, text) in enumerate(said, 1)
        ]
    questions = [{"question": text, "evidence": gold, "category": kind} for text, gold, kind in ASKED]
    return [{"sample_id": "mill", "conversation": talk, "qa": questions}]


def longmemeval() -> list[dict[str, Any]]:
    sessions = [
        [{"role": "user", "content": text} for _, text in said] + [{"role": "assistant", "content": "I see."}]
        for said in TALK.values()
    ]
    return [
        {
            "question_id": f"lme{number}",
            "question_type": "multi-session" if len(gold) > 1 else "single-session-user",
            "question": text,
            "question_date": "2024/03/20 (Wed) 10:00",
            "haystack_dates": [f"2024/03/0{day} (Mon) 10:00" for day in (4, 5, 6)],
            "haystack_session_ids": list(TALK),
            "haystack_sessions": sessions,
            "answer_session_ids": [list(TALK)[int(id[1]) - 1] for id in gold],
        }
        for number, (text, gold, _) in enumerate(ASKED)
    ]


def memories() -> list[dict[str, Any]]:
    return [
        {
            "id": f"D{number}:{turn}",
            "namespace": "mill",
            "content": text,
            "speaker": who,
            "session_id": session,
            "event_at": f"2024-03-0{number + 3}T10:00:0{turn}Z",
        }
        for number, (session, said) in enumerate(TALK.items(), 1)
        for turn, (who, text) in enumerate(said, 1)
    ]


def queries() -> list[dict[str, Any]]:
    return [
        {"id": f"q{number}", "namespace": "mill", "query": text, "relevant": gold, "category": str(kind)}
        for number, (text, gold, kind) in enumerate(ASKED)
    ]


def answers() -> list[dict[str, Any]]:
    """What two recipes called old and new found; new has lost one answer and gained none."""
    return [
        {
            "recipe": name,
            "question": "q0",
            "text": "Who keeps bees?",
            "category": "4",
            "relevant": ["D1:3"],
            "ranking": ranking,
            "scores": {"recall@10": score},
            "explained": {ranking[0]: "#1  0.5000  …"},
        }
        for name, ranking, score in (("old", ["D1:3"], 1.0), ("new", ["D2:1"], 0.0))
    ]


def write(folder: Path) -> None:
    """All formats: talk.json, chats.json, the folder lines; and the folder run with two recipes' answers."""
    (folder / "talk.json").write_text(json.dumps(locomo()), "utf-8")
    (folder / "chats.json").write_text(json.dumps(longmemeval()), "utf-8")
    lines = folder / "lines"
    lines.mkdir(exist_ok=True)
    for name, items in (("memories", memories()), ("queries", queries())):
        (lines / f"{name}.jsonl").write_text("".join(json.dumps(item) + "\n" for item in items), "utf-8")
    run = folder / "run"
    run.mkdir(exist_ok=True)
    (run / "results.json").write_text(json.dumps({"recipes": {"old": {}, "new": {}}}), "utf-8")
    packed = "".join(json.dumps(item) + "\n" for item in answers()).encode()
    (run / "questions.jsonl.gz").write_bytes(gzip.compress(packed))


def dataset(folder: Path) -> Dataset:
    write(folder)
    return load(folder / "lines")
