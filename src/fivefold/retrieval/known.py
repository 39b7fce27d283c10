"""Views of a memory without a question: a profile, an agenda, changes, the recap of a session.

Every line is a clause of a memory, read when that was written and stored with a weight. A view chooses among the best
of each section: it knows which memory replaced which, how old each is, and which say the same.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from heapq import heapify, heappop, heappush

from fivefold.errors import FivefoldError, InvalidInput, NotFound
from fivefold.namespace import Namespace
from fivefold.retrieval.stages.selection import words_of
from fivefold.settings import settings_of
from fivefold.stores.interface import Reader
from fivefold.stores.records import StoredFact, Succession
from fivefold.text.lexemes import late_pattern, lexemes, text_cache
from fivefold.text.passages import tokens
from fivefold.text.secrets_in_text import mask_secrets
from fivefold.values.filters import EVERYTHING
from fivefold.values.known import HIDDEN, SECTIONS, Changes, Fact, Profile, Recap, Section, profile_text
from fivefold.values.memory import Memory, origin_of
from fivefold.values.recall import Hit, Recall
from fivefold.writing.draft import index_entry
from fivefold.writing.extract.facts import clauses, weights_of

UNREAD = "unread facts"
"""The learned value that says up to which row the facts of older memories were read; none when all were."""

BATCH = 500
"""Memories whose facts are read in one transaction."""

MAX_OF_SECTION = 45
"""Facts of a section that a profile is chosen from."""

MAX_ABOUT = 300
"""Memories that name a person, place or project, and are read for its profile."""

MAX_EARLIER = 30
"""Facts that were true before, in a profile."""

ENDED_CHANCE = 0.9
"""A fact that is less likely to hold than this counts as true before: a stale line is worse than a missing one."""

SAME_SHARE = 0.65
"""The share of its words that other lines have already, from which a line says nothing new."""

MIN_WEIGHT = 0.2
"""A fact below this weight is small talk, which no view shows unless it replaced something."""

SURE = 1.5
"""The power of a line's value: a short doubtful line does not win against a long sure one."""

_line_tokens = text_cache(2048)(tokens)

LINE_TOKENS = 8
"""Tokens that a line costs besides its own, so that a short one does not win by being short."""

_CONSTRAINT = late_pattern(
    r"\b(?:allerg\w+|intoleran\w+|vegan|vegetarian|veggie|coeliac|celiac|halal|kosher|gluten|lactose|never"
    r"|can(?:['’]?t|not) (?:eat|have|stand|bear|do)|do(?:es)?n['’]?t (?:eat|drink|like)|mustn['’]?t|hates?|avoids?"
    r"|forbidden|banned|not allowed|no more)\b",
    re.I,
)
"""Constraints that a suggestion must respect: they are in a profile before all else."""

_DIET = late_pattern(
    r"\b(?:allerg\w+|anaphyla\w+|intoleran\w+|vegan|vegetarian|pescatarian|coeliac|celiac|halal|kosher|gluten|lactose|diabet\w+)\b",
    re.I,
)
"""Constraints of the body, which come first among them, and which only a sure replacement ends."""

_IDENTITY = late_pattern(
    r"\b(?:I['’]m|I am|[Mm]y name is|[Tt]his is|[Tt]he user is|[Cc]all me) [A-ZÀ-Þ]"
    r"|^[A-ZÀ-Þ][\w’'-]+(?: [A-ZÀ-Þ][\w’'-]+)?, \d\d\b"
)
"""Lines that say who somebody is; the earliest come first."""

MAX_IDENTITIES = 2

CONSTRAINTS_SHARE = 4
"""Constraints have one part in so many of the budget before all else."""

MIN_CONSTRAINT_TOKENS = 40
"""The room of constraints in a small budget."""


