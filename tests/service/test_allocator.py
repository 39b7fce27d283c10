"""What a process of fivefold's own takes of its machine: memory of the allocator, threads of OpenBLAS."""

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


@pytest.mark.parametrize("given", [None, "3"])
def test_a_command_has_one_thread_of_openblas_unless_told_otherwise(given: str | None) -> None:
    code = "import os, sys; sys.argv = ['fivefold', '--version']; from fivefold.cli import main\ntry: main()\n"
    code += "finally: print(os.environ['OPENBLAS_NUM_THREADS'])"
    env = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    env |= {} if given is None else {"OPENBLAS_NUM_THREADS": given}
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=env).stdout
    assert told.split()[-1] == (given or "1")
