"""Write the `--help` text of every command into docs/cli.md: `python docs/make_cli_help.py`."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from typer.core import TyperGroup

from fivefold.cli.app import command_tree

PAGE = Path(__file__).with_name("cli.md")
BLOCK = re.compile(r"<!-- help: (?P<name>[a-z ]+) -->\n.*?<!-- /help -->", re.DOTALL)
WIDTH = {"COLUMNS": "100", "TERMINAL_WIDTH": "100"}


def names() -> list[str]:
    """`fivefold` and every command and group of commands below it, as they are typed."""
    return list(_below("fivefold", command_tree()))


def help_of(name: str) -> str:
    """What `NAME --help` prints in a terminal 100 columns wide."""
    command = [sys.executable, "-m", "fivefold", *name.split()[1:], "--help"]
    done = subprocess.run(command, env={**os.environ, **WIDTH}, capture_output=True, encoding="utf-8", check=True)
    return done.stdout


def block(name: str, shown: str) -> str:
    return f"<!-- help: {name} -->\n```text\n{shown.strip()}\n```\n<!-- /help -->"


def rewritten(page: str) -> str:
    """`page` with every help block as the commands print it now."""
    return BLOCK.sub(lambda match: block(match["name"], help_of(match["name"])), page)


def _below(path: str, command: object) -> Iterator[str]:
    yield path
    if isinstance(command, TyperGroup):
        for name, inner in command.commands.items():
            yield from _below(f"{path} {name}", inner)


if __name__ == "__main__":
    PAGE.write_text(rewritten(PAGE.read_text("utf-8")), "utf-8")
