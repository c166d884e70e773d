"""The customer's page from the order to the door and afterwards: what was promised, the time of every step, where the order
comes from, sharing, the moment at the door, and what remains under the same link."""

import re
import time

import pytest
from playwright.sync_api import expect

from assets import fetch
from markers import RIDER
from order_system import HOME, OrderSystem
from trips import Spot, away
from wire import Wire

SHOP = away(HOME, 900, 300)
VENDOR = {"name": "Da Gino", "lat": SHOP[0], "lon": SHOP[1]}
CLOCK = re.compile(r"^\d{1,2}:\d\d\s?[AP]M$")
DELIVERED = re.compile(r"^Delivered at \d{1,2}:\d\d")
# A device whose clock can be set (`ahead`). It lists the gateway's messages, and what each rendering apologizes for.
SETTABLE = """(() => {
  const [Socket, now] = [WebSocket, Date.now];
  Object.assign(window, {ahead: 0, heard: [], apologies: []});
  Date.now = () => now() + ahead;
  window.WebSocket = class extends Socket {
    constructor(...all) {
      super(...all);
      this.addEventListener('message', ({data}) => heard.push(JSON.parse(data).type));
    }
  };
  // The page sets its title whenever it renders.
  Object.defineProperty(document, 'title', {
    set() { queueMicrotask(() => apologies.push(document.querySelector('#apology').textContent)); },
  });
})()"""


def window(from_minutes: float, until_minutes: float) -> dict:
    now = time.time_ns() // 1_000_000
    return {"from": now + round(from_minutes * 60_000), "until": now + round(until_minutes * 60_000)}


@pytest.mark.lean
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_before_the_trip_the_page_shows_the_promised_time_and_shop_and_home_on_the_map(order_system, phone, axe, dark):
    delivery = order_system.delivery("accepted", "preparing", vendor=VENDOR, display={"window": window(20, 35)})
    page = phone(delivery.guest_url, dark=dark)
    expect(page.locator("#map .shop")).to_be_visible()
    expect(page.locator("#map .home")).to_be_visible()
    expect(page.locator(RIDER)).to_have_count(0)
    expect(page.locator("#eta")).to_have_text(re.compile(r"^Expected \d"))
    expect(page.locator("#map-description")).to_have_text("Da Gino is 0.6 miles from you.")
    expect(page.locator("#age")).to_be_hidden()
    for step in ("pending_vendor_acceptance", "accepted"):
        expect(page.locator(f"#steps [data-step={step}] .state")).to_have_text(CLOCK)
    expect(page).to_have_title(re.compile("^Expected .* · Your order$"))
    axe(page)


def test_a_clock_that_is_set_while_the_page_is_open_makes_no_order_late(order_system, phone):
    delivery = order_system.delivery("accepted", "preparing", display={"window": window(20, 35)})
    page = phone()
    page.add_init_script(SETTABLE)
    page.goto(delivery.guest_url)
    page.wait_for_function("() => heard.includes('subscribed')")
    expect(page.locator("#eta")).to_have_text(re.compile(r"^Expected \d"))
    promised = page.locator("#eta").text_content()
    page.evaluate("[heard, apologies, ahead] = [[], [], 3 * 3_600_000]")
    page.wait_for_function("() => heard.includes('pong')")
    rendered = page.evaluate("apologies.length")
    page.wait_for_function("count => apologies.length > count + 2", arg=rendered)
    assert set(page.evaluate("apologies")) == {""}
    expect(page.locator("#eta")).to_have_text(promised)


def test_when_the_rider_sets_off_the_same_map_stays_and_follows_them(order_system, rider, phone):
    delivery = order_system.delivery("accepted", "preparing", "ready_for_pickup", vendor=VENDOR)
    page = phone(delivery.guest_url)
    expect(page.locator("#map .shop")).to_be_visible()
    page.evaluate("document.querySelector('#map .shop').dataset.test = 'the same'")
    delivery.status("in_transit")
    expect(page.locator("#headline")).to_have_text("Your order is on its way")
    # Nobody was seen yet.
    expect(page.locator("#map [data-test]")).to_be_visible()
    expect(page.locator("#map .home")).to_be_visible()
    courier = rider(delivery).travel()
    courier.report(Spot(*away(HOME, 700, 300), 8, 120), is_answered=True)
    expect(page.locator(RIDER)).to_be_visible()
    expect(page.locator("#map [data-test]")).to_be_visible()
    expect(page.locator("#steps [data-step=ready_for_pickup] .state")).to_have_text(CLOCK)


