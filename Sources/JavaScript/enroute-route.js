// The route ahead of a rider: decodes `eta.route`, finds a place on it, and moves a place along it. Pure values without a map,
// a socket or a clock. A malformed route is ignored: a page with a straight line is better than a page without a map.

/** Maximum number of characters and of places of a route. The gateway sends at most 1,500 and 200. */
export const LONGEST_ROUTE = 4_000;
export const MOST_PLACES = 1_000;
/** A rider who is farther from the route than this, in m, has left it. The gateway sends another route soon. */
export const LEFT_ROUTE = 80;

/** m: if the distances of two points of a route from a place differ by more, the nearer one is chosen. */
const NEARLY_SAME = 40;
/** m along the route that count as much as 1 m beside it; and the factor by which going back counts more than ahead. */
const ALONG_PER_AWAY = 20;
const BACKWARD = 3;

const METERS_PER_DEGREE = 6_371_008.8 * Math.PI / 180;
const RADIANS = Math.PI / 180;

/**
 * Decodes Google's encoded polyline with 5 decimals
 * (https://developers.google.com/maps/documentation/utilities/polylinealgorithm).
 *
 * @param {unknown} polyline
 * @returns {{lat: number, lon: number}[]|null} null for anything that is not at least two places on the earth
 */
export function decodePolyline(polyline) {
  if (typeof polyline !== 'string' || polyline.length > LONGEST_ROUTE) return null;
  const places = [];
  const sums = [0, 0];
  for (let at = 0; at < polyline.length;) {
    for (const axis of [0, 1]) {
      let [value, shift, chunk] = [0, 0, 0];
      do {
        chunk = polyline.charCodeAt(at) - 63;
        at += 1;
        // Six groups of five bits, more than 180 degrees need.
        if (!(chunk >= 0 && chunk < 64) || shift > 25) return null;
        value |= (chunk & 31) << shift;
        shift += 5;
      } while (chunk >= 32);
      sums[axis] += value & 1 ? ~(value >> 1) : value >> 1;
    }
    const place = {lat: sums[0] / 1e5, lon: sums[1] / 1e5};
    if (Math.abs(place.lat) > 90 || Math.abs(place.lon) > 180 || places.length === MOST_PLACES) return null;
    places.push(place);
  }
  return places.length > 1 ? places : null;
}

/** Degrees east from one longitude to another, the short way round. */
const eastOf = (from, to) => ((to - from) % 360 + 540) % 360 - 180;

/** A line on the map with lengths. Distances are computed on a plane for each part: exact enough within a country. */
export class Route {
  #places;
  #meters = [0];      // from the start to each place

  /** @param {{lat: number, lon: number}[]} places at least two */
  constructor(places) {
    this.#places = places;
    for (let at = 1; at < places.length; at += 1) {
      const {north, east} = this.#part(at - 1);
      this.#meters.push(this.#meters[at - 1] + Math.hypot(north, east));
    }
  }

  /**
   * Returns the route of an arrival time.
   *
   * @param {{polyline?: unknown}|null|undefined} route the member `route` of `eta`
   * @returns {Route|null} null without one, and for one that cannot be read
   */
  static of(route) {
    const places = decodePolyline(route?.polyline);
    return places && new Route(places);
  }

  /** Length in m. */
  get meters() { return this.#meters[this.#meters.length - 1]; }

  get places() { return this.#places; }

  /** A part as meters north and east. */
  #part = (at) => {
    const [a, b] = [this.#places[at], this.#places[at + 1]];
    const scale = Math.cos((a.lat + b.lat) / 2 * RADIANS) * METERS_PER_DEGREE;
    return {north: (b.lat - a.lat) * METERS_PER_DEGREE, east: eastOf(a.lon, b.lon) * scale, scale};
  };

  /**
   * Returns the nearest point of the route: m from its start, m away from the place, and its direction in degrees. Of points
   * that are about equally near, it chooses the one that continues from `near`, because a route may lead there and back.
   *
   * @param {{lat: number, lon: number}} place
   * @param {number|null} near where the rider was before, m from the start
   */
  find(place, near = null) {
    let [best, least] = [null, Infinity];
    for (let at = 0; at + 1 < this.#places.length; at += 1) {
      const {north, east, scale} = this.#part(at);
      const length = this.#meters[at + 1] - this.#meters[at];
      const y = (place.lat - this.#places[at].lat) * METERS_PER_DEGREE;
      const x = eastOf(this.#places[at].lon, place.lon) * scale;
      const share = length > 0 ? Math.min(1, Math.max(0, (x * east + y * north) / length ** 2)) : 0;
      const away = Math.hypot(x - share * east, y - share * north);
      const along = this.#meters[at] + share * length;
      const cost = away + (near === null ? 0 : costOf(near, along));
      if (cost < least) [best, least] = [{along, away, heading: headingOf(north, east)}, cost];
    }
    return best;
  }

  /** Returns the place that is `along` m from the start, and the direction of the route there. Both ends are limits. */
  at(along) {
    const at = this.#partAt(along);
    const {north, east} = this.#part(at);
    const length = this.#meters[at + 1] - this.#meters[at];
    const share = length > 0 ? Math.min(1, Math.max(0, (along - this.#meters[at]) / length)) : 0;
    const [a, b] = [this.#places[at], this.#places[at + 1]];
    return {
      lat: a.lat + (b.lat - a.lat) * share, lon: a.lon + eastOf(a.lon, b.lon) * share, heading: headingOf(north, east),
    };
  }

  /** Returns the places from `along` m to the end: what is still ahead. */
  from(along) {
    const {lat, lon} = this.at(along);
    return [{lat, lon}, ...this.#places.slice(this.#partAt(along) + 1)];
  }

  #partAt = (along) => {
    let [low, high] = [0, this.#places.length - 2];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.#meters[middle] <= along) low = middle; else high = middle - 1;
    }
    return low;
  };
}

/** m by which a point counts as farther away because the rider was elsewhere on the route; less than `NEARLY_SAME`. */
const costOf = (near, along) => {
  const way = along < near ? (near - along) * BACKWARD : along - near;
  return NEARLY_SAME * way / (way + NEARLY_SAME * ALONG_PER_AWAY);
};

const headingOf = (north, east) => (Math.atan2(east, north) / RADIANS + 360) % 360;

/**
 * Moves a place along a route.
 *
 * @param {Route} route
 * @param {{lat: number, lon: number}} place
 * @param {number} meters
 * @returns {{lat: number, lon: number, heading: number}|null} null if the place is not on the route (`LEFT_ROUTE`)
 */
export function advance(route, place, meters) {
  // The route starts where the rider was when it was calculated, so the first pass is the likely one.
  const {along, away} = route.find(place, 0);
  return away > LEFT_ROUTE ? null : route.at(along + meters);
}
