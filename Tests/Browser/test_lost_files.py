"""D5: on a mobile network files get lost. Whichever file it is, the page loads: after one automatic reload, or with a
message and a retry button."""

from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from assets import fetch

RESCUE = "/assets/page-rescue.js"
SCRIPT = "/assets/track.js"
PARTS = [SCRIPT, "/assets/page.css", "/assets/track.css", "/assets/leaflet/leaflet.js", "/assets/leaflet/leaflet.css"]


def lose(page, path: str, times: int = 1) -> list[str]:
    """Leaves a page's first requests for a file unanswered. Returns their URLs in the order of the requests."""
    lost = []

    def route(route):
        if len(lost) < times:
            lost.append(route.request.url)
            return route.abort()
        return route.continue_()

    page.route(lambda url: urlsplit(url).path == path, route)
    return lost


@pytest.fixture
def open_losing(devices, order_system):
    """open_losing(path, times): the page of a visit that loses a file a number of times, and the addresses of what was lost."""

    def open_page(path: str, times: int = 1, **options):
        visit = order_system.visit("on_the_way")
        page = devices.open(None, width=390, height=844, is_phone=True, **options)
        lost = lose(page, path, times)
        page.goto(order_system.sign_in_url(f"/track/{visit.name}", "customer", visit.customer))
        return page, lost

    return open_page


@pytest.mark.lean
@pytest.mark.parametrize("path", PARTS + [RESCUE])
def test_D5_the_page_loads_whichever_file_is_lost(path, open_losing):
    page, lost = open_losing(path)
    expect(page.locator("#headline")).to_have_text("Your technician is on the way")
    page.wait_for_function("() => 'ready' in document.documentElement.dataset")
    expect(page.locator("#rescue")).to_have_count(0)
    assert len(lost) == 1
    if path != RESCUE:
        page.wait_for_function("""() => 'L' in window
          && [...document.querySelectorAll('link[rel=stylesheet]')].every(({sheet}) => sheet)""")


@pytest.mark.lean
@pytest.mark.parametrize("locale, text, again", [
    ("en-US", "Something didn’t load.", "Try again"), ("de-DE", "Etwas wurde nicht geladen.", "Noch einmal versuchen")])
def test_D5_a_script_lost_twice_shows_a_message_with_a_retry_button(open_losing, locale, text, again, axe):
    page, lost = open_losing(SCRIPT, 2, locale=locale)
    expect(page.get_by_role("alert")).to_contain_text(text)
    assert len(lost) == 2
    axe(page)
    page.get_by_role("button", name=again).click()
    page.wait_for_function("() => 'ready' in document.documentElement.dataset")
    expect(page.locator("#rescue")).to_have_count(0)


@pytest.mark.lean
def test_D5_a_missing_script_shows_a_message_after_6_s_and_reloads_after_20_s(order_system, devices):
    visit = order_system.visit("on_the_way")
    page = devices.open(None, width=390, height=844, is_phone=True, clock=True)
    held = []
    page.route(lambda url: urlsplit(url).path == SCRIPT,
               lambda route: route.continue_() if held else held.append(route))
    with page.expect_response(lambda answer: urlsplit(answer.url).path == RESCUE):
        page.goto(order_system.sign_in_url(f"/track/{visit.name}", "customer", visit.customer), wait_until="commit")
    page.wait_for_function("() => document.querySelector('main')")
    page.clock.run_for(6_000)
    expect(page.get_by_role("alert")).to_contain_text("This is taking longer than usual")
    with page.expect_request(lambda request: urlsplit(request.url).path == SCRIPT):
        page.clock.run_for(14_000)
    expect(page.locator("#headline")).to_have_text("Your technician is on the way")
    expect(page.locator("#rescue")).to_have_count(0)


@pytest.mark.lean
@pytest.mark.parametrize("path", ["/assets/track-start.js", "/assets/leaflet/leaflet.js"])
def test_D5_a_page_that_was_opened_by_a_link_loads_whichever_file_is_lost(path, coming, devices):
    job, _ = coming()
    page = devices.open(None, width=390, height=844, is_phone=True)
    lost = lose(page, path)
    page.goto(job.guest_url)
    expect(page.locator("#map .rider")).to_be_visible()
    expect(page.locator("#rescue")).to_have_count(0)
    assert len(lost) == 1


@pytest.mark.lean
def test_D5_a_map_library_that_takes_long_is_loaded_once(coming, devices):
    """A second copy would replace the one that made the map, and the map would fail."""
    job, _ = coming()
    page = devices.open(None, width=390, height=844, is_phone=True, clock=True)
    held = []
    page.route(lambda url: urlsplit(url).path == "/assets/leaflet/leaflet.js", lambda route: held.append(route))
    page.goto(job.guest_url, wait_until="commit")
    expect(page.locator("#headline")).to_have_text("Your technician is on the way")
    page.wait_for_function("() => document.querySelector('script[data-makes=L]')")
    page.clock.run_for(15_000)
    assert page.locator("script[data-makes=L]").count() == 1 and len(held) == 1
    held[0].continue_()
    expect(page.locator("#map .rider")).to_be_visible()


@pytest.mark.lean
@pytest.mark.parametrize("late", ["/assets/track-start.js", "/assets/page-rescue.js"])
def test_D5_the_map_library_is_loaded_once_if_a_script_that_may_load_it_comes_late(late, coming, devices):
    job, _ = coming()
    page = devices.open(None, width=390, height=844, is_phone=True)
    library, held, asked = "/assets/leaflet/leaflet.js", {}, []

    def hold(route):
        path = urlsplit(route.request.url).path
        asked.append(path)
        held.setdefault(path, route)

    page.route(lambda url: urlsplit(url).path in (late, library), hold)
    page.goto(job.guest_url, wait_until="commit")
    page.wait_for_function("() => document.querySelector('script[data-makes=L]')")
    # The script requests its data while the library is still loading.
    with page.expect_response(lambda answer: urlsplit(answer.url).path == late):
        held[late].continue_()
    page.wait_for_function("(late) => late !== '/assets/track-start.js' || 'enrouteStarted' in window", arg=late)
    if late == "/assets/track-start.js":
        page.evaluate("async () => { await enrouteStarted.answer; await new Promise(requestAnimationFrame); }")
    page.wait_for_function("() => document.querySelector('script[data-makes=L]')")
    assert page.locator("script[data-makes=L]").count() == 1
    held[library].continue_()
    expect(page.locator("#map .rider")).to_be_visible()
    assert asked.count(library) == 1


@pytest.mark.lean
def test_D5_without_the_map_library_the_page_shows_everything_else(coming, order_system, devices):
    job, _ = coming()
    page = devices.open(None, width=390, height=844, is_phone=True)
    lost = lose(page, "/assets/leaflet/leaflet.js", 1_000)
    page.goto(order_system.sign_in_url(f"/track/{job.name}", "customer", job.customer))
    expect(page.locator("#map-description")).to_contain_text("away")
    expect(page.locator("#age")).to_have_text("Live")
    assert lost


@pytest.mark.lean
@pytest.mark.parametrize("name", ["track", "rider", "ops"])
def test_D5_a_page_loads_one_script_besides_the_rescue(name, make_site):
    site = make_site(PAGES_DIR=None)
    _, _, html = fetch(f"{site.url}/{'track/nothing' if name == 'track' else name}")
    assert html.count(b"/assets/page-rescue.js") == 1 and b"modulepreload" not in html
    status, _, script = fetch(f"{site.url}/assets/{name}.js")
    assert status == 200 and script
    assert not [line for line in script.decode().splitlines() if line.startswith(("import", "export"))]
