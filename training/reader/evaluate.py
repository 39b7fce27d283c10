"""What the shipped reader makes of families and scenes that it has not seen.

    python -m training.reader.evaluate [choose|report|scenes]

Of a part of the pairs, also what the write of the newer text does to the older, by person, relation and family.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from training.reader.figures import answer_figures, relation_figures
from training.reader.pairs import Pair, read_pairs
from training.reader.scenes import read_scenes, split

from fivefold.engine import Engine
from fivefold.models.reader import Chances, pair_reader
from fivefold.stores import open_store

BATCH = 50
"""Namespaces in one store, since many of them make every write slower."""


@dataclass(frozen=True)
class Verdict:
    """A pair, the chances that the model gives, and what the write of the newer text did to the older."""

    pair: Pair
    read: Chances
    marked: bool
    likely: bool


def judged(pairs: Sequence[Pair]) -> Iterator[Verdict]:
    """Every pair written in a namespace of its own, the older text a month before the newer."""
    chances = pair_reader().relations([pair.said for pair in pairs])
    for start in range(0, len(pairs), BATCH):
        store = open_store(":memory:")
        for at in range(start, min(start + BATCH, len(pairs))):
            pair, engine = pairs[at], Engine(store, f"pair-{at}")
            older = engine.remember(pair.older, speaker=pair.older_speaker, event_at="2026-01-05T09:00:00Z").id
            report = engine.remember(pair.newer, speaker=pair.newer_speaker, event_at="2026-02-05T09:00:00Z")
            marked = any(link.target == older for link in report.superseded)
            likely = marked or any(link.target == older for link in report.linked)
            yield Verdict(pair, chances[at], marked, likely)
        store.close()


def table(verdicts: Iterable[Verdict]) -> str:
    """The shares marked and at least likely, by person and relation, and by family."""
    groups: dict[str, list[Verdict]] = defaultdict(list)
    for verdict in verdicts:
        pair = verdict.pair
        groups[f"{'third' if pair.third_person else 'first'} person, {pair.relation}"].append(verdict)
        groups[f"all, {'changes' if pair.relation == 'replaces' else 'others'}"].append(verdict)
        groups[f"  {pair.family}, {pair.relation}"].append(verdict)
    lines = [f"{'':58} {'n':>5} {'marked':>7} {'likely':>7}"]
    for name, group in sorted(groups.items(), key=lambda item: (item[0].startswith(" "), item[0])):
        marked = sum(verdict.marked for verdict in group) / len(group)
        likely = sum(verdict.likely for verdict in group) / len(group)
        lines.append(f"{name:58} {len(group):>5} {marked:>7.3f} {likely:>7.3f}")
    return "\n".join(lines)


def calibration(verdicts: Iterable[Verdict]) -> str:
    """For each tenth of the model's chances, how many of the pairs are changes."""
    bins: dict[int, list[bool]] = defaultdict(list)
    for verdict in verdicts:
        bins[min(9, int(verdict.read.replaces * 10))].append(verdict.pair.relation == "replaces")
    shares = ((number / 10, sum(group) / len(group)) for number, group in sorted(bins.items()))
    return "\n".join(f"said {start:.1f}-{start + 0.1:.1f}: {share:.2f}" for start, share in shares)


def pair_report(part: str) -> str:
    pairs = read_pairs(part)
    verdicts = list(judged(pairs))
    figures = relation_figures(np.log([verdict.read for verdict in verdicts]), pairs)
    return f"{part}: {len(pairs)} pairs, {figures}\n{table(verdicts)}\n{calibration(verdicts)}"


def scene_report() -> str:
    _, kept = split(read_scenes())
    reader = pair_reader()
    scores = [reader.answers(asked.text, scene.memories) for scene in kept for asked in scene.questions]
    return f"{len(kept)} scenes, {len(scores)} questions: {answer_figures(np.concatenate(scores), kept)}"


def main() -> None:
    part = sys.argv[1] if len(sys.argv) > 1 else "report"
    print(scene_report() if part == "scenes" else pair_report(part))


if __name__ == "__main__":
    main()
