"""The customer's page against the acceptance criteria of US-072 and CUS-027: each test's name begins with the story and
the criterion. Their sentences stand word for word."""

import re

import pytest
from playwright.sync_api import Page, expect

from markers import HOME as DOOR, RIDER, Markers
from order_system import HOME, OrderSystem
from trips import Spot, away, meters, to_the_door
from wire import Wire, moved

TRIP = to_the_door(HOME, meters_away=3_000)
LINES = {"pending_vendor_acceptance": "Waiting for vendor", "accepted": "Order accepted",
         "preparing": "Preparing your order", "ready_for_pickup": "Ready for pickup", "in_transit": "On its way",
         "delivered": "Delivered"}
STATUSES = list(LINES)


def steps(page: Page) -> dict[str, str]:
    """Each step and what is said of it."""
    return dict(page.locator("#steps li").evaluate_all("all => all.map(li => [li.dataset.step, li.dataset.state])"))


def current(page: Page):
    return page.locator("#steps [aria-current=step]")


@pytest.fixture
def coming(order_system, rider):
    """coming(): a visit whose technician travels and was seen, and the technician."""

    def make(spot: Spot = TRIP.at(0)):
        visit = order_system.visit("on_the_way")
        technician = rider(visit).travel()
        technician.report(spot, is_answered=True)
        return visit, technician

    return make


# US-072


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


def test_US_072_AC_002_the_icon_follows_and_the_arrival_is_calculated_anew(coming, phone, measured):
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
    expect(page.locator("#detail")).to_contain_text("This does not mean arrival.")
    expect(page.locator("main")).not_to_contain_text("has arrived")
    technician.travel().report(TRIP.at(2), is_answered=True)
    expect(page.locator(RIDER)).to_be_visible()


@pytest.mark.lean
def test_US_072_AC_004_without_travel_mode_there_is_the_sentence_and_no_map(order_system, phone):
    visit = order_system.visit("on_the_way")
    page = phone(visit.guest_url)
    expect(page.locator("#detail")).to_have_text(
        "Technician is on the way. Live location will be available once the technician enables it.")
    expect(page.locator("#tracking")).to_be_hidden()
    expect(page.locator(".leaflet-pane")).to_have_count(0)


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


def test_US_072_AC_006_without_a_network_it_says_so_keeps_what_it_knows_and_comes_back(coming, phone):
    visit, technician = coming()
    page = phone(visit.guest_url)
    expect(page.locator("#eta")).to_be_visible()
    page.context.set_offline(True)
    expect(page.locator("#offline")).to_have_text(re.compile(r"^No connection\. You see what was known at \d+:\d\d"))
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
    expect(page.locator("#refusal h1")).to_have_text("There is nothing to follow here.")
    expect(page.locator("#tracking")).to_be_hidden()


def test_US_072_BR_002_when_the_time_is_up_the_page_says_so(make_site, open_devices, rider):
    site = make_site(TRAVEL_CAP_SECONDS=4)
    visit = OrderSystem(site).visit("on_the_way")
    rider(visit).travel().report(TRIP.at(0), is_answered=True)
    page = open_devices(site).phone(visit.guest_url)
    expect(page.locator("#detail")).to_contain_text("on for the longest time allowed")
    expect(page.locator("#tracking")).to_be_hidden()


# CUS-027


@pytest.mark.lean
@pytest.mark.parametrize(("criterion", "status", "headline"), [
    ("AC-001", "pending_vendor_acceptance", "Waiting for vendor to accept your order"),
    ("AC-002", "preparing", "Your order is being prepared"),
    ("AC-003", "ready_for_pickup", "Ready for pickup"),
    ("AC-004", "in_transit", "Your order is on its way"),
])
def test_CUS_027_AC_001_to_004_a_status_has_its_sentence_and_its_step(criterion, status, headline, order_system, phone):
    place = STATUSES.index(status)
    page = phone(order_system.delivery(*STATUSES[1:place + 1]).guest_url)
    expect(page.locator("#headline")).to_have_text(headline)
    expect(current(page)).to_have_count(1)
    expect(current(page)).to_contain_text(LINES[status])
    assert steps(page) == {
        step: "complete" if index < place else "active" if index == place else "upcoming"
        for index, step in enumerate(STATUSES)}


