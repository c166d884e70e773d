// Where the marker is between two positions, without a map or a clock.

import assert from 'node:assert/strict';
import {test} from 'node:test';
import {Route} from '../../Sources/WebAssets/web/enroute-route.js';
import {bearing, distance} from '../../Sources/WebAssets/web/enroute-view.js';
import {GLIDE, HASTE, LONGEST_GLIDE, LONGEST_RECKONING, Movement, NOISE, RECKONING, RESTS, TURN, onward, turn}
  from '../../Sources/WebAssets/web/track-movement.js';
import {shown} from './town-ride.mjs';

const ROME = {lat: 41.9, lon: 12.5};
const T = 1_000_000;

/** Somebody who drives steadily from Rome and reports every second. */
const driving = (second) => ({...onward(ROME, 90, 10 * second), at: second * 1000, spd: 10, hdg: 90});
const metersApart = (a, b) => distance(a, b);

test('the first position is shown unchanged, and the marker continues from there', () => {
  const movement = new Movement();
  assert.equal(movement.at(T), null);
  movement.take(driving(0), T);
  assert.ok(metersApart(movement.at(T), ROME) < 0.01);
  assert.ok(Math.abs(metersApart(movement.at(T + 1_000), ROME) - 10) < 0.1);
});

test('the marker moves in every frame and never goes back at a steady speed', () => {
  const movement = new Movement();
  let last = null;
  for (let ms = 0; ms < 10_000; ms += 16) {
    if (ms % 1008 === 0) movement.take(driving(ms / 1000), T + ms);
    const place = movement.at(T + ms);
    if (last) {
      const step = metersApart(last, place);
      assert.ok(step > 0.05 && step < 0.5, `a step of ${step} m at ${ms} ms`);
      assert.ok(place.lon > last.lon);
    }
    last = place;
  }
});

test('after a glide the marker is on the route, and it does not hurry', () => {
  const movement = new Movement();
  movement.take(driving(0), T);
  const aside = {...onward(driving(2), 0, 25), at: 2000, spd: 10, hdg: 90};
  movement.take(aside, T + 2_000);
  assert.ok(metersApart(movement.at(T + 2_000), driving(2)) < 0.1, 'nothing leaps when it comes');
  assert.ok(GLIDE <= 3_000 && LONGEST_GLIDE <= 20_000);
  for (let ms = 2_000; ms < 2_000 + LONGEST_GLIDE; ms += 100) {
    const step = metersApart(movement.at(T + ms), movement.at(T + ms + 100));
    assert.ok(step < 10 * 1.7 / 10, `${step * 10} m/s`);
  }
  const there = onward(aside, 90, 10 * Math.min(LONGEST_GLIDE, RECKONING) / 1000);
  assert.ok(metersApart(movement.at(T + 2_000 + LONGEST_GLIDE), there) < NOISE * RECKONING / 1000);
  const near = new Movement();
  near.take(driving(0), T);
  near.take({...onward(driving(2), 0, 3), at: 2000, spd: 10, hdg: 90}, T + 2_000);
  const aim = onward(onward(driving(2), 0, 3), 90, 10 * GLIDE / 1000);
  assert.ok(metersApart(near.at(T + 2_000 + GLIDE), aim) < NOISE * GLIDE / 1000, 'a small gap closes at once');
});

test('without a position the marker continues for seven seconds and then stops', () => {
  const movement = new Movement();
  movement.take(driving(0), T);
  assert.ok(Math.abs(metersApart(movement.at(T + 4_900), ROME) - 49) < 0.2);
  const end = movement.at(T + RECKONING);
  assert.ok(Math.abs(metersApart(end, ROME) - 70) < 0.2);
  for (const later of [7_016, 8_000, 29_000, 31_000, 600_000]) {
    assert.deepEqual(movement.at(T + later), end);
    assert.equal(movement.isMoving(T + later), false);
  }
});

