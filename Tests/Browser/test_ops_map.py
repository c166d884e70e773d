"""The map of the operations page: riders and destinations of a zone arrive over one WebSocket and are drawn on a canvas."""

import math
import random
import re
import secrets
import threading
import time

import pytest
from playwright.sync_api import expect

import bounds
from followers import following
from order_system import HOME
from pacing import Trace
from test_customer_route import ZONE, routed  # noqa: F401
from test_ops import look, row, say, zone  # noqa: F401
from trips import Spot, away, to_the_door

MANY = 5_000
# Places that change a second.
MOVING = 1_000
FRAME_MS = 1_000 / 60


def legend(page, marker):
    return page.locator(f'#fleet [data-marker="{marker}"]')


def put_riders(site, zone, count, seed):
    """Puts riders online around HOME without phones, as their presence does: 5,000 sockets would measure the test."""
    rng, now = random.Random(seed), int(time.time() * 1000)
    places = [(HOME[0] + rng.uniform(-.05, .05), HOME[1] + rng.uniform(-.07, .07)) for _ in range(count)]
    say(site, [f"GEOADD riders:{{{zone}}}:geo {lon} {lat} r-{number}" for number, (lat, lon) in enumerate(places)]
        + [f"ZADD riders:{{{zone}}}:{key} {now + 80_000} r-{number}" for key in ("seen", "due") for number in range(count)])


@pytest.mark.lean
def test_riders_and_destinations_are_on_the_map_and_a_selection_is_linked_with_the_table(
    order_system, rider, look, zone, axe  # noqa: F811
):
    moving = order_system.visit("on_the_way", zone=zone)
    order_system.delivery("accepted", "preparing", "ready_for_pickup", zone=zone, rider=None)
    page = look(f"?zone={zone}")
    expect(legend(page, "job open")).to_contain_text("1")
    expect(legend(page, "job problem")).to_contain_text("1")
    expect(legend(page, "rider live")).to_be_hidden()
    phone = rider(moving).travel()
    phone.report(to_the_door(HOME).at(0), is_answered=True)
    expect(legend(page, "rider live")).to_contain_text("on the way 1")
    # From the table to the map, and from the map to the table: a click in the middle of the map hits what is selected.
    row(page, moving).locator("a").click()
    expect(page.locator("#job h2")).to_have_text(moving.name)
    page.keyboard.press("Escape")
    expect(page.locator("#job")).to_be_hidden()
    axe(page)
    phone.stop_travel()
    expect(legend(page, "rider live")).to_be_hidden()
    # The page's text contains no coordinates.
    assert [degrees for degrees in HOME if str(degrees)[:6] in page.content()] == []


def test_a_click_on_a_marker_opens_its_job_and_selects_its_row(order_system, look, zone):  # noqa: F811
    job = order_system.delivery("accepted", zone=zone, rider=None)
    page = look(f"?zone={zone}")
    expect(legend(page, "job open")).to_contain_text("1")
    # The only marker is in the middle of the map.
    page.locator("#fleet .map").click()
    expect(page.locator("#job h2")).to_have_text(job.name)
    expect(row(page, job)).to_have_attribute("aria-current", "true")
    expect(page.locator("#job button").first).to_be_focused()


def test_the_zone_fills_the_map_also_if_its_jobs_arrive_after_its_riders(
    site, order_system, desktop, zone  # noqa: F811
):
    ends = [order_system.delivery("accepted", zone=zone, rider=None, destination=away(HOME, 4_000, way)) for way in (0, 180)]
    now = int(time.time() * 1000)
    say(site, [f"GEOADD riders:{{{zone}}}:geo {HOME[1]} {HOME[0]} r-1"]
        + [f"ZADD riders:{{{zone}}}:{key} {now + 80_000} r-1" for key in ("seen", "due")])
    page = desktop()
    page.route("**/zones/*/jobs*", lambda route: route.fulfill(status=503, json={}))
    page.goto(order_system.sign_in_url(f"/ops?zone={zone}", "ops", "olga"))
    # The rider has a place and no record.
    expect(legend(page, "rider online")).to_contain_text("online 1")
    page.unroute("**/zones/*/jobs*")
    expect(legend(page, "job open")).to_contain_text("2")
    # The northern end is at the upper edge, the southern one at the lower edge.
    chart = page.locator("#fleet .map")
    box = chart.bounding_box()
    for job, y in zip(ends, (20, box["height"] - 20)):
        chart.click(position={"x": box["width"] / 2, "y": y})
        expect(page.locator("#job h2")).to_have_text(job.name)
        page.keyboard.press("Escape")
        page.get_by_role("button", name="Show all").click()


