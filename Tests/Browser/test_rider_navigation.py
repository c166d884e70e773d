"""Opening a map app from the rider's page (RDR-014). The addresses come from the gateway. The spy records what would be
opened, so nothing leaves the machine."""

import re
import secrets

import pytest
from playwright.sync_api import expect

from devices import ROME
from followers import following
from rider_page import ANDROID, IPHONE, RiderPage, go_online

LOCATED = {"permissions": ["geolocation"], "geolocation": ROME}
VENDOR = {"lat": 41.8986, "lon": 12.4768, "name": "Da Remo", "address": "Piazza di S. Maria Liberatrice 44, Roma"}
# A URL may contain, besides fixed words, only a latitude and a longitude with at most six decimals.
PLACE = re.compile(r"41\.8986\d*(%2C|,)12\.4768\d*")


@pytest.fixture
def open_rider(order_system, devices):
    """open_rider(vendor=…, user_agent=…): an online rider with one delivery to pick up, and that delivery."""

    def open_page(vendor=VENDOR, **options):
        person = f"rider-{secrets.token_hex(3)}"
        order_system.approve(person, f"zone-{secrets.token_hex(3)}")
        go_online(order_system, person)
        job = order_system.delivery(
            "accepted", "preparing", rider=person, **({"vendor": vendor} if vendor else {}))
        rider = RiderPage(order_system, devices, person, **(LOCATED | options))
        expect(rider.navigate(job)).to_be_visible()
        return rider, job

    return open_page


def choose(rider: RiderPage, job, app: str) -> None:
    rider.card(job).get_by_role("button", name="Other map app").click()
    rider.page.locator("#maps").locator(f'[data-app="{app}"]').click()
    expect(rider.page.locator("#maps")).to_be_hidden()


def opened(rider: RiderPage, count: int = 1) -> list[str]:
    """Waits until a number of addresses were opened, and returns them."""
    rider.page.wait_for_function("(count) => spy.opened.length === count", arg=count)
    return rider.opened


@pytest.mark.lean
@pytest.mark.parametrize("agent, scheme", [
    (ANDROID, "google.navigation:q="), (IPHONE, "https://maps.apple.com/?daddr="),
], ids=["android", "ios"])
def test_rdr_014_ac_001_one_tap_opens_the_route_in_the_phones_map_app(open_rider, agent, scheme):
    rider, job = open_rider(user_agent=agent)
    expect(rider.navigate(job)).to_have_accessible_name("Navigate to Da Remo")
    rider.navigate(job).click()
    address = opened(rider)[0]
    assert address.startswith(scheme) and PLACE.search(address)


@pytest.mark.parametrize("agent, mode", [(ANDROID, "&mode=b"), ("", "travelmode=bicycling")], ids=["android", "web"])
def test_d10_a_rider_on_a_bicycle_gets_directions_for_bicycles(order_system, devices, agent, mode):
    person = f"rider-{secrets.token_hex(3)}"
    order_system.ask("PUT", f"riders/{person}", {
        "zone": f"zone-{secrets.token_hex(3)}", "approved": True, "card": {"name": "Bea", "vehicle": "bicycle"}})
    go_online(order_system, person)
    job = order_system.delivery("accepted", rider=person, vendor=VENDOR)
    rider = RiderPage(order_system, devices, person, **LOCATED, **({"user_agent": agent} if agent else {}))
    rider.navigate(job).click()
    assert mode in opened(rider)[0]


@pytest.mark.lean
def test_rdr_014_4_3_the_task_shows_the_vendors_name_and_address_until_the_pickup(
        open_rider):
    rider, job = open_rider(user_agent=ANDROID)
    place = rider.card(job).locator(".place")
    expect(place).to_have_text("Da Remo, Piazza di S. Maria Liberatrice 44, Roma")
    job.status("ready_for_pickup", "in_transit")
    expect(place).to_be_hidden()


