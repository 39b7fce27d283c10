"""The pairs of statements that `fivefold bench everyday` writes, which no model was fitted to.

`python -m tests.support.change_cases` packs them again.
"""

from __future__ import annotations

import json
import lzma

from training.reader.pairs import read_pairs

from fivefold_bench.everyday import CASES


def packed_text(part: str) -> str:
    """The lines of one part as the benchmark reads them."""
    rows = [
        {
            "older": pair.older,
            "newer": pair.newer,
            "older_speaker": pair.older_speaker,
            "newer_speaker": pair.newer_speaker,
            "relation": pair.relation,
            "person": "third" if pair.third_person else "first",
        }
        for pair in read_pairs(part)
    ]
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


if __name__ == "__main__":
    CASES.mkdir(exist_ok=True)
    for part in ("choose", "report"):
        raw = packed_text(part).encode()
        (CASES / f"{part}.jsonl.xz").write_bytes(lzma.compress(raw, preset=9 | lzma.PRESET_EXTREME))
