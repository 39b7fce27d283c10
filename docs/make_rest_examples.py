"""Writes the answers that the OpenAPI document shows, by asking each operation its example on the sample store."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

import fivefold
from fivefold import sample
from fivefold.service.service import open_service
from fivefold.web.app import create_app
from fivefold.web.rest.operations import OPERATIONS

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "src/fivefold/web/rest/examples.json"
sys.path.insert(0, str(ROOT))

from tests.support.web_requests import ask, in_order  # noqa: E402

SHOWN_LINES = 2
"""Lines of an export that are shown."""


def main() -> None:
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "sample.db")
        with fivefold.open(path) as engine:
            engine.remember_many(sample.memories())
        service = open_service(path)
        app = create_app(service, pages=False, mcp=False)
        with TestClient(app, base_url="http://localhost", client=("127.0.0.1", 50_000)) as client:
            for name in in_order():
                operation = OPERATIONS[name]
                answer = ask(client, operation)
                assert answer.status_code == operation.status, (name, answer.text)
                lines = operation.answers is None
                found[name] = "".join(answer.text.splitlines(True)[:SHOWN_LINES]) if lines else answer.json()
        service.close()
    TARGET.write_text(json.dumps(found, ensure_ascii=False, indent=1) + "\n", "utf-8")
    print(f"{TARGET.name}: {len(found)} answers, {TARGET.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
