"""The remaining route on the customer's page: drawn along streets, and the marker follows its bend."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import expect

from markers import RIDER, Markers
from order_system import HOME, OrderSystem
from riders import Rider
from trips import Spot, away, meters

# 400 m to the east along a street, then 300 m to the north, to the door.
CORNER = away(HOME, 300, 180)
START = away(CORNER, 400, 270)
WAY = (START, CORNER, HOME)
ZONE = "streets"


def polyline(places) -> str:
    """Google's encoded polyline with 5 decimals."""
    text, before = "", (0, 0)
    for place in places:
        now = tuple(round(degrees * 1e5) for degrees in place)
        for difference in (now[0] - before[0], now[1] - before[1]):
            rest = ~(difference << 1) if difference < 0 else difference << 1
            while rest >= 32:
                text += chr((rest & 31 | 32) + 63)
                rest >>= 5
            text += chr(rest + 63)
        before = now
    return text


class FakeOSRM(BaseHTTPRequestHandler):
    """Answers every query with the same route."""

    def do_GET(self):
        assert "overview=full" in self.path and "geometries=polyline" in self.path, self.path
        body = json.dumps({"code": "Ok", "routes": [
            {"duration": 70, "distance": 700, "geometry": polyline(WAY)}]}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def routed(make_site, open_devices):
    """The devices of a site with a routing provider, a job in `ZONE` whose rider drives to the corner, and the rider."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), FakeOSRM)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    site = make_site(ETA_OSRM_URL=f"http://127.0.0.1:{server.server_address[1]}")
    orders = OrderSystem(site)
    job = orders.delivery("accepted", "preparing", "ready_for_pickup", "in_transit", zone=ZONE)
    rider = Rider(orders, job).travel()
    rider.report(Spot(*away(CORNER, 100, 270), 5, 90), is_answered=True)
    yield open_devices(site), job, rider
    rider.close()
    server.shutdown()
    server.server_close()


@pytest.mark.lean
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_way_ahead_is_drawn_along_streets_and_the_marker_turns_at_the_corner(routed, axe, dark):
    devices, job, rider = routed
    page = devices.desktop(job.guest_url, dark=dark)
    expect(page.locator(RIDER)).to_be_visible()
    # The rider, the corner and the door, instead of a straight line between two of them.
    expect(page.locator("#map")).to_have_attribute("data-way", "route")
    assert int(page.locator("#map").get_attribute("data-way-places")) >= 4
    axe(page)
    markers = Markers(page)
    before = markers.settle()
    # 20 m before the corner. Without another report, the marker drives on and turns with the street.
    rider.report(Spot(*away(CORNER, 20, 270), 10, 90), is_answered=True)
    markers.leave(before)
    last = markers.settle(60)
    # The corner is south of the door, so east of it are the houses.
    scale = before.south / 300
    assert abs(last.east) < 8 * scale + 2, last
    assert last.south < 285 * scale, last
    assert all(each.east < 8 * scale + 2 for each in markers.seen)


@pytest.mark.lean
def test_the_way_ahead_begins_at_the_rider_and_ends_when_the_rider_leaves_it(routed):
    devices, job, rider = routed
    page = devices.phone(job.guest_url)
    expect(page.locator("#map")).to_have_attribute("data-way", "route")
    places = int(page.locator("#map").get_attribute("data-way-places"))
    rider.stay(Spot(*away(CORNER, 60, 0), 10, 0))
    # After the corner, the route has one place less.
    page.wait_for_function("(places) => Number(document.querySelector('#map').dataset.wayPlaces) < places", arg=places)
    lost = away(CORNER, 100, 0)
    rider.stay(Spot(*away(lost, 150, 90), 10, 90))
    assert meters(away(lost, 150, 90), lost) > 80
    expect(page.locator("#map")).to_have_attribute("data-way", "line")
