// The background of the dispatcher's map: an operator's tiles with their attribution, loaded through the gateway; or the
// streets as plain lines without names, which thousands of markers would hide; or a grid. There is always a scale. The
// background is optional: the map works without it.

import {usesMiles} from './enroute-words.js';
import {colour, locale} from './page.js';
import {gateway} from './page-gateway.js';

const SPACING_PX = 110;    // approximate distance between two lines of the grid
const STEPS = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30];    // degrees

export class BaseMap {
  #map;
  #lines = null;
  #streets = null;
  #isFallback = false;

  constructor(map) {
    this.#map = map;
    const units = {imperial: usesMiles(locale), metric: !usesMiles(locale)};
    L.control.scale({...units, maxWidth: 96, position: 'bottomright'}).addTo(map);
    const tiles = document.querySelector('meta[name="enroute-tiles"]')?.content;
    if (tiles === undefined) this.#drawFallback();
    else this.#addTiles(tiles);
  }

  /** Redraws in the colors of the current theme. */
  repaint() {
    this.#streets?.setStyle({color: colour('--street')});
    if (this.#lines) this.#drawLines();
  }

  #addTiles = (attribution) => {
    this.#credit(attribution);
    const tiles = L.tileLayer(`${gateway}/assets/tiles/{z}/{x}/{y}`, {maxZoom: 19, className: 'tiles'});
    // If the provider fails, draw the fallback.
    tiles.once('tileerror', this.#drawFallback);
    tiles.addTo(this.#map);
  };

  /** Names the source of the map, in a corner of its own. */
  #credit = (text) => {
    const credit = document.createElement('span');
    credit.textContent = text;
    L.control.attribution({prefix: false, position: 'bottomleft'}).addAttribution(credit.innerHTML).addTo(this.#map);
  };

  #drawFallback = async () => {
    if (this.#isFallback) return;
    this.#isFallback = true;
    // The map may have been closed in the meantime.
    if (await this.#drawStreets() || !this.#map.getPane('mapPane')?.isConnected) return;
    this.#lines = L.layerGroup().addTo(this.#map);
    this.#map.on('moveend', this.#drawLines);
    this.#drawLines();
  };

  /** Returns whether there are streets. */
  #drawStreets = async () => {
    const answer = await fetch(`${gateway}/assets/streets.geojson`).catch(() => null);
    if (answer?.status !== 200) return false;
    const streets = await answer.json().catch(() => null);
    if (!streets || !this.#map.getPane('mapPane')?.isConnected) return false;
    const style = {color: colour('--street'), weight: 2.5, lineCap: 'round', lineJoin: 'round'};
    this.#streets = L.geoJSON(streets, {style, interactive: false, smoothFactor: 1.5}).addTo(this.#map);
    this.#streets.eachLayer((street) => street.bringToBack?.());
    if (streets.attribution) this.#credit(streets.attribution);
    return true;
  };

  /** Draws lines of latitude and longitude over the visible part. */
  #drawLines = () => {
    const map = this.#map;
    const [bounds, seen, size] = [map.getBounds().pad(0.3), map.getBounds(), map.getSize()];
    const perPixel = (seen.getEast() - seen.getWest()) / Math.max(1, size.x);
    const step = STEPS.find((degrees) => degrees >= perPixel * SPACING_PX) ?? STEPS[STEPS.length - 1];
    const style = {color: colour('--grid'), weight: 1, interactive: false};
    const first = (edge) => Math.ceil(edge / step) * step;
    this.#lines.clearLayers();
    for (let lon = first(bounds.getWest()); lon <= bounds.getEast(); lon += step) {
      this.#lines.addLayer(L.polyline([[bounds.getSouth(), lon], [bounds.getNorth(), lon]], style));
    }
    for (let lat = first(bounds.getSouth()); lat <= bounds.getNorth(); lat += step) {
      this.#lines.addLayer(L.polyline([[lat, bounds.getWest()], [lat, bounds.getEast()]], style));
    }
    this.#lines.eachLayer((line) => line.bringToBack?.());
  };
}
