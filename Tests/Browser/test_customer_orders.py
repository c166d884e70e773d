"""The customer's page and the acceptance criteria of CUS-027. Each test name starts with the story and the criterion."""

import re

import pytest
from playwright.sync_api import Page, expect

from order_system import HOME
from trips import to_the_door

TRIP = to_the_door(HOME, meters_away=3_000)
LINES = {"pending_vendor_acceptance": "Waiting for vendor", "accepted": "Order accepted",
         "preparing": "Preparing your order", "ready_for_pickup": "Order ready", "in_transit": "On its way",
         "delivered": "Delivered"}
STATUSES = list(LINES)
READY = "Your order is ready – waiting for a rider"
DELIVERED = re.compile(r"^Delivered at \d+:\d\d")


def steps(page: Page) -> dict[str, str]:
    """Returns each step with its state."""
    return dict(page.locator("#steps li").evaluate_all("all => all.map(li => [li.dataset.step, li.dataset.state])"))


def current(page: Page):
    return page.locator("#steps [aria-current=step]")


@pytest.mark.lean
@pytest.mark.parametrize(("criterion", "status", "headline"), [
    ("AC-001", "pending_vendor_acceptance", "Waiting for vendor to accept your order"),
    ("AC-002", "preparing", "Your order is being prepared"),
    ("AC-003", "ready_for_pickup", READY),
    ("AC-004", "in_transit", "Your order is on its way"),
])
@pytest.mark.lean
def test_CUS_027_AC_001_to_004_a_status_has_its_headline_and_its_step(criterion, status, headline, order_system, phone):
    place = STATUSES.index(status)
    page = phone(order_system.delivery(*STATUSES[1:place + 1]).guest_url)
    expect(page.locator("#headline")).to_have_text(headline)
    expect(current(page)).to_have_count(1)
    expect(current(page)).to_contain_text(LINES[status])
    assert steps(page) == {
        step: "complete" if index < place else "active" if index == place else "upcoming"
        for index, step in enumerate(STATUSES)}


@pytest.mark.lean
def test_CUS_027_AC_003_a_new_status_appears_without_a_refresh(order_system, phone):
    delivery = order_system.delivery("accepted", "preparing")
    page = phone(delivery.guest_url)
    expect(page.locator("#headline")).to_have_text("Your order is being prepared")
    page.evaluate("window.isTheSamePage = true")
    delivery.status("ready_for_pickup")
    expect(page.locator("#headline")).to_have_text(READY)
    assert page.evaluate("window.isTheSamePage")


@pytest.mark.lean
def test_CUS_027_AC_005_a_delivered_order_shows_Delivered_with_its_time_and_complete_steps(order_system, phone):
    delivery = order_system.delivery("accepted", "preparing", "ready_for_pickup", "in_transit")
    page = phone(delivery.guest_url)
    expect(current(page)).to_contain_text("On its way")
    delivery.status("delivered")
    expect(page.locator("#headline")).to_have_text(DELIVERED)
    assert set(steps(page).values()) == {"complete"}


@pytest.mark.lean
def test_CUS_027_AC_006_a_cancelled_order_ends_with_a_step_that_says_so(order_system, phone):
    delivery = order_system.delivery("accepted")
    page = phone(delivery.guest_url)
    expect(current(page)).to_contain_text("Order accepted")
    delivery.status("cancelled")
    expect(page.locator("#headline")).to_have_text("Your order was cancelled")
    expect(current(page)).to_contain_text("Cancelled")
    assert list(steps(page).items())[-1] == ("cancelled", "over")
    assert "upcoming" not in steps(page).values() and "active" not in steps(page).values()
    # The headline and the last step show it.
    assert page.locator("#order").inner_text().lower().count("cancelled") == 2


