"""Signing in on the customer's page: by a code that is typed, and again when it has ended. By one at the end of the
address is in test_privacy.py. The same panel is on the other pages (page-sign-in.js)."""

from playwright.sync_api import expect


def test_who_signs_in_by_typing_a_code_goes_on_where_it_was(order_system, phone):
    delivery = order_system.delivery("accepted")
    code = order_system.sign_in_url("", "customer", delivery.customer)
    page = phone(f"/track/{delivery.name}")
    page.locator("#signin-code").fill(code)
    page.keyboard.press("Enter")
    expect(page.locator("#headline")).to_have_text("Your order has been accepted")
    expect(page.locator("#signin")).to_be_hidden()


def test_when_a_sign_in_ends_the_page_asks_again_and_what_is_shown_stays(order_system, phone):
    delivery = order_system.delivery("accepted")
    # It has ended 20 s ago, which a gateway lets pass for 10 s more: clocks may differ.
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
    page.locator("#signin-code").fill(order_system.sign_in_url("", "customer", delivery.customer))
    page.keyboard.press("Enter")
    expect(page.locator("#signin")).to_be_hidden()
    delivery.status("preparing")
    expect(page.locator("#headline")).to_have_text("Your order is being prepared")
