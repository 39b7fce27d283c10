"""The trace as text. It renders what the values hold, and computes nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from fivefold.values.excerpt import LONG, Segment, excerpt, marked_line, short_reason
from fivefold.values.html_parts import Html, Part, html_bar, html_lines, html_quiet, html_table, html_text
from fivefold.values.memory import Memory
from fivefold.values.query import Query
from fivefold.values.recall_trace import Candidate, Plan, RouteRun, StageNote, Timing, TracedCandidate
from fivefold.values.validate import one_line, shorten, shown_name
from fivefold.values.validate import visible_text_visible as visible

SHOWN_TEXT = 100
"""Characters of a memory where only its beginning is shown."""

SHOWN_LONG = 300
"""Characters of a long memory in the heading of its explanation: where words met."""

SHOWN_DROPPED = 5
"""How many dropped candidates an explanation names; `Recall.candidates` has all of them."""

NOT_FOUND = "Nothing stored seems to answer this."
"""What every face says where a recall has not found anything."""

INDENT = "\n        "
"""Further lines of a memory are indented, so that nothing in it can look like a line of the explanation."""

COLUMN = 10
"""The least width of the column of names."""


def explain_hit(rank: int, candidate: Candidate, length: int | None = None, composite: bool = False) -> str:
    """The memory and the arithmetic behind its score; what is longer than `length` is cut to where words met."""
    content = candidate.memory.content
    if length is None and len(content) > LONG:
        length = SHOWN_LONG
    text = content if length is None else excerpt(content, candidate.passage, length)
    text = INDENT.join(visible(text).split("\n"))
    score = shown_score(candidate.score, composite)
    return "\n".join((f"#{rank}  {score}  {text}", *explain_score(candidate)))


def explain_score(candidate: Candidate) -> list[str]:
    """The arithmetic behind a score, one line for each route and each step."""
    names = [item.route for item in candidate.evidence] + [step.stage for step in candidate.steps]
    wide = max((COLUMN, *map(len, names)))
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
    return list(map(one_line, lines))


def explain_search(query: Query, plan: Plan, routes: Sequence[RouteRun], notes: Iterable[StageNote]) -> list[str]:
    """The question as it was understood, the plan, and what each route and model gave."""
    lines = [query.marked(), *query.describe(), ""]
    lines.append(f"recipe {plan.recipe}, k {plan.k}, {plan.fusion}{plan.describe_effort()}")
    if plan.filter:
        lines.append(f"filter {plan.filter}")
    lines += [f"  {hint.describe()}" for hint in plan.type_hints]
    wide = max((COLUMN, *(len(run.route) for run in routes)))
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
    """Whether something stored seems to answer, in a line; nothing where the recipe does not judge that."""
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
    lines += [_dropped_line(item) for item in dropped[:SHOWN_DROPPED]]
    if len(dropped) > SHOWN_DROPPED:
        lines.append(f"  … and {len(dropped) - SHOWN_DROPPED} more dropped{_by_stage(dropped[SHOWN_DROPPED:])}")
    lines.append("  " + "  ".join(f"{timing.stage} {timing.ms:.2f} ms" for timing in timings))
    return list(map(one_line, lines))


def _dropped_line(item: TracedCandidate) -> str:
    places = item.describe_places()
    return f"  dropped {item.id} at {item.stage}: {item.reason}" + (f"  ({places})" if places else "")


def _by_stage(dropped: Iterable[TracedCandidate]) -> str:
    counts = Counter(item.stage for item in dropped)
    return ": " + ", ".join(f"{count} at {stage}" for stage, count in counts.items())


# What a notebook shows of a recall: each hit with its chance or score, a reason, and a bar of what routes added.

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
