"""The API reference at /docs: complete without JavaScript, searchable with it, accessible in both themes."""

import re

import pytest
from playwright.sync_api import expect

from accessibility import OF_COLOURS

METHODS = {"get", "post", "put", "patch", "delete"}
# Colors depend on the tags and classes of an element and its ancestors, because the page has no inline style. Removes the
# articles, list items and table rows that have no text in a combination that was not there before.
KEEP_ONE_OF_EACH_COLOUR = """() => {
  const name = (each) => each.tagName + [...each.classList].sort().map((other) => `.${other}`).join('');
  const path = (each) => (each ? `${path(each.parentElement)}>${name(each)}` : '');
  const seen = new Set();
  for (const part of document.querySelectorAll('article, li, tr')) {
    const paths = [part, ...part.querySelectorAll('*')].map(path);
    const isNew = paths.some((each) => !seen.has(each));
    if (isNew) paths.forEach((each) => seen.add(each)); else part.remove();
  }
  return seen.size;
}"""


@pytest.mark.lean
def test_the_reference_is_accessible_in_both_themes(desktop, axe):
    page = desktop("/docs")
    expect(page.get_by_role("heading", level=1)).to_have_text("Enroute API reference")
    expect(page.locator("#createJob")).to_contain_text("/api/v1/jobs")
    axe(page, without=OF_COLOURS)
    assert page.evaluate(KEEP_ONE_OF_EACH_COLOUR) > 30
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        axe(page, rules=OF_COLOURS)


def test_the_reference_fits_a_small_phone(small_phone, axe):
    page = small_phone("/docs")
    expect(page.locator("article").first).to_be_visible()
    # `innerWidth` of a phone grows with what is too wide.
    assert page.evaluate("[document.documentElement.scrollWidth, innerWidth]") == [320, 320]
    axe(page)


@pytest.mark.lean
def test_the_reference_has_every_operation_and_needs_no_javascript(desktop):
    page = desktop("/docs", java_script_enabled=False)
    described = page.context.request.get("/openapi.json").json()
    operations = {
        operation["operationId"]
        for path in described["paths"].values() for method, operation in path.items() if method in METHODS
    }
    assert len(operations) > 50
    # The test's own script runs nevertheless.
    shown = set(page.locator("main article").evaluate_all("(all) => all.map((article) => article.dataset.entry)"))
    assert operations <= shown
    expect(page.locator("#search")).to_be_hidden()
    page.locator('#contents a[href="#changeStatus"]').click()
    expect(page).to_have_url(re.compile("#changeStatus$"))
    expect(page.locator("#changeStatus")).to_be_in_viewport()


@pytest.mark.lean
def test_a_search_hides_other_entries_and_is_part_of_the_address(desktop, axe):
    page = desktop("/docs")
    page.keyboard.press("/")
    expect(page.locator("#query")).to_be_focused()
    page.keyboard.type("tracking link revoke")
    expect(page.locator("#revokeLink")).to_be_visible()
    expect(page.locator("#readZones")).to_be_hidden()
    expect(page.locator("#found")).to_contain_text("entries match")
    expect(page.locator('#contents a[href="#readZones"]')).to_be_hidden()
    expect(page).to_have_url(re.compile(r"q=tracking"))
    # axe checks no hidden content, but takes long to skip it.
    page.evaluate("document.querySelectorAll('[hidden]').forEach((each) => each.remove())")
    axe(page)
    page.reload()
    expect(page.locator("#query")).to_have_value("tracking link revoke")
    expect(page.locator("#readZones")).to_be_hidden()
    # A link to something that the search hides shows it.
    page.evaluate("location.hash = '#readZones'")
    expect(page.locator("#readZones")).to_be_in_viewport()
    expect(page.locator("#query")).to_have_value("")


def test_the_reference_loads_nothing_from_elsewhere_and_runs_no_inline_code(desktop, evidence):
    page = desktop()
    response = page.goto("/docs")
    policy = response.headers["content-security-policy"]
    assert "unsafe-inline" not in policy and "default-src 'none'" in policy
    assert response.headers["content-encoding"] == "gzip" or response.headers["cache-control"] == "no-store"
    expect(page.locator("#search")).to_be_visible()
    assert page.evaluate("[...document.querySelectorAll('[style], script:not([src]), style')].length") == 0
