"""The reader's training: its data, the losses by hand, a real run on a small scale, and the exported graph."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib import import_module
from itertools import islice
from math import log
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import torch

from fivefold.models.bert import word_pieces
from fivefold.models.reader import Remark, SaidPair

pytestmark = pytest.mark.slow

PARTS = "evaluate export figures learn lessons like outside pair_reader pairs scenes school teacher train wordings"
made = SimpleNamespace(**{name: import_module(f"training.reader.{name}") for name in PARTS.split()})

NAMES = ("Anna", "Ben", "Carla", "Dev")
THINGS = ("lamp", "chair", "kettle", "sofa", "bike", "tent", "phone", "piano")


def scenes(count: int) -> list[Any]:
    """Scenes of four memories: of each thing one knows the colour, of none the price."""
    dice, found = random.Random(4), []
    for number in range(count):
        things = dice.sample(THINGS, 4)
        memories = tuple(Remark(f"The {thing} is green.", "user") for thing in things)
        asked = [made.scenes.Asked(f"Colour of the {thing}?", (i,)) for i, thing in enumerate(things[:3])]
        asked.append(made.scenes.Asked(f"Price of the {things[3]}?", ()))
        found.append(made.scenes.Scene(f"s{number}", memories, tuple(asked)))
    return found


def pairs(count: int) -> list[Any]:
    """Pairs made from wordings, always the same."""
    return list(islice(made.wordings.worded(*made.wordings.read_wordings(), NAMES, random.Random(3)), count))


def rows_of(lessons: Sequence[Any]) -> Any:
    return made.learn.rows_of([lesson.said for lesson in lessons], word_pieces(), "cpu")


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """Small matrices are slower on several."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def learned() -> tuple[Any, Sequence[Any]]:
    """A small model after a short training on both tasks, and its lessons."""
    torch.manual_seed(1)
    model = made.pair_reader.PairReader(made.pair_reader.Encoder(1, width=48, inner=96))
    lessons = [made.lessons.relation_lesson(pair) for pair in pairs(64)]
    lessons += made.lessons.scene_lessons(scenes(4), random.Random(1))
    course = made.learn.Course(5e-3, 120, 32, 300)
    made.learn.learn(model, rows_of(lessons), made.learn.goals_of(lessons, "cpu"), course, "short")
    return model, lessons


def test_no_family_is_in_two_parts_and_each_has_every_relation() -> None:
    parts = {part: made.pairs.read_pairs(part) for part in ("train", "choose", "report")}
    families = [{pair.family for pair in found} for found in parts.values()]
    assert len(set.union(*families)) == sum(map(len, families)) == 304
    assert [len(found) for found in parts.values()] == [4115, 572, 601]
    assert all({pair.relation for pair in found} == set(made.pairs.RELATIONS) for found in parts.values())
    texts = [(pair.older, pair.newer) for found in parts.values() for pair in found]
    assert len(set(texts)) == len(texts)


def test_the_scenes_are_as_the_page_says() -> None:
    found = made.scenes.read_scenes()
    use, kept = made.scenes.split(found)
    assert (len(found), len(use), len(kept)) == (772, 732, 40)
    assert {scene.name for scene in use} | {scene.name for scene in kept} == {scene.name for scene in found}
    questions = [question for scene in found for question in scene.questions]
    assert (sum(len(scene.memories) for scene in found), len(questions)) == (8886, 11811)
    assert sum(not question.answers for question in questions) == 4008


def test_a_change_of_somebody_else_leaves_the_older_statement_alone() -> None:
    pair = made.pairs.Pair("move", "replaces", "Anna lives in Porto.", "Anna moved to Leeds.")
    changed = made.pairs.other_person(pair, ("Anna", "Ben"), random.Random(2))
    assert changed is not None
    assert (changed.relation, changed.older, changed.newer) == ("apart", pair.older, "Ben moved to Leeds.")


def test_drawn_pairs_keep_their_relation_but_where_a_person_or_family_changes() -> None:
    given = made.pairs.read_pairs("train")[:60]
    known = {(pair.family, pair.relation) for pair in given}
    for pair in islice(made.pairs.drawn(given, NAMES, random.Random(1)), 300):
        assert (pair.family, pair.relation) in known | {("unrelated", "apart"), ("other-person", "apart")}


