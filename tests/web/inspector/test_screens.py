"""Takes the pictures of the docs: FIVEFOLD_SCREENS=docs/screens pytest tests/web/inspector/test_screens.py"""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode

import pytest
from PIL import Image
from playwright.sync_api import Browser, Page

from tests.support.web_server import Served
from tests.test_docs import ROOT
from tests.web.inspector.conftest import WatchedPage

pytestmark = [pytest.mark.browser, pytest.mark.slow]

MOST_BYTES = 150_000
BERLIN = {"q": "What did I tell Sarah about the Berlin office last week?", "now": "2025-12-22T09:00:00"}
ALLERGIC = {"q": "Is there any medicine I'm allergic to?", "now": "2025-12-20T09:00:00"}
KESTREL = {"q": "What is the API time-out for Kestrel at the moment?", "now": "2025-12-20T09:00:00", "k": 4}


class Shot(NamedTuple):
    path: str
    high: int = 900
    wide: int = 1280
    dark: bool = False
    opened: int = 0


SHOTS = {
    "ask": Shot(f"/ask?{urlencode({**ALLERGIC, 'k': 3})}", 780),
    "ask-dark": Shot(f"/ask?{urlencode({**BERLIN, 'recipe': 'ditto', 'k': 3})}", 940, dark=True, opened=1),
    "ask-phone": Shot(f"/ask?{urlencode({**BERLIN, 'k': 2})}", 844, 390, dark=True),
    "overview": Shot("/overview?day=2025-12-10&days=365", 900),
    "card": Shot(f"/ask?{urlencode({**BERLIN, 'k': 1})}", 1240, opened=1),
    "why": Shot(f"/why?{urlencode({**BERLIN, 'k': 3})}", 1240),
    "compare": Shot(f"/compare?{urlencode(KESTREL)}", 1160, 1440),
    "memories": Shot("/memories?q=Berlin", 900),
    "memory": Shot("/memories/s21.01", 1000),
    "sessions": Shot("/sessions", 900),
    "graph": Shot("/graph", 900),
    "live": Shot("/live", 700),
    "learn": Shot("/learn", 800),
    "settings": Shot("/settings", 900),
}


FOLDER = os.environ.get("FIVEFOLD_SCREENS")
"""Where the pictures go; without it two are taken and thrown away, to see that they can be."""


@pytest.fixture(scope="module")
def folder(served: Served, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The models are loaded first, so that the times shown are those of a running server."""
    for question in (ALLERGIC, KESTREL, BERLIN):
        assert served.client.get(f"/ask?{urlencode({**question, 'k': 3})}").status_code == 200
    return Path(FOLDER) if FOLDER else tmp_path_factory.mktemp("screens")


@pytest.mark.parametrize("name", SHOTS if FOLDER else ("card", "ask-phone"))
def test_a_picture_is_taken(browser: Browser, served: Served, folder: Path, name: str) -> None:
    shot = SHOTS[name]
    context = browser.new_context(
        base_url=served.url,
        viewport={"width": shot.wide, "height": shot.high},
        color_scheme="dark" if shot.dark else "light",
        reduced_motion="reduce",
    )
    with WatchedPage(context, served.url) as page:
        answer = page.goto(shot.path)
        assert answer is not None
        assert answer.status == 200
        for summary in page.locator(".sums > summary").all()[: shot.opened]:
            summary.click()
            page.wait_for_load_state("networkidle")
        picture = take_picture(page)
    assert 5_000 < len(picture) < MOST_BYTES
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.png").write_bytes(picture)


def test_the_docs_have_each_picture_in_its_size() -> None:
    files = {path.stem: path for path in (ROOT / "docs" / "screens").glob("*.png")}
    assert files.keys() == SHOTS.keys()
    texts = "".join(path.read_text("utf-8") for path in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")))
    for name, shot in SHOTS.items():
        with Image.open(files[name]) as picture:
            assert picture.size == (shot.wide, shot.high), name
        assert f"screens/{name}.png" in texts, name


def take_picture(page: Page) -> bytes:
    """What is seen of the page, in 256 colours; a page of text and bars has hardly more."""
    seen = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    out = io.BytesIO()
    seen.quantize(256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(out, "PNG", optimize=True)
    return out.getvalue()
