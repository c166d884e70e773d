"""Point 24: how much a phone on a slow network loads before a page shows anything, measured as compressed bodies, which
every browser accepts."""

from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from assets import NOT_OURS, TAKES, fetch, own_assets

# A customer waits for the page before there is anything to see; test_cold_load.py bounds how long. Riders and dispatchers open
# theirs once a shift.
LIMIT_BYTES = {"customer": 66_000, "rider": 75_000, "ops": 70_000}
COMPRESSED = (".js", ".css")
PAGES = {"customer": "/track/nothing", "rider": "/rider", "ops": "/ops"}
HAVE_A_WORKER = ("customer", "rider")


@pytest.mark.lean
@pytest.mark.parametrize("name", PAGES)
def test_point_24_a_page_loads_a_bounded_number_of_bytes_of_its_own_files(name, make_site, measured):
    """Measures the embedded files, because a folder's files are sent uncompressed."""
    site = make_site(PAGES_DIR=None)
    assets = own_assets(site.url, PAGES[name])
    assert [asset.path for asset in assets if asset.path.endswith(COMPRESSED) and asset.encoding != "gzip"] == []
    sizes = {asset.path: asset.sent for asset in assets}
    measured.note(f"weight of the {name} page", files=len(sizes), bytes_sent=sum(sizes.values()))
    heaviest = sorted(sizes.items(), key=lambda each: -each[1])
    assert sum(sizes.values()) <= LIMIT_BYTES[name], f"{sum(sizes.values())} bytes: {heaviest}"


def test_d12_the_map_library_is_sent_minified_and_compressed(site, measured):
    status, headers, body = fetch(f"{site.url}/assets/leaflet/leaflet.js", **TAKES)
    measured.note("weight of the map library", bytes_sent=len(body))
    assert status == 200 and headers["content-encoding"] == "gzip" and len(body) < 45_000


@pytest.mark.lean
@pytest.mark.parametrize("role", PAGES)
def test_point_24_a_page_in_use_loads_nothing_from_elsewhere(role, order_system, devices):
    """Signed in with a job, and again with the service worker where there is one."""
    visit = order_system.visit("on_the_way")
    path = {"customer": f"/track/{visit.name}", "rider": f"/rider?job={visit.name}", "ops": "/ops"}[role]
    person = {"customer": visit.customer, "rider": visit.rider, "ops": "ops-1"}[role]
    shown = {"customer": "#order", "rider": "#work", "ops": "#dashboard"}[role]
    page = devices.phone(order_system.sign_in_url(path, role, person), service_workers="allow")
    expect(page.locator(shown)).to_be_visible()
    if role in HAVE_A_WORKER:
        page.evaluate("async () => { window.worker = (await navigator.serviceWorker.ready).active; }")
        page.wait_for_function("() => worker.state === 'activated'")
    page.reload()
    expect(page.locator(shown)).to_be_visible()
    assert devices.evidence.requests
    assert devices.evidence.to_others == []
    # Every loaded file was weighed.
    scripts = {path for url in devices.evidence.requests if (path := urlsplit(url).path).endswith(COMPRESSED)}
    weighed = {asset.path for asset in own_assets(order_system.site.url, PAGES[role])}
    assert {path for path in scripts - weighed if not NOT_OURS.search(path)} == set()
