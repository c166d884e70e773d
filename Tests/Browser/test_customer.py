"""The customer's page and the acceptance criteria of US-072 (test_customer_orders.py: CUS-027). Each test name starts with
the story and the criterion."""

import re

import pytest
from playwright.sync_api import Page, expect

from markers import HOME as DOOR, RIDER, Markers
from order_system import HOME, OrderSystem
from trips import Spot, away, to_the_door
from wire import Wire, moved

TRIP = to_the_door(HOME, meters_away=3_000)


def current(page: Page):
    return page.locator("#steps [aria-current=step]")


@pytest.mark.lean
def test_US_072_AC_001_the_map_shows_two_markers_and_an_arrival_time(order_system, rider, phone):
    visit = order_system.visit()
    page = phone(visit.guest_url)
    expect(current(page)).to_contain_text("Appointment confirmed")
    expect(page.locator("#tracking")).to_be_hidden()
    visit.status("on_the_way")
    rider(visit).travel().report(TRIP.at(0), is_answered=True)
    expect(page.locator(RIDER)).to_be_visible()
    expect(page.locator(DOOR)).to_be_visible()
    expect(page.locator("#eta")).to_have_text(re.compile(r"^Arriving in \d+ min$"))


@pytest.mark.lean
def test_US_072_AC_002_the_marker_moves_and_each_new_arrival_time_is_shown(coming, phone):
    """The test provides the arrival times. ArrivalTimesTests shows that the gateway recalculates them."""
    visit, technician = coming()
    page = phone()
    wire = Wire(page)
    page.goto(visit.guest_url)
    markers = Markers(page)
    before = markers.settle()
    technician.drive(TRIP, from_second=30)
    moved(page, 40)
    technician.halt()
    assert markers.settle().distance() < before.distance()
    wire.arrival(visit.name, 9)
    expect(page.locator("#eta")).to_have_text("Arriving in 9 min")
    wire.arrival(visit.name, 7)
    expect(page.locator("#eta")).to_have_text("Arriving in 7 min")


@pytest.mark.lean
def test_US_072_AC_003_once_work_starts_the_map_disappears_and_the_page_says_arrived(coming, phone):
    visit, _ = coming()
    page = phone(visit.guest_url)
    expect(page.locator(RIDER)).to_be_visible()
    visit.status("work_in_progress")
    expect(page.locator("#tracking")).to_be_hidden()
    expect(page.locator("#headline")).to_have_text("The technician has arrived.")
    expect(page.locator("#eta")).to_be_hidden()


@pytest.mark.lean
def test_US_072_AC_003_a_pause_removes_the_map_and_is_not_shown_as_arrival(coming, phone):
    visit, technician = coming()
    page = phone(visit.guest_url)
    expect(page.locator(RIDER)).to_be_visible()
    technician.stop_travel()
    expect(page.locator("#tracking")).to_be_hidden()
    expect(page.locator("#detail")).to_contain_text("They’re still on the way.")
    expect(page.locator("main")).not_to_contain_text("has arrived")
    technician.travel().report(TRIP.at(2), is_answered=True)
    expect(page.locator(RIDER)).to_be_visible()


@pytest.mark.lean
def test_US_072_AC_004_without_travel_mode_there_is_a_sentence_instead_of_the_map(order_system, phone):
    visit = order_system.visit("on_the_way")
    page = phone(visit.guest_url)
    expect(page.locator("#detail")).to_have_text(
        "Your technician is on the way. The live map will appear as soon as they share their location.")
    expect(page.locator("#tracking")).to_be_hidden()
    expect(page.locator(".leaflet-pane")).to_have_count(0)


@pytest.mark.lean
def test_US_072_AC_005_after_30_s_without_a_position_the_marker_stays_with_its_age(coming, phone):
    visit, technician = coming()
    page = phone(clock=True)
    page.goto(visit.guest_url)
    expect(page.locator(RIDER)).to_be_visible()
    page.clock.run_for(6_000)
    before = Markers(page).seen[-1]
    # Each frame uses the processor, so most of the minute passes at once.
    page.clock.fast_forward(55_000)
    page.clock.run_for(5_000)
    expect(page.locator("#age")).to_have_text("Last updated 1 minute ago")
    expect(page.locator(f"{RIDER}.stale")).to_be_visible()
    expect(page.locator("#eta")).to_have_text(re.compile("^ETA recalculating"))
    assert Markers(page).seen[-1].distance(before) < 1
    technician.report(TRIP.at(2), is_answered=True)
    expect(page.locator("#age")).to_have_text("Live")
    expect(page.locator(f"{RIDER}.stale")).to_have_count(0)


@pytest.mark.lean
def test_US_072_AC_006_offline_the_page_says_so_keeps_its_state_and_reconnects(coming, phone):
    visit, technician = coming()
    page = phone(visit.guest_url)
    expect(page.locator("#eta")).to_be_visible()
    page.context.set_offline(True)
    expect(page.locator("#offline")).to_have_text(re.compile(r"^You’re offline\. Last update \d+:\d\d"))
    expect(page.locator("#age")).to_have_text(re.compile("^Last updated"))
    expect(page.locator(RIDER)).to_be_visible()
    page.context.set_offline(False)
    technician.report(TRIP.at(2), is_answered=True)
    expect(page.locator("#offline")).to_be_hidden()
    expect(page.locator("#age")).to_have_text("Live")


@pytest.mark.lean
def test_US_072_AC_007_without_an_arrival_time_the_map_stays(coming, phone):
    visit, technician = coming(Spot(*away(HOME, 1_000, 180)))
    page = phone()
    wire = Wire(page)
    page.goto(visit.guest_url)
    markers = Markers(page)
    wire.arrival(visit.name, state="unavailable")
    expect(page.locator("#eta")).to_have_text("ETA unavailable")
    before = markers.settle()
    technician.report(Spot(*away(HOME, 960, 180)), is_answered=True)
    moved(page, len(markers.seen))
    assert markers.settle().distance(before) > 5
    expect(page.locator("#eta")).to_have_text("ETA unavailable")


def test_US_072_BR_001_another_customer_sees_nothing(coming, order_system, phone):
    visit, _ = coming()
    page = phone(order_system.sign_in_url(f"/track/{visit.name}", "customer", "somebody-else"))
    expect(page.locator("#refusal h1")).to_have_text("We can’t find this order or visit.")
    expect(page.locator("#tracking")).to_be_hidden()


def test_US_072_BR_002_the_page_says_when_the_sharing_time_limit_is_reached(make_site, open_devices, rider):
    site = make_site(TRACKING_MAX_SHARING_SECONDS=4)
    visit = OrderSystem(site).visit("on_the_way")
    rider(visit).travel().report(TRIP.at(0), is_answered=True)
    page = open_devices(site).phone(visit.guest_url)
    expect(page.locator("#detail")).to_contain_text("Live location has ended for this trip.")
    expect(page.locator("#tracking")).to_be_hidden()
