"""The customer's page and points 1 to 12 of the page design; the number is in each test name. The measurements of points 2
and 3 are in test_measures.py, broken connections (8) in test_connections.py, points 13 to 23 in test_customer_looks.py
(22 also in test_privacy.py) and 24 in test_weight.py."""

import re

import pytest
from playwright.sync_api import Page, expect

from markers import RIDER, Markers
from order_system import HOME
from trips import Spot, away, to_the_door
from wire import Wire, moved

TRIP = to_the_door(HOME, meters_away=3_000)
NO_SOCKET = "window.WebSocket = class { constructor() { throw new Error('no sockets here'); } }"
FRESH_MS, STALE_MS, RECKONED_MS = 29_000, 31_500, 5_500


def wired(open_page, job, **options) -> tuple[Page, Wire]:
    page = open_page(**options)
    wire = Wire(page)
    page.goto(job.guest_url)
    expect(page.locator(RIDER)).to_be_visible()
    return page, wire


def heading(page: Page) -> int:
    return int(page.locator(RIDER).get_attribute("data-heading"))


@pytest.mark.lean
@pytest.mark.parametrize("by", ["a link", "signing in"])
def test_point_01_the_first_state_is_shown_before_a_socket_opens(coming, phone, by):
    visit, _ = coming()
    page = phone()
    page.add_init_script(NO_SOCKET)
    own = visit.orders.sign_in_url(f"/track/{visit.name}", "customer", visit.customer)
    page.goto(visit.guest_url if by == "a link" else own)
    expect(page.locator("#headline")).to_have_text("Your technician is on the way")
    expect(page.locator("#steps [aria-current=step]")).to_contain_text("On the way")
    if by == "a link":
        # With a link only sessions see the location, because they count as viewers.
        expect(page.locator("#detail")).to_have_text("Follow your technician on the map while they share their location.")
    else:
        expect(page.locator(RIDER)).to_be_visible()


def test_point_03_the_marker_moves_in_every_frame_between_positions(coming, phone):
    visit, technician = coming()
    page = phone(visit.guest_url)
    expect(page.locator(RIDER)).to_be_visible()
    technician.drive(TRIP, from_second=5)
    frames = page.evaluate("""async () => {
      const place = () => ({...document.querySelector('#map .rider')._leaflet_pos});
      const frame = () => new Promise(requestAnimationFrame);
      let [before, moved, all] = [place(), 0, 0];
      while (moved === 0) { await frame(); if (place().x !== before.x || place().y !== before.y) moved = 1; }
      for ([before, moved] = [place(), 0]; all < 90; all += 1) {
        await frame();
        if (place().x !== before.x || place().y !== before.y) moved += 1;
        before = place();
      }
      return moved / all;
    }""")
    technician.halt()
    assert frames > 0.95


def test_point_04_the_marker_continues_for_five_seconds_and_then_stops(coming, phone):
    visit, _ = coming(Spot(*away(HOME, 2_000, 180), 10, 0))
    page = phone(clock=True)
    page.goto(visit.guest_url)
    markers = Markers(page)
    begun = markers.seen[0]
    page.clock.run_for(2_000)
    under_way = markers.seen[-1]
    page.clock.run_for(RECKONED_MS)
    end = markers.seen[-1]
    assert begun.distance(under_way) > 0.5
    assert begun.distance(end) > begun.distance(under_way)
    page.clock.run_for(FRESH_MS)
    assert markers.seen[-1].distance(end) < 0.5


@pytest.mark.lean
def test_point_05_an_implausible_position_is_not_drawn(coming, phone):
    start = away(HOME, 1_000, 180)
    visit, technician = coming(Spot(*start, 0, 0))
    page, wire = wired(phone, visit)
    markers = Markers(page)
    at_first = markers.settle()
    wire.position(visit.name, away(start, 800, 0), accuracy=5)
    technician.report(Spot(*away(start, 20, 0), 0, 0), is_answered=True)
    moved(page, len(markers.seen))
    end = markers.settle()
    assert at_first.distance(end) > 1
    assert max(at_first.distance(seen) for seen in markers.seen) <= at_first.distance(end) + 1


