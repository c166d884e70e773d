"""The rider's map and the order of the stops (D11: a courier need not leave the page for another map app), and grouped pickups."""

import re
import secrets

import pytest
from playwright.sync_api import expect

from devices import ROME
from order_system import Job
from rider_page import RiderPage, go_online

LOCATED = {"permissions": ["geolocation"], "geolocation": ROME}
SHOP = {"lat": 41.8930, "lon": 12.4830, "name": "Da Gino", "address": "Via Appia 1"}
PIZZA = {"lat": 41.8990, "lon": 12.4700, "name": "Pizza Pia", "address": "Via Roma 9"}
# From 41.89, 12.48 by two corners to HOME's neighborhood: an encoded polyline.
ROUTE = r"ost~F_odkAo}@oK?_q@g^od@"


def card_of_route(rider: RiderPage):
    return rider.page.locator("#route")


def stops(rider: RiderPage):
    return rider.page.locator("#stops li")


@pytest.fixture
def courier(order_system, devices):
    """courier(job members, …): a rider online in a zone of their own with these deliveries, and the jobs."""

    def make(*members, **options):
        person, zone = f"rider-{secrets.token_hex(3)}", f"zone-{secrets.token_hex(3)}"
        order_system.approve(person, zone, capacity=5)
        go_online(order_system, person)
        jobs = [order_system.delivery("accepted", rider=person, zone=zone, **each) for each in members]
        return RiderPage(order_system, devices, person, **LOCATED | options), jobs

    return make


@pytest.mark.lean
def test_d11_the_map_shows_the_rider_the_stops_in_order_and_the_way_to_the_next(courier, axe):
    rider, [job] = courier({"vendor": SHOP})
    page = rider.page
    expect(page.locator("#route-map .stop")).to_have_count(2)
    expect(page.locator("#route-map .stop.next")).to_have_text("1")
    expect(page.locator("#route-map .stop.next")).to_have_class(re.compile("pickup"))
    expect(stops(rider)).to_have_count(0)
    axe(page)
    for name in ("Arrived at store", "Picked up", "Start delivery"):
        job.status("preparing", "ready_for_pickup") if name == "Picked up" else None
        expect(rider.next(job)).to_have_text(name)
        expect(rider.next(job)).to_have_attribute("aria-disabled", "false")
        rider.next(job).click()
    expect(page.locator("#route-map .stop")).to_have_count(1)
    expect(page.locator("#route-map .me")).to_be_visible()
    expect(page.locator("#route-map")).to_have_attribute("data-way", "straight")
    axe(page)


def test_d11_a_known_route_is_drawn_along_the_streets(order_system, devices):
    job = order_system.visit("on_the_way")
    rider = RiderPage(order_system, devices, job.rider, job, has_wire=True, **LOCATED)
    rider.travel(job).click()
    rider.page.get_by_role("button", name="Continue").click() if rider.panel.is_visible() else None
    expect(rider.page.locator("#route-map .me")).to_be_visible()
    rider.wire.hold_back("eta")
    rider.wire.say("eta", job=job.name, state="estimated", seconds=300, route=ROUTE)
    expect(rider.page.locator("#route-map")).to_have_attribute("data-way", "route")
    # A malformed route counts as none.
    rider.wire.say("eta", job=job.name, state="estimated", seconds=290, route="\x01")
    expect(rider.page.locator("#route-map")).to_have_attribute("data-way", "straight")


@pytest.mark.lean
def test_pickups_at_one_place_are_one_stop_with_one_button(courier, axe):
    rider, [first, second, other] = courier({"vendor": SHOP}, {"vendor": SHOP}, {"vendor": PIZZA})
    expect(stops(rider)).to_have_count(5)
    expect(stops(rider).nth(0)).to_contain_text("Pick up at Da Gino")
    expect(stops(rider).nth(0)).to_contain_text(first.name)
    expect(stops(rider).nth(0)).to_contain_text(second.name)
    expect(stops(rider).nth(1)).to_contain_text("Pick up at Pizza Pia")
    expect(rider.page.locator("#work .primary:visible")).to_have_count(1)
    axe(rider.page)
    stops(rider).nth(0).get_by_role("button", name="Arrived at store · 2 tasks").click()
    for job in (first, second):
        expect(rider.card(job)).to_contain_text("At the store")
    expect(rider.card(other)).to_contain_text("Accepted")
    for job in (first, second):
        job.status("preparing", "ready_for_pickup")
    stops(rider).nth(0).get_by_role("button", name="Picked up · 2 tasks").click()
    # Orders on board are delivered first.
    expect(stops(rider)).to_have_count(4)
    expect(stops(rider).nth(0)).to_contain_text("Deliver")
    expect(rider.page.locator("#work .primary:visible")).to_have_count(1)


def test_the_rider_moves_a_stop_to_the_front(courier):
    rider, [_, other] = courier({"vendor": SHOP}, {"vendor": PIZZA})
    expect(stops(rider).nth(0)).to_contain_text("Da Gino")
    stops(rider).nth(1).get_by_role("button", name="Do this first: Pick up at Pizza Pia").click()
    expect(stops(rider).nth(0)).to_contain_text("Pizza Pia")
    expect(rider.page.locator("#jobs > li").first).to_have_attribute("data-job", other.name)
    # The button has moved away from under the thumb, and the focus stays in the list.
    assert rider.page.evaluate("document.getElementById('stops').contains(document.activeElement)")


def test_what_the_order_says_is_on_the_card(courier):
    display = {"orderNumber": "A-17", "items": ["2 pizzas", "1 water"], "note": "Third floor.\nRing at Rossi."}
    rider, [job] = courier({"vendor": SHOP, "display": display})
    for text in ("2 pizzas, 1 water", "Third floor.", "Ring at Rossi."):
        expect(rider.card(job).locator(".about")).to_contain_text(text)
    expect(rider.card(job).locator("h3")).to_have_text("Delivery A-17")


def test_without_a_place_there_is_no_map_and_no_map_library(order_system, devices, evidence):
    person = f"rider-{secrets.token_hex(3)}"
    order_system.ask("POST", "jobs", {"job": f"of-{person}", "kind": "service", "customer": "anna", "rider": person})
    job = Job(order_system, f"of-{person}", "service", "anna", person)
    rider = RiderPage(order_system, devices, person, job, **LOCATED)
    expect(rider.card(job)).to_contain_text("Assigned to you")
    expect(card_of_route(rider)).to_be_hidden()
    assert not [url for url in evidence.requests if url.endswith("leaflet.js")]


def test_two_fingers_move_the_map_and_follow_returns_the_camera(courier):
    rider, _ = courier({"vendor": SHOP})
    page = rider.page
    expect(page.locator("#route-map .stop")).to_have_count(2)
    expect(page.locator("#route-follow")).to_be_hidden()
    page.locator("#route-map .leaflet-control-zoom-in").click()
    page.locator("#route-follow").click()
    expect(page.locator("#route-follow")).to_be_hidden()
    expect(page.locator("#route-map")).to_be_focused()