def read_older_memories(namespace: Namespace) -> None:
    """Read the facts of memories that were stored before there were any; a store that is read-only stays as it is."""
    state = namespace.reader.admin.learned_value(UNREAD)
    if state is None:
        return
    after = int(state["after"])
    try:
        while True:
            with namespace.transaction() as txn:
                batch = txn.memories.scan(after, BATCH)
                for memory, extraction in batch:
                    txn.index.renew_facts(memory.row, index_entry(memory, extraction).facts)
                after = batch[-1][0].row if batch else after
                txn.admin.save_learned_value(UNREAD, {"after": after} if batch else None)
            if not batch:
                return
    except FivefoldError:
        return


@dataclass(slots=True)
class _Line:
    """A fact on its way into a view."""

    fact: StoredFact
    words: frozenset[str]
    chance: float
    value: float
    replaces: tuple[str, ...] = ()


def profile(namespace: Namespace, about: str, budget: int, now: datetime, secrets: bool) -> Profile:
    """The facts that are worth most within the budget, by section; `about` is the user, or a name."""
    read_older_memories(namespace)
    reader = namespace.reader
    own = about.casefold() in ("user", "me", "")
    stored = reader.facts.best(MAX_OF_SECTION) if own else _about(reader, about)
    lines, earlier = _weigh(reader, _shown(stored, now), now)
    if not own:  # other lines of the same memory may be about somebody else
        for line in lines:
            line.value = min(1.0, 2 * line.value) if words_of(about) & line.words else line.value
    chosen = _choose(lines, budget)
    facts = [_fact(line, secrets) for line in chosen]
    facts.sort(key=lambda fact: SECTIONS.index(fact.section))
    text = profile_text(facts)
    return Profile(
        about="user" if own else about,
        at=now,
        facts=tuple(facts),
        earlier=tuple(_earlier(reader, chosen, earlier, now, secrets)),
        left_out=len(lines) - len(facts),
        tokens=tokens(text) if text else 0,
        budget=budget,
    )


def _about(reader: Reader, name: str) -> list[StoredFact]:
    """The facts of the memories that have all words of a name, or any name of whom it means."""
    wanted = set(lexemes(name))
    if not wanted:
        raise InvalidInput("names nobody and nothing; give a name, such as 'Sarah'", field="about")
    texts = reader.memories.fetch([hit.row for hit in reader.search.lexical(sorted(wanted), MAX_ABOUT, EVERYTHING)])
    found = {row for row, memory in texts.items() if wanted <= set(lexemes(memory.content))}
    for entity in reader.graph.entities(" ".join(name.casefold().split()), 1):
        found |= {memory.row for memory in reader.graph.memories_about(entity.id, MAX_ABOUT)}
    if not found:
        raise NotFound(f"namespace {reader.namespace!r} knows nothing about {name!r}")
    return [fact for fact in reader.facts.of_memories(sorted(found)) if fact.superseded_by is None]


def _shown(stored: Iterable[StoredFact], now: datetime) -> list[StoredFact]:
    """The facts that are not hidden and have not expired."""
    return [
        fact
        for fact in stored
        if f'"{HIDDEN}"' not in fact.tags and (fact.pinned or fact.expires_at is None or fact.expires_at > now)
    ]


def _weigh(reader: Reader, stored: Sequence[StoredFact], now: datetime) -> tuple[list[_Line], list[_Line]]:
    """The lines that hold, and those that held before."""
    older, newer = _links(reader, reader.memories.successions(sorted({fact.row for fact in stored})))
    words = [words_of(fact.text) for fact in stored]
    weights = weights_of("lines")
    lines: list[_Line] = []
    earlier: list[_Line] = []
    for fact, own, marks in zip(
        stored, words, line_marks(stored, words, older, newer, reader.memories.event_span()), strict=True
    ):
        value = 1 / (1 + math.exp(-sum([weights[name] * each for name, each in marks.items()])))
        chance = math.prod(1 - link.chance for link in newer.get(fact.row, ()) if not fact.pinned)
        ended = fact.valid_to is not None and fact.valid_to <= now
        if fact.weight < MIN_WEIGHT and not fact.pinned and marks["news"] < MIN_CHANCE:
            continue
        line = _Line(fact, own, 0.0 if ended else chance, 1.0 if fact.pinned else value)
        stale = ended or (chance < ENDED_CHANCE and not _DIET.search(fact.text))
        (earlier if stale else lines).append(line)
    return lines, earlier