test('the marker continues until the next position is overdue, and for 20 s at most', () => {
  for (const [interval, limit] of [[5_000, 7_000], [8_000, 11_200], [12_000, 16_800], [20_000, LONGEST_RECKONING]]) {
    const movement = new Movement();
    for (const index of [0, 1, 2]) {
      movement.take(driving(index * interval / 1000), T + index * interval, {atOnce: true});
    }
    const last = T + 2 * interval;
    assert.equal(movement.isMoving(last + limit - 100), true, `${interval}`);
    assert.equal(movement.isMoving(last + limit), false, `${interval}`);
  }
  const movement = new Movement();
  for (const second of [0, 1, 2, 30]) movement.take(driving(second), T + second * 1000);
  assert.equal(movement.isMoving(T + 30_000 + LONGEST_GLIDE), false, 'one gap is no interval');
});

test('a speed that contradicts the positions is not extrapolated', () => {
  const movement = new Movement();
  movement.take({...driving(0), spd: 340}, T);
  assert.ok(metersApart(movement.at(T + 1_000), ROME) <= 100.1);
  movement.take({...driving(1), spd: 340}, T + 1_000);
  movement.take({...driving(2), spd: 340}, T + 2_000);
  assert.ok(metersApart(movement.at(T + 2_000 + RECKONING), driving(2)) <= 23.1 * RECKONING / 1000);
});

test('a walker without a reported speed does not stand still', () => {
  const movement = new Movement();
  let [frozen, before] = [0, null];
  for (let ms = 0; ms < 120_000; ms += 100) {
    if (ms % 2_000 === 0) movement.take({...onward(ROME, 40, 1.3 * ms / 1000), at: ms}, T + ms);
    const place = movement.at(T + ms);
    if (before && ms > 10_000 && metersApart(before, place) < 0.01) frozen += 1;
    before = place;
  }
  assert.ok(frozen / 1_100 < 0.03, `${frozen} of 1100`);
});

// Between two reports nobody knows that a rider starts or turns, so both grow with the interval.
for (const [interval, most, fastest] of [[1_000, 2, HASTE], [2_000, 2, HASTE], [3_000, 2, HASTE], [5_000, 4, 1.15]]) {
  test(`with a report every ${interval / 1000} s the marker is frozen under ${most} % of the time and does not hurry`, () => {
    for (const [top, tells] of [[1.3, true], [5, true], [11, true], [11, false], [25, true]]) {
      for (const isRouted of [false, true]) {
        const {frozen, haste} = shown(() => new Movement(), {interval, top, tells, isRouted});
        assert.ok(frozen < most / 100, `${top} m/s: ${(100 * frozen).toFixed(1)} % frozen`);
        assert.ok(haste <= fastest, `${top} m/s: displayed speed ${haste.toFixed(2)} times the true one`);
      }
    }
  });
}

test('a position that is old on arrival is not extrapolated', () => {
  const movement = new Movement();
  movement.take(driving(0), T, {age: 40_000});
  assert.ok(metersApart(movement.at(T + 3_000), ROME) < 0.01);
  assert.equal(movement.isMoving(T + 3_000), false);
});

test('a marker at rest does not move, whatever heading the phone reports', () => {
  const movement = new Movement();
  movement.take({...ROME, at: 0, spd: RESTS, hdg: 200}, T);
  assert.ok(metersApart(movement.at(T + 4_000), ROME) < 0.01);
});

test('without a reported speed the marker uses the distance between positions', () => {
  const movement = new Movement();
  const plain = (second) => { const {spd, hdg, ...rest} = driving(second); return rest; };
  movement.take(plain(0), T);
  assert.ok(metersApart(movement.at(T + 2_000), ROME) < 0.01, 'one position knows no speed');
  movement.take(plain(2), T + 2_000);
  const glided = 2_000 + LONGEST_GLIDE;
  assert.ok(Math.abs(metersApart(movement.at(T + glided), ROME) - Math.min(glided, 2_000 + RECKONING) / 100)
    < NOISE * (2_000 + RECKONING) / 1000);
  assert.ok(Math.abs(turn(movement.heading(T + 4_000), 90)) < 1);
});

