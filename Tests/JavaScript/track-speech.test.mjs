// What a screen reader is told: pages.md 12. Status, arrivals that moved, arriving; no position, no countdown.

import assert from 'node:assert/strict';
import {test} from 'node:test';
import {Speech} from '../../Sources/WebAssets/web/track-speech.js';

const MINUTE = 60_000;
const tracked = {
  spoken: 'On the way.', isMapped: true, eta: 'Arriving in 12 min', arrivesAt: 12 * MINUTE, isArriving: false,
};

function heard(...pictures) {
  const said = [];
  const speech = new Speech((topic, text) => said.push(`${topic}: ${text}`));
  for (const picture of pictures) speech.hear({...tracked, ...picture});
  return said;
}

test('what was there when the page came is not spoken', () => {
  assert.deepEqual(heard({}), []);
  assert.deepEqual(heard({spoken: ''}, {}), []);
});

test('a change of state is spoken once, however often it is drawn', () => {
  assert.deepEqual(heard({}, {spoken: 'Arrived.'}, {spoken: 'Arrived.'}, {spoken: 'Arrived.'}), ['state: Arrived.']);
});

test('positions and the countdown are not spoken', () => {
  assert.deepEqual(heard({}, {eta: 'Arriving in 11 min'}, {eta: 'Arriving in 5 min'}), []);
});

test('an arrival is spoken when it moves by two minutes, from where it was spoken last', () => {
  const at = (minutes) => ({arrivesAt: minutes * MINUTE, eta: `Arriving in ${minutes} min`});
  assert.deepEqual(heard(at(12), at(13), at(13.9)), []);
  assert.deepEqual(heard(at(12), at(13), at(14)), ['arrival: Arriving in 14 min.']);
  assert.deepEqual(heard(at(12), at(9)), ['arrival: Arriving in 9 min.']);
});

test('that somebody arrives is spoken once', () => {
  const now = {eta: 'Arriving now', isArriving: true};
  assert.deepEqual(heard({}, now, now), ['arrival: Arriving now.']);
});

test('an arrival that was gone with the map is spoken when it is there again', () => {
  const gone = {isMapped: false, arrivesAt: null, eta: '', spoken: 'Paused.'};
  assert.deepEqual(heard({}, gone, {}), ['state: Paused.', 'state: On the way.', 'arrival: Arriving in 12 min.']);
});

test('D8: that the location is old is spoken once, and once that it is live again', () => {
  const [old, live] = [{isStale: true, spokenPosition: 'It is old.'}, {isStale: false, spokenPosition: 'It is live.'}];
  assert.deepEqual(heard(live, old, old, live, live), ['position: It is old.', 'position: It is live.']);
  assert.deepEqual(heard(old, old), []);
  // Without a map the state has said why.
  const gone = {...live, isMapped: false, arrivesAt: null, spoken: 'Paused.'};
  assert.deepEqual(heard(old, gone), ['state: Paused.']);
});
