"""JSON arrays read item by item, in whatever chunks they come."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fivefold.errors import InvalidInput
from fivefold.transfer.importers import sources as arrays
from fivefold.transfer.importers.sources import items

SCALARS = st.none() | st.booleans() | st.integers() | st.text('a]},"\\é😀\n', max_size=6)
OBJECTS = st.lists(
    st.dictionaries(st.sampled_from(["a", "b]", '"{']), SCALARS | st.lists(SCALARS, max_size=3)), max_size=4
)


@settings(max_examples=60, deadline=None)
@given(OBJECTS, st.integers(1, 40), st.sampled_from([None, 2]), st.booleans())
def test_items_are_what_json_reads(written: list[object], size: int, indent: int | None, ascii: bool) -> None:
    text = json.dumps(written, indent=indent, ensure_ascii=ascii)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrays, "CHUNK", size)
        assert list(items(io.BytesIO(text.encode("utf-8-sig")), "file")) == written


@settings(max_examples=60, deadline=None)
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
    monkeypatch.setattr(arrays, "CHUNK", 1_000)
    monkeypatch.setattr(arrays, "MOST", 8_000)
    endless = io.BytesIO(b'[{"a": "' + b"x" * 1_000_000)
    with pytest.raises(InvalidInput, match="file, item 1: is longer than 8,000 characters"):
        list(items(endless, "file"))
    assert endless.tell() < 12_000
