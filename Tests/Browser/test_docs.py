"""The API reference at /docs: complete without JavaScript, searchable with it, accessible in both themes."""

import re

import pytest
from playwright.sync_api import expect

METHODS = {"get", "post", "put", "patch", "delete"}


@pytest.mark.lean
@pytest.mark.parametrize("dark", [False, True])
def test_the_reference_is_accessible_in_both_themes(desktop, axe, dark):
    page = desktop("/docs", dark=dark)
    expect(page.get_by_role("heading", level=1)).to_have_text("Enroute API reference")
    expect(page.locator("#createJob")).to_contain_text("/api/v1/jobs")
    axe(page)


def test_the_reference_fits_a_small_phone(small_phone, axe):
    page = small_phone("/docs")
    expect(page.locator("article").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
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
    shown = {article.get_attribute("data-entry") for article in page.locator("main article").all()}
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
