"""The customer's page against the acceptance criteria of US-072, and in test_customer_orders.py those of CUS-027: each
test's name begins with the story and the criterion. Their sentences stand word for word."""

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
def test_US_072_AC_001_the_map_appears_with_two_markers_and_an_arrival(order_system, rider, phone):
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
def test_US_072_AC_002_the_icon_follows_and_each_new_arrival_is_shown(coming, phone):
    """The arrivals are the test's. That the gateway calculates them anew is in ArrivalTimesTests."""
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
def test_US_072_AC_003_at_work_the_map_goes_and_it_is_said_that_the_technician_has_arrived(coming, phone):
    visit, _ = coming()
    page = phone(visit.guest_url)
    expect(page.locator(RIDER)).to_be_visible()
    visit.status("work_in_progress")
    expect(page.locator("#tracking")).to_be_hidden()
    expect(page.locator("#headline")).to_have_text("The technician has arrived.")
    expect(page.locator("#eta")).to_be_hidden()


@pytest.mark.lean
def test_US_072_AC_003_travel_mode_switched_off_by_hand_takes_the_map_and_is_no_arrival(coming, phone):
    visit, technician = coming()
    page = phone(visit.guest_url)
    expect(page.locator(RIDER)).to_be_visible()
    technician.stop_travel()
    expect(page.locator("#tracking")).to_be_hidden()
    expect(page.locator("#detail")).to_contain_text("They're still on the way.")
    expect(page.locator("main")).not_to_contain_text("has arrived")
    technician.travel().report(TRIP.at(2), is_answered=True)
    expect(page.locator(RIDER)).to_be_visible()


@pytest.mark.lean
def test_US_072_AC_004_without_travel_mode_there_is_the_sentence_and_no_map(order_system, phone):
    visit = order_system.visit("on_the_way")
    page = phone(visit.guest_url)
    expect(page.locator("#detail")).to_have_text(
        "Your technician is on the way. The live map appears as soon as they share their location.")
    expect(page.locator("#tracking")).to_be_hidden()
    expect(page.locator(".leaflet-pane")).to_have_count(0)


@pytest.mark.lean
def test_US_072_AC_005_after_30_s_without_a_position_it_stays_and_says_how_old_it_is(coming, phone):
    visit, technician = coming()
    page = phone(clock=True)
    page.goto(visit.guest_url)
    expect(page.locator(RIDER)).to_be_visible()
    page.clock.run_for(6_000)
    before = Markers(page).seen[-1]
    page.clock.run_for(60_000)
    expect(page.locator("#age")).to_have_text("Last updated 1 minute ago")
    expect(page.locator(f"{RIDER}.stale")).to_be_visible()
    expect(page.locator("#eta")).to_have_text(re.compile("^ETA recalculating"))
    assert Markers(page).seen[-1].distance(before) < 1
    technician.report(TRIP.at(2), is_answered=True)
    expect(page.locator("#age")).to_have_text("Live")
    expect(page.locator(f"{RIDER}.stale")).to_have_count(0)


@pytest.mark.lean
def test_US_072_AC_006_without_a_network_it_says_so_keeps_what_it_knows_and_comes_back(coming, phone):
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
def test_US_072_AC_007_without_an_arrival_the_map_goes_on(coming, phone):
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


def test_US_072_BR_001_who_is_not_the_customer_is_shown_nothing(coming, order_system, phone):
    visit, _ = coming()
    page = phone(order_system.sign_in_url(f"/track/{visit.name}", "customer", "somebody-else"))
    expect(page.locator("#refusal h1")).to_have_text("We can’t find this order.")
    expect(page.locator("#tracking")).to_be_hidden()


def test_US_072_BR_002_when_the_time_is_up_the_page_says_so(make_site, open_devices, rider):
    site = make_site(TRACKING_MAX_SHARING_SECONDS=4)
    visit = OrderSystem(site).visit("on_the_way")
    rider(visit).travel().report(TRIP.at(0), is_answered=True)
    page = open_devices(site).phone(visit.guest_url)
    expect(page.locator("#detail")).to_contain_text("Live location has ended for this trip.")
    expect(page.locator("#tracking")).to_be_hidden()
