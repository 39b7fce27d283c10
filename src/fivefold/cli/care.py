"""Commands that look after a store."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from fivefold.cli.app import JsonOption, NamespaceOption, StoreOption, app, print_json, reading, say


@app.command()
def doctor(
    repair: Annotated[bool, typer.Option("--repair", help="Rebuild first all that can be derived")] = False,
    store: StoreOption = None,
    namespace: NamespaceOption = "default",
    as_json: JsonOption = False,
) -> None:
    """Check a store, and rebuild indexes, vectors and links from the memories when asked to."""
    with reading(store, namespace) as engine:
        findings = engine.doctor(repair=repair, progress=sys.stderr.isatty())
    if as_json:
        print_json([finding.to_dict() for finding in findings])
    else:
        from fivefold.cli import show

        show.table(("", "check", "finding"), [("✓" if f.ok else "✗", f.check, f.detail) for f in findings])
    if not all(finding.ok for finding in findings):
        if not as_json:
            sys.stderr.write("Something is amiss; `fivefold doctor --repair` rebuilds what can be derived.\n")
        raise typer.Exit(1)


@app.command()
def reembed(
    embedder: Annotated[str, typer.Argument(help="fivefold-minilm, minilm, wordllama, openai:MODEL, …")],
    store: StoreOption = None,
    namespace: NamespaceOption = "default",
    as_json: JsonOption = False,
) -> None:
    """Move a namespace to another embedding model; interrupted, it goes on where it stopped."""
    with reading(store, namespace) as engine:
        pin = engine.reembed(embedder, progress=sys.stderr.isatty())
        count = engine.stats().vectors
    if as_json:
        print_json({"namespace": namespace, "embedder": pin, "vectors": count})
    else:
        say(f"namespace {namespace!r} now has {count} vectors of {pin}")
