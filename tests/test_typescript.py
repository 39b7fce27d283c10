"""The TypeScript client against a real server, as an application uses it; `make test` installs what it needs."""

from __future__ import annotations

import json
import os
import re
import runpy
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from fivefold.service.service import open_service
from tests.support.web_server import Served

ROOT = Path(__file__).resolve().parent.parent
CLIENT = ROOT / "clients/typescript"
DOC = ROOT / "docs/typescript.md"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (CLIENT / "node_modules").exists(), reason="npm has not installed the client's packages"),
]


def run(*command: str | Path, at: Path, **variables: str) -> str:
    done = subprocess.run(command, cwd=at, env={**os.environ, **variables}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module", autouse=True)
def _built() -> None:
    run(CLIENT / "node_modules/.bin/tsc", at=CLIENT)


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, str]]:
    path = str(tmp_path_factory.mktemp("typescript") / "memories.db")
    service = open_service(path)
    _, secret = service.keyring.create("the client", "writer", ["*"])
    service.close()
    with Served(path, key=secret) as served:
        yield served, secret


def test_types_are_those_of_the_openapi_document() -> None:
    own = runpy.run_path(str(ROOT / "docs/make_typescript.py"))
    assert own["TARGET"].read_text("utf-8") == own["schema"](), "renew it: python docs/make_typescript.py"


def test_client_and_tools(key: tuple[Served, str]) -> None:
    served, secret = key
    run("node", "--test", "dist/", at=CLIENT, FIVEFOLD_TEST_URL=served.url, FIVEFOLD_TEST_KEY=secret)
    recalled = served.client.post("/v1/namespaces/retried/recall", json={"question": "when does the plumber come?"})
    assert recalled.json()["hits"][0]["memory"]["content"] == "The plumber comes on Tuesday"


def test_documented_programs_compile_and_run(key: tuple[Served, str], tmp_path: Path) -> None:
    served, secret = key
    modules = tmp_path / "node_modules"
    modules.mkdir()
    for name in ("ai", "@types", "typescript"):
        (modules / name).symlink_to(CLIENT / "node_modules" / name)
    (modules / "fivefold").symlink_to(CLIENT)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    programs = re.findall(r"^```ts\n(.*?)^```", DOC.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    for number, program in enumerate(programs):
        text = program.replace("http://127.0.0.1:8484", served.url).replace("ff_…", secret)
        (tmp_path / f"program{number}.ts").write_text(text, "utf-8")
    options = "--strict --target es2022 --module nodenext --skipLibCheck".split()
    run(CLIENT / "node_modules/.bin/tsc", *options, *(f"program{i}.ts" for i in range(len(programs))), at=tmp_path)
    runnable = [number for number, program in enumerate(programs) if "model:" not in program]
    assert 0 < len(runnable) < len(programs)
    for number in runnable:
        printed = run("node", f"program{number}.js", at=tmp_path)
        promised = re.findall(r"// → (.*)", programs[number])
        assert promised
        assert printed.splitlines() == promised


def test_package_holds_what_is_built_and_no_test() -> None:
    [packed] = json.loads(run("npm", "pack", "--dry-run", "--json", "--ignore-scripts", at=CLIENT))
    names = {file["path"] for file in packed["files"]}
    assert {"package.json", "README.md", "dist/index.js", "dist/index.d.ts", "dist/ai.js", "dist/schema.d.ts"} <= names
    assert not [name for name in names if "test" in name or name.startswith("src")]
    lock = (CLIENT / "package-lock.json").read_text("utf-8")
    assert '"resolved"' not in lock  # npm takes its packages from the registry that it is set to
