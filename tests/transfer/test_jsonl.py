"""Export and import: everything comes back, nothing comes twice, bad lines change nothing."""

from __future__ import annotations

import json
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

import fivefold
from fivefold import sample
from fivefold.engine import Engine
from fivefold.errors import InvalidInput
from fivefold.transfer.jsonl import read_lines
from fivefold.values.memory import Memory, Record
from fivefold.values.reports import Report
from fivefold.writing import pipeline
from tests.conformance.recipes import steady
from tests.support.toy_engine import toy


@pytest.mark.slow
def test_an_export_comes_back_as_it_was(sample_engine: Engine, tmp_path: Path) -> None:
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    count = sample_engine.export_jsonl(first)
    assert count == sample_engine.stats().memories
    with fivefold.open(tmp_path / "copy.db") as copy:
        report = copy.import_jsonl(first)
        assert len(report.stored) == count
        copy.export_jsonl(second)
        lines = [sorted(path.read_text("utf-8").splitlines()) for path in (first, second)]
        assert lines[0] == lines[1]
        assert all(finding.ok for finding in copy.doctor())
        for question in sample.questions()[:8]:
            here = sample_engine.recall(question.query, recipe=steady("default"), now=question.now)
            there = copy.recall(question.query, recipe=steady("default"), now=question.now)
            assert [hit.memory.id for hit in here] == [hit.memory.id for hit in there]
        again = copy.import_jsonl(first)
        assert (again.stored, len(again.merged)) == ((), count)


def test_plain_lines_are_remembered_and_a_replay_adds_nothing(engine: Engine, tmp_path: Path) -> None:
    path = tmp_path / "plain.jsonl"
    lines = [
        {"content": "yes", "session_id": "s", "speaker": "user"},
        {"content": "yes", "session_id": "s", "speaker": "user"},
        {"content": "I prefer tea"},
    ]
    path.write_text("\n".join(map(json.dumps, lines)) + "\n\n", "utf-8")
    assert len(engine.import_jsonl(path).stored) == 3
    assert len(engine.import_jsonl(path).merged) == 3
    assert engine.stats().by_kind == {"note": 1, "session": 1, "turn": 2}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{not json", "line 2: not JSON"),
        ("[1, 2]", "line 2: a line must be an object"),
        ("null", "line 2: a line must be an object"),
        ("[" * 100_000, "line 2: its values are nested more than 100 levels deep"),
        ('{"content": "x", "metadata": {"a": ' + "[" * 910 + "]" * 910 + "}}", "line 2: its values are nested"),
        ('{"content": "x \\ud800"}', "line 2: content holds half a surrogate pair"),
        ('{"content": "x", "event_at": "2025-01-01\\ud80010:00"}', "line 2: a value holds half a surrogate pair"),
        ('{"content": "x", "metadata": {"a": "\\ud800"}}', "line 2: metadata holds half a surrogate pair"),
        ('{"content": ""}', "line 2: content is empty"),
        ('{"content": "x", "colour": "red"}', "line 2: unknown field 'colour'; a record has assistant_text, "),
        ('{"contents": "x"}', r"line 2: unknown field 'contents'; did you mean 'content'\?"),
        ('{"content": "x", "event_at": "soon"}', "line 2: event_at 'soon'"),
        ('{"content": "x", "kind": "dream"}', "line 2: kind 'dream' is unknown"),
    ],
)
def test_a_bad_line_is_named_and_nothing_is_stored(engine: Engine, tmp_path: Path, line: str, said: str) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text('{"content": "a good line"}\n' + line + "\n", "utf-8")
    with pytest.raises(fivefold.InvalidInput, match=said.replace("[", r"\[")):
        engine.import_jsonl(path)
    assert engine.stats().memories == 0


def test_a_missing_or_binary_file_is_a_clear_error(engine: Engine, tmp_path: Path) -> None:
    with pytest.raises(fivefold.InvalidInput, match="could not be read"):
        engine.import_jsonl(tmp_path / "nowhere.jsonl")
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00\x01")
    with pytest.raises(fivefold.InvalidInput, match="not UTF-8"):
        engine.import_jsonl(tmp_path / "binary")


