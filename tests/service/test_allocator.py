"""The allocator of the system keeps less memory for a server."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="of glibc")
def test_the_allocator_is_limited_where_it_can_be() -> None:
    code = "from fivefold.web.serving import limit_arenas; print(limit_arenas())"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert told.strip() == str("glibc" in os.confstr("CS_GNU_LIBC_VERSION").lower())  # type: ignore[union-attr]
