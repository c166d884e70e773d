// The remaining route of a rider: decoding, finding a place on it and moving along it.

import assert from 'node:assert/strict';
import {test} from 'node:test';
import {LEFT_ROUTE, LONGEST_ROUTE, MOST_PLACES, Route, advance, decodePolyline}
  from '../../Sources/JavaScript/enroute-route.js';
import {distance} from '../../Sources/JavaScript/enroute-view.js';

/** The example of Google's description of the format. */
const GOOGLE = '_p~iF~ps|U_ulLnnqC_mqNvxq`@';
const ROME = {lat: 41.9, lon: 12.5};
const north = (place, meters) => ({lat: place.lat + meters / 111_195.08, lon: place.lon});
const east = (place, meters) => ({lat: place.lat, lon: place.lon + meters / 111_195.08 / Math.cos(41.9 * Math.PI / 180)});
const CORNER = north(ROME, 200);
const bent = () => new Route([ROME, CORNER, east(CORNER, 100)]);

test('the example of the format is decoded', () => {
  assert.deepEqual(decodePolyline(GOOGLE), [{lat: 38.5, lon: -120.2}, {lat: 40.7, lon: -120.95}, {lat: 43.252, lon: -126.453}]);
});

test('a route has at least two places on the earth', () => {
  for (const text of [
    undefined, null, 7, {}, [], '', '_p~iF~ps|U', '_p~iF', GOOGLE.slice(0, -1), `${GOOGLE}\u00e9`, `${GOOGLE} `, '~~~~~~~~~~~~',
    '_'.repeat(99), 'x'.repeat(LONGEST_ROUTE + 1), '??'.repeat(MOST_PLACES + 1), '_gsia@???',
  ]) {
    assert.equal(decodePolyline(text), null, String(text).slice(0, 20));
    assert.equal(Route.of({polyline: text}), null);
  }
  for (const route of [null, undefined, 7, 'x']) assert.equal(Route.of(route), null);
});

test('random text never throws', () => {
  let seed = 3;
  const random = () => { seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31; return seed / 2 ** 31; };
  for (let round = 0; round < 5_000; round += 1) {
    const text = Array.from({length: random() * 40}, () => String.fromCharCode(58 + random() * 72)).join('');
    const route = Route.of({polyline: text});
    if (route) assert.ok(Number.isFinite(route.find(ROME).along) && Number.isFinite(route.at(10).lat));
  }
});

test('a place is found on the route, with its meters along and beside it, and the direction', () => {
  const route = bent();
  assert.ok(Math.abs(route.meters - 300) < 0.5);
  const spot = route.find(east(north(ROME, 50), 12));
  assert.ok(Math.abs(spot.along - 50) < 0.5 && Math.abs(spot.away - 12) < 0.5 && spot.heading < 1);
  assert.ok(Math.abs(route.find(east(CORNER, 60)).heading - 90) < 1);
});

test('if the route passes a place twice, the previous meters decide', () => {
  const loop = new Route([ROME, north(ROME, 100), east(north(ROME, 100), 10), east(ROME, 10)]);
  const place = east(north(ROME, 50), 5);
  assert.ok(loop.find(place, 40).along < 60);
  assert.ok(loop.find(place, 170).along > 150);
});

test('if the route leads there and back, a rider who turns at its end is on the way back', () => {
  const route = new Route([ROME, east(ROME, 1000), ROME]);
  for (const [step, offset] of [[20, 0], [70, 35], [100, 1], [100, 99], [150, 75]]) {
    let along = 0;
    let driven = offset;
    for (; driven < 2000; driven += step) along = route.find(east(ROME, Math.min(driven, 2000 - driven)), along).along;
    assert.ok(Math.abs(along - (driven - step)) < 1, `a position every ${step} m, first at ${offset} m`);
  }
  // If both passes are far from the previous position, the nearer one counts: the rider has not left the route.
  const long = new Route([ROME, east(ROME, 9000), east(north(ROME, 75), 9000), north(ROME, 75)]);
  assert.ok(long.find(north(ROME, 75), 0).away < 1);
});

test('a place without a previous position moves along the first pass', () => {
  const route = new Route([ROME, east(ROME, 500), east(north(ROME, 12), 500), north(ROME, 12)]);
  assert.ok(distance(advance(route, east(north(ROME, 8), 300), 100), east(ROME, 400)) < 1);
});

test('a place moves along the route around the corner, and no farther than to its end', () => {
  const route = bent();
  const there = advance(route, north(ROME, 150), 100);
  assert.ok(distance(there, east(CORNER, 50)) < 0.5 && Math.abs(there.heading - 90) < 1);
  assert.ok(distance(advance(route, north(ROME, 150), 10_000), east(CORNER, 100)) < 0.5);
  assert.ok(distance(route.at(-5), ROME) < 0.1);
  assert.equal(advance(route, east(ROME, LEFT_ROUTE + 1), 10), null);
});

test('the remaining route omits the part behind the rider', () => {
  const places = bent().from(150);
  assert.equal(places.length, 3);
  assert.ok(distance(places[0], north(ROME, 150)) < 0.5);
  assert.equal(bent().from(250).length, 2);
});

test('a route across the date line is short', () => {
  const route = new Route([{lat: -17, lon: 179.999}, {lat: -17, lon: -179.999}]);
  assert.ok(route.meters < 300);
  assert.ok(Math.abs(Math.abs(route.at(route.meters / 2).lon) - 180) < 0.001);
});
