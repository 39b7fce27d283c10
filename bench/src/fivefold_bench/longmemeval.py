"""LongMemEval: one user's sessions with an assistant, and questions whose evidence is turns of some of them.

The oracle file has the evidence only and is pooled; LongMemEval-S has a haystack for each question. Files are read a
question at a time and their sessions wait in a temporary file, since those of LongMemEval-S are hundreds of megabytes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path

from fivefold.errors import InvalidInput
from fivefold.evaluation import Question
from fivefold.transfer.importers.sources import JsonStream
from fivefold.values.json_files import Fields, kind_of, open_file
from fivefold.values.memory import Record
from fivefold.values.validate import checked_name, visible
from fivefold_bench.data import Dataset, LazyList, Place, Spool, Unit, tallied, turn_of
from fivefold_bench.locomo import APART, moment

POOL = "longmemeval"
"""The namespace that all sessions share when they are pooled."""

DATE = "%Y/%m/%d (%a) %H:%M"
UNANSWERABLE = "_abs"
"""Ending of the ids of questions that no session answers."""

MEASURES = tuple(f"{name}@{k}" for k in (5, 10) for name in ("recall_any", "recall_all", "ndcg_any"))
"""The measures that LongMemEval's own script prints of a retrieval, and the recall that others report."""

UNMARKED = "no turn is marked by has_answer, so only sessions can be scored"

NOTES = {
    "unanswerable": f"questions left out that no session answers (…{UNANSWERABLE})",
    "empty": "empty turns skipped",
    "redated": "repeated sessions with another date, the first date used",
    "unmarked": "questions left out because none of their turns is marked as evidence",
}

_PARTS = ("haystack_session_ids", "haystack_dates", "haystack_sessions")


@dataclass(frozen=True, slots=True)
class StoredSession:
    """A session of a haystack: its beginning, the file in which its turns wait, and the number to index."""

    where: str
    id: str
    start: datetime
    place: Place
    turns: int
    user_turns: int
    empty: int
    evidence: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HaystackQuestion:
    """A question with the sessions it is asked of; one that none of them answers has nothing relevant."""

    question: Question
    haystack: tuple[StoredSession, ...]


def load(path: str | Path, pool: bool | None = None, unit: Unit | None = "session") -> Dataset:
    """One memory a turn; with `pool` every session once in one namespace, else a namespace for each question.

    Without `pool` the file decides: haystacks of nothing but evidence are pooled. `unit` is what counts as found; None
    means turns, and sessions as well, or sessions alone if the file marks no turn as evidence.
    """
    spool, tally = Spool(), Counter[str]()
    everything = _read(Path(path), spool)
    asked = [item for item in everything if item.question.relevant]
    tally["unanswerable"] = len(everything) - len(asked)
    if not asked:
        raise InvalidInput(f"{Path(path).name}: no question can be answered from its sessions")
    if pool is None:
        pool = all({session.id for session in item.haystack} <= set(item.question.relevant) for item in asked)
    if pool:
        spaces = {POOL: _distinct([session for item in everything for session in item.haystack], tally)}
        asked = [replace(item, question=replace(item.question, namespace=POOL)) for item in asked]
    else:
        spaces = {item.question.namespace: _distinct(item.haystack, tally) for item in asked}
    marked = list(_by_turn(asked)) if unit != "session" else []
    if unit == "turn" and not marked:
        raise InvalidInput(f"{Path(path).name}: {UNMARKED}")
    tally["unmarked"] = len(asked) - len(marked) if marked else 0
    sessions = Dataset(
        name="longmemeval",
        unit="session",
        memories={space: _memories(spool, stored) for space, stored in spaces.items()},
        questions=[item.question for item in asked],
        plain={space: _plain(spool, stored, "session") for space, stored in spaces.items()},
        notes=(
            *tallied(tally, NOTES, always=("unanswerable", "empty")),
            *([UNMARKED] if unit is None and not marked else []),
        ),
        measures=MEASURES,
    )
    if not marked:
        return sessions
    plain = {space: _plain(spool, stored, "turn") for space, stored in spaces.items()}
    return replace(sessions, unit="turn", questions=marked, plain=plain, sessions=sessions)


def _read(path: Path, spool: Spool) -> list[HaystackQuestion]:
    """All questions in the order of the file; the turns of their sessions go to the spool."""
    asked: list[HaystackQuestion] = []
    seen: set[str] = set()
    for number, value in enumerate(read_questions(path, spool), 1):
        fields = Fields.of(f"{path.name}, question {number}", value)
        id = fields.name("question_id")
        if id in seen:
            raise fields.fault("question_id", f"{id!r} names an earlier question already")
        seen.add(id)
        haystack = tuple(_haystack(fields, spool))
        _distinct(haystack, Counter())
        if id.endswith(UNANSWERABLE):
            question = Question(id, id, "", ())
        else:
            question = _question(fields, id, frozenset(session.id for session in haystack))
        asked.append(HaystackQuestion(question, haystack))
    return asked


def read_questions(path: Path, spool: Spool) -> Iterator[object]:
    """The questions of a file: a list of them, or an object with the sessions of all apart from the questions."""
    with open_file(path) as file:
        stream = JsonStream(file, path.name)
        match stream.peek():
            case "[":
                yield from (stream.value(f"question {number}") for number in stream.entries())
            case "{":
                yield from _apart(stream, spool)
            case "":
                raise InvalidInput(f"{path.name} is empty")
            case _:
                raise _wrong_form(path.name)


