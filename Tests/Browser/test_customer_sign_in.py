"""Signing in on the customer's page: with a typed code, and again after the session expired. test_privacy.py tests codes in
the address. The other pages have the same panel (page-sign-in.js)."""

import pytest
from playwright.sync_api import expect


def test_typing_a_sign_in_code_continues_on_the_same_page(order_system, phone):
    delivery = order_system.delivery("accepted")
    code = order_system.sign_in_url("", "customer", delivery.customer)
    page = phone(f"/track/{delivery.name}")
    page.locator("#signin-code").fill(code)
    page.keyboard.press("Enter")
    expect(page.locator("#headline")).to_have_text("Your order has been accepted")
    expect(page.locator("#signin")).to_be_hidden()


def test_an_expired_session_asks_to_sign_in_and_keeps_the_content(order_system, phone):
    delivery = order_system.delivery("accepted")
    # It expired 20 s ago; the gateway tolerates 10 s of clock difference.
    old = order_system.token("customer", delivery.customer, lifetime=60, age=80)
    page = phone()
    page.add_init_script(f"""if (!window.name) {{
      window.name = 'begun';
      sessionStorage.setItem('enroute.token', JSON.stringify({{token: '{old}', expiresAt: Date.now() + 1e6}}));
    }}""")
    page.goto(f"/track/{delivery.name}")
    expect(page.locator("#headline")).to_have_text("Your order has been accepted")
    expect(page.locator("#signin")).to_be_visible()
    expect(page.locator("#signin-problem")).to_contain_text("Your session has expired.")
    expect(page.locator("#headline")).to_be_visible()
    # Somebody who has scrolled to the details does not see the panel.
    page.set_viewport_size({"width": 390, "height": 300})
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    expect(page.locator("#signin")).not_to_be_in_viewport()
    expect(page.locator("#offline")).to_be_in_viewport()
    expect(page.locator("#offline")).to_have_text("Your session has expired. Sign in again to continue.")
    expect(page.locator("#announcer")).to_have_text("Your session has expired. Sign in again to continue.")
    expect(page).to_have_title("Your session has expired. Sign in again to continue.")
    page.locator("#signin-code").fill(order_system.sign_in_url("", "customer", delivery.customer))
    page.keyboard.press("Enter")
    expect(page.locator("#signin")).to_be_hidden()
    expect(page.locator("#offline")).to_be_hidden()
    delivery.status("preparing")
    expect(page.locator("#headline")).to_have_text("Your order is being prepared")
    expect(page).to_have_title("Your order is being prepared")


@pytest.mark.lean
def test_an_ended_link_whose_session_is_refused_before_the_first_answer_shows_the_end(order_system, phone):
    delivery = order_system.delivery("accepted", "preparing", "ready_for_pickup", "in_transit")
    url = delivery.guest_url
    delivery.status("delivered")
    held = []
    page = phone()
    page.route(f"**/track/{delivery.name}", lambda route: (
        held.append(route) if route.request.resource_type == "fetch" else route.continue_()))
    with page.expect_event("websocket") as opened:
        page.goto(url)
    opened.value.wait_for_event("close")
    for route in held:
        route.abort()
    page.unroute_all()
    expect(page.locator("#headline")).to_contain_text("Delivered at")
    expect(page.locator("#refusal")).to_be_hidden()
