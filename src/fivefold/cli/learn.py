"""`fivefold weights` and `fivefold train`: predictions of the learned parts, their training, and a fresh start."""

from __future__ import annotations

import logging
import sys
from contextlib import chdir
from importlib import import_module
from importlib.util import find_spec
from math import exp
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fivefold.cli.app import JsonOption, SpaceOptions, app, terminal
from fivefold.cli.output import print_json, say
from fivefold.errors import MissingExtra, NotFound

if TYPE_CHECKING:
    from fivefold.learning.adaptation import Adaptation
    from fivefold.learning.training import LearnedFromUse

train: typer.Typer = typer.Typer(
    help="Train the learned parts, or reset them.", no_args_is_help=True, rich_markup_mode=None
)
app.add_typer(train, name="train")

TRAINING = Path("training/weights/train.py")
"""Path of the training script; a checkout has it, an installed package does not."""

TRAINING_PACKAGES = ("torch", "onnx", "onnxscript")
"""The packages of the extra `train`."""

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


@train.command("weights")
def weights_(
    embedder: Annotated[
        str | None,
        typer.Option("--embedder", help="The embedder whose vectors it reads [default: the default embedder]"),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Where the model goes [default: the file the package ships]")
    ] = None,
    epochs: Annotated[int, typer.Option("--epochs", min=1, help="Rounds over the queries")] = 25,
    seed: Annotated[int, typer.Option("--seed", min=0, help="The same seed draws the same queries")] = 5,
    as_json: JsonOption = False,
) -> None:
    """Train the weight model again: make the queries, embed them, train, export, measure."""
    from fivefold.models.embedders import DEFAULT
    from fivefold.models.embedders import embedder as load_embedder

    root = checkout()
    name = embedder or DEFAULT
    model = load_embedder(name)
    path = (out or root / "src/fivefold/models/data/weights.bin").resolve()
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    logging.disable(logging.WARNING)  # the exporter logs its internal steps
    with chdir(root):
        code = import_module("training.weights.train")
        found = code.train(name, path, seed=seed, epochs=epochs, show=sys.stderr.isatty())
    figures = {
        split: {
            "queries": one.count,
            "dominant": one.dominant,
            "four_way": one.four_way,
            "kl": one.divergence,
            "mae": one.error,
        }
        for split, one in found.items()
    }
    if as_json:
        print_json({"model": code.NAME, "embedder": model.pin, "path": str(path), "splits": figures})
        return
    say(f"{code.NAME} for {model.pin} is in {path}")
    code.print_table(found)


def checkout() -> Path:
    """The folder with the training code: this one, or an editable install's."""
    import fivefold

    places = (Path.cwd(), Path(fivefold.__file__).resolve().parents[2])
    root = next((place for place in places if (place / TRAINING).is_file()), None)
    if root is None:
        raise NotFound(
            "the training code is not part of the installed package; run this in a checkout of fivefold, "
            "the folder that holds training/"
        )
    if any(find_spec(name) is None for name in TRAINING_PACKAGES):
        raise MissingExtra("training the weights", "train")
    return root


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
