"""The model of changes: its pairs, a short real training, and the exported graph."""

from __future__ import annotations

import random
from collections.abc import Sequence
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import torch

from fivefold.models.bert import tokenizer

export, learning, reader, source, wordings = (
    import_module(f"training.reader.{name}") for name in ("export", "learn", "pair_reader", "pairs", "wordings")
)

NAMES = ("Anna", "Ben", "Carla", "Dev")


def made(count: int) -> list[Any]:
    """Pairs made from wordings, always the same."""
    return list(islice(wordings.worded(*wordings.read_wordings(), NAMES, random.Random(3)), count))


@pytest.fixture(scope="module")
def learned() -> tuple[Any, Sequence[Any]]:
    torch.manual_seed(1)
    model = reader.PairReader(reader.Encoder(2, width=48, inner=96))
    pairs = made(96)
    rows, labels = learning.rows_of(pairs, tokenizer(512), "cpu"), learning.labels_of(pairs, "cpu")
    learning.learn(model, rows, labels, None, learning.Course(3e-3, 60, 32, 300), "short")
    return model, pairs


def test_no_family_is_in_two_parts_and_each_has_every_relation() -> None:
    parts = {part: source.read_pairs(part) for part in ("train", "choose", "report")}
    families = [{pair.family for pair in pairs} for pairs in parts.values()]
    assert len(set.union(*families)) == sum(map(len, families)) == 121
    assert sum(map(len, parts.values())) == 2371
    assert all({pair.relation for pair in pairs} == set(source.RELATIONS) for pairs in parts.values())
    texts = [(pair.older, pair.newer) for pairs in parts.values() for pair in pairs]
    assert len(set(texts)) == len(texts)


def test_a_change_of_somebody_else_leaves_the_older_statement_alone() -> None:
    pair = source.Pair("move", "replaces", "Anna lives in Porto.", "Anna moved to Leeds.")
    changed = source.other_person(pair, ("Anna", "Ben"), random.Random(2))
    assert changed is not None
    assert (changed.relation, changed.older, changed.newer) == ("apart", pair.older, "Ben moved to Leeds.")


def test_drawn_pairs_keep_their_relation_but_where_a_person_or_family_changes() -> None:
    pairs = source.read_pairs("train")[:60]
    known = {(pair.family, pair.relation) for pair in pairs}
    for pair in islice(source.drawn(pairs, NAMES, random.Random(1)), 300):
        assert (pair.family, pair.relation) in known | {("unrelated", "apart"), ("other-person", "apart")}


def test_a_short_training_learns_its_pairs(learned: tuple[Any, Sequence[Any]]) -> None:
    model, pairs = learned
    logits = learning.logits_of(model, learning.rows_of(pairs, tokenizer(512), "cpu"))
    assert (logits.argmax(-1) == learning.labels_of(pairs, "cpu")).float().mean() > 0.6


def test_the_graph_gives_the_calibrated_chances(learned: tuple[Any, Sequence[Any]], tmp_path: Path) -> None:
    model, pairs = learned
    rows = learning.rows_of(pairs, tokenizer(512), "cpu")
    logits = learning.logits_of(model, rows)
    scale, shifts = export.calibration(logits, learning.labels_of(pairs, "cpu"))
    onnx.save(export.written(model, None, scale, shifts), tmp_path / "change.onnx")
    ids, mask, parts = (each.numpy() for each in rows.batch(torch.arange(len(pairs))))
    session = onnxruntime.InferenceSession(str(tmp_path / "change.onnx"))
    given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": parts}
    found, chances = session.run(["logits", "chances"], given)
    assert np.abs(found - logits.numpy()).max() < 1e-3
    assert np.allclose(chances, torch.softmax(logits * scale + torch.from_numpy(shifts), -1).numpy(), atol=1e-3)


def test_a_student_is_cut_stored_and_read_back(tmp_path: Path) -> None:
    student = reader.cut(reader.Encoder(2, inner=64, words=600), range(0, 600, 2), (1,), 32).eval()
    reader.save(student, tmp_path / "student.safetensors")
    again = reader.load(tmp_path / "student.safetensors")
    ids = torch.arange(1, 9)[None]
    one, other = (model(ids, ids > 0, (ids > 4).long()) for model in (student, again))
    assert student.encoder.words.weight.shape == (300, 384)
    assert torch.allclose(one, other, atol=0.02)
