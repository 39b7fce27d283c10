"""Errors carry data; only the command line speaks of options and commands."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import fivefold
from fivefold.cli.output import phrase
from fivefold.errors import (
    Call,
    EmbedderMismatch,
    FivefoldError,
    InvalidFile,
    InvalidInput,
    NotFound,
    StoreError,
    TargetExists,
    UnfinishedCopy,
)

PACKAGE = Path(fivefold.__file__).parent
FLAG = re.compile(r"(?<![\w-])--[a-z][a-z-]+")
COMMAND = re.compile(r"fivefold (keys|reembed|migrate|maintain|doctor|db|bench|serve|mcp|backup|restore)\b")
MAY_NAME = {"hooks/agents.py", "stores/sqlite/encryption.py", "web/openapi.py"}
"""They name the commands of an agent, say how to install a library, or describe where keys come from."""


@pytest.mark.parametrize(
    ("error", "library", "command"),
    [
        (InvalidInput("must be at least 1", field="limit"), "limit must be at least 1", "--limit must be at least 1"),
        (
            InvalidInput("lies before", field="valid_to", other="valid_from"),
            "valid_to lies before valid_from",
            "--valid-to lies before --valid-from",
        ),
        (
            EmbedderMismatch("my notes", "minilm@1", "wordllama@0.3"),
            "namespace 'my notes' holds vectors of 'minilm@1', not of 'wordllama@0.3'; open it without an embedder, "
            "or move it with reembed(embedder='wordllama')",
            "namespace 'my notes' holds vectors of 'minilm@1', not of 'wordllama@0.3'; open it without an embedder, "
            "or move it with fivefold reembed wordllama --namespace 'my notes'",
        ),
        (
            TargetExists("a.db"),
            "'a.db' exists already; name another file, or replace it with replace=True",
            "'a.db' exists already; name another file, or replace it with --replace",
        ),
        (
            UnfinishedCopy("it has changed", option="replace"),
            "it has changed; begin the copy again with replace=True",
            "it has changed; begin the copy again with --replace",
        ),
        (
            StoreError("vectors are missing", advice="rebuild them with {call}", call=Call("doctor", {"repair": True})),
            "vectors are missing; rebuild them with doctor(repair=True)",
            "vectors are missing; rebuild them with fivefold doctor --repair",
        ),
        (
            InvalidFile("x", "is odd", advice="name its format with {call}", call=Call(arguments={"format": "mem0"})),
            "'x' is odd; name its format with format='mem0'",
            "'x' is odd; name its format with --from mem0",
        ),
        (NotFound("{call} stays as it is"), "{call} stays as it is", "{call} stays as it is"),
    ],
)
def test_each_face_says_it_in_its_own_terms(error: FivefoldError, library: str, command: str) -> None:
    assert str(error) == library
    assert phrase(error) == command


def test_a_fault_of_a_file_can_be_told_of_another_name() -> None:
    fault = InvalidFile("/tmp/copy", "not JSON", place="line 3")
    assert str(fault) == "/tmp/copy, line 3: not JSON"
    assert str(fault.renamed("standard input")) == "standard input, line 3: not JSON"
    assert str(fault.renamed("")) == "line 3: not JSON"
    assert str(InvalidFile("/tmp/copy", "is empty").renamed("")) == "the file is empty"


def test_nothing_below_the_command_line_names_options_or_commands() -> None:
    files = [path for path in PACKAGE.rglob("*.py") if path.relative_to(PACKAGE).parts[0] != "cli"]
    assert len(files) > 100
    found = {
        f"{path.relative_to(PACKAGE)}: {text}"
        for path in files
        if path.relative_to(PACKAGE).as_posix() not in MAY_NAME
        for text in texts(ast.parse(path.read_text("utf-8")))
        if FLAG.search(text) or COMMAND.search(text)
    }
    assert found == set()


def texts(tree: ast.AST) -> Iterator[str]:
    """Every text but docstrings, which no user of a face sees."""
    documented = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documented:
            yield node.value
