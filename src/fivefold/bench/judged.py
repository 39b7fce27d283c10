"""What is measured by reading the first hits: their mean relevance, and which offered answer they favour."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fivefold.bench.data import Choice, Question
from fivefold.bench.runner import SHOWN, Answer
from fivefold.models.embedders import Embedder, Matrix, unit
from fivefold.models.rerankers import Passage, reranker
from fivefold.text.progress import bar

RELEVANCE = "relevance"
"""Mean relevance of the first five hits (F7): the shipped cross-encoder's chance, from 0 to 1, that a text answers."""

CHOICE = "choice"
"""Whether the right one of the offered answers is nearest to the first five hits."""

PATIENCE = 600.0
"""Seconds that one question's texts may take."""

Values = dict[str, dict[str, float]]
"""For every contestant and question a value."""


def mean_relevance(
    questions: Sequence[Question], answers: Mapping[str, Sequence[Answer]], progress: bool = False
) -> Values:
    """Each text is read once for each question, whoever found it. A place that was left empty counts 0."""
    model = reranker("local")
    found: Values = {name: {} for name in answers}
    with bar("Judging relevance", len(questions), show=progress) as advance:
        for place, question in enumerate(questions):
            texts = list(dict.fromkeys(text for each in answers.values() for text in each[place].texts))
            scores = model.scores(question.text, [Passage(text, "") for text in texts], PATIENCE) if texts else []
            score_of = dict(zip(texts, scores, strict=True))
            for name, each in answers.items():
                found[name][question.id] = sum(score_of[text] for text in each[place].texts) / SHOWN
            advance(1)
    return found


def choose(
    questions: Sequence[Question],
    choices: Mapping[str, Choice],
    answers: Mapping[str, Sequence[Answer]],
    model: Embedder,
    progress: bool = False,
) -> tuple[Values, dict[str, float]]:
    """Whether each contestant's hits favour the right answer, and whether the question alone does (no memory)."""
    found: Values = {name: {} for name in answers}
    alone: dict[str, float] = {}
    with bar("Choosing answers", len(questions), show=progress) as advance:
        for place, question in enumerate(questions):
            choice = choices[question.id]
            options = unit(model.embed(list(choice.options)))
            alone[question.id] = _favours(options, unit(model.embed([question.text])), choice.right)
            for name, each in answers.items():
                texts = list(each[place].texts)
                found[name][question.id] = _favours(options, unit(model.embed(texts)), choice.right) if texts else 0.0
            advance(1)
    return found, alone


def _favours(options: Matrix, texts: Matrix, right: int) -> float:
    """1 where the right option has the greatest mean cosine with the texts; a tie is lost."""
    near = (options @ texts.T).mean(axis=1)
    return float(all(near[right] > value for place, value in enumerate(near) if place != right))
