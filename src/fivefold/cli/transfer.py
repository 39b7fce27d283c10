"""Commands that import, export, sync and copy memories."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from fivefold.cli.app import ADDRESSES, JsonOption, SpaceOptions, app, existing, opened, place, terminal
from fivefold.cli.output import print_json, say
from fivefold.cli.write import EmbedderOption, ExtractorOption
from fivefold.errors import InvalidFile
from fivefold.text.display import escaped

if TYPE_CHECKING:
    from fivefold.engine import Engine
    from fivefold.transfer.importers import ImportReport


@app.command("import")
def import_(
    path: Annotated[Path, typer.Argument(help="An export, a file of JSON lines or a folder of notes; - is stdin")],
    source: Annotated[
        str,
        typer.Option(
            "--from",
            help="auto, chatgpt, claude, mem0, langchain, markdown, messages, claude-code, codex, cursor, "
            "gemini-cli, jsonl or export",
        ),
    ] = "auto",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be stored")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Stop at the first part that cannot be read")] = False,
    embedder: EmbedderOption = None,
    extractor: ExtractorOption = "rules",
    *,
    space: SpaceOptions,
) -> None:
    """Import memories from other programs; a second import adds only new ones."""
    from fivefold.transfer.importers import import_from

    with _source(path) as file:
        if _is_new(space.store) and not dry_run:
            import_from(None, file, source, strict=strict, dry_run=True)  # what cannot be read makes no store
        with _into(dry_run, space.store, space.namespace, embedder=embedder, extractor=extractor) as engine:
            done = import_from(engine, file, source, strict=strict, dry_run=dry_run, progress=sys.stderr.isatty())
    space.show(done, _imported)


@app.command()
def export(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(help="Where to write the JSON lines; - is standard output")],
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Write a folder of Markdown instead, a file for each session and subject")
    ] = False,
    mask_secrets: Annotated[
        bool, typer.Option("--mask-secrets", help="With --markdown, mask API keys, card numbers and passwords")
    ] = False,
    *,
    space: SpaceOptions,
) -> None:
    """Write every memory of a namespace as JSON lines, or as Markdown that Obsidian shows; `import` reads both."""
    if mask_secrets and not markdown:
        ctx.fail("--mask-secrets works with --markdown; JSON lines are exact.")
    with space.reading() as engine:
        if markdown:
            count = engine.export_markdown(file, mask_secrets=mask_secrets)
        elif str(file) != "-":
            count = engine.export_jsonl(file)
        else:
            count = 0
            for count, line in enumerate(engine.export_lines(), 1):  # noqa: B007
                sys.stdout.write((escaped(line) if sys.stdout.isatty() else line) + "\n")
    to = "standard output" if str(file) == "-" else str(file)
    summary = f"{count} {'memory' if count == 1 else 'memories'} written to {to}"
    done = {"file": str(file), "memories": count}
    if str(file) == "-":  # standard output has the memories
        sys.stderr.write(f"{json.dumps(done) if space.as_json else summary}\n")
    else:
        space.show(done, lambda _: say(summary))


def _imported(done: ImportReport) -> None:
    from fivefold.transfer.importers import NAMES

    if done.dry_run:
        say(f"would be stored: {len(done.stored):,}; already there: {len(done.merged):,}; nothing was changed")
    else:
        terminal.report(done)
    changed = f", {len(done.updated):,} of them changed since they were read last" if done.updated else ""
    terminal.line(
        f"taken for {NAMES[done.format]}: {terminal.counted(done.records, 'record', 'records')}{changed}", "dim"
    )
    if done.left_out:
        terminal.hang("left out: ", ", ".join(f"{what} ({count:,})" for what, count in done.left_out.items()), "dim")
    for part in done.skipped[:10]:
        terminal.hang("skipped ", f"{part.where}: {part.why}", "yellow", further=4)
    if len(done.skipped) > 10:
        terminal.line(f"… and {len(done.skipped) - 10:,} more skipped; --json names them all", "yellow")


@contextmanager
def _into(dry_run: bool, store: str | None, namespace: str, **options: str | None) -> Iterator[Engine | None]:
    """The engine to write with; a dry run makes no store."""
    if dry_run and _is_new(store):
        yield None
    else:
        with opened(store, namespace, **options) as engine:
            yield engine


def _is_new(store: str | None) -> bool:
    path = place(store)
    return not path.startswith(ADDRESSES) and not os.path.exists(path)


@contextmanager
def _source(file: Path) -> Iterator[Path]:
    """A file that can be read more than once: `file` itself, or a copy of a stream."""
    if str(file) == "-":
        with _copy(sys.stdin.buffer, "standard input") as path:
            yield path
    elif not file.exists():
        raise InvalidFile(file, "does not exist; name the file to import")
    elif file.is_dir() or file.is_file():
        yield file
    else:
        with file.open("rb") as stream, _copy(stream, str(file)) as path:
            yield path


@contextmanager
def _copy(stream: BinaryIO, name: str) -> Iterator[Path]:
    """Copies `stream` to a file; errors name the stream, not the copy."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "stream"
        with path.open("wb") as file:
            shutil.copyfileobj(stream, file)
        try:
            yield path
        except InvalidFile as error:
            raise error.renamed(name) from None


