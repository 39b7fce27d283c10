"""The trace as text. It renders what the values hold, and computes nothing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from fivefold.values.html_parts import Html, Part, html_bar, html_lines, html_quiet, html_table, html_text
from fivefold.values.memory import Memory
from fivefold.values.query import Query
from fivefold.values.recall_trace import (
    Candidate,
    PassageMatch,
    Plan,
    RouteRun,
    StageNote,
    Timing,
    TracedCandidate,
    WordMatch,
)
from fivefold.values.validate import one_line, shorten, shown_name
from fivefold.values.validate import visible_text as visible
from fivefold.values.vectors import Span

# What is shown of a memory where it is one of several: all of a short text, and of a long one what met the question.

# One short reason why a memory came back, in words; the arithmetic is in the explanation.

SHOWN_WORDS = 3
"""Maximum number of words that a reason names."""

SAME_SIMILARITY = 0.7
NEAR_SIMILARITY = 0.5
"""From which similarity on two words are the same in other forms, and from which they are near."""

MAX_ENDING = 3
"""Characters that a form of a word adds at most, such as "es" and "ing"."""

_BY_ROUTE = {
    "lexical": "has the same words",
    "graph": "is linked to a person or thing in the question",
    "temporal": "is from that time",
    "window": "is from that time",
    "parts": "answers a part of the question",
    "standing": "applies to the request",
    "turns": "is among the last things said",
    "recency": "is recent",
    "frequency": "is used often",
    "associative": "is associated with what matches",
}
_OTHERWISE = "is close in meaning"
_SMALL = frozenset(
    "a about am an and any are as at be been but by can did do does for from had has have he her him his how i i'm "
    "i’m i'd i’d i've i’ve in is it its it's it’s me my no not of on or our she so that the their them there they this "
    "to us was we were what when where which who whom why will with you your".split()
)
"""Words that say nothing about why two texts belong together."""


def is_telling(match: WordMatch) -> bool:
    """True if two matched words tell a person why: neither is a small word such as "I"."""
    return match.question.casefold() not in _SMALL and match.memory.casefold() not in _SMALL


def short_reason(candidate: Candidate) -> str:
    """The matching words, or another reason why it came, in a few words."""
    matches = candidate.passage.words if candidate.passage else ()
    words = [match for match in matches if match.start >= 0 and is_telling(match)]
    said: dict[str, str] = {}
    for word in filter(_is_same, words):
        said.setdefault(word.memory.casefold(), f"“{word.memory}”")
    same = f"says {', '.join(list(said.values())[:SHOWN_WORDS])}" if said else ""
    routes = {item.route for item in candidate.evidence}
    time = next((_BY_ROUTE[route] for route in ("turns", "window") if route in routes), "")
    if same or time:
        return "; ".join(filter(None, (same, time)))
    near = max(
        (word for word in words if word.similarity >= NEAR_SIMILARITY), key=lambda word: word.similarity, default=None
    )
    if near:
        return f"“{near.memory}” is near “{near.question}”"
    best = max(candidate.evidence, key=lambda item: item.contribution, default=None)
    return _BY_ROUTE.get(best.route, _OTHERWISE) if best else _OTHERWISE


def _is_same(word: WordMatch) -> bool:
    """True if both are forms of one word, which have the same first letter; "clock" is only near "time"."""
    said, asked = word.memory.casefold(), word.question.casefold()
    shorter, longer = sorted((said, asked), key=len)
    if longer.startswith(shorter) and len(longer) - len(shorter) <= MAX_ENDING:
        return True
    return word.similarity >= SAME_SIMILARITY and said[:1] == asked[:1]


LONG_CHARACTERS = 1_000
"""Characters from which on a text is long: only a part of it is shown in lists."""

SHOWN_LONG = 800
"""Characters that are shown of a long text of which no passage has matched."""

NEAR_EDGE = 24
"""Maximum distance by which a cut moves to fall between two words."""

STRENGTHS = (-1.0, 0.5, 0.7)
"""The least similarity for a mark of each strength."""

ELLIPSIS = "…"

_SPACES = re.compile(r"\s+")
_TEXT = re.compile(r"\S")


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of a text, and the matches that it belongs to, the nearest first."""

    text: str
    words: tuple[WordMatch, ...] = ()

    @property
    def strength(self) -> int:
        """Nearness of the nearest word of the question: 3 is the same or nearly, 0 is none."""
        nearest = self.words[0].similarity if self.words else 0.0
        return sum(nearest >= least for least in STRENGTHS) if self.words else 0


