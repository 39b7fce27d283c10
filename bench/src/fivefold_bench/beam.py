"""BEAM: one user's long talk with an assistant in a few sittings, and questions whose evidence is single turns.

Two forms are read. As published, each conversation is a folder with `chat.json` and its probing questions. As lines, a
folder has `memories.jsonl` and `queries.jsonl`. In both a session is what was said at one date, a batch of BEAM's.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import groupby
from pathlib import Path

from fivefold.errors import InvalidInput
from fivefold.evaluation import Question
from fivefold.values.json_files import Fields, document
from fivefold.values.memory import Record
from fivefold.values.validate import visible
from fivefold_bench import jsonl
from fivefold_bench.data import Dataset, LazyList, by_session, listed, tallied, turn_of
from fivefold_bench.locomo import APART, ASKED_AFTER

CHAT = "chat.json"
SHORTENED = "chat_trunecated.json"
"""A conversation cut to its size; BEAM's own code prefers it if it is there."""

PROBES = "probing_questions.json"
UNANSWERABLE = "abstention"
"""The kind of question that nothing said answers."""

NOTES = {
    "unanswerable": f"questions left out that nothing said answers ({UNANSWERABLE})",
    "unmarked": "questions left out because they name no message",
    "dropped": "ids dropped that name no message",
    "empty": "empty messages skipped",
}

DATE = "%B-%d-%Y"
BATCH_APART = timedelta(days=1)
"""Time from one batch to the next if the file gives no date."""

FIRST_DAY = datetime(2024, 1, 1, tzinfo=UTC)


def load(folder: str | Path) -> Dataset:
    """One namespace a conversation, one memory a message, scored by turn and by session."""
    data = _load(Path(folder))
    return replace(data, sessions=by_session(data))


def _load(folder: Path) -> Dataset:
    if not folder.is_dir():
        problem = "is a file, not a folder" if folder.exists() else "does not exist"
        raise InvalidInput(f"{folder} {problem}; give a folder of conversations, or of memories and queries as lines")
    if any(folder.glob("memories.jsonl*")):
        data = jsonl.load(folder, "turn")  # messages in the order of the file; one date is one session
        memories_of = {space: list(_in_sessions(list(records))) for space, records in data.memories.items()}
        return replace(data, name="beam", memories=memories_of)
    talks = [folder] if (folder / CHAT).exists() else [path.parent for path in folder.glob(f"*/{CHAT}")]
    talks.sort(key=lambda path: (int(path.name), "") if path.name.isdecimal() else (1 << 30, path.name))
    if not talks:
        raise InvalidInput(f"{folder} holds neither conversations with a {CHAT} nor a memories.jsonl")
    tally: Counter[str] = Counter()
    memories: dict[str, LazyList[Record]] = {}
    questions: list[Question] = []
    for talk in talks:
        turns = list(_turns(talk, tally))
        questions += _questions(talk, turns, tally)
        memories[talk.name] = LazyList(len(turns), partial(_all_turns, talk))
    if not questions:
        raise InvalidInput(f"{folder}: no question names a message that answers it")
    return Dataset(
        name="beam",
        unit="turn",
        memories=memories,
        questions=questions,
        plain={talk.name: LazyList(len(memories[talk.name]), partial(_plain, talk)) for talk in talks},
        notes=tallied(tally, NOTES, always=("unanswerable",)),
    )


def _in_sessions(records: Sequence[Record]) -> Iterator[Record]:
    """Sessions that the lines name stay; else each run of messages with one time becomes one."""
    for number, (_, run) in enumerate(groupby(records, key=lambda record: (record.session_id, record.event_at)), 1):
        for index, record in enumerate(run):
            role = record.speaker
            yield replace(
                record,
                session_id=record.session_id or f"batch-{number}",
                turn_index=index,
                kind="turn",
                user_text=record.content if role == "user" else record.user_text,
                assistant_text=record.content if role == "assistant" else record.assistant_text,
                event_at=record.event_at + index * APART if record.event_at else None,
            )


