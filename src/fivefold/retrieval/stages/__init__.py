"""Stages: what happens to the candidates after fusion. A new one is one function here and one line in `_BUILTIN`."""

from __future__ import annotations

from collections.abc import Sequence

from fivefold.retrieval.recipe import StageSpec
from fivefold.retrieval.routes import SearchContext
from fivefold.retrieval.stages import (
    additive,
    boosts,
    chance,
    coverage,
    diversity,
    learned,
    noise,
    reads,
    rerank,
    standing,
    support,
)
from fivefold.retrieval.stages import relations as repeats
from fivefold.retrieval.stages import relations as superseded
from fivefold.retrieval.stages import support as sessions
from fivefold.retrieval.stages.base import NoConstants, Pool, Stage, best_first
from fivefold.values.registry import Registry, members_of

_BUILTIN: dict[str, Stage] = {
    "superseded": Stage(
        superseded.superseded, superseded.Superseded, "boosts", rests="nothing that was found has ended"
    ),
    "decay": Stage(boosts.decay, boosts.DecayByType, "boosts", rests="there is nothing to fade"),
    "episodic": Stage(boosts.episodic, boosts.Episodic, "boosts", rests="no candidate is of a type that fades"),
    "access": Stage(boosts.access, boosts.Access, "boosts", rests="no candidate was used before"),
    "date_match": Stage(
        boosts.date_match, boosts.DateMatch, "boosts", rests="no candidate is of a time that the question names"
    ),
    "memory_score": Stage(boosts.memory_score, boosts.MemoryScore, "boosts", rests="there is nothing to raise"),
    "scale": Stage(boosts.scale, NoConstants, "boosts", rests="there is nothing to scale"),
    "support": Stage(
        support.support, support.SupportConstants, "boosts", rests="no neighbour or session speaks for a candidate"
    ),
    "session_first": Stage(
        sessions.session_first, sessions.SessionFirst, "boosts", rests="no session memory was found"
    ),
    "cross_encoder": Stage(
        rerank.cross_encoder,
        rerank.CrossEncoder,
        "rerank",
        effort="normal",
        does=rerank.describe_use,
        rests="there is nothing to read",
    ),
    "additive": Stage(additive.additive, additive.AdditiveConstants, "rerank", rests="there is nothing to score"),
    "reads": Stage(reads.reads, reads.Reads, "rerank", rests="there is nothing to read"),
    "learned": Stage(
        learned.learned, learned.LearnedConstants, "rerank", rests="no model that learned from use is switched on"
    ),
    "ended": Stage(
        superseded.superseded,
        superseded.Superseded,
        "select",
        rests="nothing that was found has ended, or the question looks back",
    ),
    "noise": Stage(noise.noise, noise.Noise, "select", rests="its width is 0"),
    "threshold": Stage(
        noise.threshold,
        noise.Threshold,
        "select",
        rests="no cross-encoder has judged, or the best that it read is good enough",
    ),
    "mmr": Stage(diversity.mmr, diversity.Mmr, "select", rests="there is nothing to choose from"),
    "standing": Stage(
        standing.standing,
        standing.StandingPlaces,
        "select",
        rests="no instruction applies, or those that do are among the hits",
    ),
    "chance": Stage(chance.chance, chance.ChanceConstants, "select"),
    "repeats": Stage(
        repeats.repeats,
        repeats.Repeats,
        "select",
        rests="no candidate repeats another, or the question wants all of them",
    ),
    "coverage": Stage(
        coverage.coverage, coverage.Coverage, "select", rests="no list is asked for, or every turn adds something to it"
    ),
    "neighbours": Stage(diversity.neighbours, NoConstants, "select", rests="no turn of the answer has neighbours"),
}

STAGES = Registry("stages", _BUILTIN, members_of(Stage))


def run_stages(pool: Pool, context: SearchContext, specs: Sequence[StageSpec]) -> Pool:
    """The recipe's stages in its order, those that run at the effort of the plan."""
    effort = context.plan.effort if context.plan else "normal"
    for spec in specs:
        if not spec.runs_at(effort):
            pool = pool.with_idle(spec.name, f"it runs from {spec.effort} effort on")
            continue
        before, stage = pool, STAGES[spec.name]
        pool = stage.run(before, context, spec.constants)
        if pool.is_same(before):
            pool = pool.with_idle(spec.name, stage.rests)
    return pool


__all__ = ["STAGES", "Pool", "Stage", "best_first", "run_stages"]