test('the marker jumps instead of driving through the city', () => {
  const movement = new Movement();
  movement.take(driving(0), T);
  const far = {...onward(ROME, 10, 5_000), at: 2000, spd: 10, hdg: 10};
  movement.take(far, T + 2_000);
  assert.ok(metersApart(movement.at(T + 2_000), far) < 0.1);
});

// The marker stops after 7 s; a place that the gateway held arrives after 4 s.
for (const [what, gap, place] of [
  ['25 s without a position', 25, (second) => driving(second)],
  ['a jump that the gateway accepted', 4, (second) => ({...onward(driving(second), 0, 280), at: second * 1000, spd: 10, hdg: 90})],
]) {
  test(`after ${what} the first position is a jump, and the marker never hurries`, () => {
    const movement = new Movement();
    for (const second of [0, 2, 4]) movement.take(driving(second), T + second * 1000);
    let [leaps, fastest] = [[], 0];
    for (let ms = 4_000; ms < 40_000; ms += 100) {
      const second = ms / 1000;
      const before = movement.at(T + ms);
      if (second >= 4 + gap && second % 2 === 0) movement.take(place(second), T + ms);
      if (metersApart(before, movement.at(T + ms)) > 1) leaps.push(second);
      fastest = Math.max(fastest, metersApart(movement.at(T + ms), movement.at(T + ms + 99)) / 0.099);
    }
    assert.deepEqual(leaps, [Math.ceil((4 + gap) / 2) * 2]);
    assert.ok(fastest < 10 * HASTE + 0.1, `${fastest} m/s`);
  });
}

test('a new rider\u2019s marker does not glide from the previous one', () => {
  const movement = new Movement();
  movement.take(driving(0), T);
  movement.forget();
  assert.equal(movement.at(T + 100), null);
  const other = {...onward(ROME, 180, 300), at: 500, spd: 5, hdg: 0};
  movement.take(other, T + 500);
  assert.ok(metersApart(movement.at(T + 500), other) < 0.1);
  movement.take(driving(3), T + 3_000, {atOnce: true});
  assert.ok(metersApart(movement.at(T + 3_000), driving(3)) < 0.1);
});

test('the icon points within 15 degrees of the course and stays at a standstill', () => {
  const movement = new Movement();
  movement.take({...ROME, at: 0, spd: 8, hdg: 47}, T);
  assert.equal(movement.heading(T), 47);
  movement.take({...onward(ROME, 120, 8), at: 1000, spd: 8, hdg: 120}, T + 1_000);
  assert.ok(Math.abs(turn(movement.heading(T + 1_000 + TURN), 120)) < 0.1);
  for (const hdg of [0, 200, 355]) {
    movement.take({...onward(ROME, 120, 8), at: 2000 + hdg, spd: 0.4, hdg}, T + 2_000 + hdg);
    assert.ok(Math.abs(turn(movement.heading(T + 3_000 + hdg), 120)) < 0.1);
  }
});

test('the icon rotates the short way round', () => {
  assert.equal(turn(350, 10), 20);
  assert.equal(turn(10, 350), -20);
  assert.equal(Math.abs(turn(0, 180)), 180);
  const movement = new Movement();
  movement.take({...ROME, at: 0, spd: 8, hdg: 350}, T);
  movement.take({...onward(ROME, 0, 8), at: 1000, spd: 8, hdg: 10}, T + 1_000);
  for (let ms = 0; ms <= TURN; ms += 20) {
    const heading = movement.heading(T + 1_000 + ms);
    assert.ok(heading >= 349.9 || heading <= 10.1, `${heading} at ${ms} ms`);
  }
});

test('with reduced motion the marker moves in steps', () => {
  const movement = new Movement({still: () => true});
  movement.take(driving(0), T);
  assert.deepEqual(movement.at(T + 3_000), ROME);
  movement.take(driving(3), T + 3_000);
  assert.ok(metersApart(movement.at(T + 3_000), driving(3)) < 0.01);
  movement.take({...driving(4), hdg: 180}, T + 4_000);
  assert.equal(movement.heading(T + 4_001), 180);
  assert.equal(movement.isMoving(T + 4_001), false);
});

