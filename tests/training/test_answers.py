"""The answer model's training, for real but tiny, and the same network in PyTorch and in NumPy."""

from __future__ import annotations

import importlib
import random
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from fivefold.models.answers import AWAY, AnswerModel
from fivefold.models.binary import unpack
from fivefold.models.embedders import DEFAULT, embedder
from fivefold.models.token_vectors import pack
from fivefold.models.token_vectors import unpack as unpack_tokens
from fivefold.values.reading import QuestionReading
from tests.training.scripts import scripts
from tests.training.talks import THINGS, corpus, encoder


@pytest.fixture(scope="module")
def made() -> SimpleNamespace:
    names = ("evaluate", "export", "head", "pairs", "scenes", "train")
    return SimpleNamespace(**{name: importlib.import_module(f"training.answers.{name}") for name in names})


@pytest.fixture(scope="module")
def base() -> SimpleNamespace:
    return scripts("embedder")


@pytest.fixture(scope="module")
def reader(made: SimpleNamespace, base: SimpleNamespace) -> Any:
    """A shallow embedder with random weights, always the same."""
    with torch.random.fork_rng():
        torch.manual_seed(5)
        model = base.model.TokenEmbedder(encoder(base, width=96)).eval()
    return made.pairs.Reader(model, base.late.stored_pieces("cpu"), torch.device("cpu"))


@pytest.fixture(scope="module")
def lessons(base: SimpleNamespace, tmp_path_factory: pytest.TempPathFactory) -> Any:
    talks = corpus(base, tmp_path_factory.mktemp("talks"))
    return base.train.Lessons(talks, None, torch.eye(len(talks.questions)), base.late.stored_pieces("cpu"))


def made_up(made: SimpleNamespace, count: int) -> list[Any]:
    """Scenes of six memories: of each thing one knows the colour, of none the price."""
    dice, scenes = random.Random(4), []
    for number in range(count):
        things = dice.sample(THINGS, 6)
        day = made.scenes.date(2024, 3, 1)
        memories = tuple(made.scenes.Told("user", day, f"The {thing} is green.") for thing in things)
        asked = [made.scenes.Asked(f"Colour of the {thing}?", (i,)) for i, thing in enumerate(things[:4])]
        asked += [made.scenes.Asked(f"Price of the {thing}?", ()) for thing in things[4:]]
        scenes.append(made.scenes.Scene(f"s{number}", memories, tuple(asked)))
    return scenes


@pytest.fixture(scope="module")
def course(made: SimpleNamespace) -> Any:
    return made.train.Course(width=32, seconds=600, steps=300, scenes=4, questions=4, corpus=0.0, rate=3e-3)


@pytest.fixture(scope="module")
def head(made: SimpleNamespace, reader: Any, lessons: Any, course: Any) -> Any:
    return made.export.rounded(made.train.train(reader, lessons, made_up(made, 12), course))


def test_the_shipped_scenes_are_as_the_page_says(made: SimpleNamespace) -> None:
    scenes = made.scenes.read_scenes()
    use, kept = made.scenes.split(scenes)
    assert (len(scenes), len(use), len(kept)) == (338, 309, 29)
    assert len({scene.name for scene in scenes}) == 338
    questions = [question for scene in scenes for question in scene.questions]
    assert (sum(len(scene.memories) for scene in scenes), len(questions)) == (3828, 5006)
    assert sum(not question.answers for question in questions) == 1601


def test_a_scene_is_laid_out_as_memories_are(made: SimpleNamespace) -> None:
    day = made.scenes.date(2024, 3, 9)
    assert made.scenes.Told("user", day, "So it is.").laid_out() == "9 March 2024 So it is."
    moved = made.scenes.timedelta(days=-9)
    assert made.scenes.Told("Mia", day, "So it is.").laid_out(moved) == "Mia (29 February 2024): So it is."


