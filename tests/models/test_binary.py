"""The file format of a weight model."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fivefold.models.shipped import MAGIC, BadModel, Contents, pack, unpack

CONTENTS = Contents("tiny", "minilm@1.0.0", 2, {"a": np.array([[1.0, 2.0], [3.0, -0.5]], dtype=np.float32)})


def test_round_trip() -> None:
    found = unpack(pack(CONTENTS))
    assert (found.name, found.pin, found.dimension) == ("tiny", "minilm@1.0.0", 2)
    assert found.tensors["a"].tolist() == [[1.0, 2.0], [3.0, -0.5]]


@given(st.data())
def test_a_changed_byte_is_never_read(data: st.DataObject) -> None:
    whole = bytearray(pack(CONTENTS))
    at = data.draw(st.integers(0, len(whole) - 1))
    whole[at] ^= data.draw(st.integers(1, 255))
    with pytest.raises(BadModel):
        unpack(bytes(whole))


@given(st.integers(0, len(pack(CONTENTS)) - 1))
def test_a_cut_file_is_never_read(length: int) -> None:
    with pytest.raises(BadModel):
        unpack(pack(CONTENTS)[:length])


def test_another_format_is_named() -> None:
    whole = bytearray(pack(CONTENTS))
    whole[len(MAGIC)] = 9
    with pytest.raises(BadModel, match="format 9, this fivefold reads format 1"):
        unpack(bytes(whole))
