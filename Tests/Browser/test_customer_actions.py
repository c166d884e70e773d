"""What the customer may do on the page: leave the rider a note, cancel, and get help. Only what the gateway would accept is
offered (D9)."""

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
    # Another customer's link shows nothing of it.
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
