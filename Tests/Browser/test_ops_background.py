"""The operations page in a background tab, where browsers render nothing, and while it does not know the zone's jobs."""

import pytest
from playwright.sync_api import expect

from test_ops import ROWS, look, row, zone  # noqa: F401: fixtures

HIDDEN_MS = 30_000
# A hidden page polls every 30 s; the test does not wait that long.
HURRY = """(() => {
  const real = window.setTimeout;
  window.setTimeout = (act, ms, ...more) => real(act, ms === %d ? 300 : ms, ...more);
})()""" % HIDDEN_MS
HIDE = """() => {
  Object.defineProperty(document, 'hidden', {value: true, configurable: true});
  window.requestAnimationFrame = () => 0;
  document.dispatchEvent(new Event('visibilitychange'));
}"""
ALL_GOOD = "Nothing needs your attention"


@pytest.mark.lean
def test_a_hidden_page_shows_in_its_title_what_needs_somebody(order_system, look, zone):  # noqa: F811
    order_system.delivery("accepted", zone=zone)
    page = look()
    page.add_init_script(HURRY)
    page.goto(f"/ops?zone={zone}")
    expect(page.locator(ROWS)).to_have_count(1)
    expect(page).to_have_title("Operations")
    page.evaluate(HIDE)
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    order_system.delivery("accepted", "allocation_failed", zone=zone)
    expect(page).to_have_title("(1) Operations")
    order_system.delivery("accepted", "allocation_failed", zone=zone)
    expect(page).to_have_title("(2) Operations")
    expect(page.locator("#queue ol a")).to_have_count(2)
    assert not [url for url in asked if url.endswith("/audit")]


@pytest.mark.lean
def test_a_page_that_knows_no_jobs_does_not_say_that_nothing_needs_attention(desktop):
    page = desktop("/ops")
    expect(page.locator("#signin")).to_be_visible()
    expect(page.locator("#dashboard")).to_be_visible()
    expect(page.locator("#queue")).not_to_contain_text(ALL_GOOD)


@pytest.mark.lean
def test_the_queue_of_a_zone_is_not_shown_for_another_whose_jobs_are_unknown(order_system, look, zone):  # noqa: F811
    other = f"{zone}-b"
    failed = order_system.delivery("accepted", "allocation_failed", zone=zone)
    order_system.delivery("accepted", zone=other)
    page = look(f"?zone={zone}")
    expect(page.locator("#queue ol a")).to_contain_text(failed.name)
    page.route(f"**/zones/{other}/jobs*", lambda route: route.abort())
    page.locator(f'#zones a[data-zone="{other}"]').click()
    expect(page.locator("#no-jobs")).to_have_text("One moment…")
    expect(page.locator("#queue")).to_be_hidden()
    page.unroute(f"**/zones/{other}/jobs*")
    expect(page.locator("#queue")).to_contain_text(ALL_GOOD)
