"""`fivefold chat`: a prompt that remembers and recalls as you type, or a line at a time from a pipe."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import tzinfo
from importlib import import_module
from typing import TYPE_CHECKING, Annotated

import typer

from fivefold.cli.app import JsonOption, NamespaceOption, StoreOption, app, complain, kind, opened, phrase, say
from fivefold.cli.read import marked_text, when_and_who
from fivefold.cli.terminal import QUOTED, hang, line
from fivefold.errors import FivefoldError
from fivefold.retrieval.prompt import LIKELY
from fivefold.text.display import brief, escaped
from fivefold.values.explain import NOT_FOUND, percent
from fivefold.values.memory import Memory
from fivefold.values.recall import Hit, Recall
from fivefold.values.reports import Report

if TYPE_CHECKING:
    from fivefold.engine import Engine


PROMPT = "› "
GREETING = "Say something to remember, or ask a question that ends with ?. Ctrl-D ends."

COMES_TO_MIND = 0.3
"""The least chance of an earlier memory that is shown with a new one, which asked for nothing."""


@app.command()
def chat(
    k: Annotated[int, typer.Option("-k", help="How many memories answer a question")] = 3,
    speaker: Annotated[str, typer.Option("--speaker", help="Who is speaking")] = "user",
    session: Annotated[str | None, typer.Option("--session", help="The conversation [default: a new one]")] = None,
    store: StoreOption = None,
    namespace: NamespaceOption = "default",
    as_json: JsonOption = False,
) -> None:
    """Talk to the memory: what you say is remembered, what you ask is answered. Lines may also be piped in."""
    from fivefold.values.times import utc_now

    with opened(store, namespace) as engine:
        session_id = session or f"chat {utc_now():%Y-%m-%d %H:%M:%S}"
        for text in _lines(quiet=as_json):
            try:
                asks = text.endswith("?")
                answer = engine.recall(text, k=k)
                report = None if asks else engine.remember(text, speaker=speaker, session_id=session_id)
            except FivefoldError as error:
                _refuse(error, as_json)
                continue
            if as_json:
                _print_line({"text": text, "recall": answer.summary(), "report": report and report.to_dict()})
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
        show_answer(answer, engine.settings.zone)
        return
    replaced = [engine.get(link.target) for link in report.superseded]
    seen = {*report.stored, *(merge.id for merge in report.merged), *(memory.id for memory in replaced)}
    come = [hit for hit in answer if hit.memory.id not in seen and (hit.chance or 0) >= COMES_TO_MIND]
    show_remembered(report, replaced, come if answer.found else [], engine.settings.zone)


def _refuse(error: FivefoldError, as_json: bool) -> None:
    """A line that cannot be remembered or asked is said, and the talk goes on."""
    if as_json:
        _print_line({"error": {"type": kind(error), "message": phrase(error)}})
    else:
        complain(phrase(error))


def _print_line(value: object) -> None:
    sys.stdout.write(escaped(json.dumps(value, ensure_ascii=False)) + "\n")
    sys.stdout.flush()


# How a talk with the memory looks: what came up, what was kept, what it replaces.


def show_answer(found: Recall, zone: tzinfo) -> None:
    """The memories that answer, best first; where nothing seems to, in one line."""
    if not found.found:
        line(f"  {NOT_FOUND}", "yellow")
    else:
        likely = [hit for hit in found if hit.chance is None or hit.chance >= LIKELY]
        for hit in likely or found.hits[:1]:
            _hit(hit, zone)
    sys.stdout.flush()


def show_remembered(report: Report, replaced: Sequence[Memory], come: Sequence[Hit], zone: tzinfo) -> None:
    """What became of a line, and what comes to mind with it."""
    line("  remembered" if report.stored else "  known already", "dim")
    for memory in replaced:
        hang("  no longer so: ", brief(memory.content), "yellow", further=QUOTED)
    for hit in come:
        _hit(hit, zone)
    sys.stdout.flush()


def _hit(hit: Hit, zone: tzinfo) -> None:
    chance = "" if hit.chance is None else f"{percent(hit.chance):>4}  "
    hang(f"  {chance}", marked_text(hit, full=False), further=QUOTED)
    hang("    ", f"{when_and_who(hit.memory, zone)} · {hit.reason}", "dim")
