"""Anthropic's memory tool over memories: every command as its SDK runs it, hostile paths, versions, recall."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import pytest
from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError
from anthropic.tools.memory import BetaLocalFilesystemMemoryTool

import fivefold
from fivefold.adapters.anthropic import FivefoldAsyncMemoryTool, FivefoldMemoryTool
from fivefold.engine import Engine

pytestmark = pytest.mark.slow

TRIP = "  Trip to Oslo\r\n\n- gate 7\n- window seat \n\n"


@pytest.fixture
def tool(mem: Engine) -> FivefoldMemoryTool:
    return FivefoldMemoryTool(mem)


def run(tool: Any, command: str, **given: Any) -> str:
    """The answer that a model gets, or its error."""
    try:
        return str(tool.call({"command": command, **given}))
    except ToolError as error:
        return f"error: {error}"


SCRIPT: list[tuple[str, dict[str, Any]]] = [
    ("view", {"path": "/memories"}),
    ("create", {"path": "/memories/trip.md", "file_text": "Trip\n- gate 7\n- window seat\n"}),
    ("create", {"path": "/memories/trip.md", "file_text": "again"}),
    ("create", {"path": "/memories/notes/a.txt", "file_text": "one"}),
    ("create", {"path": "/memories/notes/deep/er/b.txt", "file_text": ""}),
    ("create", {"path": "/memories/.hidden", "file_text": "not shown"}),
    ("view", {"path": "/memories/trip.md"}),
    ("view", {"path": "/memories/trip.md", "view_range": [2, 3]}),
    ("view", {"path": "/memories/trip.md", "view_range": [3, -1]}),
    ("view", {"path": "/memories/nowhere"}),
    ("str_replace", {"path": "/memories/trip.md", "old_str": "gate 7", "new_str": "gate 9"}),
    ("str_replace", {"path": "/memories/trip.md", "old_str": "absent", "new_str": "x"}),
    ("str_replace", {"path": "/memories/trip.md", "old_str": "a", "new_str": "x"}),
    ("str_replace", {"path": "/memories/nowhere", "old_str": "a", "new_str": "x"}),
    ("str_replace", {"path": "/memories/notes", "old_str": "a", "new_str": "x"}),
    ("insert", {"path": "/memories/trip.md", "insert_line": 0, "insert_text": "# Plan\n"}),
    ("insert", {"path": "/memories/trip.md", "insert_line": 4, "insert_text": "- tea"}),
    ("insert", {"path": "/memories/trip.md", "insert_line": 9, "insert_text": "no"}),
    ("insert", {"path": "/memories/notes/deep/er/b.txt", "insert_line": 0, "insert_text": "first"}),
    ("view", {"path": "/memories/trip.md"}),
    ("rename", {"old_path": "/memories/trip.md", "new_path": "/memories/notes/a.txt"}),
    ("rename", {"old_path": "/memories/trip.md", "new_path": "/memories/past/oslo.md"}),
    ("rename", {"old_path": "/memories/trip.md", "new_path": "/memories/other.md"}),
    ("rename", {"old_path": "/memories", "new_path": "/memories/other"}),
    ("rename", {"old_path": "/memories/notes", "new_path": "/memories/archive/notes"}),
    ("view", {"path": "/memories/archive/notes/a.txt"}),
    ("view", {"path": "/memories/archive/notes/deep/er/b.txt"}),
    ("delete", {"path": "/memories/past/oslo.md"}),
    ("delete", {"path": "/memories/past/oslo.md"}),
    ("delete", {"path": "/memories/archive"}),
    ("delete", {"path": "/memories"}),
    ("view", {"path": "/memories/archive/notes/a.txt"}),
]


def test_a_transcript_reads_as_that_of_files_on_a_disk(tool: FivefoldMemoryTool, tmp_path: Path) -> None:
    """The SDK's own tool for a folder gives the same answers."""
    files = BetaLocalFilesystemMemoryTool(str(tmp_path / "files"))
    for command, given in SCRIPT[1:]:
        assert run(tool, command, **given) == run(files, command, **given), (command, given)


