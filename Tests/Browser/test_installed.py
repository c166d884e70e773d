"""Installed pages: what a phone needs to install them, and what it shows offline. Behind a relay, because a browser that is
set offline leaves its service worker online."""

import struct
from urllib.parse import urljoin

import pytest
from playwright.sync_api import Page, expect

from assets import fetch
from markers import RIDER
from order_system import HOME, OrderSystem
from trips import to_the_door

PNG = b"\x89PNG\r\n\x1a\n"
ICONS = {"192x192", "512x512"}
PAGES = {"customer": "/track/nothing", "rider": "/rider", "ops": "/ops"}


@pytest.mark.parametrize("name", PAGES)
def test_a_page_can_be_installed(name, devices, site):
    page = devices.phone(PAGES[name])
    address = page.locator("link[rel=manifest]").evaluate("(link) => link.href")
    status, headers, _ = fetch(address)
    assert status == 200 and headers["content-type"].startswith("application/manifest+json")
    manifest = page.evaluate("(address) => fetch(address).then((answer) => answer.json())", address)
    assert manifest["name"] and manifest["display"] == "standalone"
    # A customer's page has no fixed start, because the job's id is in its URL and never in a manifest.
    assert manifest.get("start_url") == (None if name == "customer" else name)
    assert ICONS <= {icon["sizes"] for icon in manifest["icons"]}
    assert any("maskable" in icon.get("purpose", "") for icon in manifest["icons"])
    for icon in manifest["icons"]:
        _, _, body = fetch(urljoin(address, icon["src"]))
        assert body.startswith(PNG)
        width, height = struct.unpack("!II", body[16:24])
        assert icon["sizes"] == f"{width}x{height}"


def test_offline_the_page_opens_with_the_last_status_and_no_location(make_site, open_devices, rider):
    site = make_site(has_relay=True)
    visit = OrderSystem(site).visit("on_the_way")
    rider(visit).travel().report(to_the_door(HOME).at(0), is_answered=True)
    page = open_devices(site).phone(visit.guest_url, service_workers="allow")
    expect(page.locator(RIDER)).to_be_visible()
    headline = page.locator("#headline").text_content()
    under_its_worker(page)
    site.relay.refuse()
    page.reload()
    expect(page.locator("#headline")).to_have_text(headline)
    expect(page.locator("#offline")).to_be_visible()
    expect(page.locator(RIDER)).to_be_hidden()
    site.relay.come_back()
    expect(page.locator("#offline")).to_be_hidden()
    visit.status("work_in_progress")
    expect(page.locator("#headline")).not_to_have_text(headline)


def under_its_worker(page: Page) -> None:
    """Waits until the service worker controls the page, and reloads it."""
    page.wait_for_function("() => navigator.serviceWorker.controller !== null")
    page.reload()
    expect(page.locator(RIDER)).to_be_visible()