def test_rdr_014_the_route_follows_a_corrected_vendor_address(open_rider, order_system):
    rider, job = open_rider(user_agent=ANDROID)
    correct = VENDOR | {"lat": 41.8911, "lon": 12.4702}
    with rider.page.expect_response("**/navigation?to=vendor") as way:
        order_system.ask("PUT", f"jobs/{job.name}", {"kind": "delivery", "vendor": correct})
    way.value.finished()
    rider.navigate(job).click()
    address = opened(rider)[0]
    assert "41.8911" in address and not PLACE.search(address)
    order_system.ask("PUT", f"jobs/{job.name}", {"kind": "delivery", "vendor": correct | {"name": "Da Enzo"}})
    expect(rider.navigate(job)).to_have_text("Navigate to Da Enzo")


def test_rdr_014_a_missing_route_is_not_requested_at_every_change(open_rider):
    rider, job = open_rider(vendor=None, user_agent=ANDROID)
    job.status("ready_for_pickup")
    expect(rider.card(job)).to_contain_text("Ready for pickup")
    rider.navigate(job).click()
    expect(rider.card(job)).to_contain_text("The vendor address may be incorrect.")
    # Once ahead of the tap and once by the tap.
    assert rider.page.evaluate("""performance.getEntriesByType('resource')
      .filter(({name}) => name.includes('/navigation')).length""") == 2


@pytest.mark.lean
def test_rdr_014_ac_001_the_choice_is_remembered_and_can_be_changed(open_rider, axe):
    rider, job = open_rider(user_agent=ANDROID)
    rider.card(job).get_by_role("button", name="Other map app").click()
    expect(rider.page.locator("#maps")).to_be_visible()
    axe(rider.page)
    rider.page.keyboard.press("Escape")
    choose(rider, job, "waze")
    assert "waze.com" in opened(rider)[0]
    rider.page.reload()
    rider.navigate(job).click()
    assert "waze.com" in opened(rider)[0]
    assert rider.page.evaluate("Object.entries(localStorage)") == [["enroute.navigation", "waze"]]
    choose(rider, job, "google")
    opened(rider, 2)
    assert rider.page.evaluate("localStorage.getItem('enroute.navigation')") == "google"


def test_rdr_014_an_address_holds_coordinates_and_nothing_about_people(open_rider):
    rider, job = open_rider(user_agent=ANDROID)
    for app in ("google", "waze", "geo"):
        choose(rider, job, app)
    for address in opened(rider, 3):
        assert PLACE.search(address)
        for secret in (job.name, job.customer, rider.person, "Remo", "token", "origin"):
            assert secret not in address


@pytest.mark.lean
def test_rdr_014_ac_002_the_rider_is_prompted_to_switch_location_on(open_rider):
    rider, job = open_rider(user_agent=ANDROID)
    rider.page.evaluate("spy.failsWith = 2")
    rider.navigate(job).click()
    panel = rider.panel_says("services")
    expect(panel).to_contain_text("Switch on location services")
    assert rider.opened == []
    rider.page.evaluate("spy.failsWith = null")
    panel.get_by_role("button", name="OK").click()
    rider.navigate(job).click()
    opened(rider)


def test_rdr_014_ac_002_the_rider_can_navigate_without_location(open_rider):
    rider, job = open_rider(user_agent=ANDROID)
    rider.page.evaluate("spy.failsWith = 2")
    rider.navigate(job).click()
    rider.panel_says("services").get_by_role("button", name="Navigate anyway").click()
    opened(rider)


@pytest.mark.lean
def test_rdr_014_ac_003_without_a_map_app_the_rider_reads_to_install_one(open_rider):
    rider, job = open_rider(user_agent=ANDROID)
    # A phone whose only map app is missing: the page keeps the focus.
    rider.page.route("**/navigation?to=*", lambda route: route.fulfill(json={
        "job": job.name, "to": "vendor", "lat": "41.898600", "lon": "12.476800",
        "candidates": [{"app": "geo", "label": "Map", "android": "geo:41.898600,12.476800"}]}))
    rider.page.reload()
    rider.navigate(job).click()
    expect(rider.card(job)).to_contain_text(
        "A mapping application is required for navigation. Please install one from the App Store / Play Store.")
    expect(rider.announcer).to_contain_text("A mapping application is required")