def test_a_folder_shows_two_levels_and_sizes(tool: FivefoldMemoryTool) -> None:
    assert run(tool, "view", path="/memories").splitlines()[1:] == ["0B\t/memories"]
    for path, size in (("a.txt", 3), ("b/c.txt", 1536), ("b/d/e/f.txt", 10), (".git/x", 9), ("b/.y", 9)):
        assert "created" in run(tool, "create", path=f"/memories/{path}", file_text="x" * size)
    assert run(tool, "view", path="/memories/").splitlines() == [
        "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items:",
        "1.5K\t/memories",
        "3B\t/memories/a.txt",
        "1.5K\t/memories/b/",
        "1.5K\t/memories/b/c.txt",
        "10B\t/memories/b/d/",
    ]


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/",
        "memories/a",
        "/etc/passwd",
        "/memoriesx/a",
        "/Memories/a",
        "/memories/../etc/passwd",
        "/memories/a/../../b",
        "/memories/./a",
        "/memories//a",
        "/memories/%2e%2e/a",
        "/memories/..%2fa",
        "/memories/a\\..\\b",
        "/memories/a\x00b",
        "/memories/a\nb",
        "/memories/\ud800",
        "//memories/a",
        "/memories/" + "x" * 200,
    ],
)
def test_a_hostile_path_is_refused_by_every_command(path: str, tool: FivefoldMemoryTool, mem: Engine) -> None:
    run(tool, "create", path="/memories/kept", file_text="kept")
    before = [memory.to_dict() for memory in mem.memories()]
    commands: dict[str, dict[str, Any]] = {
        "view": {},
        "create": {"file_text": "x"},
        "str_replace": {"old_str": "kept", "new_str": "x"},
        "insert": {"insert_line": 0, "insert_text": "x"},
        "delete": {},
    }
    for command, given in commands.items():
        assert run(tool, command, path=path, **given).startswith("error: Path")
    assert run(tool, "rename", old_path=path, new_path="/memories/b").startswith("error: Path")
    assert run(tool, "rename", old_path="/memories/kept", new_path=path).startswith("error: Path")
    assert [memory.to_dict() for memory in mem.memories()] == before


def test_what_a_command_does_not_take_is_refused(tool: FivefoldMemoryTool) -> None:
    assert run(tool, "view", path="/memories", filtre=1) == (
        "error: view has no parameter 'filtre'; known are path, view_range."
    )
    assert run(tool, "view") == "error: view needs the parameter 'path'."
    assert "must be of type str" in run(tool, "create", path="/memories/a", file_text=3)
    assert "must be of type int" in run(tool, "insert", path="/memories/a", insert_line="one", insert_text="x")
    assert (
        "Invalid `view_range`"
        in [
            run(tool, "create", path="/memories/a", file_text="x"),
            run(tool, "view", path="/memories/a", view_range=[2, 1]),
        ][1]
    )
    assert "two line numbers" in run(tool, "view", path="/memories/a", view_range=[1, 2, 3])
    assert "Unknown command 'format'" in run(tool, "format", path="/memories")
    assert "is a file, not a directory" in run(tool, "create", path="/memories/a/b", file_text="x")
    assert "into itself" in run(tool, "rename", old_path="/memories/a", new_path="/memories/a/b")
    with pytest.raises(TypeError, match="filtre"):
        FivefoldMemoryTool(tool.files.engine, filtre=1)  # type: ignore[call-arg]


@pytest.mark.parametrize("text", [TRIP, "", "\n", "x", "é\ttab", "a\n" * 50])
def test_a_file_comes_back_as_it_was_written(text: str, tool: FivefoldMemoryTool) -> None:
    for name in ("one", "two"):
        run(tool, "create", path=f"/memories/{name}", file_text=text)
    run(tool, "rename", old_path="/memories/two", new_path="/memories/three")
    for name in ("one", "three"):
        shown = run(tool, "view", path=f"/memories/{name}").split("\n")[1:]
        assert "\n".join(line.split("\t", 1)[1] for line in shown) == text


def test_a_file_is_recalled_keeps_its_versions_and_is_forgotten_with_them(
    tool: FivefoldMemoryTool, mem: Engine
) -> None:
    mem.remember("I live in Bristol", speaker="user", id="home")
    run(tool, "create", path="/memories/user.md", file_text="The user lives in Leeds")
    run(tool, "create", path="/memories/other.md", file_text="The user lives in York")
    run(tool, "str_replace", path="/memories/user.md", old_str="Leeds", new_str="Hull")
    run(tool, "str_replace", path="/memories/user.md", old_str="user", new_str="User")
    (hit,) = mem.recall("who lives in Hull?", k=1, filter="speaker:/memories/user.md")
    assert (hit.memory.content, hit.memory.origin) == ("The User lives in Hull", "assistant")
    versions = tool.files.versions(hit.memory)
    assert [version.content for version in versions] == ["The user lives in Leeds", "The User lives in Hull"]
    assert "York" in run(tool, "view", path="/memories/other.md"), "no file ends another"
    mem.recall("where does the user live?")
    assert "created" in run(tool, "create", path="/memories/echo.md", file_text="The user lives in York")
    assert "York" in run(tool, "view", path="/memories/echo.md")
    run(tool, "delete", path="/memories/user.md")
    texts = [memory.content for memory in mem.memories()]
    assert not any("Leeds" in text or "Hull" in text for text in texts)
    run(tool, "create", path="/memories/user.md", file_text="The user lives in Leeds")
    assert "Leeds" in run(tool, "view", path="/memories/user.md")
    assert tool.clear_all_memory() == "All memory cleared"
    assert [memory.id for memory in mem.memories()] == ["home"]


