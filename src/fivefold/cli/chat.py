"""`fivefold chat`: a prompt that remembers and recalls as you type, or a line at a time from a pipe."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Annotated

import typer

from fivefold.cli.app import SpaceOptions, app, opened, terminal
from fivefold.cli.output import complain, kind, phrase, print_json, say
from fivefold.errors import FivefoldError

if TYPE_CHECKING:
    from fivefold.engine import Engine
    from fivefold.values.recall import Recall
    from fivefold.values.reports import Report

PROMPT = "› "
GREETING = "Say something to remember, or ask a question that ends with ?. Ctrl-D ends."

COMES_TO_MIND = 0.3
"""The least chance of an earlier memory that is shown with a new one, which asked for nothing."""


@app.command()
def chat(
    k: Annotated[int, typer.Option("-k", help="How many memories answer a question")] = 3,
    speaker: Annotated[str, typer.Option("--speaker", help="Who is speaking")] = "user",
    session: Annotated[str | None, typer.Option("--session", help="The conversation [default: a new one]")] = None,
    *,
    space: SpaceOptions,
) -> None:
    """Talk to the memory: what you say is remembered, what you ask is answered. Lines may also be piped in."""
    from fivefold.values.times import utc_now

    with opened(space.store, space.namespace) as engine:
        session_id = session or f"chat {utc_now():%Y-%m-%d %H:%M:%S}"
        for text in _lines(quiet=space.as_json):
            try:
                asks = text.endswith("?")
                answer = engine.recall(text, k=k)
                report = None if asks else engine.remember(text, speaker=speaker, session_id=session_id)
            except FivefoldError as error:  # the line is refused, and the talk goes on
                if space.as_json:
                    print_json({"error": {"type": kind(error), "message": phrase(error)}}, indent=None)
                else:
                    complain(phrase(error))
                continue
            if space.as_json:
                print_json({"text": text, "recall": answer.brief, "report": report}, indent=None)
            else:
                _show(engine, answer, report)


def _lines(quiet: bool) -> Iterator[str]:
    """Each line that is typed after a prompt, or each line of a pipe; empty ones are skipped."""
    if not sys.stdin.isatty():
        yield from filter(None, (line.strip() for line in sys.stdin))
        return
    with suppress(ImportError):
        import_module("readline")  # arrow keys, where Python has it
    if not quiet:
        say(GREETING)
    while True:
        try:
            text = input(PROMPT).strip()
        except EOFError:
            sys.stdout.write("\n")
            return
        if text:
            yield text


def _show(engine: Engine, answer: Recall, report: Report | None) -> None:
    if report is None:
        terminal.show_answer(answer, engine.settings.zone)
        return
    replaced = [engine.get(link.target) for link in report.superseded]
    seen = {*report.stored, *(merge.id for merge in report.merged), *(memory.id for memory in replaced)}
    come = [hit for hit in answer if hit.memory.id not in seen and (hit.chance or 0) >= COMES_TO_MIND]
    terminal.show_remembered(report, replaced, come if answer.found else [], engine.settings.zone)
