"""The command line: `fivefold`, the library's equal."""

from __future__ import annotations

import os


def main() -> None:
    """Run the command line; errors raised on purpose are shown as one plain sentence."""
    # Matrices are small here. More threads would spin between them: twice the processor time for nothing.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from fivefold.cli.app import run

    run()
