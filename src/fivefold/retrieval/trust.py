"""How far a recall trusts what the user, the assistant, a tool or an import wrote; the settings say so."""

from __future__ import annotations

from fivefold.retrieval.stages import Pool
from fivefold.retrieval.stages.superseded import lower_score
from fivefold.settings import Settings
from fivefold.values.recall_trace import Candidate


def weigh_by_origin(pool: Pool, settings: Settings) -> Pool:
    """Lower the score of each candidate by the trust in its origin; full trust changes nothing."""
    return pool.with_candidates(_weighed(candidate, settings) for candidate in pool.candidates)


def _weighed(candidate: Candidate, settings: Settings) -> Candidate:
    origin = candidate.memory.origin
    trust = settings.trust(origin)
    if trust == 1:
        return candidate
    return candidate.with_step("trust", lower_score(candidate.score, trust), f"× {trust:g}, origin {origin}")
