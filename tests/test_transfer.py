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
        ('{"content": "x", "kind": "dream"}', "line 2: kind 'dream' is unknown"),
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


def test_statements_that_ended_stay_ended_after_an_import(engine: Engine, tmp_path: Path) -> None:
    for year, town in ((2023, "Leeds"), (2024, "Bristol"), (2025, "Paris")):
        engine.remember(f"I live in {town}", id=town, event_at=f"{year}-01-01T00:00:00Z")
    path = tmp_path / "x.jsonl"
    engine.export(path)
    with fivefold.open(":memory:") as copy:
        copy.import_(path)
        report = copy.remember("I live in Rome", event_at="2026-01-01T00:00:00Z")
        assert [link.target for link in report.superseded] == ["Paris"]
        assert copy.get("Leeds").superseded_by == "Bristol"


def test_links_come_back_with_their_reasons(engine: Engine, tmp_path: Path) -> None:
    engine.remember("yes, please", id="one", session_id="s")
    engine.remember("yes, please", id="two", session_id="s")
    path, again = tmp_path / "x.jsonl", tmp_path / "y.jsonl"
    engine.export(path)
    assert '"links": [["equal", "one", "says the same as an earlier turn"]]' in path.read_text("utf-8")
    with fivefold.open(":memory:") as copy:
        copy.import_(path)
        copy.export(again)
    assert sorted(path.read_text("utf-8").splitlines()) == sorted(again.read_text("utf-8").splitlines())


EXPORTED = {
    "id": "a", "content": "x y z", "kind": "note", "type": "fact", "event_at": "2025-01-01T00:00:00Z",
    "created_at": "2025-01-01T00:00:00Z", "extracted": {},
}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"kind": "dream"}, "kind 'dream' is unknown"),
        ({"kind": "turn"}, "session_id is missing"),
        ({"kind": "session"}, "session_id is missing"),
        ({"seen_count": "x"}, "seen_count must be a whole number"),
        ({"access_count": -1}, "access_count must be a whole number"),
        ({"event_at": None}, "event_at is missing"),
        ({"id": None}, "id is missing"),
        ({"created_at": None}, "created_at is missing"),
        ({"created_at": "then"}, "created_at 'then'"),
        ({"extracted": 5}, "extracted must be an object"),
        ({"extracted": {"mentions": [1]}}, "extracted cannot be read"),
        ({"links": [["owns", "b", ""]]}, "a link's relation"),
        ({"links": 3}, "links must be a list"),
    ],
)
def test_a_damaged_exported_line_is_named(engine: Engine, tmp_path: Path, change: dict[str, object], said: str) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text(json.dumps({**EXPORTED, **change}) + "\n", "utf-8")
    with pytest.raises(fivefold.InvalidInput, match=f"line 1: {said}"):
        engine.import_(path)
    assert engine.stats().memories == 0


def test_a_line_of_ones_own_may_carry_an_id(engine: Engine, tmp_path: Path) -> None:
    path = tmp_path / "own.jsonl"
    path.write_text('{"id": "mine", "content": "own line"}\n', "utf-8")
    assert engine.import_(path).stored == ("mine",)


def test_exporting_onto_a_folder_leaves_nothing_behind(engine: Engine, tmp_path: Path) -> None:
    engine.remember("something")
    (tmp_path / "folder").mkdir()
    with pytest.raises(fivefold.StoreError, match="could not be written"):
        engine.export(tmp_path / "folder")
    assert not list(tmp_path.glob(".*.part"))