def test_every_question_meets_its_scene_and_one_memory_of_another() -> None:
    two = scenes(2)
    lessons = list(made.lessons.scene_lessons(two, random.Random(1)))
    assert len(lessons) == 2 * 4 * (4 + 1)
    assert sum(lesson.label for lesson in lessons) == 2 * 3
    assert all(lesson.asks for lesson in lessons)
    for lesson in lessons:
        thing = lesson.said.newer.text.split()[1]
        if lesson.label:
            assert sorted(thing) == sorted(lesson.said.older.text.lower().rstrip("?").split()[-1])
    assert not made.lessons.relation_lesson(pairs(1)[0]).asks


def test_every_two_memories_of_a_scene_are_a_pair_in_their_order() -> None:
    (scene,) = scenes(1)
    found = list(made.lessons.scene_pairs([scene]))
    assert [lesson.label for lesson in found] == [made.lessons.UNKNOWN] * 6
    places = [(scene.memories.index(lesson.said.older), scene.memories.index(lesson.said.newer)) for lesson in found]
    assert places == [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]


def test_a_question_varies_as_people_type() -> None:
    dice, question = random.Random(1), "Where did Mia put the Keys?"
    found = [made.lessons.varied(question, dice) for _ in range(400)]
    lower = sum(text.endswith("s") and text == text.lower() for text in found)
    assert 30 < lower < 90
    assert 200 < sum(text == question for text in found) < 370
    assert all(sorted(text.lower().rstrip("?")) == sorted(question.lower().rstrip("?")) for text in found)


def test_questions_from_elsewhere_come_with_an_answer_and_texts_near_it() -> None:
    turns = [made.outside.Text("spc_ask", 1, "AB"[i % 2], f"{{A}} likes my number {i} very much.") for i in range(9)]
    asked = [made.outside.Question("spc_ask", "Which does {A} like?", 4), made.outside.Question("molweni", "Who?", 1)]
    found = made.outside.outside_lessons(turns, asked, 100, random.Random(1))
    (right,) = [lesson for lesson in found if lesson.label]
    assert len(found) == 1 + made.outside.WRONG
    assert "number 4" in right.said.newer.text
    name = right.said.newer.speaker.capitalize()
    assert right.said.older.text == f"Which does {name} like?"
    assert {int(lesson.said.newer.text.split()[4]) for lesson in found} <= {2, 3, 4, 5, 6}
    assert len(made.outside.outside_lessons(turns, asked, 2, random.Random(1))) == 2


def test_talk_is_statements_of_chats_and_the_lives_to_choose_by() -> None:
    lines = ("I keep bees in my garden.", "Do I keep bees in my garden?", "Bees are kept in some gardens.")
    texts = [made.outside.Text("spc_stmt", 1, "A", line) for line in lines]
    found = {said.text for said in made.outside.talk(texts, random.Random(1))}
    assert lines[0] in found
    assert not found & set(lines[1:])
    assert len(found) > 500


def test_like_texts_are_paired_and_equal_ones_are_not() -> None:
    torch.manual_seed(1)
    encoder = made.pair_reader.Encoder(0, width=48).eval()
    texts = [Remark(f"The {thing} is here.", "user") for thing in THINGS] + [Remark("The lamp is here.", "ben")]
    found = list(made.like.like_lessons(texts, encoder, 2, random.Random(1)))
    assert len(found) == 2 * len(texts)
    assert all(lesson.said.older.text != lesson.said.newer.text for lesson in found)


def test_a_question_meets_the_texts_that_are_most_like_it() -> None:
    torch.manual_seed(1)
    encoder = made.pair_reader.Encoder(0, width=48).eval()
    texts = [Remark(f"The {thing} is here.", "user") for thing in THINGS]
    found = list(made.like.near_lessons([texts[2].text, texts[0].text], texts, encoder, 2))
    assert [lesson.said.newer for lesson in found[::2]] == [texts[2], texts[0]]
    assert {(lesson.label, lesson.asks) for lesson in found} == {(made.lessons.UNKNOWN, True)}
    assert len(found) == 4


