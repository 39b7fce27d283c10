"""`fivefold demo`: a sample year, a few questions, and why each memory came back."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from fivefold.cli.app import JsonOption, NamespaceOption, app, opened, print_json

ASKED = ("q01", "q04", "q07", "q34", "q17", "q24")
"""An identifier, a constant, an allergy, a change of address, a change of mind, and what was said last week."""


@app.command()
def demo(
    k: Annotated[int, typer.Option("-k", help="Memories shown for each question")] = 3,
    store: Annotated[
        str | None, typer.Option("--store", help="Keep the sample in this file [default: a temporary one]")
    ] = None,
    namespace: NamespaceOption = "demo",
    as_json: JsonOption = False,
) -> None:
    """Load a sample year of conversations and answer questions about it."""
    from fivefold import sample

    with tempfile.TemporaryDirectory() as folder:
        path = store or str(Path(folder) / "demo.db")
        with opened(path, namespace) as engine:
            report = engine.remember_many(sample.memories(), progress=sys.stderr.isatty())
            asked = [question for question in sample.questions() if question.id in ASKED]
            answers = [engine.recall(question.query, k=k, now=question.now) for question in asked]
    if as_json:
        print_json({"report": report.to_dict(), "recalls": [answer.to_dict() for answer in answers]})
        return
    from fivefold.cli import show

    show.console.print(f"A year of Maya's conversations: {len(report.sessions)} sessions.", style="bold")
    show.report(report)
    for answer in answers:
        show.console.print(f"\n? {answer.query.text}", style="bold cyan")
        show.recall(answer)
    kept = f"--store {store} --namespace {namespace}" if store else "--store me.db"
    show.console.print("\nNext, try:", style="bold")
    if store is None:
        show.console.print("  fivefold demo --store me.db --namespace default      keep the sample in a file")
    show.console.print(f"  fivefold recall 'what am I allergic to?' {kept}")
    show.console.print(f"  fivefold explain 'where do I live now?' {kept}")
    show.console.print("  fivefold add 'I take my tea without milk' --store mine.db")
