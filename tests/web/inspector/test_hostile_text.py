"""Stored text never runs: not as script, not as a link, not as a template, not as an instruction to htmx."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator
from importlib import resources
from urllib.parse import quote, urlencode

import pytest
from playwright.sync_api import Page, expect

import fivefold
from tests.support.hostile import HOSTILE as FENCE_BREAKING
from tests.support.web_server import Served

pytestmark = [pytest.mark.browser, pytest.mark.slow]

HTMX_SHA256 = "d6fdc75f204e6bdefa99b69bf1e6d4ac69b8a364f77929f45c13476b4000f717"
D3_FORCE_SHA256 = "8e1be7793295819c9475a1c46eef79d5a558b3fed8a2715ebe56609018665bec"

HOSTILE = (
    "<script>document.title='owned'</script>",
    "<img src=x onerror=\"document.title='owned'\">",
    "<a href=\"javascript:document.title='owned'\">click</a> javascript:alert(1)",
    "{{7*7}} {% raw %} ${7*7} #{7*7}",
    "<div hx-get='/login' hx-trigger='load' hx-on::load='document.title=1'>htmx</div>",
    "'\"><svg onload=document.title='owned'><style>*{display:none}</style>",
    "\u202egnorw si siht\u202c a\u200bb",
    "W" * 3_000,
    "👩‍👩‍👧‍👦 🏴‍☠️ Ω≈ç√ 漢字 العربية",
    *FENCE_BREAKING,
    "</textarea></title></option></select><iframe src=//evil.example></iframe>",
)
NAMESPACE = "\"><script>document.title='owned'</script>{{7*7}}\u202e"
SESSION = "<b hx-get=/login hx-trigger=load>s</b>/../%2e?#"
SPEAKER = "<img src=x onerror=document.title='owned'>"


@pytest.fixture(scope="module")
def hostile(served: Served) -> Iterator[list[str]]:
    """Memories that try it everywhere, in a namespace whose name does too."""
    with fivefold.open(served.path, namespace=NAMESPACE) as mem:
        report = mem.remember_many(
            {
                "content": f"Mallory Évil wrote: {text}",
                "speaker": SPEAKER,
                "session_id": SESSION,
                "turn_index": number,
                "tags": ["<i>tag</i>", "{{7*7}}"],
                "event_at": f"2025-03-{number + 1:02}T10:00:00Z",
                "metadata": {"<k>": "<script>1</script>"},
            }
            for number, text in enumerate(HOSTILE)
        )
        mem.graph.rename(mem.graph.entities("Mallory")[0].id, "<script>document.title='owned'</script>")
        yield list(report.stored)


def _at(path: str, **state: object) -> str:
    return f"{path}?{urlencode({'namespace': NAMESPACE, **state})}"


def _checked(page: Page) -> None:
    """Nothing of it became an element, nothing ran, nothing was asked for, and nothing widens the page."""
    assert page.title() != "owned"
    assert page.locator("main :is(script, iframe, style, img, b, i, svg[onload])").count() == 0
    assert page.locator("[onerror], [onload], [href^='javascript' i]").count() == 0
    assert page.locator("[hx-get='/login'], [hx-on\\:\\:load]").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "the page is as wide as the window"
    shown = page.locator("main").inner_text()
    assert not [c for c in shown if not c.isprintable() and c not in "\n\t\u200d\u00a0\u202f"], "nothing that is obeyed"


@pytest.mark.parametrize("view", ["ask", "why", "compare"])
def test_answers_show_hostile_text_as_text(browser_page: Page, hostile: list[str], view: str) -> None:
    question = f"Mallory {HOSTILE[0]} {HOSTILE[3]} {HOSTILE[4]}"
    browser_page.goto(_at(f"/{view}", q=question, recipe="recall", left="recall", right="lexical", k=20, recent=5))
    browser_page.locator("details").evaluate_all("all => all.forEach(each => { each.open = true })")
    browser_page.wait_for_load_state("networkidle")
    _checked(browser_page)
    expect(browser_page.locator("main")).to_contain_text("{{7*7}}")
    assert browser_page.locator("#q").input_value() == question


@pytest.mark.parametrize("path", ["/memories", "/sessions", "/graph", "/learn", "/settings", "/remember"])
def test_lists_show_hostile_text_as_text(browser_page: Page, hostile: list[str], path: str) -> None:
    answer = browser_page.goto(_at(path))
    assert answer is not None
    assert answer.status == 200
    _checked(browser_page)


def test_single_pages_show_hostile_text_as_text(browser_page: Page, hostile: list[str]) -> None:
    browser_page.set_viewport_size({"width": 390, "height": 800})
    for path in (f"/memories/{hostile[5]}", f"/memories/{hostile[7]}", f"/sessions/{quote(SESSION, safe='')}"):
        answer = browser_page.goto(_at(path))
        assert answer is not None
        assert answer.status == 200, path
        _checked(browser_page)


def test_marks_that_turn_the_writing_are_made_visible(browser_page: Page, hostile: list[str]) -> None:
    browser_page.goto(_at("/ask", q="gnorw si siht", recipe="lexical"))
    said = browser_page.locator("article .text").first
    expect(said).to_contain_text("·gnorw si siht·")
    assert said.evaluate("p => getComputedStyle(p).unicodeBidi") == "isolate"


def test_problems_echo_nothing_that_runs(browser_page: Page) -> None:
    for path in ("/memories/" + quote(HOSTILE[1], safe=""), "/sessions/" + quote(SESSION, safe=""), "/<script>"):
        answer = browser_page.goto(path)
        assert answer is not None
        assert answer.status == 404
        _checked(browser_page)


@pytest.mark.parametrize(
    "name", ["..%2Frendering.py", "%2e%2e%2frendering.py", "nothing.js", "..%2Ftemplates%2Fbase.html"]
)
def test_only_known_files_are_given_out(served: Served, name: str) -> None:
    assert served.client.get(f"/static/{name}").status_code == 404


def test_a_file_is_kept_where_its_address_tells_its_contents(served: Served) -> None:
    (named,) = re.findall(r'"(/static/page\.js\?v=\w+)"', served.client.get("/login").text)
    assert served.client.get(named).headers["cache-control"] == "public, max-age=31536000"
    for other in ("/static/page.js", "/static/page.js?v=0123456789ab"):
        assert served.client.get(other).headers["cache-control"] == "no-cache"


@pytest.mark.parametrize(
    ("name", "pinned", "path"), [("htmx", HTMX_SHA256, "/ask"), ("d3-force", D3_FORCE_SHA256, "/graph")]
)
def test_only_pinned_libraries_run(served: Served, name: str, pinned: str, path: str) -> None:
    script = resources.files("fivefold.web.inspector").joinpath(f"static/{name}.min.js").read_bytes()
    assert hashlib.sha256(script).hexdigest() == pinned
    page = served.client.get(path)
    assert f'integrity="sha256-{base64.b64encode(bytes.fromhex(pinned)).decode()}"' in page.text
    assert '"allowEval": false' in page.text
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self';" in policy
    assert "unsafe" not in policy


def test_no_template_holds_inline_script_or_style() -> None:
    """What the policy would block, and what it would have to be loosened for."""
    for template in resources.files("fivefold.web.inspector").joinpath("templates").iterdir():
        text = template.read_text("utf-8")
        assert " style=" not in text, template.name
        assert "<style" not in text, template.name
        assert "<script>" not in text, template.name
        assert "| safe" not in text, template.name
        assert "|safe" not in text, template.name
        assert "hx-on" not in text, template.name
        assert " on" + "click=" not in text, template.name
