"""Anyone's data as JSON lines: what is read, and how plainly each fault is told."""

from __future__ import annotations

import gzip
import json
import lzma
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import fivefold
from fivefold import InvalidInput
from fivefold_bench import jsonl

Given = list[dict[str, Any]] | str | bytes | None

MEMORIES: list[dict[str, Any]] = [
    {"id": "m1", "namespace": "ada", "content": "The kiln is fired on Fridays", "speaker": "Ada", "session_id": "s1"},
    {
        "id": "m2",
        "namespace": "ada",
        "content": "Which glaze?",
        "speaker": "user",
        "session_id": "s2",
        "event_at": "2024-03-01T09:00:00+01:00",
        "type": "fact",
        "tags": ["pottery"],
    },
    {"id": "m1", "namespace": "bo", "user_text": "Any news?", "assistant_text": "The ferry is late"},
]
QUERIES: list[dict[str, Any]] = [
    {
        "id": "q1",
        "namespace": "ada",
        "query": "When is the kiln fired?",
        "relevant": ["m1", "m1"],
        "category": "when",
        "now": "2024-04-01T00:00:00Z",
        "history": ["We spoke of pots"],
    },
    {"id": "q2", "namespace": "bo", "query": "Is the ferry late?", "relevant": ["m1"]},
]


def written(folder: Path, memories: Given = MEMORIES, queries: Given = QUERIES) -> Path:
    """A folder with both files; a list becomes lines, text and bytes stand as they are."""
    for name, given in (("memories", memories), ("queries", queries)):
        if given is not None:
            whole = "".join(json.dumps(line) + "\n" for line in given) if isinstance(given, list) else given
            (folder / f"{name}.jsonl").write_bytes(whole.encode() if isinstance(whole, str) else whole)
    return folder


def test_memories_and_queries_are_read(tmp_path: Path) -> None:
    data = jsonl.load(written(tmp_path))
    assert (data.name, data.unit, data.notes) == (tmp_path.name, "turn", ())
    assert {namespace: [record.id for record in records] for namespace, records in data.memories.items()} == {
        "ada": ["m1", "m2"],
        "bo": ["m1"],
    }
    second = data.memories["ada"][1]
    assert second.event_at == datetime(2024, 3, 1, 8, tzinfo=UTC)
    assert (second.type, second.tags) == ("fact", ("pottery",))
    first, other = data.questions
    assert (first.relevant, first.category, first.history) == (("m1",), "when", ("We spoke of pots",))
    assert first.now == datetime(2024, 4, 1, tzinfo=UTC)
    assert (other.category, other.now, other.namespace) == ("all", None, "bo")


def test_the_plain_texts_carry_people_and_not_roles(tmp_path: Path) -> None:
    assert jsonl.load(written(tmp_path)).plain == {
        "ada": [("m1", "Ada: The kiln is fired on Fridays"), ("m2", "Which glaze?")],
        "bo": [("m1", "Any news?\nThe ferry is late")],
    }


def test_session_ids_make_the_unit_a_session(tmp_path: Path) -> None:
    queries = [{**QUERIES[0], "relevant": ["s1", "s2"]}]
    data = jsonl.load(written(tmp_path, queries=queries))
    assert (data.unit, data.questions[0].relevant) == ("session", ("s1", "s2"))
    assert [id for id, _ in data.plain["ada"]] == ["s1", "s2"]
    assert data.plain["bo"] == []


def test_an_id_that_is_both_counts_as_a_memory_unless_told(tmp_path: Path) -> None:
    memories = [{"id": "x", "namespace": "n", "content": "a boat", "session_id": "x"}]
    queries = [{"id": "q", "namespace": "n", "query": "what?", "relevant": ["x"]}]
    folder = written(tmp_path, memories, queries)
    assert [jsonl.load(folder, unit).unit for unit in (None, "turn", "session")] == ["turn", "turn", "session"]
    with pytest.raises(InvalidInput, match="unit 'page' is unknown; it is one of turn, session"):
        jsonl.load(folder, "page")  # type: ignore[arg-type]