def test_an_export_that_cannot_be_written_leaves_no_half_file(engine: Engine, tmp_path: Path) -> None:
    engine.remember("something")
    with pytest.raises(fivefold.StoreError, match="could not be written"):
        engine.export_jsonl(tmp_path / "no-folder" / "x.jsonl")
    target = tmp_path / "kept.jsonl"
    target.write_text("old", "utf-8")
    engine.export_jsonl(target)
    assert json.loads(target.read_text("utf-8"))["content"] == "something"
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".part"] == []


def test_exported_times_and_feedback_survive(engine: Engine, tmp_path: Path) -> None:
    id = engine.remember("The key is under the fern", event_at="1969-07-20T20:17:00Z").id
    answer = engine.recall("key")
    engine.feedback(answer, used=[id])
    path = tmp_path / "x.jsonl"
    engine.export_jsonl(path)
    with fivefold.open(":memory:") as copy:
        copy.import_jsonl(path)
        assert copy.get(id) == engine.get(id)


def test_statements_that_ended_stay_ended_after_an_import(engine: Engine, tmp_path: Path) -> None:
    for year, town in ((2023, "Leeds"), (2024, "Bristol"), (2025, "Paris")):
        engine.remember(f"I live in {town}", id=town, event_at=f"{year}-01-01T00:00:00Z")
    path = tmp_path / "x.jsonl"
    engine.export_jsonl(path)
    with fivefold.open(":memory:") as copy:
        copy.import_jsonl(path)
        report = copy.remember("I live in Rome", event_at="2026-01-01T00:00:00Z")
        assert [link.target for link in report.superseded] == ["Paris"]
        assert copy.get("Leeds").superseded_by == "Bristol"


def test_a_session_of_both_sides_keeps_one_memory_that_follows_its_turns(store_path: str, tmp_path: Path) -> None:
    """Two memories of one session would keep the text of a turn that is forgotten later."""
    with toy(store_path, "source") as source, toy(store_path, "target") as target:
        source.remember("a heron stood there", id="far", session_id="s")
        target.remember("the kettle is red", id="near", session_id="s")
        source.export_jsonl(tmp_path / "out.jsonl")
        for stored in (("far",), ()):
            assert target.import_jsonl(tmp_path / "out.jsonl").stored == stored
        (own,) = target.memories(kind="session")
        assert sorted(own.content.splitlines()) == ["a heron stood there", "the kettle is red"]
        assert (target.stats().sessions, len(target.turns("s"))) == (1, 2)
        target.forget("far")
        (own,) = target.memories(kind="session")
        assert own.content == "the kettle is red"
        assert not target.memories(text="heron", kind="session")
        assert all(finding.ok for finding in target.doctor())


def test_links_come_back_with_their_reasons(engine: Engine, tmp_path: Path) -> None:
    engine.remember("yes, please", id="one", session_id="s")
    engine.remember("yes, please", id="two", session_id="s")
    assert_comes_back(engine, tmp_path)
    exported = (tmp_path / "first.jsonl").read_text("utf-8")
    assert '"links": [["equal", "one", "says the same as an earlier turn"]]' in exported


