"""`fivefold weights` and `fivefold train`: predicted weights, training from use, and a fresh start."""

from __future__ import annotations

import sys
from math import exp
from typing import TYPE_CHECKING, Annotated

import typer

from fivefold.cli.app import SpaceOptions, app, terminal
from fivefold.cli.output import print_json, say

if TYPE_CHECKING:
    from fivefold.learning.adaptation import Adaptation
    from fivefold.learning.training import LearnedFromUse

train: typer.Typer = typer.Typer(
    help="Train the parts that learn from use, or reset them.", no_args_is_help=True, rich_markup_mode=None
)
app.add_typer(train, name="train")

SIGNALS = ("similarity", "recency", "frequency")


@app.command()
def weights(
    query: Annotated[str, typer.Argument(help="The question")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON; this command always does")] = False,
) -> None:
    """Show the weights of similarity, recency and frequency for a question, as JSON."""
    from fivefold.models.embedders import DEFAULT, embed_texts, embedder
    from fivefold.models.weights import intent, is_fallback, predict
    from fivefold.values.validate import checked_text

    text, model = checked_text(query, "the question"), embedder(DEFAULT)
    found = predict(text, embed_texts(model, [text])[0], model.pin)
    kind, _, name = found.source.partition(" ")
    print_json(
        {
            "weights": {signal: round(getattr(found, signal), 4) for signal in SIGNALS},
            "intent": intent(found),
            "model": name if kind == "model" else f"none: {name}",
            "fallback": is_fallback(found),
        }
    )


@train.command()
def reranker(space: SpaceOptions) -> None:
    """Learn from feedback which memories are used. The result serves only if it wins on unseen feedback."""
    with space.reading() as engine:
        verdict = engine.train_reranker(progress=sys.stderr.isatty())
    space.show(verdict, lambda _: say(verdict.describe()))


@train.command()
def reset(space: SpaceOptions) -> None:
    """Reset everything learned from use: the reranker and the correction of the weights. Feedback stays."""
    with space.reading() as engine:
        before = engine.learned()
        engine.unlearn()

    def draw(_: object) -> None:
        say(f"namespace {space.namespace!r} has forgotten what it had learned from use; its feedback stays")
        for part, text in lines(before).items():
            say(f"  {part}: {text}")

    space.show({"namespace": space.namespace, "forgotten": before}, draw)


def lines(learned: LearnedFromUse) -> dict[str, str]:
    """The learned parts, a line for each, as `stats` shows them."""
    reranker = learned.reranker.describe() if learned.reranker is not None else f"off: {learned.reason}"
    return {"learned reranker": reranker, "learned weights": _correction(learned.weights)}


def _correction(adaptation: Adaptation) -> str:
    """The factors of the predicted weights, before these are scaled to add up to 1."""
    feedback = terminal.counted(adaptation.count, "feedback", "feedbacks")
    if not adaptation.count:
        return "as predicted: no feedback on recalls that predict them"
    if not adaptation.trust:
        return f"as predicted: a correction from {feedback} has predicted nothing better yet"
    pairs = zip(SIGNALS, adaptation.offsets, strict=True)
    factors = ", ".join(f"{name} × {exp(adaptation.trust * offset):.2f}" for name, offset in pairs)
    return f"{factors}; from {feedback}, trusted to {adaptation.trust:.0%}"