def test_packed_files_blank_lines_and_a_byte_order_mark_are_read(tmp_path: Path) -> None:
    plain = jsonl.load(written(tmp_path))
    for name in ("memories", "queries"):
        path = tmp_path / f"{name}.jsonl"
        (tmp_path / f"{name}.jsonl.gz").write_bytes(gzip.compress(b"\xef\xbb\xbf\n\n" + path.read_bytes()))
        path.unlink()
    assert jsonl.load(str(tmp_path)) == plain


def test_files_packed_by_xz_are_read_and_a_broken_one_is_said(tmp_path: Path) -> None:
    plain = jsonl.load(written(tmp_path))
    path, packed = tmp_path / "memories.jsonl", tmp_path / "memories.jsonl.xz"
    packed.write_bytes(lzma.compress(path.read_bytes()))
    path.unlink()
    assert jsonl.load(tmp_path) == plain
    packed.write_bytes(packed.read_bytes()[:-9])
    with pytest.raises(InvalidInput, match=r"memories.jsonl.xz is not a sound xz file: .*; pack it again"):
        jsonl.load(tmp_path)


def test_a_time_without_a_zone_is_noted(tmp_path: Path) -> None:
    memories = [{**MEMORIES[0], "event_at": "2024-03-01T09:00"}, MEMORIES[2]]
    assert jsonl.load(written(tmp_path, memories)).notes == ("memories whose time had no zone and was taken as UTC: 1",)