_Links = dict[int, list[Succession]]


def line_marks(
    stored: Sequence[StoredFact],
    words: Sequence[frozenset[str]],
    older: _Links,
    newer: _Links,
    span: tuple[datetime, datetime] | None,
) -> Iterator[dict[str, float]]:
    """The marks of lines among all others, by which their worth is known; training/facts fitted the weights."""
    rows_of: dict[str, set[int]] = {}
    for fact, own in zip(stored, words, strict=True):
        for word in own:
            rows_of.setdefault(word, set()).add(fact.row)
    common = {word for word, rows in rows_of.items() if len(rows) > 2}
    for fact, own in zip(stored, words, strict=True):
        chances = [] if fact.pinned else [link.chance for link in newer.get(fact.row, ())]
        yield {
            "bias": 1.0,
            "weight": math.log(max(fact.weight, 0.01) / max(1 - fact.weight, 0.01)),
            "news": max((link.chance for link in older.get(fact.row, ())), default=0.0),
            "link": max(chances, default=0.0),
            "links": min(3, len(chances)),
            "age": _place(fact.event_at, span) ** 2,
            "shared": len(own & common) / max(1, len(own)),
            "assistant": float(origin_of(fact.speaker) != "user"),
        }


def _links(reader: Reader, successions: Sequence[Succession]) -> tuple[_Links, _Links]:
    """The memories that each memory replaced, and those that replaced it; who is trusted less replaces nothing."""
    trust = settings_of(reader.admin.settings()).trust
    successions = [link for link in successions if trust(link.newer_origin) >= trust(link.older_origin)]
    older: _Links = {}
    newer: _Links = {}
    for link in successions:
        older.setdefault(link.newer, []).append(link)
        newer.setdefault(link.older, []).append(link)
    return older, newer


def _place(at: datetime, span: tuple[datetime, datetime] | None) -> float:
    """The position of a time between the first memory and the last."""
    if span is None or span[0] == span[1]:
        return 1.0
    return (at - span[0]) / (span[1] - span[0])


