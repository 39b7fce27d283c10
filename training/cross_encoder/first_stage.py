"""What a reranker gets: the top of ½ vectors + ½ BM25 for every benchmark question, with the texts to read."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "embedder"))

import apsw
import numpy as np
from benchmarks import Namespace, averages, locomo, longmemeval, measures
from vectors import Heads, onnx_heads, read_memories, read_questions

from fivefold.text.lexemes import lexemes
from fivefold.values.vectors import Passage

DEPTH = 50


def scaled(scores: np.ndarray) -> np.ndarray:
    """Scores from 0 to 1, the least and the best of the list."""
    low, high = scores.min(), scores.max()
    return (scores - low) / (high - low) if high > low else np.zeros_like(scores)


def lexical(space: Namespace) -> np.ndarray:
    """BM25 of every turn for every question, by FTS5 over the engine's lexemes."""
    base = apsw.Connection(":memory:")
    base.execute("create virtual table texts using fts5(body, tokenize=\"ascii tokenchars '-._/@:+#&~=?%\\'\")")
    rows = [(number, " ".join(lexemes(turn.told()))) for number, turn in enumerate(space.turns)]
    base.executemany("insert into texts(rowid, body) values (?, ?)", rows)
    found = np.zeros((len(space.asked), len(space.turns)), dtype=np.float32)
    for number, asked in enumerate(space.asked):
        words = " OR ".join(f'"{word}"' for word in dict.fromkeys(lexemes(asked.text)))
        if words:
            for row, score in base.execute("select rowid, bm25(texts) from texts where texts match ?", (words,)):
                found[number, row] = -score
    return found


def lists(space: Namespace, heads: Heads) -> list[dict[str, object]]:
    """For each question the best memories by fused score, with the texts a cross-encoder reads."""
    memories = read_memories(heads, [Passage(turn.told(), turn.before) for turn in space.turns])
    questions = read_questions(heads, [asked.text for asked in space.asked])
    dense = np.stack([asked.vector for asked in questions]) @ np.stack([memory.vector for memory in memories]).T
    words = lexical(space)
    found: list[dict[str, object]] = []
    for number, asked in enumerate(space.asked):
        fused = 0.5 * scaled(dense[number]) + 0.5 * scaled(words[number])
        best = np.argsort(-fused, kind="stable")[:DEPTH]
        found.append(
            {
                "question": asked.text,
                "gold": sorted(asked.gold),
                "kind": asked.kind,
                "keys": [space.turns[i].key for i in best],
                "fused": [float(fused[i]) for i in best],
                "memories": [(space.turns[i].told(), space.turns[i].before) for i in best],
                "rest": [space.turns[i].key for i in np.argsort(-fused, kind="stable")[DEPTH : 8 * DEPTH]],
            }
        )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("benchmarks", type=Path, help="folder with locomo-dev.json and longmemeval-oracle-dev.json")
    parser.add_argument("embedder", type=Path, help="fivefold-minilm.onnx")
    parser.add_argument("output", type=Path, help="folder for locomo.json and longmemeval.json")
    given = parser.parse_args()
    given.output.mkdir(parents=True, exist_ok=True)
    heads = onnx_heads(given.embedder)
    sets = {
        "locomo": locomo(given.benchmarks / "locomo-dev.json"),
        "longmemeval": longmemeval(given.benchmarks / "longmemeval-oracle-dev.json"),
    }
    for name, spaces in sets.items():
        found = [
            item for number, space in enumerate(spaces) for item in (x | {"space": number} for x in lists(space, heads))
        ]
        rows = [measures([*item["keys"], *item["rest"]], item["gold"]) for item in found]  # type: ignore[misc,arg-type]
        print(name, {key: round(value, 4) for key, value in averages(rows).items()}, flush=True)
        (given.output / f"{name}.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main()
