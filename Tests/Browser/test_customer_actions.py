"""The customer's actions on the page: leave the rider a note, cancel, and get help. Only what the gateway would accept
is offered (D9)."""

import pytest
from playwright.sync_api import expect

from order_system import OrderSystem

NOTE = "Gate code 42,\nthird floor <b>left</b>"


def own_page(orders, phone, job, **settings):
    return phone(orders.sign_in_url(f"/track/{job.name}", "customer", job.customer), **settings)


@pytest.mark.lean
def test_D9_a_note_reaches_the_rider_and_the_desk_and_stays_for_the_customer(order_system, phone):
    delivery = order_system.delivery("accepted")
    page = own_page(order_system, phone, delivery)
    page.get_by_role("button", name="Leave a note for your rider").click()
    expect(page.get_by_label("Your note to the rider")).to_be_focused()
    page.get_by_label("Your note to the rider").fill(NOTE)
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#own-note")).to_have_text(NOTE)
    expect(page.locator("#announcer")).to_contain_text("Your note was saved.")
    assert order_system.ask("GET", f"jobs/{delivery.name}")["customerNote"] == NOTE
    page.reload()
    expect(page.locator("#own-note")).to_have_text(NOTE)
    rider = phone(order_system.sign_in_url(f"/rider?job={delivery.name}", "rider", delivery.rider))
    expect(rider.locator(".task .note")).to_contain_text("third floor <b>left</b>")
    desk = phone(order_system.sign_in_url(f"/ops?zone=-&job={delivery.name}", "ops", "olga"))
    expect(desk.locator("body")).to_contain_text("Gate code 42")
    # Another customer's link does not show it.
    guest = phone(delivery.guest_url)
    expect(guest.locator("#headline")).to_have_text("Your order has been accepted")
    assert "Gate code" not in guest.content()


@pytest.mark.lean
@pytest.mark.parametrize("dark", [False, True])
def test_D9_an_order_can_be_cancelled_while_its_status_allows_it(order_system, phone, axe, dark):
    delivery = order_system.delivery()
    page = own_page(order_system, phone, delivery, dark=dark)
    page.locator("#note-open").click()
    axe(page)
    page.get_by_role("button", name="Back").click()
    expect(page.locator("#note-open")).to_be_focused()
    cancel = page.get_by_role("button", name="Cancel order", exact=True)
    cancel.click()
    expect(page.get_by_role("button", name="Keep order")).to_be_focused()
    axe(page)
    page.get_by_role("button", name="Keep order").click()
    expect(cancel).to_be_focused()
    cancel.click()
    page.get_by_role("button", name="Yes, cancel order").click()
    expect(page.locator("#headline")).to_have_text("Your order was cancelled")
    expect(page.locator("#actions")).to_be_hidden()
    assert delivery.state["status"] == "cancelled"


TEXT_LEFT = """(element) => {
  const range = document.createRange();
  range.selectNodeContents(element);
  return range.getBoundingClientRect().left;
}"""


@pytest.mark.lean
def test_the_text_of_plain_buttons_is_in_line_with_the_headings(order_system, phone):
    page = own_page(order_system, phone, order_system.delivery())
    expect(page.locator("#cancel-open")).to_be_visible()
    heading = page.locator("#progress h2").evaluate(TEXT_LEFT)
    for name in ("#note-open", "#cancel-open"):
        assert abs(page.locator(name).evaluate(TEXT_LEFT) - heading) < 1


@pytest.mark.lean
def test_D9_once_the_vendor_has_accepted_there_is_nothing_to_cancel(order_system, phone):
    delivery = order_system.delivery()
    page = own_page(order_system, phone, delivery)
    expect(page.locator("#cancel-open")).to_be_visible()
    page.locator("#cancel-open").click()
    delivery.status("accepted")
    expect(page.locator("#headline")).to_have_text("Your order has been accepted")
    expect(page.locator("#cancel-open, #cancel-confirm")).to_have_count(0)
    expect(page.locator("#note-open")).to_be_visible()


@pytest.mark.lean
def test_D9_a_link_only_shows_the_order_unless_the_operator_allows_more(order_system, phone):
    page = phone(order_system.delivery().guest_url)
    expect(page.locator("#headline")).to_have_text("Waiting for vendor to accept your order")
    expect(page.locator("#share")).to_be_visible()
    expect(page.locator("#actions")).to_be_hidden()