def _apart(stream: JsonStream, spool: Spool) -> Iterator[object]:
    """Questions that name sessions of a table; every session is read once and may serve many of them."""
    places: dict[str, Place] = {}
    questions: list[object] | None = None
    for part in stream.members():
        if part == "sessions":
            places.update((id, spool.put(stream.value())) for id in stream.members())
        elif part == "questions":
            questions = [stream.value(f"question {number}") for number in stream.entries()]
        else:
            stream.value()
    if questions is None:
        raise _wrong_form(stream.name)
    for number, value in enumerate(questions, 1):
        fields = Fields.of(f"{stream.name}, question {number}", value)
        ids = fields.entries("haystack_session_ids")
        unknown = next((id for id in ids if not isinstance(id, str) or id not in places), None)
        if unknown is not None:
            raise fields.fault("haystack_session_ids", f"{unknown!r} is not among the sessions of the file")
        yield {**fields.data, "haystack_sessions": [spool.get(places[id]) for id in ids]}


def _wrong_form(name: str) -> InvalidInput:
    return InvalidInput(f"{name}: must be a list of questions, or an object with sessions and questions")


def _question(fields: Fields, id: str, haystack: frozenset[str]) -> Question:
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
        namespace=id,
        text=fields.text("question"),
        relevant=tuple(dict.fromkeys(relevant)),
        category=fields.name("question_type"),
        # Some questions have an earlier hour than the sessions of the same day that answer them.
        now=moment(fields, "question_date", DATE).replace(hour=23, minute=59, second=59),
    )


def _haystack(fields: Fields, spool: Spool) -> Iterator[StoredSession]:
    """The sessions of a question, checked, in the order of the file."""
    ids, dates, talks = (fields.entries(name) for name in _PARTS)
    for name, values in zip(_PARTS[1:], (dates, talks), strict=True):
        if len(values) != len(ids):
            raise fields.fault(name, f"has {len(values)} entries, haystack_session_ids has {len(ids)}")
    for number, parts in enumerate(zip(ids, dates, talks, strict=True), 1):
        session = Fields(f"{fields.where}, session {number}", dict(zip(_PARTS, parts, strict=True)))
        id, start, talk = session.name(_PARTS[0]), moment(session, _PARTS[1], DATE), session.data[_PARTS[2]]
        if not isinstance(talk, list):
            raise session.fault(_PARTS[2], f"must be a list of turns, not {kind_of(talk)}")
        turns = list(_turns(session.where, id, start, talk))
        evidence = tuple(f"{id}:{index}" for index, turn in enumerate(talk) if turn.get("has_answer"))
        said = [{"role": turn.get("role"), "content": turn.get("content")} for turn in talk]
        users = sum(turn.speaker == "user" for turn in turns)
        empty = len(talk) - len(turns)
        yield StoredSession(session.where, id, start, spool.put(said), len(turns), users, empty, evidence)


def _turns(where: str, session: str, start: datetime, talk: list[object]) -> Iterator[Record]:
    for index, value in enumerate(talk):
        turn = Fields.of(f"{where}, turn {index + 1}", value)
        content, role = turn.text("content", empty=True), turn.name("role")
        if not visible(content):
            continue
        id = turn.checked("haystack_session_ids", checked_name, f"{session}:{index}", "the id of the turn")
        yield turn_of(id, content, role, session, index, start + index * APART)


def _distinct(sessions: Sequence[StoredSession], tally: Counter[str]) -> tuple[StoredSession, ...]:
    """Each session once; one that comes again must have the same turns."""
    first: dict[str, StoredSession] = {}
    for session in sessions:
        before = first.setdefault(session.id, session)
        if before is session:
            tally["empty"] += session.empty
        elif before.place != session.place:
            reason = f"{session.id!r} names an earlier session already that has other turns"
            raise InvalidInput(f"{session.where}, field {_PARTS[0]}: {reason}")
        else:
            tally["redated"] += before.start != session.start
    return tuple(first.values())


def _memories(spool: Spool, sessions: Sequence[StoredSession]) -> LazyList[Record]:
    return LazyList(sum(session.turns for session in sessions), partial(_records, spool, sessions))


def _plain(spool: Spool, sessions: Sequence[StoredSession], unit: Unit) -> LazyList[tuple[str, str]]:
    """The user's text, under the session; if turns count, all text."""

    def make() -> list[tuple[str, str]]:
        turns = _records(spool, sessions)
        if unit == "turn":
            return [(turn.id or "", turn.content) for turn in turns]
        return [(turn.session_id or "", turn.content) for turn in turns if turn.speaker == "user"]

    return LazyList(sum(item.turns if unit == "turn" else item.user_turns for item in sessions), make)


def _records(spool: Spool, sessions: Sequence[StoredSession]) -> list[Record]:
    return [
        turn
        for session in sessions
        for turn in _turns(session.where, session.id, session.start, spool.get(session.place))
    ]


def _by_turn(asked: Sequence[HaystackQuestion]) -> Iterator[Question]:
    """Questions with the turns that the file marks as evidence; one without such a turn cannot be scored by turn."""
    for item in asked:
        gold = item.question.relevant
        turns = [id for session in item.haystack if session.id in gold for id in session.evidence]
        if turns:
            yield replace(item.question, relevant=tuple(dict.fromkeys(turns)))
