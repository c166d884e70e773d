"""What a page shows and announces when its connection, its gateway or its location changes (D4, D8, D18, B41)."""

import secrets

import pytest
from playwright.sync_api import expect

from devices import ROME
from followers import following
from order_system import HOME, Job, OrderSystem
from rider_page import RiderPage
from riders import Rider
from trips import to_the_door

LOCATED = {"permissions": ["geolocation"], "geolocation": ROME}
NO_INTERNET = "No internet connection."
OFFLINE = "You’re offline."
A_MESSAGE_MS = 11_000
# The texts for a screen reader, in order.
LISTEN = """() => {
  window.said = [];
  const place = document.getElementById('announcer');
  new MutationObserver(() => said.push(place.textContent)).observe(place, {childList: true});
}"""


@pytest.fixture
def travelling(order_system, devices):
    """travelling(…): a rider who shares the location, and the job."""

    def travel(**options):
        job = order_system.visit("on_the_way")
        rider = RiderPage(order_system, devices, job.rider, job, **LOCATED | options)
        rider.travel(job).click()
        expect(rider.page.locator("#sharing")).to_have_attribute("data-state", "on")
        expect(rider.page.locator("#rate")).to_contain_text("Live")
        return rider, job

    return travel


def seen_once(orders: OrderSystem) -> tuple[Job, Rider]:
    """A visit whose rider was seen, and the rider, on a site of the test's own."""
    job = orders.visit("on_the_way")
    rider = Rider(orders, job).travel()
    rider.report(to_the_door(HOME).at(0), is_answered=True)
    with following(job) as follower:
        follower.hear_live()
    return job, rider


@pytest.mark.lean
def test_D4_a_disconnected_rider_reads_that_the_location_is_not_sent(travelling, axe):
    rider, _ = travelling()
    sharing = rider.page.locator("#sharing")
    rider.page.context.set_offline(True)
    expect(sharing).to_have_attribute("data-state", "interrupted")
    expect(sharing).to_contain_text("Your location isn’t being sent")
    expect(sharing).not_to_contain_text("stops automatically")
    expect(rider.announcer).to_contain_text(NO_INTERNET)
    axe(rider.page)
    rider.page.context.set_offline(False)
    expect(sharing).to_have_attribute("data-state", "on")
    expect(rider.announcer).to_contain_text("You’re connected again.")


@pytest.mark.lean
def test_D4_an_imprecise_location_is_not_called_shared(travelling):
    rider, _ = travelling()
    rider.page.context.set_geolocation(ROME | {"accuracy": 900})
    sharing = rider.page.locator("#sharing")
    expect(sharing).to_have_attribute("data-state", "interrupted")
    expect(sharing).to_contain_text("Your location isn’t shown")
    expect(sharing).to_contain_text("too imprecise")
    rider.page.context.set_geolocation(ROME)
    expect(sharing).to_have_attribute("data-state", "on")
    expect(rider.page.locator("#sharing-text")).to_have_text("Sharing your location")


@pytest.mark.lean
def test_D8_a_lost_and_restored_connection_is_announced_immediately(coming, order_system, phone):
    job, _ = coming()
    page = phone(order_system.sign_in_url(f"/track/{job.name}", "customer", job.customer))
    expect(page.locator("#age")).to_have_text("Live")
    page.context.set_offline(True)
    expect(page.locator("#announcer")).to_contain_text(OFFLINE)
    page.context.set_offline(False)
    expect(page.locator("#announcer")).to_contain_text("You’re connected again.")


@pytest.mark.lean
def test_D8_two_statuses_within_a_second_are_both_announced_immediately(order_system, phone):
    job = order_system.visit()
    page = phone(order_system.sign_in_url(f"/track/{job.name}", "customer", job.customer), clock=True)
    expect(page.locator("#headline")).to_have_text("Your appointment is confirmed")
    # The page's clock is stopped, so the quiet time does not pass.
    for status, text in (("on_the_way", "on the way"), ("work_in_progress", "has arrived")):
        job.status(status)
        expect(page.locator("#announcer")).to_contain_text(text)


def test_D8_a_stale_location_is_announced(make_site, open_devices):
    site = make_site(TRACKING_STALE_AFTER_SECONDS=2)
    orders = OrderSystem(site)
    job, rider = seen_once(orders)
    page = open_devices(site).phone(orders.sign_in_url(f"/track/{job.name}", "customer", job.customer))
    expect(page.locator("#age")).to_have_class("is-stale")
    expect(page.locator("#announcer")).to_contain_text("This is where your technician was when we last heard from them.")
    page.evaluate(LISTEN)
    rider.report(to_the_door(HOME).at(1), is_answered=True)
    page.wait_for_function("() => said.some((text) => text.includes('The location is live again.'))")
    rider.close()


@pytest.mark.lean
def test_D18_each_failure_is_announced_and_its_message_disappears(order_system, devices):
    person, zone = f"rider-{secrets.token_hex(3)}", f"zone-{secrets.token_hex(3)}"
    order_system.approve(person, zone)
    rider = RiderPage(order_system, devices, person, clock=True)
    rider.page.route("**/riders/me/status", lambda route: route.fulfill(status=500, body="{}"))
    snack = rider.page.locator("#snack")
    rider.page.evaluate(LISTEN)
    for times in (1, 2):
        rider.switch.click()
        expect(rider.switch).not_to_have_attribute("aria-busy", "true")
        expect(snack).to_be_visible()
        rider.page.clock.run_for(1_000)
        texts = rider.page.evaluate("said")
        assert len([text for text in texts if "Could not update status" in text]) == times, texts
    rider.page.clock.run_for(A_MESSAGE_MS)
    expect(snack).to_be_hidden()


@pytest.mark.lean
def test_D18_a_network_error_disappears_when_the_network_is_back(order_system, devices):
    person, zone = f"rider-{secrets.token_hex(3)}", f"zone-{secrets.token_hex(3)}"
    order_system.approve(person, zone)
    rider = RiderPage(order_system, devices, person)
    expect(rider.switch).to_have_attribute("aria-checked", "false")
    rider.page.context.set_offline(True)
    rider.switch.click()
    expect(rider.message).to_contain_text("Network error")
    rider.page.context.set_offline(False)
    expect(rider.page.locator("#snack")).to_be_hidden()


def test_B41_a_frozen_gateway_is_reported_by_the_pages_own_clock(make_site, open_devices):
    site = make_site()
    orders = OrderSystem(site)
    job, rider = seen_once(orders)
    page = open_devices(site).phone(orders.sign_in_url(f"/track/{job.name}", "customer", job.customer))
    expect(page.locator("#age")).to_have_text("Live")
    site.gateways[0].process.freeze()
    expect(page.locator("#offline")).to_contain_text("The service isn’t responding. Last update")
    expect(page.locator("#age")).to_contain_text("pdated")
    expect(page.locator("#announcer")).to_contain_text("The service isn’t responding.")
    site.gateways[0].process.thaw()
    expect(page.locator("#offline")).to_be_hidden()
    rider.close()
