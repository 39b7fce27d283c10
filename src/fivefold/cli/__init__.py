"""The command line: `fivefold`, the library's equal."""

from __future__ import annotations


def main() -> None:
    """Run the command line; errors raised on purpose are shown as one plain sentence."""
    from fivefold.cli.app import run

    run()
