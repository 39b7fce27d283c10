"""Secrets on the way into a store: noted, masked or refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import fivefold
from tests.support.toy_engine import toy

CARD = "4111 1111 1111 1111"
NOTE = "seems to contain the number of a payment card, which"


def test_by_default_a_secret_is_stored_and_noted() -> None:
    with toy(":memory:") as engine:
        report = engine.remember(f"The card is {CARD}", id="card", user_text=f"{CARD}?")
        assert report.notes == (f"content {NOTE} is stored as it is", f"user_text {NOTE} is stored as it is")
        assert CARD in engine.get("card").content
        assert engine.remember("The card is blue").notes == ()


def test_a_masked_secret_is_nowhere_in_the_file(tmp_path: Path) -> None:
    with toy(str(tmp_path / "m.db")) as engine:
        engine.configure(secrets="mask")
        report = engine.remember(f"The card is {CARD}", session_id="s", id="card")
        assert report.notes == (f"content {NOTE} is masked",)
        engine.remember_messages([{"role": "user", "content": f"pay with {CARD}"}], session_id="t")
        engine.update("card", content=f"The new card is {CARD}")
        engine.supersede("card", {"content": f"Not {CARD}"})
        assert all(CARD not in line for line in engine.export_lines())
    for file in tmp_path.iterdir():
        assert CARD.encode() not in file.read_bytes()


def test_a_refused_secret_stores_nothing(tmp_path: Path) -> None:
    lines = tmp_path / "records.jsonl"
    lines.write_text("\n".join(json.dumps({"content": text}) for text in ("fine", f"pay with {CARD}")), "utf-8")
    with toy(":memory:") as engine:
        engine.configure(secrets="refuse")
        writes: tuple[Callable[[], object], ...] = (
            lambda: engine.remember(f"The card is {CARD}"),
            lambda: engine.remember_many(["fine", *["also fine"] * 1_000, f"The card is {CARD}"]),
            lambda: engine.import_jsonl(lines),
        )
        for write in writes:
            with pytest.raises(fivefold.InvalidInput, match=r"content seems to contain .* card; take it out, or set"):
                write()
        assert engine.stats().memories == 0
