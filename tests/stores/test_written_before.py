"""A store file written by version 0.1.0, with vectors of a model that is no longer there, opens and answers.

By words it answers as it did then. Its vectors are made again by a write, a repair, maintenance or by hand.

The file, and the answers beside it, were made once by that version and stay as they are.
"""

from __future__ import annotations

import json
import lzma
import shutil
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from fivefold import load_recipe
from fivefold.engine import Engine
from fivefold.errors import EmbedderMismatch
from fivefold.service.idempotency import IdempotencyStore, StoredResponse
from fivefold.service.keys import Keyring
from fivefold.service.maintenance import maintain
from fivefold.settings import Settings
from fivefold.stores import open_store
from fivefold.values.access import Unauthorized
from fivefold.values.memory import origin_of
from tests.conformance.vectors import WordVectors

DATA = Path(__file__).parents[1] / "data" / "written_before"
ANSWERS: dict[str, Any] = json.loads((DATA / "answers.json").read_text("utf-8"))
AT = datetime(2025, 12, 20, 9, tzinfo=UTC)
NO_MODEL: dict[str, object] = {"rerank.cross_encoder.on": False}
STEADY: dict[str, Mapping[str, object]] = {"five-stage": NO_MODEL, "engram": {**NO_MODEL, "select.noise.seed": 1}}
"""A cross-encoder's scores depend on the batch, and so on the time at hand; noise depends on the recall's id."""


def clock() -> datetime:
    return AT


def with_life(memory: dict[str, Any]) -> dict[str, Any]:
    """A memory as that version gave it, with the fields that came later."""
    origin = None if memory["kind"] == "session" else origin_of(memory["speaker"])
    return {**memory, "expires_at": None, "pinned": False, "origin": origin, "echo_count": 0}


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


def test_it_answers_by_words_as_it_did_then(written_before: Engine) -> None:
    for question, expected in ANSWERS["answers"]["lexical"].items():
        hits = written_before.recall(question, k=6, recipe="lexical", now=AT)
        assert [hit.memory.id for hit in hits] == [id for id, _ in expected], question
        assert [hit.score for hit in hits] == pytest.approx([score for _, score in expected], abs=2e-6)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(ANSWERS["answers"]))
def test_every_recipe_answers_and_says_that_its_vectors_are_not_searched(written_before: Engine, name: str) -> None:
    for question in ANSWERS["answers"][name]:
        answer = written_before.recall(question, k=6, recipe=load_recipe(name, STEADY.get(name)), now=AT)
        failed = {run.route: run.reason for run in answer.routes if run.status == "failed"}
        assert set(failed) == set(answer.degraded)
        assert all("'fivefold-minilm@1', a model that this version no longer has" in why for why in failed.values())
        assert all("reembed(embedder='fivefold-minilm') moves it" in why for why in failed.values())
        assert bool(failed) is (name != "lexical")


def test_the_doctor_says_so_and_a_repair_moves_it(written_before: Engine) -> None:
    findings = [finding.to_dict() for finding in written_before.doctor()]
    assert [(item["check"], item["ok"]) for item in findings] == [
        *((item["check"], item["ok"]) for item in ANSWERS["doctor"][:2]),
        ("checksums", True),
        ("texts", True),
        *((item["check"], item["ok"]) for item in ANSWERS["doctor"][2:]),
        ("named times", True),
        ("labels", True),
        ("facts", True),
        ("copies of upgrades", True),
        ("encryption", True),
        ("embedder", False),
    ]
    assert findings[-1]["detail"].startswith("this version no longer has fivefold-minilm@1")
    assert all(finding.ok for finding in written_before.doctor(repair=True))
    assert written_before.stats().embedder == "fivefold-minilm@3"


def moved_by_hand(engine: Engine) -> None:
    assert engine.reembed("fivefold-minilm") == "fivefold-minilm@3"


def moved_by_name(engine: Engine) -> None:
    named = Engine(engine.store, embedder="fivefold-minilm", clock=clock)
    assert named.recall("where do I live now?", now=AT).degraded
    moved_by_a_write(named)


def moved_by_a_write(engine: Engine) -> None:
    engine.forget(engine.remember("The bins go out on Tuesdays").id or "")


def moved_by_an_edit(engine: Engine) -> None:
    engine.update("theme", importance=engine.get("theme").importance)


def moved_by_maintenance(engine: Engine) -> None:
    assert ("vectors", True, True) in [(item.part, item.changed, item.ok) for item in maintain(engine.store, AT)]


