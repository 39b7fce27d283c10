"""Two runs compared, question by question: what changed, and the arithmetic on both sides."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fivefold.errors import Call, InvalidInput
from fivefold.values.serialize import Json, Value
from fivefold_bench.results import QUESTIONS, RESULTS
from fivefold_bench.run import EXPLAINED

EVEN = 1e-9


@dataclass(frozen=True, slots=True)
class Side(Value):
    """One run's answer: its score, the places of the gold (None: not found), the arithmetic of gold and first hits."""

    score: float
    gold: Mapping[str, int | None]
    explained: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Change(Value):
    """A question whose score differs; negative is a loss."""

    question: str
    text: str
    category: str
    change: float
    a: Side
    b: Side


@dataclass(frozen=True, slots=True)
class Diff(Value):
    """The change for every question of both runs: losses first, the worst at the top."""

    a: str
    b: str
    metric: str
    questions: int
    better: int
    worse: int
    same: int
    mean: float
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class Line:
    """A question as one recipe of a run answered it."""

    recipe: str
    question: str
    text: str
    category: str
    relevant: tuple[str, ...]
    ranking: tuple[str, ...]
    scores: Mapping[str, float]
    explained: Mapping[str, str]


def diff(a: Path, b: Path, recipes: str | None = None, metric: str = "recall@10") -> Diff:
    """The change from one recipe's run in `a` to another's in `b`; without names `default`, or the one both have."""
    first, second = _recipes(a), _recipes(b)
    mine, theirs = _choose_recipes(recipes, first, second, a, b)
    before, after = _answers(a, mine), _answers(b, theirs)
    shared = [id for id in before if id in after]
    if not shared:
        raise InvalidInput(f"{a} and {b} have no question in common; compare two runs on the same data")
    known = before[shared[0]].scores.keys() & after[shared[0]].scores.keys()
    if metric not in known:
        raise InvalidInput(f"metric {metric!r} is not in both runs; there are {', '.join(sorted(known))}")
    gaps = {id: after[id].scores[metric] - before[id].scores[metric] for id in shared}
    moved = sorted((id for id in shared if abs(gaps[id]) > EVEN), key=lambda id: gaps[id])
    same_file = a.resolve() == b.resolve()
    return Diff(
        a=mine if same_file else f"{a}: {mine}",
        b=theirs if same_file else f"{b}: {theirs}",
        metric=metric,
        questions=len(shared),
        better=sum(gap > EVEN for gap in gaps.values()),
        worse=sum(gap < -EVEN for gap in gaps.values()),
        same=len(shared) - len(moved),
        mean=round(sum(gaps.values()) / len(gaps), 6),
        changes=tuple(
            Change(id, line.text, line.category, round(gaps[id], 6), _side(line, metric), _side(after[id], metric))
            for id, line in ((id, before[id]) for id in moved)
        ),
    )


def _side(line: Line, metric: str) -> Side:
    places = {id: place for place, id in enumerate(line.ranking, 1)}
    ids = [id for id in line.ranking if id in line.relevant or places[id] <= EXPLAINED]
    texts = {id: line.explained.get(id, f"#{places[id]}  a baseline, nothing but its rank") for id in ids}
    explanations = tuple(f"{'gold ' if id in line.relevant else ''}{id}\n{text}" for id, text in texts.items())
    return Side(line.scores[metric], {id: places.get(id) for id in line.relevant}, explanations)


def _choose_recipes(
    recipes: str | None, a: Sequence[str], b: Sequence[str], first: Path, second: Path
) -> tuple[str, str]:
    """The recipe of each run: those named, X for both or X,Y; else `default`, or the only one both have."""
    if recipes is None:
        common = [name for name in a if name in b]
        if first.resolve() == second.resolve():
            raise _which(f"the run has {', '.join(a)}")
        if "default" in common or len(common) == 1:
            name = "default" if "default" in common else common[0]
            return name, name
        raise _which(f"the runs have {', '.join(a)} and {', '.join(b)}")
    names = [part.strip() for part in recipes.split(",")]
    if len(names) > 2 or not all(names):
        raise InvalidInput(f"takes one name, or two separated by a comma, not {recipes!r}", field="recipes")
    mine, theirs = names[0], names[-1]
    for name, there, path in ((mine, a, first), (theirs, b, second)):
        if name not in there:
            raise InvalidInput(f"{path} has no recipe {name!r}; there are {', '.join(there)}")
    return mine, theirs


def _which(recipes: str) -> InvalidInput:
    return InvalidInput(recipes, advice="name two with {call}", call=Call(arguments={"recipes": "X,Y"}))


def _recipes(path: Path) -> list[str]:
    """The recipes of a results file."""
    try:
        data = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise InvalidInput(f"{path} does not exist; give the {RESULTS} in the folder of a run") from None
    except OSError as error:
        raise InvalidInput(f"{path} could not be read: {error.strerror or error}; give a {RESULTS}") from None
    except (ValueError, RecursionError):
        raise InvalidInput(f"{path} is not JSON; give the {RESULTS} of a run") from None
    recipes = data.get("recipes") if isinstance(data, dict) else None
    if not isinstance(recipes, dict) or not recipes:
        raise InvalidInput(f"{path} holds no recipes; give the {RESULTS} of a run")
    return list(recipes)


def _answers(path: Path, recipe: str) -> dict[str, Line]:
    """The answers of a recipe, from the file next to the results."""
    file = path.with_name(QUESTIONS)
    try:
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            read = (_line(json.loads(text)) for text in lines)
            answers = {line.question: line for line in read if line.recipe == recipe}
    except FileNotFoundError:
        raise InvalidInput(f"{QUESTIONS} is missing next to {path}; a run writes both to its folder") from None
    except (OSError, EOFError, zlib.error, ValueError, KeyError, TypeError, RecursionError) as error:
        raise InvalidInput(f"{file} is damaged ({error or type(error).__name__}); repeat the run") from None
    if not answers:
        raise InvalidInput(f"{file} has no answers of {recipe!r}, so it is not of the same run as {path.name}")
    return answers


def _line(data: Json) -> Line:
    return Line(
        recipe=data["recipe"],
        question=data["question"],
        text=data["text"],
        category=data["category"],
        relevant=tuple(map(str, data["relevant"])),
        ranking=tuple(map(str, data["ranking"])),
        scores={str(name): float(value) for name, value in data["scores"].items()},
        explained={str(id): str(text) for id, text in data["explained"].items()},
    )
