// The base map: an operator's tiles with their attribution, loaded through the gateway. If there are none or they fail, the
// gateway's streets (map-streets.js). There is always a scale. The base map is optional: the page works without it.

import {usesMiles} from './enroute-words.js';
import {StreetLayer} from './map-streets.js';
import {locale} from './page.js';
import {gateway} from './page-gateway.js';

/** The streets are loaded once per page, however often a map opens. */
let loading = null;
async function loadStreets() {
  const answer = await fetch(`${gateway}/assets/streets.geojson`).catch(() => null);
  if (answer?.status === 200) return answer.json().catch(() => null);
  // Without a response the next map tries again.
  if (!answer?.ok) loading = null;
  return null;
}

export class BaseMap {
  #map;
  #streets = null;
  #pins = [];

  constructor(map) {
    this.#map = map;
    const units = {imperial: usesMiles(locale), metric: !usesMiles(locale)};
    L.control.scale({...units, maxWidth: 96, position: 'bottomright'}).addTo(map);
    const tiles = document.querySelector('meta[name="enroute-tiles"]')?.content;
    if (tiles === undefined) this.#drawStreets();
    else this.#addTiles(tiles);
  }

  /** Redraws in the colors of the current theme. */
  repaint() {
    this.#streets?.repaint();
  }

  /** Keeps the names of streets away from pins. @param pins `[[lat, lon]]` */
  avoid(pins) {
    this.#pins = pins;
    this.#streets?.avoid(pins);
  }

  #addTiles = (attribution) => {
    this.#credit(attribution);
    const tiles = L.tileLayer(`${gateway}/assets/tiles/{z}/{x}/{y}`, {maxZoom: 19, className: 'tiles'});
    tiles.once('tileerror', this.#drawStreets);
    tiles.addTo(this.#map);
  };

  /** Names the source of the map, in a corner of its own. */
  #credit = (text) => {
    const credit = document.createElement('span');
    credit.textContent = text;
    L.control.attribution({prefix: false, position: 'bottomleft'}).addAttribution(credit.innerHTML).addTo(this.#map);
  };

  #drawStreets = async () => {
    if (this.#streets) return;
    this.#streets = new StreetLayer(this.#map);
    this.#streets.avoid(this.#pins);
    const streets = await (loading ??= loadStreets());
    // The map may have been closed in the meantime.
    if (!streets || !this.#map.getPane('mapPane')?.isConnected) return;
    this.#streets.show(streets);
    if (streets.attribution) this.#credit(streets.attribution);
  };
}
