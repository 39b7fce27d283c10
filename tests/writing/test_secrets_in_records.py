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


def test_a_secret_is_masked_in_every_field(tmp_path: Path) -> None:
    key, pin = "ghp_" + "aB3" * 12, "48210"
    with toy(str(tmp_path / "m.db")) as engine:
        engine.configure(secrets="mask", passwords="mask")
        report = engine.remember(
            "Paid",
            id="paid",
            speaker=f"Ana {CARD}",
            session_id=f"s {CARD}",
            tags=["shop", f"pin:{pin}", CARD],
            task_tag=CARD,
            predicate=f"paid with {CARD}",
            metadata={
                "cards": [int(CARD.replace(" ", "")), {"old": f"{CARD}!"}],
                "wifiPassword": "plain words too",
                "door_code": int(pin),
                key: True,
                "langchain": {"content": f"my PIN is {pin}"},
                "price": 12.5,
            },
        )
        assert len(report.notes) == 11
        assert f"metadata {NOTE} is masked" in report.notes
        assert "tags seems to contain a PIN, which is masked" in report.notes
        memory = engine.get("paid")
        assert memory.session_id == "s [the number of a payment card]"
        assert memory.tags == ("shop", "pin:[a PIN]", "[the number of a payment card]")
        assert memory.metadata["cards"][1] == {"old": "[the number of a payment card]!"}
        assert (memory.metadata["wifiPassword"], memory.metadata["door_code"]) == ("[a password]", "[a door code]")
        assert memory.metadata["price"] == 12.5
        engine.update("paid", metadata=memory.metadata)
        assert engine.get("paid").metadata == memory.metadata, "what is masked is not a secret"
        assert engine.health().finding("secrets").count == 0
    for file in tmp_path.iterdir():
        stored = file.read_bytes()
        assert not [
            part for part in (CARD, CARD.replace(" ", ""), key, pin, "plain words too") if part.encode() in stored
        ]


def test_passwords_have_a_setting_of_their_own() -> None:
    said, note = "the wifi password is swordfish", "content seems to contain a password, which is"
    with toy(":memory:") as engine:
        assert engine.remember(said, id="warn").notes == (f"{note} stored as it is",)
        assert engine.health().finding("secrets").count == 1
        engine.configure(passwords="keep", secrets="refuse")
        assert engine.remember(f"Again: {said}", id="keep").notes == ()
        engine.configure(passwords="mask")
        assert engine.remember(f"Anew: {said}", id="mask").notes == (f"{note} masked",)
        assert engine.get("mask").content == "Anew: the wifi password is [a password]"
        with pytest.raises(fivefold.InvalidInput, match="a payment card; take it out, or set secrets='mask'"):
            engine.remember(f"{said}, the card {CARD}")
        engine.configure(passwords="refuse", secrets="note")
        for record in ({"content": said}, {"content": "tea", "metadata": {"pin": 4821}}):
            with pytest.raises(fivefold.InvalidInput, match=r"take it out, or set passwords='mask'"):
                engine.remember_many([record])
        assert engine.stats().memories == 3


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
