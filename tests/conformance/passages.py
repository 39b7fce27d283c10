"""Passages of long texts and token vectors: a store gives back what was put in, and keeps none of it too long.

These tests write through the protocol itself, so that no model decides what a memory's passages are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest

from fivefold.stores.interface import Store, Writer
from fivefold.stores.records import Arm, Entry, VectorSpace
from fivefold.values.filters import Filter
from fivefold.values.memory import record_of
from fivefold.values.reports import Finding
from fivefold.values.vectors import Matrix, PassageVectors, Vector
from fivefold.writing.draft import draft
from fivefold.writing.extract import extractor

from .fixtures import StoreFixtures
from .store_pair import NOW, new_namespace
from .vectors import WordVectors

MODEL = WordVectors()
TEXTS: Mapping[str, Sequence[str]] = {
    "short": ("tea in the morning",),
    "long": ("the keel of the boat", "the mast of the boat", "the sail"),
    "empty": ("!",),
    "longer": tuple(f"chapter {number} of the logbook" for number in range(30)),
    "boat": ("the boat is green",),
}
"""Memories by their passages."""

TOKENS: Mapping[str, Sequence[bytes]] = {
    id: [f"{id} {part} ".encode() * (90 * (part + 1) % 997) for part in range(len(texts))]
    for id, texts in TEXTS.items()
} | {"empty": [b""]}
"""The token vectors of each passage: of many lengths, up to 11 KB; one passage has no token at all."""

Rows = Mapping[str, int]


def vector_of(text: str) -> Vector:
    vector: Vector = MODEL.embed([text])[0]
    return vector


def passages_of(id: str, texts: Sequence[str] = ()) -> list[PassageVectors]:
    """As a model would give them: a vector for each passage of a long text only."""
    texts = texts or TEXTS[id]
    tokens = [*TOKENS[id], *([b"new"] * len(texts))][: len(texts)]
    return [
        PassageVectors(part, vector_of(text) if len(texts) > 1 else None)
        for part, text in zip(tokens, texts, strict=True)
    ]


def entry_of(id: str, namespace: str, texts: Sequence[str] = ()) -> Entry:
    texts = texts or TEXTS[id]
    record = record_of({"content": " ".join(texts), "id": id})
    entry = draft(record, namespace, extractor("rules"), NOW).entry()
    return replace(entry, vectors={"full": centre_of(texts)}, passages=passages_of(id, texts))


def centre_of(texts: Sequence[str]) -> Vector:
    total = np.sum([vector_of(text) for text in texts], axis=0)
    centre: Vector = (total / np.linalg.norm(total)).astype(np.float32)
    return centre


class Stored:
    """A namespace whose memories have passages."""

    def __init__(self, store: Store, tokens: bool = True) -> None:
        self.store, self.name = store, new_namespace()
        with store.write(self.name) as txn:
            self.space = txn.vectors.pin(MODEL.pin, MODEL.dimension, tokens)
            self.rows: dict[str, int] = {id: txn.memories.add(entry_of(id, self.name)) for id in TEXTS}

    @property
    def every_passage(self) -> list[tuple[int, int]]:
        return [(self.rows[id], part) for id, texts in TEXTS.items() for part in range(len(texts))]

    def tokens(self, space: VectorSpace | None = None) -> dict[tuple[str, int], bytes]:
        """The token vectors of all passages that there ever were, by id and part."""
        found = self.store.reader(self.name).search.token_vectors(space or self.space, self.every_passage)
        ids = {row: id for id, row in self.rows.items()}
        return {(ids[row], part): tokens for (row, part), tokens in found.items()}

    def vectors(self, space: VectorSpace | None = None) -> dict[str, Matrix]:
        reader = self.store.reader(self.name)
        found = reader.search.passage_vectors(space or self.space, list(self.rows.values()))
        return {id: found[row] for id, row in self.rows.items() if row in found}

    def nearest(self, text: str, depth: int = 50) -> list[tuple[str, int]]:
        """The passages nearest to a text, by id and part."""
        reader = self.store.reader(self.name)
        hits = reader.search.dense(self.space, "passage", vector_of(text), depth, Filter())
        ids = {row: id for id, row in self.rows.items()}
        return [(ids[hit.row], hit.part) for hit in hits]

    def missing(self, txn: Writer, state: str = "active") -> list[str]:
        return [memory.id for memory, _ in txn.vectors.missing(state, 100)]  # type: ignore[arg-type]

    def findings(self) -> dict[str, Finding]:
        return {finding.check: finding for finding in self.store.check(self.name)}

    def is_sound(self) -> bool:
        return all(finding.ok for finding in self.findings().values())


def all_tokens(*without: str) -> dict[tuple[str, int], bytes]:
    return {
        (id, part): tokens for id, parts in TOKENS.items() if id not in without for part, tokens in enumerate(parts)
    }


class PassageLaws(StoreFixtures):
    """Each writes to a namespace of its own, through the protocol."""

    @pytest.fixture
    def stored(self, store: Store) -> Stored:
        return Stored(store)

    # reading

    def test_token_vectors_come_back_as_they_were(self, stored: Stored) -> None:
        assert stored.tokens() == all_tokens()
        assert stored.tokens() == all_tokens(), "a second reading gives the same"
        assert stored.is_sound()

    def test_passages_that_are_not_there_are_left_out(self, stored: Stored) -> None:
        search = stored.store.reader(stored.name).search
        short, long = stored.rows["short"], stored.rows["long"]
        found = search.token_vectors(
            stored.space, [(short, 1), (long, 2), (long, 3), (max(stored.rows.values()) + 9, 0)]
        )
        assert found == {(long, 2): TOKENS["long"][2]}
        assert search.token_vectors(stored.space, []) == {}
        assert search.passage_vectors(stored.space, []) == {}

    def test_vectors_of_passages_come_in_their_order_and_not_for_short_texts(self, stored: Stored) -> None:
        found = stored.vectors()
        assert set(found) == {"long", "longer"}
        for id, matrix in found.items():
            assert np.array_equal(matrix, MODEL.embed(TEXTS[id]))

    def test_the_vector_of_a_long_text_is_the_one_that_was_given(self, stored: Stored) -> None:
        found = stored.store.reader(stored.name).search.vectors(stored.space, list(stored.rows.values()))
        for id, row in stored.rows.items():
            assert np.array_equal(found[row], centre_of(TEXTS[id]))

    def test_a_search_among_passages_names_the_passage(self, stored: Stored) -> None:
        assert stored.nearest("the mast of the boat", 1) == [("long", 1)]
        assert stored.nearest("chapter 17 of the logbook", 1) == [("longer", 17)]
        every = stored.nearest("the mast of the boat")
        assert sorted(every) == sorted((id, part) for id in ("long", "longer") for part in range(len(TEXTS[id])))
        hits = stored.store.reader(stored.name).search.dense(
            stored.space, "full", vector_of("the boat is green"), 50, Filter()
        )
        assert hits[0].row == stored.rows["boat"]
        assert {hit.part for hit in hits} == {0}
        assert len(hits) == len(TEXTS)

    def test_in_a_fused_search_the_nearest_passage_of_a_memory_counts(self, stored: Stored) -> None:
        arms = (Arm("passages", 20, 1.0, "passage"), Arm("texts", 5, 0.5, "full"))
        mast = vector_of("the mast of the boat")
        hits = stored.store.reader(stored.name).search.rrf(stored.space, mast, (), arms, 10.0)
        among_passages = [(hit.row, hit.rank) for hit in hits if hit.route == "passages"]
        assert among_passages == [(stored.rows["long"], 1), (stored.rows["longer"], 2)]
        assert next(hit.score for hit in hits) == pytest.approx(1.0, abs=1e-5)
        assert len(hits) == 2 + len(TEXTS)

    def test_equal_passages_come_in_the_order_of_their_parts(self, stored: Stored) -> None:
        with stored.store.write(stored.name) as txn:
            same = [PassageVectors(b"x", vector_of("the sail")) for _ in range(4)]
            memory = txn.memories.by_row(stored.rows["boat"])
            assert memory is not None
            txn.vectors.put(memory, {"full": vector_of("the sail")}, "active", same)
        assert stored.nearest("the sail", 5) == [("long", 2), *(("boat", part) for part in range(4))]

    def test_a_space_says_whether_it_has_token_vectors(self, store: Store) -> None:
        for tokens in (True, False):
            stored = Stored(store, tokens)
            assert stored.space.tokens is tokens
            assert store.reader(stored.name).search.vector_space() == stored.space
            with store.write(stored.name) as txn:
                assert txn.vectors.space("active") == stored.space
                assert txn.vectors.open_space("other@1", 8, "building", not tokens).tokens is not tokens
                assert txn.vectors.pin("ignored@1", 8, not tokens) == stored.space
            with store.write(stored.name) as txn:
                building = txn.vectors.space("building")
                assert building is not None
                assert building.tokens is not tokens

    def test_a_space_without_token_vectors_has_passages_all_the_same(self, store: Store) -> None:
        stored = Stored(store, tokens=False)
        assert stored.tokens() == {}
        assert set(stored.vectors()) == {"long", "longer"}
        assert stored.nearest("the mast of the boat", 1) == [("long", 1)]
        with store.write(stored.name) as txn:
            assert stored.missing(txn) == []
        assert stored.is_sound()
        assert "token vectors" not in stored.findings()

    # writing

    def test_what_is_replaced_or_removed_leaves_nothing(self, stored: Stored) -> None:
        vectors = stored.store.reader(stored.name).admin.stats().vectors
        assert stored.tokens() == all_tokens()
        with stored.store.write(stored.name) as txn:
            txn.memories.replace(stored.rows["long"], entry_of("long", stored.name, ["one passage now"]))
            txn.memories.remove(stored.rows["longer"])
        assert stored.tokens() == {**all_tokens("long", "longer"), ("long", 0): TOKENS["long"][0]}
        assert stored.vectors() == {}
        assert stored.nearest("the mast of the boat") == []
        assert stored.store.reader(stored.name).admin.stats().vectors == vectors - 3 - 31
        with stored.store.write(stored.name) as txn:
            txn.memories.replace(stored.rows["long"], entry_of("long", stored.name, ["a bow", "a stern"]))
        assert {key: tokens for key, tokens in stored.tokens().items() if key[0] == "long"} == {
            ("long", part): TOKENS["long"][part] for part in range(2)
        }
        assert stored.nearest("a stern", 1) == [("long", 1)]
        assert stored.is_sound()

    def test_vectors_that_are_put_take_the_place_of_others(self, stored: Stored) -> None:
        with stored.store.write(stored.name) as txn:
            memory = txn.memories.by_row(stored.rows["long"])
            assert memory is not None
            txn.vectors.put(memory, {"user": vector_of("the user's side")}, "active")
        assert stored.tokens() == all_tokens()
        with stored.store.write(stored.name) as txn:
            txn.vectors.put(memory, {"full": vector_of("short now")}, "active", [PassageVectors(b"now")])
        assert stored.tokens() == {**all_tokens("long"), ("long", 0): b"now"}
        assert set(stored.vectors()) == {"longer"}
        with stored.store.write(stored.name) as txn:
            kept = txn.vectors.get([memory.row], "user")[memory.row]
        assert np.array_equal(kept, vector_of("the user's side"))
        assert stored.is_sound()

    def test_what_fails_half_way_changes_nothing(self, stored: Stored) -> None:
        def fail() -> None:
            with stored.store.write(stored.name) as txn:
                txn.memories.remove(stored.rows["longer"])
                txn.memories.replace(stored.rows["long"], entry_of("long", stored.name, ["else"]))
                raise RuntimeError("half way")

        with pytest.raises(RuntimeError, match="half way"):
            fail()
        assert stored.tokens() == all_tokens()
        assert set(stored.vectors()) == {"long", "longer"}

    def test_another_namespace_is_left_alone(self, stored: Stored, store: Store) -> None:
        other = Stored(store)
        with store.write(other.name) as txn:
            txn.vectors.drop_space("active")
        assert (other.tokens(), other.vectors()) == ({}, {})
        assert stored.tokens() == all_tokens()
        with store.write(other.name) as txn:
            txn.importer.clear()
        assert stored.tokens() == all_tokens()
        assert stored.is_sound()

    # another model

    def test_a_second_space_is_filled_and_takes_over(self, stored: Stored) -> None:
        with stored.store.write(stored.name) as txn:
            new = txn.vectors.open_space("second@1", MODEL.dimension, "building", tokens=True)
            assert stored.missing(txn, "building") == list(TEXTS)
            for memory, _ in txn.vectors.missing("building", 3):
                txn.vectors.put(memory, {"full": vector_of("x")}, "building", [PassageVectors(b"second")])
            assert stored.missing(txn, "building") == list(TEXTS)[3:]
        assert stored.tokens() == all_tokens(), "the active space serves as before"
        second = {(id, 0): b"second" for id in list(TEXTS)[:3]}
        assert stored.tokens(new) == second
        with stored.store.write(stored.name) as txn:
            txn.memories.remove(stored.rows["short"])
            txn.vectors.switch_space()
            assert stored.missing(txn) == list(TEXTS)[3:]
        del second["short", 0]
        assert stored.tokens(new) == second
        assert (stored.tokens(), stored.vectors()) == ({}, {})

    def test_memories_without_token_vectors_are_missing_where_a_space_has_them(self, stored: Stored) -> None:
        with stored.store.write(stored.name) as txn:
            for id in ("long", "boat"):
                memory = txn.memories.by_row(stored.rows[id])
                assert memory is not None
                txn.vectors.put(memory, {"full": vector_of(id)}, "active")
            assert stored.missing(txn) == ["long", "boat"]
            assert [memory.id for memory, _ in txn.vectors.missing("active", 1)] == ["long"]
        finding = stored.findings()["token vectors"]
        assert (finding.ok, finding.detail) == (False, "2 memories have none, 0 belong to no memory")
        assert stored.findings()["vectors"].ok
        with stored.store.write(stored.name) as txn:
            for memory, _ in txn.vectors.missing("active", 9):
                txn.vectors.put(memory, {"full": vector_of(memory.id)}, "active", passages_of(memory.id))
            assert stored.missing(txn) == []
        assert stored.tokens() == all_tokens()
        assert stored.is_sound()

    def test_passages_that_disagree_are_found_and_dropped_by_a_repair(self, stored: Stored) -> None:
        with stored.store.write(stored.name) as txn:
            memory = txn.memories.by_row(stored.rows["longer"])
            assert memory is not None
            txn.vectors.put(memory, {"passage": vector_of("the only one")}, "active")
        assert not stored.findings()["passages"].ok
        with stored.store.write(stored.name) as txn:
            txn.index.clear()
            assert stored.missing(txn) == ["longer"]
            txn.vectors.put(memory, {"full": centre_of(TEXTS["longer"])}, "active", passages_of("longer"))
            txn.index.finish_rebuild()
        assert stored.findings()["passages"].ok
        assert stored.findings()["token vectors"].ok
        assert stored.tokens() == all_tokens()
