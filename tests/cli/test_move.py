"""Memories in and out as JSON lines, by file and by pipe."""

from __future__ import annotations

from pathlib import Path

from tests.cli.shell import Command, Small, process


def test_export_and_import_carry_everything_over_once(small: Small, command: Command) -> None:
    assert command("export", "out.jsonl", "--store", small.path).out == "5 memories written to out.jsonl\n"
    said = command("import", "out.jsonl", "--store", "copy.db", "--embedder", "wordllama").out
    assert said.startswith("5 stored, 0 merged")
    assert command("import", "out.jsonl", "--store", "copy.db").out.startswith("0 stored, 5 merged")
    there, back = (command("get", "badge", "--store", store, "--json").json for store in (small.path, "copy.db"))
    assert there == back


def test_export_and_import_work_in_a_pipe(small: Small, command: Command) -> None:
    command("export", "out.jsonl", "--store", small.path)
    told = process("export", "-", "--store", small.path, folder=small.folder)
    assert (told.code, told.err) == (0, "5 memories written to standard output\n")
    assert told.out == Path("out.jsonl").read_text("utf-8")
    read = process("import", "-", "--store", "copy.db", folder=small.folder, said=told.out)
    assert (read.code, read.err) == (0, "")
    assert read.out.startswith("5 stored, 0 merged")
    counted = process("export", "-", "--store", "copy.db", "--json", folder=small.folder)
    assert counted.out == told.out
    assert counted.err == '{"file": "-", "memories": 5}\n'


def test_standard_input_is_named_in_errors(small: Small) -> None:
    ran = process("import", "-", "--store", "new.db", folder=small.folder, said='{"content": "one"}\ntwo\n')
    assert ran.code == 1
    assert ran.err.startswith("fivefold: standard input, line 2: not JSON")


def test_a_byte_order_mark_is_passed_over(small: Small, command: Command) -> None:
    line = b'\xef\xbb\xbf{"content": "Saved by an editor that marks its files"}\n'
    assert process("import", "-", "--store", "new.db", folder=small.folder, said=line).out.startswith("1 stored")
    Path("marked.jsonl").write_bytes(line)
    assert command("import", "marked.jsonl", "--store", "new.db").out.startswith("0 stored, 1 merged")
    Path("marked.jsonl").write_bytes(line + b"two\n")
    assert "fivefold: marked.jsonl, line 2: not JSON" in command("import", "marked.jsonl", "--store", "new.db").err


def test_import_takes_an_extractor(small: Small, command: Command) -> None:
    ran = command("import", small.lines, "--extractor", "best", "--store", small.path)
    assert "unknown extractor 'best'" in ran.err
    assert command("import", small.lines, "--extractor", "rules", "--store", small.path).code == 0
