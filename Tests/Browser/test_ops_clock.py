"""The operations page uses the gateway's clock: a computer whose clock is wrong by hours shows the same times and late jobs."""

import time
from datetime import datetime, timezone

import pytest
from playwright.sync_api import expect

from test_ops import row, zone  # noqa: F401: a fixture

HOUR_MS = 3_600_000
ZONE = "UTC"
WRONG_CLOCK = """(() => {
  const Real = Date, now = () => Real.now() + %d;
  window.Date = class extends Real {
    constructor(...when) { super(...(when.length ? when : [now()])); }
    static now() { return now(); }
  };
})()"""


def clock_text(at: float) -> str:
    """Of a time in British English, as Chromium writes it: 9:05 and 21:05."""
    return datetime.fromtimestamp(at, timezone.utc).strftime("%-H:%M")


@pytest.mark.lean
@pytest.mark.parametrize("hours", [3, -3], ids=["ahead", "behind"])
def test_a_computer_with_a_wrong_clock_shows_the_gateways_time_and_only_late_jobs_as_late(
        hours, order_system, zone, desktop):  # noqa: F811
    now = int(time.time() * 1000)
    late, early = (order_system.delivery("accepted", zone=zone, display={"window": {"from": now - HOUR_MS, "until": until}})
                   for until in (now - HOUR_MS // 2, now + HOUR_MS))
    page = desktop(locale="en-GB", timezone=ZONE)
    page.add_init_script(WRONG_CLOCK % (hours * HOUR_MS))
    before = time.time()
    page.goto(order_system.sign_in_url(f"/ops?zone={zone}", "ops", "olga"))
    expect(row(page, late).locator(".c-due")).to_have_text("30 min late")
    expect(row(page, early).locator(".c-due")).to_have_text(clock_text((now + HOUR_MS) / 1000))
    expect(page.locator("#filter-need, #trackings").first).to_be_visible()
    for job in (late, early):
        expect(row(page, job).locator(".c-since")).not_to_contain_text("h")
    shown = page.locator("#age").text_content()
    # The header `Date` has whole seconds, and the page tolerates two.
    moments = {clock_text(at) for at in (before - 3, before, time.time(), time.time() + 3)}
    assert shown in {f"as of {moment}" for moment in moments}
