"""LongMemEval: one user's sessions with an assistant, and questions whose evidence is whole sessions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from fivefold.bench.data import Dataset, Question
from fivefold.bench.jsonl import Fields, document, kind_of
from fivefold.bench.locomo import APART, moment
from fivefold.errors import InvalidInput
from fivefold.values.memory import Record
from fivefold.values.validate import checked_name, visible

POOL = "longmemeval"
"""The namespace that all sessions share when they are pooled."""

DATE = "%Y/%m/%d (%a) %H:%M"
UNANSWERABLE = "_abs"
"""How the ids of questions end that no session answers."""

Sessions = dict[str, list[Record]]


def load(path: str | Path, pool: bool) -> Dataset:
    """One memory a turn; with `pool` every session once in one namespace, else a namespace for each question."""
    sessions_of: dict[str, Sessions] = {}
    questions: list[Question] = []
    seen: set[str] = set()
    tally: Counter[str] = Counter()
    file = Path(path).name
    for number, value in enumerate(document(path), 1):
        fields = Fields.of(f"{file}, question {number}", value)
        id = fields.name("question_id")
        if id in seen:
            raise fields.fault("question_id", f"{id!r} names an earlier question already")
        seen.add(id)
        answerable = not id.endswith(UNANSWERABLE)
        tally["unanswerable"] += not answerable
        if answerable or pool:
            namespace = POOL if pool else id
            haystack = _haystack(fields, sessions_of.setdefault(namespace, {}), tally)
        if answerable:
            questions.append(_question(fields, id, namespace, haystack))
    if not questions:
        raise InvalidInput(f"{file}: no question can be answered from its sessions")
    memories = {
        namespace: [turn for turns in sessions.values() for turn in turns]
        for namespace, sessions in sessions_of.items()
    }
    return Dataset(
        name="longmemeval",
        unit="session",
        memories=memories,
        questions=questions,
        plain={
            namespace: [(turn.session_id or "", turn.content) for turn in turns if turn.speaker == "user"]
            for namespace, turns in memories.items()
        },
        notes=_notes(tally),
    )


def _notes(tally: Counter[str]) -> tuple[str, ...]:
    labels = (
        ("unanswerable", f"questions left out that no session answers (…{UNANSWERABLE})"),
        ("empty", "empty turns skipped"),
        ("redated", "repeated sessions with another date, the first date used"),
    )
    return tuple(f"{words}: {tally[what]}" for what, words in labels if what != "redated" or tally[what])


def _question(fields: Fields, id: str, namespace: str, haystack: frozenset[str]) -> Question:
    relevant = [
        fields.checked("answer_session_ids", checked_name, session, "answer_session_ids")
        for session in fields.entries("answer_session_ids")
    ]
    if not relevant:
        raise fields.fault("answer_session_ids", "is empty; name the sessions that answer the question")
    unknown = next((session for session in relevant if session not in haystack), None)
    if unknown is not None:
        raise fields.fault("answer_session_ids", f"{unknown!r} is not among the question's haystack_session_ids")
    return Question(
        id=id,
        namespace=namespace,
        text=fields.text("question"),
        relevant=tuple(dict.fromkeys(relevant)),
        category=fields.name("question_type"),
        now=_end_of_day(moment(fields, "question_date", DATE)),
    )


def _haystack(fields: Fields, sessions: Sessions, tally: Counter[str]) -> frozenset[str]:
    """Adds the question's sessions to those of its namespace, each once, and returns their ids."""
    names = ("haystack_session_ids", "haystack_dates", "haystack_sessions")
    ids, dates, talks = (fields.entries(name) for name in names)
    for name, values in zip(names[1:], (dates, talks), strict=True):
        if len(values) != len(ids):
            raise fields.fault(name, f"has {len(values)} entries, haystack_session_ids has {len(ids)}")
    present: set[str] = set()
    for number, (id, date, talk) in enumerate(zip(ids, dates, talks, strict=True), 1):
        session = Fields(f"{fields.where}, session {number}", {names[0]: id, names[1]: date, names[2]: talk})
        name, start = session.name(names[0]), moment(session, names[1], DATE)
        if not isinstance(talk, list):
            raise session.fault(names[2], f"must be a list of turns, not {kind_of(talk)}")
        before = sessions.get(name)
        empty: Counter[str] = Counter()
        turns = list(_turns(session.where, name, start, talk, empty))
        present.add(name)
        if before is None:
            sessions[name] = turns
            tally.update(empty)
        elif _speakers_and_texts(before) != _speakers_and_texts(turns):
            raise session.fault(names[0], f"{name!r} names an earlier session already that has other turns")
        else:
            tally["redated"] += before != turns
    return frozenset(present)


def _speakers_and_texts(turns: list[Record]) -> list[tuple[str | None, str]]:
    return [(turn.speaker, turn.content) for turn in turns]


def _turns(where: str, session: str, start: datetime, talk: list[object], empty: Counter[str]) -> Iterator[Record]:
    for index, value in enumerate(talk):
        turn = Fields.of(f"{where}, turn {index + 1}", value)
        content, role = turn.text("content", empty=True), turn.name("role")
        if not visible(content):
            empty["empty"] += 1
            continue
        id = turn.checked("haystack_session_ids", checked_name, f"{session}:{index}", "the id of the turn")
        yield Record(
            id=id,
            content=content,
            speaker=role,
            session_id=session,
            turn_index=index,
            kind="turn",
            user_text=content if role == "user" else None,
            assistant_text=content if role == "assistant" else None,
            event_at=start + index * APART,
        )


def _end_of_day(day: datetime) -> datetime:
    """Some questions have an earlier hour than the sessions of the same day that answer them."""
    return day.replace(hour=23, minute=59, second=59)