test('in a random ride the marker is soon where the rider is, and rests when it does', () => {
  let seed = 7;
  const random = () => { seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31; return seed / 2 ** 31; };
  for (let ride = 0; ride < 200; ride += 1) {
    const movement = new Movement();
    let [place, now, hdg] = [ROME, T, random() * 360];
    for (let fix = 0; fix < 12; fix += 1) {
      const spd = random() < 0.3 ? 0 : random() * 25;
      const seconds = 1 + random() * 4;
      hdg = (hdg + random() * 120 - 60 + 360) % 360;
      const from = place;
      place = onward(place, hdg, spd * seconds);
      now += seconds * 1000;
      movement.take({...place, at: now - T, spd, hdg}, now);
      const shown = movement.at(now + LONGEST_GLIDE);
      const reckoned = Math.min(LONGEST_GLIDE, RECKONING) / 1000;
      assert.ok(metersApart(shown, onward(place, hdg, spd > RESTS ? spd * reckoned : 0)) < spd * 2 + 0.5);
      if (spd > 1.5) assert.ok(Math.abs(turn(movement.heading(now + TURN), bearing(from, place))) < 15);
    }
  }
});

/** 100 m to the east, then 300 m to the north. */
const BEND = onward(ROME, 90, 100);
const bentRoute = () => new Route([ROME, BEND, onward(BEND, 0, 300)]);

test('on a route the marker turns with the street and not into the houses', () => {
  const movement = new Movement();
  movement.follow(bentRoute(), T);
  movement.take(driving(6), T);
  for (let ms = 0; ms <= RECKONING; ms += 100) {
    const place = movement.at(T + ms);
    const [ahead, there] = [60 + ms / 100, bentRoute().find(place)];
    assert.ok(there.away < 0.1 && Math.abs(there.along - ahead) < 0.2, `${ms} ms: ${there.away} m from the street`);
  }
  assert.ok(metersApart(movement.at(T + RECKONING), onward(BEND, 0, 30)) < 0.5);
});

test('on a route the marker glides along the street, and a new or lost route causes no leap', () => {
  const movement = new Movement();
  movement.follow(bentRoute(), T);
  movement.take(driving(8), T);
  movement.take({...onward(BEND, 0, 10), at: 13_000, spd: 10, hdg: 0}, T + 5_000);
  let before = movement.at(T + 5_000);
  for (let ms = 5_016; ms < 12_000; ms += 16) {
    if (ms === 5_016 + 16 * 100) movement.follow(null, T + ms);
    if (ms === 5_016 + 16 * 150) movement.follow(bentRoute(), T + ms);
    const place = movement.at(T + ms);
    assert.ok(metersApart(before, place) < 10 * HASTE * 0.016 + 0.05, `${metersApart(before, place)} m at ${ms} ms`);
    assert.ok(bentRoute().find(place).away < 5, `${bentRoute().find(place).away} m aside at ${ms} ms`);
    before = place;
  }
});

test('a rider who leaves the route, or drives against it, is extrapolated straight', () => {
  for (const [aside, hdg] of [[60, 90], [0, 270]]) {
    const movement = new Movement();
    movement.follow(bentRoute(), T);
    const place = onward(onward(ROME, 90, 50), 180, aside);
    movement.take({...place, at: 0, spd: 10, hdg}, T);
    assert.equal(movement.along, null);
    assert.ok(metersApart(movement.at(T + 3_000), onward(place, hdg, 30)) < 0.1);
  }
});

test('the marker stops at the end of the route, and with reduced motion it stays at the position', () => {
  const movement = new Movement();
  movement.follow(bentRoute(), T);
  movement.take({...onward(BEND, 0, 280), at: 0, spd: 10, hdg: 0}, T);
  assert.ok(metersApart(movement.at(T + RECKONING), onward(BEND, 0, 300)) < 0.1);
  const still = new Movement({still: () => true});
  still.follow(bentRoute(), T);
  still.take(driving(6), T);
  assert.ok(metersApart(still.at(T + 3_000), driving(6)) < 0.01);
});
