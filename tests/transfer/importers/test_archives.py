"""An archive that expands far beyond what a text can is refused before it fills the machine."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from fivefold.errors import InvalidFile
from fivefold.transfer.importers import ImportLog, read
from fivefold.transfer.importers import sources as source_files
from fivefold.transfer.importers.sources import open_source_file

NAME = "conversations.json"


def packed(path: Path, data: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(NAME, data)
    return path


def test_a_bomb_is_refused_where_it_passes_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_files, "FREE_BYTES", 100_000)
    bomb = packed(tmp_path / "bomb.zip", b"[" + b" " * 3_000_000 + b"]")
    with pytest.raises(InvalidFile, match="times its packed size; if you trust it, unpack it"):
        list(read(bomb, "claude", log=ImportLog(strict=True)))


def test_a_text_that_packs_well_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_files, "FREE_BYTES", 1_000)
    data = json.dumps([{"text": f"line {number} of the talk"} for number in range(5_000)]).encode()
    with open_source_file(packed(tmp_path / "talk.zip", data), NAME) as (stream, _):
        assert stream.read() == data


def test_no_file_expands_beyond_the_greatest_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_files, "MAX_EXPANDED", 10_000)
    with (
        pytest.raises(InvalidFile, match="expands to more than"),
        open_source_file(packed(tmp_path / "large.zip", bytes(range(256)) * 100), NAME) as (stream, _),
    ):
        stream.read()