@pytest.mark.lean
def test_CUS_027_AC_003_a_status_shows_without_a_refresh(order_system, phone):
    delivery = order_system.delivery("accepted", "preparing")
    page = phone(delivery.guest_url)
    expect(page.locator("#headline")).to_have_text("Your order is being prepared")
    page.evaluate("window.isTheSamePage = true")
    delivery.status("ready_for_pickup")
    expect(page.locator("#headline")).to_have_text("Ready for pickup")
    assert page.evaluate("window.isTheSamePage")


@pytest.mark.lean
def test_CUS_027_AC_005_what_is_delivered_is_Delivered_and_all_steps_are_complete(order_system, phone):
    delivery = order_system.delivery("accepted", "preparing", "ready_for_pickup", "in_transit")
    page = phone(delivery.guest_url)
    expect(current(page)).to_contain_text("On its way")
    delivery.status("delivered")
    expect(page.locator("#headline")).to_have_text("Delivered")
    assert set(steps(page).values()) == {"complete"}


@pytest.mark.lean
def test_CUS_027_AC_006_what_is_cancelled_says_so_and_ends_there(order_system, phone):
    delivery = order_system.delivery("accepted")
    page = phone(delivery.guest_url)
    expect(current(page)).to_contain_text("Order accepted")
    delivery.status("cancelled")
    expect(page.locator("#headline")).to_have_text("Cancelled")
    expect(current(page)).to_contain_text("Cancelled")
    assert list(steps(page).items())[-1] == ("cancelled", "over")
    assert "upcoming" not in steps(page).values() and "active" not in steps(page).values()


@pytest.mark.lean
def test_CUS_027_AC_007_when_no_rider_is_found_it_says_so_and_what_is_next(order_system, phone):
    delivery = order_system.delivery("accepted", "preparing", "ready_for_pickup", "allocation_failed")
    page = phone(delivery.guest_url)
    expect(page.locator("#headline")).to_have_text("We're having trouble finding a rider")
    expect(page.locator("#detail")).to_contain_text("We keep trying.")
    expect(current(page)).to_contain_text("Finding a rider")
    delivery.status("ready_for_pickup")
    expect(page.locator("#headline")).to_have_text("Ready for pickup")


def test_CUS_027_AC_008_without_a_network_the_last_status_stays_with_its_time(order_system, phone):
    delivery = order_system.delivery("accepted", "preparing")
    page = phone(delivery.guest_url)
    expect(page.locator("#headline")).to_have_text("Your order is being prepared")
    page.context.set_offline(True)
    expect(page.locator("#offline")).to_have_text(re.compile(r"known at \d+:\d\d"))
    expect(page.locator("#headline")).to_have_text("Your order is being prepared")
    expect(current(page)).to_contain_text(re.compile(r"Since \d+:\d\d"))
    delivery.status("ready_for_pickup")
    page.context.set_offline(False)
    expect(page.locator("#headline")).to_have_text("Ready for pickup")
    expect(page.locator("#offline")).to_be_hidden()


def test_CUS_027_BR_01_only_the_customer_and_whoever_administers_see_an_order(order_system, phone):
    delivery = order_system.delivery("accepted")
    people = [("customer", delivery.customer, True), ("ops", "anna", True), ("customer", "somebody-else", False)]
    for role, person, sees in people:
        page = phone(order_system.sign_in_url(f"/track/{delivery.name}", role, person))
        shown = page.locator("#headline" if sees else "#refusal h1")
        expect(shown).to_have_text("Your order is accepted" if sees else "There is nothing to follow here.")
        assert "#" not in page.url


def test_CUS_027_4_1_the_details_name_the_order_and_its_arrival(order_system, rider, phone):
    delivery = order_system.delivery("accepted", "preparing", "ready_for_pickup", "in_transit")
    rider(delivery).travel().report(TRIP.at(0), is_answered=True)
    page = phone(delivery.guest_url)
    expect(page.locator("#job")).to_have_text(delivery.name)
    expect(page.locator("#arrival")).to_have_text(re.compile(r"^\d+:\d\d.(AM|PM)$"))
    assert meters((TRIP.at(0).lat, TRIP.at(0).lon), HOME) > 1_000
