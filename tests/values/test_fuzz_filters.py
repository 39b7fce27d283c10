"""Generated filters: each is a value that can be written and read again, or an error in plain words."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fivefold.errors import InvalidInput
from fivefold.values.filter_language import filter_of, write_filter
from tests.support.fuzzing import value_or_none

PIECES = (
    'speaker: tag: -tag: meta. meta.a.b price >= <= > < = : , " \\ ( ) since: until: type:fact kind:turn pinned: yes '
    "no used: alive-at: 2024-01-01 2024-13-99 10 -1e308 nan inf origin:user session: text: ana é \u202e \n \x00"
).split(" ")
TEXTS = st.text(max_size=60) | st.lists(st.sampled_from(PIECES), max_size=12).map("".join)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
FIELDS = st.sampled_from(
    ["speakers", "tags", "all_tags", "metadata", "words", "since", "until", "kinds", "pinned", "x"]
)


@given(TEXTS)
def test_a_text_is_a_filter_or_a_plain_error(text: str) -> None:
    keep = value_or_none(filter_of, text, refusal=InvalidInput)
    assert keep is None or filter_of(write_filter(keep)) == keep


@given(st.dictionaries(FIELDS, VALUES, max_size=3))
def test_a_mapping_is_a_filter_or_a_plain_error(fields: dict[str, object]) -> None:
    keep = value_or_none(filter_of, fields, refusal=InvalidInput)
    assert keep is None or filter_of(write_filter(keep)) == keep
