"""Export and import: everything comes back, nothing comes twice, bad lines change nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import fivefold
from fivefold import sample
from fivefold.engine import Engine


def test_an_export_comes_back_as_it_was(sample_engine: Engine, tmp_path: Path) -> None:
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    count = sample_engine.export(first)
    assert count == sample_engine.stats().memories
    with fivefold.open(tmp_path / "copy.db") as copy:
        report = copy.import_(first)
        assert len(report.stored) == count
        copy.export(second)
        lines = [sorted(path.read_text("utf-8").splitlines()) for path in (first, second)]
        assert lines[0] == lines[1]
        assert all(finding.ok for finding in copy.doctor())
        for question in sample.questions()[:8]:
            here = sample_engine.recall(question.query, now=question.now)
            there = copy.recall(question.query, now=question.now)
            assert [hit.memory.id for hit in here] == [hit.memory.id for hit in there]
        again = copy.import_(first)
        assert (again.stored, len(again.merged)) == ((), count)


def test_plain_lines_are_remembered_and_a_replay_adds_nothing(engine: Engine, tmp_path: Path) -> None:
    path = tmp_path / "plain.jsonl"
    lines = [
        {"content": "yes", "session_id": "s", "speaker": "user"},
        {"content": "yes", "session_id": "s", "speaker": "user"},
        {"content": "I prefer tea"},
    ]
    path.write_text("\n".join(map(json.dumps, lines)) + "\n\n", "utf-8")
    assert len(engine.import_(path).stored) == 3
    assert len(engine.import_(path).merged) == 3
    assert engine.stats().by_kind == {"note": 1, "session": 1, "turn": 2}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{not json", "line 2: not JSON"),
        ("[1, 2]", "line 2: a line must be an object"),
        ('{"content": ""}', "line 2: content is empty"),
        ('{"content": "x", "colour": "red"}', "line 2: unknown field 'colour'"),
        ('{"content": "x", "event_at": "soon"}', "line 2: event_at 'soon'"),
        (
            '{"id": "a", "content": "x", "created_at": "2025-01-01T00:00:00Z", "kind": "dream"}',
            "line 2: kind is one of",
        ),
    ],
)
def test_a_bad_line_is_named_and_nothing_is_stored(engine: Engine, tmp_path: Path, line: str, said: str) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text('{"content": "a good line"}\n' + line + "\n", "utf-8")
    with pytest.raises(fivefold.InvalidInput, match=said.replace("[", r"\[")):
        engine.import_(path)
    assert engine.stats().memories == 0


def test_a_missing_or_binary_file_is_a_clear_error(engine: Engine, tmp_path: Path) -> None:
    with pytest.raises(fivefold.InvalidInput, match="could not be read"):
        engine.import_(tmp_path / "nowhere.jsonl")
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00\x01")
    with pytest.raises(fivefold.InvalidInput, match="not UTF-8"):
        engine.import_(tmp_path / "binary")


def test_an_export_that_cannot_be_written_leaves_no_half_file(engine: Engine, tmp_path: Path) -> None:
    engine.remember("something")
    with pytest.raises(fivefold.StoreError, match="could not be written"):
        engine.export(tmp_path / "no-folder" / "x.jsonl")
    target = tmp_path / "kept.jsonl"
    target.write_text("old", "utf-8")
    engine.export(target)
    assert json.loads(target.read_text("utf-8"))["content"] == "something"
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".part"] == []


def test_exported_times_and_feedback_survive(engine: Engine, tmp_path: Path) -> None:
    id = engine.remember("The key is under the fern", event_at="1969-07-20T20:17:00Z").id
    answer = engine.recall("key")
    engine.used(answer, [id])
    path = tmp_path / "x.jsonl"
    engine.export(path)
    with fivefold.open(":memory:") as copy:
        copy.import_(path)
        assert copy.get(id) == engine.get(id)
