"""A folder in which one of the shipped model files is missing or damaged."""

from __future__ import annotations

from pathlib import Path

import pytest

from fivefold.models import shipped


def with_model_file(monkeypatch: pytest.MonkeyPatch, folder: Path, name: str, data: bytes | None) -> None:
    """As if the package lay in `folder` and its model file held `data`, or were missing; the others are sound."""
    for path in shipped.FOLDER.iterdir():
        if path.name != name:
            (folder / path.name).symlink_to(path)
    if data is not None:
        (folder / name).write_bytes(data)
    monkeypatch.setattr(shipped, "FOLDER", folder)
