"""What a file is taken for, and what is said when it is nothing that is known."""

from __future__ import annotations

from pathlib import Path

import pytest

import fivefold
from fivefold.errors import InvalidInput
from fivefold.transfer.importers import detect_format, read
from tests.support.exports import BREAD, MOVE, packed, write


@pytest.mark.parametrize(
    ("text", "format"),
    [
        ('{"content": "one"}\n{"content": "two"}\n', "jsonl"),
        ('\ufeff{"content": "one"}', "jsonl"),
        ('{"contnt": "a slip of the pen"}', "jsonl"),
        ("", "jsonl"),
        ('{"broken": ', "jsonl"),
        ('{\n  "results": [{"id": "a", "memory": "b"}]\n}', "mem0"),
        ('{"mapping": {}}', "chatgpt"),
        ('[\n{"uuid": "x", "chat_messages": []}]', "claude"),
    ],
)
def test_files_are_known_by_what_stands_in_them(text: str, format: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text(text, "utf-8")
    assert detect_format(path) == format


def a_store(path: Path) -> None:
    with fivefold.open(path, embedder="wordllama") as mem:
        mem.remember("something")


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (lambda path: path.write_bytes(b"\x89PNG\r\n\x00"), "is neither text nor an archive nor a SQLite file"),
        (lambda path: path.write_text("just words"), "holds neither JSON nor JSON lines; name its format with format="),
        (lambda path: path.write_text("[1, 2]"), "item 1: should be an object"),
        (lambda path: path.write_text('[{"content": "one"}]'), "JSON lines have one object a line, not a list"),
        (lambda path: path.write_text("[]"), "is not a known list of conversations, messages or memories"),
        (lambda path: path.mkdir(), "is a folder; name a file of JSON lines, or a folder with conversations.json"),
        (lambda path: packed(path, users=[]), "is an archive without conversations.json; unpack it"),
        (a_store, "is a store of fivefold; copy it with migrate"),
        (lambda path: path.write_bytes(b"SQLite format 3\x00" + b"\x01" * 200), "could not be read as a SQLite file"),
        (lambda path: None, "does not exist; name the file to import"),
    ],
)
def test_what_is_not_known_is_said(made: object, why: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    assert callable(made)
    made(path)
    with pytest.raises(InvalidInput, match=why):
        list(read(path))


def test_a_damaged_archive_is_said(tmp_path: Path) -> None:
    path = packed(tmp_path / "export.zip", conversations=[BREAD])
    raw = bytearray(path.read_bytes())
    at = raw.index(b"Bertha")
    raw[at : at + 6] = b"Martha"
    path.write_bytes(raw)
    with pytest.raises(InvalidInput, match="is a damaged or locked archive: Bad CRC-32"):
        list(read(path, "chatgpt"))


def test_the_wrong_format_is_said(tmp_path: Path) -> None:
    path = write(tmp_path / "conversations.json", [MOVE])
    with pytest.raises(InvalidInput, match="conversation 1: the conversation's id should be a text; it is missing"):
        list(read(path, "chatgpt", strict=True))
    with pytest.raises(InvalidInput, match="format 'word' is unknown; it is auto or one of chatgpt, claude"):
        list(read(path, "word"))
    with pytest.raises(InvalidInput, match="is a folder; name a file of jsonl"):
        list(read(tmp_path, "jsonl"))
