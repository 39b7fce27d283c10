"""What only the formats of benchmarks need of JSON files: lists, and folders of lines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fivefold.errors import InvalidInput
from fivefold.values.json_files import PACKED, document, kind_of


def listed(path: str | Path) -> list[Any]:
    """The one JSON list that a file holds."""
    path, value = Path(path), document(path)
    if not isinstance(value, list):
        raise InvalidInput(f"{path.name}: must be a list at its top, not {kind_of(value)}")
    if not value:
        raise InvalidInput(f"{path.name}: the list is empty; there is nothing to measure")
    return value


def find_file(folder: Path, name: str) -> Path:
    """The one file of lines with this name, plain or packed."""
    paths = [folder / f"{name}.jsonl{end}" for end in ("", *PACKED)]
    found = [path for path in paths if path.exists()]
    if not found:
        names = [path.name for path in paths]
        raise InvalidInput(f"{folder} holds neither {', '.join(names[:-1])} nor {names[-1]}; write one of them")
    if len(found) > 1:
        raise InvalidInput(f"{folder} holds both {found[0].name} and {found[1].name}; keep one of them")
    return found[0]
