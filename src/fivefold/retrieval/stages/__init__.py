"""Stages: what happens to the candidates after fusion. A new one is one function here and one line in `_BUILTIN`."""

from __future__ import annotations

from collections.abc import Sequence

from fivefold.retrieval.recipe import StageSpec
from fivefold.retrieval.routes import SearchContext
from fivefold.retrieval.stages import (
    additive,
    boosts,
    chance,
    diversity,
    learned,
    noise,
    reads,
    repeats,
    rerank,
    sessions,
    superseded,
    support,
)
from fivefold.retrieval.stages.base import NoConstants, Pool, Stage, best_first
from fivefold.values.plugins import Registry, members_of

_BUILTIN: dict[str, Stage] = {
    "superseded": Stage(superseded.superseded, superseded.Superseded, "boosts"),
    "decay": Stage(boosts.decay, boosts.DecayByType, "boosts"),
    "episodic": Stage(boosts.episodic, boosts.Episodic, "boosts"),
    "access": Stage(boosts.access, boosts.Access, "boosts"),
    "date_match": Stage(boosts.date_match, boosts.DateMatch, "boosts"),
    "memory_score": Stage(boosts.memory_score, boosts.MemoryScore, "boosts"),
    "scale": Stage(boosts.scale, NoConstants, "boosts"),
    "support": Stage(support.support, support.SupportConstants, "boosts"),
    "session_first": Stage(sessions.session_first, sessions.SessionFirst, "boosts"),
    "cross_encoder": Stage(rerank.cross_encoder, rerank.CrossEncoder, "rerank", effort="normal"),
    "additive": Stage(additive.additive, additive.AdditiveConstants, "rerank"),
    "reads": Stage(reads.reads, reads.Reads, "rerank"),
    "learned": Stage(learned.learned, learned.LearnedConstants, "rerank"),
    "ended": Stage(superseded.superseded, superseded.Superseded, "select"),
    "noise": Stage(noise.noise, noise.Noise, "select"),
    "threshold": Stage(noise.threshold, noise.Threshold, "select"),
    "mmr": Stage(diversity.mmr, diversity.Mmr, "select"),
    "chance": Stage(chance.chance, chance.ChanceConstants, "select"),
    "repeats": Stage(repeats.repeats, repeats.Repeats, "select"),
    "neighbours": Stage(diversity.neighbours, NoConstants, "select"),
}

STAGES = Registry("stages", _BUILTIN, members_of(Stage))


def run_stages(pool: Pool, context: SearchContext, specs: Sequence[StageSpec]) -> Pool:
    """The recipe's stages in its order, those that run at the effort of the plan."""
    effort = context.plan.effort if context.plan else "normal"
    for spec in specs:
        if not spec.runs_at(effort):
            continue
        pool = STAGES[spec.name].run(pool, context, spec.constants)
    return pool


__all__ = ["STAGES", "Pool", "Stage", "best_first", "run_stages"]
