"""The customer's map is taken away at any moment, also in the middle of a zoom, and the next one shows the rider."""

import pytest
from playwright.sync_api import expect

RIDER = "#closing .rider"

# A map of the page's own kind in a document of ours.
A_MAP = """async () => {
  const {TrackMap} = await import('/assets/track-map.js');
  const [place, follow] = [document.createElement('div'), document.createElement('button')];
  place.style.cssText = 'position: fixed; inset: 0; z-index: 9999';
  place.id = 'closing';
  document.body.append(place, follow);
  const words = {riderOnMap: {}, homeOnMap: '', zoomIn: '+', zoomOut: '-', north: 'N', south: 'S', east: 'E', west: 'W'};
  const map = new TrackMap(place, {follow, words});
  const show = () => {
    map.open('service', {lat: 41.9, lon: 12.5});
    map.take({id: '1', at: 1, lat: 41.91, lon: 12.5}, {atOnce: true});
  };
  show();
"""
# Zoomed by its button, and closed while it zooms.
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
# Before the frame in which it would draw what it has drawn already.
CLOSE_AT_ONCE = A_MAP + """
  map.close();
  show();
}"""
# Of the page's own time: until Leaflet's own timer of the first map is over (250 ms).
ZOOM_IS_OVER = "() => new Promise((resolve) => { const end = performance.now() + 600; const look = () => " \
    "(performance.now() > end ? resolve() : requestAnimationFrame(look)); look(); })"


def test_a_map_that_is_closed_while_it_zooms_leaves_nothing_behind(order_system, phone):
    """An error that nobody catches would fail this too."""
    visit = order_system.visit()
    page = phone(visit.guest_url)
    expect(page.locator("#headline")).not_to_be_empty()
    page.evaluate(CLOSE_WHILE_IT_ZOOMS)
    expect(page.locator(RIDER)).to_be_visible()
    page.evaluate(ZOOM_IS_OVER)
    expect(page.locator(RIDER)).to_be_visible()


@pytest.mark.lean
def test_a_map_that_is_closed_before_its_next_frame_draws_no_more(order_system, phone):
    """Nor is an error left to nobody, which would fail this too."""
    visit = order_system.visit()
    page = phone(visit.guest_url)
    expect(page.locator("#headline")).not_to_be_empty()
    page.evaluate(CLOSE_AT_ONCE)
    expect(page.locator(RIDER)).to_be_visible()
    page.evaluate(ZOOM_IS_OVER)