def test_what_is_read_can_be_remembered(tmp_path: Path) -> None:
    data = jsonl.load(written(tmp_path))
    with fivefold.open(tmp_path / "m.db", namespace="ada") as engine:
        assert engine.remember_many(data.memories["ada"]).stored == ("m1", "m2")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"id": None}, "field id: is missing"),
        ({"id": 7}, "field id: must be text, not int"),
        ({"id": " "}, "field id: is empty; give it"),
        ({"id": "m1"}, "field id: 'm1' is already on an earlier line of this namespace"),
        ({"namespace": None}, "field namespace: is missing"),
        ({"namespace": ["ada"]}, "field namespace: must be text, not list"),
        ({"content": None}, "field content: is empty; say something to remember"),
        ({"content": ""}, "field content: is empty"),
        ({"content": 3.5}, "field content: must be text, not float"),
        ({"content": "half \ud800"}, "field content: holds half a surrogate pair"),
        ({"event_at": "next week"}, "field event_at: 'next week' is not"),
        ({"event_at": 1700000000}, "field event_at: must be a datetime"),
        ({"type": "dream"}, "field type: 'dream' is unknown; it is one of fact, "),
        ({"tags": "pottery"}, "field tags: must be a list of short texts"),
        ({"speaker": "A\nB"}, "field speaker: 'A\\nB' holds a line break"),
        ({"colour": "red"}, "field colour: is unknown; known are id, namespace, content, "),
    ],
)
def test_a_bad_memory_is_told_by_line_and_field(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    third = {"id": "m3", "namespace": "ada", "content": "tea", **change}
    with pytest.raises(InvalidInput) as caught:
        jsonl.load(written(tmp_path, [*MEMORIES[:2], third]))
    assert str(caught.value).startswith(f"memories.jsonl line 3, {said}")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"id": "q1"}, "field id: 'q1' is already on an earlier line"),
        ({"id": None}, "field id: is missing"),
        ({"namespace": "cy"}, "field namespace: 'cy' holds no memories"),
        ({"query": None}, "field query: is missing"),
        ({"query": "\u200b"}, "field query: is empty"),
        ({"relevant": None}, "field relevant: is missing"),
        ({"relevant": []}, "field relevant: is empty; name what answers the question"),
        ({"relevant": "m1"}, "field relevant: must be a list, not text"),
        ({"relevant": [True]}, "field relevant: must be text, not bool"),
        ({"relevant": ["m2"]}, "field relevant: 'm2' is not a known memory or session id of namespace 'bo'"),
        ({"namespace": "ada", "relevant": ["s1"]}, "field relevant: names memories in one place and sessions in"),
        ({"now": "soon"}, "field now: 'soon' is not an ISO 8601 time"),
        ({"history": "earlier"}, "field history: must be a list of earlier turns"),
        ({"category": {}}, "field category: must be text, not dict"),
        ({"answer": "yes"}, "field answer: is unknown; known are id, namespace, query, relevant, category, now"),
    ],
)
def test_a_bad_query_is_told_by_line_and_field(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        jsonl.load(written(tmp_path, queries=[QUERIES[0], {**QUERIES[1], **change}]))
    assert str(caught.value).startswith(f"queries.jsonl line 2, {said}")


def test_a_unit_that_was_asked_for_must_fit(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"queries.jsonl line 1, field relevant: 'm1' is not a known session id"):
        jsonl.load(written(tmp_path), "session")


@pytest.mark.parametrize(
    ("memories", "said"),
    [
        ('{"id": "a"', "memories.jsonl line 1: not JSON, Expecting ',' delimiter at column 11"),
        ("7\n", "memories.jsonl line 1: must be an object with named fields, not a number"),
        ("null\n", "memories.jsonl line 1: must be an object with named fields, not null"),
        ("[]\n", "memories.jsonl line 1: the file is a JSON list; write one object a line instead"),
        ("\n" + "[" * 100_000, "memories.jsonl line 2: its values are nested too deep"),
        ("\n" + "9" * 10_000, "memories.jsonl line 2: not JSON, "),
        (b'{"id": "\xff"}', "memories.jsonl line 1: not UTF-8 text, invalid start byte at byte 8"),
        (" \n\n", "memories.jsonl is empty; write one object a line"),
        ("", "memories.jsonl is empty; write one object a line"),
    ],
)
def test_lines_that_are_no_objects_are_named(tmp_path: Path, memories: str | bytes, said: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        jsonl.load(written(tmp_path, memories))
    assert str(caught.value).startswith(said)


def test_a_missing_folder_or_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"nowhere does not exist; give the folder that holds memories.jsonl and"):
        jsonl.load(tmp_path / "nowhere")
    with pytest.raises(InvalidInput, match=r"holds neither memories.jsonl, memories.jsonl.gz nor memories.jsonl.xz"):
        jsonl.load(tmp_path)
    written(tmp_path, queries=None)
    with pytest.raises(InvalidInput, match=r"holds neither queries.jsonl, queries.jsonl.gz nor queries.jsonl.xz"):
        jsonl.load(tmp_path)
    with pytest.raises(InvalidInput, match="is a file, not a folder"):
        jsonl.load(tmp_path / "memories.jsonl")
    (tmp_path / "memories.jsonl.gz").write_bytes(gzip.compress(b"{}"))
    with pytest.raises(InvalidInput, match=r"holds both memories.jsonl and memories.jsonl.gz; keep one"):
        jsonl.load(tmp_path)


def test_a_folder_in_place_of_a_file_is_named(tmp_path: Path) -> None:
    written(tmp_path, None)
    (tmp_path / "memories.jsonl").mkdir()
    with pytest.raises(InvalidInput, match=r"memories.jsonl is a folder; give the file itself"):
        jsonl.load(tmp_path)


def packed() -> bytes:
    return gzip.compress("\n".join(map(json.dumps, MEMORIES)).encode())


@pytest.mark.parametrize("broken", [b"plain text", packed()[:-12], packed()[:20] + b"\xff" * 9 + packed()[29:]])
def test_a_broken_gzip_file_is_named(tmp_path: Path, broken: bytes) -> None:
    written(tmp_path, None)
    (tmp_path / "memories.jsonl.gz").write_bytes(broken)
    with pytest.raises(InvalidInput, match=r"memories.jsonl.gz is not a sound gzip file: .+; pack it again"):
        jsonl.load(tmp_path)