@pytest.mark.slow
@pytest.mark.parametrize(
    "move", [moved_by_hand, moved_by_name, moved_by_a_write, moved_by_an_edit, moved_by_maintenance]
)
def test_once_moved_it_answers_as_a_new_one(
    written_before: Engine, tmp_path: Path, move: Callable[[Engine], None]
) -> None:
    """The same memories in a new file, without what was learned from use."""
    move(written_before)
    written_before.export_jsonl(tmp_path / "memories.jsonl")
    with Engine(open_store(str(tmp_path / "new.db")), clock=clock) as new:
        new.import_jsonl(tmp_path / "memories.jsonl")
        for name, questions in ANSWERS["answers"].items():
            recipe = load_recipe(name, STEADY.get(name))
            for question in questions:
                old, fresh = (engine.recall(question, k=6, recipe=recipe, now=AT) for engine in (written_before, new))
                assert not old.degraded
                best = {hit.memory.id for hit in fresh.hits[:3]}
                assert {hit.memory.id for hit in old.hits[:1]} <= best, (name, question)
                assert bool(old.hits) == bool(best)
                if name == "dense":
                    assert [hit.score for hit in old] == pytest.approx([hit.score for hit in fresh], abs=0.05)
    assert all(finding.ok for finding in written_before.doctor())


def test_a_move_that_is_ended_goes_on_the_next_time(written_before: Engine) -> None:
    first = [item for item in maintain(written_before.store, AT, ended=lambda: True) if item.part == "vectors"]
    assert [item.detail for item in first] == ["part of them was made again; the next round goes on"] * 2
    assert written_before.stats().embedder == "fivefold-minilm@1"
    assert written_before.recall("where do I live now?", now=AT).degraded
    second = [item for item in maintain(written_before.store, AT) if item.part == "vectors"]
    assert [item.detail for item in second] == ["moved from fivefold-minilm@1 to fivefold-minilm@3"] * 2
    assert [item for item in maintain(written_before.store, AT) if item.part == "vectors"] == []


def test_naming_another_embedder_is_a_mismatch_as_ever(path: Path) -> None:
    store = open_store(str(path))
    with pytest.raises(EmbedderMismatch, match=r"of 'fivefold-minilm@1', not of 'words-32@1'") as error:
        Engine(store, embedder=WordVectors())
    assert type(error.value) is EmbedderMismatch
    store.close()


def test_settings_figures_and_what_was_learned_are_as_they_were(written_before: Engine) -> None:
    settings, defaults = written_before.settings.to_dict(), Settings().to_dict()
    later = {name: value for name, value in defaults.items() if name not in ANSWERS["settings"]}
    assert settings == ANSWERS["settings"] | later  # a setting that came later has its default
    assert written_before.learned().to_dict() == ANSWERS["learned"]
    stats = written_before.stats().to_dict()
    assert {name: stats[name] for name in ANSWERS["stats"]} == ANSWERS["stats"] | {"entities": 35}  # names, no topics


def test_a_superseded_memory_has_its_history(written_before: Engine) -> None:
    sure = [{**link, "chance": 1.0} for link in ANSWERS["history"]["links"]]
    chain = [with_life(memory) for memory in ANSWERS["history"]["chain"]]
    expected = {"memory": with_life(ANSWERS["history"]["memory"]), "chain": chain, "links": sure, "facts": []}
    assert written_before.history("lives.1").to_dict() == {**ANSWERS["history"], **expected}


def test_it_exports_the_same_lines(written_before: Engine, tmp_path: Path) -> None:
    target = tmp_path / "memories.jsonl"
    assert written_before.export_jsonl(target) == len(ANSWERS["export"])
    assert [json.loads(line) for line in target.read_text("utf-8").splitlines()] == list(
        map(with_life, ANSWERS["export"])
    )


def test_its_memories_can_be_changed_and_forgotten(written_before: Engine) -> None:
    written_before.update("s01.03", content="My badge ID is E-99999 since the new door system.")
    assert "E-99999" in written_before.recall("what is my badge ID?", now=AT)[0].memory.content
    forgotten = written_before.forget("theme")
    assert forgotten.id == "theme"
    assert "theme" not in {hit.memory.id for hit in written_before.recall("Which theme for a new app?", now=AT)}
    assert written_before.forget_session("s05") == 7
    assert all(finding.ok for finding in written_before.doctor())


def test_feedback_and_new_statements_go_on_from_there(written_before: Engine) -> None:
    moved_by_hand(written_before)
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
