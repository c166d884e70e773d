"""With TLS, as in production: pages use https, their socket wss, and nothing is requested in plain text. A single test,
because a service worker would reject the self-signed certificate."""

import pytest
from playwright.sync_api import expect

from markers import RIDER
from order_system import HOME, OrderSystem
from trips import to_the_door


@pytest.mark.lean
def test_over_TLS_a_page_follows_with_wss(make_site, open_devices, rider):
    site = make_site(is_secure=True)
    devices = open_devices(site)
    visit = OrderSystem(site).visit("on_the_way")
    rider(visit).travel().report(to_the_door(HOME).at(0), is_answered=True)
    page = devices.phone()
    with page.expect_websocket():
        page.goto(visit.guest_url)
    expect(page.locator(RIDER)).to_be_visible()
    assert page.evaluate("isSecureContext")
    asked = devices.evidence.requests + devices.evidence.sockets
    assert devices.evidence.sockets and all(url.startswith(("https:", "wss:", "data:", "blob:")) for url in asked)
