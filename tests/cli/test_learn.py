"""`fivefold weights`, `fivefold train`, and what `stats`, `recall` and `explain` tell of what is learned."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

import fivefold
from fivefold.cli.learn import lines
from fivefold.learning.adaptation import NONE, Adaptation
from fivefold.learning.reranker import NEVER
from fivefold.learning.training import LearnedFromUse
from tests.support.shell import Command, Small
from tests.support.synthetic_users import after_the_preferred, furnished, talk

pytestmark = pytest.mark.slow

JUDGED = """
[[routes]]
name = "lexical"

[[rerank]]
name = "cross_encoder"
model = "{model}"

[[rerank]]
name = "learned"
"""


@pytest.fixture(scope="module")
def heard(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store whose user prefers events and what is new, with enough feedback to learn that."""
    path = tmp_path_factory.mktemp("heard") / "heard.db"
    engine = furnished(str(path), notes=100)
    talk(engine, after_the_preferred, 120)
    engine.close()
    return path


@pytest.fixture
def used(heard: Path, tmp_path: Path) -> str:
    """A copy of its own for every test."""
    return str(shutil.copy(heard, tmp_path / "used.db"))


@pytest.mark.parametrize(
    ("query", "intent", "strongest"),
    [
        ("what is the name of my sister's dog?", "semantic", "similarity"),
        ("what were we just talking about?", "temporal", "recency"),
        ("what do I keep coming back to all the time?", "frequency", "frequency"),
    ],
)
def test_weights_say_what_a_question_asks_for(query: str, intent: str, strongest: str, command: Command) -> None:
    ran = command("weights", query)
    assert (ran.code, ran.err) == (0, "")
    shown = ran.json
    assert list(shown) == ["weights", "intent", "model", "fallback"]
    assert shown["fallback"] is False
    assert re.fullmatch(r"weights-\d+", shown["model"])
    assert shown["intent"] == intent
    assert max(shown["weights"], key=shown["weights"].get) == strongest
    assert sum(shown["weights"].values()) == pytest.approx(1, abs=1e-3)
    assert command("weights", query, "--json").json == shown