def excerpt(content: str, match: PassageMatch | None, length: int) -> str:
    """The text on one line of about `length` characters: whole, or cut to the matched words."""
    return "".join(segment.text for segment in marked_line(content, match, length))


def marked_line(content: str, match: PassageMatch | None, length: int) -> list[Segment]:
    """The text on one line of about `length` characters, with the matched words marked."""
    line: list[Segment] = []
    for piece in _shown(content, match, _window(content, match, length)):
        text = _SPACES.sub(" ", piece.text)
        text = text.removeprefix(" ") if line and line[-1].text.endswith(" ") else text
        line += [Segment(text, piece.words)] if text else []
    return line


def marked_passage(content: str, match: PassageMatch | None = None) -> list[Segment]:
    """A short text whole, of a long one the passage that matched, in its own lines, words marked."""
    return _shown(content, match, shown_span(content, match), " ")


def mark_words(text: str, words: Iterable[WordMatch], start: int = 0, end: int | None = None) -> list[Segment]:
    """The characters from `start` to `end`, split at the beginning or end of each word's span; spans may overlap.

    Small words such as "I" are not marked.
    """
    end = len(text) if end is None else end
    inside = [word for word in words if start <= word.start < word.end <= end and is_telling(word)]
    cuts = sorted({start, end, *(edge for word in inside for edge in (word.start, word.end))})
    inside.sort(key=lambda word: -word.similarity)
    return [
        Segment(text[first:last], tuple(word for word in inside if word.start <= first and last <= word.end))
        for first, last in pairwise(cuts)
    ]


def mark_question(words: Sequence[WordMatch], question: str) -> list[Segment]:
    """The question, with the words marked that match a word of a memory."""
    places = (
        WordMatch(word.question, word.memory, word.similarity, found.start(), found.end())
        for word in words
        for found in re.finditer(rf"(?<![^\W_]){re.escape(word.question)}(?![^\W_])", question)
    )
    return mark_words(question, places)


def shown_span(content: str, match: PassageMatch | None) -> Span:
    """The characters that are shown of a text: all if it is short, else the passage that matched."""
    if len(content) <= LONG_CHARACTERS:
        return 0, len(content)
    if match is not None and match.parts > 1:
        return match.start, match.end
    return _window(content, match, SHOWN_LONG)


def _shown(content: str, match: PassageMatch | None, span: Span, space: str = "") -> list[Segment]:
    """A part of the text without the space around it, with a sign at a cut."""
    text = content[slice(*span)]
    start, end = span[0] + len(text) - len(text.lstrip()), span[0] + len(text.rstrip())
    if start >= end:
        return []
    segments = mark_words(content, match.words if match else (), start, end)
    before = [Segment(ELLIPSIS + space)] if _TEXT.search(content, 0, start) else []
    after = [Segment(space + ELLIPSIS)] if _TEXT.search(content, end) else []
    return [*before, *segments, *after]


