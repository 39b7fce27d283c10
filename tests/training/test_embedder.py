"""The embedder's training, for real but tiny: both heads learn, and the exported graph gives what PyTorch gives."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx
import pytest
import torch

from fivefold.models.embedders import pack, unpack
from fivefold.models.embedders.fivefold_minilm import PassageTokenizer
from fivefold.values.vectors import Passage
from tests.training.scripts import scripts
from tests.training.talks import corpus, encoder

pytestmark = pytest.mark.slow

PASSAGES = [
    Passage("Which thing has Mia mended?"),
    Passage("Mia (7 May 2023): I mended the old boat yesterday.", "What did you do with the boat?"),
    Passage("a"),
    Passage(""),
    Passage("boat " * 400, "And what else is there? " * 30),
    Passage("7 May 2023 the telescope, and a much longer text about nothing but carpets and candles", "Candles?"),
]


@pytest.fixture(scope="module")
def made() -> SimpleNamespace:
    return scripts("embedder")


@pytest.fixture(scope="module")
def run(made: SimpleNamespace, tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    """The lessons, the settings, and the models before and after some steps."""
    talks = corpus(made, tmp_path_factory.mktemp("talks"))
    pieces = made.late.stored_pieces("cpu")
    lessons = made.train.Lessons(talks, None, torch.eye(len(talks.questions)), pieces)
    changes = {"epochs": 3.0, "batch": 24, "rate": 2e-3, "shares": {"anchor": 0.1}}
    settings = made.train.changed(made.train.Settings(), changes)
    before, after = (_models(made) for _ in range(2))
    made.train.train(lessons, after, settings, seed=1)
    return SimpleNamespace(lessons=lessons, settings=settings, before=before, after=after, model=after.pupil)


def small_encoder(made: SimpleNamespace) -> Any:
    return encoder(made, width=96)


def _models(made: SimpleNamespace) -> Any:
    """A pupil of two layers with random heads, always the same, and two models that stay as they are."""
    with torch.random.fork_rng():
        torch.manual_seed(5)
        pupil = made.model.TokenEmbedder(small_encoder(made))
    return made.objective.Models(pupil, *(made.model.Embedder(small_encoder(made)).eval() for _ in range(2)))


@pytest.fixture(scope="module")
def rows(made: SimpleNamespace) -> tuple[np.ndarray, np.ndarray]:
    found: tuple[np.ndarray, np.ndarray] = made.vectors.token_rows(PassageTokenizer(), PASSAGES)
    return found


def test_both_losses_fall(made: SimpleNamespace, run: SimpleNamespace) -> None:
    asked = (~run.lessons.corpus.held_out).nonzero()[:32, 0]
    given = made.train.draw_batch(run.lessons, asked, run.settings, torch.Generator().manual_seed(9))
    for own_only in (True, False):
        matching = made.objective.Matching(run.lessons.pieces, own_only)
        with torch.no_grad():
            first, last = (
                made.objective.losses(models, given, matching, run.settings.temperatures, run.settings.trust)
                for models in (run.before, run.after)
            )
        assert last.dense < 0.8 * first.dense
        assert last.late < 0.8 * first.late


def test_the_teacher_is_imitated_where_its_share_is_large(made: SimpleNamespace, run: SimpleNamespace) -> None:
    """With nothing but the teacher in the loss, the distance to it falls."""
    alone = {"dense": 0.0, "late": 0.0, "anchor": 0.0, "teacher": 1.0, "late_teacher": 1.0}
    settings = made.train.changed(run.settings, {"epochs": 0.6, "shares": alone, "trust": {"named": 1.0}})
    models = _models(made)
    made.train.train(run.lessons, models, settings, seed=1)
    asked = (~run.lessons.corpus.held_out).nonzero()[:32, 0]
    given = made.train.draw_batch(run.lessons, asked, settings, torch.Generator().manual_seed(9))
    matching = made.objective.Matching(run.lessons.pieces)
    with torch.no_grad():
        first, last = (
            made.objective.losses(some, given, matching, settings.temperatures, settings.trust)
            for some in (run.before, models)
        )
    assert last.late_teacher < first.late_teacher


def test_the_word_table_stays_as_it_is(run: SimpleNamespace) -> None:
    before, after = run.before.pupil.encoder, run.model.encoder
    assert torch.equal(before.words.weight, after.words.weight)
    assert not torch.equal(before.layers[0].qkv.weight, after.layers[0].qkv.weight)


def test_the_vector_is_the_mean_of_the_texts_own_tokens(made: SimpleNamespace, run: SimpleNamespace) -> None:
    """The turn before is read: it changes the vector of the same text, and its tokens are not in the mean."""
    ids, own = made.vectors.token_rows(PassageTokenizer(), PASSAGES[1:2])
    with torch.no_grad():
        hidden = run.model.encoder(torch.from_numpy(ids), torch.from_numpy(ids != 0))[0, own[0] > 0].mean(0)
    vector, tokens, weights = made.vectors.torch_heads(run.model)(ids, own)
    np.testing.assert_allclose(vector[0], hidden / hidden.norm(), atol=1e-5)
    alone, _, _ = made.vectors.torch_heads(run.model)(ids[:, : own.sum()], own[:, : own.sum()])
    assert np.abs(alone - vector).max() > 1e-4
    np.testing.assert_allclose(np.linalg.norm(tokens, axis=2), 1, atol=1e-5)
    assert (weights > 0).all()


def test_the_exported_graph_gives_what_pytorch_gives(
    made: SimpleNamespace, run: SimpleNamespace, rows: tuple[np.ndarray, np.ndarray], tmp_path: Path
) -> None:
    onnx.save(made.export.written(run.model, None), tmp_path / "float.onnx")
    by_onnx, by_torch = (
        made.vectors.onnx_heads(tmp_path / "float.onnx")(*rows),
        made.vectors.torch_heads(run.model)(*rows),
    )
    for found, exact in zip(by_onnx, by_torch, strict=True):
        assert found.shape == exact.shape
        assert np.abs(found - exact).max() < 1e-4


def test_the_int8_graph_is_near(
    made: SimpleNamespace, run: SimpleNamespace, rows: tuple[np.ndarray, np.ndarray], tmp_path: Path
) -> None:
    path = tmp_path / "int8.onnx"
    onnx.save(made.export.written(run.model, torch.from_numpy(rows[0])), path)
    by_onnx, by_torch = made.vectors.onnx_heads(path)(*rows), made.vectors.torch_heads(run.model)(*rows)
    assert (by_onnx[0] * by_torch[0]).sum(-1).min() > 0.97
    assert (by_onnx[1] * by_torch[1]).sum(-1)[rows[0] != 0].mean() > 0.97
    assert np.abs(by_onnx[2] - by_torch[2]).max() < 0.1
    assert path.stat().st_size < sum(value.numel() for value in run.model.parameters()) * 1.2


def test_four_bits_are_those_of_the_store(made: SimpleNamespace) -> None:
    vectors = torch.nn.functional.normalize(torch.randn(200, 64, generator=torch.Generator().manual_seed(2)), dim=-1)
    vectors.requires_grad_()
    near = made.late.four_bits(vectors)
    exact = vectors.detach().numpy()
    np.testing.assert_allclose(near.detach().numpy(), unpack(pack(exact), 64), atol=1e-6)
    assert np.abs(near.detach().numpy() - exact).max() > 1e-3
    (near * 2).sum().backward()
    assert vectors.grad is not None
    assert torch.equal(vectors.grad, torch.full_like(vectors, 2.0))


def test_pieces_are_skipped_as_the_engine_skips_them(made: SimpleNamespace) -> None:
    """Over every piece of the vocabulary in random company, and in real rows."""
    chance = np.random.default_rng(3)
    ids = np.stack([chance.permutation(30_522) for _ in range(3)]).reshape(-1, 6)
    engine, tables = PassageTokenizer(), made.late.stored_pieces("cpu")
    for some in (ids, made.vectors.token_rows(engine, PASSAGES)[0]):
        expected = engine.stored(some, (some != 0).astype(np.int64))
        assert np.array_equal(tables.of(torch.from_numpy(some)).numpy(), expected)
        assert 0 < expected.mean() < 1


def test_late_scores_are_those_of_the_engine(made: SimpleNamespace, run: SimpleNamespace) -> None:
    """A question against memories, once as in training and once with what the engine stores and computes."""
    heads = made.vectors.torch_heads(run.model)
    memories, (question,) = PASSAGES[1:], made.vectors.read_questions(heads, [PASSAGES[0].text])
    read = made.vectors.read_memories(heads, memories)
    by_engine = dict(made.evaluate.all_scores(question, read))
    ids, own = (torch.from_numpy(part) for part in made.vectors.token_rows(PassageTokenizer(), memories))
    asked = made.model.Reading(
        *(torch.from_numpy(part)[None] for part in (question.vector, question.tokens, question.weights))
    )
    with torch.no_grad():
        told = run.model(ids, own > 0)
        for name, mask in (("late", ids != 0), ("late, own tokens", own > 0)):
            chosen = made.late.gather_tokens(told.tokens, mask & made.late.stored_pieces("cpu").of(ids))
            scores = made.late.late_scores(asked, made.late.four_bits(chosen[0]), chosen[1])[0].numpy()
            full = chosen[1].any(1).numpy()
            np.testing.assert_allclose(scores[full], by_engine[name][full], atol=1e-4)


def test_saved_weights_come_back(made: SimpleNamespace, run: SimpleNamespace, tmp_path: Path) -> None:
    """All but the word table, in half precision, put over the published model."""
    made.vectors.save(run.model, tmp_path / "trained.safetensors")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(made.vectors, "published", lambda path: small_encoder(made))
        again = made.vectors.trained(Path("unread"), tmp_path / "trained.safetensors")
    for name, value in run.model.state_dict().items():
        assert torch.allclose(again.state_dict()[name], value, atol=2e-3)
    assert torch.equal(again.encoder.words.weight, run.before.pupil.encoder.words.weight)


def test_ranks_are_those_that_one_counts(made: SimpleNamespace, run: SimpleNamespace) -> None:
    """Twenty questions over ten talks of six memories; the talk that counts is another than the one asked about."""
    talks, docs, asked = run.lessons.corpus, torch.arange(60), torch.arange(0, 60, 3)
    people, none = torch.tensor([0, 1]), torch.full_like(docs, -1)
    ids = made.layout.memories(talks, docs, people.expand(60, 2), 0 * docs, none, 64)
    rows = made.layout.with_before(talks, docs, people.expand(60, 2), ids, docs > talks.begin[docs])
    questions = made.layout.questions(talks, asked, people.expand(20, 2), asked < 0, none[:20], asked < 0)
    wanted = (talks.conversation[asked] + 3) % 10
    space = made.heldout.Space("own", rows, talks.conversation[docs], questions, wanted)
    found = made.heldout.reciprocal_ranks(run.before.pupil.eval(), [space], run.lessons.pieces)
    heads = made.vectors.torch_heads(run.before.pupil)
    scores = heads(questions.numpy(), questions.numpy() != 0)[0] @ heads(rows.ids.numpy(), rows.own.numpy())[0].T
    best = scores.reshape(20, 10, 6).max(axis=2)
    ranks = (best > best[np.arange(20), wanted.numpy()][:, None]).sum(axis=1)
    assert found["dense"]["own"] == pytest.approx(float((1 / (1 + ranks)).mean()), abs=1e-5)
    assert ranks.max() > 0
    assert set(found) == {"dense", "late, own tokens", "late"}
    assert found["late"]["mean"] == found["late"]["own"] / 2


def test_held_out_spaces_have_questions_that_training_never_sees(made: SimpleNamespace, run: SimpleNamespace) -> None:
    talks = run.lessons.corpus
    kinds = {space.kind for space in made.heldout.spaces(talks)}
    assert {"dated", "undated", "own"} <= kinds
    dice = torch.Generator().manual_seed(1)
    seen = torch.cat([asked for _, _, asked in made.train.question_batches(talks, run.settings, dice)])
    assert talks.held_out.any()
    assert not talks.held_out[seen].any()
