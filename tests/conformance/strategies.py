"""Random conversations for hypothesis: short, from a few words that repeat, with texts that are hard for stores."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

from fivefold.engine import Engine
from fivefold.values.memory import ORIGINS

from .recipes import steady

SHRINK = "FIVEFOLD_TEST_SHRINK"
"""Set it to shrink a story that fails, which takes minutes on a database."""

examined = settings(
    max_examples=25,
    deadline=None,
    derandomize=True,
    report_multiple_bugs=False,
    phases=[Phase.explicit, Phase.generate, *([Phase.shrink] if os.environ.get(SHRINK) else [])],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.differing_executors, HealthCheck.too_slow],
)
"""Stores differ in speed and share the tests they inherit; the examples are the same at every run."""

SENTENCES = (
    "I live in Leeds",
    "I moved from Leeds to Bristol",
    "I live in São Paulo now",
    "actually it's 45 now",
    "my phone number is 07700 900123",
    "my new phone number is 07700 900456",
    "I prefer tea",
    "I now prefer coffee",
    "my badge ID is E-47821",
    "The API time-out for Kestrel is 30 seconds",
    "the budget is 1,200 euros",
    "Sarah Chen reports to Tom Reed",
    "Sarah reports to Nadia",
    "Sam Osei works at Larkfield Ltd",
    "Sam met Priya",
    "Tom Reed owns Kestrel",
    "Elin is married to Marco",
    "my manager is Ravi",
    "my former manager Ravi came by",
    "Project Kestrel is late",
    "I met Zoë and Sarah in Zürich yesterday",
    "we ran a race on 3 March 2025",
    "Last Tuesday I baked bread with Bertil",
    "To reset the boiler, hold the red button for 5 seconds",
    "JIRA-9921 is fixed in v2.3.1",
    "set retry_backoff_ms=250 in src/net/client.rs",
    "write to sam@larkfield.example",
    "東京で佐藤さんに会った",
    "我喜欢喝绿茶",
    "서울에서 민수를 만났다",
    "ฉันชอบชาเขียว",
    "قابلت ليلى في القاهرة",
    "🎉🎉 we won",
    "👩‍👩‍👧 family day",
    "Cafe\u0301 and café",
    "straße STRASSE ẞ",
    "İstanbul ısı",
    "ﬁve ﬂats",
    "zero\u200bwidth",
    "she said \"no\" and 'left'",
    "100% sure; DROP TABLE notes; --",
    "back\\slash %s $1 {x} :y",
    "ok",
    "yes",
    "the and of",
    "¿?",
    "a a a a a a tea tea tea",
    "E-47821",
    "2025-02-14",
)
"""Contents. Statements replace each other, names grow, relations end; the rest is hard to store or to search."""

WORDS = (
    "tea",
    "Tea",
    "coffee",
    "barn",
    "roof",
    "Sarah",
    "Sarah Chen",
    "Tom",
    "Kestrel",
    "Priya",
    "met",
    "reports",
    "to",
    "yesterday",
    "running",
    "ran",
    "runs",
    "E-47821",
    "v2.3.1",
    "東京",
    "茶",
    "🎉",
    "Zoë",
    "zoe",
    "not",
    "1,200",
)

QUESTIONS = (
    "where do I live now?",
    "who does Sarah report to?",
    "Sarah's boss",
    "what happened last Tuesday?",
    "E-47821",
    "what did I do in February?",
    "how do I reset the boiler?",
    "what do I prefer?",
    "which drink do I like",
    "what is new lately?",
    "who owns Kestrel and who works with them?",
    "東京で誰に会った?",
    "🎉",
    "the of and",
    "why is Project Kestrel late?",
    "my manager",
    "what's my phone number?",
    "tea",
    "Zurich",
    'NEAR("tea" *) OR -x',
)

SESSIONS = ("s", "t", "ß 東京")

contents = st.one_of(
    st.sampled_from(SENTENCES),
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=7).map(" ".join),
    st.tuples(st.sampled_from(WORDS), st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=12)).map(
        " ".join
    ),
)
questions = st.one_of(
    st.sampled_from(QUESTIONS), st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join)
)
moments = st.tuples(st.integers(1, 28), st.integers(0, 5)).map(lambda at: f"2025-02-{at[0]:02}T09:{at[1]:02}:00Z")
shares = st.sampled_from([0.0, 0.25, 0.5, 1.0])

records = st.fixed_dictionaries(
    {"content": contents},
    optional={
        "event_at": moments,
        "session_id": st.sampled_from(SESSIONS),
        "speaker": st.sampled_from(["user", "assistant", "Ann", "Zoë Reed"]),
        "user_text": contents,
        "assistant_text": contents,
        "tags": st.lists(st.sampled_from(["work", "home", "Straße"]), max_size=2),
        "task_tag": st.sampled_from(["boiler", "race"]),
        "type": st.sampled_from(["event", "fact", "preference", "procedure"]),
        "memory_score": shares,
        "importance": shares,
        "turn_index": st.integers(0, 3),
        "valid_to": moments,
        "expires_at": st.sampled_from(["2025-03-01T00:00:00Z", "2030-01-01T00:00:00Z"]),
        "pinned": st.booleans(),
        "origin": st.sampled_from(ORIGINS),
        "metadata": st.dictionaries(st.sampled_from(["b", "a", "ключ"]), st.sampled_from([1, 2.5, "x", None, [1, {}]])),
    },
)


@dataclass(frozen=True, slots=True)
class Change:
    """A change to what was stored; `which` counts through the ids stored so far, again and again."""

    act: str
    which: int
    text: str
    fields: Mapping[str, Any]


changes = st.builds(
    Change,
    act=st.sampled_from(["update", "tag", "forget", "forget_session", "supersede", "reinstate", "used", "remember"]),
    which=st.integers(0, 30),
    text=contents,
    fields=records,
)


@dataclass(frozen=True, slots=True)
class Story:
    """A conversation, the changes to it, and the questions at the end."""

    records: Sequence[Mapping[str, Any]]
    changes: Sequence[Change]
    questions: Sequence[str]
    k: int
    now: str

    def acts(self) -> list[partial[object]]:
        """Each write as a function of the engine, with fixed ids, so that two stores can store the same."""
        first = [{**record, "id": f"r{i:02}"} for i, record in enumerate(self.records)]
        steps: list[partial[object]] = [partial(_remember, records=first)]
        steps += [partial(_change, change=change, number=i, size=len(first)) for i, change in enumerate(self.changes)]
        return steps


stories = st.builds(
    Story,
    records=st.lists(records, min_size=1, max_size=14),
    changes=st.lists(changes, max_size=8),
    questions=st.lists(questions, min_size=1, max_size=2, unique=True),
    k=st.sampled_from([1, 3, 10]),
    now=st.sampled_from(["2025-03-10T12:00:00Z", "2025-02-14T12:00:00Z"]),
)


def _remember(engine: Engine, records: Sequence[Mapping[str, Any]]) -> object:
    return engine.remember_many(records)


def _change(engine: Engine, change: Change, number: int, size: int) -> object:
    id = f"r{change.which % size:02}"
    record = {**change.fields, "id": f"c{number:02}"}
    match change.act:
        case "update":
            return engine.update(id, content=change.text)
        case "tag":
            return engine.update(id, tags=change.fields.get("tags", ["late"]), event_at=change.fields.get("event_at"))
        case "forget":
            return engine.forget(id)
        case "forget_session":
            return engine.forget_session(SESSIONS[change.which % len(SESSIONS)])
        case "supersede":
            return engine.supersede(id, record)
        case "reinstate":
            return engine.reinstate(id)
        case "used":
            return _use(engine, change)
        case _:
            return engine.remember(**record)


def _use(engine: Engine, change: Change) -> object:
    """Ask, and say that one of the answers was used."""
    answer = engine.recall(change.text, k=5, recipe=steady(("ditto", "memsense", "recall")[change.which % 3]))
    if len(answer):
        engine.feedback(answer, used=[answer[change.which % len(answer)].memory.id])
    return answer
