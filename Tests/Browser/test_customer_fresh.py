"""The customer's page that opened without the gateway's first state: from the cache, or because the request was lost. It reads
what no message contains as soon as it is connected. And pages that show nothing any longer, and clocks that are wrong."""

import re
import time

import pytest
from playwright.sync_api import Page, Route, expect

from order_system import HOME, Job, OrderSystem
from test_customer_orders import correct
from trips import away

SHOP = away(HOME, 900, 300)
VENDOR = {"name": "Da Gino", "lat": SHOP[0], "lon": SHOP[1]}
HOUR_MS = 3_600_000
# A device whose clock is ahead by some hours.
AHEAD = """{
  const [Real, ahead] = [Date, %d * 3600e3];
  globalThis.Date = class extends Real {
    constructor(...given) { given.length ? super(...given) : super(Real.now() + ahead); }
    static now() { return Real.now() + ahead; }
  };
}"""
# Remembers every apology that was shown, even for a moment.
APOLOGIES = """globalThis.apologies = [];
setInterval(() => {
  const place = document.getElementById('apology');
  if (place && !place.hidden) apologies.push(place.textContent);
}, 10);"""


@pytest.fixture
def permissive(make_site):
    """An order system of a site whose links write notes and cancel."""
    return OrderSystem(make_site(PAGES_NOTES="links", PAGES_CANCEL="links", has_relay=True))


def shows_everything(page: Page) -> None:
    """Checks the data that no message contains: note, cancellation and the vendor's place. The link is not shared."""
    expect(page.locator("#note-open")).to_be_visible()
    expect(page.locator("#cancel-open")).to_be_visible()
    expect(page.locator("#map .shop")).to_be_visible()
    expect(page.locator("#share")).to_be_hidden()


def loses_the_first_state(page: Page) -> None:
    def lose(route: Route) -> None:
        if "authorization" in route.request.headers:
            route.abort()
        else:
            route.continue_()

    page.route("**/track/*", lose)


@pytest.mark.lean
def test_a_page_whose_first_state_was_lost_reads_it_later_and_shares_no_permissive_link(permissive, open_devices):
    page = open_devices(permissive.site).phone()
    loses_the_first_state(page)
    page.goto(permissive.delivery(vendor=VENDOR).guest_url)
    expect(page.locator("#headline")).to_have_text("Waiting for vendor to accept your order")
    # It is not known yet what this link permits.
    expect(page.locator("#share")).to_be_hidden()
    expect(page.locator("#actions")).to_be_hidden()
    page.unroute("**/track/*")
    shows_everything(page)


def test_a_page_that_opened_offline_reads_the_rest_once_it_is_connected(permissive, open_devices):
    site = permissive.site
    page = open_devices(site).phone(permissive.delivery(vendor=VENDOR).guest_url, service_workers="allow")
    shows_everything(page)
    page.wait_for_function("() => navigator.serviceWorker.controller !== null")
    page.reload()
    shows_everything(page)
    site.relay.refuse()
    page.reload()
    expect(page.locator("#headline")).to_have_text("Waiting for vendor to accept your order")
    expect(page.locator("#share")).to_be_hidden()
    expect(page.locator("#actions")).to_be_hidden()
    site.relay.come_back()
    shows_everything(page)


def test_a_link_opened_after_the_end_offers_everything_once_the_end_was_corrected(permissive, open_devices):
    order = permissive.delivery(vendor=VENDOR, display={"orderNumber": "A-17"})
    address = order.guest_url
    order.status("cancelled")
    page = open_devices(permissive.site).phone(address, clock=True)
    expect(page.locator("#headline")).to_have_text("Your order was cancelled")
    # The last state of a link has no details, and an internal ID helps nobody.
    expect(page.locator("#job")).to_be_hidden()
    correct(order, "accepted")
    page.clock.run_for(61_000)
    expect(page.locator("#headline")).to_have_text("Your order has been accepted")
    expect(page.locator("#note-open")).to_be_visible()
    expect(page.locator("#map .shop")).to_be_visible()
    expect(page.locator("#share")).to_be_hidden()
    expect(page.locator("#job")).to_have_text("A-17")


def end_by_revoking_the_job(order: Job) -> None:
    order.orders.revoke("jobs", order.name)


def end_by_erasing_the_job(order: Job) -> None:
    order.orders.ask("DELETE", f"jobs/{order.name}")


@pytest.mark.lean
@pytest.mark.parametrize("end", [end_by_revoking_the_job, end_by_erasing_the_job])
def test_a_page_that_shows_nothing_any_longer_offers_no_sharing(order_system, phone, end):
    order = order_system.delivery("accepted")
    page = phone(order.guest_url)
    expect(page.locator("#share")).to_be_visible()
    end(order)
    expect(page.locator("#refusal")).to_be_visible()
    expect(page.locator("#share")).to_be_hidden()


@pytest.mark.lean
@pytest.mark.parametrize("hours", [5, 26])
def test_a_device_whose_clock_is_ahead_reads_no_apology_while_the_page_connects(order_system, phone, hours):
    now = time.time_ns() // 1_000_000
    order = order_system.delivery("accepted", "preparing", display={"window": {"from": now, "until": now + HOUR_MS // 2}})
    page = phone()
    page.add_init_script(AHEAD % hours)
    page.add_init_script(APOLOGIES)
    page.add_init_script("globalThis.WebSocket = class { constructor() { throw new Error('blocked'); } };")
    page.goto(order.guest_url)
    expect(page.locator("#eta")).to_have_text(re.compile(r"^Expected \d"))
    expect(page.locator("#offline")).to_be_visible()
    assert page.evaluate("apologies") == []


def test_an_ended_link_shows_the_right_time_on_a_device_whose_clock_is_wrong(order_system, phone):
    order = order_system.visit("on_the_way", "work_in_progress")
    address = order.guest_url
    order.status("completed")
    times = []
    for hours in (0, 5, -5):
        page = phone()
        page.add_init_script(AHEAD % hours)
        page.goto(address)
        expect(page.locator("#since")).not_to_be_empty()
        times.append(page.locator("#since").text_content())
    minutes = [int(re.search(r":(\d\d)", text).group(1)) for text in times]
    hours = [int(re.search(r"(\d+):", text).group(1)) for text in times]
    # The same on each device: the time is compared with the promise, and with other clocks.
    assert all((hour - hours[0]) % 12 in (0, 1, 11) for hour in hours), times
    assert all((minute - minutes[0]) % 60 in (0, 1, 59) for minute in minutes), times
