"""Connections end in every possible way: cut by the kernel, reset by a balancer, half-open, with their gateway, without
Redis. Each time the page shows it, reconnects and has missed nothing."""

import re

import pytest
from playwright.sync_api import Page, expect

from markers import HOME as DOOR, RIDER, Markers
from network import cut_browser
from order_system import HOME, OrderSystem
from trips import Trip, away, to_the_door

TRIP = to_the_door(HOME, meters_away=600)
# In the page's time: longer than a connection may be silent (40 s) before the page gives it up.
SILENCE_MS = 60_000
STEP_MS = 1_000


@pytest.fixture
def relayed(make_site):
    """A site behind a relay."""
    return make_site(has_relay=True)


@pytest.fixture
def followed(rider):
    """followed(orders, phone): a visit whose rider is on a customer's map, the rider, and the page."""

    def follow(orders: OrderSystem, phone, **options):
        visit = orders.visit("on_the_way")
        driver = rider(visit).travel()
        driver.report(TRIP.at(0), is_answered=True)
        page = phone(visit.guest_url, **options)
        expect(page.locator(RIDER)).to_be_visible()
        return visit, driver, page

    return follow


def arrive(visit, page: Page) -> None:
    """Changes the status of the visit and checks that the page follows: other texts and no map. (A final status would end
    the link too.)"""
    before = page.locator("#headline").text_content()
    visit.status("work_in_progress")
    expect(page.locator("#tracking")).to_be_hidden()
    expect(page.locator("#headline")).not_to_have_text(before)
    expect(page.locator("#offline")).to_be_hidden()


def test_the_map_shows_the_rider_and_the_destination(order_system, phone, followed):
    _, _, page = followed(order_system, phone)
    expect(page.locator(DOOR)).to_be_visible()


@pytest.mark.lean
def test_point_8_a_connection_cut_in_the_kernel_is_reopened_without_missing_a_status(
        order_system, phone, followed, site, evidence):
    visit, _, page = followed(order_system, phone)
    assert cut_browser(site.port) >= 1
    arrive(visit, page)
    assert len(evidence.sockets) >= 2


def test_point_8_connections_reset_by_a_balancer_are_reopened(relayed, open_devices, followed):
    visit, driver, page = followed(OrderSystem(relayed), open_devices(relayed).phone)
    assert relayed.relay.cut() >= 2
    driver.connect()
    arrive(visit, page)


@pytest.mark.lean
def test_point_8_after_a_gateway_is_killed_the_page_uses_another(relayed, open_devices, followed):
    devices = open_devices(relayed)
    visit, driver, page = followed(OrderSystem(relayed), devices.phone)
    relayed.start_gateway()
    markers = Markers(page)
    before = markers.settle()
    relayed.gateways[0].process.kill()
    driver.connect()
    # As apps do. A rider that only reports counts as another device for as long as the first one may still be there.
    driver.travel()
    driver.drive(TRIP, from_second=1)
    markers.leave(before)
    arrive(visit, page)


def test_point_8_a_gateway_that_shuts_down_hands_its_pages_over(make_site, open_devices, followed):
    """The gateway names a time, and the page then connects to another gateway."""
    site = make_site(has_relay=True, DRAIN_SECONDS=3)
    devices = open_devices(site)
    visit, _, page = followed(OrderSystem(site), devices.phone)
    site.start_gateway()
    with page.expect_websocket():
        site.gateways[0].process.child.terminate()
    arrive(visit, page)


def test_point_8_without_any_gateway_the_page_keeps_its_state_and_says_so(relayed, open_devices, followed):
    visit, _, page = followed(OrderSystem(relayed), open_devices(relayed).phone)
    headline = page.locator("#headline").text_content()
    relayed.gateways[0].process.kill()
    expect(page.locator("#offline")).to_be_visible()
    expect(page.locator(RIDER)).to_be_visible()
    expect(page.locator("#headline")).to_have_text(headline)
    relayed.gateways[0].start()
    expect(page.locator("#offline")).to_be_hidden()
    arrive(visit, page)


def test_point_8_a_half_open_connection_is_given_up_and_reopened(
        relayed, open_devices, followed):
    visit, _, page = followed(OrderSystem(relayed), open_devices(relayed).phone, clock=True)
    expect(page.locator("#offline")).to_be_hidden()
    relayed.relay.go_dark()
    pass_time(page, SILENCE_MS, until=lambda: page.locator("#offline").is_visible())
    expect(page.locator("#offline")).to_be_visible()
    relayed.relay.come_back()
    pass_time(page, SILENCE_MS, until=lambda: page.locator("#offline").is_hidden())
    arrive(visit, page)


def pass_time(page: Page, milliseconds: int, until) -> None:
    """Advances the page's time second by second until a condition holds."""
    for _ in range(0, milliseconds, STEP_MS):
        page.clock.run_for(STEP_MS)
        if until():
            return


@pytest.mark.lean
def test_point_8_offline_is_shown_immediately_and_the_page_catches_up_when_online(order_system, phone, followed):
    visit, driver, page = followed(order_system, phone)
    page.context.set_offline(True)
    expect(page.locator("#offline")).to_be_visible()
    expect(page.locator(RIDER)).to_be_visible()
    visit.status("work_in_progress")
    page.context.set_offline(False)
    expect(page.locator("#tracking")).to_be_hidden()
    expect(page.locator("#offline")).to_be_hidden()


def test_point_8_the_marker_never_goes_back_across_reconnects(order_system, rider, phone, site):
    """The rider drives straight to the door while the connection is cut three times: the marker only gets nearer."""
    visit = order_system.visit("on_the_way")
    driver = rider(visit).travel()
    straight = Trip((away(HOME, 1_000, 225), HOME), speed=12)
    driver.report(straight.at(0), is_answered=True)
    page = phone(visit.guest_url)
    markers = Markers(page)
    driver.drive(straight, every=1.0, from_second=1)
    for _ in range(3):
        with page.expect_websocket():
            assert cut_browser(site.port) >= 1
        page.wait_for_function("(count) => window.recorded.length > count + 120", arg=len(markers.seen))
    driver.halt()
    distances = [each.distance() for each in markers.seen]
    back = max(later - sooner for sooner, later in zip(distances, distances[1:]))
    assert back < 4, f"the marker went back by {back:.1f} px"


def test_without_redis_the_page_says_that_updates_are_delayed(make_site, open_devices, followed):
    site = make_site()
    visit, driver, page = followed(OrderSystem(site), open_devices(site).phone)
    detail = page.locator("body")
    site.redis.freeze()
    expect(detail).to_contain_text(re.compile("delayed|out of date", re.IGNORECASE))
    site.redis.thaw()
    expect(detail).not_to_contain_text(re.compile("delayed", re.IGNORECASE))
    arrive(visit, page)
