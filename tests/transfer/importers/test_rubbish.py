"""Whatever stands where something else should, reading ends in records or in plain words, never in another error."""

from __future__ import annotations

import json
import tempfile
from copy import deepcopy
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from fivefold.errors import InvalidInput
from fivefold.transfer.importers import FORMATS, ImportLog, read
from fivefold.values.memory import Record
from tests.support.exports import BREAD, MOVE, message, write

SOURCES: list[Any] = [
    [BREAD],
    [MOVE],
    {"results": [{"id": "m-1", "memory": "Likes hiking", "user_id": "alex", "created_at": "2024-07-01T12:00:00Z"}]},
    [message("human", "What grows here?", id="h"), message("ai", [{"type": "text", "text": "Ferns"}, "and moss"])],
    {"s": [message("chat", "hm", role="gardener")]},
]
ANYTHING: st.SearchStrategy[object] = st.sampled_from(
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


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_a_spoilt_value_is_never_more_than_a_plain_error(data: st.DataObject) -> None:
    document = data.draw(st.sampled_from(SOURCES))
    changed = spoilt(document, data.draw(st.sampled_from(places(document))), data.draw(ANYTHING))
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


@settings(max_examples=60, deadline=None)
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
