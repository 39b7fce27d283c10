"""docs/mcp.md is true: its tables are those of the code, and its configurations start a server that answers."""

from __future__ import annotations

import json
import os
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp.client.stdio import StdioServerParameters, stdio_client

from fivefold.mcp.arguments import schema
from fivefold.mcp.resources import MEMORY, PROMPTS, SESSION
from fivefold.mcp.tools import TOOLS
from fivefold.mcp.transport import MAX_RECALLS
from fivefold.values.fields import name_of
from tests.support.mcp_client import connected, text_of

pytestmark = pytest.mark.slow

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "mcp.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


def configurations() -> Iterator[dict[str, Any]]:
    for block in blocks("json"):
        (servers,) = json.loads(block).values()
        yield servers["fivefold"]
    for block in blocks("toml"):
        yield tomllib.loads(block)["mcp_servers"]["fivefold"]


def test_the_table_of_tools_is_that_of_the_code() -> None:
    rows = re.findall(r"^\| `(\w+)` \| .+? \| (.+?) \| `(\w+)` \|$", TEXT, re.MULTILINE)
    told = {name: (re.findall(r"`(\w+)`", takes), gives) for name, takes, gives in rows}
    assert told == {
        name: ([field for field in schema(tool.takes)["properties"] if field != "namespace"], name_of(tool.gives))
        for name, tool in TOOLS.items()
    }


def test_resources_prompts_and_figures_are_told() -> None:
    for said in (str(MEMORY), str(SESSION), *PROMPTS, f"last {MAX_RECALLS:,} recalls"):
        assert said in TEXT
    for name, budget in (("recall", "1,000"), ("explain", "2,000")):
        default = schema(TOOLS[name].takes)["properties"]["token_budget"]["default"]
        assert f"{default:,}" == budget
        assert budget in TEXT


def test_configurations_over_http_are_json() -> None:
    found = re.findall(r"`(\{.*?\}\})`", TEXT)
    assert len(found) == 6
    for text in found:
        given = json.loads(text)
        assert given["headers"]["Authorization"].startswith("Bearer ff_")
        assert sum(value == "http://127.0.0.1:8484/mcp" for value in given.values()) == 1


def test_configurations_start_a_server_that_answers(tmp_path: Path) -> None:
    """All name the same command; it is started once, as a client would."""
    found = [{**given, "env": {}, "type": "stdio"} for given in configurations()]
    assert len(found) == 5
    assert all(given == found[0] for given in found)
    args = [arg.replace("/home/you", str(tmp_path)) for arg in found[0]["args"]]
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    started = StdioServerParameters(command=found[0]["command"], args=args, env={"PATH": path})
    with connected(stdio_client(started), "auto") as talk:
        assert text_of(talk.call("stats")).startswith("Namespace 'default': 0 memories")
    assert (tmp_path / "memory.db").exists()


def test_the_agents_of_openai_have_the_tools(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    (block,) = blocks("python")
    exec(compile(block, "docs/mcp.md", "exec"), {"__name__": "page"})
    assert str(list(TOOLS)) in capsys.readouterr().out
