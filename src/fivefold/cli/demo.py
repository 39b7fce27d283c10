"""`fivefold demo`: a sample year, a few questions, and why each memory came back."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from fivefold.cli.app import JsonOption, NamespaceOption, app, named_store, opened, terminal
from fivefold.cli.output import print_json

QUESTIONS = ("q01", "q04", "q07", "q36", "q17", "q24")
"""An identifier, a constant, an allergy, a new number, a change of mind, and what was said last week."""


@app.command()
def demo(
    k: Annotated[int, typer.Option("-k", help="Memories shown for each question")] = 1,
    store: Annotated[
        str | None,
        typer.Option("--store", help="Keep the sample in this file [default: a temporary one]", callback=named_store),
    ] = None,
    namespace: NamespaceOption = "demo",
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Show the arithmetic: a bar for every route")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Load a sample year of conversations and answer questions about it."""
    from fivefold import sample

    records = sample.memories()
    with tempfile.TemporaryDirectory() as folder:
        path = store or str(Path(folder) / "demo.db")
        with opened(path, namespace) as engine:
            report = engine.remember_many(records, progress=sys.stderr.isatty())
            questions = [question for question in sample.questions() if question.id in QUESTIONS]
            answers = [engine.recall(question.query, k=k, now=question.now) for question in questions]
    if as_json:
        print_json({"report": report, "recalls": [answer.brief for answer in answers]})
        return
    sessions = len({record["session_id"] for record in records if record.get("session_id")})
    terminal.line(f"A year of Maya's conversations: {sessions} sessions.", "bold")
    if report.stored:
        terminal.line(f"{len(report.stored)} memories stored; {len(report.superseded)} of them replace an earlier one.")
    else:
        terminal.line(f"All {len(records)} memories were in {path} already; nothing was added.")
    for answer in answers:
        terminal.line("")
        terminal.hang("? ", answer.query.text, "bold cyan")
        terminal.show_recall(answer, verbose=verbose)
    terminal.line("")
    terminal.line("Next, try:", "bold")
    for command in _next(store, namespace):
        terminal.line(f"  {command}")


def _next(store: str | None, namespace: str) -> list[str]:
    """Commands to copy: whole lines that work in the same place as this one."""
    name = called()
    place = f"--store {shlex.quote(store or 'me.db')}"
    option = f" --namespace {shlex.quote(namespace)}" if store and namespace != "default" else ""
    where = place + option
    keep = [] if store else [f"{name} demo --store me.db --namespace default  # keep the sample in a file"]
    return [
        *keep,
        f"{name} recall 'what am I allergic to?' {where}",
        f"{name} explain 'what is my current phone number?' {where}",
        f"{name} serve {place}  # a page to ask and to look inside",
        f"{name} add 'I take my tea without milk' --store mine.db",
    ]


def called() -> str:
    """The command to call again: its name if the shell finds it, else the path of this call."""
    program = Path(sys.argv[0])
    if program.name == "__main__.py":
        return f"{shlex.quote(sys.orig_argv[0])} -m fivefold"
    installed = shutil.which("fivefold")
    if installed is not None and program.exists() and os.path.samefile(installed, program):
        return "fivefold"
    return shlex.quote(sys.argv[0])
