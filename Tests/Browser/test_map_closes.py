"""The customer's map can be removed at any moment, even during a zoom, and the next one shows the rider."""

import pytest
from playwright.sync_api import expect

RIDER = "#closing .rider"

# A map like the page's, in a document of the test.
A_MAP = """async () => {
  const {TrackMap} = await import('/assets/track-map.js');
  const [place, follow] = [document.createElement('div'), document.createElement('button')];
  place.style.cssText = 'position: fixed; inset: 0; z-index: 9999';
  place.id = 'closing';
  document.body.append(place, follow);
  const words = {riderOnMap: {}, homeOnMap: '', zoomIn: '+', zoomOut: '-'};
  const map = new TrackMap(place, {follow, words});
  const show = () => {
    map.open('service', {lat: 41.9, lon: 12.5});
    map.take({id: '1', at: 1, lat: 41.91, lon: 12.5}, {atOnce: true});
  };
  show();
"""
# Closed during a zoom by its button.
CLOSE_WHILE_IT_ZOOMS = A_MAP + """
  const zooms = new Promise((resolve) => {
    const look = () => (place.querySelector('.leaflet-zoom-anim') ? resolve() : requestAnimationFrame(look));
    look();
  });
  place.querySelector('.leaflet-control-zoom-in').click();
  await zooms;
  map.close();
  show();
}"""
# Closed before the next frame.
CLOSE_AT_ONCE = A_MAP + """
  map.close();
  show();
}"""
# A position arrives before the map, with a vehicle.
OPEN_LATE = A_MAP.replace("  show();\n", "") + """
  map.take({id: '1', at: 1, lat: 41.91, lon: 12.5}, {atOnce: true});
  map.open('service', {lat: 41.9, lon: 12.5}, null, 'van');
}"""
# In the page's time: until Leaflet's timer of the first map has fired (250 ms).
ZOOM_IS_OVER = "() => new Promise((resolve) => { const end = performance.now() + 600; const look = () => " \
    "(performance.now() > end ? resolve() : requestAnimationFrame(look)); look(); })"


def test_a_map_closed_during_a_zoom_leaves_no_error(order_system, phone):
    """An uncaught error would fail this test too."""
    visit = order_system.visit()
    page = phone(visit.guest_url)
    expect(page.locator("#headline")).not_to_be_empty()
    page.evaluate(CLOSE_WHILE_IT_ZOOMS)
    expect(page.locator(RIDER)).to_be_visible()
    page.evaluate(ZOOM_IS_OVER)
    expect(page.locator(RIDER)).to_be_visible()


@pytest.mark.lean
def test_a_map_closed_before_its_next_frame_draws_nothing(order_system, phone):
    """An uncaught error would fail this test too."""
    visit = order_system.visit()
    page = phone(visit.guest_url)
    expect(page.locator("#headline")).not_to_be_empty()
    page.evaluate(CLOSE_AT_ONCE)
    expect(page.locator(RIDER)).to_be_visible()
    page.evaluate(ZOOM_IS_OVER)


@pytest.mark.lean
def test_a_map_that_opens_after_the_first_position_shows_the_rider_and_the_destination(order_system, phone):
    """The map library may load after the position arrives. Only the last view counts, once no zoom is in progress."""
    page = phone(order_system.visit().guest_url)
    expect(page.locator("#headline")).not_to_be_empty()
    page.evaluate(OPEN_LATE)
    expect(page.locator(RIDER)).to_be_visible()
    page.evaluate(ZOOM_IS_OVER)
    expect(page.locator(RIDER)).to_be_in_viewport(ratio=0.99)
    expect(page.locator("#closing .home")).to_be_in_viewport(ratio=0.99)