@app.command()
def sync(
    one: Annotated[str, typer.Argument(help="A store: a file or a PostgreSQL address")],
    other: Annotated[str, typer.Argument(help="Another store, or a folder that a program carries to the other stores")],
    namespace: Annotated[str, typer.Option("--namespace", "-n", help="Namespace to sync")] = "default",
    mask_secrets: Annotated[
        bool, typer.Option("--mask-secrets", help="Mask API keys, card numbers and passwords that leave a store")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Make the memories of two stores the same. A deletion wins over an edit; lost edits are shown."""
    from fivefold.engine import open as open_engine
    from fivefold.transfer.sync import sync_stores

    with open_engine(existing(one, "or name another one"), namespace=namespace) as engine:
        if os.path.isdir(other):
            found = {one: engine.sync(other, mask_secrets=mask_secrets)}
        else:
            with open_engine(place(other), namespace=namespace) as second:
                reports = sync_stores(engine._namespace, second._namespace, mask_secrets=mask_secrets)
            found = dict(zip((one, other), reports, strict=True))
    if as_json:
        print_json(found)
        return
    for name, done in found.items():
        say(f"{name}: {len(done.added):,} added, {len(done.changed):,} changed, {len(done.deleted):,} deleted")
        for conflict in done.conflicts:
            kept, lost = (text or "deleted" for text in (conflict.kept, conflict.lost))
            terminal.quote("  ", f"{conflict.id} was changed on both sides: kept {kept!r}, lost {lost!r}", "yellow")
        for note in done.notes:
            terminal.quote("  ", note, "dim")


# The command that moves namespaces from one store to another.


@app.command()
def migrate(
    source: Annotated[str, typer.Argument(help="Where they are: a file or a PostgreSQL address")],
    target: Annotated[str, typer.Argument(help="Where they go: a file or a PostgreSQL address, created if needed")],
    namespace: Annotated[
        list[str] | None, typer.Option("--namespace", "-n", help="Only this namespace; repeatable")
    ] = None,
    restart: Annotated[bool, typer.Option("--restart", help="Start an unfinished copy again")] = False,
    as_json: JsonOption = False,
) -> None:
    """Copy namespaces with all their vectors to another store; a repeated run continues an interrupted one."""
    from fivefold.transfer.migrate import migrate as copy

    moved = copy(source, target, namespace or (), restart=restart, progress=sys.stderr.isatty())
    rows = [(item.namespace, item.memories, item.vectors, item.checksum[:12], f"{item.seconds:.1f}") for item in moved]
    columns = ("namespace", "memories", "vectors", "checksum", "seconds")
    if as_json:
        print_json(moved)
    else:
        terminal.table(columns, rows, right=("memories", "vectors", "seconds"))
