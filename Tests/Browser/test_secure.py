"""Over TLS, as in production: pages come by https, their socket by wss, and nothing of it is asked in the clear.
One test, since the certificate is nobody's and a service worker would refuse it."""

import pytest
from playwright.sync_api import expect

from markers import RIDER
from order_system import HOME, OrderSystem
from trips import to_the_door


@pytest.mark.lean
def test_over_tls_a_page_follows_by_wss(make_site, open_devices, rider):
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