@pytest.mark.lean
def test_CUS_027_AC_007_the_page_says_that_no_rider_was_found_and_what_is_next(order_system, phone):
    delivery = order_system.delivery("accepted", "preparing", "ready_for_pickup", "allocation_failed")
    page = phone(delivery.guest_url)
    expect(page.locator("#headline")).to_have_text("We're having trouble finding a rider")
    expect(page.locator("#detail")).to_contain_text("We’re still looking")
    expect(current(page)).to_have_count(1)
    expect(current(page)).to_contain_text("Finding a rider")
    assert steps(page)["ready_for_pickup"] == "complete" and "active" not in steps(page).values()
    delivery.status("ready_for_pickup")
    expect(page.locator("#headline")).to_have_text(READY)


@pytest.mark.lean
def test_CUS_027_AC_008_offline_the_last_status_stays_with_its_time(order_system, phone):
    delivery = order_system.delivery("accepted", "preparing")
    page = phone(delivery.guest_url)
    expect(page.locator("#headline")).to_have_text("Your order is being prepared")
    page.context.set_offline(True)
    expect(page.locator("#offline")).to_have_text(re.compile(r"Last update \d+:\d\d"))
    expect(page.locator("#headline")).to_have_text("Your order is being prepared")
    expect(current(page)).to_contain_text(re.compile(r"Since \d+:\d\d"))
    delivery.status("ready_for_pickup")
    page.context.set_offline(False)
    expect(page.locator("#headline")).to_have_text(READY)
    expect(page.locator("#offline")).to_be_hidden()


def test_CUS_027_BR_01_only_the_customer_and_operations_see_an_order(order_system, phone):
    delivery = order_system.delivery("accepted")
    people = [("customer", delivery.customer, True), ("ops", "anna", True), ("customer", "somebody-else", False)]
    for role, person, sees in people:
        page = phone(order_system.sign_in_url(f"/track/{delivery.name}", role, person))
        shown = page.locator("#headline" if sees else "#refusal h1")
        expect(shown).to_have_text("Your order has been accepted" if sees else "We can’t find this order or visit.")
        assert "#" not in page.url


@pytest.mark.lean
def test_CUS_027_4_1_the_details_show_order_vendor_and_arrival_time(order_system, rider, phone):
    vendor = {"lat": 41.8986, "lon": 12.4768, "name": "Trattoria <da Gino>"}
    delivery = order_system.delivery("accepted", "preparing", "ready_for_pickup", "in_transit", vendor=vendor)
    rider(delivery).travel().report(TRIP.at(0), is_answered=True)
    page = phone(delivery.guest_url)
    expect(page.locator("#job")).to_have_text(delivery.name)
    expect(page.locator("#vendor")).to_have_text("Trattoria <da Gino>")
    # The invisible word joiner keeps the range on one line.
    expect(page.locator("#arrival")).to_have_text(re.compile(r"^\d+:\d\d( [AP]M)?\s–\u2060\s\d+:\d\d\s[AP]M$"))


@pytest.mark.lean
def test_a_correction_is_shown_on_an_open_page_that_says_delivered(order_system, phone):
    """The subscription ended with the job, so the page reads it again once a minute."""
    order = order_system.delivery("accepted", "preparing", "ready_for_pickup", "in_transit")
    for address in [order.guest_url, order_system.sign_in_url(f"/track/{order.name}", "customer", order.customer)]:
        if order.state["status"] == "delivered":
            correct(order, "in_transit")
        page = phone(clock=True)
        page.goto(address)
        expect(page.locator("#headline")).not_to_have_text(DELIVERED)
        order.status("delivered")
        expect(page.locator("#headline")).to_have_text(DELIVERED)
        correct(order, "in_transit")
        page.clock.run_for(61_000)
        expect(page.locator("#headline")).not_to_have_text(DELIVERED)
        # From here on it follows the job as before.
        order.status("delivered")
        expect(page.locator("#headline")).to_have_text(DELIVERED)


def correct(order, status: str) -> None:
    order.orders.ask("POST", f"jobs/{order.name}/corrections", {"status": status, "reason": "The wrong order."})
