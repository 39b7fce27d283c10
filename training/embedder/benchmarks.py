"""LoCoMo and LongMemEval read for evaluation; nothing is trained on them."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

EVIDENCE = re.compile(r"D:?(\d+):(\d+)")


@dataclass(frozen=True)
class Turn:
    """One memory: what it belongs to for counting (itself, or its session), who said it, when, and what came before."""

    key: str
    speaker: str
    text: str
    at: datetime
    before: str

    @property
    def day(self) -> str:
        return f"{self.at.day} {self.at:%B} {self.at.year}"

    def told(self, dated: bool = True) -> str:
        """The layout of the engine: people are named, parts in the talk are not."""
        if not self.speaker:
            return f"{self.day} {self.text}" if dated else self.text
        return f"{self.speaker} ({self.day}): {self.text}" if dated else f"{self.speaker}: {self.text}"


@dataclass(frozen=True)
class Asked:
    text: str
    gold: frozenset[str]
    kind: str


@dataclass(frozen=True)
class Namespace:
    turns: list[Turn]
    asked: list[Asked]


def locomo(path: Path) -> list[Namespace]:
    """One namespace a conversation, turn by turn; malformed evidence is mended where it can be."""
    return [_conversation(item["conversation"], item["qa"]) for item in json.loads(path.read_text())]


def _conversation(talk: dict, questions: list[dict]) -> Namespace:  # type: ignore[type-arg]
    turns: list[Turn] = []
    for number in range(1, 60):
        said = talk.get(f"session_{number}", [])
        before = ""
        for turn in said:
            at = datetime.strptime(talk[f"session_{number}_date_time"], "%I:%M %p on %d %B, %Y")
            text = " ".join(filter(None, (turn["text"], turn.get("blip_caption"))))
            turns.append(Turn(turn["dia_id"], turn["speaker"], text, at, before))
            before = f"{turn['speaker']}: {turn['text']}"
    known = {turn.key for turn in turns}
    asked = []
    for question in questions:
        found = {f"D{int(a)}:{int(b)}" for e in question.get("evidence") or [] for a, b in EVIDENCE.findall(e)} & known
        if found:
            asked.append(Asked(question["question"], frozenset(found), str(question["category"])))
    return Namespace(turns, asked)


def longmemeval(path: Path) -> list[Namespace]:
    """All sessions in one namespace, the user's turns only, counted by session."""
    items = json.loads(path.read_text())
    turns: dict[str, list[Turn]] = {}
    for item in items:
        for key, day, session in zip(
            item["haystack_session_ids"], item["haystack_dates"], item["haystack_sessions"], strict=True
        ):
            at = datetime.strptime(day[:10], "%Y/%m/%d")
            before = [""] + [turn["content"] for turn in session]
            turns[key] = [
                Turn(key, "", turn["content"], at, said)
                for turn, said in zip(session, before, strict=False)
                if turn["role"] == "user"
            ]
    asked = [
        Asked(item["question"], frozenset(item["answer_session_ids"]), item["question_type"])
        for item in items
        if not item["question_id"].endswith("_abs")
    ]
    return [Namespace([turn for session in turns.values() for turn in session], asked)]


def measures(ranked: Sequence[str], gold: Iterable[str]) -> dict[str, float]:
    """Recall at 5 and 10 and nDCG at 10 of keys in ranked order, each counted once."""
    order, wanted = list(dict.fromkeys(ranked)), set(gold)
    gain = sum(1 / math.log2(place + 2) for place, key in enumerate(order[:10]) if key in wanted)
    ideal = sum(1 / math.log2(place + 2) for place in range(min(10, len(wanted))))
    return {
        "R@5": len(wanted & set(order[:5])) / len(wanted),
        "R@10": len(wanted & set(order[:10])) / len(wanted),
        "nDCG@10": gain / ideal,
    }


def averages(rows: Sequence[dict[str, float]]) -> dict[str, float]:
    return {name: sum(row[name] for row in rows) / len(rows) for name in rows[0]}
