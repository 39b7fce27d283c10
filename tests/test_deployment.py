"""What is written for those who run fivefold fits the real thing: files, commands, options, figures."""

from __future__ import annotations

import configparser
import json
import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]
from prometheus_client.exposition import generate_latest
from typer.core import TyperGroup

from fivefold.cli.app import command_tree
from fivefold.service.metrics import Metrics
from tests.support.toy_engine import toy
from tests.test_docs import blocks

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "operations.md"
DOCKERFILE = (ROOT / "Dockerfile").read_text("utf-8").replace("\\\n", " ")
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))


def parse(args: list[str], alone: bool = False) -> str:
    """The command these arguments name, once all its options were read; it is not run. It may be named `alone`."""
    command: Any = command_tree()
    path = []
    while isinstance(command, TyperGroup):
        path.append(args[0])
        command, args = command.commands[args[0]], args[1:]
    if args or not alone:
        command.make_context(" ".join(path), list(args))
    return " ".join(path)


def instructions(name: str) -> list[str]:
    return re.findall(rf"^{name} (.+)$", DOCKERFILE, re.MULTILINE)


def test_a_wrong_command_would_be_noticed() -> None:
    assert parse(["serve", "--port", "1"]) == "serve"
    for wrong in (["serve", "--prot", "1"], ["keys", "make"], ["backup"]):
        with pytest.raises(Exception, match=r"prot|make|target"):
            parse(wrong)


def test_the_image_starts_a_command_that_is_one() -> None:
    (entry,), (command,) = (list(map(json.loads, instructions(name))) for name in ("ENTRYPOINT", "CMD"))
    assert entry == ["fivefold"]
    assert parse(command) == "serve"
    assert command[command.index("--host") + 1] == "0.0.0.0"


def test_the_image_runs_as_nobody_and_holds_no_secret() -> None:
    last = DOCKERFILE.split("\nFROM ")[-1]
    assert re.findall(r"^USER (\S+)$", last, re.MULTILINE)[-1] not in {"root", "0"}
    assert re.findall(r"^VOLUME (\S+)$", last, re.MULTILINE) == ["/data"]
    assert "FIVEFOLD_STORE=/data/" in last
    assert not re.search(r"password|secret|ff_", DOCKERFILE, re.IGNORECASE)
    (check,) = instructions("HEALTHCHECK")
    program = json.loads(check.split("CMD ", 1)[1])
    compile(program[2], "healthcheck", "exec")
    assert program[:2] == ["python", "-c"]
    assert "127.0.0.1:8484/health" in program[2]


def test_what_the_image_is_made_of_is_there_and_not_ignored() -> None:
    kept = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    copied = {part.removeprefix("./") for line in instructions("COPY") for part in line.split()[:-1]}
    assert copied == kept
    assert all((ROOT / name).exists() for name in copied)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert {project["readme"], *project["license-files"], "pyproject.toml"} <= kept
    extras = {extra for found in re.findall(r"\[([\w,]+)\]", DOCKERFILE) for extra in found.split(",")}
    assert extras == {"mcp", "otel", "postgres", "serve"} <= set(project["optional-dependencies"])


def test_the_services_fit_together() -> None:
    services = COMPOSE["services"]
    assert set(services) == {"postgres", "fivefold"}
    assert parse(services["fivefold"]["command"]) == "serve"
    assert services["fivefold"]["depends_on"] == {"postgres": {"condition": "service_healthy"}}
    assert "pgvector" in services["postgres"]["image"]
    assert services["postgres"]["healthcheck"]["test"][0] == "CMD"
    named = {volume.split(":")[0] for service in services.values() for volume in service.get("volumes", ())}
    assert named == set(COMPOSE["volumes"])
    assert services["fivefold"]["read_only"] is True


def test_no_password_is_given_and_no_port_is_open_to_the_world() -> None:
    services = COMPOSE["services"]
    secrets = [
        value
        for service in services.values()
        for name, value in service["environment"].items()
        if name.endswith("PASSWORD")
    ]
    assert len(secrets) == 2
    assert all(re.fullmatch(r"\$\{POSTGRES_PASSWORD:\?[^}]+\}", secret) for secret in secrets)
    assert not re.search(r"://[^/]*:[^/]*@", str(COMPOSE))
    assert [port for service in services.values() for port in service.get("ports", ())] == ["127.0.0.1:8484:8484"]


def units() -> list[configparser.ConfigParser]:
    found = []
    for block in blocks(PAGE, "ini"):
        unit = configparser.ConfigParser(interpolation=None, strict=False)
        unit.optionxform = str  # type: ignore[assignment, method-assign]
        unit.read_string(block.text)
        found.append(unit)
    return found


def test_the_units_of_systemd_start_commands_that_are_ones() -> None:
    serving, backup, timer, repeated = units()
    assert parse(shlex.split(serving["Service"]["ExecStart"])[1:]) == "serve"
    for unit in (backup, repeated):
        assert parse(shlex.split(unit["Service"]["ExecStart"])[1:]) == "backup"
        assert serving["Service"]["Environment"] == unit["Service"]["Environment"]
    assert timer["Install"]["WantedBy"] == "timers.target"
    for option in ("NoNewPrivileges", "ProtectHome", "PrivateTmp", "RestrictNamespaces"):
        assert serving["Service"][option] == "yes"


def test_every_command_the_page_names_is_one() -> None:
    lines = [line for kind in ("text", "sh") for block in blocks(PAGE, kind) for line in block.text.splitlines()]
    typed = [found[1] for line in lines if (found := re.search(r"\bfivefold ([a-z].+)", line))]
    parsed = {parse(shlex.split(command.split(" & ")[0].split(" | ")[0])) for command in typed}
    for named in re.findall(r"`fivefold ([a-z][^`]+)`", PAGE.read_text("utf-8")):
        parsed.add(parse(shlex.split(named), alone=True))
    assert {"serve", "backup", "restore", "keys create", "bench load"} <= parsed


def test_every_option_the_page_names_is_one_of_the_server_or_of_the_commands_here() -> None:
    text = re.sub(r"^```.*?^```$", "", PAGE.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    command: Any = command_tree()
    known = {
        option
        for found in (
            *map(command.commands.get, ("serve", "backup", "restore", "rekey", "doctor")),
            *map(command.commands["bench"].commands.get, ("load", "faults", "speed")),
        )
        for param in found.params
        for option in param.opts
    }
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", text)) <= known


def test_the_table_of_figures_is_that_of_the_code() -> None:
    told = {
        name: {label.strip() for label in labels.split(",") if label.strip()}
        for name, labels in re.findall(r"^\| `(fivefold_\w+)` \|([^|]*)\|", PAGE.read_text("utf-8"), re.MULTILINE)
    }
    with toy(":memory:") as mem:
        metrics = Metrics(mem.store)
        try:
            families = [family for family in metrics.registry.collect() if family.name.startswith("fivefold_")]
            labels = {name: set(one._labelnames) for name, one in metrics.registry._names_to_collectors.items()}  # type: ignore[attr-defined]
            assert b"fivefold_build_info" in generate_latest(metrics.registry)
        finally:
            metrics.close()
    real = {family.name + ("_total" if family.type == "counter" else "") for family in families}
    assert set(told) == real
    assert told == {name: labels[name] for name in real}