@pytest.mark.parametrize("width", [1280, 390])
def test_no_destination_is_under_the_zoom_buttons(order_system, look, zone, width):  # noqa: F811
    """Two jobs, of which one is as high in the map as the zoom buttons."""
    order_system.delivery("accepted", zone=f"{zone}-b", rider=None)
    page = look(f"?zone={zone}-b", width=width)
    expect(legend(page, "job open")).to_contain_text("1")
    box, high = page.locator("#fleet .map").bounding_box(), 60
    right, up = box["width"] / 2 - 80, box["height"] / 2 - high
    bearing = math.degrees(math.atan2(right, up))
    far, _ = (order_system.delivery("accepted", zone=zone, rider=None, destination=away(HOME, 4_000, way))
              for way in (bearing, bearing + 180))
    page = look(f"?zone={zone}", width=width)
    expect(legend(page, "job open")).to_contain_text("2")
    chart = page.locator("#fleet .map")
    # The zoom levels of the camera have steps of 7 %.
    for part in (1, .97, .94):
        chart.click(position={"x": box["width"] / 2 + right * part, "y": box["height"] / 2 - up * part})
        if page.locator("#job").is_visible():
            break
    expect(page.locator("#job h2")).to_have_text(far.name)


def test_another_zone_has_another_map(order_system, look, zone):  # noqa: F811
    order_system.delivery("accepted", zone=zone, rider=None)
    order_system.delivery("accepted", zone=f"{zone}-b", rider=None, destination=(48.1, 11.6))
    order_system.delivery("accepted", zone=f"{zone}-b", rider=None, destination=(48.2, 11.5))
    page = look(f"?zone={zone}")
    expect(legend(page, "job open")).to_contain_text("1")
    page.locator(f'#zones a[data-zone="{zone}-b"]').click()
    expect(legend(page, "job open")).to_contain_text("2")


def test_kinds_of_markers_can_be_hidden_by_keyboard(order_system, look, zone):  # noqa: F811
    order_system.delivery("accepted", zone=zone, rider=None)
    page = look(f"?zone={zone}")
    expect(legend(page, "job open")).to_contain_text("1")
    button = page.get_by_role("button", name="Destinations")
    button.focus()
    page.keyboard.press("Enter")
    expect(button).to_have_attribute("aria-pressed", "false")
    page.locator("#fleet .map").click()
    expect(page.locator("#job")).to_be_hidden()


@pytest.mark.lean
def test_the_way_of_a_selected_job_is_drawn_along_streets_until_the_selection_or_the_job_ends(routed, axe):  # noqa: F811
    devices, job, _ = routed
    # The gateway calculates arrival times and routes only for followed jobs.
    with following(job):
        check_way(devices, job, axe)


def check_way(devices, job, axe) -> None:
    page = devices.desktop(job.orders.sign_in_url(f"/ops?zone={ZONE}", "ops", "olga"))
    chart = page.locator("#fleet .map")
    expect(legend(page, "rider live")).to_contain_text("1")
    expect(chart).not_to_have_attribute("data-way", "route")
    row(page, job).locator("a").click()
    expect(chart).to_have_attribute("data-way", "route")
    # The rider's marker, the rider's place on the street, the corner and the door. The panel shows the distance.
    expect(chart).to_have_attribute("data-way-places", "4")
    expect(page.locator("#job .facts").first).to_contain_text("Distance left")
    axe(page)
    # The selection ends.
    page.keyboard.press("Escape")
    expect(chart).not_to_have_attribute("data-way", re.compile("."))
    row(page, job).locator("a").click()
    expect(chart).to_have_attribute("data-way", "route")
    # The job ends.
    job.status("delivered")
    expect(page.locator("#job")).to_contain_text("no longer")
    expect(chart).not_to_have_attribute("data-way", re.compile("."))


