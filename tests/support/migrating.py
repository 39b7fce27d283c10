"""What the tests of migrations share: a look at what arrived."""

from __future__ import annotations

from pathlib import Path

import fivefold


def exported(location: str, namespace: str, folder: Path) -> bytes:
    """A namespace as it is exported; the doctor finds it sound."""
    with fivefold.open(location, namespace=namespace) as mem:
        mem.export_jsonl(folder / "out.jsonl")
        assert [finding for finding in mem.doctor() if not finding.ok] == []
    return (folder / "out.jsonl").read_bytes()