EXPORTED = {
    "id": "a",
    "content": "x y z",
    "kind": "note",
    "type": "fact",
    "event_at": "2025-01-01T00:00:00Z",
    "created_at": "2025-01-01T00:00:00Z",
    "extracted": {},
}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"kind": "dream"}, "kind 'dream' is unknown"),
        ({"kind": "turn"}, "session_id is missing"),
        ({"kind": "session"}, "session_id is missing"),
        ({"type": 3}, "type 3 is unknown"),
        ({"content": None}, "content is missing"),
        ({"content": "\ud800"}, "content holds half a surrogate"),
        ({"predicate": "a\x00b"}, "predicate holds a NUL"),
        ({"speaker": ""}, "speaker is empty"),
        ({"turn_index": 2**31}, "turn_index must be a whole number"),
        ({"tags": [1]}, r"tags\[0\] must be text"),
        ({"metadata": []}, "metadata must be a mapping"),
        ({"metadata": {"a": "\ud800"}}, "metadata holds half a surrogate"),
        ({"seen_count": "x"}, "seen_count must be a whole number"),
        ({"access_count": -1}, "access_count must be a whole number"),
        ({"memory_score": float("nan")}, "memory_score must be a number from 0 to 1"),
        ({"confidence": "high"}, "confidence must be a number from 0 to 1"),
        ({"event_at": None}, "event_at is missing"),
        ({"valid_to": 5}, "valid_to must be a datetime"),
        ({"id": None}, "id is missing"),
        ({"id": "a\nb"}, "id 'a.*' holds a line break"),
        ({"superseded_by": 7}, "superseded_by must be text"),
        ({"created_at": None}, "created_at is missing"),
        ({"created_at": "then"}, "created_at 'then'"),
        ({"seen_counts": 2}, r"unknown field 'seen_counts'; did you mean 'seen_count'\?"),
        ({"namespace": "other"}, "unknown field 'namespace'; an exported line has access_count, "),
        ({"links": [["owns", "b", ""]]}, "a link's relation 'owns' is unknown; it is one of equal, supersedes"),
        ({"links": [["equal", "b\ud800", ""]]}, "a link's target holds half a surrogate"),
        ({"links": [["equal", "b", "\x00"]]}, "a link's reason holds a NUL"),
        ({"links": 3}, "links must be a list"),
        ({"links": [["likely", "b", "", 0.5, 1]]}, "links must be a list of .*, and a chance for likely and repeats"),
        ({"links": [["likely", "b", "", 1.5]]}, "a link's chance must be a number from 0 to 1"),
        ({"links": [["likely", "b", ""]]}, "a link has a chance if its relation is 'likely' or 'repeats', and only"),
        (
            {"links": [["equal", "b", "", 0.5]]},
            "a link has a chance if its relation is 'likely' or 'repeats', and only",
        ),
    ],
)
def test_a_damaged_exported_line_is_named(engine: Engine, tmp_path: Path, change: dict[str, object], said: str) -> None:
    assert_refused(engine, tmp_path, change, said)


@pytest.mark.parametrize(
    ("extracted", "said"),
    [
        (5, "extracted must be an object"),
        ({"moods": []}, "extracted 'moods' is unknown"),
        ({"mentions": [1]}, r"extracted mentions must be a list of \[name, kind, count\]"),
        ({"mentions": [["Maya", "name"]]}, "extracted mentions must be a list of"),
        ({"mentions": [[5, "name", 1]]}, "extracted mentions: name must be text"),
        ({"mentions": [["", "name", 1]]}, "extracted mentions: name is empty"),
        ({"mentions": [["Maya\ud800", "name", 1]]}, "extracted mentions: name holds half a surrogate"),
        ({"mentions": [["Maya", "cat", 1]]}, "extracted mentions: kind 'cat' is unknown"),
        ({"mentions": [["Maya", "name", 0]]}, "extracted mentions: count must be a whole number from 1"),
        ({"slots": [["user", "age"]]}, r"extracted slots must be a list of \[subject, attribute, value\]"),
        ({"slots": [["user", "age", 5]]}, "extracted slots: value must be text"),
        ({"slots": [["user", "a\x00", "5"]]}, "extracted slots: attribute holds a NUL"),
        ({"relations": [["A", "knows", "B"]]}, r"extracted relations must be a list of \[source, relation, target"),
        ({"relations": [["A", "knows", 1, "semantic", False, 1]]}, "extracted relations: target must be text"),
        ({"relations": [["A", "knows", "B", "odd", False, 1]]}, "extracted relations: kind 'odd' is unknown"),
        ({"relations": [["A", "knows", "B", "semantic", 0, 1]]}, "extracted relations: ended must be true or false"),
        ({"relations": [["A", "knows", "B", "semantic", True, 9]]}, "extracted relations: confidence must be a number"),
        ({"dates": ["today"]}, "extracted dates must be a list of objects with start, end, text"),
        ({"dates": [{"start": 1, "end": 2, "text": ""}]}, "extracted dates: start must be a datetime"),
        ({"dates": [{"start": "2025-01-02", "end": "2025-01-01", "text": ""}]}, "extracted dates: end lies before"),
        ({"dates": [{"start": "2025-01-01", "end": "2025-01-02", "text": 4}]}, "extracted dates: text must be text"),
        ({"facets": []}, "extracted facets must be an object"),
        ({"facets": {"moods": "x"}}, "extracted facets: 'moods' is unknown"),
        ({"facets": {"events": 3}}, "extracted facets: events must be text"),
        ({"source": 3}, "extracted source must be text"),
    ],
)
def test_a_damaged_extraction_is_named(engine: Engine, tmp_path: Path, extracted: object, said: str) -> None:
    assert_refused(engine, tmp_path, {"extracted": extracted}, said)


