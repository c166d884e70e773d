"""How the customer's page looks and is operated: sizes, keyboard, motion, themes, and the pages shown instead of an
order. The numbers are points 13 to 23 of the page design."""

import re

import pytest
from playwright.sync_api import Page, expect

from markers import HOME as DOOR, RIDER, Markers
from order_system import HOME
from trips import Spot, away
from wire import Wire, moved

TARGET_PX = 44
NARROW_PX = 320


def wait_until_inside(page: Page, *selectors: str) -> None:
    """Waits until elements lie entirely within the map: a headline that wraps moves the map after it was drawn."""
    page.wait_for_function("""(selectors) => {
      const [map, ...parts] = ['#map', ...selectors].map((each) => document.querySelector(each).getBoundingClientRect());
      return parts.every(({left, right, top, bottom}) => (
        left >= map.left && right <= map.right && top >= map.top && bottom <= map.bottom));
    }""", arg=selectors)


def place_on_map(page: Page, selector: str) -> tuple[float, float]:
    """The place of an element relative to the map, because a headline that wraps moves the whole map."""
    box, frame = page.locator(selector).bounding_box(), page.locator("#map").bounding_box()
    return round(box["x"] - frame["x"], 1), round(box["y"] - frame["y"], 1)


@pytest.mark.lean
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_point_13_and_23_the_page_meets_WCAG_in_both_themes(dark, coming, phone, axe):
    visit, _ = coming()
    page = phone(visit.guest_url, dark=dark)
    expect(page.locator("#eta")).to_be_visible()
    axe(page)
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, re.findall(r"\d+", ground)[:3])) < 200) == dark


@pytest.mark.parametrize("statuses", [["accepted"], ["accepted", "preparing", "ready_for_pickup", "allocation_failed"]])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_point_13_the_page_meets_WCAG_without_a_map(statuses, dark, order_system, phone, desktop, axe):
    delivery = order_system.delivery(*statuses)
    for open_page in (phone, desktop):
        page = open_page(delivery.guest_url, dark=dark)
        expect(page.locator("#steps [aria-current=step]")).to_be_visible()
        axe(page)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_point_13_the_page_of_a_cancelled_order_meets_WCAG(dark, order_system, phone, axe):
    delivery = order_system.delivery("accepted")
    page = phone(delivery.guest_url, dark=dark)
    expect(page.locator("#steps [aria-current=step]")).to_be_visible()
    delivery.status("cancelled")
    expect(page.locator("#headline")).to_have_text("Your order was cancelled")
    axe(page)


def test_point_13_refusals_and_the_sign_in_panel_meet_WCAG(site, phone, axe):
    for dark in (False, True):
        refused = phone(f"{site.url}/track/nothing#{'0' * 32}", dark=dark)
        expect(refused.locator("#refusal")).to_be_visible()
        axe(refused)
        asked = phone("/track/nothing", dark=dark)
        asked.locator("#signin-code").fill("nonsense")
        asked.locator("#signin button").click()
        expect(asked.locator("#signin-problem")).to_be_visible()
        axe(asked)


@pytest.mark.lean
def test_point_14_touch_targets_are_at_least_44_px(coming, small_phone):
    visit, _ = coming()
    page = small_phone(visit.guest_url)
    expect(page.locator(RIDER)).to_be_visible()
    page.locator(".leaflet-control-zoom-out").click()
    expect(page.locator("#follow")).to_be_visible()
    targets = page.locator("button:visible, a:visible, input:visible")
    assert targets.count() >= 4
    for box in [target.bounding_box() for target in targets.all()]:
        assert box["width"] >= TARGET_PX and box["height"] >= TARGET_PX, box


@pytest.mark.lean
def test_point_15_everything_works_by_keyboard_with_a_visible_focus(coming, desktop):
    visit, _ = coming()
    page = desktop(visit.guest_url)
    expect(page.locator(RIDER)).to_be_visible()
    stops = []
    for _ in range(8):
        page.keyboard.press("Tab")
        stops.append(page.evaluate("""() => {
          const {id, className} = document.activeElement;
          const style = getComputedStyle(document.activeElement);
          const name = document.activeElement === document.body ? '' : id || String(className);
          return [name, style.outlineStyle, parseFloat(style.outlineWidth)];
        }"""))
        if stops[-1][0] == "map":
            page.keyboard.press("ArrowLeft")
    names = [name for name, *_ in stops]
    assert names[0] == "language" and "map" in names and "follow" in names
    assert any("zoom-in" in name for name in names)
    # After the last one the focus leaves the page: there is no keyboard trap.
    assert "" in names or names.count("language") > 1
    for name, style, width in stops:
        assert not name or (style != "none" and width >= 2), f"{name} does not show that it has the focus"


