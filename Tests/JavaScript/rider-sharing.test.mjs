// The texts for the rider about location sharing: they state that it works only if it does.

import assert from 'node:assert/strict';
import {test} from 'node:test';

import {Place} from './page.mjs';

const {FOUND_WITHIN, Sharing, trouble} = await import('../../Sources/WebAssets/web/rider-sharing.js');
const {words} = await import('../../Sources/WebAssets/web/rider-words.js');

const open = {state: 'open', degraded: false};
const fine = {isWatching: true, connection: open, note: null, foundAgo: 1_000};

test('D4: sharing is shown as working, even before the first reading and with a low battery', () => {
  for (const now of [fine, {...fine, foundAgo: null}, {...fine, note: 'battery'}, {...fine, note: 'wasHidden'}]) {
    assert.equal(trouble(now), null);
  }
});

test('D4: the card shows Live only once the gateway has confirmed a report', () => {
  const places = Object.fromEntries(['card', 'text', 'rate', 'note', 'keep'].map((name) => [name, new Place()]));
  const travel = {
    travelling: new Map([['one', null]]), location: {isWatching: true}, unavailability: {note: null}, lastFixAt: performance.now(),
    isConfirmed: false, enroute: {connection: open, serverTime: Date.now()},
  };
  const sharing = new Sharing(places, travel, words.en);
  sharing.show();
  assert.equal(places.rate.textContent, 'Finding your location…');
  travel.isConfirmed = true;
  sharing.show();
  assert.equal(places.rate.textContent, 'Live');
});

test('a deadline is shown in true time, whatever the clock of the phone says', () => {
  const places = Object.fromEntries(['card', 'text', 'rate', 'note', 'keep'].map((name) => [name, new Place()]));
  const deadline = new Date(2026, 10, 30, 21, 3).getTime();
  const travel = {
    travelling: new Map([['one', deadline]]), location: {isWatching: true}, unavailability: {note: null},
    lastFixAt: performance.now(), isConfirmed: true, enroute: {connection: open, serverTime: Date.now() + 240_000},
  };
  new Sharing(places, travel, words.en).show();
  assert.match(places.rate.textContent, /^Live · stops automatically at 9:03\sPM$/);
});

test('D4: whatever keeps a location from customers is shown, the worst problem first', () => {
  const cases = {
    interrupted: {isWatching: false, connection: {state: 'waiting', degraded: false}},
    offline: {connection: {state: 'waiting', degraded: false}, note: 'coarse'},
    silent: {connection: {...open, silent: true}, note: 'noFix'},
    notFound: {foundAgo: FOUND_WITHIN + 1},
    coarse: {note: 'coarse', connection: {...open, degraded: true}},
    delayed: {connection: {...open, degraded: true}},
  };
  for (const [what, now] of Object.entries(cases)) {
    assert.equal(trouble({...fine, ...now}), what);
    for (const language of ['en', 'de']) {
      assert.ok(words[language].troubles[what]);
      assert.equal(typeof words[language].consequences[what], 'string');
    }
  }
  for (const state of ['connecting', 'refused', 'stopped']) {
    assert.equal(trouble({...fine, connection: {...open, state}}), 'offline');
  }
  assert.equal(trouble({...fine, note: 'noFix'}), 'notFound');
});