def test_a_share_of_the_word_pieces_is_hidden_and_no_mark() -> None:
    ids = torch.tensor([[101, *range(2000, 2400), 102, 0]])
    torch.manual_seed(1)
    hidden, mask, parts = made.learn.hide((ids, ids > 0, ids * 0), 0.5)
    changed = hidden != ids
    assert hidden[changed].unique().tolist() == [made.learn.MASK]
    assert 150 < changed.sum() < 250
    assert not changed[0, [0, -2, -1]].any()
    assert made.learn.hide((ids, mask, parts), 0.0)[0] is ids


def test_the_loss_of_the_labels_by_hand() -> None:
    """Logits of zero: log 3 for the relation; log 2 for the answer, twice where it is one, but for what is softened."""
    goals = made.learn.Goals(torch.tensor([False, True, True, True]), torch.tensor([0, 1, 0, made.lessons.UNKNOWN]))
    answers = (0.98 * 2 + 0.02) * log(2) + (0.02 * 2 + 0.98) * log(2)
    expected = (log(3) + made.learn.ANSWERS * answers) / 4
    assert float(made.learn.loss_of(torch.zeros(4, 4), goals)) == pytest.approx(expected, abs=1e-5)


def test_the_loss_of_a_teacher_by_hand() -> None:
    """A student of zeros: what its teacher knows better of the relation, and log 2 for the answer whatever he says."""
    taught = torch.tensor([[log(2), 0.0, 0.0, 9.0], [9.0, 0.0, 0.0, 3.0]])
    goals = made.learn.Goals(torch.tensor([False, True]), torch.tensor([made.lessons.UNKNOWN] * 2), taught)
    divergence = log(3) - (0.5 * log(2) + 2 * 0.25 * log(4))
    expected = (divergence + made.learn.ANSWERS * log(2)) / 2
    assert float(made.learn.loss_of(torch.zeros(2, 4), goals)) == pytest.approx(expected, abs=1e-5)
    known = goals._replace(label=torch.tensor([0, 1]))
    more = made.learn.OWN * (log(3) + log(2)) / 2
    assert float(made.learn.loss_of(torch.zeros(2, 4), known)) == pytest.approx(expected + more, abs=1e-5)


def test_a_short_training_learns_both_tasks(learned: tuple[Any, Sequence[Any]]) -> None:
    model, lessons = learned
    logits, goals = made.learn.logits_of(model, rows_of(lessons)), made.learn.goals_of(lessons, "cpu")
    assert (logits[~goals.asks, :3].argmax(-1) == goals.label[~goals.asks]).float().mean() > 0.6
    right, wrong = (logits[goals.asks & (goals.label == label), 3].tolist() for label in (1, 0))
    assert made.figures.area(right, wrong) > 0.7


def test_the_graph_gives_logits_calibrated_chances_and_answers(
    learned: tuple[Any, Sequence[Any]], tmp_path: Path
) -> None:
    model, lessons = learned
    rows, goals = rows_of(lessons), made.learn.goals_of(lessons, "cpu")
    logits = made.learn.logits_of(model, rows)
    by = made.export.calibrate(logits[~goals.asks, :3], goals.label[~goals.asks])
    onnx.save(made.export.graph_of(model, None, by), tmp_path / "reader.onnx")
    ids, mask, parts = (each.numpy() for each in rows.batch(torch.arange(len(lessons))))
    session = onnxruntime.InferenceSession(str(tmp_path / "reader.onnx"))
    given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": parts}
    found, chances, answers = session.run(["logits", "chances", "answers"], given)
    assert np.abs(found - logits[:, :3].numpy()).max() < 1e-3
    assert np.abs(answers - logits[:, 3:].numpy()).max() < 1e-3
    expected = torch.softmax(logits[:, :3] * by.scale + torch.from_numpy(by.shifts), -1)
    assert np.allclose(chances, expected.numpy(), atol=1e-3)


def test_a_student_is_cut_stored_and_read_back(tmp_path: Path) -> None:
    reader = made.pair_reader
    student = reader.cut(reader.Encoder(2, inner=64, words=600), range(0, 600, 2), (1,), 32).eval()
    reader.save(student, tmp_path / "student.safetensors")
    again = reader.load(tmp_path / "student.safetensors")
    ids = torch.arange(1, 9)[None]
    one, other = (model(ids, ids > 0, (ids > 4).long()) for model in (student, again))
    assert student.encoder.words.weight.shape == (300, 384)
    assert one.shape == (1, 4)
    assert torch.allclose(one, other, atol=0.02)


