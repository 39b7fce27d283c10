"""Stages: what happens to the candidates after fusion. A new one is one function and one line in `STAGES`."""

from __future__ import annotations

from fivefold.retrieval.protocols import NoConstants, Pool, Stage, best_first
from fivefold.retrieval.relations import EndedConstants, Repeats, lower_ended, repeats
from fivefold.retrieval.stages.reading import (
    CrossEncoder,
    LearnedConstants,
    Reads,
    cross_encoder,
    describe_use,
    learned,
    reads,
)
from fivefold.retrieval.stages.selection import (
    ChanceConstants,
    Coverage,
    StandingPlaces,
    SupportConstants,
    chance,
    coverage,
    scale,
    standing,
    support,
)
from fivefold.retrieval.stages.terms import AdditiveConstants, additive
from fivefold.values.registry import Registry, members_of

STAGES = Registry[Stage](
    "stages",
    {
        "superseded": Stage(lower_ended, EndedConstants, "boosts", rests="no candidate has ended"),
        "decay": "fivefold.designs.five_stage:DECAY",
        "episodic": "fivefold.designs.engram:EPISODIC",
        "access": "fivefold.designs.engram:ACCESS",
        "date_match": "fivefold.designs.engram:DATE_MATCH",
        "memory_score": "fivefold.designs.memsense:MEMORY_SCORE",
        "scale": Stage(scale, NoConstants, "boosts", rests="there is nothing to scale"),
        "support": Stage(support, SupportConstants, "boosts", rests="no neighbour or session supports a candidate"),
        "session_first": "fivefold.designs.memsense:SESSION_FIRST",
        "cross_encoder": Stage(
            cross_encoder, CrossEncoder, "rerank", effort="normal", does=describe_use, rests="there is nothing to read"
        ),
        "additive": Stage(additive, AdditiveConstants, "rerank", rests="there is nothing to score"),
        "reads": Stage(reads, Reads, "rerank", rests="there is nothing to read"),
        "learned": Stage(learned, LearnedConstants, "rerank", rests="no model learned from use is switched on"),
        "ended": Stage(
            lower_ended, EndedConstants, "select", rests="no candidate has ended, or the question looks back"
        ),
        "noise": "fivefold.designs.engram:NOISE",
        "threshold": "fivefold.designs.engram:THRESHOLD",
        "mmr": "fivefold.designs.memsense:MMR",
        "standing": Stage(
            standing, StandingPlaces, "select", rests="no instruction applies, or all that apply are among the hits"
        ),
        "chance": Stage(chance, ChanceConstants, "select"),
        "repeats": Stage(
            repeats, Repeats, "select", rests="no candidate repeats another, or the question wants all of them"
        ),
        "coverage": Stage(
            coverage, Coverage, "select", rests="the question asks for no list, or every turn adds something to it"
        ),
        "neighbours": "fivefold.designs.memsense:NEIGHBOURS",
    },
    members_of(Stage),
)
"""Every stage by its name in recipes; a reference loads the design that has it."""


__all__ = ["STAGES", "Pool", "Stage", "best_first"]
