// The base map: an operator's tiles with their attribution, loaded through the gateway. If there are none or they fail, lines
// of latitude and longitude and the gateway's streets. There is always a scale. The base map is optional: the page works
// without it.

import {usesMiles} from './enroute-words.js';
import {colour, locale} from './page.js';

const SPACING_PX = 110;    // approximate distance between two lines of the graticule
/** Size of the corners with the scale and the age, in px; lines get no label there. */
const CORNER = [150, 64];
const STEPS = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30];    // degrees

export class BaseMap {
  #map;
  #lines = null;
  #streets = null;

  constructor(map, words) {
    this.#map = map;
    this.words = words;
    const units = {imperial: usesMiles(locale), metric: !usesMiles(locale)};
    L.control.scale({...units, maxWidth: 96, position: 'bottomright'}).addTo(map);
    const tiles = document.querySelector('meta[name="enroute-tiles"]')?.content;
    if (tiles === undefined) this.#drawFallback();
    else this.#addTiles(tiles);
  }

  /** Redraws in the colours of the current theme. */
  repaint() {
    this.#streets?.setStyle({color: colour('--street')});
    if (this.#lines) this.#drawLines();
  }

  #addTiles = (attribution) => {
    const credit = document.createElement('span');
    credit.textContent = attribution;
    L.control.attribution({prefix: false, position: 'bottomright'}).addAttribution(credit.innerHTML).addTo(this.#map);
    const tiles = L.tileLayer('/assets/tiles/{z}/{x}/{y}', {maxZoom: 19, className: 'tiles'});
    // If the provider fails, draw the fallback.
    tiles.once('tileerror', this.#drawFallback);
    tiles.addTo(this.#map);
  };

  #drawFallback = () => {
    if (this.#lines) return;
    this.#lines = L.layerGroup().addTo(this.#map);
    this.#map.on('moveend', this.#drawLines);
    this.#drawLines();
    this.#drawStreets();
  };

  #drawStreets = async () => {
    const answer = await fetch('/assets/streets.geojson').catch(() => null);
    if (answer?.status !== 200) return;
    const streets = await answer.json().catch(() => null);
    // The map may have been closed in the meantime.
    if (!streets || !this.#map.getPane('mapPane')?.isConnected) return;
    const style = {color: colour('--street'), weight: 2.5, lineCap: 'round', lineJoin: 'round'};
    this.#streets = L.geoJSON(streets, {style, interactive: false, smoothFactor: 1.5}).addTo(this.#map);
    this.#streets.eachLayer((street) => street.bringToBack?.());
    if (streets.attribution) {
      const credit = document.createElement('span');
      credit.textContent = streets.attribution;
      L.control.attribution({prefix: false, position: 'bottomright'}).addAttribution(credit.innerHTML).addTo(this.#map);
    }
  };

  /** Draws lines of latitude and longitude over the visible part, with labels at two edges. */
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
      const {x} = map.latLngToContainerPoint([seen.getSouth(), lon]);
      if (x < 0 || x > size.x - CORNER[0]) continue;
      this.#addLabel([seen.getSouth(), lon], degreesText(lon, step, 'lon', this.words), 'grid-x');
    }
    for (let lat = first(bounds.getSouth()); lat <= bounds.getNorth(); lat += step) {
      this.#lines.addLayer(L.polyline([[lat, bounds.getWest()], [lat, bounds.getEast()]], style));
      const {y} = map.latLngToContainerPoint([lat, seen.getWest()]);
      if (y < CORNER[1] || y > size.y - 24) continue;
      this.#addLabel([lat, seen.getWest()], degreesText(lat, step, 'lat', this.words), 'grid-y');
    }
    this.#lines.eachLayer((line) => line.bringToBack?.());
  };

  #addLabel = (place, text, className) => {
    const html = `<span aria-hidden="true">${text}</span>`;
    const icon = L.divIcon({className: `grid ${className}`, html, iconSize: [0, 0]});
    this.#lines.addLayer(L.marker(place, {icon, interactive: false, keyboard: false}));
  };
}

/** Returns `41.865° N`, with enough digits to distinguish two lines. */
function degreesText(degrees, step, axis, words) {
  const digits = Math.max(0, Math.ceil(-Math.log10(step)));
  const number = new Intl.NumberFormat(locale, {minimumFractionDigits: digits, maximumFractionDigits: digits});
  const [positive, negative] = axis === 'lat' ? [words.north, words.south] : [words.east, words.west];
  return `${number.format(Math.abs(degrees))}° ${degrees < 0 ? negative : positive}`;
}
