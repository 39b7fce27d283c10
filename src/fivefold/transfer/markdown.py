"""Memories as a folder of Markdown: a file for each session and each subject, for people, for Obsidian, and for us.

Every memory stands in one file as a quote, with a comment below it that has all its other fields as JSON, so that the
folder holds what an export of JSON lines holds. Other files link to it. A quote that somebody edited is a change.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from pathlib import Path

from fivefold.errors import InvalidFile, InvalidInput
from fivefold.namespace import Namespace
from fivefold.stores.atomic_files import temporary_folder
from fivefold.text.display import brief
from fivefold.transfer.jsonl import RECORD_NAMES, draft_of, export_lines, restore
from fivefold.values.memory import record_of
from fivefold.values.reports import Report
from fivefold.values.serialize import Json
from fivefold.writing import edit
from fivefold.writing.draft import Draft, ReportBuilder
from fivefold.writing.pipeline import write_checked

INDEX = "index.md"
MARK = "fivefold: 1"
"""The first line of the front matter of every file that an export writes."""

_COMMENT, _END = "<!-- fivefold ", " -->"
_UNSAFE = re.compile(r'[\x00-\x1f\x7f\[\]#^|\\/:*?"<>%]+|^[. ]+|[. ]+$')
_RESERVED = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\..*)?")
MAX_FILE_NAME = 80
"""Characters of the name of a file, before what tells it from others."""

MAX_LINKED = 200
"""Memories of other files that the file of a subject links to, the latest."""


def export_markdown(namespace: Namespace, folder: Path, mask: Callable[[Json], Json] | None = None) -> int:
    """Write every memory of the namespace to a folder, in place of an earlier export; returns how many."""
    if folder.exists() and not is_export(folder) and (not folder.is_dir() or any(folder.iterdir())):
        raise InvalidFile(folder, "is not empty and holds no earlier export; name a new folder")
    read = (json.loads(line) for line in export_lines(namespace.reader))
    lines = [mask(line) if mask else line for line in read]
    pages = _Pages(namespace.name)
    lines.sort(key=lambda line: line["kind"] == "session")  # the order in which they come back
    for place, line in enumerate(lines):
        pages.add(place, line)
    with temporary_folder(folder) as private:
        written = {name: private / str(number) for number, name in enumerate(pages.texts())}
        for name, text in pages.texts().items():
            written[name].write_bytes(text.encode())
        for name, file in written.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            os.replace(file, folder / name)
        for old in _own_files(folder):
            if old.relative_to(folder).as_posix() not in written:
                old.unlink()
    return len(lines)


def is_export(folder: Path) -> bool:
    """True if the folder is one that `export_markdown` wrote."""
    return folder.is_dir() and _is_own(folder / INDEX)


def _is_own(file: Path) -> bool:
    try:
        with file.open("rb") as stream:
            return stream.read(64).decode("utf-8-sig", "replace").splitlines()[:2] == ["---", MARK]
    except OSError:
        return False


def _own_files(folder: Path) -> list[Path]:
    files = [folder / INDEX, folder / "notes.md", *sorted(folder.glob("sessions/*.md"))]
    return [file for file in (*files, *sorted(folder.glob("subjects/*.md"))) if _is_own(file)]


class _Pages:
    """The files of an export, filled memory by memory."""

    def __init__(self, namespace: str) -> None:
        self._namespace = namespace
        self._names: dict[str, str] = {}
        self._taken: set[str] = set()
        self._blocks: dict[str, list[str]] = {}
        self._heads: dict[str, tuple[str, dict[str, object]]] = {}
        self._links: dict[str, dict[str, None]] = {}
        self._relations: dict[str, dict[str, None]] = {}

    def add(self, place: int, line: Json) -> None:
        extracted = line["extracted"]
        subjects = [name for name, kind, _ in extracted.get("mentions", []) if kind != "topic"]
        if line["session_id"] is not None:
            home = self._page("sessions", line["session_id"], {"session": line["session_id"]})
        elif subjects:
            home = self._subject(subjects[0])
        else:
            home = self._page("", "notes", {})
        self._blocks[home].append(_block(place, line))
        for name in subjects:
            page = self._subject(name)
            if page != home and line["kind"] != "session":
                link = f"- [[{home[:-3]}#^{_anchor(line['id'])}|{line['event_at'][:10]}]] {_inline(line['content'])}"
                self._links[page][link] = None
                self._links[home][f"[[{page[:-3]}|{_inline(name)}]]"] = None
        for source, relation, target, _, ended, _ in extracted.get("relations", []):
            other = self._subject(target)
            words = f"- {_inline(relation)} [[{other[:-3]}|{_inline(target)}]]{' (ended)' if ended else ''}"
            self._relations[self._subject(source)][words] = None

    def texts(self) -> dict[str, str]:
        """The text of each file by its path."""
        pages = {page: self._text(page) for page in self._blocks}
        listed = [f"- [[{page[:-3]}|{_inline(self._heads[page][0])}]]" for page in sorted(pages)]
        head = _front_matter({"namespace": self._namespace})
        return {INDEX: "\n".join([*head, f"# {_inline(self._namespace)}", "", *listed, ""]), **pages}

    def _text(self, page: str) -> str:
        title, fields = self._heads[page]
        links = list(self._links[page])
        own = sorted(link for link in links if not link.startswith("- "))
        head = _front_matter(fields | ({"subjects": own} if own else {}))
        parts = [*head, f"# {_inline(title)}", ""]
        if relations := sorted(self._relations[page]):
            parts += ["## Relations", "", *relations, ""]
        if blocks := self._blocks[page]:
            parts += ["## Memories", "", *blocks]
        if others := [link for link in links if link.startswith("- ")][-MAX_LINKED:]:
            parts += ["## Also in", "", *others, ""]
        return "\n".join(parts)

    def _subject(self, name: str) -> str:
        return self._page("subjects", name, {"subject": name})

    def _page(self, folder: str, name: str, fields: dict[str, object]) -> str:
        """The path of a file; names that a file system or a link cannot have, or that exist, get a hash."""
        key = f"{folder}/{name}"
        if key not in self._names:
            safe = _UNSAFE.sub("-", name)[:MAX_FILE_NAME].rstrip(". ")
            path = f"{folder}/{safe}.md".lstrip("/")
            if (folder and safe != name) or _RESERVED.fullmatch(safe) or path.casefold() in self._taken:
                path = f"{folder}/{safe}~{blake2b(name.encode(), digest_size=4).hexdigest()}.md".lstrip("/")
            self._taken.add(path.casefold())
            self._names[key] = path
            self._heads[path] = (name, fields)
            self._blocks[path], self._links[path], self._relations[path] = [], {}, {}
        return self._names[key]


def _front_matter(fields: dict[str, object]) -> list[str]:
    """Lines of YAML; each value is written as JSON, which is YAML too."""
    return [
        "---",
        MARK,
        *(f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in fields.items()),
        "---",
        "",
    ]


def _inline(text: str) -> str:
    """A text on one line of Markdown, without what would end a link."""
    return re.sub(r"[\[\]|`<>]", " ", brief(text))


def _anchor(id: str) -> str:
    return f"m-{blake2b(id.encode(), digest_size=6).hexdigest()}"


def _digest(text: str) -> str:
    return blake2b(text.encode(), digest_size=8).hexdigest()


def _block(place: int, line: Json) -> str:
    """One memory: who and when, its text as a quote, and the rest as a comment that no reader shows."""
    data = {"place": place, "text": _digest(line["content"]), **line}
    parts = []
    if line["kind"] != "session":
        del data["content"]
        who = f"**{_inline(line['speaker'])}** · " if line["speaker"] else ""
        quote = "\n".join(f"> {part}" if part else ">" for part in line["content"].split("\n"))
        parts = [f"{who}{line['event_at'][:16].replace('T', ' ')} UTC", "", quote, "", f"^{_anchor(line['id'])}"]
    text = json.dumps(data, ensure_ascii=False).replace("<", "\\u003c").replace(">", "\\u003e")
    return "\n".join([*parts, f"{_COMMENT}{text}{_END}", ""])


def import_markdown(namespace: Namespace, folder: Path, *, progress: bool = False) -> Report:
    """Read a folder that `export_markdown` wrote: memories are restored as they were, edited texts are updates."""
    report, edited = ReportBuilder(), list[Json]()
    exact: list[Draft] = []
    for line, is_edited in read_folder(folder):
        if is_edited:
            edited.append(line)
        else:
            exact.append(draft_of(line, namespace.name))
    known = namespace.reader.memories.existing_ids([line["id"] for line in edited])
    new = [record_of({name: line[name] for name in RECORD_NAMES if line.get(name) is not None}) for line in edited]
    report.include(restore(namespace, lambda: exact, progress=progress))
    for line, record in zip(edited, new, strict=True):
        if line["id"] in known:
            edit.update(namespace, line["id"], {"content": line["content"]})
            report.notes.append(f"{line['id']} was edited, and is updated")
        else:
            report.include(write_checked(namespace, [record], 1))
    return report.build()


def read_folder(folder: Path) -> Iterator[tuple[Json, bool]]:
    """The memories of an export in the order of writing, as lines of an export, and if their text was edited."""
    if not is_export(folder):
        raise InvalidFile(folder, f"is not an export; it has no {INDEX} that begins with {MARK!r}")
    found: dict[str, tuple[int, Json, bool]] = {}
    for file in _own_files(folder):
        try:
            text = file.read_bytes().decode("utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidFile(file, f"could not be read as UTF-8 text: {error}") from None
        if text.startswith("---\r\n"):
            text = text.replace("\r\n", "\n")
        for number, place, line, is_edited in _memories(file, text.split("\n")):
            id = line.get("id")
            if not isinstance(id, str) or id in found:
                reason = "has no id" if not isinstance(id, str) else f"has the id {id!r}, which another one has too"
                raise InvalidFile(file, f"the memory {reason}", place=f"line {number}")
            found[id] = (place, line, is_edited)
    for _, line, is_edited in sorted(found.values(), key=lambda item: item[0]):
        yield line, is_edited


def _memories(file: Path, lines: Iterable[str]) -> Iterator[tuple[int, int, Json, bool]]:
    quote: list[str] = []
    before = ""
    for number, raw in enumerate(lines, 1):
        if raw.startswith(">"):
            quote = [*(quote if before.startswith(">") else []), raw[2:] if raw.startswith("> ") else raw[1:]]
        elif raw.startswith(_COMMENT) and raw.endswith(_END):
            try:
                data = json.loads(raw[len(_COMMENT) : -len(_END)])
                place, text = int(data.pop("place")), data.pop("text")
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                raise InvalidFile(
                    file, "the comment with the fields of a memory is damaged", place=f"line {number}"
                ) from None
            is_session = "content" in data
            line = {**data, "content": data["content"] if is_session else "\n".join(quote)}
            try:
                draft_of(line, "default")
            except InvalidInput as error:
                raise InvalidFile(file, error, place=f"line {number}") from None
            yield number, place, line, not is_session and _digest(line["content"]) != text
            quote = []
        before = raw
