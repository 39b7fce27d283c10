"""How well questions in other languages find English memories, with glosses and without.

python -m training.glosses.evaluate [PARALLEL_FOLDER]

The questions are those of `questions.txt`. With a folder of sentence pairs, sentences that were kept out of training
look for their own translation among a thousand.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import numpy as np
from training.glosses.pairs import CODES, held_out

import fivefold
from fivefold.models.embedders import DEFAULT, embedder
from fivefold.retrieval.understand import question as understanding
from fivefold.text import passages
from fivefold.text.languages import LANGUAGES, gloss, language_of

QUESTIONS = Path(__file__).parent / "questions.txt"
MEMORIES = Path(__file__).parent / "memories.txt"
AMONG = 1_000
ROW = "{:<10}{:>8}{:>8}{:>8}{:>8}{:>12}"


@dataclass(frozen=True, slots=True)
class Asked:
    """A memory and its question in one language."""

    memory: str
    language: str
    question: str


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parallel", nargs="?", type=Path, help="folder of sentence pairs, as for train.py")
    folder = parser.parse_args().parallel
    memories, asked = read_questions()
    print(f"{len(asked) // (len(LANGUAGES) + 1)} questions a language, {len(memories)} memories in English")
    print(ROW.format("", "hit@1", "hit@5", "hit@1", "hit@5", "recognised"))
    print(ROW.format("", "plain", "plain", "glossed", "glossed", ""))
    with tempfile.TemporaryDirectory() as path, fivefold.open(Path(path) / "memories.db") as memory:
        memory.remember_many([{"content": text} for text in memories])
        for language in ("en", *LANGUAGES):
            own = [item for item in asked if item.language == language]
            with patch.object(understanding, "language_of", lambda _: None):
                plain = hits(own, memory)
            print(ROW.format(language, *plain, *hits(own, memory), recognised(own)))
    for line in foreign_memories(memories):
        print(line)
    if folder:
        for line in translations(folder):
            print(line)


def read_questions() -> tuple[list[str], list[Asked]]:
    """Every memory, and every question with the memory that answers it."""
    memories: list[str] = []
    asked: list[Asked] = []
    for line in QUESTIONS.read_text("utf-8").splitlines():
        language, _, question = line.partition(": ")
        if language in ("en", *LANGUAGES):
            asked.append(Asked(memories[-1], language, question))
        elif line and line[0] not in "#[":
            memories.append(line)
    return memories, asked


def foreign_memories(others: Sequence[str]) -> Iterator[str]:
    """For each language how often an English question finds its memory first, among English ones, without and with."""
    yield "English questions about memories in other languages: hit@1 plain, glossed"
    blocks = [
        dict(line.split(": ", 1) for line in block.splitlines())
        for block in MEMORIES.read_text("utf-8").split("\n\n")[1:]
    ]
    for language in LANGUAGES:
        asked = [Asked(block[language], "en", block["en"]) for block in blocks]
        with patch.object(passages, "with_gloss", str):
            plain = _first([*others, *(item.memory for item in asked)], asked)
        yield f"{language:<10}{plain:>8}{_first([*others, *(item.memory for item in asked)], asked):>8}"


def _first(memories: Sequence[str], asked: Sequence[Asked]) -> str:
    with tempfile.TemporaryDirectory() as path, fivefold.open(Path(path) / "memories.db") as memory:
        memory.remember_many([{"content": text} for text in memories])
        return hits(asked, memory)[0]


def hits(asked: Sequence[Asked], memory: fivefold.Engine) -> tuple[str, str]:
    """The share of questions whose memory comes first, and among the first five."""
    ranks = []
    for item in asked:
        found = [hit.memory.content for hit in memory.recall(item.question, 5).hits]
        ranks.append(found.index(item.memory) if item.memory in found else 5)
    return f"{np.mean(np.equal(ranks, 0)):.2f}", f"{np.mean(np.less(ranks, 5)):.2f}"


def recognised(asked: Sequence[Asked]) -> str:
    return f"{np.mean([(language_of(item.question) or 'en') == item.language for item in asked]):.2f}"


def translations(folder: Path) -> Iterator[str]:
    """For each language how often a sentence's nearest English sentence is its translation, plain and glossed."""
    embed = embedder(DEFAULT).embed
    yield f"a sentence finds its translation among {AMONG}: hit@1 plain, glossed"
    for language in CODES:
        pairs = held_out(folder, language)[:AMONG]
        english = embed([pair.english for pair in pairs])
        texts = ([pair.foreign for pair in pairs], [gloss(pair.foreign, language).text for pair in pairs])
        vectors = (embed(given) for given in texts)
        shares = [float(np.mean((found @ english.T).argmax(axis=1) == np.arange(len(pairs)))) for found in vectors]
        yield f"{language:<10}{shares[0]:>8.2f}{shares[1]:>8.2f}"


if __name__ == "__main__":
    main()
