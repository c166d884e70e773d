// Rides through a town, and how the customer's page shows them, for tests and `make bench BENCH=tracking`.

import {Route} from '../../Sources/WebAssets/web/enroute-route.js';
import {distance} from '../../Sources/WebAssets/web/enroute-view.js';
import {onward} from '../../Sources/WebAssets/web/track-movement.js';

const START = {lat: 41.9, lon: 12.5};
const FROM = 1_000_000;
/** ms between two frames. */
const FRAME = 100;

/**
 * Returns ten minutes of a ride with a place in every frame. It speeds up, brakes, turns, and stops about every two minutes.
 * @param {number} top the highest speed in m/s
 */
export function townRide(seed, top) {
  let state = seed;
  const random = () => { state = (state * 1_103_515_245 + 12_345) % 2 ** 31; return state / 2 ** 31; };
  const places = [];
  let [place, course, speed, target, rest] = [START, 90, 0, top, 0];
  for (let ms = 0; ms < 600_000; ms += FRAME) {
    if (rest > 0) rest -= FRAME;
    else if (random() < 0.002) target = random() < 0.4 ? 0 : top * (0.5 + random() / 2);
    if (target === 0 && speed === 0 && rest <= 0) {
      [rest, target] = [8_000, top];
      course += [0, 90, -90][Math.floor(random() * 3)];
    }
    if (random() < 0.002 && speed > 2) {
      course += random() < 0.5 ? 60 : -60;
      speed = Math.min(speed, top / 2);
    }
    if (rest <= 0) speed += Math.max(-0.25, Math.min(0.15, target - speed));
    course = (course + 360) % 360;
    place = onward(place, course, speed * FRAME / 1000);
    places.push({ms, place, speed, course});
  }
  return places;
}

/** The route of a ride: its corners. */
const routeOf = (ride) => new Route(ride.filter(
  ({course}, at) => at === 0 || at === ride.length - 1 || course !== ride[at + 1].course).map(({place}) => place));

const quantile = (values, share) => values.sort((a, b) => a - b)[Math.floor(values.length * share)];

/**
 * Shows five rides.
 * @param {() => object} movement makes a Movement
 * @param {{interval: number, top: number, tells: boolean, isRouted?: boolean}} ride ms between reports; m/s; whether the phone
 *   reports its speed; whether the route is known
 * @returns the share of moving time in which the marker stands still, the p99 of its speed by that of the rider, and its
 *   error in m
 */
export function shown(movement, {interval, top, tells, isRouted = false}) {
  let [frozen, moving] = [0, 0];
  const [speeds, real, errors] = [[], [], []];
  for (const seed of [1, 2, 3, 4, 5]) {
    const marker = movement();
    let [before, next] = [null, 0];
    const ride = townRide(seed, top);
    if (isRouted) marker.follow(routeOf(ride), FROM);
    for (const {ms, place, speed, course} of ride) {
      if (ms >= next) {
        // Reports are up to 200 ms late.
        next = ms + interval + (ms / FRAME * 7_919 % 3) * 100;
        marker.take({...place, at: ms, ...(tells ? {spd: speed, hdg: course} : {})}, FROM + ms);
      }
      const at = marker.at(FROM + ms);
      if (before && ms > 15_000) {
        const meters = distance(before, at);
        speeds.push(meters * 1000 / FRAME);
        real.push(speed);
        errors.push(distance(at, place));
        if (speed > Math.min(1, top / 2)) {
          moving += 1;
          if (meters < 0.005) frozen += 1;
        }
      }
      before = at;
    }
  }
  return {
    frozen: frozen / moving, haste: quantile(speeds, 0.99) / quantile(real, 0.99), error: quantile(errors, 0.95),
  };
}

/**
 * Shows a ride at the interval that the gateway asks for.
 * @param {() => object} movement makes a Movement
 * @param {{truth: number[][], messages: (number|null)[][], moving: number}} ride `truth`: ms, lat, lon, m/s, once a second;
 *   `messages`: ms of arrival, at, lat, lon, spd, hdg; `moving`: m/s above which the rider moves
 * @returns as `shown`
 */
export function asked(movement, {truth, messages, moving: least}) {
  const marker = movement();
  let [frozen, moving, next, before] = [0, 0, 0, null];
  const [speeds, real, errors] = [[], [], []];
  for (let index = 1; index < truth.length; index += 1) {
    const [from, lat, lon, speed] = truth[index - 1];
    const [to, nextLat, nextLon] = truth[index];
    // Gaps of recordings are no movement.
    const isGap = to - from > 3_000;
    for (let ms = from; ms < to; ms += FRAME) {
      for (; next < messages.length && messages[next][0] <= ms; next += 1) {
        const [, at, latitude, longitude, spd, hdg] = messages[next];
        marker.take({
          at, lat: latitude, lon: longitude, ...(spd === null ? {} : {spd}), ...(hdg === null ? {} : {hdg}),
        }, FROM + ms);
      }
      const place = marker.at(FROM + ms);
      if (before && place && ms > 15_000 && !isGap) {
        const share = (ms - from) / (to - from);
        const meters = distance(before, place);
        speeds.push(meters * 1000 / FRAME);
        real.push(speed);
        errors.push(distance(place, {lat: lat + (nextLat - lat) * share, lon: lon + (nextLon - lon) * share}));
        if (speed > least) {
          moving += 1;
          if (meters < 0.005) frozen += 1;
        }
      }
      before = place;
    }
  }
  return {
    frozen: frozen / moving, haste: quantile(speeds, 0.99) / quantile(real, 0.99), error: quantile(errors, 0.95),
  };
}
