from __future__ import annotations

from pathlib import Path

import pytest
from training.glosses.align import chances, meetings
from training.glosses.evaluate import read_questions
from training.glosses.pairs import held_out, training_pairs
from training.glosses.train import learn, words

from fivefold.text.languages import LANGUAGES

pytestmark = pytest.mark.slow

SENTENCES = [
    ("the witch sleeps", "die hexe schläft"),
    ("the witch laughs", "die hexe lacht"),
    ("the widow sleeps", "die witwe schläft"),
    ("the widow laughs", "die witwe lacht"),
]


def test_words_that_meet_often_translate_each_other() -> None:
    found = chances(meetings([(words(foreign), words(english)) for english, foreign in SENTENCES]))
    best = {item.foreign: item.english for item in sorted(found, key=lambda item: item.score)}
    assert best == {"die": "the", "hexe": "witch", "witwe": "widow", "schläft": "sleeps", "lacht": "laughs"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    lines = [f"deu\teng\t{foreign} {i}\t{english} {i}" for english, foreign in SENTENCES for i in range(20)]
    (tmp_path / "deu-eng").mkdir()
    (tmp_path / "deu-eng" / "test.txt").write_text("\n".join(lines), "utf-8")
    return tmp_path


def test_pairs_kept_for_measuring_are_not_trained_on(folder: Path) -> None:
    kept, trained = held_out(folder, "de"), training_pairs(folder, "de")
    assert kept
    assert len(kept) + len(trained) == 80
    assert not set(kept) & set(trained)


def test_a_lexicon_is_learned_from_a_folder(folder: Path) -> None:
    glosses = learn(folder, "de")
    assert (glosses["hexe"], glosses["witwe"]) == ("witch", "widow")
    assert "die" not in glosses
    assert glosses["~wohn"] == "live"


def test_every_question_is_asked_in_every_language() -> None:
    memories, asked = read_questions()
    assert len(memories) >= 60
    for memory in {item.memory for item in asked}:
        assert [item.language for item in asked if item.memory == memory] == ["en", *LANGUAGES]
