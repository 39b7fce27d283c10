"""Texts of a source as records that can be stored, whatever they hold."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from fivefold.transfer.importers.sources import source_id, stored_digest, text_records
from fivefold.values.validate import visible

ANYTHING = st.text(st.characters(), max_size=20)


@settings(max_examples=60, deadline=None)
@given(ANYTHING, ANYTHING, st.lists(ANYTHING, max_size=4), ANYTHING, ANYTHING)
def test_whatever_a_source_holds_can_be_stored(text: str, speaker: str, tags: list[str], key: str, other: str) -> None:
    records = list(
        text_records(
            "chatgpt", (key, other), text, speaker=speaker, session=(key,), tags=tags, title=other, more=[{key: other}]
        )
    )
    assert bool(records) == visible(text.replace("\x00", "\ufffd"))
    for record in records:
        record.content.encode()
        assert stored_digest(record)


@given(st.text(), st.text())
def test_ids_differ_where_their_keys_do(one: str, other: str) -> None:
    if one != other:
        assert source_id("mem0", one) != source_id("mem0", other)


def test_a_very_long_text_is_one_record() -> None:
    text = "\n\n".join(f"paragraph {number} of a very long letter" for number in range(6_000))
    assert [(record.id, record.content) for record in text_records("claude", ("a",), text)] == [("claude:a", text)]
