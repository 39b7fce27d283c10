"""`fivefold chat`: a prompt that remembers and recalls as you type, or a line at a time from a pipe."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Annotated

import typer

from fivefold.cli.app import JsonOption, NamespaceOption, StoreOption, app, complain, opened, say
from fivefold.cli.hints import kind, phrase
from fivefold.errors import FivefoldError
from fivefold.text.display import escaped

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
    from fivefold.cli import chat_view

    if report is None:
        chat_view.answer(answer, engine.settings.zone)
        return
    replaced = [engine.get(link.target) for link in report.superseded]
    seen = {*report.stored, *(merge.id for merge in report.merged), *(memory.id for memory in replaced)}
    come = [hit for hit in answer if hit.memory.id not in seen and (hit.chance or 0) >= COMES_TO_MIND]
    chat_view.remembered(report, replaced, come if answer.found else [], engine.settings.zone)


def _refuse(error: FivefoldError, as_json: bool) -> None:
    """A line that cannot be remembered or asked is said, and the talk goes on."""
    if as_json:
        _print_line({"error": {"type": kind(error), "message": phrase(error)}})
    else:
        complain(phrase(error))


def _print_line(value: object) -> None:
    sys.stdout.write(escaped(json.dumps(value, ensure_ascii=False)) + "\n")
    sys.stdout.flush()