def test_a_rider_with_two_jobs_is_joined_with_the_selected_one(order_system, rider, look, zone):  # noqa: F811
    one = order_system.visit("on_the_way", zone=zone)
    other = order_system.visit("on_the_way", zone=zone, rider=one.rider, destination=away(HOME, 2_000, 90))
    for job in (one, other):
        rider(job).travel().report(to_the_door(HOME).at(0), is_answered=True)
    page = look(f"?zone={zone}")
    expect(legend(page, "rider live")).to_contain_text("1")
    for job in (one, other):
        row(page, job).locator("a").click()
        expect(page.locator("#job h2")).to_have_text(job.name)
        expect(page.locator("#fleet .map")).to_have_attribute("data-way", "line")


@pytest.mark.measures
def test_5000_markers_that_move_cost_less_than_a_frame_each_and_no_elements(
    browser, site, order_system, desktop, zone, measured  # noqa: F811
):
    for _ in range(5):
        order_system.delivery("accepted", zone=zone, rider=None)
    put_riders(site, zone, MANY, seed=1)
    page = desktop()
    page.goto(order_system.sign_in_url(f"/ops?zone={zone}", "ops", "olga"))
    canvas = page.locator("#fleet canvas.markers")
    expect(canvas).to_have_attribute("data-markers", str(MANY + 5), timeout=bounds.PAGE_MS * 4)
    halt = threading.Event()

    def move():
        turn = 2
        while not halt.wait(1):
            put_riders(site, zone, MOVING, seed=turn)
            turn += 1

    moving = threading.Thread(target=move, daemon=True)
    moving.start()
    try:
        with Trace(browser, page) as trace:
            before = canvas.get_attribute("data-work")
            # Meanwhile somebody looks around.
            box = page.locator("#fleet .map").bounding_box()
            for step in range(6):
                page.mouse.move(box["x"] + 300, box["y"] + 100)
                page.mouse.down()
                page.mouse.move(box["x"] + 300 + 40 * (-1) ** step, box["y"] + 130, steps=20)
                page.mouse.up()
                page.mouse.wheel(0, -240 if step % 2 else 240)
            expect(canvas).not_to_have_attribute("data-work", before or "")
    finally:
        halt.set()
        moving.join()
    work, longest = float(canvas.get_attribute("data-work")), float(canvas.get_attribute("data-longest"))
    elements = page.locator("#fleet *").count()
    measured.note("ops map: 5,000 markers, 1,000 moving", work_per_frame_ms=work, longest_frame_ms=longest,
                  longest_task_ms=max(trace.tasks.computing), elements=elements)
    assert elements < 150
    assert work < FRAME_MS, "a frame of 60 a second has no room for this"


@pytest.mark.lean
def test_riders_count_as_silent_while_only_the_socket_of_the_map_is_lost(order_system, rider, desktop, zone):  # noqa: F811
    visit = order_system.visit("on_the_way", zone=zone)
    driver = rider(visit).travel()
    driver.report(to_the_door(HOME).at(0), is_answered=True)
    sockets, is_lost = [], False

    def connect(socket):
        if is_lost:
            socket.close(code=1011)
        else:
            socket.connect_to_server()
            sockets.append(socket)

    page = desktop()
    page.route_web_socket(re.compile("/v1$"), connect)
    page.goto(order_system.sign_in_url(f"/ops?zone={zone}", "ops", "olga"))
    expect(legend(page, "rider live")).to_be_visible()
    is_lost = True
    sockets[-1].close(code=1011)
    expect(page.locator("#offline")).to_contain_text("The map isn’t up to date")
    expect(legend(page, "rider silent")).to_be_visible()
    expect(legend(page, "rider live")).to_be_hidden()
    is_lost = False
    expect(page.locator("#offline")).to_be_hidden()
    # On a slow machine the rider has been silent for so long that the position is stale.
    driver.report(to_the_door(HOME).at(0), is_answered=True)
    expect(legend(page, "rider live")).to_be_visible()
