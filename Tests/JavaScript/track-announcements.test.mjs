// What a screen reader announces: changes of status, arrival times that moved and the arrival itself; no positions, no
// countdown.

import assert from 'node:assert/strict';
import {test} from 'node:test';
import {Announcements} from '../../Sources/WebAssets/web/track-announcements.js';

const MINUTE = 60_000;
const tracked = {
  spoken: 'On the way.', isMapped: true, eta: 'Arriving in 12 min', arrivesAt: 12 * MINUTE, isArriving: false,
};

function heard(...pictures) {
  const said = [];
  const announcements = new Announcements((topic, text) => said.push(`${topic}: ${text}`));
  for (const presentation of pictures) announcements.update({...tracked, ...presentation});
  return said;
}

test('the initial content of the page is not announced', () => {
  assert.deepEqual(heard({}), []);
  assert.deepEqual(heard({spoken: ''}, {}), []);
});

test('a change of state is announced once, however often it is rendered', () => {
  assert.deepEqual(heard({}, {spoken: 'Arrived.'}, {spoken: 'Arrived.'}, {spoken: 'Arrived.'}), ['state: Arrived.']);
});

test('positions and the countdown are not announced', () => {
  assert.deepEqual(heard({}, {eta: 'Arriving in 11 min'}, {eta: 'Arriving in 5 min'}), []);
});

test('an arrival time is announced when it is two minutes off the last announced one', () => {
  const at = (minutes) => ({arrivesAt: minutes * MINUTE, eta: `Arriving in ${minutes} min`});
  assert.deepEqual(heard(at(12), at(13), at(13.9)), []);
  assert.deepEqual(heard(at(12), at(13), at(14)), ['arrival: Arriving in 14 min.']);
  assert.deepEqual(heard(at(12), at(9)), ['arrival: Arriving in 9 min.']);
});

test('an imminent arrival is announced once', () => {
  const now = {eta: 'Arriving now', isArriving: true};
  assert.deepEqual(heard({}, now, now), ['arrival: Arriving now.']);
});

test('an arrival time that disappeared with the map is announced when it is back', () => {
  const gone = {isMapped: false, arrivesAt: null, eta: '', spoken: 'Paused.'};
  assert.deepEqual(heard({}, gone, {}), ['state: Paused.', 'state: On the way.', 'arrival: Arriving in 12 min.']);
});

test('D8: a stale location is announced once, and so is its return', () => {
  const [old, live] = [{isStale: true, spokenPosition: 'It is old.'}, {isStale: false, spokenPosition: 'It is live.'}];
  assert.deepEqual(heard(live, old, old, live, live), ['position: It is old.', 'position: It is live.']);
  assert.deepEqual(heard(old, old), []);
  // Without a map the announcement of the state is enough.
  const gone = {...live, isMapped: false, arrivesAt: null, spoken: 'Paused.'};
  assert.deepEqual(heard(old, gone), ['state: Paused.']);
});

test('D26: an announced arrival time ends with exactly one full stop', () => {
  const german = {eta: 'Ankunft in 9 Min.', arrivesAt: 9 * MINUTE};
  assert.deepEqual(heard({}, german), ['arrival: Ankunft in 9 Min.']);
  const english = {eta: 'ETA recalculating\u2026', arrivesAt: 9 * MINUTE};
  assert.deepEqual(heard({}, english), ['arrival: ETA recalculating\u2026']);
});

test('an apology is announced once per promise, even if it disappears in between', () => {
  const [none, first, next] = ['', 'Promised by 3:00.', 'Promised by 4:00.'].map((apology) => ({apology}));
  assert.deepEqual(heard(none, first, first, none, first, next, none, next),
    ['apology: Promised by 3:00.', 'apology: Promised by 4:00.']);
  assert.deepEqual(heard(first, none, first), [], 'it was part of the initial content');
});

test('D16: a late rider is announced once', () => {
  const late = {eta: 'Running late – sorry!', isLate: true};
  assert.deepEqual(heard({eta: 'Arriving now', isArriving: true}, late, late), ['arrival: Running late – sorry!']);
});