def _window(content: str, match: PassageMatch | None, length: int) -> Span:
    """About `length` characters: from the beginning of the passage, or around the matching words if they come later."""
    if len(content) <= 4 * length and len(" ".join(content.split())) <= length:
        return 0, len(content)
    room = max(1, length - 2 * len(ELLIPSIS))
    if match is None or not 0 <= match.start < len(content):
        return 0, _between_words(content, room, -1)
    first, last = _best_words(match, room)
    if last <= match.start + room:
        return match.start, _between_words(content, match.start + room, -1)
    start = max(match.start, min(first - (room - (last - first)) // 2, len(content) - room))
    return min(first, _between_words(content, start, 1)), _between_words(content, start + room, -1, least=last)


def _best_words(match: PassageMatch, room: int) -> Span:
    """The stretch of at most `room` characters in which most was met; the beginning of the passage without any word."""
    inside = sorted((word for word in match.words if word.start >= 0), key=lambda word: word.start)
    best, most = (match.start, match.start), 0.0
    for leftmost in inside:
        near = [word for word in inside if word.start >= leftmost.start and word.end <= leftmost.start + room]
        total = sum(word.similarity for word in near)
        if total > most:
            best, most = (leftmost.start, max(word.end for word in near)), total
    return best


def _between_words(content: str, place: int, step: int, least: int = 0) -> int:
    """The nearest place between two words, a little before (−1) or after (1); the place itself if there is none."""
    if not 0 < place < len(content):
        return max(0, min(place, len(content)))
    for at in range(place, place + step * NEAR_EDGE, step):
        if least < at < len(content) and (content[at].isspace() or content[at - 1].isspace()):
            return at
    return place


SHOWN_TEXT = 100
"""Characters of a memory if only its beginning is shown."""

SHOWN_LONG_TEXT = 300
"""Characters of a long memory in the heading of its explanation, around the matched words."""

SHOWN_DROPPED = 5
"""Maximum number of dropped candidates in an explanation; `Recall.candidates` has all of them."""

NOT_FOUND = "Nothing stored seems to answer this."
"""Message of every interface for a recall that has not found anything."""

INDENT = "\n        "
"""Further lines of a memory are indented, so that nothing in it can look like a line of the explanation."""

MIN_COLUMN = 10
"""The least width of the column of names."""


def explain_hit(rank: int, candidate: Candidate, length: int | None = None, composite: bool = False) -> str:
    """The memory and the arithmetic behind its score; text longer than `length` is cut to the matched words."""
    content = candidate.memory.content
    if length is None and len(content) > LONG_CHARACTERS:
        length = SHOWN_LONG_TEXT
    text = content if length is None else excerpt(content, candidate.passage, length)
    text = INDENT.join(visible(text).split("\n"))
    score = shown_score(candidate.score, composite)
    return "\n".join((f"#{rank}  {score}  {text}", *explain_score(candidate)))


def explain_score(candidate: Candidate) -> list[str]:
    """The arithmetic behind a score, one line for each route and each step."""
    names = [item.route for item in candidate.evidence] + [step.stage for step in candidate.steps]
    wide = max((MIN_COLUMN, *map(len, names)))
    lines = []
    for item in candidate.evidence:
        note = f"  ({item.note})" if item.note else ""
        lines.append(f"    {item.route:<{wide}} rank {item.rank:<3} {item.arithmetic} = {item.contribution:.4f}{note}")
    parts = " + ".join(f"{item.contribution:.4f}" for item in candidate.evidence)
    lines.append(f"    {'fused':<{wide}} {parts} = {candidate.fused:.4f}")
    lines += [f"    {step.stage:<{wide}} {step.before:.4f} → {step.after:.4f}  {step.why}" for step in candidate.steps]
    if candidate.chance is not None:
        lines.append(f"    {'chance':<{wide}} {percent(candidate.chance)} that it answers")
    lines += [f"    {'beside':<{wide}} {shorten(memory.content, SHOWN_TEXT)}" for memory in candidate.neighbours]
    lines += [f"    {'folded':<{wide}} {shorten(memory.content, SHOWN_TEXT)}" for memory in candidate.folded]
    return list(map(one_line, lines))


def explain_search(query: Query, plan: Plan, routes: Sequence[RouteRun], notes: Iterable[StageNote]) -> list[str]:
    """The question as it was understood, the plan, and what each route and model gave."""
    lines = [query.marked(), *query.describe(), ""]
    lines.append(f"recipe {plan.recipe}, k {plan.k}, {plan.fusion}{plan.describe_effort()}")
    if plan.filter:
        lines.append(f"filter {plan.filter}")
    lines += [f"  {hint.describe()}" for hint in plan.type_hints]
    wide = max((MIN_COLUMN, *(len(run.route) for run in routes)))
    for run in routes:
        status = "empty" if run.status == "hits" and not run.found else run.status
        lines.append(f"  {run.route:<{wide}} {status:<8} {run.found:>4} found  {run.ms:7.2f} ms  {run.reason}")
        lines += [
            f"      {rank}. {top.score:.4g}  {shorten(top.content, SHOWN_TEXT)}"
            + (f"  ({top.note})" if top.note else "")
            for rank, top in enumerate(run.top, 1)
        ]
    if query.weights is not None:
        lines.append(f"  weights {query.weights.describe()}")
    lines += [f"  {note.stage:<{wide}} {note.status:<8} {note.model}  {note.why}" for note in notes]
    return list(map(one_line, lines))


def explain_chance(chance: float | None, found: bool) -> list[str]:
    """A line that says if something stored seems to answer; empty if the recipe does not judge that."""
    if chance is None:
        return []
    return [f"{'something' if found else 'nothing'} stored seems to answer: {percent(chance)}"]


def percent(chance: float) -> str:
    """A chance as people read it, never surer than 99 %."""
    return f"{min(99, round(100 * chance))} %"


def shown_score(score: float, composite: bool, places: int = 4) -> str:
    """A score as people read it: a composite in percent (D10), any other with its decimals."""
    return f"{100 * score:.1f} %" if composite else f"{score:.{places}f}"


def explain_rest(
    recent: Iterable[Memory], candidates: Iterable[TracedCandidate], timings: Iterable[Timing]
) -> list[str]:
    """The last turns, what was dropped and why, and how long each stage took."""
    lines = [f"  recent {turn.id}  {shorten(turn.content, SHOWN_TEXT)}" for turn in recent]
    dropped = [item for item in candidates if item.rank is None]
    for item in dropped[:SHOWN_DROPPED]:
        places = item.describe_places()
        lines.append(f"  dropped {item.id} at {item.stage}: {item.reason}" + (f"  ({places})" if places else ""))
    if len(dropped) > SHOWN_DROPPED:
        counts = Counter(item.stage for item in dropped[SHOWN_DROPPED:])
        stages = ", ".join(f"{count} at {stage}" for stage, count in counts.items())
        lines.append(f"  … and {len(dropped) - SHOWN_DROPPED} more dropped: {stages}")
    lines.append("  " + "  ".join(f"{timing.stage} {timing.ms:.2f} ms" for timing in timings))
    return list(map(one_line, lines))


# What a notebook shows of a recall: each hit with its chance or score, a reason, and a bar of what routes added.

NOTEBOOK_CHARACTERS = 300
"""Characters of a memory in a notebook."""


def recall_html(query: Query, plan: Plan, found: bool, candidates: Sequence[Candidate]) -> str:
    """The question, the weights predicted for it, and a row for each hit, best first."""
    colours = plan.colours()
    best = max((candidate.fused for candidate in candidates), default=1.0) or 1.0
    rows = [
        (rank, _chance(candidate, plan), _memory(candidate), _routes(candidate, best, colours))
        for rank, candidate in enumerate(candidates, 1)
    ]
    heading = Html(f"<b>{html_text(query.text)}</b>")
    judged = any(candidate.chance is not None for candidate in candidates)
    table = html_table(("", "chance" if judged else "score", "memory", "found by"), rows) if rows else Html("")
    return html_lines(heading, *query.describe_weights(), *(() if found else (NOT_FOUND,))) + table


def _chance(candidate: Candidate, plan: Plan) -> Html:
    if candidate.chance is None:
        return html_text(shown_score(candidate.score, plan.is_composite))
    told = percent(candidate.chance)
    bar = html_bar([Part(told, candidate.chance)], 4)
    return Html(f'<span style="white-space:nowrap">{bar} {html_text(told)}</span>')


def _memory(candidate: Candidate) -> Html:
    """The text, when it was said and by whom, and why it came."""
    memory = candidate.memory
    who = f", {shown_name(memory.speaker)}" if memory.speaker else ""
    origin = f"{memory.event_at.day} {memory.event_at:%b %Y}{who} · {short_reason(candidate)}"
    return html_lines(_marked(marked_line(memory.content, candidate.passage, NOTEBOOK_CHARACTERS)), html_quiet(origin))


def _routes(candidate: Candidate, best: float, colours: Mapping[str, str]) -> Html:
    parts = [
        Part(f"{item.route} #{item.rank}: {item.contribution:.3f}", item.contribution / best, colours[item.route])
        for item in candidate.evidence
    ]
    return html_lines(html_bar(parts), html_quiet(", ".join(item.route for item in candidate.evidence)))


def _marked(segments: Iterable[Segment]) -> Html:
    """The text, with words underlined that match one of the question."""
    return Html(
        "".join(
            f"<u>{html_text(segment.text)}</u>" if segment.strength > 1 else html_text(segment.text)
            for segment in segments
        )
    )
