"""What a page says once and for all is still there after the connection has come and gone, and after a while."""

import secrets

import pytest
from playwright.sync_api import expect

from rider_page import RiderPage

A_WHILE_MS = 10_000         # of the page's own time
NOTHING = "We can’t find this order."


def flicker(page) -> None:
    """The system says that there is no network and then that there is one: the connection is told to be another."""
    page.context.set_offline(True)
    expect(page.locator("#offline")).to_be_visible()
    page.context.set_offline(False)
    expect(page.locator("#offline")).to_be_hidden()


@pytest.mark.lean
def test_who_may_not_follow_is_told_so_after_the_connection_has_come_back(order_system, phone):
    visit = order_system.visit("on_the_way")
    page = phone(order_system.sign_in_url(f"/track/{visit.name}", "customer", "somebody-else"))
    expect(page.locator("#refusal h1")).to_have_text(NOTHING)
    flicker(page)
    expect(page.locator("#refusal h1")).to_have_text(NOTHING)
    expect(page.locator("#order")).to_be_hidden()


def test_a_rider_who_signed_in_elsewhere_is_told_so_for_as_long_as_the_page_is_there(order_system, devices, site):
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
