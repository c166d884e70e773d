// The markers of the map as numbers: where each is drawn in a frame, which are drawn together as a cluster, and the route of
// one rider. Pure: it has no clock, no canvas and no Leaflet. World coordinates range from 0 to 1 (Web Mercator), so that
// zooming is a multiplication.

import {LEFT_ROUTE, Route} from './enroute-route.js';

/** ms in which a marker moves to a new position: a little longer than the pause between two messages. */
export const GLIDE = 1_200;
/** Markers this close together, in px, become a cluster. */
const CELL = 64;
/** Fewer markers in a cell are drawn one by one. */
const FEWEST = 4;
/** From this zoom level on nothing is clustered: people look at one street. */
const CLOSE = 16;
/** With so few markers nothing is clustered. */
const FEW = 200;
/** A marker that moves further than this jumps, because it did not drive there: 1/20,000 of the world is 2 km. */
const FAR = 1 / 20_000;

const MOST_LATITUDE = 85.0511;

export const worldX = (lon) => (lon + 180) / 360;
export function worldY(lat) {
  const sin = Math.sin((Math.max(-MOST_LATITUDE, Math.min(MOST_LATITUDE, lat)) * Math.PI) / 180);
  return 0.5 - Math.log((1 + sin) / (1 - sin)) / (4 * Math.PI);
}

/** The place of world coordinates. */
const placeOf = ([x, y]) => ({lat: Math.atan(Math.sinh(Math.PI * (1 - 2 * y))) * 180 / Math.PI, lon: x * 360 - 180});

/** A rider's route to a destination. */
export class Way {
  #polyline = null;
  #route = null;
  #along = 0;

  /** @param route the member `route` of the arrival time, or null. @returns {boolean} whether it is another one */
  take(route) {
    const polyline = route?.polyline ?? null;
    if (polyline === this.#polyline) return false;
    [this.#polyline, this.#route, this.#along] = [polyline, Route.of(route), 0];
    return true;
  }

  /**
   * Returns the rest of the route, from the rider on: a `route`. Without one, and after the rider has left it, a straight
   * `line` that does not pretend to be a route.
   *
   * @param {[number, number]|null} rider in world coordinates, like `home`, the destination
   * @returns {{kind: 'route'|'line', places: [number, number][]}|null} null if it is unknown where it begins or ends
   */
  from(rider, home) {
    if (!rider) return null;
    const spot = this.#route?.find(placeOf(rider), this.#along);
    if (!spot || spot.away > LEFT_ROUTE) return home && {kind: 'line', places: [rider, home]};
    this.#along = spot.along;
    const ahead = this.#route.from(spot.along).map(({lat, lon}) => [worldX(lon), worldY(lat)]);
    return {kind: 'route', places: [rider, ...ahead]};
  }
}

/** The markers and their movement. */
export class Field {
  markers = [];
  /** Where each marker is drawn at the last time given to `move`. */
  xs = new Float64Array(0);
  ys = new Float64Array(0);
  #from = [new Float64Array(0), new Float64Array(0)];
  #to = [new Float64Array(0), new Float64Array(0)];
  #startedAt = new Float64Array(0);
  #index = new Map();
  #stillFrom = -Infinity;

  /** @param isStill whether markers jump instead of moving */
  update(markers, now, isStill = false) {
    this.move(now);
    const [old, index] = [this, new Map()];
    const count = markers.length;
    const [fromX, fromY, toX, toY, startedAt] = Array.from({length: 5}, () => new Float64Array(count));
    for (let at = 0; at < count; at += 1) {
      const marker = markers[at];
      [toX[at], toY[at]] = [worldX(marker.lon), worldY(marker.lat)];
      const before = this.#index.get(marker.id);
      const [x, y] = before === undefined ? [toX[at], toY[at]] : [old.xs[before], old.ys[before]];
      const isSame = before !== undefined && this.#to[0][before] === toX[at] && this.#to[1][before] === toY[at];
      const jumps = isStill || Math.hypot(x - toX[at], y - toY[at]) > FAR;
      [fromX[at], fromY[at]] = isSame ? [this.#from[0][before], this.#from[1][before]] : jumps ? [toX[at], toY[at]] : [x, y];
      startedAt[at] = isSame ? this.#startedAt[before] : now;
      if (fromX[at] !== toX[at] || fromY[at] !== toY[at]) this.#stillFrom = Math.max(this.#stillFrom, startedAt[at] + GLIDE);
      index.set(marker.id, at);
    }
    [this.markers, this.#index, this.#from, this.#to] = [markers, index, [fromX, fromY], [toX, toY]];
    [this.#startedAt, this.xs, this.ys] = [startedAt, new Float64Array(count), new Float64Array(count)];
    this.move(now);
  }

  /** Computes where the markers are now. */
  move(now) {
    const [[fromX, fromY], [toX, toY], startedAt] = [this.#from, this.#to, this.#startedAt];
    for (let at = 0; at < startedAt.length; at += 1) {
      const part = Math.min(1, Math.max(0, (now - startedAt[at]) / GLIDE));
      this.xs[at] = fromX[at] + (toX[at] - fromX[at]) * part;
      this.ys[at] = fromY[at] + (toY[at] - fromY[at]) * part;
    }
  }

  isMoving(now) { return now < this.#stillFrom; }

  /** @returns the index of a marker, or undefined */
  at(id) { return this.#index.get(id); }

  /**
   * Groups markers that are close together. Clusters are where markers go to, so that they do not change in every frame.
   * @param ranks how urgent a marker is: a smaller number is more urgent
   * @returns `{clusters: [{x, y, count, rank, members}], singles}`, with indices of markers
   */
  clusters(zoom, rank) {
    const singles = [];
    const clusters = [];
    const count = this.markers.length;
    const isPlain = zoom >= CLOSE || count <= FEW;
    const cells = new Map();
    const scale = (256 * 2 ** zoom) / CELL;
    const [toX, toY] = this.#to;
    for (let at = 0; at < count; at += 1) {
      if (isPlain) {
        singles.push(at);
        continue;
      }
      const key = Math.floor(toX[at] * scale) * 67_108_864 + Math.floor(toY[at] * scale);
      const cell = cells.get(key);
      if (cell) cell.push(at);
      else cells.set(key, [at]);
    }
    for (const members of cells.values()) {
      if (members.length < FEWEST) {
        singles.push(...members);
        continue;
      }
      let [x, y, worst] = [0, 0, Infinity];
      for (const at of members) {
        x += toX[at];
        y += toY[at];
        worst = Math.min(worst, rank(this.markers[at]));
      }
      clusters.push({x: x / members.length, y: y / members.length, count: members.length, rank: worst, members});
    }
    return {clusters, singles};
  }
}