@pytest.mark.lean
def test_the_map_is_there_when_somebody_opens_the_page_before_the_rider_was_seen(order_system, phone, axe):
    delivery = order_system.delivery("accepted", "preparing", "ready_for_pickup", "in_transit", vendor=VENDOR)
    page = phone(delivery.guest_url)
    expect(page.locator("#map .shop")).to_be_visible()
    expect(page.locator("#map .home")).to_be_visible()
    expect(page.locator(RIDER)).to_have_count(0)
    expect(page.locator("#detail")).to_contain_text("The live map will appear as soon as they share their location.")
    axe(page)


@pytest.mark.lean
def test_the_marker_shows_the_vehicle_and_changes_with_it(order_system, rider, phone):
    delivery = order_system.delivery("accepted", "preparing", "ready_for_pickup", "in_transit", display={"vehicle": "cargo_bike"})
    rider(delivery).travel().report(Spot(*away(HOME, 700, 300), 8, 120), is_answered=True)
    page = phone(delivery.guest_url)
    # A bicycle has open wheels.
    expect(page.locator(f"{RIDER} .glyph circle.line")).to_have_count(2)
    delivery.orders.ask("PUT", f"jobs/{delivery.name}", {
        "kind": "delivery", "customer": delivery.customer, "rider": delivery.rider,
        "destination": {"lat": HOME[0], "lon": HOME[1]}, "display": {"vehicle": "car"}})
    expect(page.locator(f"{RIDER} .glyph circle.wheel")).to_have_count(2)
    expect(page.locator(f"{RIDER} .glyph circle.line")).to_have_count(0)
    expect(page.locator(RIDER)).to_have_count(1)


@pytest.mark.lean
def test_without_the_shop_s_place_there_is_no_map_before_the_trip(order_system, phone):
    delivery = order_system.delivery("accepted", "preparing", vendor={"name": "Da Gino"})
    page = phone(delivery.guest_url)
    expect(page.locator("#steps [aria-current=step]")).to_be_visible()
    expect(page.locator("#tracking")).to_be_hidden()


@pytest.mark.lean
def test_a_broken_promise_is_admitted_and_announced(coming, phone, axe):
    delivery, _ = coming(kind="delivery")
    page = phone()
    wire = Wire(page)
    page.goto(delivery.guest_url)
    expect(page.locator(RIDER)).to_be_visible()
    wire.arrival(delivery.name, 12)
    expect(page.locator("#eta")).to_have_text("Arriving in 12 min")
    expect(page.locator("#clock")).to_have_text(CLOCK)
    expect(page.locator("#apology")).to_be_hidden()
    delivery.orders.ask("PUT", f"jobs/{delivery.name}", {
        "kind": "delivery", "customer": delivery.customer, "rider": delivery.rider,
        "destination": {"lat": HOME[0], "lon": HOME[1]}, "display": {"window": window(-20, -5)}})
    expect(page.locator("#apology")).to_have_text(re.compile("^We’re sorry – this is running late"))
    expect(page.locator("#announcer")).to_contain_text("We’re sorry")
    axe(page)


@pytest.mark.lean
def test_a_link_viewer_shares_the_link(order_system, devices):
    delivery = order_system.delivery("accepted")
    url = delivery.guest_url
    page = devices.open(None, width=390, height=844, is_phone=True, permissions=["clipboard-read", "clipboard-write"])
    page.add_init_script("Object.defineProperty(navigator, 'share', {value: undefined});")
    page.goto(url)
    page.get_by_role("button", name="Share").click()
    expect(page.locator("#share")).to_have_text("Link copied")
    expect(page.locator("#announcer")).to_have_text("Link copied")
    assert page.evaluate("() => navigator.clipboard.readText()") == url
    delivery.status("cancelled")
    expect(page.locator("#share")).to_be_hidden()


def test_somebody_who_signed_in_has_no_link_to_share(order_system, phone):
    visit = order_system.visit()
    page = phone(order_system.sign_in_url(f"/track/{visit.name}", "customer", visit.customer))
    expect(page.locator("#steps [aria-current=step]")).to_be_visible()
    expect(page.locator("#share")).to_be_hidden()


