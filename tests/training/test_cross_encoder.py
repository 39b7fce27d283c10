"""The cross-encoder's training, for real but tiny: teacher and student learn, and the exported graph agrees."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import torch

from tests.training.scripts import scripts
from tests.training.talks import corpus, encoder

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:Sparse invariant checks", "ignore:Sparse CSR tensor"),
]
"""PyTorch's words about its own sparse tables, by which misleading memories are found."""


without_gradients = pytest.mark.usefixtures("_without_gradients")


@pytest.fixture
def _without_gradients() -> Iterator[None]:
    with torch.no_grad():
        yield


@pytest.fixture(scope="module")
def made() -> SimpleNamespace:
    return scripts("cross_encoder", "embedder")


@pytest.fixture(scope="module")
def school(made: SimpleNamespace, tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    """A teacher after some steps, a student of one layer after some more, and what they were before."""
    talks = corpus(made, tmp_path_factory.mktemp("talks"))
    plan = made.train.Plan(5.0)
    settings = made.train.Settings(batch=16, teacher=plan, students=plan, teacher_rate=1e-3, student_rate=1e-3)
    start = made.model.Embedder(encoder(made))
    mined = made.train.mined_for(start, talks)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(made.train, "STUDENTS", {"small": ((1,), 64)})
        teacher = made.train.teach(talks, start, mined, settings, seed=1)
        student = made.train.school(talks, teacher, mined, settings, seed=1)["small"]
    torch.manual_seed(1)
    return SimpleNamespace(
        talks=talks,
        mined=mined,
        settings=settings,
        teacher=teacher,
        student=student,
        before=made.scorer.Scorer(encoder(made)).eval(),
        cut=made.scorer.cut(teacher, (1,), 64).eval(),
    )


@pytest.fixture(scope="module")
def scene(made: SimpleNamespace, school: SimpleNamespace) -> tuple[Any, Any]:
    """Questions with their memories, and the same as rows."""
    asked = (~school.talks.held_out).nonzero()[:24, 0]
    dice = torch.Generator().manual_seed(9)
    told = made.batches.scene(school.talks, asked, school.mined, school.settings.mixture, dice)
    return told, made.pairs.told_pairs(school.talks, told, asked % 2 == 0)


@without_gradients
def test_the_teachers_loss_falls(made: SimpleNamespace, school: SimpleNamespace, scene: tuple[Any, Any]) -> None:
    told, rows = scene
    first, last = (
        float(made.losses.listwise(made.scorer.scores(model, rows).view_as(told.docs), told.valid, 0.2))
        for model in (school.before, school.teacher)
    )
    assert last < 0.8 * first


@without_gradients
def test_the_student_comes_nearer_to_its_teacher(
    made: SimpleNamespace, school: SimpleNamespace, scene: tuple[Any, Any]
) -> None:
    told, rows = scene
    taught = made.scorer.scores(school.teacher, rows).view_as(told.docs)
    first, last = (
        float(made.losses.distilled(made.scorer.scores(model, rows).view_as(told.docs), taught, told.valid, 0.1))
        for model in (school.cut, school.student)
    )
    assert last < 0.8 * first


@without_gradients
def test_the_exported_graph_gives_pytorchs_scores(
    made: SimpleNamespace, school: SimpleNamespace, scene: tuple[Any, Any], tmp_path: Path
) -> None:
    rows, calibration = scene[1], made.calibrate.Calibration(0.7, -1.5)
    for name, model in (("teacher", school.teacher), ("student", school.student)):
        path = tmp_path / f"{name}.onnx"
        onnx.save(made.export.written(model, calibration, None), path)
        session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        given = {"input_ids": rows.ids, "attention_mask": (rows.ids != 0).long(), "token_type_ids": rows.parts}
        logits, chances = session.run(["logit", "score"], {key: value.numpy() for key, value in given.items()})
        exact = made.scorer.scores(model, rows).numpy()
        assert np.abs(logits - exact).max() < 1e-4
        assert np.abs(chances - calibration.chance(exact)).max() < 1e-4
        assert {item.name for item in session.get_inputs()} == set(given)


@without_gradients
def test_the_int8_graph_orders_alike(
    made: SimpleNamespace, school: SimpleNamespace, scene: tuple[Any, Any], tmp_path: Path
) -> None:
    rows, path = scene[1], tmp_path / "int8.onnx"
    onnx.save(made.export.written(school.student, made.calibrate.Calibration(1.0, 0.0), rows), path)
    found = made.evaluate.onnx_score(path)(rows.ids.numpy(), rows.parts.numpy())
    assert np.corrcoef(found, made.scorer.scores(school.student, rows).numpy())[0, 1] > 0.97


def test_a_saved_scorer_comes_back(made: SimpleNamespace, school: SimpleNamespace, tmp_path: Path) -> None:
    made.scorer.save(school.student, tmp_path / "small.safetensors")
    again = made.scorer.load(tmp_path / "small.safetensors", encoder(made).words.weight.data)
    assert len(again.encoder.layers) == 1
    for name, value in school.student.state_dict().items():
        assert torch.allclose(again.state_dict()[name], value, atol=2e-3)


def test_chances_are_calibrated_on_held_out_pairs(made: SimpleNamespace) -> None:
    """Logits three times too sure and shifted by one: the fit finds a third, and the error goes."""
    chance = np.random.default_rng(4)
    true = chance.normal(-1, 2, 40_000)
    answers = (chance.random(true.shape) < 1 / (1 + np.exp(-true))).astype(np.float64)
    logits = 3 * (true + 1)
    found = made.calibrate.fitted(logits, answers)
    assert (found.scale, found.shift) == pytest.approx((1 / 3, -1), abs=0.05)
    before = made.calibrate.calibration_error(made.calibrate.Calibration(1.0, 0.0).chance(logits), answers)
    assert made.calibrate.calibration_error(found.chance(logits), answers) < 0.01 < before
