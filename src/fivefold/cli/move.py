"""Commands that carry memories in and out as JSON lines."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, BinaryIO

import typer

from fivefold.cli.app import JsonOption, NamespaceOption, StoreOption, app, opened, print_json, reading, say
from fivefold.cli.safe import escaped
from fivefold.cli.write import EmbedderOption, ExtractorOption
from fivefold.errors import InvalidInput

BOM = b"\xef\xbb\xbf"


@app.command("import")
def import_(
    file: Annotated[Path, typer.Argument(help="JSON lines: an export, or objects with at least a content; - is stdin")],
    embedder: EmbedderOption = None,
    extractor: ExtractorOption = "rules",
    store: StoreOption = None,
    namespace: NamespaceOption = "default",
    as_json: JsonOption = False,
) -> None:
    """Read memories from a file of JSON lines; importing the same file again adds nothing."""
    with _source(file) as path, opened(store, namespace, embedder=embedder, extractor=extractor) as engine:
        report = engine.import_(path, progress=sys.stderr.isatty())
    if as_json:
        print_json(report.to_dict())
    else:
        from fivefold.cli import show

        show.report(report)


@app.command()
def export(
    file: Annotated[Path, typer.Argument(help="Where to write the JSON lines; - is standard output")],
    store: StoreOption = None,
    namespace: NamespaceOption = "default",
    as_json: JsonOption = False,
) -> None:
    """Write every memory of a namespace as JSON lines."""
    with reading(store, namespace) as engine:
        if str(file) != "-":
            count = engine.export(file)
        else:
            from fivefold.transfer import export_lines

            count = 0
            for count, line in enumerate(export_lines(engine.store.reader(engine.namespace)), 1):  # noqa: B007
                sys.stdout.write((escaped(line) if sys.stdout.isatty() else line) + "\n")
    _exported(str(file), count, as_json)


def _exported(file: str, count: int, as_json: bool) -> None:
    """Where standard output carries the memories, what became of them is told on standard error."""
    told = f"{count} {'memory' if count == 1 else 'memories'} written to {'standard output' if file == '-' else file}"
    if file == "-":
        sys.stderr.write(json.dumps({"file": file, "memories": count}) + "\n" if as_json else f"{told}\n")
    elif as_json:
        print_json({"file": file, "memories": count})
    else:
        say(told)


@contextmanager
def _source(file: Path) -> Iterator[Path]:
    """A file the engine can read: `file` itself, or a copy of a stream or of a file with a byte order mark."""
    if str(file) == "-":
        with _copy(sys.stdin.buffer, "standard input") as path:
            yield path
    elif file.is_dir():
        raise InvalidInput(f"{str(file)!r} is a folder; name a file of JSON lines")
    elif not file.exists():
        raise InvalidInput(f"there is no file {str(file)!r} to import")
    elif file.is_file() and not _marked(file):
        yield file
    else:
        with file.open("rb") as stream, _copy(stream, str(file)) as path:
            yield path


def _marked(file: Path) -> bool:
    try:
        with file.open("rb") as stream:
            return stream.read(len(BOM)) == BOM
    except OSError:
        return False


@contextmanager
def _copy(stream: BinaryIO, name: str) -> Iterator[Path]:
    """What `stream` holds as a file, without its mark; errors name it, not the copy."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "lines.jsonl"
        with path.open("wb") as file:
            file.write(stream.read(len(BOM)).removeprefix(BOM))
            shutil.copyfileobj(stream, file)
        try:
            yield path
        except InvalidInput as error:
            raise InvalidInput(str(error).replace(str(path), name)) from None
