"""Memories in and out, by file and by pipe."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.shell import Command, Small, process

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("warm")]


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


CHATS = [
    {
        "uuid": "c-1",
        "name": "The move",
        "created_at": "2025-02-03T10:00:00Z",
        "chat_messages": [
            {"uuid": "a", "sender": "human", "text": "We move to Bergen in May", "content": []},
            {"uuid": "b", "sender": "assistant", "text": "", "content": [{"type": "thinking", "thinking": "hm"}]},
        ],
    },
    {"uuid": "c-2", "name": "Spoilt", "chat_messages": 3},
]


def test_import_says_what_it_took_a_file_for(small: Small, command: Command) -> None:
    Path("chats.json").write_text(json.dumps(CHATS), "utf-8")
    told = command("import", "chats.json", "--dry-run", "--store", "new.db").out
    assert told.startswith("would be stored: 1; already there: 0; nothing was changed\n")
    assert not Path("new.db").exists()
    said = command("import", "chats.json", "--store", small.path)
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith("1 stored, 0 merged")
    assert "taken for a Claude export: 1 record\n" in said.out
    assert "left out: empty messages (1), thinking blocks (1)\n" in said.out
    assert "skipped chats.json, conversation 2 'Spoilt': chat_messages should be a list; it is a number" in said.out
    assert command("get", "claude:c-1:a", "--store", small.path, "--json").json["speaker"] == "user"
    assert command("import", "chats.json", "--dry-run", "--store", small.path, "--json").json["merged"] != []


def test_import_is_as_strict_as_asked(small: Small, command: Command) -> None:
    Path("chats.json").write_text(json.dumps(CHATS), "utf-8")
    ran = command("import", "chats.json", "--strict", "--store", small.path)
    assert ran.code == 1
    assert "fivefold: chats.json, conversation 2 'Spoilt': chat_messages should be a list" in ran.err
    assert command("get", "claude:c-1:a", "--store", small.path).code == 3
    wrong = command("import", "chats.json", "--from", "word", "--store", small.path)
    assert "--from 'word' is unknown" in wrong.err


def test_what_cannot_be_read_makes_no_store(small: Small, command: Command) -> None:
    Path("chats.json").write_text(json.dumps(CHATS), "utf-8")
    Path("letter").write_text("Dear Ines", "utf-8")
    for given in (["nowhere.json"], ["chats.json", "--strict"], ["chats.json", "--from", "chatgpt"], ["letter"]):
        assert command("import", *given, "--store", "new.db").code == 1, given
        assert not Path("new.db").exists()
    ran = command("import", "chats.json", "--from", "chatgpt", "--store", small.path)
    assert "'chats.json' is not a ChatGPT export but a Claude export; import it with --from claude" in ran.err
    assert "'letter' holds neither JSON nor JSON lines; name its format with --from" in command("import", "letter").err


def test_other_formats_come_through_a_pipe_too(small: Small) -> None:
    ran = process("import", "-", "--store", "new.db", "--json", folder=small.folder, said=json.dumps(CHATS[:1]))
    assert (ran.code, ran.json["format"], ran.json["stored"]) == (0, "claude", ["claude:c-1:a"])
    spoilt = process("import", "-", "--store", "new.db", folder=small.folder, said='[{"chat_messages": [}]')
    assert spoilt.err.startswith("fivefold: standard input, item 1: is not JSON: Expecting value")