def test_the_figures_by_hand() -> None:
    """One change above all others, one below; the best memory of two questions answers one, and one has no answer."""
    told = [replace(pairs(1)[0], relation=relation) for relation in ("replaces", "replaces", "apart", "continues")]
    logits = np.array([[3.0, 0, 0], [0, 2, 0], [0, 0, 2], [0, 2, 0]])
    found = made.figures.relation_figures(logits, told)
    assert (found.right, found.found) == (0.75, (0.5, 0.5, 0.5))
    two, none = made.scenes.Asked("a?", (1,)), made.scenes.Asked("b?", ())
    scene = made.scenes.Scene("s", (Remark("x"), Remark("y")), (two, two, none))
    figures = made.figures.answer_figures(np.array([0.0, 2.0, 3.0, 1.0, 1.0, -1.0]), [scene])
    assert (figures.first, figures.area, figures.never) == (0.5, 1.0, (1.0, 1.0))
    assert made.figures.area([3, 2, 1], [2, 0]) == pytest.approx(4.5 / 6)
    assert made.figures.asked_pairs([scene])[1] == SaidPair(Remark("a?", "question"), Remark("y"))


@pytest.fixture
def mpnet(tmp_path: Path) -> Path:
    """The folder of a small MPNet with random weights."""
    transformers = import_module("transformers")
    config = transformers.MPNetConfig(
        hidden_size=48, num_hidden_layers=1, num_attention_heads=4, intermediate_size=64, vocab_size=30527
    )
    with torch.random.fork_rng():
        torch.manual_seed(1)
        transformers.MPNetModel(config).save_pretrained(tmp_path / "mpnet")
    return tmp_path / "mpnet"


def test_a_teacher_reads_word_pieces_of_bert(mpnet: Path) -> None:
    ids, mask = torch.tensor([[101, 7592, 102, 103, 0]]), torch.tensor([[1, 1, 1, 1, 0]])
    assert made.teacher.mpnet_ids(ids, mask).tolist() == [[0, 7596, 2, 30526, 1]]
    one, same, other = (made.teacher.load_teacher(mpnet, seed).eval() for seed in (1, 1, 2))
    first, again, different = (model(ids, mask, mask) for model in (one, same, other))
    assert first.shape == (1, 4)
    assert torch.equal(first, again)
    assert not torch.allclose(first, different)


def test_a_run_on_a_small_scale_makes_a_student(
    mpnet: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    school = made.school.School.open("cpu", 0.01, 600)
    school = replace(school, train=school.train[:4], scenes=scenes(2), kept=scenes(3)[2:])
    school = replace(school, unseen={part: found[::60] for part, found in school.unseen.items()})
    for name in ("PAIRS", "MORE_PAIRS"):
        monkeypatch.setattr(made.train, name, 3_000)
    monkeypatch.setattr(made.train, "LAYERS", (0, 2))
    monkeypatch.setattr(made.train, "INNER", 32)
    minilm = made.pair_reader.Encoder(3, inner=64)
    student = made.train.run(school, mpnet, minilm, made.train.Outside([], []))
    assert student.encoder.words.weight.shape == (len(made.pair_reader.student_words()), 384)
    assert len(student.encoder.layers) == 2
    printed = capsys.readouterr().out
    for name in ("teacher 0", "teacher 1", "teachers", "student"):
        assert f"{name} report: right" in printed
        assert f"{name} scenes: hit@1" in printed


def test_the_report_is_that_of_the_package_itself() -> None:
    few = made.pairs.read_pairs("report")[::100]
    verdicts = list(made.evaluate.judged(few))
    assert [verdict.pair for verdict in verdicts] == few
    assert all(sum(verdict.read) == pytest.approx(1, abs=1e-3) for verdict in verdicts)
    counts = [int(line[-21:-16]) for line in made.evaluate.table(verdicts).splitlines() if line.startswith("all")]
    assert sum(counts) == len(few)