@pytest.mark.lean
@pytest.mark.parametrize("reduced_motion", [False, True], ids=["motion", "reduced motion"])
def test_at_the_door_there_is_a_moment_of_delight_unless_motion_is_reduced(coming, phone, axe, reduced_motion):
    delivery, _ = coming(kind="delivery")
    page = phone(delivery.guest_url, reduced_motion=reduced_motion)
    expect(page.locator(RIDER)).to_be_visible()
    page.evaluate("""() => new MutationObserver((changes) => {
      for (const {addedNodes} of changes) for (const node of addedNodes)
        if (node.className === 'confetti') window.celebrated = (window.celebrated ?? 0) + 1;
    }).observe(document.body, {subtree: true, childList: true})""")
    delivery.status("delivered")
    expect(page.locator("#headline")).to_have_text(DELIVERED)
    axe(page)
    assert page.evaluate("() => window.celebrated ?? 0") == (0 if reduced_motion else 1)
    expect(page.locator(".confetti")).to_have_count(0)


@pytest.mark.lean
def test_D6_after_the_delivery_the_link_says_when_by_whom_and_how_long_without_places(order_system, phone, axe):
    delivery = order_system.delivery(vendor=VENDOR, rider="rosa-who-brings-it")
    order_system.ask("PUT", f"riders/{delivery.rider}", {
        "zone": "rome", "approved": True, "capacity": 3, "card": {"name": "Rosa"}})
    url = delivery.guest_url
    delivery.status("accepted", "preparing", "ready_for_pickup", "in_transit", "delivered")
    page = phone(url)
    expect(page.locator("#headline")).to_have_text(DELIVERED)
    expect(page.locator("#detail")).to_have_text("Delivered by Rosa. Enjoy!")
    for step in ("accepted", "in_transit"):
        expect(page.locator(f"#steps [data-step={step}] .state")).to_have_text(CLOCK)
    expect(page.locator("#tracking")).to_be_hidden()
    expect(page.locator(".confetti")).to_have_count(0)
    axe(page)
    _, _, html = fetch(f"{order_system.site.url}/track/{delivery.name}", Authorization=f"Link {url.split('#')[1]}")
    assert b'"lat"' not in html and b'"Rosa"' in html


@pytest.mark.lean
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_operator_s_brand_is_on_the_page_in_both_themes(tmp_path, make_site, open_devices, axe, dark):
    logo = tmp_path / "logo.svg"
    logo.write_text('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32"/></svg>')
    site = make_site(PAGES_NAME="Da Gino", PAGES_ACCENT="9b1c31", PAGES_ACCENT_DARK="#ff9aa8", PAGES_LOGO_FILE=logo,
                     PAGES_SUPPORT_URL="tel:+390612345")
    orders = OrderSystem(site)
    delivery = orders.delivery("accepted")
    page = open_devices(site).phone(delivery.guest_url, dark=dark)
    expect(page.locator("#title")).to_have_text("Da Gino")
    expect(page.locator("#logo img")).to_be_visible()
    page.wait_for_function("() => document.querySelector('#logo img').naturalWidth > 0")
    expect(page.get_by_role("link", name="Contact support")).to_have_attribute("href", "tel:+390612345")
    accent = page.evaluate("() => getComputedStyle(document.documentElement).getPropertyValue('--accent').trim()")
    assert accent == ("#ff9aa8" if dark else "#9b1c31")
    axe(page)
    delivery.status("preparing", "ready_for_pickup", "in_transit", "delivered")
    expect(page.get_by_role("link", name="Something wrong?")).to_be_visible()


@pytest.mark.lean
def test_D9_without_a_support_link_the_page_offers_no_support(order_system, phone):
    page = phone(order_system.delivery("accepted").guest_url)
    expect(page.locator("#steps [aria-current=step]")).to_be_visible()
    expect(page.locator("#support")).to_be_hidden()


@pytest.mark.lean
def test_a_failed_copy_is_visible(order_system, desktop):
    page = desktop()
    page.add_init_script("""
      navigator.clipboard.writeText = async () => { throw new Error('denied'); };
      Object.defineProperty(navigator, 'share', {value: undefined});
    """)
    page.goto(order_system.delivery("accepted").guest_url)
    page.locator("#share").click()
    expect(page.locator("#share-failed")).to_have_text("Copying didn’t work. Copy the link from the address bar.")
