"""Close codes and the pages: a temporary close is waited out, a permanent one is explained."""

import pytest
from playwright.sync_api import expect

from devices import ROME
from markers import RIDER
from rider_page import RiderPage
from wire import Wire

TOO_SLOW, FULL, SENSELESS = 4008, 4009, 4505
TOO_MANY = "Too many people are viewing"
# In the page's time: longer than the retry after a session limit.
AGAIN_MS = 41_000


@pytest.fixture
def open_rider(order_system, devices):
    """open_rider(): the page of a travelling rider, with its wire, and the job."""

    def open_page(**options):
        job = order_system.visit("on_the_way")
        rider = RiderPage(order_system, devices, job.rider, job, has_wire=True, permissions=["geolocation"],
                          geolocation=ROME, **options)
        rider.travel(job).click()
        expect(rider.page.locator("#sharing")).to_have_attribute("data-state", "on")
        return rider, job

    return open_page


def test_a_rider_who_signed_in_too_late_reconnects_and_stays_signed_in(open_rider):
    rider, job = open_rider()
    rider.wire.close(TOO_SLOW)
    rider.wire.comes_back()
    expect(rider.page.locator("#signin")).to_be_hidden()
    expect(rider.travel(job)).to_have_attribute("data-state", "on")


@pytest.mark.lean
def test_a_rider_whose_connection_is_refused_reads_that_nothing_is_shared(open_rider):
    rider, job = open_rider()
    rider.wire.close(SENSELESS)
    expect(rider.page.locator("#offline")).to_contain_text("The connection was refused")
    expect(rider.page.locator("#sharing")).to_have_attribute("data-state", "interrupted")
    expect(rider.page.locator("#sharing")).to_contain_text("Your location isn’t shared right now.")
    expect(rider.travel(job)).to_have_attribute("data-state", "interrupted")


def test_a_customer_at_the_viewer_limit_keeps_the_map_and_reconnects(coming, phone):
    visit, _ = coming()
    page = phone(clock=True)
    wire = Wire(page)
    page.goto(visit.link(viewers=1)["url"])
    expect(page.locator(RIDER)).to_be_visible()
    wire.close(FULL)
    page.clock.run_for(3_000)
    expect(page.locator("#offline")).to_contain_text(TOO_MANY)
    expect(page.locator(RIDER)).to_be_visible()
    page.clock.run_for(AGAIN_MS)
    wire.comes_back()
    expect(page.locator("#offline")).to_be_hidden()
    expect(page.locator(RIDER)).to_be_visible()


def test_a_customer_over_the_viewer_limit_connects_once_another_leaves(coming, phone, site):
    visit, _ = coming()
    link = visit.link(viewers=1)
    first = phone(link["url"])
    expect(first.locator(RIDER)).to_be_visible()
    second = phone(link["url"], clock=True)
    expect(second.locator("#refusal h1")).to_contain_text(TOO_MANY)
    # D27: the banner does not repeat it.
    second.clock.run_for(3_000)
    expect(second.locator("#offline")).to_be_hidden()
    sessions = ("KEYS", f"*{link['id']}*viewers")
    assert site.redis_says(*sessions)
    first.close()
    site.redis.wait_until(lambda: not site.redis_says(*sessions), "the end of the first page's session")
    second.clock.run_for(AGAIN_MS)
    expect(second.locator(RIDER)).to_be_visible()
    expect(second.locator("#refusal")).to_be_hidden()
