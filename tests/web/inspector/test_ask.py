"""Ask: from a question to cards whose figures are those of the recall."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from urllib.parse import urlencode

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

import fivefold
from fivefold.models.embedders import Matrix
from fivefold.values.explain import NOT_FOUND, percent
from fivefold.values.html_parts import ACCENT, COLOURS
from fivefold.values.query import whole_percents
from fivefold.values.recall import Hit, Recall
from fivefold.web.inspector.rendering import STATIC, environment, figure, score
from tests.support.web_server import Served
from tests.web.inspector.conftest import WatchedPage

pytestmark = [pytest.mark.browser, pytest.mark.slow]

COFFEE = "How do I take my coffee these days?"
NOW = "2025-12-20T09:00:00"


def address(view: str, question: str, **state: object) -> str:
    return f"/{view}?{urlencode({'q': question, 'now': NOW, **state}, doseq=True)}"


def recall_over_rest(served: Served, question: str, recipe: str, k: int) -> Recall:
    with fivefold.open(served.path) as mem:
        return mem.recall(question, k=k, recipe=recipe, now=NOW)


def test_a_question_is_asked_with_the_keyboard_alone(browser_page: Page) -> None:
    browser_page.goto("/")
    browser_page.locator("main h2").click()
    browser_page.keyboard.press("/")
    browser_page.keyboard.type("what's my badge ID?")
    browser_page.keyboard.press("Enter")
    expect(browser_page.locator("[data-card]").first).to_contain_text("E-47821")
    assert browser_page.url.endswith("/ask?q=what%27s+my+badge+ID%3F"), "the address is short and can be shared"
    expect(browser_page.get_by_role("link", name="Why", exact=True)).to_have_attribute("href", re.compile("badge"))
    browser_page.locator("#theme").focus()
    browser_page.keyboard.press("j")
    browser_page.keyboard.press("j")
    expect(browser_page.locator("[data-card]").nth(1)).to_be_focused()
    browser_page.keyboard.press("k")
    browser_page.keyboard.press("o")
    expect(browser_page.locator("[data-card]").first.locator("details")).to_have_attribute("open", "")
    browser_page.keyboard.press("?")
    expect(browser_page.get_by_role("dialog")).to_be_visible()


def test_a_click_on_a_card_opens_it(browser_page: Page) -> None:
    browser_page.goto(address("ask", "JIRA-9921", recipe="lexical", k=1))
    card, details = browser_page.locator("article[data-card]"), browser_page.locator("article[data-card] details")
    card.locator(".text").first.click()
    expect(details).to_have_attribute("open", "")
    details.locator("table").click()
    expect(details).to_have_attribute("open", "")
    card.locator(".rank").click()
    expect(details).not_to_have_attribute("open", "")
    card.locator(".text").first.dblclick()
    expect(details).to_have_attribute("open", "")
    assert browser_page.evaluate("String(getSelection())").strip(), "a word can be marked"
    browser_page.keyboard.press("j")
    browser_page.keyboard.press("Enter")
    expect(details).not_to_have_attribute("open", "")


def test_memories_are_counted_as_people_see_them(served: Served) -> None:
    assert "315 memories from 39 conversations" in " ".join(served.client.get("/ask").text.split())


def test_what_no_route_found_has_no_share(served: Served) -> None:
    """An old memory that a route found brings along what replaced it, however little that has to do with the rest."""
    params = {"q": "When is Freja's birthday, and how old was she this year?", "recipe": "recall", "k": "100"}
    text = served.client.get("/ask", params={**params, "now": NOW}).text
    odd = [card for card in text.split("<article ")[1:] if "No route found it" in card]
    assert odd
    for card in odd:
        total = card.split('<tr class="sum">')[1].split("</tr>")[0]
        assert figure(0) in total
        assert "fill-" not in total, "the bar of nothing is empty"


@pytest.mark.parametrize("recipe", ["recall", "ditto", "memsense"])
def test_every_figure_is_read_off_the_recall(browser_page: Page, served: Served, recipe: str) -> None:
    answer = recall_over_rest(served, COFFEE, recipe, 4)
    browser_page.goto(address("ask", COFFEE, recipe=recipe, k=4))
    cards = browser_page.locator("article[data-card]")
    assert cards.count() == len(answer) == 4
    for hit, card in zip(answer, cards.all(), strict=True):
        assert card.get_attribute("data-id") == hit.memory.id
        card.locator(".sums > summary").click()
        lines = card.locator("table tr")
        rows = [[cell.strip() for cell in row.locator("th, td").all_inner_texts()] for row in lines.all()]
        for cells, item in zip(rows[1:], hit.candidate.evidence, strict=False):
            assert cells == [item.route, str(item.rank), "", figure(item.contribution), item.arithmetic]
        found, steps = len(hit.candidate.evidence), hit.candidate.steps
        assert [cells[3] for cells in rows[1 + found :]] == [
            figure(hit.candidate.fused),
            *(figure(step.after) for step in steps),
            score(hit.score, hit.composite),
        ]


def test_a_card_has_the_answer_its_chance_and_one_reason(browser_page: Page, served: Served) -> None:
    """Everything else is behind one click, and no other number is there to be compared with the chance."""
    answer = recall_over_rest(served, COFFEE, "default", 3)
    browser_page.goto(address("ask", COFFEE, k=3))
    for hit, card in zip(answer, browser_page.locator("article[data-card]").all(), strict=True):
        expect(card.locator(".reason")).to_have_text(hit.reason)
        expect(card.locator(".score")).to_have_text(re.compile(re.escape(percent(hit.chance or 0))))
        shown = card.inner_text().replace(hit.memory.content, "").replace(hit.reason, "")
        assert re.findall(r"\d[\d.]*", shown) == [str(hit.rank), *re.findall(r"\d+", shown_date(hit)), percent_of(hit)]
        card.locator(".sums > summary").click()
        assert card.locator("tr").last.inner_text().split()[:2] == ["chance", percent_of(hit)]
        expect(card.locator("details").get_by_role("link", name=hit.memory.id, exact=True)).to_be_visible()


def shown_date(hit: Hit) -> str:
    return f"{hit.memory.event_at.day} {hit.memory.event_at.year}"


def percent_of(hit: Hit) -> str:
    return percent(hit.chance or 0).split()[0]


@pytest.mark.parametrize("wide", [1280, 390])
def test_the_options_are_folded_and_say_what_is_chosen(browser_page: Page, wide: int) -> None:
    browser_page.set_viewport_size({"width": wide, "height": 844})
    browser_page.goto(address("ask", COFFEE, k=2, recipe="lexical"))
    options = browser_page.locator("details.options")
    expect(options.locator("summary")).to_have_text("Options · recipe lexical · the best 2 · as of 2025-12-20 09:00")
    expect(options.get_by_label("Effort")).not_to_be_visible()
    options.locator("summary").click()
    options.get_by_label("Memories").fill("3")
    browser_page.keyboard.press("Enter")
    expect(browser_page.locator("article[data-card]")).to_have_count(3)
    expect(options.locator("summary")).to_have_text("Options · recipe lexical · the best 3 · as of 2025-12-20 09:00")
    expect(options.get_by_label("Effort")).to_be_visible()


@pytest.mark.parametrize("view", ["ask", "why", "compare"])
def test_every_chance_is_that_of_the_recall(served: Served, view: str) -> None:
    answer = recall_over_rest(served, COFFEE, "default", 4)
    params = {"q": COFFEE, "now": NOW, "k": "4", "recipes": ["default", "lexical"]}
    shown = served.client.get(f"/{view}", params=params).text.split('<span class="chance"')[1:]
    figures = [re.search(r'<span class="number">(.*?)</span>', part) for part in shown]
    assert [found and found[1] for found in figures] == [percent(hit.chance or 0) for hit in answer]
    bars = [re.search(r'fill-accent" width="([\d.]+)"', part) for part in shown]
    assert [float(found[1]) for found in bars if found] == pytest.approx(
        [100 * (hit.chance or 0) for hit in answer], abs=0.01
    )


def test_a_recipe_without_chances_shows_none(served: Served) -> None:
    text = served.client.get("/ask", params={"q": COFFEE, "recipe": "ditto", "now": NOW}).text
    assert "<article" in text
    assert 'class="chance"' not in text


def test_a_filter_says_which_memories_may_answer(served: Served) -> None:
    text = served.client.get(address("ask", COFFEE, filter="speaker:assistant", k=3)).text
    with fivefold.open(served.path) as mem:
        ids = [hit.memory.id for hit in mem.recall(COFFEE, k=3, now=NOW, filter="speaker:assistant")]
    assert len(ids) == 3
    assert all(id in text for id in ids)
    assert 'name="filter" value="speaker:assistant"' in text
    assert "filter speaker:assistant" in text
    assert "filter speaker:assistant" in served.client.get(address("why", COFFEE, filter="speaker:assistant")).text


def test_a_notice_says_that_nothing_seems_to_answer(served: Served) -> None:
    answer = recall_over_rest(served, COFFEE, "default", 4)
    parts = environment().get_template("parts.html").module
    notice = parts.not_found_notice  # type: ignore[attr-defined]
    shown = notice(replace(answer, found=False, chance=0.12))
    assert f"{NOT_FOUND} The chance that one of these memories answers is 12 %." in shown
    assert not notice(replace(answer, found=True)).strip()


def test_each_signal_has_its_colour_and_its_length(browser_page: Page, served: Served) -> None:
    answer = recall_over_rest(served, COFFEE, "ditto", 3)
    best = max(item.contribution for hit in answer for item in hit.candidate.evidence)
    browser_page.goto(address("ask", COFFEE, recipe="ditto", k=3))
    bars = browser_page.locator("article[data-card]").first.locator("tbody tr:not(.sum) rect:not(.track)")
    colours = [bar.evaluate("bar => getComputedStyle(bar).fill") for bar in bars.all()]
    assert colours == ["rgb(47, 111, 237)", "rgb(217, 119, 6)", "rgb(15, 155, 116)"], "blue, amber, emerald"
    lengths = [float(bar.get_attribute("width") or 0) for bar in bars.all()]
    contributions = [item.contribution for item in answer[0].candidate.evidence]
    assert lengths == pytest.approx([100 * value / best for value in contributions], abs=0.01)


@pytest.mark.parametrize("view", ["ask", "why", "compare"])
def test_D10_composite_intent_and_weights_are_shown_in_percent(served: Served, view: str) -> None:
    answer = recall_over_rest(served, COFFEE, "ditto", 3)
    weights = answer.query.weights
    assert weights is not None
    text = served.client.get(address(view, COFFEE, recipe="ditto", recipes=["ditto"], k=3)).text
    for hit in answer:
        assert f'<span class="number">{100 * hit.score:.1f} %</span>' in text
        assert figure(hit.score, 3) not in re.sub(r"<details.*?</details>", "", text, flags=re.DOTALL)
    shown = " ".join(re.sub(r"<[^>]+>", " ", text).split())
    shares = whole_percents((weights.similarity, weights.recency, weights.frequency))
    for name, share in zip(("similarity", "recency", "frequency"), shares, strict=True):
        assert f"{name} {share} %" in shown
    assert f"intent {weights.intent}" in shown


def test_D10_one_colour_a_kind_on_pages_in_notebooks_and_terminals() -> None:
    css = (STATIC / "style.css").read_text("utf-8")
    tokens = dict(re.findall(r"--([a-z]+): light-dark\((#\w+),", css))
    fills = [
        (kind, token)
        for kinds, token in re.findall(r"(\.fill-[^{]+) \{ fill: var\(--([a-z]+)\)", css)
        for kind in re.findall(r"fill-([a-z]+)", kinds)
    ]
    assert {kind: tokens[token] for kind, token in fills} == {**COLOURS, "accent": ACCENT}


def test_a_card_opens_to_the_turns_beside_it(browser_page: Page) -> None:
    browser_page.goto(address("ask", "JIRA-9921", recipe="lexical", k=1))
    card = browser_page.locator("article[data-card]")
    card.locator(".sums > summary").click()
    expect(card.get_by_role("heading", name="Before and after it")).to_be_visible()
    assert card.locator(".context-turn").count() in {1, 2}


def test_the_way_through_the_graph_is_told(browser_page: Page) -> None:
    browser_page.goto(address("ask", "Which product is Sarah's boss responsible for?", recipe="recall", k=10))
    reached = browser_page.locator("details.sums", has_text="Sarah Chen").first
    reached.locator("summary").click()
    expect(reached.get_by_role("listitem").filter(has_text="graph")).to_contain_text("Sarah Chen")


def test_recent_turns_come_along_apart_from_the_answer(browser_page: Page) -> None:
    browser_page.goto(address("ask", COFFEE, recipe="lexical", recent=3))
    expect(browser_page.locator(".recent .context-turn")).to_have_count(3)
    browser_page.goto(address("ask", COFFEE, recipe="lexical", recent=2, session="s01"))
    expect(browser_page.locator(".recent")).to_contain_text("flat white")


@pytest.mark.parametrize(
    ("state", "error"),
    [
        ({"k": "many"}, "k is a whole number, not 'many'"),
        ({"k": "5000"}, "at most 100"),
        ({"recipe": "/etc/passwd"}, "unknown recipe '/etc/passwd'"),
        ({"effort": "heroic"}, "effort"),
        ({"now": "soon"}, "write it like"),
        ({"recent": "-1"}, "recent_turns"),
        ({"filter": "colour:red"}, "'colour' is not a field"),
    ],
)
def test_what_cannot_be_used_is_told_at_the_form(served: Served, state: dict[str, str], error: str) -> None:
    answer = served.client.get("/ask", params={"q": COFFEE, **state})
    assert answer.status_code == 422
    assert error in answer.text.replace("&#39;", "'")
    assert f'value="{COFFEE}"' in answer.text, "what was typed stays"


@pytest.mark.parametrize("view", ["ask", "why", "compare"])
def test_a_question_without_an_answer_says_so(served: Served, view: str) -> None:
    text = served.client.get(address(view, "xyzzyx", recipe="lexical", recipes=["lexical"])).text
    assert re.search(r">No memories( found)?\.? ?<", text)
    assert "<article" not in text
    assert "No memories yet" not in text


def test_an_empty_namespace_says_how_to_fill_it(browser_page: Page) -> None:
    browser_page.goto("/ask?namespace=nothing-here")
    expect(browser_page.get_by_role("heading", name="No memories yet")).to_be_visible()
    expect(browser_page.get_by_text("fivefold add")).to_contain_text("--namespace nothing-here")
    browser_page.get_by_role("link", name="Add the first memory").click()
    expect(browser_page.get_by_role("heading", level=1)).to_be_visible()
    assert "namespace=nothing-here" in browser_page.url


def test_a_thumb_is_kept_as_feedback(browser_page: Page, served: Served) -> None:
    with fivefold.open(served.path, namespace="thumbs") as mem:
        mem.remember("The spare key lies under the blue flowerpot.", id="key")
    browser_page.goto("/ask?namespace=thumbs&q=Where+is+the+spare+key%3F&recipe=lexical")
    browser_page.get_by_role("button", name="This memory helped").click()
    expect(browser_page.get_by_role("button", name="This memory helped")).to_have_attribute("aria-pressed", "true")
    with fivefold.open(served.path, namespace="thumbs") as mem:
        assert mem.get("key").access_count == 1


def test_going_back_and_choosing_a_namespace_keep_the_question(browser_page: Page, served: Served) -> None:
    with fivefold.open(served.path, namespace="elsewhere") as mem:
        mem.remember("The ticket JIRA-9921 is about a hedge.", event_at="2025-05-05T05:05:05Z")
    browser_page.goto(address("ask", "badge", recipe="lexical", k=1))
    browser_page.locator("#q").fill("JIRA-9921")
    browser_page.keyboard.press("Enter")
    expect(browser_page.locator("article[data-card]")).to_contain_text("JIRA-9921")
    browser_page.go_back()
    expect(browser_page.locator("article[data-card]")).to_contain_text("badge")
    expect(browser_page.locator("#q")).to_have_value("badge")
    browser_page.go_forward()
    expect(browser_page.locator("article[data-card]")).to_contain_text("JIRA-9921")
    browser_page.get_by_label("Namespace").select_option("elsewhere")
    expect(browser_page.locator("article[data-card]")).to_contain_text("hedge")


def test_without_scripts_a_form_is_enough(browser: Browser, served: Served) -> None:
    context = browser.new_context(base_url=served.url, java_script_enabled=False)
    with WatchedPage(context, served.url) as page:
        page.goto("/ask")
        page.get_by_label("Question").fill("JIRA-9921")
        page.locator(".options > summary").click()
        page.get_by_label("Recipe").select_option("lexical")
        page.get_by_role("button", name="Ask").click()
        expect(page.locator("article[data-card]").first).to_contain_text("JIRA-9921")
        page.locator(".sums > summary").first.click()
        expect(page.locator("table").first).to_be_visible()
        expect(page.get_by_role("link", name="The turns before and after it").first).to_be_visible()


class Foreign:
    """An embedder that only its maker has."""

    pin = "foreign@1"
    dimension = 4

    def embed(self, texts: Sequence[str], progress: Callable[[int], None] | None = None) -> Matrix:
        return np.full((len(texts), 4), 0.5, dtype=np.float32)


def test_a_route_that_failed_is_named(browser_page: Page, served: Served) -> None:
    with fivefold.open(served.path, namespace="foreign", embedder=Foreign()) as mem:
        mem.remember("The bees were moved to the orchard.")
    browser_page.goto("/ask?namespace=foreign&q=Where+are+the+bees%3F&recipe=five-stage")
    expect(browser_page.locator(".notice-warn")).to_contain_text("Route dense failed")
    expect(browser_page.locator("article[data-card]")).to_contain_text("orchard")


LONG = "\n\n".join(
    (
        "We walked <b>along</b> the river again. " * 25,
        "<script>document.title = 'owned'</script> & I am allergic to <i>penicillin</i>. " + "It rained. " * 50,
        "Then we went home. " * 50 + "The end.",
    )
)


@pytest.fixture(scope="module")
def long_memory(served: Served) -> str:
    with fivefold.open(served.path, namespace="long") as mem:
        mem.remember(LONG, id="long", speaker="user", event_at="2025-05-01T09:00:00Z")
        mem.remember("Tea without milk, please", id="tea", speaker="user", event_at="2025-05-01T09:00:00Z")
    return "long"


@pytest.mark.parametrize("view", ["ask", "why"])
def test_words_that_met_are_marked_and_nothing_runs(browser_page: Page, long_memory: str, view: str) -> None:
    browser_page.goto(address(view, "What am I allergic to?", namespace=long_memory, k=1))
    assert browser_page.title() != "owned"
    mark = browser_page.locator("[data-card] mark.met").filter(has_text="allergic").first
    expect(mark).to_have_class(re.compile("met-3"))
    expect(mark).to_have_attribute("title", re.compile(r"^matches “allergic”, 0\.\d\d"))
    assert browser_page.locator("main :is(script, b, i)").count() == 0


def test_of_a_long_memory_the_passage_is_shown_and_the_rest_can_be_opened(browser_page: Page, long_memory: str) -> None:
    browser_page.goto(address("ask", "What am I allergic to?", namespace=long_memory, k=1))
    card = browser_page.locator("article[data-card]")
    expect(card.locator(".text").first).to_have_text(
        re.compile(r"^… .*</script> & I am allergic to <i>.* …$", re.DOTALL)
    )
    expect(card.locator(".text").first).not_to_contain_text("The end.")
    whole = card.locator("details.whole")
    expect(whole.locator(".text")).not_to_be_visible()
    whole.locator("summary").click()
    expect(whole.locator(".text")).to_be_visible()
    assert whole.locator(".text").text_content() == LONG
    assert "allergic" in (whole.locator(".passage").text_content() or "")
    expect(card.locator("details.sums")).not_to_have_attribute("open", "")
    card.locator(".sums > summary").click()
    met = card.locator(".met-pairs li").filter(has_text="“allergic” matches “allergic”")
    expect(met).to_be_visible()
    expect(card.locator("mark.met", has_text="allergic").last).to_have_attribute(
        "title", re.compile("matches “allergic”")
    )


def test_lists_show_the_beginning_of_a_long_memory(served: Served, long_memory: str) -> None:
    text = served.client.get("/memories", params={"namespace": long_memory}).text
    assert "We walked &lt;b&gt;along" in text
    assert "Then we went home" not in text
    assert f"The whole text, {len(LONG):,} characters" in text
