"""Texts of a source as records that can be stored, whatever they hold."""

from __future__ import annotations

import io
import json
import tempfile
import zipfile
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fivefold
from fivefold.errors import InvalidFile, InvalidInput
from fivefold.transfer.importers import FORMATS, ImportLog, detect_format, read, sources
from fivefold.transfer.importers.sources import (
    JsonStream,
    items,
    open_source_file,
    source_id,
    stored_digest,
    text_records,
)
from fivefold.values.memory import Record
from fivefold.values.validate import visible
from tests.support.exports import BREAD, MOVE, message, packed, write

ANYTHING = st.text(st.characters(), max_size=20)


@given(ANYTHING, ANYTHING, st.lists(ANYTHING, max_size=4), ANYTHING, ANYTHING)
def test_whatever_a_source_holds_can_be_stored(text: str, speaker: str, tags: list[str], key: str, other: str) -> None:
    records = list(
        text_records(
            "chatgpt", (key, other), text, speaker=speaker, session=(key,), tags=tags, title=other, more=[{key: other}]
        )
    )
    assert bool(records) == visible(text.replace("\x00", "\ufffd"))
    for record in records:
        record.content.encode()
        assert stored_digest(record)


@given(st.text(), st.text())
def test_ids_differ_where_their_keys_do(one: str, other: str) -> None:
    if one != other:
        assert source_id("mem0", one) != source_id("mem0", other)


def test_a_very_long_text_is_one_record() -> None:
    text = "\n\n".join(f"paragraph {number} of a very long letter" for number in range(6_000))
    assert [(record.id, record.content) for record in text_records("claude", ("a",), text)] == [("claude:a", text)]


# An archive that expands far beyond what a text can is refused before it fills the machine.

NAME = "conversations.json"


def _packed(path: Path, data: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(NAME, data)
    return path


def test_a_bomb_is_refused_where_it_passes_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "FREE_BYTES", 100_000)
    bomb = _packed(tmp_path / "bomb.zip", b"[" + b" " * 3_000_000 + b"]")
    with pytest.raises(InvalidFile, match="times its packed size; if you trust it, unpack it"):
        list(read(bomb, "claude", log=ImportLog(strict=True)))


def test_a_text_that_packs_well_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "FREE_BYTES", 1_000)
    data = json.dumps([{"text": f"line {number} of the talk"} for number in range(5_000)]).encode()
    with open_source_file(_packed(tmp_path / "talk.zip", data), NAME) as (stream, _):
        assert stream.read() == data


def test_no_file_expands_beyond_the_greatest_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "MAX_EXPANDED", 10_000)
    with (
        pytest.raises(InvalidFile, match="expands to more than"),
        open_source_file(_packed(tmp_path / "large.zip", bytes(range(256)) * 100), NAME) as (stream, _),
    ):
        stream.read()


# JSON arrays read item by item, in whatever chunks they come.

SCALARS = st.none() | st.booleans() | st.integers() | st.text('a]},"\\é😀\n', max_size=6)
OBJECTS = st.lists(
    st.dictionaries(st.sampled_from(["a", "b]", '"{']), SCALARS | st.lists(SCALARS, max_size=3)), max_size=4
)


@given(OBJECTS, st.integers(1, 40), st.sampled_from([None, 2]), st.booleans())
def test_items_are_what_json_reads(written: list[object], size: int, indent: int | None, ascii: bool) -> None:
    text = json.dumps(written, indent=indent, ensure_ascii=ascii)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sources, "CHUNK_BYTES", size)
        assert list(items(io.BytesIO(text.encode("utf-8-sig")), "file")) == written


@given(OBJECTS, st.data())
def test_a_file_that_is_cut_is_never_taken_for_whole(written: list[object], data: st.DataObject) -> None:
    text = json.dumps(written)
    cut = text[: data.draw(st.integers(0, len(text) - 1))]
    with pytest.raises(InvalidInput, match=r"file, .*: .*export it again"):
        list(items(io.BytesIO(cut.encode()), "file"))


def test_one_object_stands_for_a_list_of_one() -> None:
    assert list(items(io.BytesIO(b' {"a": 1} '), "file")) == [{"a": 1}]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b'[{"a": 1} {"b": 2}]', "after item 1: a comma or the end of the list should follow"),
        (b"[3]", "item 1: should be an object"),
        (b'[{"a": 1}] more', "end of the list: something follows it"),
        (b'[{"a": tru}]', "item 1: is not JSON: Expecting value"),
        (b'[{"a": "\xff"}]', "'file' is not UTF-8 text"),
        (b'[{"a":' + b"[" * 100_000, "item 1: is nested too deep"),
        (b'[{"a":' + b"9" * 5_000 + b"}]", "item 1: holds a number that is too long"),
    ],
)
def test_errors_say_where(text: bytes, why: str) -> None:
    with pytest.raises(InvalidInput, match=why):
        list(items(io.BytesIO(text), "file"))


