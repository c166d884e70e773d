"""D25: the map without tiles. Streets are drawn by class and with their names, areas below them; at the end of the data
there is no hard edge."""

import json

import pytest
from playwright.sync_api import expect

from markers import RIDER
from order_system import HOME, OrderSystem
from riders import Rider
from trips import Spot, away

PANE = "#map .leaflet-streets-pane"
# The color of a drawn pixel, at a place relative to the middle of the map in px.
PIXEL = """([east, south]) => {
  const canvas = document.querySelector('#map .leaflet-streets-pane canvas');
  const map = document.querySelector('#map').getBoundingClientRect(), drawn = canvas.getBoundingClientRect();
  const scale = canvas.width / drawn.width;
  const at = (from, middle, by) => Math.round((middle + by - from) * scale);
  const x = at(drawn.left, map.left + map.width / 2, east), y = at(drawn.top, map.top + map.height / 2, south);
  return [...canvas.getContext('2d').getImageData(x, y, 1, 1).data];
}"""


def feature(name: str | None, kind: str, places: list[tuple[float, float]], area: bool = False, **tags) -> dict:
    """Places are meters east and north of HOME."""
    line = []
    for east, north in places:
        lat, lon = away(away(HOME, abs(north), 0 if north >= 0 else 180), abs(east), 90 if east >= 0 else 270)
        line.append([lon, lat])
    return {"type": "Feature", "properties": tags | ({"name": name} if name else {}),
            "geometry": {"type": kind, "coordinates": [line + line[:1]] if area else line}}


TOWN = {"type": "FeatureCollection", "attribution": "© the people who mapped these streets", "features": [
    feature("High Street", "LineString", [(-900, 0), (900, 0)], highway="primary"),
    feature("Mill Lane", "LineString", [(-900, -300), (900, -300)], highway="residential"),
    feature("Old Road", "LineString", [(0, -900), (0, 900)], highway="secondary"),
    feature("Kings Park", "Polygon", [(40, 40), (640, 40), (640, 440), (40, 440)], area=True, leisure="park"),
    feature(None, "Polygon", [(-700, -280), (-40, -280), (-40, -40), (-700, -40)], area=True, natural="water")]}


@pytest.fixture
def town(tmp_path, make_site, open_devices):
    """The devices and the order system of a site with a street file, and a rider 100 m away from HOME."""
    streets = tmp_path / "streets.geojson"
    streets.write_text(json.dumps(TOWN))
    site = make_site(PAGES_STREETS_FILE=streets)
    orders = OrderSystem(site)
    job = orders.delivery("accepted", "preparing", "ready_for_pickup", "in_transit")
    rider = Rider(orders, job).travel()
    rider.report(Spot(*away(HOME, 100, 180), 0, 0), is_answered=True)
    yield open_devices(site), job
    rider.close()


@pytest.mark.lean
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_D25_streets_have_names_and_areas_colours_in_both_themes(town, axe, dark):
    devices, job = town
    page = devices.desktop(job.guest_url, dark=dark)
    expect(page.locator(RIDER)).to_be_visible()
    page.wait_for_function("() => /High Street/.test(document.querySelector('#map .leaflet-streets-pane')?.dataset.names)")
    expect(page.locator(".leaflet-control-attribution")).to_have_text("© the people who mapped these streets")
    names = page.locator(PANE).get_attribute("data-names").split(", ")
    assert len(names) == len(set(names)), names
    # North-east of the destination is the park, south-west of it the water: different colors, and neither is the
    # street's.
    colours = {tuple(page.evaluate(PIXEL, place)) for place in ([150, -150], [-150, 20], [-300, -150])}
    assert len(colours) == 3, colours
    axe(page)


@pytest.mark.lean
def test_D25_there_are_no_coordinates_and_no_edge_where_the_data_end(town):
    devices, job = town
    page = devices.phone(job.guest_url)
    expect(page.locator(RIDER)).to_be_visible()
    page.wait_for_function("() => document.querySelector('#map .leaflet-streets-pane')?.dataset.names")
    assert "°" not in page.locator("#map").inner_text()
    # From far away the whole town is in view: at its edge the streets are transparent.
    for _ in range(3):
        page.locator(".leaflet-control-zoom-out").click()
    page.wait_for_function("""() => {
      const canvas = document.querySelector('#map .leaflet-streets-pane canvas');
      const {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
      const shades = new Set();
      for (let at = 3; at < data.length; at += 4) shades.add(data[at]);
      return shades.has(0) && shades.has(255) && [...shades].filter((each) => each > 30 && each < 220).length > 30;
    }""")


@pytest.mark.lean
def test_D25_without_streets_the_background_has_dots_that_move_with_the_map(coming, phone):
    job, _ = coming()
    page = phone(job.guest_url)
    expect(page.locator(RIDER)).to_be_visible()
    page.wait_for_function("""() => {
      const canvas = document.querySelector('#map .leaflet-streets-pane canvas');
      const pixels = canvas?.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data ?? [];
      return pixels.some((value, at) => at % 4 === 3 && value > 0);
    }""")


@pytest.mark.lean
def test_a_map_of_100_000_points_is_read_and_drawn_without_a_long_frame(coming, phone, measured):
    """The marker moves meanwhile, so no step of reading or drawing may take long."""
    job, rider = coming()
    page = phone()
    streets = [feature(f"Street {row}", "LineString",
                       [(east * 8 - 2_000, row * 8 - 2_000) for east in range(200)], highway="residential")
               for row in range(500)]
    for street in streets:
        street["properties"]["class"] = "major"
    page.context.route("**/assets/streets.geojson", lambda route: route.fulfill(
        json={"type": "FeatureCollection", "features": streets}))
    page.add_init_script("""new PerformanceObserver((list) => { for (const {duration, startTime} of list.getEntries())
      (window.long ??= []).push([Math.round(startTime), Math.round(duration)]); }).observe({type: 'longtask'});""")
    page.goto(job.guest_url)
    page.wait_for_function("() => /Street/.test(document.querySelector('#map .leaflet-streets-pane')?.dataset.names)")
    # Parsing the file is one task of the browser; each step of the page is shorter.
    longest = max((duration for _, duration in page.evaluate("window.long ?? []")), default=0)
    measured.note("map of 100,000 points", longest_task_ms=longest)
    assert longest < 400