def test_a_lesson_pairs_each_question_with_the_memories_of_its_scene(made: SimpleNamespace, reader: Any) -> None:
    lesson = made.pairs.scene_lesson(reader, made_up(made, 2), random.Random(1))
    assert len(lesson.answers) == 2 * 6 * 6
    assert lesson.answers.sum() == 8
    assert (lesson.memory // 6 == lesson.question // 6).all()
    assert lesson.pairs.signals.shape == (72, 3)
    right = lesson.answers.nonzero()[:, 0]
    assert ((lesson.memory % 6)[right] == (lesson.question % 6)[right]).all()


def test_a_lesson_of_the_corpus_has_one_answer_a_question(
    made: SimpleNamespace, base: SimpleNamespace, reader: Any, lessons: Any
) -> None:
    given = base.train.draw_batch(lessons, torch.arange(8), base.train.Settings(), torch.Generator().manual_seed(1))
    lesson = made.pairs.corpus_lesson(reader, given)
    assert lesson.answers.sum() == 8
    assert torch.equal(lesson.question[lesson.answers], torch.arange(8))
    assert (~lesson.answers).sum() > 8


def test_the_loss_by_hand(made: SimpleNamespace, course: Any) -> None:
    """Two questions over two memories; log-odds 0 everywhere, and only the first is answered, by the first memory."""
    place = torch.tensor([0, 0, 1, 1]), torch.tensor([0, 1, 0, 1])
    lesson = made.pairs.Lesson(None, torch.tensor([True, False, False, False]), *place)
    each, chosen, best = 5 * np.log(2) / 4, np.log(2), 3 * np.log(2) / 2
    expected = each + course.listwise * chosen + course.never * best
    assert float(made.train.scene_loss(torch.zeros(4), lesson, course)) == pytest.approx(expected, abs=1e-5)
    assert float(made.train.pair_loss(torch.zeros(4), lesson)) == pytest.approx(each, abs=1e-5)


def test_a_short_training_learns(made: SimpleNamespace, reader: Any, course: Any, head: Any) -> None:
    lesson = made.pairs.scene_lesson(reader, made_up(made, 16)[12:], random.Random(2))
    with torch.no_grad():
        torch.manual_seed(9)
        first, last = (
            made.train.scene_loss(one(lesson.pairs), lesson, course) for one in (made.head.AnswerHead(32), head)
        )
    assert last < 0.8 * first


def test_the_corpus_takes_part_in_training(made: SimpleNamespace, reader: Any, lessons: Any, course: Any) -> None:
    """Two steps over the same scenes, with the corpus and without it, end in different networks."""
    short = replace(course, steps=2)
    alone, both = (made.train.train(reader, lessons, made_up(made, 2), replace(short, corpus=c)) for c in (0.0, 0.5))
    assert not torch.equal(alone.d.weight, both.d.weight)


def test_pytorch_and_numpy_agree(made: SimpleNamespace, reader: Any, head: Any, tmp_path: Path) -> None:
    """Both read the memories as they are stored: packing what is already at four bits may move its scale by a step."""
    contents = unpack(made.export.write(head, tmp_path / "answers.bin").read_bytes())
    model = AnswerModel(contents.name, contents.pin, contents.tensors)
    assert model.pin == embedder(DEFAULT).pin
    given = made.pairs.scene_lesson(reader, made_up(made, 1), random.Random(2)).pairs
    packed = [pack(tokens[mask].numpy()) for tokens, mask in zip(given.told, given.told_mask, strict=True)]
    stored = torch.zeros_like(given.told)
    for row, tokens in enumerate(packed):
        stored[row, given.told_mask[row]] = torch.from_numpy(unpack_tokens(tokens, 64))
    with torch.no_grad():
        by_torch = head(given._replace(told=stored)).numpy()
    pairs = SimpleNamespace(**{name: part.numpy() for name, part in given._asdict().items()})
    for i, found in enumerate(by_torch):
        here = pairs.asked_mask[i]
        share = pairs.weights[i][here] / pairs.weights[i][here].sum()
        question = QuestionReading(np.zeros(96, np.float32), pairs.asked[i][here], share, ())
        late, dense = (pairs.signals[i, [part]] / 5 for part in (0, 1))
        by_numpy = model.logits(question, [packed[i]], late, dense)
        assert by_numpy[0] == pytest.approx(found, abs=1e-3)
        assert by_numpy[0] != AWAY


def test_the_area_by_hand(made: SimpleNamespace) -> None:
    """Of six pairs of a right and a wrong one, four are in order and one is equal."""
    assert made.evaluate.area([3, 2, 1, 2, 0], [True, True, True, False, False]) == pytest.approx(4.5 / 6)


def test_held_out_figures_come_from_the_package_itself(made: SimpleNamespace, head: Any, tmp_path: Path) -> None:
    contents = unpack(made.export.write(head, tmp_path / "answers.bin").read_bytes())
    model = AnswerModel(contents.name, contents.pin, contents.tensors)
    found = made.evaluate.measure(model, made_up(made, 2), embedder(DEFAULT))
    assert set(found) == set(made.evaluate.MEASURES)
    for figures in found.values():
        assert (len(figures.best), len(figures.first)) == (12, 8)
    assert np.mean(found["cosine"].first) == 1.0


def test_a_run_ends_by_its_steps(made: SimpleNamespace, reader: Any, lessons: Any, course: Any) -> None:
    """None at all leaves the network as it was drawn."""
    torch.manual_seed(1)
    fresh = made.head.AnswerHead(32)
    none = made.train.train(reader, lessons, made_up(made, 2), replace(course, steps=0), seed=1)
    assert all(torch.equal(fresh.state_dict()[name], value) for name, value in none.state_dict().items())