def _all_turns(talk: Path) -> list[Record]:
    """Read again each time, since the longest conversations are too large to keep all of them."""
    return list(_turns(talk, Counter()))


def _plain(talk: Path) -> list[tuple[str, str]]:
    return [(turn.id or "", turn.content) for turn in _all_turns(talk)]


def _batches(talk: Path) -> Iterator[Fields]:
    """The batches of a conversation; one of ten million tokens has them in plans, one after the other."""
    path = talk / (SHORTENED if (talk / SHORTENED).exists() else CHAT)
    where = f"{talk.name}/{path.name}"
    for number, value in enumerate(listed(path), 1):
        part = Fields.of(f"{where}, batch {number}", value)
        if "turns" in part.data:
            yield part
            continue
        for plan in part.data:
            for place, batch in enumerate(part.entries(plan), 1):
                yield Fields.of(f"{where}, {plan}, batch {place}", batch)


def _turns(talk: Path, tally: Counter[str]) -> Iterator[Record]:
    start = FIRST_DAY - BATCH_APART
    seen: set[str] = set()
    for number, batch in enumerate(_batches(talk), 1):
        messages = [
            Fields.of(f"{batch.where}, turn {place}, message {within}", message)
            for place, turn in enumerate(batch.entries("turns"), 1)
            for within, message in enumerate(turn if isinstance(turn, list) else [turn], 1)
        ]
        start = _date(batch, messages) or start + BATCH_APART
        for index, message in enumerate(messages):
            content, role = message.text("content", empty=True), message.name("role")
            if not visible(content):
                tally["empty"] += 1
                continue
            id = _number(message, message.value("id"))
            if id in seen:
                raise message.fault("id", f"{id} names an earlier message already")
            seen.add(id)
            yield turn_of(id, content, role, f"batch-{number}", index, start + index * APART)


def _number(message: Fields, value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, int):
        raise message.fault("id", f"must be a whole number, not {value!r}")
    return str(value)


def _date(batch: Fields, messages: Sequence[Fields]) -> datetime | None:
    """The date of the batch or the first that a message carries, such as March-15-2024."""
    for fields in (batch, *messages):
        value = fields.data.get("time_anchor")
        if isinstance(value, str):
            try:
                return datetime.strptime(value, DATE).replace(hour=9, tzinfo=UTC)
            except ValueError:
                continue
    return None


def _questions(talk: Path, turns: Sequence[Record], tally: Counter[str]) -> Iterator[Question]:
    path = next((path for path in (talk / "probing_questions" / PROBES, talk / PROBES) if path.exists()), None)
    if path is None:
        raise InvalidInput(f"{talk} holds no probing_questions/{PROBES}; copy the whole folder of the conversation")
    known = {turn.id for turn in turns}
    last = max((turn.event_at for turn in turns if turn.event_at), default=FIRST_DAY)
    kinds = Fields.of(f"{talk.name}/{PROBES}", document(path))
    for kind in kinds.data:
        for number, value in enumerate(kinds.entries(kind)):
            probe = Fields.of(f"{kinds.where}, {kind} {number + 1}", value)
            ids = list(dict.fromkeys(_ids(probe.data.get("source_chat_ids"))))
            relevant = tuple(id for id in ids if id in known)
            tally["dropped"] += len(ids) - len(relevant)
            if not relevant:
                tally["unanswerable" if kind == UNANSWERABLE else "unmarked"] += 1
                continue
            id = f"{talk.name}:{kind}:{number}"
            yield Question(id, talk.name, probe.text("question"), relevant, kind, last + ASKED_AFTER)


def _ids(value: object) -> Iterator[str]:
    """The messages a question rests on: a list of numbers, or lists of them by what each is for."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for entry in value:
            yield from _ids(entry)
    elif isinstance(value, int) and not isinstance(value, bool):
        yield str(value)
    elif isinstance(value, str):
        yield from re.findall(r"\d+", value)
