"""Writes the types of the TypeScript client from the OpenAPI document, by openapi-typescript."""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from fivefold.service.service import open_service
from fivefold.web.app import create_app

CLIENT = Path(__file__).resolve().parent.parent / "clients/typescript"
TARGET = CLIENT / "src/schema.ts"


def schema() -> str:
    """The types of every request and answer. Errors are left out, since all are a `Problem`."""
    with tempfile.TemporaryDirectory() as folder:
        service = open_service(str(Path(folder) / "empty.db"))
        document = _bare(create_app(service, pages=False, mcp=False).openapi())
        service.close()
        for shape in document["components"]["schemas"].values():
            shape.get("properties", {}).get("recipe", {}).pop("enum", None)  # another server has others
        for item in document["paths"].values():
            for operation in item.values():
                answers = operation["responses"].items()
                operation["responses"] = {status: answer for status, answer in answers if int(status) < 400}
        source, target = Path(folder) / "openapi.json", Path(folder) / "schema.ts"
        source.write_text(json.dumps(document), "utf-8")
        options = ["--output", target, "--default-non-nullable", "false"]
        subprocess.run(
            [CLIENT / "node_modules/.bin/openapi-typescript", source, *options], check=True, capture_output=True
        )
        return target.read_text("utf-8")


def _bare(value: Any) -> Any:
    """A part of the document without its examples and titles."""
    if isinstance(value, dict):
        if "properties" in value:  # a union of what is required would forget the types
            value.pop("anyOf", None)
        named = {"example", *(name for name in ("title",) if isinstance(value.get(name), str))}
        return {name: _bare(item) for name, item in value.items() if name not in named}
    return [_bare(item) for item in value] if isinstance(value, list) else value


if __name__ == "__main__":
    TARGET.write_text(schema(), "utf-8")
    print(f"{TARGET.name}: {TARGET.stat().st_size:,} bytes")
