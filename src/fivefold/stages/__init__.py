"""Stages: what happens to the candidates after fusion. A new one is one function here and one line in `STAGES`."""

from __future__ import annotations

from collections.abc import Sequence

from fivefold.recipe import StageSpec
from fivefold.routes import Sight
from fivefold.stages import ageing, chance, diversity, learned, rerank, sessions, superseded, support
from fivefold.stages.base import NoConstants, Pool, Stage, best_first

STAGES: dict[str, Stage] = {
    "superseded": Stage(superseded.superseded, superseded.Superseded, "boosts"),
    "decay": Stage(ageing.decay, ageing.DecayByType, "boosts"),
    "episodic": Stage(ageing.episodic, ageing.Episodic, "boosts"),
    "access": Stage(ageing.access, ageing.Access, "boosts"),
    "date_match": Stage(ageing.date_match, ageing.DateMatch, "boosts"),
    "memory_score": Stage(ageing.memory_score, ageing.MemoryScore, "boosts"),
    "scale": Stage(ageing.scale, NoConstants, "boosts"),
    "support": Stage(support.support, support.SupportBy, "boosts"),
    "session_first": Stage(sessions.session_first, sessions.SessionFirst, "boosts"),
    "cross_encoder": Stage(rerank.cross_encoder, rerank.CrossEncoder, "rerank"),
    "learned": Stage(learned.learned, learned.LearnedBy, "rerank"),
    "ended": Stage(superseded.superseded, superseded.Superseded, "select"),
    "noise": Stage(chance.noise, chance.Noise, "select"),
    "threshold": Stage(chance.threshold, chance.Threshold, "select"),
    "mmr": Stage(diversity.mmr, diversity.Mmr, "select"),
    "neighbours": Stage(diversity.neighbours, NoConstants, "select"),
}


def run_stages(pool: Pool, sight: Sight, specs: Sequence[StageSpec]) -> Pool:
    """The recipe's stages in its order."""
    for spec in specs:
        pool = STAGES[spec.name].run(pool, sight, spec.constants)
    return pool


__all__ = ["STAGES", "Pool", "Stage", "best_first", "run_stages"]
