"""A benchmark of a few turns in each of the formats, small enough to be asked by every recipe in a test."""

from __future__ import annotations

import csv
import gzip
import itertools
import json
from pathlib import Path
from typing import Any

from tests.support.everyday_life import write_life

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


def longmemeval(marked: bool = False) -> list[dict[str, Any]]:
    """Every question asked of all sessions; with `marked` its turns of evidence carry has_answer."""

    def sessions(gold: list[str]) -> list[list[dict[str, Any]]]:
        mine = gold if marked else []
        return [
            [
                {"role": "user", "content": text, **({"has_answer": True} if f"D{number}:{turn}" in mine else {})}
                for turn, (_, text) in enumerate(said, 1)
            ]
            + [{"role": "assistant", "content": "I see."}]
            for number, said in enumerate(TALK.values(), 1)
        ]

    return [
        {
            "question_id": f"lme{number}",
            "question_type": "multi-session" if len(gold) > 1 else "single-session-user",
            "question": text,
            "question_date": "2024/03/20 (Wed) 10:00",
            "haystack_dates": [f"2024/03/0{day} (Mon) 10:00" for day in (4, 5, 6)],
            "haystack_session_ids": list(TALK),
            "haystack_sessions": sessions(gold),
            "answer_session_ids": [list(TALK)[int(id[1]) - 1] for id in gold],
        }
        for number, (text, gold, _) in enumerate(ASKED)
    ]


def beam_chat() -> list[dict[str, Any]]:
    """The talk as BEAM's batches: messages count through, and the assistant answers each."""
    ids = itertools.count()
    return [
        {
            "batch_number": number,
            "turns": [
                [
                    {"role": "user", "id": next(ids), "time_anchor": f"March-0{number + 3}-2024", "content": text},
                    {"role": "assistant", "id": next(ids), "content": "I see."},
                ]
                for _, text in said
            ],
        }
        for number, said in enumerate(TALK.values(), 1)
    ]


def beam_probes() -> dict[str, list[dict[str, Any]]]:
    order = [f"D{number}:{turn}" for number, said in enumerate(TALK.values(), 1) for turn in range(1, len(said) + 1)]
    probes = [{"question": text, "source_chat_ids": [2 * order.index(id) for id in gold]} for text, gold, _ in ASKED]
    parts = {"first_event": probes[0]["source_chat_ids"][:1], "second_event": probes[0]["source_chat_ids"][1:]}
    return {
        "temporal_reasoning": [{**probes[0], "source_chat_ids": parts}],
        "information_extraction": probes[1:],
        "abstention": [{"question": "Who owns the mill?"}],
    }


def personamem_context() -> list[dict[str, str]]:
    """The talk as sessions that each begin with the persona."""
    context = []
    for said in TALK.values():
        context.append({"role": "system", "content": "Current user persona: a miller"})
        for _, text in said:
            context.append({"role": "user", "content": f"User: {text}"})
            context.append({"role": "assistant", "content": "Assistant: I see."})
    return context


def personamem_rows() -> list[dict[str, str]]:
    """Two questions at the end of the text and one within the last session."""
    end = len(personamem_context())
    asked = [
        ("p0", "recall_user_shared_facts", 3, "User: Who keeps bees?", "Your sister Petra keeps bees.", end - 1),
        ("p1", "suggest_new_ideas", 2, "How did I break my wrist?", "You fell off the ladder.", end - 1),
        ("p2", "recall_user_shared_facts", 2, "When does the ferry leave?", "It leaves at seven.", end - 3),
    ]
    return [
        {
            "persona_id": "0",
            "question_id": id,
            "question_type": kind,
            "distance_to_ref_in_blocks": str(back),
            "user_question_or_message": text,
            "correct_answer": "(b)",
            "all_options": str(["(a) Nobody told me.", f"(b) {right}", "(c) You like rye bread."]),
            "shared_context_id": "c1",
            "end_index_in_shared_context": str(at),
        }
        for id, kind, back, text, right, at in asked
    ]


def write_personamem(folder: Path, rows: list[dict[str, str]], contexts: dict[str, Any]) -> Path:
    path = folder / "questions_tiny.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, list(rows[0]))
        table.writeheader()
        table.writerows(rows)
    lines = "".join(json.dumps({id: messages}) + "\n" for id, messages in contexts.items())
    (folder / "shared_contexts_tiny.jsonl").write_text(lines, "utf-8")
    return path


def write_beam(folder: Path, chat: object, probes: object) -> Path:
    """One conversation of the folder, as published."""
    (folder / "talks" / "1" / "probing_questions").mkdir(parents=True, exist_ok=True)
    (folder / "talks" / "1" / "chat.json").write_text(json.dumps(chat), "utf-8")
    path = folder / "talks" / "1" / "probing_questions" / "probing_questions.json"
    path.write_text(json.dumps(probes), "utf-8")
    return folder / "talks"


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
    """All formats, and the folder run with two recipes' answers."""
    write_beam(folder, beam_chat(), beam_probes())
    write_personamem(folder, personamem_rows(), {"c1": personamem_context()})
    write_life(folder)
    (folder / "talk.json").write_text(json.dumps(locomo()), "utf-8")
    (folder / "chats.json").write_text(json.dumps(longmemeval()), "utf-8")
    (folder / "marked.json").write_text(json.dumps(longmemeval(marked=True)), "utf-8")
    lines = folder / "lines"
    lines.mkdir(exist_ok=True)
    for name, items in (("memories", memories()), ("queries", queries())):
        (lines / f"{name}.jsonl").write_text("".join(json.dumps(item) + "\n" for item in items), "utf-8")
    run = folder / "run"
    run.mkdir(exist_ok=True)
    (run / "results.json").write_text(json.dumps({"recipes": {"old": {}, "new": {}}}), "utf-8")
    packed = "".join(json.dumps(item) + "\n" for item in answers()).encode()
    (run / "questions.jsonl.gz").write_bytes(gzip.compress(packed))
