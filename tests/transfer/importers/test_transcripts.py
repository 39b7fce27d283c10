"""Transcripts of coding agents, with the lines that each agent writes."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from fivefold.engine import Engine
from fivefold.settings import Settings
from fivefold.transfer.importers import ImportLog, detect_format, import_from, read
from fivefold.transfer.importers.transcripts import TRANSCRIPTS, read_part
from fivefold.values.memory import Record

DATA = Path(__file__).parents[2] / "data" / "coding_agents"
TALKS = {
    "claude-code": [
        ("user", "We deploy the shop on Fridays, never on Mondays. Where is the deploy script?"),
        ("assistant", "I will look for it."),
        ("assistant", "The deploy script is scripts/deploy.sh."),
    ],
    "codex": [
        ("user", "The invoices are rendered with WeasyPrint. Why are they slow?"),
        ("assistant", "Fonts are loaded for each invoice."),
    ],
    "cursor": [
        ("user", "The cart keeps prices in cents. Is that true everywhere?"),
        ("assistant", "I will check the models."),
        ("assistant", "Yes, prices are cents in cart/models.py."),
        ("user", "Thanks."),
        ("user", "Thanks."),
    ],
    "gemini-cli": [
        ("user", "Which queue sends the mails?"),
        ("assistant", "The mails go out through the queue named sparrow."),
    ],
}
LEFT_OUT = {
    "claude-code": {
        "commands of the program": 1,
        "thoughts": 1,
        "calls of tools": 1,
        "results of tools": 1,
        "messages of subagents": 1,
        "messages of the program": 1,
    },
    "codex": {
        "messages of the program": 2,
        "system messages": 1,
        "thoughts": 1,
        "calls of tools": 1,
        "results of tools": 1,
    },
    "cursor": {"calls of tools": 1},
    "gemini-cli": {"calls of tools": 1},
}


def transcript(agent: str) -> Path:
    (path,) = (DATA / agent).glob("*.jsonl")
    return path


def said(records: Iterator[Record] | list[Record]) -> list[tuple[str | None, str]]:
    return [(record.speaker, record.content) for record in records]


@pytest.mark.parametrize("agent", TALKS)
def test_a_transcript_is_a_session(agent: str) -> None:
    log = ImportLog()
    assert detect_format(transcript(agent)) == agent
    turns = list(read(transcript(agent), log=log))
    assert said(turns) == TALKS[agent]
    assert log.left_out == LEFT_OUT[agent]
    assert len({turn.id for turn in turns}) == len(turns)
    (session,) = {turn.session_id for turn in turns}
    assert session is not None
    assert session.startswith(f"{agent}:")
    assert len(session.removeprefix(f"{agent}:")) == 36, "the session's own id"


@pytest.mark.parametrize("agent", TALKS)
def test_a_folder_of_transcripts(agent: str, tmp_path: Path) -> None:
    (tmp_path / "2026" / "03").mkdir(parents=True)
    shutil.copy(transcript(agent), tmp_path / "2026" / "03")
    assert detect_format(tmp_path) == agent
    assert said(read(tmp_path)) == TALKS[agent]


@pytest.mark.parametrize("agent", TALKS)
def test_a_transcript_that_grows_adds_only_what_is_new(agent: str, engine: Engine, tmp_path: Path) -> None:
    lines = transcript(agent).read_bytes().splitlines(keepends=True)
    file = tmp_path / transcript(agent).name
    file.write_bytes(b"".join(lines[:-3]))
    before = import_from(engine, file, agent)
    file.write_bytes(b"".join(lines))
    after = import_from(engine, file)
    assert len(before.stored) + len(after.stored) == len(TALKS[agent])
    assert import_from(engine, file).stored == ()
    (session,) = engine.sessions()
    assert [(turn.speaker, turn.content) for turn in engine.turns(session.id)] == TALKS[agent]


def test_times_are_those_of_the_lines() -> None:
    turns = list(read(transcript("codex")))
    assert [str(turn.event_at) for turn in turns] == ["2026-03-02 10:00:02+00:00", "2026-03-02 10:00:06.100000+00:00"]


def test_settings_say_what_of_tools_is_kept() -> None:
    log = ImportLog(settings=Settings(tool_messages="short"))
    kept = [turn.content for turn in read(transcript("claude-code"), log=log) if turn.speaker == "tool"]
    assert kept == ['Call of Bash: {"command": "ls scripts"}', "Result of Bash: deploy.sh"]


def test_a_line_that_is_still_being_written_waits(tmp_path: Path) -> None:
    whole = transcript("claude-code").read_bytes()
    cut = whole.index(b"The deploy script is")
    file = tmp_path / "now.jsonl"
    file.write_bytes(whole[:cut])
    kind = TRANSCRIPTS["claude-code"]
    with file.open("rb") as stream:
        first = read_part(stream, kind, ImportLog())
    assert len(first.messages) == 5
    assert whole[: first.end].endswith(b"\n")
    file.write_bytes(whole)
    with file.open("rb") as stream:
        rest = read_part(stream, kind, ImportLog(), first.end)
    assert [message["id"] for message in rest.messages] == ["a4"]
    assert rest.end == len(whole)


def test_a_line_that_is_no_object_is_left_out_and_counted(tmp_path: Path) -> None:
    file = tmp_path / "odd.jsonl"
    file.write_bytes(b"7\n{broken\n\n" + transcript("cursor").read_bytes())
    log = ImportLog()
    assert said(read(file, "cursor", log=log)) == TALKS["cursor"]
    assert log.left_out["lines that are not a JSON object"] == 2
