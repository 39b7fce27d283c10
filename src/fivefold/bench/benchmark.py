"""A benchmark from its options to its results: who runs, the race, the scores, the tests, the files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from fivefold.bench.ablate import Ablation, cut_racers, worth_of
from fivefold.bench.contestants import Racer, prepared, racers_of
from fivefold.bench.data import Dataset, Unit
from fivefold.bench.plots import need_plots
from fivefold.bench.race import Race, run_race
from fivefold.bench.results import check_folder, results_of, scored_of, write_folder
from fivefold.bench.scores import depth_for, means, metric_names, need_measures
from fivefold.bench.significance import compare_all, rival
from fivefold.errors import InvalidInput
from fivefold.models.embedders import DEFAULT
from fivefold.models.embedders import embedder as load_embedder
from fivefold.values.serialize import Json

MOST = 1_000
"""How deep a recipe may be asked."""

MOST_JOBS = 61
"""Processes that one pool can hold on every system."""


@dataclass(frozen=True, slots=True)
class Options:
    """How a benchmark is run. `recipes` is a list with commas, or all; without one an ablation runs by itself."""

    recipes: str | None = None
    overrides: Mapping[str, object] = field(default_factory=dict)
    ks: tuple[int, ...] = (5, 10, 20)
    unit: Unit | None = None
    embedder: str = DEFAULT
    limit: int | None = None
    jobs: int = 1
    out: Path | None = None
    seed: int | None = None
    significance: bool = False
    ablate: str | None = None

    def named(self) -> str:
        return next(name for name in (self.recipes, self.ablate, "all") if name is not None)


def compete(load: Callable[[], Dataset], options: Options, progress: bool = False) -> tuple[Json, list[Path]]:
    """The results as data, and the files that were written. Whatever can be wrong is said before the race begins."""
    _check(options)
    dataset = prepared(load(), options.unit, options.limit, options.seed)
    racers, notes = racers_of(options.named(), options.overrides, dataset.unit, options.seed or 0)
    cut, kept, whole = _cut(options, dataset.unit, racers)
    race = run_race(dataset, [*racers, *cut], options.embedder, depth_for(options.ks), options.jobs, progress)
    scored = scored_of(race, metric_names(options.ks))
    ablation: Ablation | None = None
    if whole is not None and whole.recipe is not None:
        ablation = worth_of(whole.name, whole.recipe, scored, kept, options.seed or 0)
        race = replace(race, racers=tuple(racers))
        scored = {racer.name: scored[racer.name] for racer in racers}
    tests = compare_all(scored, _rival(race, scored), options.seed or 0) if options.significance else ()
    results = results_of(
        race, scored, ks=options.ks, seed=options.seed, notes=notes, significance=tests, ablation=ablation
    )
    files = write_folder(options.out, race, results, scored) if options.out else []
    return results, files


def _check(options: Options) -> None:
    if options.limit is not None and options.limit < 1:
        raise InvalidInput(f"--limit must be at least 1, not {options.limit}")
    if not 1 <= options.jobs <= MOST_JOBS:
        raise InvalidInput(f"--jobs takes a number from 1 to {MOST_JOBS}, not {options.jobs}")
    if not options.ks or not all(1 <= k <= MOST for k in options.ks):
        raise InvalidInput(f"--k takes whole numbers from 1 to {MOST:,}")
    if options.seed is not None and options.seed < 0:
        raise InvalidInput(f"--seed must not be negative, not {options.seed}")
    load_embedder(options.embedder)
    need_measures()
    racers_of(options.named(), options.overrides, "turn")
    if options.out is not None:
        need_plots()
        check_folder(options.out)


def _cut(options: Options, unit: Unit, racers: list[Racer]) -> tuple[list[Racer], dict[str, str], Racer | None]:
    """The recipe to take apart joins the race, if it is not in it, and so do its cut versions."""
    if options.ablate is None:
        return [], {}, None
    asked, _ = racers_of(options.ablate, options.overrides, unit, options.seed or 0)
    if len(asked) != 1 or asked[0].recipe is None:
        raise InvalidInput(f"--ablate takes one recipe, not {options.ablate!r}; a baseline has no parts")
    whole = asked[0]
    if all(racer.name != whole.name for racer in racers):
        racers.append(whole)
    assert whole.recipe is not None
    cut, kept = cut_racers(whole.name, whole.recipe)
    return cut, kept, whole


def _rival(race: Race, scored: Mapping[str, Mapping[str, Mapping[str, float]]]) -> str:
    return rival({name: means(scores, race.dataset.questions) for name, scores in scored.items()})
