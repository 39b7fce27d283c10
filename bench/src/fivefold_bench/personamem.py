"""PersonaMem: users whose tastes change over many sessions, and questions with offered answers.

The data does not name the turns that answer. It says how many sessions back the preference was mentioned, and every
session begins with a system message, so that session is known: it is the gold. The offered answers give a second
measure, `choice`, which is not an accuracy of a language model.
"""

from __future__ import annotations

import ast
import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from fivefold.errors import InvalidInput
from fivefold.evaluation import Question
from fivefold.values.json_files import PACKED, Fields, kind_of, lines, open_file
from fivefold.values.memory import Record
from fivefold.values.validate import checked_name, visible
from fivefold_bench.data import Choice, Dataset, LazyList, Place, Spool, turn_of
from fivefold_bench.locomo import APART, ASKED_AFTER

CONTEXTS = "shared_contexts"
QUESTIONS = "questions"

FIRST_DAY = datetime(2024, 1, 1, 9, tzinfo=UTC)
DAY = timedelta(days=1)
"""The contexts carry no dates: a session is given the day after that of the one before."""

_LETTER = re.compile(r"^\(([a-z])\)\s*")
_PREFIX = re.compile(r"^(?:user|assistant)\s*:\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Context:
    """One user's messages: the file in which they wait, and the session of each, counted from 0."""

    place: Place
    sessions: tuple[int, ...]

    def gold(self, end: int, back: int) -> int:
        """The session so many before the question, which stands before message `end`, or after all at the last."""
        asked_in = self.sessions[-1] + 1 if end >= len(self.sessions) - 1 else self.sessions[end]
        return asked_in - back


def load(path: str | Path) -> Dataset:
    """A namespace for each context as far as a question may see it, one memory a message, scored by session."""
    path = Path(path)
    spool, tally = Spool(), Counter[str]()
    contexts = dict(_contexts(_contexts_of(path), spool))
    memories: dict[str, LazyList[Record]] = {}
    plain: dict[str, LazyList[tuple[str, str]]] = {}
    questions: list[Question] = []
    choices: dict[str, Choice] = {}
    for row in _rows(path):
        context, end = _context(row, contexts)
        question = _question(row, context, end, tally)
        if question is None:
            continue
        if question.id in choices:
            raise row.fault("question_id", f"{question.id!r} names an earlier question already")
        if question.namespace not in memories:
            turns = len(_turns(spool, context, end))
            memories[question.namespace] = LazyList(turns, partial(_turns, spool, context, end))
            plain[question.namespace] = LazyList(turns, partial(_plain, spool, context, end))
        questions.append(question)
        choices[question.id] = _choice(row)
    if not questions:
        raise InvalidInput(f"{path.name}: no question can be scored")
    return Dataset("personamem", "session", memories, questions, plain, _notes(tally), choices=choices)


def _notes(tally: Counter[str]) -> tuple[str, ...]:
    always = ("the contexts carry no dates: each session was given the day after the one before",)
    label = "questions left out whose session of reference is not in the context"
    return (*always, f"{label}: {tally['lost']}") if tally["lost"] else always


def _contexts_of(path: Path) -> Path:
    """questions_32k.csv goes with shared_contexts_32k.jsonl in the same folder."""
    if not path.name.startswith(QUESTIONS):
        raise InvalidInput(
            f"{path} is not a {QUESTIONS}_SIZE.csv; give that file, with its contexts in the same folder"
        )
    size = path.name.removeprefix(QUESTIONS).partition(".")[0]
    options = [path.with_name(f"{CONTEXTS}{size}.jsonl{end}") for end in ("", *PACKED)]
    return next((option for option in options if option.exists()), options[0])


def _contexts(path: Path, spool: Spool) -> Iterator[tuple[str, Context]]:
    """Each line is an object of one member: the context's id and its messages."""
    for line in lines(path):
        for id in line.data:
            messages = [
                Fields.of(f"{line.where}, message {number}", value) for number, value in enumerate(line.entries(id), 1)
            ]
            said = [(message.name("role"), message.text("content", empty=True)) for message in messages]
            if not said:
                raise line.fault(id, "is empty; there is nothing to remember")
            yield id, Context(spool.put(said), tuple(_sessions([role for role, _ in said])))


def _sessions(roles: Sequence[str]) -> Iterator[int]:
    """A system message begins a session."""
    session = -1
    for role in roles:
        session += role == "system" or session < 0
        yield session


def _rows(path: Path) -> Iterator[Fields]:
    with open_file(path) as file:
        rows = csv.DictReader(io.TextIOWrapper(file, "utf-8-sig", newline=""))
        for number, row in enumerate(rows, 1):
            yield Fields(f"{path.name}, question {number}", {name: value for name, value in row.items() if value})


def _context(row: Fields, contexts: dict[str, Context]) -> tuple[Context, int]:
    id = row.text("shared_context_id")
    if id not in contexts:
        raise row.fault("shared_context_id", f"{id!r} is not a context of the file next to it")
    end = _whole(row, "end_index_in_shared_context")
    return contexts[id], min(end, len(contexts[id].sessions))


def _question(row: Fields, context: Context, end: int, tally: Counter[str]) -> Question | None:
    gold = context.gold(end, _whole(row, "distance_to_ref_in_blocks"))
    if not 0 <= gold <= context.sessions[max(end, 1) - 1]:
        tally["lost"] += 1
        return None
    return Question(
        id=row.name("question_id"),
        namespace=row.checked("shared_context_id", checked_name, f"{row.text('shared_context_id')}:{end}", "namespace"),
        text=_PREFIX.sub("", row.text("user_question_or_message")),
        relevant=(_session_id(gold),),
        category=row.name("question_type"),
        now=FIRST_DAY + context.sessions[max(end, 1) - 1] * DAY + ASKED_AFTER,
    )


def _choice(row: Fields) -> Choice:
    """The offered answers, a Python list of texts that begin with (a), (b) …, and the letter of the right one."""
    try:
        values = ast.literal_eval(row.text("all_options"))
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        raise row.fault("all_options", "is not a list of texts") from None
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise row.fault("all_options", f"must be a list of texts, not {kind_of(values)}")
    letters = [match[1] if (match := _LETTER.match(value)) else "" for value in values]
    right = row.text("correct_answer").strip().strip("()").lower()[:1]
    if right not in letters:
        raise row.fault("correct_answer", f"{row.text('correct_answer')!r} is none of the options {', '.join(letters)}")
    return Choice(tuple(_LETTER.sub("", value) for value in values), letters.index(right))


def _whole(row: Fields, name: str) -> int:
    value = row.text(name)
    try:
        return int(float(value))
    except (ValueError, OverflowError):
        raise row.fault(name, f"must be a whole number, not {value!r}") from None


def _session_id(number: int) -> str:
    return f"session-{number + 1}"


def _turns(spool: Spool, context: Context, end: int) -> list[Record]:
    """The messages before the question; those of the system describe the user and are not remembered."""
    said = spool.get(context.place)[:end]
    records, index = [], 0
    for place, (role, content) in enumerate(said):
        session = context.sessions[place]
        index = 0 if place == 0 or context.sessions[place - 1] != session else index + 1
        text = _PREFIX.sub("", content)
        if role != "system" and visible(text):
            at = FIRST_DAY + session * DAY + index * APART
            records.append(turn_of(f"{place}", text, role, _session_id(session), index, at))
    return records


def _plain(spool: Spool, context: Context, end: int) -> list[tuple[str, str]]:
    return [(turn.session_id or "", turn.content) for turn in _turns(spool, context, end)]
