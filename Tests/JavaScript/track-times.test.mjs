// The customer's times on a device whose clock is wrong, after an end on another day, an apology that stays, and
// an end that was a mistake.

import assert from 'node:assert/strict';
import {test} from 'node:test';

import {WALL, seen, underway, viewOf} from './customer-views.mjs';
import {Story} from '../../Sources/WebAssets/web/track-story.js';

test('a wrong clock of the device shifts no time: promise, arrival and changes have the gateway\u2019s time', () => {
  const window = {from: WALL - 1_800_000, until: WALL + 1_800_000};
  const eta = {state: 'ok', arrivesAt: WALL + 72 * 60_000, at: WALL};
  const late = WALL + 45 * 60_000;
  for (const error of [-240_000, 0, 240_000, 5 * 3_600_000]) {
    const told = (view, now = WALL) =>
      seen(Object.freeze({...view, clockOffset: -error}), {wall: now + error, heardAt: now + error});
    const travelling = told(underway('delivery', {eta, display: {window}}));
    const {facts} = travelling;
    assert.deepEqual([facts.window, facts.arrival, facts.since], ['2:03 – 3:03 PM', '3:45 PM', '2:32 PM']);
    assert.match(travelling.apology, /promised by 3:03 PM\./);
    assert.match(told(viewOf('delivery', 'preparing', {display: {window}}), late).apology, /promised by 3:03 PM\./);
    assert.equal(told(viewOf('delivery', 'delivered')).headline, 'Delivered at 2:32 PM');
  }
});

test('an end on another day has its date and no "at"', () => {
  const at = (more, wall) => seen(viewOf('delivery', 'delivered'), {wall, ...more}).steps.at(-1).note;
  const german = {language: 'de', locale: 'de-DE'};
  assert.deepEqual([at({}, WALL), at(german, WALL)], ['At 2:32 PM', 'Um 14:32']);
  const nextDay = WALL + 20 * 3_600_000;
  assert.deepEqual([at({}, nextDay), at(german, nextDay)], ['Nov 21, 2:32 PM', '21. Nov., 14:32']);
  assert.equal(seen(viewOf('delivery', 'cancelled'), {wall: nextDay}).steps.at(-1).note, 'Nov 21, 2:32 PM');
});

test('the apology does not come and go with the rider\u2019s position', () => {
  const story = new Story();
  const window = {from: WALL - 3_600_000, until: WALL + 300_000};
  const look = (more, how) => {
    const {apology, admitted} = seen(underway('delivery', {display: {window}, ...more}), {story, ...how});
    story.admitted = admitted;
    return Boolean(apology);
  };
  const arrivesIn = (minutes) => ({eta: {state: 'ok', arrivesAt: WALL + minutes * 60_000, at: WALL}});
  assert.deepEqual([look(arrivesIn(4)), look(arrivesIn(12))], [false, true]);
  assert.equal(look({eta: {state: 'recalculating', at: WALL}}), true);
  assert.equal(look({tracking: 'paused', text: 'paused', position: null, eta: null}), true);
  // Without a connection it may be over. Afterwards it is shown again.
  assert.deepEqual([look({eta: null}, {isLost: true}), look({eta: null})], [false, true]);
  assert.deepEqual([look(arrivesIn(5)), look({eta: null})], [false, false]);
});

test('a clock of the device that is set while the page is open makes no order late', () => {
  const window = {from: WALL, until: WALL + 1_800_000};
  for (const hours of [3, -3]) {
    const set = (view) => seen(view, {wall: WALL + hours * 3_600_000, serverTime: WALL, heardAt: WALL});
    const waiting = set(viewOf('delivery', 'preparing', {display: {window}}));
    assert.deepEqual([waiting.apology, waiting.eta, waiting.admitted], ['', 'Expected 2:33 – 3:03 PM', '']);
    const {apology, isLate} = set(underway('delivery', {display: {window}}));
    assert.deepEqual([apology, isLate], ['', false]);
  }
});

test('after an end that was corrected no rider is said to have paused', () => {
  const paused = underway('delivery', {tracking: 'paused', text: 'paused', reason: 'deactivated', position: null, eta: null});
  const told = (times) => {
    const {detail, spoken} = seen(paused, {story: Object.assign(new Story(), {times})});
    return [detail, spoken].map((text) => /paused/.test(text));
  };
  assert.deepEqual(told({in_transit: 1}), [true, true]);
  for (const end of ['delivered', 'cancelled']) assert.deepEqual(told({in_transit: 1, [end]: 2}), [false, false], end);
  assert.match(seen(paused, {story: Object.assign(new Story(), {times: {delivered: 1}})}).detail, /as soon as they share/);
});