def test_point_16_with_reduced_motion_the_marker_moves_in_steps(coming, phone):
    visit, technician = coming(Spot(*away(HOME, 1_500, 180), 10, 0))
    page = phone(visit.guest_url, reduced_motion=True)
    markers = Markers(page)
    markers.settle()
    before = len(markers.seen)
    technician.report(Spot(*away(HOME, 1_450, 180), 10, 90), is_answered=True)
    moved(page, before)
    markers.settle()
    assert len(markers.seen) == before + 1
    assert page.locator(RIDER).get_attribute("data-heading") == "90"
    running = page.evaluate("document.getAnimations().filter(each => each.playState === 'running').length")
    assert running == 0


@pytest.mark.lean
@pytest.mark.parametrize("locale", ["en-US", "de-DE"])
def test_point_17_at_320_px_nothing_is_cut_off(locale, coming, small_phone):
    visit, _ = coming()
    page = small_phone(visit.guest_url, locale=locale)
    expect(page.locator("#eta")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW_PX
    cut = page.evaluate("""() => [...document.querySelectorAll('#order :not(#tracking *)')]
      .filter((each) => each.checkVisibility() && each.getBoundingClientRect().right > innerWidth + 0.5).length""")
    assert cut == 0
    wait_until_inside(page, DOOR)


def fingers(page: Page, places: tuple[int, ...], start: tuple[float, float], end: tuple[float, float], steps: int = 8) -> None:
    """Puts fingers on the page, each that far to the right of `start`, and moves all of them."""
    session = page.context.new_cdp_session(page)

    def touch(kind: str, *points: tuple[float, float]) -> None:
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [
            {"x": x + apart, "y": y, "id": number} for x, y in points for number, apart in enumerate(places)]})

    touch("touchStart", start)
    for step in range(1, steps + 1):
        touch("touchMove", tuple(a + (b - a) * step / steps for a, b in zip(start, end)))
    touch("touchEnd")


def test_d21_the_source_of_the_map_does_not_cover_the_scale(coming, phone):
    visit, _ = coming(Spot(*away(HOME, 1_000, 200)))
    page = phone(visit.guest_url)
    expect(page.locator(RIDER)).to_be_visible()
    page.context.route("**/assets/streets.geojson", lambda route: route.fulfill(json={
        "type": "FeatureCollection", "features": [], "attribution": "© the people who mapped these streets"}))
    page.reload()
    source, scale = page.locator(".leaflet-control-attribution"), page.locator(".leaflet-control-scale")
    expect(source).to_have_text("© the people who mapped these streets")
    left, right = source.bounding_box(), scale.bounding_box()
    assert left["x"] + left["width"] <= right["x"]


@pytest.mark.lean
def test_d13_one_finger_on_the_map_scrolls_the_page_and_does_not_move_the_map(coming, phone):
    visit, _ = coming(Spot(*away(HOME, 1_000, 200)))
    page = phone(visit.guest_url)
    expect(page.locator(RIDER)).to_be_visible()
    frame = page.locator("#map").bounding_box()
    fingers(page, (0,), (frame["x"] + 150, frame["y"] + 300), (frame["x"] + 150, frame["y"] + 100))
    page.wait_for_function("() => scrollY > 50")
    expect(page.locator("#follow")).to_be_hidden()


@pytest.mark.lean
def test_point_18_the_first_view_fits_both_markers_and_a_pan_stops_the_camera(coming, phone):
    visit, technician = coming(Spot(*away(HOME, 1_000, 200)))
    page = phone(visit.guest_url)
    expect(page.locator(RIDER)).to_be_visible()
    wait_until_inside(page, RIDER, DOOR)
    expect(page.locator("#follow")).to_be_hidden()
    frame = page.locator("#map").bounding_box()
    fingers(page, (-30, 30), (frame["x"] + 180, frame["y"] + 200), (frame["x"] + 100, frame["y"] + 120))
    expect(page.locator("#follow")).to_be_visible()
    markers = Markers(page)
    markers.settle()
    before = place_on_map(page, DOOR)
    technician.report(Spot(*away(HOME, 960, 200)), is_answered=True)
    moved(page, len(markers.seen))
    markers.settle()
    assert place_on_map(page, DOOR) == before
    page.locator("#follow").click()
    expect(page.locator("#follow")).to_be_hidden()
    wait_until_inside(page, RIDER)


@pytest.mark.lean
def test_point_19_the_steps_are_an_ordered_list_with_icons_and_labels(order_system, phone):
    page = phone(order_system.delivery("accepted", "preparing").guest_url)
    expect(page.locator("ol#steps > li[aria-current=step]")).to_have_count(1)
    for step in page.locator("#steps li").all():
        expect(step.locator("svg")).to_be_visible()
        expect(step.locator(".name")).not_to_be_empty()
    for step in page.locator("#steps li:not([data-state=upcoming])").all():
        expect(step.locator(".state")).not_to_be_empty()