def test_a_file_changed_by_another_face_says_what_it_says_now(tool: FivefoldMemoryTool, mem: Engine) -> None:
    run(tool, "create", path="/memories/a", file_text="  My password is hunter2\n")
    (memory,) = mem.memories()
    mem.update(memory.id, content="(removed)")
    assert run(tool, "view", path="/memories/a").endswith("\n     1\t(removed)")


def test_files_last_and_namespaces_are_apart(tmp_path: Path) -> None:
    with fivefold.open(tmp_path / "me.db", namespace="ana", embedder="wordllama") as ana:
        run(FivefoldMemoryTool(ana), "create", path="/memories/a", file_text="Ana's")
    with fivefold.open(tmp_path / "me.db", namespace="ana") as ana:
        assert "Ana's" in run(FivefoldMemoryTool(ana), "view", path="/memories/a")
    with fivefold.open(tmp_path / "me.db", namespace="ben") as ben:
        assert "does not exist" in run(FivefoldMemoryTool(ben), "view", path="/memories/a")


def test_the_asynchronous_tool_does_the_same_in_threads(mem: Engine) -> None:
    tool = FivefoldAsyncMemoryTool(mem)
    assert isinstance(tool, BetaAsyncAbstractMemoryTool)

    async def use() -> Any:
        made = [{"command": "create", "path": f"/memories/{n}", "file_text": f"file {n}"} for n in range(4)]
        await asyncio.gather(*(tool.call(each) for each in made))
        await tool.call({"command": "str_replace", "path": "/memories/2", "old_str": "2", "new_str": "two"})
        await tool.call({"command": "insert", "path": "/memories/2", "insert_line": 1, "insert_text": "more"})
        await tool.call({"command": "rename", "old_path": "/memories/2", "new_path": "/memories/x/2"})
        await tool.call({"command": "delete", "path": "/memories/1"})
        with pytest.raises(ToolError, match="does not exist"):
            await tool.call({"command": "view", "path": "/memories/1"})
        return await tool.call({"command": "view", "path": "/memories/x/2"})

    assert asyncio.run(use()).split("\n")[1:] == ["     1\tfile two", "     2\tmore", "     3\t"]
    assert asyncio.run(tool.clear_all_memory()) == "All memory cleared"


def test_one_of_two_that_create_the_same_file_is_told(tool: FivefoldMemoryTool) -> None:
    answers: list[str] = []

    def create(number: int) -> None:
        answers.append(run(tool, "create", path="/memories/a", file_text=f"by {number}"))

    threads = [threading.Thread(target=create, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answer.startswith("error") for answer in answers) == [False, True, True, True]


def test_the_sdk_runs_it(tool: FivefoldMemoryTool, mem: Engine) -> None:
    """A model that calls the tool, then answers: the client is real, its server is written down here."""
    command = {"command": "create", "path": "/memories/a.md", "file_text": "The user drinks tea"}
    parts = [
        ({"type": "tool_use", "id": "t1", "name": "memory", "input": command}, "tool_use"),
        ({"type": "text", "text": "Noted."}, "end_turn"),
    ]
    asked: list[Any] = []

    def answer(request: Any) -> Any:
        asked.append(request)
        part, reason = parts[len(asked) - 1]
        usage = {"input_tokens": 1, "output_tokens": 1}
        body = {"id": "m", "type": "message", "role": "assistant", "model": "x", "content": [part], "usage": usage}
        return httpx2.Response(200, json={**body, "stop_reason": reason, "stop_sequence": None})

    assert isinstance(tool, BetaAbstractMemoryTool)
    client = anthropic.Anthropic(api_key="none", http_client=httpx2.Client(transport=httpx2.MockTransport(answer)))
    runner = client.beta.messages.tool_runner(
        model="x", max_tokens=99, tools=[tool], messages=[{"role": "user", "content": "I drink tea"}]
    )
    assert runner.until_done().content[0].text == "Noted."
    assert b'"memory_20250818"' in asked[0].content
    assert b"File created successfully at: /memories/a.md" in asked[1].content
    assert mem.recall("what does the user drink?", k=1)[0].memory.speaker == "/memories/a.md"