def test_D9_where_the_operator_allows_it_a_link_cancels_and_is_not_shared(make_site, open_devices):
    site = make_site(PAGES_NOTES="links", PAGES_CANCEL="links")
    page = open_devices(site).phone(OrderSystem(site).visit().guest_url, locale="de-DE")
    page.locator("#note-open").click()
    page.locator("#note-text").fill("Klingel „Müller“")
    page.locator("#note-save").click()
    expect(page.locator("#own-note")).to_have_text("Klingel „Müller“")
    expect(page.locator("#share")).to_be_hidden()
    page.get_by_role("button", name="Termin stornieren", exact=True).click()
    page.get_by_role("button", name="Ja, Termin stornieren").click()
    expect(page.locator("#headline")).to_have_text("Ihr Termin wurde storniert")


def two_tabs(make_site, open_devices):
    """An order whose links write notes, and two devices that show it."""
    site = make_site(PAGES_NOTES="links")
    delivery = OrderSystem(site).delivery()
    devices = open_devices(site)
    pages = [devices.phone(delivery.guest_url) for _ in range(2)]
    for page in pages:
        expect(page.locator("#note-open")).to_be_visible()
    return delivery, pages


def save(page, note):
    page.locator("#note-text").fill(note)
    page.locator("#note-save").click()


@pytest.mark.lean
def test_the_form_shows_the_note_that_another_device_has_saved(make_site, open_devices):
    _, (first, second) = two_tabs(make_site, open_devices)
    first.locator("#note-open").click()
    save(first, "Gate code 1234")
    expect(first.locator("#own-note")).to_have_text("Gate code 1234")
    second.locator("#note-open").click()
    expect(second.locator("#note-text")).to_have_value("Gate code 1234")


@pytest.mark.lean
def test_a_note_replaces_a_newer_one_only_after_showing_it(make_site, open_devices, axe):
    delivery, (first, second) = two_tabs(make_site, open_devices)
    for page in (first, second):
        page.locator("#note-open").click()
        page.locator("#note-text").fill("Ring twice")
    save(first, "Gate code 1234")
    expect(first.locator("#own-note")).to_have_text("Gate code 1234")
    save(second, "Ring twice")
    expect(second.locator("#actions [role=alert]")).to_contain_text("Gate code 1234")
    expect(second.locator("#note-text")).to_have_value("Ring twice")
    assert delivery.orders.ask("GET", f"jobs/{delivery.name}")["customerNote"] == "Gate code 1234"
    axe(second)
    # Another status changes the job, but not the note.
    delivery.status("accepted")
    second.locator("#note-save").click()
    expect(second.locator("#own-note")).to_have_text("Ring twice")
    assert delivery.orders.ask("GET", f"jobs/{delivery.name}")["customerNote"] == "Ring twice"


@pytest.mark.lean
def test_what_was_typed_survives_a_change_of_the_language(order_system, phone):
    delivery = order_system.delivery()
    page = own_page(order_system, phone, delivery)
    page.locator("#note-open").click()
    page.locator("#note-text").fill("Third floor")
    page.locator("#language").click()
    expect(page.get_by_label("Ihr Hinweis für den Fahrer")).to_have_value("Third floor")
    page.get_by_role("button", name="Zurück").click()
    page.reload()
    expect(page.locator("#note-open")).to_be_visible()
    expect(page.locator("#note-text")).to_have_count(0)


@pytest.mark.lean
def test_when_the_actions_disappear_the_headline_has_the_keyboard_focus(order_system, phone):
    cancelled = order_system.delivery()
    page = own_page(order_system, phone, cancelled)
    page.locator("#cancel-open").press("Enter")
    page.locator("#cancel-confirm").press("Enter")
    expect(page.locator("#headline")).to_have_text("Your order was cancelled")
    expect(page.locator("#headline")).to_be_focused()
    delivered = order_system.delivery("accepted", "preparing", "ready_for_pickup", "in_transit")
    page = own_page(order_system, phone, delivered)
    page.locator("#note-open").press("Enter")
    page.locator("#note-text").fill("Late")
    delivered.status("delivered")
    expect(page.locator("#actions")).to_be_hidden()
    expect(page.locator("#headline")).to_be_focused()


def test_D9_help_is_the_operators_and_a_failure_says_so(make_site, open_devices):
    site = make_site(PAGES_SUPPORT_URL="tel:+390612345")
    orders = OrderSystem(site)
    delivery = orders.delivery()
    page = own_page(orders, open_devices(site).phone, delivery)
    expect(page.get_by_role("link", name="Contact support")).to_have_attribute("href", "tel:+390612345")
    page.locator("#note-open").click()
    page.locator("#note-text").fill("Ring twice")
    page.context.set_offline(True)
    page.locator("#note-save").click()
    expect(page.locator("#actions [role=alert]")).to_contain_text("That didn’t work.")
    expect(page.locator("#note-text")).to_have_value("Ring twice")
    page.context.set_offline(False)
    page.locator("#note-save").click()
    expect(page.locator("#own-note")).to_have_text("Ring twice")
