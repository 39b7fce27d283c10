"""The bill of materials names what an installation brings, and only that."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]


def bill(*extras: str) -> dict[str, Any]:
    spec = spec_from_file_location("make_sbom", ROOT / "docs" / "make_sbom.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    made: dict[str, Any] = module.bill(extras)
    return made


def names(made: dict[str, Any]) -> set[str]:
    return {item["purl"].removeprefix("pkg:pypi/").partition("@")[0] for item in made["components"]}


@pytest.fixture(scope="module")
def alone() -> dict[str, Any]:
    return bill()


def test_every_dependency_is_named_with_its_version(alone: dict[str, Any]) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert names(alone) >= {Requirement(line).name for line in project["dependencies"]}
    assert alone["metadata"]["component"]["name"] == "fivefold"
    assert all(item["version"] for item in alone["components"])
    assert not names(alone) & {"pytest", "mypy", "fastapi"}


def test_an_extra_brings_its_own(alone: dict[str, Any]) -> None:
    served = bill("serve")
    assert {"fastapi", "starlette", "uvicorn"} <= names(served) - names(alone)


def test_each_reference_is_one_of_its_packages(alone: dict[str, Any]) -> None:
    known = {item["bom-ref"] for item in (*alone["components"], alone["metadata"]["component"])}
    assert len(known) == len(alone["components"]) + 1
    assert {ref for part in alone["dependencies"] for ref in (part["ref"], *part["dependsOn"])} <= known


@pytest.mark.slow
def test_the_command_prints_it(alone: dict[str, Any]) -> None:
    done = subprocess.run([sys.executable, ROOT / "docs" / "make_sbom.py"], capture_output=True, check=True)
    assert json.loads(done.stdout) == alone


def test_every_test_that_the_page_on_security_names_is_there() -> None:
    named = re.findall(r"\]\(\.\./(tests/[^)]+)\)", (ROOT / "docs" / "security.md").read_text("utf-8"))
    assert len(named) > 20
    assert [path for path in named if not (ROOT / path).is_file()] == []
