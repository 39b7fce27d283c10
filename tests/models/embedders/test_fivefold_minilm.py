"""The default embedder: what a damaged install does, and namespaces that stay with the model they began with."""

from __future__ import annotations

from pathlib import Path

import pytest

import fivefold
from fivefold.engine import Engine
from fivefold.errors import EmbedderError
from fivefold.models import bert
from fivefold.models.embedders.fivefold_minilm import FILE, FivefoldMiniLM
from tests.support.model_folder import with_model_file

TOLD = ["The kettle in the kitchen is red", "Bertil bakes with rye flour", "The spare key hangs behind the door"]


@pytest.mark.parametrize("data", [None, b"", b"no graph at all", b"\x08\x09" * 500])
def test_a_missing_or_damaged_file_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, data: bytes | None
) -> None:
    with_model_file(monkeypatch, tmp_path, FILE, data)
    with pytest.raises(EmbedderError, match=rf"{FILE} could not be loaded; install fivefold again"):
        FivefoldMiniLM().embed(["kettle"])


def test_a_damaged_file_leaves_the_answer_by_words(
    engine: Engine, store_path: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    engine.remember_many(TOLD)
    (tmp_path / "models").mkdir()
    with_model_file(monkeypatch, tmp_path / "models", FILE, b"no graph at all")
    with fivefold.open(store_path, embedder=FivefoldMiniLM()) as broken:
        answer = broken.recall("where is the spare key?")
        with pytest.raises(EmbedderError, match="install fivefold again"):
            broken.remember("The boiler was mended")
    assert answer[0].memory.content == TOLD[2]
    assert answer.degraded == ("dense", "late")
    assert all("install fivefold again" in run.reason for run in answer.routes if run.status == "failed")


def test_missing_word_pieces_leave_the_answer_by_words(
    engine: Engine, store_path: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    engine.remember_many(TOLD)
    (tmp_path / "models").mkdir()
    with_model_file(monkeypatch, tmp_path / "models", "bert-uncased-vocab.txt", None)
    monkeypatch.setattr(bert, "_vocabulary", bert._vocabulary.__wrapped__)
    assert bert.whole_words.__wrapped__() == {}
    with fivefold.open(store_path, embedder=FivefoldMiniLM()) as broken:
        answer = broken.recall("where is the spare key?")
        with pytest.raises(EmbedderError, match=r"bert-uncased-vocab\.txt could not be loaded; install fivefold again"):
            broken.remember("The boiler was mended")
    assert answer[0].memory.content == TOLD[2]
    assert answer.degraded == ("dense", "late")


def test_a_namespace_pinned_to_minilm_stays_with_it(store_path: str) -> None:
    with fivefold.open(store_path, embedder="minilm") as engine:
        engine.remember_many(TOLD)
    with fivefold.open(store_path) as engine:
        assert engine.stats().embedder == "minilm@1.0.0"
        engine.remember("Priya moved to Lisbon")
        for question, wanted in (("what colour is the kettle?", TOLD[0]), ("Lisbon", "Priya moved to Lisbon")):
            answer = engine.recall(question)
            assert answer.embedder == "minilm@1.0.0"
            assert answer[0].memory.content == wanted
            assert not answer.degraded
    with fivefold.open(store_path, namespace="new") as engine:
        engine.remember(TOLD[0])
        assert engine.stats().embedder == "fivefold-minilm@2"


def test_a_namespace_can_move_from_minilm_to_the_default(store_path: str) -> None:
    with fivefold.open(store_path, embedder="minilm") as engine:
        engine.remember_many(TOLD)
        assert engine.reembed("fivefold-minilm") == "fivefold-minilm@2"
        assert engine.recall("spare key")[0].memory.content == TOLD[2]
    with fivefold.open(store_path) as engine:
        assert engine.recall("spare key").embedder == "fivefold-minilm@2"
        assert all(finding.ok for finding in engine.doctor())
