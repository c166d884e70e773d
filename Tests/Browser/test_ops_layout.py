"""The operations page at the smallest width it is made for: names, states and times are whole, and six jobs are in view."""

import re
import time

import pytest
from playwright.sync_api import expect

from test_ops import ROWS, look, row, zone  # noqa: F401: fixtures


@pytest.mark.lean
def test_d22_no_column_is_cut_off_at_1280_px(order_system, look, zone):  # noqa: F811
    order_system.visit("on_the_way", zone=zone)
    page = look(f"?zone={zone}")
    expect(page.locator(ROWS)).to_have_count(1)
    frame = page.locator("#jobs-frame")
    assert frame.evaluate("(frame) => [frame.scrollWidth - frame.clientWidth, innerWidth]") == [0, 1280]
    expect(page.locator("#jobs thead th:visible")).to_have_count(7)


@pytest.mark.lean
@pytest.mark.parametrize("locale", ["en-US", "de-DE"])
def test_d22_states_and_times_are_whole_at_1280_px(order_system, look, zone, locale):  # noqa: F811
    now = int(time.time() * 1000)
    order_system.visit("on_the_way", zone=zone)
    for statuses in [(), ("accepted",), ("accepted", "preparing"), ("accepted", "allocation_failed"),
                     ("accepted", "preparing", "ready_for_pickup")]:
        late = {"window": {"from": now - 3_600_000, "until": now - 47 * 60_000}}
        order_system.delivery(*statuses, zone=zone, display=late)
    page = look(f"?zone={zone}", locale=locale)
    expect(page.locator(ROWS)).to_have_count(6)
    cut = page.locator("#jobs").evaluate("""(table) => {
        const cells = table.querySelectorAll("thead button, .c-tracking, .c-status, .c-since, .c-due");
        return [...cells].filter((cell) => cell.scrollWidth > cell.clientWidth).map((cell) => `${cell.textContent}: ${cell.scrollWidth} > ${cell.clientWidth}`);
    }""")
    assert cut == []
    box = page.locator("#jobs tbody input").first.bounding_box()
    assert (box["width"], box["height"]) == (18, 18)


@pytest.mark.lean
def test_names_of_jobs_are_whole_at_1280_px_and_an_order_number_comes_first(order_system, look, zone):  # noqa: F811
    job = order_system.visit("on_the_way", zone=zone, display={"orderNumber": "A-50311"})
    page = look(f"?zone={zone}")
    link = row(page, job).locator(".c-job a")
    assert link.evaluate("""(link) => {
        link.textContent = "order-503114";
        return link.scrollWidth - link.clientWidth;
    }""") == 0
    page.goto(f"/ops?zone={zone}&q=A-503")
    expect(link).to_have_text("A-50311")
    expect(row(page, job).locator(".c-job")).to_have_attribute("title", f"A-50311 · {job.name}")
    link.click()
    expect(page.locator("#job h2")).to_have_text(f"A-50311 · {job.name}")


@pytest.mark.lean
def test_six_jobs_are_in_view_at_1280_by_800_however_many_zones_there_are(order_system, look, zone):  # noqa: F811
    for _ in range(8):
        order_system.delivery("accepted", zone=zone, rider=None)
    page = look(f"?zone={zone}")
    # Signed in: leaving the page earlier would use up the sign-in code without a token.
    expect(page.locator(ROWS)).to_have_count(8)
    others = [{"zone": f"a-zone-of-the-town-{number}", "jobs": number} for number in range(40)]

    def with_others(route):
        answer = route.fetch()
        body = answer.json()
        route.fulfill(response=answer, json=body | {"zones": others + body["zones"]})

    page.route(re.compile(r"/zones(\?|$)"), with_others)
    page.goto(f"/ops?zone={zone}")
    expect(page.locator(ROWS)).to_have_count(8)
    expect(page.locator("#zones a[aria-current]")).to_be_in_viewport(ratio=0.99)
    assert page.locator("#zones a").count() > len(others)
    whole = page.locator("#jobs-frame").evaluate("""(frame) => {
        const [top, bottom] = [frame.querySelector("thead").getBoundingClientRect().bottom, frame.getBoundingClientRect().bottom];
        const places = [...frame.querySelectorAll("tr[data-name]")].map((row) => row.getBoundingClientRect());
        return places.filter((place) => place.top >= top - 1 && place.bottom <= Math.min(bottom, innerHeight)).length;
    }""")
    assert whole >= 6
