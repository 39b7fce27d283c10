"""What the shipped model says of families it has not seen, and what a write would mark, by person and relation.

python -m training.change.evaluate [choose|report]
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime

from training.change.pairs import Pair, read_pairs

from fivefold.models.change import Said, SaidPair, change_model
from fivefold.values.records import record_of
from fivefold.writing.change import LIKELY, is_sure
from fivefold.writing.draft import draft
from fivefold.writing.extract import extractor

Row = tuple[Pair, float, bool]
"""A pair, the chance that it is a change, and whether the older memory would be marked as ended."""

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def judged(pairs: Iterable[Pair]) -> list[Row]:
    """Every pair as a write judges it, but for candidates and statements."""
    pairs, rules = list(pairs), extractor("rules")
    said = [SaidPair(Said(pair.older, pair.older_speaker), Said(pair.newer, pair.newer_speaker)) for pair in pairs]
    rows = []
    for pair, chances in zip(pairs, change_model().chances(said), strict=True):
        older, newer = (
            draft(record_of({"content": text, "speaker": speaker}), "pairs", rules, NOW).memory
            for text, speaker in ((pair.older, pair.older_speaker), (pair.newer, pair.newer_speaker))
        )
        rows.append((pair, chances.replaces, is_sure(chances.replaces, older, newer)))
    return rows


def table(rows: Iterable[Row]) -> str:
    """The shares marked and at least likely, by person and relation, and by family."""
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        pair = row[0]
        groups[f"{'third' if pair.third_person else 'first'} person, {pair.relation}"].append(row)
        groups[f"all, {'changes' if pair.relation == 'replaces' else 'others'}"].append(row)
        groups[f"  {pair.family}, {pair.relation}"].append(row)
    lines = [f"{'':58} {'n':>5} {'marked':>7} {'likely':>7}"]
    for name, group in sorted(groups.items(), key=lambda item: (item[0].startswith(" "), item[0])):
        marked = sum(sure for _, _, sure in group) / len(group)
        likely = sum(chance >= LIKELY for _, chance, _ in group) / len(group)
        lines.append(f"{name:58} {len(group):>5} {marked:>7.3f} {likely:>7.3f}")
    return "\n".join(lines)


def calibration(rows: Iterable[Row]) -> str:
    """For each tenth of the chances, how many of the pairs are changes."""
    bins: dict[int, list[Row]] = defaultdict(list)
    for row in rows:
        bins[min(9, int(row[1] * 10))].append(row)
    shares = {
        number: sum(pair.relation == "replaces" for pair, _, _ in group) / len(group)
        for number, group in sorted(bins.items())
    }
    return "\n".join(f"said {number / 10:.1f}-{number / 10 + 0.1:.1f}: {share:.2f}" for number, share in shares.items())


def main() -> None:
    part = sys.argv[1] if len(sys.argv) > 1 else "report"
    rows = judged(read_pairs(part))
    print(f"{part}: {len(rows)} pairs\n{table(rows)}\n{calibration(rows)}")


if __name__ == "__main__":
    main()
