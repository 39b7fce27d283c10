"""A JSON file read in pieces gives what is read at once, and its faults are named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fivefold.errors import InvalidInput
from fivefold_bench import reading as json_stream
from fivefold_bench.reading import JsonStream

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=12,
)


def streamed(tmp: Path, text: str | bytes) -> Any:
    """All that a stream gives, whichever way its top is read."""
    path = tmp / "some.json"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    with json_stream.json_stream(path) as stream:
        return whole(stream)


def whole(stream: JsonStream) -> Any:
    if stream.peek() == "[":
        return list(stream.entries())
    if stream.peek() == "{":
        return {name: stream.value() for name in stream.members()}
    return stream.value()


@pytest.mark.parametrize("chunk", [1, 3, 1 << 20])
def test_what_is_read_in_pieces_is_what_is_read_at_once(
    chunk: int, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_stream, "CHUNK", chunk)
    tmp = tmp_path_factory.mktemp("stream")

    @given(values, st.sampled_from([None, 1]))
    def check(value: Any, indent: int | None) -> None:
        assert streamed(tmp, json.dumps(value, indent=indent)) == value

    check()


def test_a_byte_order_mark_and_other_scripts_are_read(tmp_path: Path) -> None:
    assert streamed(tmp_path, b"\xef\xbb\xbf" + '["蜂", "é"]'.encode()) == ["蜂", "é"]


def test_parts_of_an_object_are_read_one_by_one(tmp_path: Path) -> None:
    path = tmp_path / "some.json"
    path.write_text('{"a": {"x": [1], "y": []}, "b": [2, 3]}', "utf-8")
    with json_stream.json_stream(path) as stream:
        assert {name: whole(stream) for name in stream.members()} == {"a": {"x": [1], "y": []}, "b": [2, 3]}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "some.json is empty"),
        (" \n", "some.json is empty"),
        ("[1, 2", "']' is missing|',' is missing before 'the end'"),
        ("[1 2]", "',' is missing before '2'"),
        ('{"a" 1}', "':' is missing before '1'"),
        ("{1: 2}", "a name must be text, not a number"),
        ("[nonsense]", "not JSON, Expecting value"),
        ('["open', "not JSON, Unterminated string"),
        (b'["\xff"]', "not UTF-8 text, invalid start byte"),
    ],
)
def test_what_is_no_json_is_said(tmp_path: Path, text: str | bytes, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        streamed(tmp_path, text)