@pytest.mark.lean
def test_point_06_the_icon_points_along_the_course_and_stays_at_a_standstill(coming, phone):
    start = away(HOME, 2_000, 180)
    visit, technician = coming(Spot(*start, 9, 47))
    page = phone(visit.guest_url)
    expect(page.locator(RIDER)).to_have_attribute("data-heading", "47")
    technician.report(Spot(*away(start, 9, 120), 9, 120), is_answered=True)
    expect(page.locator(RIDER)).to_have_attribute("data-heading", "120")
    turned = page.locator(f"{RIDER} .pointer").evaluate("pointer => pointer.style.transform")
    assert turned == "rotate(120deg)"
    count = len(Markers(page).seen)
    technician.report(Spot(*away(start, 14, 120), 0.3, 300), is_answered=True)
    moved(page, count + 1)
    Markers(page).settle()
    assert abs(heading(page) - 120) <= 10


def test_point_07_a_position_is_stale_once_the_gateway_says_so(coming, phone):
    visit, _ = coming()
    page, wire = wired(phone, visit, clock=True)
    expect(page.locator("#age")).to_have_text("Live")
    # The gateway answers pings meanwhile.
    for _ in range(STALE_MS // 5_000 + 2):
        page.clock.run_for(5_000)
    expect(page.locator("#age")).to_have_text("Live")
    expect(page.locator(f"{RIDER}.stale")).to_have_count(0)
    wire.say("tracking", job=visit.name, state="stale", text="stale")
    expect(page.locator("#age")).to_have_text(re.compile(r"^Last updated \d+ seconds ago$"))
    expect(page.locator(f"{RIDER}.stale")).to_be_visible()


def test_point_08_after_an_outage_nothing_is_repeated_or_goes_back(coming, phone):
    visit, technician = coming(Spot(*away(HOME, 2_000, 180), 0, 0))
    page = phone(visit.guest_url)
    markers = Markers(page)
    page.context.set_offline(True)
    expect(page.locator("#offline")).to_be_visible()
    technician.report(Spot(*away(HOME, 1_970, 180), 0, 0), is_answered=True)
    page.context.set_offline(False)
    expect(page.locator("#offline")).to_be_hidden()
    technician.report(Spot(*away(HOME, 1_940, 180), 0, 0), is_answered=True)
    moved(page, 3)
    markers.settle()
    away_px = [seen.distance() for seen in markers.seen]
    assert all(later <= before + 1 for before, later in zip(away_px, away_px[1:]))
    expect(page.locator(RIDER)).to_have_count(1)


def test_point_08_offline_the_page_opens_with_the_last_state_and_no_location(coming, phone):
    visit, _ = coming()
    page = phone(visit.guest_url, service_workers="allow")
    expect(page.locator(RIDER)).to_be_visible()
    page.wait_for_function("() => navigator.serviceWorker.controller !== null")
    # The cache is filled from the second visit on, when the service worker is in control.
    page.reload()
    expect(page.locator(RIDER)).to_be_visible()
    page.context.set_offline(True)
    page.route("**/api/v1/texts*", lambda route: route.abort())
    page.reload()
    expect(page.locator("#headline")).to_have_text("Your technician is on the way")
    expect(page.locator("#offline")).to_have_text(re.compile(r"Last update \d+:\d\d"))
    expect(page.locator("#detail")).to_have_text("The map comes back when you’re online.")
    expect(page.locator(RIDER)).to_have_count(0)
    page.context.set_offline(False)
    expect(page.locator(RIDER)).to_be_visible()


@pytest.mark.lean
def test_point_09_an_arrival_is_shown_as_now_in_minutes_or_as_a_time(coming, phone):
    visit, _ = coming()
    page, wire = wired(phone, visit)
    for minutes, text in [(12.2, r"Arriving in 12 min"), (0.5, "Arriving now"), (75, r"Arriving at \d+:\d\d.(AM|PM)")]:
        wire.arrival(visit.name, minutes)
        expect(page.locator("#eta")).to_have_text(re.compile(f"^{text}$"))
    wire.arrival(visit.name, state="recalculating")
    expect(page.locator("#eta")).to_have_text(re.compile("^ETA recalculating"))
    wire.arrival(visit.name, 30, stopsBefore=1)
    expect(page.locator("#eta")).to_have_text("Arriving in 30 min, after another stop")


@pytest.mark.lean
@pytest.mark.parametrize(("locale", "timezone", "description", "clock"), [
    ("en-US", "America/New_York", r"\d\.\d miles away", r"^\d+:\d\d.(AM|PM)$"),
    ("en-GB", "Europe/London", r"\d\.\d miles away", r"^\d{1,2}:\d\d$"),
    ("en-IE", "Europe/Dublin", r"\d\.\d kilometres away", r"^\d{1,2}:\d\d$"),
    ("de-DE", "Europe/Berlin", r"\d,\d Kilometer entfernt", r"^\d{1,2}:\d\d$"),
])
def test_point_10_clock_and_units_are_the_readers_own(locale, timezone, description, clock, coming, phone):
    visit, _ = coming()
    page, wire = wired(phone, visit, locale=locale, timezone=timezone)
    wire.arrival(visit.name, 20)
    expect(page.locator("#map-description")).to_have_text(re.compile(description))
    expect(page.locator("#arrival")).to_have_text(re.compile(clock))
    expect(page.locator("html")).to_have_attribute("lang", locale[:2])


@pytest.mark.lean
def test_point_10_switching_the_language_keeps_the_link(coming, phone):
    visit, _ = coming()
    page, wire = wired(phone, visit)
    page.locator("#language").click()
    expect(page.locator("html")).to_have_attribute("lang", "de")
    expect(page.locator("#headline")).to_have_text("Ihr Techniker ist unterwegs")
    expect(page.locator(RIDER)).to_be_visible()
    page.locator("#language").click()
    expect(page.locator("#headline")).to_have_text("Your technician is on the way")


@pytest.mark.lean
def test_point_11_the_map_is_described_in_a_sentence(coming, phone):
    visit, _ = coming(Spot(*away(HOME, 4_023, 180), 10, 0))
    page, wire = wired(phone, visit)
    wire.arrival(visit.name, 12)
    expect(page.locator("#map-description")).to_have_text(
        "Your technician is 2.5 miles away and should arrive in 12 minutes.")


def test_point_12_states_are_announced_immediately_and_arrivals_every_30_s(coming, phone):
    visit, technician = coming()
    page = phone(clock=True)
    page.add_init_script("""addEventListener('DOMContentLoaded', () => {
      window.spoken = [document.getElementById('announcer').textContent];
      new MutationObserver(() => spoken.push(document.getElementById('announcer').textContent))
        .observe(document.getElementById('announcer'), {childList: true, characterData: true, subtree: true});
    })""")
    wire = Wire(page)
    page.goto(visit.guest_url)
    expect(page.locator(RIDER)).to_be_visible()
    expect(page.locator("[role=status], [aria-live], [role=alert]:visible")).to_have_count(1)
    assert page.evaluate("spoken[0]") == ""
    page.clock.run_for(40_000)
    technician.report(TRIP.at(2), is_answered=True)
    expect(page.locator("#age")).to_have_text("Live")
    wire.arrival(visit.name, 20)
    expect(page.locator("#announcer")).to_have_text(re.compile(r"Arriving in \d+ min\.$"))
    said = page.evaluate("spoken.length")
    before = page.locator("#announcer").text_content()
    wire.arrival(visit.name, 21)
    wire.arrival(visit.name, 30)
    visit.status("work_in_progress")
    expect(page.locator("#announcer")).to_contain_text("Your technician has arrived and is working.")
    page.clock.run_for(31_000)
    spoken = page.evaluate("spoken")[said:]
    assert len([text for text in spoken if "has arrived" in text]) == 1, spoken
    # A waiting arrival time is out of date by now.
    assert [text for text in spoken if "Arriving" in text.removeprefix(before)] == [], spoken