def test_rdr_014_ac_004_the_page_is_unchanged_when_the_rider_returns(open_rider, order_system):
    rider, _ = open_rider(user_agent=ANDROID)
    visit = order_system.visit("on_the_way", rider=rider.person)
    rider.travel(visit).click()
    expect(rider.travel(visit)).to_have_attribute("data-state", "on")
    rider.listen()
    rider.navigate(visit).click()
    opened(rider)
    before = rider.card(visit).inner_text()
    rider.hide(True)
    assert "navigation_handoff" in rider.unavailable_reasons and "hidden" not in rider.unavailable_reasons
    rider.hide(False)
    assert rider.card(visit).inner_text() == before
    rider.move(41.8902, 12.4802)
    with following(visit) as follower:
        follower.hear_place(41.8902)


@pytest.mark.lean
def test_rdr_014_ac_005_a_wrong_vendor_address_shows_an_error(open_rider):
    rider, job = open_rider(vendor=None, user_agent=ANDROID)
    rider.navigate(job).click()
    expect(rider.card(job)).to_contain_text("Could not get directions. The vendor address may be incorrect.")
    expect(rider.page.locator("#maps")).to_be_hidden()
    assert rider.opened == []


def test_rdr_014_offline_the_rider_reads_a_network_error(open_rider):
    rider, job = open_rider(user_agent=ANDROID, vendor=None)
    rider.page.context.set_offline(True)
    rider.navigate(job).click()
    expect(rider.card(job)).to_contain_text("Network error. Could not get directions.")


def test_rdr_014_the_route_leads_to_the_vendor_until_the_pickup_then_to_the_customer(open_rider):
    rider, job = open_rider(user_agent=ANDROID)
    expect(rider.navigate(job)).to_have_text("Navigate to Da Remo")
    rider.next(job).click()
    job.status("ready_for_pickup")
    rider.next(job).filter(has_text="Picked up").click()
    expect(rider.navigate(job)).to_have_text("Navigate to customer")


@pytest.mark.lean
def test_a_rider_sees_whom_a_delivery_is_for_and_can_call_them_once_it_is_on_board(order_system, devices, axe):
    person = f"rider-{secrets.token_hex(3)}"
    order_system.approve(person, f"zone-{secrets.token_hex(3)}")
    go_online(order_system, person)
    anna = {"name": "Anna <b>R</b>", "address": "Via Appia 1", "floor": "3rd floor", "contact": "tel:+390612345,17"}
    job = order_system.delivery("accepted", "preparing", rider=person, vendor=VENDOR, recipient=anna)
    rider = RiderPage(order_system, devices, person)
    card = rider.card(job)
    expect(card.locator(".place")).to_contain_text("Da Remo")
    expect(card.get_by_role("link")).to_have_count(0)
    job.status("ready_for_pickup", "in_transit")
    expect(card.locator(".place")).to_have_text("Anna <b>R</b>, Via Appia 1, 3rd floor")
    expect(card.get_by_role("link", name="Call Anna <b>R</b>")).to_have_attribute("href", "tel:+390612345,17")
    expect(card.get_by_role("button", name="Navigate to Anna <b>R</b>")).to_be_visible()
    axe(rider.page)
    # A customer's page does not contain it.
    guest = devices.phone(job.guest_url)
    expect(guest.locator("#headline")).to_be_visible()
    assert "Anna" not in guest.content()
    order_system.ask("PUT", f"jobs/{job.name}", {"kind": "delivery", "recipient": {}})
    expect(card.get_by_role("link")).to_have_count(0)
