"""Permanent notices are still there after a reconnect and after a while."""

import secrets

import pytest
from playwright.sync_api import expect

from rider_page import RiderPage

A_WHILE_MS = 10_000         # of the page's own time
# Remembers the types of the page's messages that the gateway has answered.
ANSWERED = """window.WebSocket = class extends WebSocket {
  constructor(...all) {
    super(...all);
    window.answered = new Set();
    this.addEventListener('message', ({data}) => answered.add(JSON.parse(data).replyTo));
  }
}"""
NOTHING = "We can’t find this order or visit."


def flicker(page) -> None:
    """The device reports that it is offline and online again, which changes the connection's state."""
    page.context.set_offline(True)
    expect(page.locator("#offline")).to_be_visible()
    page.context.set_offline(False)
    expect(page.locator("#offline")).to_be_hidden()


@pytest.mark.lean
def test_a_refusal_stays_after_the_connection_is_restored(order_system, phone):
    visit = order_system.visit("on_the_way")
    page = phone(order_system.sign_in_url(f"/track/{visit.name}", "customer", "somebody-else"))
    expect(page.locator("#refusal h1")).to_have_text(NOTHING)
    flicker(page)
    expect(page.locator("#refusal h1")).to_have_text(NOTHING)
    expect(page.locator("#order")).to_be_hidden()


def test_a_second_page_that_only_looks_leaves_the_first_one_connected(order_system, devices, site):
    person, zone = f"rider-{secrets.token_hex(3)}", f"zone-{secrets.token_hex(3)}"
    order_system.approve(person, zone)
    older = RiderPage(order_system, devices, person)
    older.switch.click()
    expect(older.switch).to_have_attribute("aria-checked", "true")
    device = order_system.ask("GET", f"riders/{person}")["device"]
    newer = RiderPage(order_system, devices, person, scripts=(ANSWERED,), permissions=["geolocation"])
    expect(newer.switch).to_have_attribute("aria-checked", "true")
    newer.page.wait_for_function("() => window.answered?.has('presence')")
    assert order_system.ask("GET", f"riders/{person}")["device"] == device


def test_the_notice_about_another_device_stays_on_the_page(order_system, devices, site):
    person, zone = f"rider-{secrets.token_hex(3)}", f"zone-{secrets.token_hex(3)}"
    order_system.approve(person, zone)
    older = RiderPage(order_system, devices, person, clock=True)
    older.switch.click()
    expect(older.switch).to_have_attribute("aria-checked", "true")
    newer = RiderPage(order_system, devices, person)
    expect(newer.switch).to_have_attribute("aria-checked", "true")
    newer.switch.click()
    expect(newer.switch).to_have_attribute("aria-checked", "false")
    newer.switch.click()
    expect(older.page.locator("#offline")).to_contain_text("another device")
    older.page.clock.run_for(A_WHILE_MS)
    expect(older.page.locator("#offline")).to_contain_text("another device")
