"""Who is coming, on the customer's and the operations page: only while the rider has the order, as text, and with a photo
only from an origin that the operator allows."""

import re

import pytest
from playwright.sync_api import expect

from order_system import OrderSystem

ROSA = {"name": "Rosa <b>Rossi</b>", "vehicle": "cargo_bike", "plate": "AB 123", "contact": "tel:+390612345,42",
        "photo": "https://photos.example/rosa.png"}
PIXEL = (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89"
         b"\x00\x00\x00\rIDATx\x9cc\xf8\x0f\x04\x00\x09\xfb\x03\xfd\x08\xf0\xb8V\x00\x00\x00\x00IEND\xaeB`\x82")


def describe(orders, rider: str, card: dict | None = None) -> None:
    body = {"zone": "rome", "approved": True, "capacity": 9}
    orders.ask("PUT", f"riders/{rider}", body | ({"card": card} if card is not None else {}))


@pytest.mark.lean
def test_the_customer_sees_who_comes_and_a_change_without_a_refresh(order_system, phone):
    display = {"orderNumber": "A-1042", "items": ["2 × Margherita", "1 × Acqua"], "note": "Third floor\n<b>ring</b>"}
    delivery = order_system.delivery("accepted", display=display, metadata={"tenant": "north"})
    describe(order_system, delivery.rider, ROSA)
    page = phone(delivery.guest_url)
    who = page.locator("#who")
    expect(who.locator("h2")).to_have_text(ROSA["name"])
    expect(who).to_contain_text("Cargo bike · AB 123")
    expect(who.locator("a")).to_have_attribute("href", ROSA["contact"])
    expect(who.locator("a")).to_have_text(f"Call {ROSA['name']}")
    # No origin is allowed for photos here, so none is requested; a violated policy would fail this test.
    expect(who.locator("img")).to_have_count(0)
    expect(page.locator("#job")).to_have_text("A-1042")
    expect(page.locator("#items")).to_have_text(re.compile("2 × Margherita\\s+1 × Acqua"))
    expect(page.locator("#note")).to_contain_text("<b>ring</b>")
    assert "north" not in page.content()
    page.evaluate("window.isTheSamePage = true")
    describe(order_system, delivery.rider, {"name": "Ugo", "contact": "https://relay.example/7"})
    expect(who.locator("h2")).to_have_text("Ugo")
    expect(who.locator("a")).to_have_text("Contact Ugo")
    assert page.evaluate("window.isTheSamePage")


@pytest.mark.lean
def test_nobody_is_shown_before_the_acceptance_without_a_rider_and_after_the_end(order_system, phone):
    delivery = order_system.delivery()
    describe(order_system, delivery.rider, ROSA)
    page = phone(delivery.guest_url)
    expect(page.locator("#headline")).to_have_text("Waiting for vendor to accept your order")
    expect(page.locator("#who")).to_be_hidden()
    delivery.status("accepted")
    expect(page.locator("#who")).to_contain_text("Rosa")
    order_system.ask("DELETE", f"jobs/{delivery.name}/assignment")
    expect(page.locator("#who")).to_be_hidden()
    bearer = order_system.token("rider", delivery.rider)
    order_system.ask("PATCH", "riders/me/status", {"status": "online"}, bearer=bearer)
    order_system.ask("PUT", f"jobs/{delivery.name}/assignment", {"rider": delivery.rider})
    expect(page.locator("#who")).to_contain_text("Rosa")
    delivery.status("preparing", "ready_for_pickup", "in_transit", "delivered")
    expect(page.locator("#headline")).to_have_text(re.compile("^Delivered at "))
    expect(page.locator("#who")).to_be_hidden()
    # Only the name stays, as an answer to "who brought it?" (D6).
    expect(page.locator("#detail")).to_contain_text("Delivered by Rosa")
    text = page.locator("body").inner_text()
    assert text.count("Rosa") == 1 and ROSA["plate"] not in text and ROSA["contact"] not in page.content()


@pytest.mark.lean
def test_the_page_speaks_German_about_who_comes(order_system, phone):
    visit = order_system.visit()
    describe(order_system, visit.rider, {"vehicle": "van", "contact": "tel:+390612345"})
    page = phone(visit.guest_url, locale="de-DE")
    expect(page.locator("#who h2")).to_have_text("Ihr Techniker")
    expect(page.locator("#who")).to_contain_text("Transporter")
    expect(page.locator("#who a")).to_have_text("Ihr Techniker anrufen")


def test_a_photo_is_loaded_from_an_allowed_origin_only(make_site, open_devices):
    site = make_site(PAGES_PHOTO_ORIGINS="https://photos.example")
    orders = OrderSystem(site)
    devices = open_devices(site)
    delivery = orders.delivery("accepted")
    describe(orders, delivery.rider, ROSA)
    devices.evidence.expected_hosts.append("photos.example")
    page = devices.phone()
    page.route("https://photos.example/**", lambda route: route.fulfill(body=PIXEL, content_type="image/png"))
    page.goto(delivery.guest_url)
    expect(page.locator("#who img")).to_have_attribute("src", ROSA["photo"])
    describe(orders, delivery.rider, ROSA | {"photo": "https://elsewhere.example/rosa.png"})
    expect(page.locator("#who img")).to_have_count(0)
    expect(page.locator("#who h2")).to_have_text(ROSA["name"])


@pytest.mark.lean
def test_operations_see_the_card_the_details_and_the_metadata_of_a_job(order_system, desktop):
    delivery = order_system.delivery(
        "accepted", zone="who", display={"orderNumber": "A-1042"}, metadata={"tenant": "north"})
    describe(order_system, delivery.rider, ROSA)
    page = desktop(order_system.sign_in_url(f"/ops?zone=who&job={delivery.name}", "ops", "olga"))
    panel = page.locator("#job")
    number = ROSA["contact"].removeprefix("tel:")
    for text in ["Rosa <b>Rossi</b> · cargo bike · AB 123", number, "A-1042", "tenant", "north"]:
        expect(panel).to_contain_text(text)