@pytest.mark.lean
def test_point_20_when_the_map_disappears_the_focus_stays_on_the_page(coming, desktop):
    visit, technician = coming()
    page = desktop(visit.guest_url)
    expect(page.locator(RIDER)).to_be_visible()
    page.locator("#map").focus()
    technician.stop_travel()
    expect(page.locator("#tracking")).to_be_hidden()
    expect(page.locator("#headline")).to_be_focused()


@pytest.mark.lean
def test_point_21_an_invalid_link_has_its_own_page(site, phone):
    page = phone(f"{site.url}/track/visit-1#{'0' * 32}")
    expect(page.locator("#refusal h1")).to_have_text("This tracking link has expired or is incomplete.")
    expect(page.locator("#order")).to_be_hidden()


@pytest.mark.lean
def test_point_21_someone_elses_job_looks_like_a_missing_one(order_system, phone):
    visit = order_system.visit("on_the_way")
    seen = []
    for name in (visit.name, "never-was"):
        page = phone(order_system.sign_in_url(f"/track/{name}", "customer", "somebody-else"))
        expect(page.locator("#refusal h1")).to_have_text("We can’t find this order or visit.")
        expect(page.locator("#announcer")).to_have_text("We can’t find this order or visit.")
        seen.append(page.locator("body").inner_text())
    assert seen[0] == seen[1]


@pytest.mark.lean
def test_point_21_a_refusal_stays_when_the_socket_opens(order_system, phone):
    page = phone()
    wire = Wire(page)
    wire.hold_back("welcome")
    wire.hold_back("error")
    page.goto(order_system.sign_in_url("/track/never-was", "customer", "somebody"))
    expect(page.locator("#refusal h1")).to_have_text("We can’t find this order or visit.")
    wire.comes("welcome")
    wire.let_through("welcome")
    wire.comes("error")
    expect(page.locator("#refusal")).to_be_visible()
    expect(page.locator("#order")).to_be_hidden()
    wire.let_through("error")
    expect(page.locator("#refusal")).to_be_visible()
    expect(page.locator("#order")).to_be_hidden()


@pytest.mark.parametrize(
    ("status", "sentence"), [(429, "Too many requests."), (503, "We can’t show this right now.")])
def test_point_21_rate_limits_and_outages_have_their_own_pages(status, sentence, coming, phone):
    visit, _ = coming()
    page = phone()
    page.add_init_script("window.WebSocket = class { constructor() { throw new Error('no sockets here'); } }")
    page.route(f"**/track/{visit.name}", lambda route: route.fulfill(status=status, body="")
               if route.request.resource_type == "fetch" else route.continue_())
    page.goto(visit.guest_url)
    expect(page.locator("#refusal h1")).to_have_text(sentence)


@pytest.mark.lean
def test_point_22_the_page_sends_no_referrer_and_stores_nothing(coming, phone):
    visit, _ = coming()
    page = phone(visit.guest_url)
    assert re.search(r"#[0-9a-f]{32,}$", page.url)
    assert page.locator("meta[name=referrer]").get_attribute("content") == "no-referrer"
    assert page.locator("meta[name=robots]").get_attribute("content") == "noindex"
    assert page.evaluate("[localStorage.length, sessionStorage.length, document.cookie]") == [0, 0, ""]


def test_point_23_every_shape_is_visible_with_forced_colours(coming, phone):
    visit, _ = coming()
    page = phone(visit.guest_url, forced_colors=True)
    expect(page.locator(RIDER)).to_be_visible()
    fills = page.evaluate("""() => ['.rider .pointer', '.home .glyph', '#steps [data-state=complete] .fill']
      .map((each) => getComputedStyle(document.querySelector(each)).fill)""")
    assert all(fill in ("rgb(0, 0, 0)", "rgb(255, 255, 255)") for fill in fills), fills


@pytest.mark.lean
def test_the_map_that_the_keyboard_reaches_has_a_role_and_a_name(coming, desktop):
    visit, _ = coming()
    page = desktop(visit.guest_url)
    expect(page.get_by_role("region", name="Map")).to_have_attribute("id", "map")
    expect(page.locator("#map")).to_have_attribute("tabindex", "0")


@pytest.mark.lean
def test_with_forced_colours_the_edges_of_buttons_are_in_line_with_the_text(order_system, phone):
    delivery = order_system.delivery()
    page = phone(order_system.sign_in_url(f"/track/{delivery.name}", "customer", delivery.customer), forced_colors=True)
    expect(page.locator("#note-open")).to_be_visible()
    heading = page.locator("#progress h2").bounding_box()["x"]
    for button in ("#note-open", "#cancel-open"):
        assert page.locator(button).bounding_box()["x"] >= heading - 1
