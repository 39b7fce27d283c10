"""Write the tables of a run, from its folder, into docs/benchmarks.md: `python docs/make_everyday_tables.py FOLDER`."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

from fivefold.bench.everyday.tables import sections
from fivefold.bench.result_folder import RESULTS
from fivefold.values.serialize import Json

PAGE = Path(__file__).with_name("benchmarks.md")
BLOCK = re.compile(r"<!-- everyday -->\n.*?<!-- /everyday -->", re.DOTALL)


def block(results: Json) -> str:
    """Every table under its title."""
    tables = ["\n".join((f"{title}:", "", *lines)) for title, lines in sections(results)]
    return "\n\n".join(("<!-- everyday -->", *tables, "<!-- /everyday -->"))


def rewritten(page: str, results: Json) -> str:
    """`page` with the tables of this run."""
    return BLOCK.sub(lambda _: block(results), page)


if __name__ == "__main__":
    found = json.loads((Path(sys.argv[1]) / RESULTS).read_text("utf-8"))
    PAGE.write_text(rewritten(PAGE.read_text("utf-8"), found), "utf-8")