def _choose(lines: Sequence[_Line], budget: int) -> list[_Line]:
    """The lines worth most for their tokens: pinned lines and constraints first; a line that says nothing new stays
    out."""
    chosen: list[_Line] = []
    known: set[str] = set()
    sections: set[Section] = set()
    used = 0

    def take(candidates: Iterable[_Line], room: int) -> None:
        nonlocal used
        left = [
            (-(line.value**SURE) / ((cost := _line_tokens(f"{line.fact.text}\n")) + LINE_TOKENS), place, cost, line)
            for place, line in enumerate(candidates)
        ]
        heapify(left)
        while left:  # a line is worth less the more is known, so that only the first has to be rated again
            rated, place, cost, line = heappop(left)
            worth = -_worth(line, known) / (cost + LINE_TOKENS)
            if worth > rated and left and worth > left[0][0]:
                if worth < 0:
                    heappush(left, (worth, place, cost, line))
                continue
            cost += 0 if line.fact.section in sections else tokens(f"{line.fact.section}:\n")
            if worth >= 0 or used + cost > room:
                continue
            chosen.append(line)
            known.update(line.words)
            sections.add(line.fact.section)
            used += cost

    take((line for line in lines if line.fact.pinned), budget)
    own = sorted((line for line in lines if _IDENTITY.search(line.fact.text)), key=lambda line: line.fact.event_at)
    take(own[:MAX_IDENTITIES], used + budget // CONSTRAINTS_SHARE)
    must = [line for line in lines if not line.fact.pinned and _CONSTRAINT.search(line.fact.text)]
    room = min(budget, used + max(budget // CONSTRAINTS_SHARE, MIN_CONSTRAINT_TOKENS))
    take((line for line in must if _DIET.search(line.fact.text)), room)
    take((line for line in must if not _DIET.search(line.fact.text)), room)
    there = {id(line) for line in chosen}
    take((line for line in lines if id(line) not in there), budget)
    return chosen


def _worth(line: _Line, known: Collection[str]) -> float:
    """The value of a line by how much of it is new."""
    if not line.words:
        return 0.0
    new = sum(word not in known for word in line.words) / len(line.words)
    return line.value**SURE * new if new >= 1 - SAME_SHARE else 0.0


def _fact(line: _Line, secrets: bool, until: datetime | None = None) -> Fact:
    fact = line.fact
    return Fact(
        text=one_line(fact.text, secrets),
        section=fact.section,
        sources=(fact.id,),
        since=fact.event_at,
        chance=round(line.chance, 2),
        pinned=fact.pinned,
        until=until or fact.valid_to,
        replaces=line.replaces,
    )


def one_line(text: str, secrets: bool) -> str:
    text = " ".join(text.split())
    return text if secrets else mask_secrets(text)


def _earlier(
    reader: Reader, chosen: Sequence[_Line], ended: Sequence[_Line], now: datetime, secrets: bool
) -> Iterator[Fact]:
    """Facts that were true before: lines that something likely replaced, and those the chosen lines surely replaced."""
    rows = [line.fact.row for line in chosen]
    older = [link for link in reader.memories.successions(rows) if link.newer in set(rows) and link.chance == 1]
    until = {link.older: link.newer_at for link in older}
    replaced = _shown(reader.facts.of_memories(sorted(until)), now)
    lines = [_Line(fact, frozenset(), 0.0, fact.weight) for fact in replaced]
    best: dict[int, _Line] = {}
    for line in (*lines, *ended):
        if line.fact.row not in best or best[line.fact.row].value < line.value:
            best[line.fact.row] = line
    for line in sorted(best.values(), key=lambda line: line.fact.event_at, reverse=True)[:MAX_EARLIER]:
        yield _fact(line, secrets, until.get(line.fact.row))


# What changed.

MAX_CHANGES = 200
"""Memories that are read for a list of changes."""

NEW_WEIGHT = 0.35
"""A fact below this weight is small talk, and no news."""

MIN_CHANCE = 0.5
"""From this chance on a likely replacement is shown as one."""


def changes(namespace: Namespace, since: datetime, now: datetime, secrets: bool) -> Changes:
    """The facts that are new, that replaced others, and that ended after that time."""
    read_older_memories(namespace)
    reader = namespace.reader
    recent = _shown(reader.facts.since(since, MAX_CHANGES), now)
    rows = sorted({fact.row for fact in recent})
    older, newer = _links(reader, [link for link in reader.memories.successions(rows) if link.chance >= MIN_CHANCE])
    ended = set(reader.facts.ended_since(since, now, MAX_CHANGES))
    ended |= {link.older for row in rows for link in older.get(row, ())}
    ids = {row: memory.id for row, memory in reader.memories.fetch(sorted(ended)).items()}
    new, replaced = [], []
    for row in dict.fromkeys(fact.row for fact in recent):
        best = max((fact for fact in recent if fact.row == row), key=lambda fact: fact.weight)
        if best.superseded_by is not None or newer.get(row):
            continue
        line = _Line(best, frozenset(), 1.0, best.weight, tuple(ids[link.older] for link in older.get(row, ())))
        if line.replaces:
            replaced.append(_fact(line, secrets))
        elif best.weight >= NEW_WEIGHT:
            new.append(_fact(line, secrets))
    over = _best_of_each(_shown(reader.facts.of_memories(sorted(ended)), now))
    until = {link.older: link.newer_at for row in rows for link in older.get(row, ())}
    gone = [_fact(_Line(fact, frozenset(), 0.0, fact.weight), secrets, until.get(fact.row)) for fact in over]
    gone.sort(key=lambda fact: fact.until or fact.since, reverse=True)
    return Changes(since=since, new=tuple(new), replaced=tuple(replaced), ended=tuple(gone))


def _best_of_each(facts: Iterable[StoredFact]) -> list[StoredFact]:
    """The fact of highest weight of each memory."""
    best: dict[int, StoredFact] = {}
    for fact in facts:
        if fact.row not in best or best[fact.row].weight < fact.weight:
            best[fact.row] = fact
    return list(best.values())


# The recap of a session.

_DECIDED = late_pattern(
    r"\b(?:decid\w+|decision|agreed|chose|chosen|settled on|go(?:ing|es)? with|went with|booked|accepted|declined"
    r"|signed"
    r"|said (?:no|yes)|turned (?:it |that )?down|cancel+ed|ordered|from now on|instead of|approved|rejected|moved? to"
    r"|not (?:doing|going|taking)|will (?:use|take|keep|stay)|switch(?:ed|ing) to|let['’]?s (?:use|go|take|keep))\b",
    re.I,
)
_PROMISED = late_pattern(
    r"\b(?:I['’]?ll|I will|we['’]?ll|we will|remind me|I promise\w*|(?:I|we) (?:need to|have to|must|should)"
    r"|don['’]?t forget|todo|to do|owe|must|get it back|remember to|due"
    r"|by (?:mon|tues|wednes|thurs|fri|satur|sun)day)\b"
    r"|^(?:email|ring|call|pay|send|book|buy|ask|tell|bring|collect|check|write|fix)\b",
    re.I,
)
_OPEN = late_pattern(
    r"\b(?:not (?:sure|decided)|undecided|wonder\w*|think about it|tbd|to be decided|don['’]?t know (?:yet|if|whether)"
    r"|still open|no idea)\b",
    re.I,
)
_ANSWERS_CHARS = 12
"""A turn that is shorter answers nothing."""


def recap(namespace: Namespace, session_id: str, turns: Sequence[Memory], secrets: bool) -> Recap:
    """The decisions, facts, promises and open questions of a session's turns, each once, in their order."""
    found: dict[str, list[Fact]] = {"decisions": [], "facts": [], "promises": [], "questions": []}
    stored = namespace.reader.facts.of_memories([turn.row for turn in turns])
    weights = {(fact.row, fact.start): fact for fact in stored}
    for place, turn in enumerate(turns):
        if HIDDEN in turn.tags:
            continue
        by_assistant = origin_of(turn.speaker) != "user"
        for start, end in clauses(turn.content):
            text = turn.content[start:end]
            known = weights.get((turn.row, start))
            asks = turn.content[end : end + 1] == "?" or text.endswith("?")
            kind = None
            if asks:
                kind = None if by_assistant or _is_answered(turns, place) else "questions"
            elif by_assistant:
                kind = "promises" if re.search(r"\bI['’]ll (?!remember|note|keep)\w+", text) else None
            elif _OPEN.search(text):
                kind = "questions"
            elif _PROMISED.search(text):
                kind = "promises"
            elif _DECIDED.search(text):
                kind = "decisions"
            elif known is not None and known.weight >= NEW_WEIGHT:
                kind = "facts"
            if kind is not None:
                section: Section = known.section if known else "open"
                told, said_at = one_line(text, secrets), turn.event_at
                fact = Fact(text=told, section=section, sources=(turn.id,), since=said_at, turn=turn.turn_index)
                found[kind].append(fact)
    return Recap(
        session_id=session_id,
        started_at=turns[0].event_at,
        ended_at=turns[-1].event_at,
        turns=len(turns),
        **{kind: tuple(facts) for kind, facts in found.items()},
    )


def _is_answered(turns: Sequence[Memory], place: int) -> bool:
    """True if another speaker says something after the turn that is not a question itself."""
    speaker = turns[place].speaker
    after = (turn for turn in turns[place + 1 :] if turn.speaker != speaker)
    answer = next(after, None)
    return answer is not None and len(answer.content) >= _ANSWERS_CHARS and not answer.content.rstrip().endswith("?")


# A line that is wrong is put right at its source.


def corrected(memory: Memory, line: str, to: str) -> str:
    """The text of a memory with another line in the place of one."""
    pattern = r"\s+".join(map(re.escape, line.split()))
    match = re.search(pattern, memory.content) if pattern else None
    if match is None:
        raise InvalidInput(f"is not part of memory {memory.id!r}; give the line as a profile shows it", field="line")
    return memory.content[: match.start()] + to + memory.content[match.end() :]


def hidden_tags(memory: Memory, hide: bool) -> tuple[str, ...]:
    """The tags of a memory that views show no longer, or show again."""
    others = tuple(tag for tag in memory.tags if tag != HIDDEN)
    return (*others, HIDDEN) if hide else others


# The values that a question had, one after the other.

HISTORY_HITS = 20
"""Memories that are recalled for a history."""

VALUE_SHARE = 0.3
"""A memory is a value if it is at least so likely an answer as this share of the best one."""

MIN_LINK = 0.1
"""From this chance on what a value likely replaced, or was replaced by, is one too."""

MAX_LINKED = 3
"""Hits whose links are followed."""


def values_of(reader: Reader, answer: Recall, secrets: bool = False) -> tuple[list[Memory], list[Fact]]:
    """The memories that say how a thing was and is, oldest first, and the clause of each that says it."""
    hits = [hit for hit in answer if hit.memory.kind != "session" and HIDDEN not in hit.memory.tags]
    best = max((_likelihood(hit) for hit in hits), default=0.0)
    found = {hit.memory.row: hit.memory for hit in hits if _likelihood(hit) >= VALUE_SHARE * best}
    seeds = [hit.memory.row for hit in hits[:MAX_LINKED]]
    linked = [link for link in reader.memories.successions(seeds) if link.chance >= MIN_LINK]
    missing = {row for link in linked for row in (link.older, link.newer)} - found.keys()
    found |= {row: m for row, m in reader.memories.fetch(sorted(missing)).items() if HIDDEN not in m.tags}
    ordered = sorted(found.values(), key=lambda memory: (memory.event_at, memory.row))
    asked = frozenset(answer.query.lexemes)
    memories: list[Memory] = []
    facts: list[Fact] = []
    said: list[frozenset[str]] = []
    for memory in ordered:
        text = _best_clause(memory, asked)
        words = frozenset(lexemes(text))
        if origin_of(memory.speaker) != "user" and any(len(words & other) >= SAME_SHARE * len(words) for other in said):
            continue
        said.append(frozenset(lexemes(memory.content)))
        memories.append(memory)
        facts.append(Fact(text=one_line(text, secrets), section="who", sources=(memory.id,), since=memory.event_at))
    ends = [*(fact.since for fact in facts[1:]), None]
    return memories, [replace(fact, until=end) for fact, end in zip(facts, ends, strict=False)]  # no fact, and one end


def _likelihood(hit: Hit) -> float:
    return hit.score if hit.chance is None else hit.chance


def _best_clause(memory: Memory, asked: frozenset[str]) -> str:
    """The clause of a memory that has most words of the question; a short memory is one clause."""
    if len(memory.content) <= WHOLE_CHARACTERS:
        return memory.content
    parts = [memory.content[start:end] for start, end in clauses(memory.content)]
    return max(parts, key=lambda part: len(asked & set(lexemes(part))), default=memory.content)


WHOLE_CHARACTERS = 160
"""Characters of a memory that stands whole in a history."""
