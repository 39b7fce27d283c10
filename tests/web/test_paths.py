"""Names in paths: whatever a name holds, it comes out of the path as it went in."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fivefold.web.security import NameConvertor, quoted

pytestmark = pytest.mark.slow

CONVERTOR = NameConvertor()


@given(st.text(min_size=1))
def test_a_name_survives_its_path(name: str) -> None:
    segment = quoted(name)
    assert "/" not in segment
    assert segment.isascii()
    assert segment not in {".", ".."}
    assert CONVERTOR.convert(segment) == name
    assert CONVERTOR.to_string(name) == segment


@given(st.binary(min_size=1))
def test_bytes_that_are_no_text_stay_what_they_were(given: bytes) -> None:
    segment = "".join(f"%{byte:02X}" for byte in given)
    assert CONVERTOR.convert(segment).encode("utf-8", "surrogateescape") == given
