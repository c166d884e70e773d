"""The test setup itself: a job, a rider on a socket, and a customer's page that shows them. If this fails, everything
fails."""

import pytest
from playwright.sync_api import expect

from order_system import HOME
from trips import to_the_door


@pytest.mark.lean
def test_a_travelling_rider_is_on_the_customers_map(order_system, rider, phone):
    visit = order_system.visit("on_the_way")
    page = phone(visit.guest_url)
    expect(page.locator("#headline")).not_to_be_empty()
    expect(page.locator("#tracking")).to_be_hidden()
    rider(visit).travel().report(to_the_door(HOME).at(0), is_answered=True)
    expect(page.locator("#tracking")).to_be_visible()
    expect(page.locator("#map .rider")).to_be_visible()
