"""Model files: each is what was shipped, and one that was changed or is missing says so."""

from __future__ import annotations

from pathlib import Path

import pytest

import fivefold
from fivefold.models.bert import tokenizer
from fivefold.models.embedders.fivefold_minilm import FivefoldMiniLM
from fivefold.models.shipped import FOLDER, SUMS, digest_of, load_shipped, shipped_lines
from tests.support.model_folder import with_model_file


def test_every_file_has_its_digest() -> None:
    """Where this fails after a model was replaced: `python training/model_sums.py`."""
    lines = (FOLDER / SUMS).read_text("utf-8").splitlines()
    files = sorted(path for path in FOLDER.iterdir() if path.name != SUMS)
    assert lines == [f"{digest_of(path)}  {path.name}" for path in files]


def test_a_sound_file_is_loaded() -> None:
    assert load_shipped("weights.bin", lambda path: path.name) == "weights.bin"
    assert len(shipped_lines("bert-uncased-vocab.txt")) == 30_522
    assert tokenizer(16).encode("plum").tokens == ["[CLS]", "plum", "[SEP]"]


def test_a_model_with_one_changed_bit_is_not_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    data = bytearray((FOLDER / "fivefold-minilm.onnx").read_bytes())
    data[len(data) // 2] ^= 1
    with_model_file(monkeypatch, tmp_path, "fivefold-minilm.onnx", bytes(data))
    with pytest.raises(
        fivefold.EmbedderError, match=r"fivefold-minilm.onnx could not be loaded; install fivefold again"
    ):
        FivefoldMiniLM().embed(["plum"])


@pytest.mark.parametrize("data", [None, b"[PAD]\nplum\n"])
def test_a_changed_list_of_words_is_not_used(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, data: bytes | None
) -> None:
    with_model_file(monkeypatch, tmp_path, "bert-uncased-vocab.txt", data)
    with pytest.raises(fivefold.EmbedderError, match="install fivefold again"):
        shipped_lines("bert-uncased-vocab.txt")
