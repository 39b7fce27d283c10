"""Copies the pages for the site into out/docs: the README as its first page, links out of docs/ as plain text.

python docs/make_site.py && zensical build
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import fivefold

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "out" / "docs"
MORE_PAGES = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
PARTS = {
    "engine": "Open a memory",
    "retrieval": "Recipes and blocks",
    "values": "What comes back",
    "settings": "Settings",
    "learning": "Learning",
    "writing": "The graph",
    "errors": "Errors",
}
"""Packages that hold public names, and their titles on the site."""

LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")


def site_pages() -> dict[Path, str]:
    """Names of the pages on the site, by the file each is made from."""
    trained = {page: f"trained-{page.parent.name}.md" for page in sorted((ROOT / "training").glob("*/README.md"))}
    docs = {page: page.name for page in sorted((ROOT / "docs").glob("*.md"))}
    return {**docs, **{ROOT / file: name for file, name in MORE_PAGES.items()}, **trained}


def with_links_of_the_site(page: Path, pages: dict[Path, str]) -> str:
    def link(found: re.Match[str]) -> str:
        image, text, target = found.groups()
        file, _, anchor = target.partition("#")
        if re.match(r"[a-z]+:", target) or not file:
            return found[0]
        linked = (page.parent / file).resolve()
        if name := pages.get(linked):
            return f"[{text}]({name}{'#' + anchor if anchor else ''})"
        if image:
            return f"![{text}]({linked.relative_to(ROOT / 'docs')})"
        return text

    parts = re.split(r"(^```.*?^```$)", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    return "".join(part if part.startswith("```") else LINK.sub(link, part) for part in parts)


def page_of_classes() -> str:
    """Every public name with its docstring, under the module that holds it."""
    lines = ["# Every class and method", "", "Made from the docstrings; [the library](python.md) has examples."]
    values = {name: getattr(fivefold, name) for name in fivefold.__all__ if name != "__version__"}
    for part, title in PARTS.items():
        lines += ["", f"## {title}"]
        homes = {name: value.__module__ for name, value in values.items()}
        lines += [f"\n::: {home}.{name}" for name, home in homes.items() if home.split(".")[1] == part]
    return "\n".join(lines)


def main() -> None:
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    shutil.copytree(ROOT / "docs" / "screens", OUT / "screens")
    pages = site_pages()
    for page, name in pages.items():
        (OUT / name).write_text(with_links_of_the_site(page, pages), "utf-8")
    (OUT / "api.md").write_text(page_of_classes(), "utf-8")


if __name__ == "__main__":
    main()