def assert_refused(engine: Engine, folder: Path, change: dict[str, object], said: str) -> None:
    path = folder / "bad.jsonl"
    path.write_text(json.dumps({**EXPORTED, **change}) + "\n", "utf-8")
    with pytest.raises(fivefold.InvalidInput, match=f"bad.jsonl, line 1: {said}"):
        engine.import_jsonl(path)
    assert engine.stats().memories == 0


@pytest.mark.parametrize("line", [{"id": "a", "content": "own line"}, EXPORTED])
def test_an_id_that_stands_twice_names_both_lines(engine: Engine, tmp_path: Path, line: dict[str, object]) -> None:
    path = tmp_path / "twice.jsonl"
    lines = [{"content": "another"}, EXPORTED, {"content": "a third"}, {**line, "id": " a "}]
    path.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    with pytest.raises(fivefold.InvalidInput, match=r"line 4: the id 'a' is already on line 2"):
        engine.import_jsonl(path)
    assert engine.stats().memories == 0


def test_a_byte_order_mark_is_no_part_of_the_first_line(engine: Engine, tmp_path: Path) -> None:
    path = tmp_path / "mark.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + b'{"id": "a", "content": "x"}\r\n{"id": "b", "content": "y"}\r\n')
    assert engine.import_jsonl(path).stored == ("a", "b")


@pytest.mark.parametrize("text", ['[{"content": "x"}]', '\n[\n  {"content": "x"}\n]'])
def test_an_array_is_answered_with_what_is_wanted(engine: Engine, tmp_path: Path, text: str) -> None:
    path = tmp_path / "array.json"
    path.write_text(text, "utf-8")
    with pytest.raises(fivefold.InvalidInput, match="the file is one JSON array; write one object a line"):
        engine.import_jsonl(path)


def assert_comes_back(engine: Engine, folder: Path) -> None:
    first, second = folder / "first.jsonl", folder / "second.jsonl"
    count = engine.export_jsonl(first)
    with fivefold.open(":memory:") as copy:
        assert len(copy.import_jsonl(first).stored) == count
        copy.export_jsonl(second)
    assert sorted(first.read_text("utf-8").splitlines()) == sorted(second.read_text("utf-8").splitlines())


def test_more_tags_than_one_caller_may_give_come_back(engine: Engine, tmp_path: Path) -> None:
    for part in range(3):
        tags = [f"tag {part} {number}" for number in range(40)]
        engine.remember("The same note again", tags=tags)
        engine.remember(f"turn {part}", session_id="s", tags=tags)
    assert_comes_back(engine, tmp_path)
    lines = (tmp_path / "first.jsonl").read_text("utf-8").splitlines()
    assert sorted(len(json.loads(line)["tags"]) for line in lines) == [40, 40, 40, 64, 120]


def test_what_ended_before_it_began_comes_back(engine: Engine, tmp_path: Path) -> None:
    old = engine.remember("The fair opens", valid_from="2025-06-01T00:00:00Z", event_at="2025-01-01T00:00:00Z").id
    engine.supersede(old, {"content": "The fair is off", "event_at": "2025-03-01T00:00:00Z"})
    assert str(engine.get(old).valid_to) < str(engine.get(old).valid_from)
    assert_comes_back(engine, tmp_path)


def test_a_long_session_comes_back_with_every_character(engine: Engine, tmp_path: Path) -> None:
    engine.remember("x" + " \n" * 40_000 + "y", session_id="s")
    assert_comes_back(engine, tmp_path)


@pytest.mark.parametrize(
    "given",
    [
        {"importance": 0, "memory_score": 0, "confidence": 0},
        {"predicate": "", "user_text": "", "next_user_text": ""},
        {"content": 'My name is ""'},
        {"metadata": {"a": [{"b": None, "c": "\x00"}]}},
        {"tags": ["t" * 200], "task_tag": "u" * 200, "speaker": "v" * 200},
        {"content": "w" * 100_000},
    ],
)
def test_what_may_be_remembered_comes_back(engine: Engine, tmp_path: Path, given: dict[str, Any]) -> None:
    engine.remember(**{"content": "I live in Leeds", **given})
    assert_comes_back(engine, tmp_path)