def test_weights_for_vectors_the_model_does_not_know_fall_back(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fivefold.models.embedders.DEFAULT", "wordllama")
    shown = command("weights", "what were we just talking about?").json
    assert shown["weights"] == {"similarity": 0.6, "recency": 0.25, "frequency": 0.15}
    assert shown["fallback"] is True
    assert re.match(r"none: the weight model \S+ was made for \S+, not for wordllama@", shown["model"])


def test_a_reranker_is_trained_shown_and_forgotten(used: str, command: Command) -> None:
    verdict = command("train", "reranker", "--store", used, "--json").json
    assert verdict["on"] is True
    assert verdict["figures"]["after"] > verdict["figures"]["before"]
    learned = command("stats", "--store", used, "--json").json["learned"]
    assert learned["reranker"] == verdict
    said = command("stats", "--store", used).out
    told = r"on, learned-2\.\w+: nDCG 0\.\d+ → 0\.\d+ on the newest 48 of 120 recalls; \+0\.\d+ nDCG"
    assert re.search(rf"^learned reranker +{told}", said, re.MULTILINE)
    forgotten = command("train", "reset", "--store", used, "--json").json
    assert forgotten["forgotten"]["reranker"] == verdict
    after = command("stats", "--store", used, "--json").json
    assert after["learned"]["reranker"] is None
    assert after["feedback"] == 120
    assert re.match(told, command("train", "reranker", "--store", used).out)


def test_too_little_feedback_is_said(small: Small, command: Command) -> None:
    ran = command("train", "reranker", "--store", small.path)
    assert ran.out.startswith("off: 0 of the 50 ")
    reset = command("train", "reset", "--store", small.path).out
    assert reset.startswith("namespace 'default' has forgotten what it had learned from use; its feedback stays\n")
    assert f"off: {NEVER}" in command("stats", "--store", small.path).out


def test_feedback_on_predicted_weights_is_counted_and_can_be_reset(small: Small, command: Command) -> None:
    with fivefold.open(small.path) as mem:
        answer = mem.recall("what is my badge ID?", recipe="ditto")
        mem.feedback(answer, used=[answer[1].memory.id])
        assert mem.learned().weights.count == 1
    said = command("stats", "--store", small.path).out
    assert re.search(r"^learned weights +as predicted: a correction from 1 feedback has predicted nothing", said, re.M)
    assert command("train", "reset", "--store", small.path, "--json").json["forgotten"]["weights"]["count"] == 1
    assert command("stats", "--store", small.path, "--json").json["learned"]["weights"]["count"] == 0


def test_a_correction_is_told_as_what_it_multiplies() -> None:
    now = datetime(2025, 6, 1, tzinfo=UTC)
    found = Adaptation(offsets=(-0.4, 0.6, -0.2), gain=2.0, count=30, updated_at=now)
    told = lines(LearnedFromUse(None, NEVER, found))["learned weights"]
    assert told == "similarity × 0.82, recency × 1.35, frequency × 0.90; from 30 feedbacks, trusted to 50%"
    told = lines(LearnedFromUse(None, "its file is damaged", NONE))["learned reranker"]
    assert told == "off: its file is damaged"


@pytest.fixture
def judged(tmp_path: Path) -> Callable[[str], str]:
    """A recipe with both rerank stages and that cross-encoder, by its path."""

    def written(model: str) -> str:
        (tmp_path / "judged.toml").write_text(JUDGED.format(model=model), "utf-8")
        return "judged.toml"

    return written


def test_a_rerank_that_fails_is_named_and_leaves_the_order(
    small: Small, command: Command, judged: Callable[[str], str]
) -> None:
    asked = ("badge", "--store", small.path, "--recipe", judged("psychic"))
    assert "stage cross-encoder failed: InvalidInput: unknown reranker 'psychic'" in command("recall", *asked).out
    said = command("explain", *asked).out
    assert re.search(r"^  cross-encoder failed +psychic  InvalidInput: unknown reranker", said, re.MULTILINE)
    assert said.endswith("  models: none\n")
    answer = command("recall", *asked, "--json", "--trace").json
    assert [(note["stage"], note["status"]) for note in answer["notes"]] == [
        ("cross-encoder", "failed"),
        ("learned", "idle"),
    ]
    assert all(not hit["steps"] for hit in answer["hits"])


def test_explain_names_the_models_and_shows_what_each_did(
    small: Small, command: Command, judged: Callable[[str], str]
) -> None:
    said = command("explain", "what is my badge ID?", "--store", small.path, "--recipe", judged("local")).out
    assert re.search(
        r"^    cross-encoder +\S+ → \S+  .+ = \S+ fused \+ 0\.15 · \S+ the log-odds of \S+ that it answers$", said, re.M
    )
    assert re.search(r"^  cross-encoder done +local@\d+  read the best \d", said, re.MULTILINE)
    assert re.search(r"^  models: local@\d+ \(cross-encoder\)$", said, re.MULTILINE)
    said = command("explain", "what is my badge ID?", "--store", small.path, "--recipe", "ditto").out
    assert re.search(r"^  weights similarity \d+%, recency \d+%, frequency \d+% \(model weights-\d+\)$", said, re.M)
    assert re.search(r"^  models: fivefold-minilm@\d+ \(embedder\), weights-\d+ \(weights\)$", said, re.MULTILINE)


def test_explain_names_the_learned_reranker(used: str, command: Command, judged: Callable[[str], str]) -> None:
    model = command("train", "reranker", "--store", used, "--json").json["model"]
    recipe = ("--recipe", judged("local"), "--set", "rerank.cross_encoder.on=false")
    said = command("explain", "harbour garden", "--store", used, *recipe).out
    assert re.search(rf"^  learned +done +{re.escape(model)}  moved the best \d+", said, re.MULTILINE)
    assert f"  models: {model} (learned)\n" in said
    off = command("explain", "harbour garden", "--store", used, *recipe, "--set", "rerank.learned.on=false").out
    assert model not in off
