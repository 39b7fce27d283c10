"""Settings: each with its meaning, changed one at a time, and reset to the default."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from fivefold.settings import Settings, settings_of
from fivefold.values.fields import fields_of
from fivefold.web.inspector.form_fields import text_of, value_of
from fivefold.web.inspector.settings import GROUPS
from tests.support.web_server import Served

pytestmark = [pytest.mark.browser, pytest.mark.slow]

OWN = "settings-changed"
DEFAULTS = Settings().to_dict()
FIELDS = fields_of(Settings)


def test_the_page_has_every_setting_once_the_recent_turns_first() -> None:
    names = [name for group in GROUPS.values() for name in group.split()]
    assert sorted(names) == sorted(FIELDS)
    assert names[0] == "recent_turns"
    assert all(spec.about for spec in FIELDS.values()), "each has a meaning"


def test_a_default_typed_in_is_that_default() -> None:
    values = {name: value_of(spec, text_of(spec.default)) for name, spec in FIELDS.items()}
    assert settings_of({name: value for name, value in values.items() if value is not None}) == Settings()


def test_settings_are_changed_and_brought_back(browser_page: Page, served: Served) -> None:
    place = f"/v1/namespaces/{OWN}/settings"
    browser_page.goto(f"/settings?namespace={OWN}")
    browser_page.get_by_label("recent_turns").fill("6")
    browser_page.get_by_label("timezone").fill("Europe/Berlin")
    browser_page.get_by_label("few_days").fill("7, 3")
    browser_page.get_by_label("day_first").select_option("no")
    browser_page.get_by_label("graph_weight").fill("0.25")
    browser_page.get_by_role("button", name="Save the settings").click()
    expect(browser_page.locator(".notice-good")).to_have_text("The settings are changed.")
    changed = {
        "recent_turns": 6,
        "timezone": "Europe/Berlin",
        "few_days": [7, 3],
        "day_first": False,
        "graph_weight": 0.25,
    }
    assert served.client.get(place).json() == {**DEFAULTS, **changed}
    browser_page.get_by_label("few_days").fill("")
    browser_page.get_by_label("day_first").select_option("")
    browser_page.get_by_role("button", name="Save the settings").click()
    expect(browser_page.locator(".notice-good")).to_be_visible()
    left = {name: changed[name] for name in ("recent_turns", "timezone", "graph_weight")}
    assert served.client.get(place).json() == {**DEFAULTS, **left}


def test_a_wrong_value_is_told_at_its_field_and_changes_nothing(browser_page: Page, served: Served) -> None:
    browser_page.goto(f"/settings?namespace={OWN}-not")
    browser_page.get_by_label("recent_turns").fill("3")
    browser_page.get_by_label("hops", exact=True).fill("many")
    browser_page.get_by_role("button", name="Save the settings").click()
    expect(browser_page.locator(".setting", has=browser_page.get_by_label("hops", exact=True))).to_contain_text(
        "hops must be a number, not 'many'"
    )
    expect(browser_page.get_by_label("recent_turns")).to_have_value("3")
    browser_page.get_by_label("hops", exact=True).fill("9")
    browser_page.get_by_role("button", name="Save the settings").click()
    expect(browser_page.get_by_role("alert")).to_have_text("hops must be a whole number from 0 to 3, not 9")
    assert served.client.get(f"/v1/namespaces/{OWN}-not/settings").json() == DEFAULTS