def test_an_item_without_end_is_not_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """A small archive can hold a text of any length."""
    monkeypatch.setattr(sources, "CHUNK_BYTES", 1_000)
    monkeypatch.setattr(sources, "MAX_ITEM", 8_000)
    endless = io.BytesIO(b'[{"a": "' + b"x" * 1_000_000)
    with pytest.raises(InvalidInput, match="file, item 1: is longer than 8,000 characters"):
        list(items(endless, "file"))
    assert endless.tell() < 12_000


VALUES = st.recursive(
    SCALARS | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=12,
)


def whole(stream: JsonStream) -> Any:
    if stream.peek() == "[":
        return [stream.value() for _ in stream.entries()]
    return {name: stream.value() for name in stream.members()} if stream.peek() == "{" else stream.value()


@given(VALUES, st.sampled_from([1, 3, 1 << 20]), st.sampled_from([None, 1]))
def test_what_is_read_in_pieces_is_what_is_read_at_once(value: Any, size: int, indent: int | None) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sources, "CHUNK_BYTES", size)
        assert whole(JsonStream(io.BytesIO(json.dumps(value, indent=indent).encode()), "file")) == value


def test_parts_of_an_object_are_read_one_by_one() -> None:
    stream = JsonStream(io.BytesIO(b'{"a": {"x": [1], "y": []}, "b": [2, 3]}'), "file")
    assert {name: whole(stream) for name in stream.members()} == {"a": {"x": [1], "y": []}, "b": [2, 3]}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[1, 2", "after item 2: a comma or the end of the list should follow"),
        ('{"a" 1}', "after name 'a': a colon should follow"),
        ("{1: 2}", "name 1: should be a text"),
        ("[nonsense]", "is not JSON: Expecting value"),
        ('["open', "is not JSON: Unterminated string"),
    ],
)
def test_errors_of_an_object_say_where(text: str, why: str) -> None:
    with pytest.raises(InvalidInput, match=why):
        whole(JsonStream(io.BytesIO(text.encode()), "file"))


# Whatever stands where something else should, reading ends in records or in plain words, never in another error.

SOURCES: list[Any] = [
    [BREAD],
    [MOVE],
    {"results": [{"id": "m-1", "memory": "Likes hiking", "user_id": "alex", "created_at": "2024-07-01T12:00:00Z"}]},
    [message("human", "What grows here?", id="h"), message("ai", [{"type": "text", "text": "Ferns"}, "and moss"])],
    {"s": [message("chat", "hm", role="gardener")]},
]
RUBBISH_ANYTHING: st.SearchStrategy[object] = st.sampled_from(
    [None, True, 7, -1e99, float("nan"), "", "x\x00\ud800", "2024-13-01", [], [1], {}, {"a": {}}]
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place within a document."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, item in inner for place in places(item, (*path, key)))]


def spoilt(document: Any, path: tuple[Any, ...], value: object) -> Any:
    if not path:
        return value
    copy = deepcopy(document)
    here = copy
    for key in path[:-1]:
        here = here[key]
    here[path[-1]] = value
    return copy


@given(st.data())
def test_a_spoilt_value_is_never_more_than_a_plain_error(data: st.DataObject) -> None:
    document = data.draw(st.sampled_from(SOURCES))
    changed = spoilt(document, data.draw(st.sampled_from(places(document))), data.draw(RUBBISH_ANYTHING))
    format = data.draw(st.sampled_from(["auto", *FORMATS]))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "conversations.json"
        path.write_text(json.dumps(changed), "utf-8")
        log = ImportLog(strict=data.draw(st.booleans()))
        try:
            found = list(read(path, format, log=log))
        except InvalidInput:
            return
        assert all(isinstance(record, Record) and record.id for record in found)


@given(st.binary(max_size=60), st.sampled_from(["auto", *FORMATS]), st.sampled_from(["f", "f.md", "f.zip", "f.json"]))
def test_bytes_of_any_kind_are_never_more_than_a_plain_error(raw: bytes, format: str, name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(raw)
        said = ""
        try:
            list(read(path, format))
        except InvalidInput as error:
            said = str(error)
        assert not said or name in said


def test_the_whole_documents_are_read(tmp_path: Path) -> None:
    """Else the tests above would prove nothing."""
    assert [len(list(read(write(tmp_path / "conversations.json", source)))) for source in SOURCES] == [4, 3, 1, 2, 1]


# What a file is taken for, and what is said when it is nothing that is known.


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
