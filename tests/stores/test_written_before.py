"""A store file written by version 0.1.0 before the modules were reordered opens and answers as it did then.

The file, and the answers beside it, were made once by that version and stay as they are.
"""

from __future__ import annotations

import json
import lzma
import shutil
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from fivefold import load_recipe
from fivefold.engine import Engine
from fivefold.service.idempotency import IdempotencyStore, StoredResponse
from fivefold.service.keys import Keyring
from fivefold.stores import open_store
from fivefold.values.access import Unauthorized

DATA = Path(__file__).parents[1] / "data" / "written_before"
ANSWERS: dict[str, Any] = json.loads((DATA / "answers.json").read_text("utf-8"))
AT = datetime(2025, 12, 20, 9, tzinfo=UTC)
NO_MODEL: dict[str, object] = {"rerank.cross_encoder.on": False}
STEADY: dict[str, Mapping[str, object]] = {
    "default": NO_MODEL,
    "five-stage": NO_MODEL,
    "engram": {**NO_MODEL, "select.noise.seed": 1},
}
"""A cross-encoder's scores depend on the batch, and so on the time at hand; noise depends on the recall's id."""


def clock() -> datetime:
    return AT


@pytest.fixture
def path(tmp_path: Path) -> Path:
    shutil.copytree(DATA / "memory.db.learned", tmp_path / "memory.db.learned")
    packed = (DATA / "memory.db.xz").read_bytes()
    (tmp_path / "memory.db").write_bytes(lzma.decompress(packed))
    return tmp_path / "memory.db"


@pytest.fixture
def written_before(path: Path) -> Iterator[Engine]:
    with Engine(open_store(str(path)), clock=clock) as engine:
        yield engine


def test_every_recipe_answers_alike(written_before: Engine) -> None:
    for name, questions in ANSWERS["answers"].items():
        recipe = load_recipe(name, STEADY.get(name))
        for question, expected in questions.items():
            hits = written_before.recall(question, k=6, recipe=recipe, now=AT)
            assert [hit.memory.id for hit in hits] == [id for id, _ in expected], (name, question)
            assert [hit.score for hit in hits] == pytest.approx([score for _, score in expected], abs=2e-6)


@pytest.mark.parametrize("recipe", sorted(STEADY))
def test_the_cross_encoder_reads_it_as_before(written_before: Engine, recipe: str) -> None:
    for question, expected in (("where do I live now?", "lives.2"), ("Which theme for a new app?", "theme")):
        assert written_before.recall(question, k=6, recipe=recipe, now=AT)[0].memory.id == expected


def test_it_is_whole_and_stays_so_when_it_is_rebuilt(written_before: Engine) -> None:
    for repair in (False, True):
        findings = [finding.to_dict() for finding in written_before.doctor(repair=repair)]
        assert [(item["check"], item["ok"]) for item in findings] == [
            (item["check"], item["ok"]) for item in ANSWERS["doctor"]
        ]


def test_settings_figures_and_what_was_learned_are_as_they_were(written_before: Engine) -> None:
    assert written_before.settings.to_dict() == ANSWERS["settings"]
    assert written_before.learned().to_dict() == ANSWERS["learned"]
    stats = written_before.stats().to_dict()
    assert {name: stats[name] for name in ANSWERS["stats"]} == ANSWERS["stats"]


def test_a_superseded_memory_has_its_history(written_before: Engine) -> None:
    assert written_before.history("lives.1").to_dict() == ANSWERS["history"]


def test_it_exports_the_same_lines(written_before: Engine, tmp_path: Path) -> None:
    target = tmp_path / "memories.jsonl"
    assert written_before.export_jsonl(target) == len(ANSWERS["export"])
    assert [json.loads(line) for line in target.read_text("utf-8").splitlines()] == ANSWERS["export"]


def test_its_memories_can_be_changed_and_forgotten(written_before: Engine) -> None:
    written_before.update("s01.03", content="My badge ID is E-99999 since the new door system.")
    assert "E-99999" in written_before.recall("what is my badge ID?", now=AT)[0].memory.content
    forgotten = written_before.forget("theme")
    assert forgotten.id == "theme"
    assert "theme" not in {hit.memory.id for hit in written_before.recall("Which theme for a new app?", now=AT)}
    assert written_before.forget_session("s05") == 7
    assert all(finding.ok for finding in written_before.doctor())


def test_feedback_and_new_statements_go_on_from_there(written_before: Engine) -> None:
    count = written_before.stats().feedback
    answer = written_before.recall("where do I live now?", recipe="ditto", now=AT)
    written_before.feedback(answer, used=[answer[0].memory.id])
    assert written_before.stats().feedback == count + 1
    written_before.remember("I moved from Bristol to Oslo.", id="oslo", speaker="user", event_at="2025-12-19T09:00:00Z")
    assert written_before.get("lives.2").superseded_by == "oslo"


def test_namespaces_stay_apart(path: Path) -> None:
    with Engine(open_store(str(path)), "other", clock=clock) as engine:
        assert [hit.memory.id for hit in engine.recall("where is the spare key?", now=AT)] == ["key"]


def test_keys_open_it_and_a_revoked_one_does_not(written_before: Engine) -> None:
    keys = Keyring(written_before.store, clock)
    caller = keys.caller(ANSWERS["key"])
    assert (caller.role, caller.namespaces) == ("writer", ("default",))
    with pytest.raises(Unauthorized):
        keys.caller(ANSWERS["revoked"])


def test_a_request_that_was_answered_is_answered_again(written_before: Engine) -> None:
    answers = IdempotencyStore(written_before.store, clock)
    try:
        again = answers.begin("default", "key POST /v1/memories", "once", b"digest")
    finally:
        answers.close()
    assert again == StoredResponse(201, '{"stored": ["misc"]}')
