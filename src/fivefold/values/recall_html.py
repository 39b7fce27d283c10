"""What a notebook shows of a recall: each hit with its chance or score, a reason, and a bar of what routes added."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from fivefold.values.excerpt import Segment, marked_line
from fivefold.values.explain import NOT_FOUND, percent, shown_score
from fivefold.values.html_parts import Html, Part, html_bar, html_lines, html_quiet, html_table, html_text
from fivefold.values.query import Query
from fivefold.values.reason import short_reason
from fivefold.values.recall_trace import Candidate, Plan
from fivefold.values.visible_text import shown_name

SHOWN = 300
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
    return html_lines(_marked(marked_line(memory.content, candidate.passage, SHOWN)), html_quiet(origin))


def _routes(candidate: Candidate, best: float, colours: Mapping[str, str]) -> Html:
    parts = [
        Part(f"{item.route} #{item.rank}: {item.contribution:.3f}", item.contribution / best, colours[item.route])
        for item in candidate.evidence
    ]
    return html_lines(html_bar(parts), html_quiet(", ".join(item.route for item in candidate.evidence)))


def _marked(segments: Iterable[Segment]) -> Html:
    """The text, words that met one of the question underlined."""
    return Html(
        "".join(
            f"<u>{html_text(segment.text)}</u>" if segment.strength > 1 else html_text(segment.text)
            for segment in segments
        )
    )
