"""The pages below a path prefix: a proxy serves the gateway as https://example.com/track/ and removes the prefix. The rest of
the host belongs to somebody else, so no page may request anything there."""

import re

import pytest
from playwright.sync_api import expect

from markers import RIDER
from order_system import HOME, OrderSystem
from trips import to_the_door

# Confusing on purpose: the customer's page is /track/track/visit-1.
PREFIX = "/track"
LOADED = "() => [...document.querySelectorAll('link[rel=stylesheet]')].every(({sheet}) => sheet)"

pytestmark = pytest.mark.lean


@pytest.fixture
def orders(make_site):
    """The order system of a site below the prefix. No request may have left it at the end of the test."""
    site = make_site(prefix=PREFIX)
    yield OrderSystem(site)
    assert site.relay.strays == []


@pytest.fixture
def visit(orders, rider):
    """A visit whose technician was seen."""
    job = orders.visit("on_the_way", zone="rome")
    rider(job).travel().report(to_the_door(HOME).at(0), is_answered=True)
    return job


def test_a_customer_follows_the_technician_by_a_link(visit, open_devices):
    site = visit.orders.site
    devices = open_devices(site)
    page = devices.phone(visit.guest_url)
    expect(page.locator(RIDER)).to_be_visible()
    page.wait_for_function(LOADED)
    visit.status("work_in_progress")
    expect(page.locator("#headline")).to_have_text("The technician has arrived.")
    assert devices.evidence.sockets == [f"{site.url.replace('http', 'ws', 1)}/v1"]
    assert [url for url in devices.evidence.requests if not url.startswith(f"{site.url}/")] == []


def test_a_customer_signs_in_and_writes_a_note(orders, open_devices):
    delivery = orders.delivery("accepted")
    page = open_devices(orders.site).phone(orders.sign_in_url(f"/track/{delivery.name}", "customer", delivery.customer))
    expect(page.locator("#headline")).to_have_text("Your order has been accepted")
    page.locator("#note-open").click()
    page.locator("#note-text").fill("Second floor")
    page.locator("#note-save").click()
    expect(page.locator("#own-note")).to_have_text("Second floor")


def test_a_rider_and_a_dispatcher_sign_in_and_the_dispatcher_copies_a_link(visit, open_devices):
    orders, site = visit.orders, visit.orders.site
    devices = open_devices(site)
    page = devices.phone(orders.sign_in_url(f"/rider?job={visit.name}", "rider", visit.rider))
    expect(page.locator("#work")).to_be_visible()
    page = devices.desktop(
        orders.sign_in_url(f"/ops?zone=rome&job={visit.name}", "ops", "olga"),
        permissions=["clipboard-read", "clipboard-write"])
    page.locator("#job [data-action=link]").click()
    expect(page.locator("#job .result")).to_contain_text("Tracking link")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith(f"{site.url}/track/{visit.name}#")
    expect(page.locator("#job [data-place=follow]")).to_have_attribute("href", f"{site.url}/track/{visit.name}")
    # The tabs and the address bar keep the prefix.
    page.locator("[data-tab=system]").click()
    expect(page).to_have_url(re.compile(rf"^{re.escape(site.url)}/ops\?.*tab=system"))
    page.reload()
    expect(page.locator("#dashboard")).to_be_visible()
    devices.phone(copied)
    expect(devices.evidence.pages[-1].locator(RIDER)).to_be_visible()


def test_the_worker_serves_the_pages_below_the_prefix_alone_and_opens_them_offline(visit, open_devices):
    site = visit.orders.site
    page = open_devices(site).phone(visit.guest_url, service_workers="allow")
    expect(page.locator(RIDER)).to_be_visible()
    page.wait_for_function("() => navigator.serviceWorker.controller !== null")
    assert page.evaluate("() => navigator.serviceWorker.ready.then(({scope}) => scope)") == f"{site.url}/"
    page.reload()
    expect(page.locator(RIDER)).to_be_visible()
    headline = page.locator("#headline").text_content()
    site.relay.refuse()
    page.reload()
    expect(page.locator("#headline")).to_have_text(headline)
    expect(page.locator("#offline")).to_be_visible()
    site.relay.come_back()
    expect(page.locator("#offline")).to_be_hidden()


@pytest.mark.parametrize("path", ["/docs", "/docs/", "/rider/", "/ops/"])
def test_a_page_with_or_without_a_slash_at_its_end_loads_its_files(path, orders, open_devices):
    page = open_devices(orders.site).desktop(orders.site.url + path)
    expect(page.locator("#search" if "docs" in path else "#signin")).to_be_visible()
    page.wait_for_function(LOADED)