def test_metadata_as_deep_as_may_be_imported_comes_back(engine: Engine, tmp_path: Path) -> None:
    path = tmp_path / "deep.jsonl"
    path.write_text('{"content": "x", "metadata": {"a": ' + "[" * 98 + "]" * 98 + "}}", "utf-8")
    engine.import_jsonl(path)
    assert_comes_back(engine, tmp_path)


def test_a_line_of_ones_own_may_carry_an_id(engine: Engine, tmp_path: Path) -> None:
    path = tmp_path / "own.jsonl"
    path.write_text('{"id": "mine", "content": "own line"}\n', "utf-8")
    assert engine.import_jsonl(path).stored == ("mine",)


def test_exporting_onto_a_folder_leaves_nothing_behind(engine: Engine, tmp_path: Path) -> None:
    engine.remember("something")
    (tmp_path / "folder").mkdir()
    with pytest.raises(fivefold.StoreError, match="could not be written"):
        engine.export_jsonl(tmp_path / "folder")
    assert not list(tmp_path.glob(".*.part"))


def test_lines_are_read_as_they_are_needed_and_all_are_checked_first(tmp_path: Path, engine: Engine) -> None:
    path = tmp_path / "lines.jsonl"
    path.write_text('{"content": "one"}\n{"content": "two"}\nthree\n', "utf-8")
    assert [item.content for item in islice(read_lines(path, "default"), 2) if isinstance(item, Record)] == [
        "one",
        "two",
    ]
    with pytest.raises(InvalidInput, match="line 3"):
        engine.import_jsonl(path)
    assert len(engine.memories()) == 0


@pytest.mark.parametrize("size", [1, 3])
def test_an_export_comes_back_in_batches_of_any_size(
    tmp_path: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    """Turns before what is made of their session, links when both ends are there, new records among the rest."""
    engine.remember_many([{"content": f"We spoke of {topic}", "session_id": "s"} for topic in ("ferns", "tea", "rain")])
    engine.remember("I live in Leeds", id="old", event_at="2024-01-01T00:00:00Z")
    engine.remember("I live in Bristol", id="new", event_at="2025-01-01T00:00:00Z")
    path = tmp_path / "lines.jsonl"
    engine.export_jsonl(path)
    lines = path.read_text("utf-8").splitlines()
    path.write_text("\n".join([*reversed(lines), '{"content": "One more", "id": "more"}']) + "\n", "utf-8")
    monkeypatch.setattr(pipeline, "MAX_BATCH_RECORDS", size)
    with fivefold.open(tmp_path / "copy.db", embedder="wordllama") as copy:
        report = copy.import_jsonl(path)
        assert len(report.stored) == len(lines) + 1
        assert [turn.content for turn in copy.turns("s")] == [turn.content for turn in engine.turns("s")]
        assert [memory.id for memory in copy.history("new").chain] == ["old", "new"]
        assert [finding for finding in copy.doctor() if not finding.ok] == []
        assert copy.import_jsonl(path).stored == ()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_what_can_be_read_only_once_is_not_imported(tmp_path: Path, engine: Engine) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InvalidInput, match="can be read only once"):
        engine.import_jsonl(tmp_path / "pipe")


def test_two_who_import_the_same_file_at_once_store_it_once(engine: Engine, tmp_path: Path) -> None:
    path = tmp_path / "export.jsonl"
    engine.remember_many([{"id": f"m{n}", "content": f"Parcel {n} came", "session_id": f"s{n % 3}"} for n in range(12)])
    count = engine.export_jsonl(path)
    for number in range(2):
        copies = [toy(str(tmp_path / f"copy{number}.db")) for _ in range(2)]
        together = threading.Barrier(2)

        def imported(copy: Engine, together: threading.Barrier = together) -> Report:
            together.wait()
            return copy.import_jsonl(path)

        with ThreadPoolExecutor(2) as pool:
            reports = list(pool.map(imported, copies))
        assert sorted(id for report in reports for id in report.stored) == sorted(m.id for m in _all(engine))
        assert sum(len(report.merged) for report in reports) == count
        assert [finding for finding in copies[0].doctor() if not finding.ok] == []
        for copy in copies:
            copy.close()


def _all(engine: Engine) -> list[Memory]:
    return [*engine.memories(limit=200), *engine.memories(kind="session", limit=200)]
