"""The model reads the question while it is understood, and once more only where the question was meant differently."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

import fivefold
from fivefold.engine import Engine
from fivefold.errors import EmbedderError
from fivefold.models.embedders import Matrix, Progress, embedder, gives_tokens
from fivefold.values.vectors import Passage, QuestionReading, Reading, Span

RECORDS = [
    "The allotment has a greenhouse with tomatoes",
    "Miso sleeps on the radiator",
    "The boiler was serviced in May",
]


class Recording:
    """The default embedder, with the questions that it has read."""

    pin, dimension = "recording@1", 384

    def __init__(self) -> None:
        model = embedder("fivefold-minilm")
        assert gives_tokens(model)
        self._model = model
        self.questions: list[str] = []

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> Matrix:
        return self._model.embed(texts)

    def read(self, passages: Sequence[Passage], progress: Progress | None = None) -> list[Reading]:
        return self._model.read(passages)

    def read_question(self, question: str) -> QuestionReading:
        self.questions.append(question)
        if "unreadable" in question:
            raise EmbedderError("cannot be read")
        return self._model.read_question(question)

    def spans(self, passage: Passage) -> list[tuple[Span, bool]]:
        return self._model.spans(passage)


@pytest.fixture
def model() -> Recording:
    return Recording()


@pytest.fixture
def engine(model: Recording) -> Iterator[Engine]:
    with fivefold.open(":memory:", embedder=model) as opened:
        opened.remember_many(RECORDS)
        yield opened


def test_a_question_is_read_once(engine: Engine, model: Recording) -> None:
    answer = engine.recall("Where does Miso sleep?", effort="low")
    assert answer[0].memory.content == RECORDS[1]
    assert model.questions == ["Where does Miso sleep?"]


def test_a_question_with_a_typing_error_is_searched_as_it_is_meant(engine: Engine, model: Recording) -> None:
    answer = engine.recall("What grows in the greenhuose?", effort="low")
    meant = engine.recall("What grows in the greenhouse?", effort="low")
    assert model.questions[-1] == answer.query.to_read == meant.query.text
    assert [hit.rrf_score for hit in answer] == [hit.rrf_score for hit in meant]


def test_a_recipe_without_vectors_reads_nothing(engine: Engine, model: Recording) -> None:
    assert engine.recall("Where does Miso sleep?", recipe="lexical")
    assert model.questions == []


def test_a_question_with_a_history_waits_for_what_it_means(engine: Engine, model: Recording) -> None:
    answer = engine.recall("And where does it sleep?", history=["Do you remember Miso?"], effort="low")
    assert model.questions == [answer.query.to_read]


def test_a_model_that_fails_costs_its_own_routes(engine: Engine) -> None:
    answer = engine.recall("unreadable radiator", effort="low")
    assert {run.route for run in answer.routes if run.status == "failed"} == {"dense", "late"}
    assert answer[0].memory.content == RECORDS[1]
