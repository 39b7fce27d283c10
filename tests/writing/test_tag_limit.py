"""No way of writing gives a memory more tags than it may have."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fivefold.errors import InvalidInput
from fivefold.values.validate import MAX_STORED_TAGS, MAX_TAGS
from tests.support.toy_engine import toy


def test_the_tags_of_equal_notes_end_at_the_limit(tmp_path: Path) -> None:
    with toy(str(tmp_path / "m.db")) as mem:
        first = [f"a{number}" for number in range(MAX_TAGS - 1)]
        mem.remember("The gate is green", id="gate", tags=first)
        mem.remember("The gate is green", tags=["b0", "b1"])
        assert list(mem.get("gate").tags) == [*first, "b0"]


def test_an_exported_memory_with_very_many_tags_is_refused(tmp_path: Path) -> None:
    lines = tmp_path / "out.jsonl"
    with toy(str(tmp_path / "m.db")) as mem:
        mem.remember("The gate is green", id="gate", tags=["a"])
        mem.export_jsonl(lines)
    memory = json.loads(lines.read_text("utf-8"))
    memory["tags"] = [f"a{number}" for number in range(MAX_STORED_TAGS + 1)]
    lines.write_text(json.dumps(memory), "utf-8")
    with toy(str(tmp_path / "other.db")) as other, pytest.raises(InvalidInput, match="tags"):
        other.import_jsonl(lines)
