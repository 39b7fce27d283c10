"""LoCoMo: long talks between two people, and questions whose evidence is single turns."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from fivefold.errors import InvalidInput
from fivefold.evaluation import Question
from fivefold.values.json_files import Fields
from fivefold.values.memory import Record
from fivefold.values.validate import checked_text, visible
from fivefold_bench.data import Dataset, listed, tallied

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
DATE = "%I:%M %p on %d %B, %Y"
APART = timedelta(seconds=1)
"""Between two turns of a session, so that they keep their order and a repeated word stays two turns."""

ASKED_AFTER = timedelta(days=1)
"""From a conversation's last session to its questions."""

NOTES = {
    "repaired": "evidence strings repaired",
    "dropped": "evidence ids dropped that name no turn",
    "left out": "questions left out because they have no evidence",
    "empty": "empty turns skipped",
}

_SESSION = re.compile(r"session_(\d+)")
_TURN = re.compile(r"D:?(\d+):(\d+)")


def load(path: str | Path) -> Dataset:
    """One namespace a conversation, one memory a turn; malformed evidence is repaired if it can be."""
    memories: dict[str, list[Record]] = {}
    questions: list[Question] = []
    tally: Counter[str] = Counter()
    file = Path(path).name
    for number, value in enumerate(listed(path), 1):
        talk = Fields.of(f"{file}, conversation {number}", value)
        sample = talk.name("sample_id")
        if sample in memories:
            raise talk.fault("sample_id", f"{sample!r} names an earlier conversation already")
        memories[sample] = list(_turns(talk, tally))
        questions += _questions(talk, memories[sample], tally)
    if not questions:
        raise InvalidInput(f"{file}: no question has usable evidence")
    return Dataset(
        name="locomo",
        unit="turn",
        memories=memories,
        questions=questions,
        plain={
            sample: [(turn.id or "", f"{turn.speaker}: {turn.content}") for turn in turns]
            for sample, turns in memories.items()
        },
        notes=tallied(tally, NOTES, always=("repaired", "dropped", "left out")),
    )


def _turns(talk: Fields, tally: Counter[str]) -> Iterator[Record]:
    conversation = Fields(talk.where, Fields.of(f"{talk.where}, field conversation", talk.value("conversation")).data)
    sessions = sorted((int(match[1]), name) for name in conversation.data if (match := _SESSION.fullmatch(name)))
    if not sessions:
        raise talk.fault("conversation", "holds no session_1, session_2, …")
    seen: set[str] = set()
    for _, session in sessions:
        start = moment(conversation, f"{session}_date_time", DATE)
        for index, value in enumerate(conversation.entries(session)):
            turn = Fields.of(f"{talk.where}, {session}, turn {index + 1}", value)
            record = _record(turn, session, index, start + index * APART)
            if record is None:
                tally["empty"] += 1
                continue
            if record.id in seen:
                raise turn.fault("dia_id", f"{record.id!r} names an earlier turn already")
            seen.add(turn.name("dia_id"))
            yield record


def _record(turn: Fields, session: str, index: int, event_at: datetime) -> Record | None:
    text = turn.text("text", empty=True)
    caption = turn.text("blip_caption", empty=True) if "blip_caption" in turn.data else ""
    content = f"{text} [shares a photo: {caption}]".strip() if caption else text
    if not visible(content):
        return None
    return Record(
        id=turn.name("dia_id"),
        content=turn.checked("text", checked_text, content, "text"),
        speaker=turn.name("speaker"),
        session_id=session,
        turn_index=index,
        kind="turn",
        event_at=event_at,
    )


def moment(fields: Fields, name: str, form: str) -> datetime:
    """A date in the benchmark's own spelling, as UTC."""
    value = fields.text(name)
    try:
        return datetime.strptime(value, form).replace(tzinfo=UTC)
    except ValueError:
        example = datetime(2023, 5, 8, 13, 56, tzinfo=UTC).strftime(form)
        raise fields.fault(name, f"{value!r} is not a date like {example!r}") from None


def _questions(talk: Fields, turns: list[Record], tally: Counter[str]) -> Iterator[Question]:
    id_of = {}
    for id in (turn.id or "" for turn in turns):
        match = _TURN.fullmatch(id)
        id_of[f"D{int(match[1])}:{int(match[2])}" if match else id] = id
    sample = talk.name("sample_id")
    now = max((turn.event_at for turn in turns if turn.event_at), default=None)
    for index, value in enumerate(talk.entries("qa")):
        question = Fields.of(f"{talk.where}, question {index + 1}", value)
        text, category = question.text("question"), question.value("category")
        if isinstance(category, bool) or not isinstance(category, int) or category not in CATEGORIES:
            known = ", ".join(f"{number} ({name})" for number, name in CATEGORIES.items())
            raise question.fault("category", f"{category!r} is unknown; it is one of {known}")
        relevant = _evidence(question, id_of, tally)
        if not relevant:
            tally["left out"] += 1
            continue
        assert now is not None
        yield Question(f"{sample}:{index}", sample, text, relevant, CATEGORIES[category], now + ASKED_AFTER)


def _evidence(question: Fields, id_of: Mapping[str, str], tally: Counter[str]) -> tuple[str, ...]:
    """The turns a question rests on: 'D8:6; D9:17' is two of them, 'D:11:26' and 'D30:05' are misspelt."""
    relevant: dict[str, None] = {}
    known = frozenset(id_of.values())
    for value in question.entries("evidence"):
        text = question.checked("evidence", partial(checked_text, empty=True), value, "evidence")
        if text in known:
            relevant[text] = None
            continue
        names = [f"D{int(match[1])}:{int(match[2])}" for match in _TURN.finditer(text)]
        ids = [id_of[name] for name in names if name in id_of]
        relevant.update(dict.fromkeys(ids))
        tally["repaired"] += bool(ids)
        tally["dropped"] += max(1, len(names)) - len(ids)
    return tuple(relevant)
