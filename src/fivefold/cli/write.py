"""Commands that change memories."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from fivefold.cli.app import JsonOption, NamespaceOption, StoreOption, app, opened, print_json, reading
from fivefold.errors import InvalidInput

SpeakerOption = Annotated[str | None, typer.Option("--speaker", help="Who said it")]
SessionOption = Annotated[str | None, typer.Option("--session", help="The conversation it belongs to")]
AtOption = Annotated[str | None, typer.Option("--at", help="When it happened, ISO 8601 [default: now]")]
TypeOption = Annotated[str | None, typer.Option("--type", help="fact, preference, event, entity or procedure")]
TagOption = Annotated[list[str] | None, typer.Option("--tag", help="A tag; may be given again")]


@app.command()
def add(
    text: Annotated[str, typer.Argument(help="What to remember, or - to read it from standard input")],
    speaker: SpeakerOption = None,
    session: SessionOption = None,
    at: AtOption = None,
    type: TypeOption = None,
    tag: TagOption = None,
    embedder: Annotated[str | None, typer.Option(help="Embedder for a new namespace [default: minilm]")] = None,
    extractor: Annotated[str, typer.Option(help="rules, or openai:MODEL")] = "rules",
    store: StoreOption = None,
    namespace: NamespaceOption = "default",
    as_json: JsonOption = False,
) -> None:
    """Remember a text."""
    content = _piped() if text == "-" else text
    given: dict[str, Any] = {
        "speaker": speaker,
        "session_id": session,
        "event_at": at,
        "type": type,
        "tags": tag or [],
    }
    _checked({"content": content, **given})
    with opened(store, namespace, embedder=embedder, extractor=extractor) as engine:
        _show(engine.remember(content, **given), as_json)


@app.command("import")
def import_(
    file: Annotated[Path, typer.Argument(help="JSON lines: an export, or objects with at least a content")],
    embedder: Annotated[str | None, typer.Option(help="Embedder for a new namespace [default: minilm]")] = None,
    store: StoreOption = None,
    namespace: NamespaceOption = "default",
    as_json: JsonOption = False,
) -> None:
    """Read memories from a file of JSON lines; importing the same file again adds nothing."""
    if not file.is_file():
        raise InvalidInput(f"there is no file {str(file)!r} to import")
    with opened(store, namespace, embedder=embedder) as engine:
        _show(engine.import_(file, progress=sys.stderr.isatty()), as_json)


@app.command()
def update(
    id: Annotated[str, typer.Argument(help="The memory's id")],
    content: Annotated[str | None, typer.Option("--content", help="The new text")] = None,
    speaker: SpeakerOption = None,
    at: AtOption = None,
    type: TypeOption = None,
    tag: TagOption = None,
    store: StoreOption = None,
    namespace: NamespaceOption = "default",
    as_json: JsonOption = False,
) -> None:
    """Change a memory; what is not named stays."""
    given = {"content": content, "speaker": speaker, "event_at": at, "type": type, "tags": tag}
    changes = {name: value for name, value in given.items() if value is not None}
    if not changes:
        raise InvalidInput("nothing to change; name a field, such as --content")
    with reading(store, namespace) as engine:
        changed = engine.update(id, **changes)
    if as_json:
        print_json(changed.to_dict())
    else:
        from fivefold.cli import show

        show.memory(changed)


@app.command()
def supersede(
    id: Annotated[str, typer.Argument(help="The memory that no longer holds")],
    text: Annotated[str, typer.Argument(help="What holds instead")],
    speaker: SpeakerOption = None,
    at: AtOption = None,
    store: StoreOption = None,
    namespace: NamespaceOption = "default",
    as_json: JsonOption = False,
) -> None:
    """Remember a text as what replaces another memory, which keeps its history."""
    with reading(store, namespace) as engine:
        _show(engine.supersede(id, {"content": text, "speaker": speaker, "event_at": at}), as_json)


@app.command()
def forget(
    id: Annotated[str | None, typer.Argument(help="The memory's id")] = None,
    session: Annotated[str | None, typer.Option("--session", help="Forget a whole session instead")] = None,
    store: StoreOption = None,
    namespace: NamespaceOption = "default",
    as_json: JsonOption = False,
) -> None:
    """Remove a memory, or a session, for good."""
    if (id is None) == (session is None):
        raise InvalidInput("name either a memory's id or --session")
    with reading(store, namespace) as engine:
        gone: dict[str, Any]
        if id is not None:
            gone = {"forgotten": engine.forget(id).id}
        else:
            assert session is not None
            gone = {"session": session, "forgotten": engine.forget_session(session)}
    if as_json:
        print_json(gone)
    else:
        sys.stdout.write(f"forgotten: {gone['forgotten']}{' turns' if session else ''}\n")


@app.command()
def used(
    recall: Annotated[str, typer.Argument(help="The recall's id, as `fivefold recall` prints it")],
    ids: Annotated[list[str], typer.Argument(help="Ids of the memories that were really used")],
    store: StoreOption = None,
    namespace: NamespaceOption = "default",
    as_json: JsonOption = False,
) -> None:
    """Feedback: these memories of a recall were really used."""
    with reading(store, namespace) as engine:
        engine.used(recall, ids)
    if as_json:
        print_json({"recall": recall, "used": ids})
    else:
        sys.stdout.write(f"noted: {len(ids)} used\n")


def _piped() -> str:
    try:
        return sys.stdin.buffer.read().decode()
    except UnicodeDecodeError as error:
        raise InvalidInput(f"standard input is not UTF-8 text: {error.reason} at byte {error.start}") from None


def _checked(given: dict[str, Any]) -> None:
    """Refuse a bad record before a store is made for it."""
    from fivefold.intake import record_of

    record_of(given)


def _show(report: Any, as_json: bool) -> None:
    if as_json:
        print_json(report.to_dict())
    else:
        from fivefold.cli import show

        show.report(report)
