"""How two texts stand before the reader: each with its speaker, the older memory or the question first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fivefold.models.bert import Ids

if TYPE_CHECKING:
    from tokenizers import Tokenizer

LONGEST = 72
"""Word pieces read of each text."""

PIECE = 12
"""Characters a word piece may have on average; what lies beyond is not worth tokenising."""

ASSISTANT = frozenset({"assistant", "agent", "ai", "bot", "model", "system"})


@dataclass(frozen=True, slots=True)
class Said:
    """A text and who says it; an empty speaker is the user."""

    text: str
    speaker: str = ""

    @property
    def by_assistant(self) -> bool:
        return self.speaker.strip().lower() in ASSISTANT

    @property
    def line(self) -> str:
        """The text after its speaker, as the model reads it."""
        speaker = "assistant" if self.by_assistant else self.speaker.strip().lower() or "user"
        return f"{speaker}: {self.text[: PIECE * LONGEST]}"


@dataclass(frozen=True, slots=True)
class SaidPair:
    """Two memories in the order they were said, or a question and a memory."""

    older: Said
    newer: Said


def token_rows(pieces: Tokenizer, pairs: Sequence[SaidPair]) -> list[tuple[list[int], int]]:
    """A row a pair, `[CLS] older [SEP] newer [SEP]`, and where the newer begins; equal texts are cut once."""
    lines = list(dict.fromkeys(said.line for pair in pairs for said in (pair.older, pair.newer)))
    encoded = pieces.encode_batch(lines, add_special_tokens=False)
    ids = {line: found.ids[:LONGEST] for line, found in zip(lines, encoded, strict=True)}
    start, end = (int(pieces.token_to_id(mark) or 0) for mark in ("[CLS]", "[SEP]"))
    rows = []
    for pair in pairs:
        older, newer = ids[pair.older.line], ids[pair.newer.line]
        rows.append(([start, *older, end, *newer, end], len(older) + 2))
    return rows


def model_inputs(rows: Sequence[tuple[Sequence[int], int]]) -> dict[str, Ids]:
    """A batch side by side: ids, mask, and 1 where the newer text stands."""
    width = max(len(row) for row, _ in rows)
    ids, mask, parts = (np.zeros((len(rows), width), dtype=np.int64) for _ in range(3))
    for i, (row, newer) in enumerate(rows):
        ids[i, : len(row)] = row
        mask[i, : len(row)] = 1
        parts[i, newer : len(row)] = 1
    return {"input_ids": ids, "attention_mask": mask, "token_type_ids": parts}
